"""
Clusters of embeddings
======================

An embedding is a vector for each text, and cosines say how alike two texts are. This script makes embeddings of the
docstrings of numpy, scipy and scikit-learn, clusters them as directions on the unit sphere, and shows what a cluster is
about: its words, the rows nearest to its mean, and the rows that fit no cluster. Embeddings of a language model take
the place of ours without another change.
"""

# %%
# Embeddings without a download
# -----------------------------
# TF-IDF and a truncated singular value decomposition (latent semantic analysis) give every docstring 64 numbers.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from sparsemix import SparseVonMisesFisherMixture
from sparsemix.datasets import load_docstrings

docstrings = load_docstrings(max_df=0.2)
words, names = np.asarray(docstrings.feature_names), np.asarray(docstrings.names)
tfidf = TfidfTransformer(sublinear_tf=True).fit_transform(docstrings.data)
X = TruncatedSVD(64, random_state=0).fit_transform(tfidf)
print(f"{X.shape[0]} docstrings, {X.shape[1]} numbers each")

# %%
# Clusters of directions
# ----------------------
# The mixture scales rows to unit length as it reads them. One concentration for all components makes it spherical
# k-means with probabilities.

mixture = SparseVonMisesFisherMixture(60, random_state=0).fit(X)
labels = mixture.predict(X)
sizes = np.bincount(labels, minlength=60)
print(f"{mixture.n_iter_} passes, clusters of {sizes.min()} to {sizes.max()} docstrings, "
      f"concentration {mixture.concentrations_[0]:.0f}")  # fmt: skip

# %%
# What clusters are about
# -----------------------
# Words that are heavier in a cluster than elsewhere, by their mean TF-IDF, and the docstring nearest to the mean.

unit = X / np.linalg.norm(X, axis=1, keepdims=True)
overall = np.asarray(tfidf.mean(axis=0)).ravel()
for k in np.argsort(-sizes)[:8]:
    lift = np.asarray(tfidf[labels == k].mean(axis=0)).ravel() - overall
    nearest = names[np.argmax(np.where(labels == k, unit @ mixture.means_[k], -1.0))]
    print(f"{sizes[k]:4d}  {', '.join(words[np.argsort(-lift)[:6]]):60s} {nearest}")

# %%
# Rows that fit no cluster
# ------------------------
# ``score_samples`` is the logarithm of a row's density. Low ones are outliers, and so are many short docstrings; the
# responsibilities say whether a row lies between two clusters instead.

density = mixture.score_samples(X)
print("least likely:", ", ".join(names[np.argsort(density)[:5]]))
certain = mixture.predict_sparse_proba(X).max(axis=1).toarray().ravel()
between = np.argsort(certain)[:5]
print("between two clusters:", ", ".join(names[between]))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
left.hist(density, bins=60)
left.set(xlabel="log density of a docstring", ylabel="docstrings")
right.bar(np.arange(60), np.sort(sizes)[::-1], width=1.0)
right.set(xlabel="clusters by size", ylabel="docstrings")
plt.show()
