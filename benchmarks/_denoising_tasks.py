"""Processes of ``denoising.py``: learn the mixture, and denoise one picture by one method."""

import warnings
from importlib.util import find_spec

import numpy as np
from _measure import spent
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.datasets import load_sample_images
from sklearn.exceptions import ConvergenceWarning

from sparsemix import SparseGaussianMixture

SIGMA, SIDE = 25 / 255, 8
STEPS = 1, 4, 8, 16, 32  # of EPLL [Zoran & Weiss 2011]: the noise variance of patches is divided by these


def patches_of(image):
    """All patches of an image as rows."""
    return sliding_window_view(image, (SIDE, SIDE)).reshape(-1, SIDE * SIDE)


def learn(n_components, n_rows, out):
    """Fit the mixture and write its parameters; CPU seconds."""
    rng = np.random.default_rng(0)
    rows = [patches_of(image.mean(axis=2) / 255) for image in load_sample_images().images]
    X = np.concatenate([part[rng.choice(len(part), n_rows // 2, replace=False)] for part in rows])
    X -= X.mean(axis=1, keepdims=True)
    mixture = SparseGaussianMixture(n_components, n_nonzero=4, covariance_type="zero_mean", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds = spent(lambda: mixture.fit(X))[1]
    np.savez(out, weights=mixture.weights_, covariances=mixture.covariances_)
    return seconds


def measure(picture, method, size, path):
    """PSNR of a denoised picture in decibels, that of the noisy one, and CPU seconds; None where a package lacks."""
    if find_spec("skimage") is None or (method == "BM3D" and find_spec("bm3d") is None):
        return None
    clean = grey(picture, size)
    noisy = clean + np.random.default_rng(1).normal(scale=SIGMA, size=clean.shape)
    mixture = np.load(path)
    prior = mixture["weights"], mixture["covariances"]
    denoise = {
        "sparsemix": lambda image: wiener(image, *prior, SIGMA**2),
        "sparsemix, EPLL": lambda image: epll(image, *prior),
        "BM3D": bm3d,
        "non-local means": non_local_means,
    }[method]
    denoise(noisy[:32, :32])  # imports and first calls are not counted
    denoised, seconds = spent(lambda: denoise(noisy))
    return {"psnr": psnr(denoised, clean), "noisy": psnr(noisy, clean), "seconds": seconds}


def grey(picture, size):
    """The middle of a picture, between 0 and 1."""
    from skimage import color, data

    image = getattr(data, picture)()
    image = color.rgb2gray(image) if image.ndim == 3 else image / 255
    top, left = ((n - size) // 2 for n in image.shape)
    return image[top : top + size, left : left + size]


def psnr(image, clean):
    return float(-10 * np.log10(np.mean((image - clean) ** 2)))


# -- methods


def wiener(image, weights, covariances, variance):
    """The mean over all patches of a pixel, each filtered by its most probable component."""
    rows = patches_of(image)
    level = rows.mean(axis=1, keepdims=True)
    rows = rows - level
    noisy = covariances + variance * np.eye(SIDE * SIDE)
    mixture = SparseGaussianMixture.from_parameters(weights, None, noisy, covariance_type="zero_mean")
    chosen = mixture.predict(rows)
    for k in np.unique(chosen):
        rows[chosen == k] = rows[chosen == k] @ np.linalg.solve(noisy[k], covariances[k])
    rows += level
    total, count = np.zeros_like(image), np.zeros_like(image)
    height, width = (n - SIDE + 1 for n in image.shape)
    for pixel, column in enumerate(rows.T):
        i, j = divmod(pixel, SIDE)
        total[i : i + height, j : j + width] += column.reshape(height, width)
        count[i : i + height, j : j + width] += 1
    return total / count


def epll(image, weights, covariances):
    """Expected patch log-likelihood: filter the estimate again and again, each time weighed with the noisy image."""
    estimate = image
    for step in STEPS:
        estimate = (image + step * wiener(estimate, weights, covariances, SIGMA**2 / step)) / (1 + step)
    return estimate


def bm3d(image):
    from bm3d import bm3d as denoise

    return denoise(image, SIGMA)


def non_local_means(image):
    from skimage.restoration import denoise_nl_means

    return denoise_nl_means(image, patch_size=5, patch_distance=8, h=0.6 * SIGMA, sigma=SIGMA, fast_mode=False)
