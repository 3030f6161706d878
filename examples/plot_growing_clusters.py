"""
Clusters that grow with a stream
================================

How many kinds of documents are there in a stream? There is no number: the longer one reads, the more kinds turn up.
:class:`~sparsemix.StreamingNGGPMixture` opens clusters as it reads. It sees each document once, and the clusters of the
documents before decide where it goes. The documents here are the docstrings of numpy, scipy and scikit-learn, which
every installation has.
"""

# %%
# Two priors
# ----------
# Under a Dirichlet process the number of clusters grows like the logarithm of the number of documents, under a
# normalized inverse Gaussian process like its square root. These are priors; documents of a hundred words have much to
# say in the matter themselves. What is learned does not depend on how the stream is cut into blocks, so blocks are as
# large as is convenient for a look at the clusters in between.
#
# The score is prequential: the log-likelihood that a block has under what was learned from the documents before it.

import matplotlib.pyplot as plt
import numpy as np

from sparsemix import StreamingNGGPMixture
from sparsemix.datasets import load_docstrings

BLOCK = 100

docstrings = load_docstrings()
order = np.random.default_rng(0).permutation(docstrings.data.shape[0])


def follow(stream, X):
    """Documents seen, clusters, and score of each block before it was learned, nats a token."""
    seen, clusters, scores = [], [], []
    for start in range(0, X.shape[0], BLOCK):
        block = X[start : start + BLOCK]
        scores.append(stream.score(block, per="token") if start else np.nan)
        stream.partial_fit(block)
        seen.append(start + block.shape[0])
        clusters.append(stream.n_clusters_)
    return np.array(seen), np.array(clusters), np.array(scores)


priors = {
    "Dirichlet process": StreamingNGGPMixture(),
    "inverse Gaussian": StreamingNGGPMixture(discount=0.5, concentration=10.0),
}
curves = {label: follow(stream, docstrings.data[order]) for label, stream in priors.items()}

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
for label, (seen, clusters, scores) in curves.items():
    left.loglog(seen, clusters, label=label)
    smooth = np.convolve(scores[1:], np.full(5, 0.2), mode="valid")
    right.plot(seen[5:], smooth, label=label)
    print(f"{label}: {clusters[-1]} clusters, the last 1,000 documents scored {scores[-10:].mean():.3f} nats a token")
seen, clusters, _ = curves["Dirichlet process"]
middle = len(seen) // 4
log_curve = np.log1p(seen / 100)
left.loglog(seen, log_curve * clusters[middle] / log_curve[middle], "k:", label="as log(1 + n / 100)")
left.loglog(seen, np.sqrt(seen / seen[middle]) * clusters[middle], "k--", label="as the square root of n")
left.set(xlabel="documents", ylabel="clusters")
left.legend()
right.set(xlabel="documents", ylabel="prequential score a token, nats,\nmean of five blocks")
right.legend()

# %%
# The documents overrule the priors: under both, clusters grow like the square root of n.
#
# The largest clusters: the mass of documents that they have, the share of each package in them, and the words that are
# much more likely in them than elsewhere.

stream = priors["Dirichlet process"]
everywhere = np.asarray(docstrings.data.sum(axis=0)).ravel() / docstrings.data.sum()
labels = stream.predict(docstrings.data)
packages = np.array([name.split(".")[0] for name in docstrings.names])
names, firsts = np.unique(packages, return_index=True)
print("mass  " + "  ".join(f"{name:>7s}" for name in names))
for cluster in np.argsort(-stream.counts_)[:12]:
    words = stream.means_[cluster]
    best = np.argsort(-words * np.log(words / everywhere))[:7]
    shares = [np.mean(packages[labels == cluster] == name) for name in names]
    print(
        f"{stream.counts_[cluster]:4.0f}  " + "  ".join(f"{share:7.0%}" for share in shares),
        *docstrings.feature_names[best],
    )

# %%
# Half of the clusters have few documents.

figure, axis = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
for label, model in priors.items():
    sizes = np.sort(model.counts_)[::-1]
    axis.loglog(np.arange(1, len(sizes) + 1), sizes, label=label)
    print(f"{label}: the median cluster has {np.median(sizes):.1f} documents")
axis.set(xlabel="rank", ylabel="documents of the cluster")
axis.legend()

# %%
# A stream that changes
# ---------------------
# Now the same documents in the order of their names: all of numpy, then scipy, then scikit-learn. Neighbours are about
# the same things, so fewer clusters are needed at first, and each package brings new ones. Where scikit-learn begins,
# the score falls, and recovers as clusters are opened. Nothing that was learned before has to be unlearned for that.

changing = StreamingNGGPMixture()
seen, clusters, scores = follow(changing, docstrings.data)

figure, axis = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
axis.plot(*curves["Dirichlet process"][:2], color="0.6", label="clusters, random order")
axis.plot(seen, clusters, label="clusters, order of names")
axis.set(xlabel="documents", ylabel="clusters")
other = axis.twinx()
other.plot(seen, scores, color="C1", linewidth=1, label="score a token, order of names")
other.set_ylabel("prequential score a token, nats")
for name, first in zip(names[1:], firsts[1:], strict=True):
    axis.axvline(first, color="0.8", linewidth=1, zorder=0)
    axis.text(first, axis.get_ylim()[1], f" {name}", va="top", color="0.4")
figure.legend(loc="outside lower center", ncols=3)

plt.show()
