"""K-means and mixtures that do its job: squared error of a palette of colours, and seconds.

python benchmarks/kmeans.py            K = 16, 64 and 256, three seeds
python benchmarks/kmeans.py --quick    K = 16, a tenth of the pixels

Rows are the pixels of one of scikit-learn's photographs, red, green and blue from 0 to 255, all of them learned from.
The squared error of a row is that to the mean of its label, or to its nearest mean. Seconds are those of the processor,
on one thread.
"""

import warnings

import numpy as np
from _measure import spent
from _results import parser_of, recorder
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_sample_image
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import threadpool_limits

from sparsemix import SparseGaussianMixture

HARD = {"covariance_type": "tied_spherical", "n_nonzero": 1}
# Names of rows of the table: class, parameters that differ from its defaults.
CONTESTANTS = {
    "KMeans": (KMeans, {}),
    "MiniBatchKMeans": (MiniBatchKMeans, {}),
    "SparseGaussianMixture, as k-means": (SparseGaussianMixture, HARD | {"weight_concentration_prior": np.inf}),
    "the same, weights learned": (SparseGaussianMixture, HARD),
    "SparseGaussianMixture, defaults": (SparseGaussianMixture, {}),
}


def measure(make, X, n_components, params, seed):
    """Squared errors and seconds of one fit."""
    size = "n_components" if make is SparseGaussianMixture else "n_clusters"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model, seconds = spent(lambda: make(**{size: n_components}, **params, random_state=seed).fit(X))
    means = model.means_ if make is SparseGaussianMixture else model.cluster_centers_
    labels = {"error": model.predict(X), "nearest": pairwise_distances_argmin(X, means)}
    return {name: float(((X - means[each]) ** 2).sum(axis=1).mean()) for name, each in labels.items()}, seconds


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    record = recorder(args)
    pixels = load_sample_image("flower.jpg").reshape(-1, 3)[:: 10 if args.quick else 1].astype(np.float64)
    seeds = [0] if args.quick else [0, 1, 2]
    with threadpool_limits(1):
        for n_components in (16,) if args.quick else (16, 64, 256):
            for label, (make, params) in CONTESTANTS.items():
                fits = [measure(make, pixels, n_components, params, seed) for seed in seeds]
                scores, seconds = zip(*fits, strict=True)
                record.add(
                    "kmeans", f"flower.jpg, {len(pixels):,} pixels", split=None, estimator=make.__name__, label=label,
                    parameters={"n_components": n_components} | {name: str(value) for name, value in params.items()},
                    prior="defaults", seed=seeds,
                    scores={name: [round(score[name], 2) for score in scores] for name in ("error", "nearest")},
                    seconds=[round(each, 3) for each in seconds],
                )  # fmt: skip


if __name__ == "__main__":
    main()
