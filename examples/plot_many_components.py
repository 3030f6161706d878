"""
Thousands of components, short lists of candidates
==================================================

Without lists an epoch makes the weights of all components for every row, and its time grows with their number K. With
``candidates`` a row looks at some thirty components: those on its list of the best so far, their neighbours, and a few
at random. This script learns mixtures of image patches with 300 and with 2,000 components and asks two questions: what
an epoch costs, and whether more components pay.
"""

# %%
# The data
# --------
# Patches of 8 x 8 pixels from the two photographs that scikit-learn bundles, one every second pixel. A patch less its
# mean has no component along the constant vector; in the basis of the other 63 directions its density is proper, and
# ``score`` needs no care.

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsemix import SparseGaussianMixture
from sparsemix.datasets import load_image_patches
from sparsemix.metrics import basis_without_constant

basis = basis_without_constant(64).astype(np.float32)
X, X_test = (patches @ basis for patches in load_image_patches(stride=2, return_test=True))
X_test = X_test[::4]
print(f"{len(X)} patches to learn from, {len(X_test)} held out, {X.shape[1]} directions, {X.dtype}")

# %%
# Score against seconds
# ---------------------
# Each point is its own fit from the same start, with that many epochs. 300 components come with all weights and
# with lists of four candidates, 2,000 with lists only: all of their weights would take some nine seconds an epoch.


def curve(n_components, candidates, passes):
    """Seconds of one core and held-out scores after some epochs, and the last mixture."""
    seconds, scores = [], []
    for max_iter in passes:
        mixture = SparseGaussianMixture(
            n_components, candidates=candidates, covariance_type="zero_mean", init_params="random_from_data",
            max_iter=max_iter, tol=0.0, random_state=0,
        )  # fmt: skip
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a few passes on purpose
            mixture.fit(X)
        seconds.append(time.process_time() - started)
        scores.append(mixture.score(X_test))
    pace = (seconds[-1] - seconds[0]) / (passes[-1] - passes[0])
    print(f"K={n_components:4d}, candidates={candidates!s:3}: {pace:.2f} s a pass, held-out score {scores[-1]:.2f}")
    return seconds, scores, mixture


figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
for n_components, candidates, passes in ((300, "all", (1, 2, 5)), (300, 4, (2, 5, 12)), (2_000, 4, (2, 4, 9))):
    seconds, scores, mixture = curve(n_components, candidates, passes)
    axis.plot(seconds, scores, marker="o", label=f"K = {n_components:,}, candidates = {candidates}")
axis.set(xlabel="seconds of one core", ylabel="held-out log-likelihood a patch, nats")
axis.legend()

# %%
# An epoch over 2,000 components with lists takes less time than one over 300 without. It still learns: the bound never
# falls, although no row ever looks at all components. Lists pay for 300 components too. Their rows begin with a few
# components at random, which blurs the start, and on patches the blurred start ends higher than the dense fit.
#
# More components are another matter. These are two photographs; 2,000 covariances have 56 patches each, which overlap,
# and the held-out score is lower than with 300. Candidates make large K affordable. Whether it is wanted, held-out rows
# say.

# %%
# The components
# --------------
# The largest of the 2,000, one a row: the leading eigenvectors of the covariances, back in pixels.

order = np.argsort(-mixture.weights_)[:8]
figure, axes = plt.subplots(8, 10, figsize=(6, 5), layout="compressed")
for row, k in zip(axes, order, strict=True):
    vectors = np.linalg.eigh(mixture.covariances_[k])[1].T[::-1] @ basis.T
    for axis, vector in zip(row, vectors[:10], strict=True):
        limit = np.abs(vector).max()
        axis.imshow(vector.reshape(8, 8), cmap="gray", vmin=-limit, vmax=limit)
        axis.set(xticks=[], yticks=[])
    row[0].set_ylabel(f"{mixture.weights_[k]:.2%}", rotation=0, ha="right", va="center", fontsize=7)

# %%
# Sizes of components differ widely: flat patches are many and alike, and most of the 2,000 components keep a few
# patches each, held in shape by the prior. That is so with all weights too, and says the same as the score.

counts = mixture.weights_ * len(X)
print(f"patches of the largest component {counts.max():.0f}, of the median one {np.median(counts):.0f}")

plt.show()
