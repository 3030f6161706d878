"""
Denoising with a mixture of patches
===================================

A mixture of image patches is a prior: it says which patches are likely. This script learns one from a photograph and
removes noise from another photograph. It compares the result with scikit-learn's mixture of the same patches and with
non-local means of scikit-image, if that is installed.
"""

# %%
# The photographs
# ---------------
# Both are part of scikit-learn. Patches of 8 x 8 pixels of the first one, less their means, are the rows to learn from.
# A part of the second one gets normal noise with standard deviation 25 of 255 grey levels.

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.datasets import load_sample_image
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from sparsemix import SparseGaussianMixture

SIGMA, SIZE = 25 / 255, 8
rng = np.random.default_rng(0)


def patches_of(image):
    """All patches of an image as rows."""
    return sliding_window_view(image, (SIZE, SIZE)).reshape(-1, SIZE * SIZE)


grey = [load_sample_image(name).mean(axis=2) / 255 for name in ("china.jpg", "flower.jpg")]
rows = patches_of(grey[0])
X = rows[rng.choice(len(rows), 15_000, replace=False)]
X = X - X.mean(axis=1, keepdims=True)
clean = grey[1][120:280, 200:400]
noisy = clean + rng.normal(scale=SIGMA, size=clean.shape)

# %%
# Learning
# --------
# Both mixtures have 50 components, at most ten epochs, and begin with rows drawn at random.

fits = {
    "sparsemix": SparseGaussianMixture(
        50, n_nonzero=4, covariance_type="zero_mean", init_params="random_from_data", max_iter=10, random_state=0
    ),
    "scikit-learn": GaussianMixture(50, init_params="random_from_data", reg_covar=1e-5, max_iter=10, random_state=0),
}  # fmt: skip
seconds = {}
for name, mixture in fits.items():
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ten epochs on purpose
        mixture.fit(X)
    seconds[name] = time.process_time() - started

# %%
# The filter
# ----------
# A noisy patch :math:`y` of component k is normal with covariance :math:`\Sigma_k + \sigma^2 I`. Its most probable
# component gives the mean of the clean patch, the Wiener filter
# :math:`\mu_k + \Sigma_k (\Sigma_k + \sigma^2 I)^{-1} (y - \mu_k)`. The patches of an image overlap, and each pixel is
# the mean over all patches that contain it.


def denoise(image, mixture):
    """The image without noise, as far as the mixture knows."""
    rows = patches_of(image)
    level = rows.mean(axis=1, keepdims=True)
    rows = rows - level
    factors, log_weights = [], []
    for weight, mean, covariance in zip(mixture.weights_, mixture.means_, mixture.covariances_, strict=True):
        whole = covariance + SIGMA**2 * np.eye(rows.shape[1])
        factors.append(np.linalg.inv(np.linalg.cholesky(whole)))
        distance = np.sum(((rows - mean) @ factors[-1].T) ** 2, axis=1)
        log_weights.append(np.log(weight + 1e-300) - distance / 2 + np.log(np.diag(factors[-1])).sum())
    chosen = np.argmax(log_weights, axis=0)
    for k in np.unique(chosen):
        mean, own = mixture.means_[k], chosen == k
        rows[own] = mean + (rows[own] - mean) @ factors[k].T @ factors[k] @ mixture.covariances_[k]
    rows += level
    total, count = np.zeros_like(image), np.zeros_like(image)
    height, width = (size - SIZE + 1 for size in image.shape)
    for i in range(SIZE):
        for j in range(SIZE):
            total[i : i + height, j : j + width] += rows[:, i * SIZE + j].reshape(height, width)
            count[i : i + height, j : j + width] += 1
    return total / count


def psnr(image):
    """Peak signal-to-noise ratio in decibels; higher is better."""
    return -10 * np.log10(np.mean((image - clean) ** 2))


images = {"clean": clean, "noisy": noisy}
for name, mixture in fits.items():
    images[name] = denoise(noisy, mixture)
    print(f"{name:13} {psnr(images[name]):.2f} dB, learned in {seconds[name]:.1f} s of the processor")

# %%
# Non-local means average patches of the noisy image itself and learn nothing.

try:
    from skimage.restoration import denoise_nl_means
except ImportError:
    print("scikit-image is not installed")
else:
    options = {"patch_size": 5, "patch_distance": 8, "h": 0.6 * SIGMA, "sigma": SIGMA, "fast_mode": False}
    images["non-local means"] = denoise_nl_means(noisy, **options)
    print(f"non-local means {psnr(images['non-local means']):.2f} dB")

# %%
# The pictures
# ------------
# The noise is gone and the edges remain.

figure, axes = plt.subplots(2, 3, figsize=(9, 5.4), layout="constrained")
for axis, (name, image) in zip(axes.flat, images.items(), strict=False):
    axis.imshow(image, cmap="gray", vmin=0, vmax=1)
    axis.set_title(name if name == "clean" else f"{name}: {psnr(image):.2f} dB", fontsize=10)
for axis in axes.flat:
    axis.set_axis_off()

plt.show()
