"""SparseGaussianMixture with its defaults compared with scikit-learn's two mixtures: held-out scores, labels, seconds.

python benchmarks/mixture_defaults.py                tables, colours and separate clusters
python benchmarks/mixture_defaults.py --images DIR   and patches of 8-bit grey PNG images, some of which are held out
python benchmarks/mixture_defaults.py --quick        five splits of three tables

Seconds are those of the processor, on one thread. A score is the mean log density of a held-out row in nats; labels are
compared by the adjusted Rand index. Nothing but the number of components and the covariance type is set. Our defaults
were chosen on the data that ``TUNED_ON`` names, theirs were not; tables mark it.
"""

import warnings

import numpy as np
from _measure import spent
from _patches import from_folder
from _results import parser_of, recorder
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sparsemix import SparseGaussianMixture

OURS = "SparseGaussianMixture"
CLASSES = {
    OURS: SparseGaussianMixture, "GaussianMixture": GaussianMixture, "BayesianGaussianMixture": BayesianGaussianMixture
}  # fmt: skip
TYPES = ["full", "tied", "diag", "spherical"]
TUNED_ON = ["iris", "wine", "cancer", "digits", "ellipsoids", "colours", "separate clusters", "patches"]


def ellipsoids():
    """Six clusters of 100 rows in eight dimensions, each stretched and turned in its own way."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(100, 8)) @ rng.normal(size=(8, 8)) + rng.normal(scale=4.0, size=8) for _ in range(6)]
    return np.concatenate(X), np.repeat(np.arange(6), 100)


def drawn(sizes, n_features, spread, row):
    """Clusters of these sizes; ``row`` gives what rows differ by from the middle of their cluster."""

    def load():
        rng = np.random.default_rng(100)
        X = [rng.normal(scale=spread, size=n_features) + row(rng, (size, n_features)) for size in sizes]
        return np.concatenate(X), np.repeat(np.arange(len(sizes)), sizes)

    return load


def gaussian(rng, shape):
    """Rows of one Gaussian with a random covariance."""
    return rng.normal(size=shape) @ rng.normal(scale=0.7, size=(shape[1], shape[1]))


def tails(rng, shape):
    """Rows of Student's t with three degrees of freedom."""
    return rng.standard_t(3.0, size=shape)


def units():
    """Columns in units that differ by a million, and depend on each other."""
    X, y = drawn([90, 120, 150, 60, 80], 6, 4.0, gaussian)()
    return X * 10.0 ** np.linspace(-3.0, 3.0, 6), y


def outliers():
    """Four clusters, and ten rows far from all of them."""
    X, y = drawn([100] * 4, 5, 4.0, gaussian)()
    rng = np.random.default_rng(101)
    X[rng.choice(len(X), 10, replace=False)] += rng.normal(scale=80.0, size=(10, 5))
    return X, y


def counts():
    """Whole numbers, whose variance grows with their mean."""
    rng = np.random.default_rng(102)
    y = np.repeat(np.arange(5), 100)
    return rng.poisson(rng.gamma(2.0, 3.0, size=(5, 8))[y]).astype(float), y


def hidden_axis():
    """Two groups along the thinnest direction of a rotated cloud, which no scale of columns shows."""
    rng = np.random.default_rng(103)
    y, Z = rng.integers(0, 2, 600), rng.normal(size=(600, 4))
    Z[:, 3] = 0.15 * Z[:, 3] + y
    return Z * np.geomspace(100.0, 1.0, 4) @ np.linalg.qr(rng.normal(size=(4, 4)))[0], y


def diabetes():
    return datasets.load_diabetes(scaled=False).data, None


def labelled(load):
    """Rows and labels of one of scikit-learn's tables."""
    return lambda: load(return_X_y=True)


TABLES = {
    "iris": labelled(datasets.load_iris), "wine": labelled(datasets.load_wine),
    "cancer": labelled(datasets.load_breast_cancer), "digits": labelled(datasets.load_digits),
    "diabetes": diabetes, "ellipsoids": ellipsoids, "sizes": drawn([800, 200, 80, 40, 40], 4, 5.0, gaussian),
    "outliers": outliers, "tails": drawn([100, 150, 200, 50], 5, 4.0, tails), "units": units, "counts": counts,
    "hidden axis": hidden_axis,
}  # fmt: skip


def measure(name, X, X_test, y_test, n_components, **params):
    """Scores and seconds of one fit; the Rand index is None without labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture, seconds = spent(lambda: CLASSES[name](n_components=n_components, **params).fit(X))
    rand = None if y_test is None else adjusted_rand_score(y_test, mixture.predict(X_test))
    alive = float((mixture.weights_ > 0.1 / n_components).mean())
    return {"score": float(mixture.score(X_test)), "rand": rand, "alive": alive}, seconds


def describe(name, n_components, covariance_type):
    """Fields that a fit of one class has in all records."""
    return {
        "estimator": name, "parameters": {"n_components": n_components, "covariance_type": covariance_type},
        "prior": "defaults", "tuned_on": TUNED_ON if name == OURS else [],
    }  # fmt: skip


def small_tables(record, names, n_splits):
    """Random 70 % splits of small tables, the seed of the fit that of the split."""
    for name in names:
        X, y = TABLES[name]()
        n_components = 5 if y is None else len(np.unique(y))
        for form in ("raw", "standardised"):
            Z = StandardScaler().fit_transform(X) if form == "standardised" else X
            for covariance_type in TYPES:
                for each in CLASSES:
                    fits = []
                    for seed in range(n_splits):
                        a, b = train_test_split(np.arange(len(Z)), train_size=0.7, random_state=seed)
                        fits.append(measure(each, Z[a], Z[b], None if y is None else y[b], n_components,
                                            covariance_type=covariance_type, random_state=seed))  # fmt: skip
                    scores, seconds = zip(*fits, strict=True)
                    record.add(
                        "mixture-defaults", f"{name}, {form}", split="70 % of the rows, by the seed",
                        scores={key: listed(score[key] for score in scores) for key in ("score", "rand")},
                        seed=list(range(n_splits)), seconds=listed(seconds, 5),
                        **describe(each, n_components, covariance_type),
                    )  # fmt: skip


def listed(values, digits=4):
    """For a record: no more digits than mean something; None where there are no values."""
    values = [None if value is None else round(value, digits) for value in values]
    return None if None in values else values


def large(record, name, X, X_test, y_test, n_components, rivals=("GaussianMixture",), max_iter=100):
    """One large data set: a line for each class."""
    for each in (OURS, *rivals):
        scores, seconds = measure(each, X, X_test, y_test, n_components, max_iter=max_iter, random_state=0)
        about = describe(each, n_components, "full")
        about["parameters"]["max_iter"] = max_iter
        record.add("mixture-defaults-large", f"{name}, {len(X):,} rows", scores=scores, seed=0,
                   split=f"{len(X_test):,} rows held out", seconds=seconds, **about)  # fmt: skip


def colours():
    """Pixels of scikit-learn's two photographs with noise of a grey level, in random order."""
    pixels = np.concatenate([image.reshape(-1, 3) for image in datasets.load_sample_images().images])
    rng = np.random.default_rng(0)
    X = rng.permutation(pixels).astype(np.float32) / 64
    return X + rng.random(X.shape, dtype=np.float32) / 64


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--images", metavar="DIR", help="folder of grey PNG images for patches")
    parser.add_argument("--only", choices=["small", "large"], help="small tables, or large data")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    record = recorder(args)
    with threadpool_limits(1):
        if args.quick:
            small_tables(record, ["iris", "wine", "ellipsoids"], 5)
            return
        if args.only != "large":
            small_tables(record, list(TABLES), 10)
        if args.only != "small":
            large_data(record, args)


def large_data(record, args):
    X = colours()
    for n_components in (16, 256):
        large(record, "colours", X[:100_000], X[100_000:120_000], None, n_components, max_iter=20)
    X, y = datasets.make_blobs(30_000, 10, centers=300, center_box=(-10, 10), random_state=1)
    large(record, "separate clusters", X[:20_000], X[20_000:], y[20_000:], 300)
    if args.images:
        X, X_test, _ = from_folder(args.images, 8, 200_000, 10_000)
        for n_components in (100, 400, 800):
            large(record, "patches", X, X_test, None, n_components, rivals=(), max_iter=10)


if __name__ == "__main__":
    main()
