"""SparseGaussianMixture with its defaults beside scikit-learn's two mixtures: held-out scores, labels, seconds.

python benchmarks/mixture_defaults.py                tables, colours and separate clusters
python benchmarks/mixture_defaults.py --images DIR   and patches of 8-bit grey PNG images, some of which are held out
python benchmarks/mixture_defaults.py --quick        three splits of two tables

Seconds are those of the processor, on one thread. A score is the mean log density of a held-out row in nats; labels are
compared by the adjusted Rand index. Nothing but the number of components and the covariance type is set.
"""

import argparse
import time
import warnings

import numpy as np
from _patches import from_folder
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sparsemix import SparseGaussianMixture

CLASSES = {"sparsemix": SparseGaussianMixture, "EM": GaussianMixture, "VB": BayesianGaussianMixture}
TYPES = ["full", "tied", "diag", "spherical"]
TABLES = {
    "iris": datasets.load_iris, "wine": datasets.load_wine, "cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}  # fmt: skip


def measure(name, X, X_test, y_test, n_components, **params):
    """Score, Rand index (None without labels), share of components in use and seconds of one fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        mixture = CLASSES[name](n_components=n_components, **params).fit(X)
        seconds = time.process_time() - start
    rand = None if y_test is None else adjusted_rand_score(y_test, mixture.predict(X_test))
    alive = float((mixture.weights_ > 0.1 / n_components).mean())
    return mixture.score(X_test), rand, alive, seconds


def section_tables(names, n_splits):
    """Small tables: means over random 70 % splits, the worst split behind them."""
    print(f"{'':22s}" + "".join(f"{name + ': score (worst)':>28s}{'Rand (worst)':>16s}{'ms':>6s}" for name in CLASSES))
    for name in names:
        X, y = TABLES[name](return_X_y=True)
        for form in ("raw", "standardised"):
            Z = StandardScaler().fit_transform(X) if form == "standardised" else X
            for covariance_type in TYPES:
                splits = [train_test_split(Z, y, train_size=0.7, random_state=seed) for seed in range(n_splits)]
                print(f"{name} {form[:5]} {covariance_type:10s}", end="")
                for each in CLASSES:
                    fits = [
                        measure(each, a, b, yb, len(np.unique(y)), covariance_type=covariance_type, random_state=seed)
                        for seed, (a, b, _, yb) in enumerate(splits)
                    ]
                    scores, rands, _, seconds = (np.array(values) for values in zip(*fits, strict=True))
                    print(f"{scores.mean():14.2f} ({scores.min():11.2f})", end="")
                    print(f"{rands.mean():8.3f} ({rands.min():5.2f}){1e3 * np.median(seconds):6.0f}", end="")
                print(flush=True)


def section_large(name, X, X_test, y_test, n_components, rivals=("EM",), max_iter=100):
    """One large data set: a line for each class."""
    for each in ("sparsemix", *rivals):
        score, rand, alive, seconds = measure(
            each, X, X_test, y_test, n_components, max_iter=max_iter, random_state=0
        )  # fmt: skip
        rand = "" if rand is None else f"Rand {rand:.3f}"
        print(f"{name:18s} K={n_components:4d} {each:10s} {score:9.3f} alive {alive:4.0%} {seconds:7.1f} s {rand}")


def colours():
    """Pixels of scikit-learn's two photographs with noise of a grey level, in random order."""
    pixels = np.concatenate([image.reshape(-1, 3) for image in datasets.load_sample_images().images])
    rng = np.random.default_rng(0)
    X = rng.permutation(pixels).astype(np.float32) / 64
    return X + rng.random(X.shape, dtype=np.float32) / 64


def main():
    """All sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", help="folder of grey PNG images for patches")
    parser.add_argument("--rows", type=int, default=200_000, help="patches to learn from")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    with threadpool_limits(1):
        section_tables(["iris", "wine"] if args.quick else list(TABLES), 3 if args.quick else 10)
        if args.quick:
            return
        X = colours()
        for n_components in (16, 256):
            section_large("colours", X[:100_000], X[100_000:120_000], None, n_components, max_iter=20)
        X, y = datasets.make_blobs(30_000, 10, centers=300, center_box=(-10, 10), random_state=1)
        section_large("separate clusters", X[:20_000], X[20_000:], y[20_000:], 300, rivals=())
        if args.images:
            X, X_test, _ = from_folder(args.images, 8, args.rows, 10_000)
            for n_components in (100, 400, 800):
                section_large("patches", X, X_test, None, n_components, rivals=(), max_iter=10)


if __name__ == "__main__":
    main()
