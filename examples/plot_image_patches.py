"""
How many responsibilities does a patch need?
============================================

Patches of photographs, 8 x 8 pixels, are a classic case for mixtures with many full covariances: each component
learns one kind of edge or texture, with mean zero. This script learns 100 components with at most L = 1, 2, 4 and 16
responsibilities a patch, compares them on patches that were held out, and shows what the components have learned.
"""

# %%
# The data
# --------
# The patches come from the two photographs that scikit-learn bundles. Every patch has its mean removed, so no patch
# varies along the constant vector: the density in that direction is what the prior makes of it. The basis leaves the
# direction out of the scores.

import matplotlib.pyplot as plt

from sparsemix import SparseGaussianMixture
from sparsemix.datasets import load_image_patches
from sparsemix.metrics import basis_without_constant, mixture_log_likelihood
from sparsemix.plotting import plot_eigenvectors

X, X_test = load_image_patches(return_test=True)
basis = basis_without_constant(X.shape[1])
print(f"{len(X)} patches to learn from, {len(X_test)} held out, {X.shape[1]} pixels each, {X.dtype}")

# %%
# Four values of L
# ----------------
# Only ``n_nonzero`` differs between the fits. A fit ends when an epoch over the patches gains less than ``tol`` nats a
# patch; the tolerance is coarse here, to keep the script short.

fits = {}
for n_nonzero in (1, 2, 4, 16):
    mixture = SparseGaussianMixture(
        n_components=100, n_nonzero=n_nonzero, covariance_type="zero_mean", tol=0.1, random_state=0
    ).fit(X)
    score = mixture_log_likelihood(X_test, mixture.weights_, mixture.means_, mixture.covariances_, basis=basis)
    fits[n_nonzero] = mixture, score
    print(f"L={n_nonzero:2d}  {mixture.n_iter_:2d} passes, held-out log-likelihood a patch {score:.3f}")

# %%
# A second responsibility is worth more than all the further ones: a patch that lies between two components then
# counts for both. The bound of a larger L is higher at the same parameters, because the responsibilities are chosen
# from more; the held-out score always sums over all 100 components, so it means the same for every L.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for n_nonzero, (mixture, _) in fits.items():
    history = [record for record in mixture.history_ if record["n_iter"] > 1]
    left.plot(
        [record["n_iter"] for record in history],
        [record["lower_bound_per_row"] for record in history],
        marker="o",
        markersize=3,
        label=f"L = {n_nonzero}",
    )
left.set(xlabel="passes over the patches", ylabel="lower bound a patch, nats")
left.legend()
right.plot(range(len(fits)), [score for _, score in fits.values()], "k-o")
right.set_xticks(range(len(fits)), [str(n_nonzero) for n_nonzero in fits])
right.set(xlabel="L, non-zero responsibilities a patch", ylabel="held-out log-likelihood a patch, nats")

# %%
# What the components are
# -----------------------
# One row is one component, the largest first; from left to right its leading eigenvectors, drawn as patches. Beside
# each row stand the component's weight and its total variance. The largest component has little variance: it is
# the flat patches. The others are edges of one orientation, or textures of one scale.

mixture, _ = fits[4]
plot_eigenvectors(mixture, (8, 8), n_components=8, figure=plt.figure(figsize=(7, 5.2), layout="compressed"))

# %%
# Sparse responsibilities
# -----------------------
# ``predict_sparse_proba`` gives the responsibilities that training used: a CSR matrix with L entries in each row. On
# most patches the largest one takes nearly all.

resp = mixture.predict_sparse_proba(X_test)
largest = resp.max(axis=1).toarray().ravel()
print(f"{resp.shape[0]} x {resp.shape[1]} matrix with {resp.nnz} entries")
print(f"the largest responsibility is above 0.9 on {(largest > 0.9).mean():.0%} of the held-out patches")

plt.show()
