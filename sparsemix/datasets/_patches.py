"""Patches of photographs, and a synthetic mixture like them."""

from typing import Any

import numpy as np
from sklearn.datasets import load_sample_images
from sklearn.utils import check_random_state

from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import Array, Seed

# Edge of the image blocks that are held out whole, so that no held-out patch shares a pixel with training.
BLOCK = 64


@plain_arguments
def load_image_patches(
    patch_size: int = 8, stride: int = 4, *, return_test: bool = False, random_state: Seed = 0
) -> Any:
    """Patches of the two photographs that scikit-learn bundles.

    Uniform noise of one grey level is added, because flat patches would make the likelihood unbounded. The mean of
    each patch is subtracted. One scale factor for all patches makes the mean variance of a pixel one.

    Parameters
    ----------
    patch_size : int, default=8
        Edge of a patch in pixels.
    stride : int, default=4
        Pixels between neighbouring patches.
    return_test : bool, default=False
        Hold out about an eighth of the image: blocks of 64 x 64 pixels. Patches across a block border are dropped.
    random_state : int, RandomState instance or None, default=0
        Seed of the noise and of the order of the patches.

    Returns
    -------
    X : ndarray of shape (n_patches, patch_size ** 2), float32
        Patches in random order; about 33,000 for 8 x 8 pixels and stride 4.
    X_test : ndarray of shape (n_test, patch_size ** 2), float32
        Only with ``return_test=True``.

    Raises
    ------
    ImportError
        If pillow is missing, with which scikit-learn reads images; ``pip install "sparsemix[demo]"`` installs it.

    Examples
    --------
    >>> from sparsemix.datasets import load_image_patches
    >>> X, X_test = load_image_patches(return_test=True)
    >>> X.shape[1], X.dtype
    (64, dtype('float32'))
    """
    rng = check_random_state(random_state)
    train, test = [], []
    for image in photographs():
        grey = image.mean(axis=2) + rng.uniform(-0.5, 0.5, image.shape[:2])
        patches, is_train, is_test = cut(grey, patch_size, stride)
        train.append(patches[is_train] if return_test else patches)
        test.append(patches[is_test])
    X, X_test = np.concatenate(train), np.concatenate(test)
    scale = 1.0 / np.sqrt(np.mean(X**2))
    X = (rng.permutation(X) * scale).astype(np.float32)
    return (X, (X_test * scale).astype(np.float32)) if return_test else X


def photographs():
    """The two photographs of scikit-learn, as arrays of colours."""
    try:
        return load_sample_images().images
    except ImportError as error:
        raise ImportError('load_image_patches needs pillow; pip install "sparsemix[demo]" installs it.') from error


def cut(grey, size, stride):
    """Centred patches; which of them touch no held-out block; which lie inside one."""
    windows = np.lib.stride_tricks.sliding_window_view(grey, (size, size))[::stride, ::stride]
    patches = windows.reshape(-1, size * size)
    row, column = (a.ravel() * stride for a in np.indices(windows.shape[:2]))
    corners = [held_out((row + i) // BLOCK, (column + j) // BLOCK) for i in (0, size - 1) for j in (0, size - 1)]
    return patches - patches.mean(axis=1, keepdims=True), ~np.any(corners, axis=0), np.all(corners, axis=0)


def held_out(block_row, block_column):
    """Whether a block is held out: every eighth block, spread over the image."""
    return (3 * block_row + block_column) % 8 == 0


@plain_arguments
def make_patch_mixture(
    n_samples: int = 10_000, n_features: int = 64, n_components: int = 20, *, rank: int = 8, random_state: Seed = None
) -> tuple[Array, Array, Array]:
    """Draw rows of a zero-mean Gaussian mixture; each covariance has a few strong directions, as image patches have.

    Parameters
    ----------
    n_samples : int, default=10000
        Number of rows.
    n_features : int, default=64
        Number of dimensions.
    n_components : int, default=20
        Number of components. Their weights are drawn from a Dirichlet distribution.
    rank : int, default=8
        Number of strong directions per component; 0 for none.
    random_state : int, RandomState instance or None, default=None
        Seed; pass an int for reproducible rows.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float64
        Rows.
    y : ndarray of shape (n_samples,), int64
        Component of each row.
    covariances : ndarray of shape (n_components, n_features, n_features)
        The true covariances.

    Examples
    --------
    >>> from sparsemix.datasets import make_patch_mixture
    >>> X, y, covariances = make_patch_mixture(100, n_features=5, n_components=3, rank=2, random_state=0)
    >>> X.shape, covariances.shape
    ((100, 5), (3, 5, 5))
    """
    rng = check_random_state(random_state)
    y = rng.choice(n_components, size=n_samples, p=rng.dirichlet(np.full(n_components, 5.0)))
    directions = rng.standard_normal((n_components, n_features, rank)) * rng.gamma(2.0, 1.0, (n_components, 1, rank))
    covariances = directions @ directions.transpose(0, 2, 1) / max(rank, 1) + 0.05 * np.eye(n_features)
    X = np.empty((n_samples, n_features))
    for k in range(n_components):
        rows = y == k
        X[rows] = rng.standard_normal((rows.sum(), n_features)) @ np.linalg.cholesky(covariances[k]).T
    return X, y, covariances
