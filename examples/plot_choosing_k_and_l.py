"""
How many topics, and how many for a word?
=========================================

K = ``n_components`` is the number of topics, L = ``n_nonzero`` how many of them a word of a document may have.
``score`` means the same for every K and L, so ``GridSearchCV`` can choose both with its default scorer. This script
does that on a part of the docstrings of numpy, scipy and scikit-learn, and draws held-out score and time over the grid.
"""

# %%
# The grid
# --------
# 1200 documents in random order: those of one package stand together in the corpus, and folds should not be packages.
# For a comparison of settings a coarse tolerance is enough; ``max_iter`` is large enough to reach it.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from sparsemix import SparseLDA
from sparsemix.datasets import load_docstrings

docstrings = load_docstrings(max_df=0.2)
order = np.random.default_rng(0).permutation(len(docstrings.names))
X = docstrings.data[order[:1200]]

grid = {"n_components": [10, 40, 150, 500], "n_nonzero": [1, 2, 8]}
search = GridSearchCV(SparseLDA(tol=1e-2, max_iter=100, random_state=0), grid, cv=3, refit=False)
search.fit(X)

# %%
# What it says
# ------------
# The score is the mean log-likelihood of a hidden token of held-out documents, in nats. The documents of each fold are
# split in the same way for every setting, so differences between settings are much surer than the scores themselves,
# which vary from fold to fold.

shape = len(grid["n_components"]), len(grid["n_nonzero"])
names = "mean_test_score", "std_test_score", "mean_fit_time"
results = {name: search.cv_results_[name].reshape(shape) for name in names}
print("   K   L   score  seconds")
for i, n_components in enumerate(grid["n_components"]):
    for j, n_nonzero in enumerate(grid["n_nonzero"]):
        score, seconds = (results[name][i, j] for name in ("mean_test_score", "mean_fit_time"))
        print(f"{n_components:4d} {n_nonzero:3d}  {score:6.3f}  {seconds:7.2f}")
print("best:", search.best_params_)

# %%
# The number of topics decides. With few, unlike documents share a topic; with more than the documents can fill, the
# score falls again. L matters less: with L = 1 each word of a document belongs to one topic as a whole, with L = 2 it
# may be in between, and that is nearly all that there is to gain. Bands show one standard deviation over the
# folds.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.set(xlabel="n_components", ylabel="held-out log-likelihood a token, nats", xscale="log")
for j, n_nonzero in enumerate(grid["n_nonzero"]):
    mean, deviation = (results[name][:, j] for name in ("mean_test_score", "std_test_score"))
    left.plot(grid["n_components"], mean, "o-", label=f"L = {n_nonzero}")
    left.fill_between(grid["n_components"], mean - deviation, mean + deviation, alpha=0.15)
    right.plot(grid["n_components"], results["mean_fit_time"][:, j], "o-", label=f"L = {n_nonzero}")
right.set(xlabel="n_components", ylabel="seconds of a fit", xscale="log")
left.legend()

# %%
# Most of the time of such short fits goes to the start, which is the same for every L. On larger corpora the epochs
# take most of it, and L counts for more.

plt.show()
