"""Image patches, and the parameters that every fit on them starts from.

Grey levels get uniform noise of one level (flat patches would make a likelihood unbounded), each patch's mean is
removed, and one common scale makes the mean variance of a pixel one.
"""

from pathlib import Path

import numpy as np

from sparsemix import SparseGaussianMixture
from sparsemix.datasets import load_image_patches

# Variance that a start has along the constant vector, where patches less their means have none: float32 precisions
# would not bear its inverse. Scores leave this direction out.
CONSTANT_VARIANCE = 1e-2
BSD68_TEST_IMAGES = 14


def write_patches(images, size, n_rows, n_test, train, test):
    """Make training and held-out patches, save them, and say what they are."""
    make = from_folder if images else from_photographs
    X, X_test, source = make(images, size, n_rows, n_test)
    np.save(train, X)
    np.save(test, X_test)
    return {"n_rows": len(X), "n_test": len(X_test), "n_features": size * size, "source": source}


def from_photographs(_, size, n_rows, n_test):
    """Blocks of scikit-learn's two photographs are held out; the stride shrinks until there are rows enough."""
    for stride in (4, 2):
        X, X_test = load_image_patches(size, stride, return_test=True)
        if len(X) >= n_rows:
            break
    X_test = np.random.default_rng(0).permutation(X_test)
    return X[:n_rows], X_test[:n_test], f"scikit-learn's two photographs, stride {stride}"


def from_folder(images, size, n_rows, n_test):
    """Patches at random places; held-out ones come from separate images."""
    train_paths, test_paths = split(images)
    train = [read_grey(path) for path in train_paths] + photographs()
    test = [read_grey(path) for path in test_paths]
    rng = np.random.default_rng(0)
    X, X_test = sample(train, size, n_rows, rng), sample(test, size, n_test, rng)
    scale = np.float32(1.0 / np.sqrt(np.mean(np.square(X), dtype=np.float64)))
    X *= scale
    X_test *= scale
    return X, X_test, f"{len(train)} images, {len(test)} others held out"


def split(images):
    paths = [path for path in sorted(Path(images).rglob("*.png")) if "set12" not in path.as_posix()]
    if len(paths) < 2:
        raise ValueError(f"{images} holds {len(paths)} PNG images; at least two are needed")
    test = [path for path in paths if "bsd68" in path.as_posix()][-BSD68_TEST_IMAGES:]
    test = test or paths[-max(1, len(paths) // 10) :]
    return [path for path in paths if path not in set(test)], test


def read_grey(path):
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("L"), dtype=np.float32)


def photographs():
    from sklearn.datasets import load_sample_images

    return [image.mean(axis=2).astype(np.float32) for image in load_sample_images().images]


def sample(images, size, n, rng):
    """``n`` patches at random positions, in random order."""
    windows = [np.lib.stride_tricks.sliding_window_view(image, (size, size)) for image in images]
    positions = np.array([window.shape[0] * window.shape[1] for window in windows], dtype=np.float64)
    counts = rng.multinomial(n, positions / positions.sum())
    patches = [
        window[rng.integers(window.shape[0], size=count), rng.integers(window.shape[1], size=count)]
        for window, count in zip(windows, counts, strict=True)
    ]
    X = np.concatenate(patches).reshape(n, -1)
    X += rng.uniform(-0.5, 0.5, X.shape).astype(np.float32)
    X -= X.mean(axis=1, keepdims=True)
    return X[rng.permutation(n)]


def write_start(train, n_components, covariance_type, n_rows, out):
    """Weights, means and covariances around rows drawn at random from the first ones, for all who start there."""
    mixture = SparseGaussianMixture(
        n_components, max_iter=0, init_params="random_from_data", covariance_type=covariance_type, inference="em",
        random_state=0,
    ).fit(np.load(train)[:n_rows])  # fmt: skip
    covariances = mixture.covariances_
    if covariance_type == "zero_mean":
        covariances = covariances + CONSTANT_VARIANCE / covariances.shape[-1]
    np.savez(out, weights=mixture.weights_, means=mixture.means_, covariances=covariances)
    return {"n_components": n_components, "covariance_type": covariance_type}
