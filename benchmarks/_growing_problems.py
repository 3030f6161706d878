"""Rows whose number of clusters is to be found, and the labels that they were drawn with, by name and seed.

A name is a kind and the sizes that differ from its defaults, "few n=300 d=5 informative=1"; a last word "standardised"
gives each column mean 0 and variance 1. Tables of scikit-learn are the same for every seed.
"""

import json

import numpy as np
from sklearn import datasets


def draw(name, seed):
    """Rows and labels."""
    words = name.split()
    standardised = words[-1] == "standardised"
    kind, *sizes = words[: len(words) - standardised]
    sizes = {key: json.loads(value) for key, value in (size.split("=") for size in sizes)}
    X, labels = KINDS[kind](np.random.default_rng(seed), **sizes)
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0) if standardised else X, labels


def few(rng, n=2_000, d=10, informative=1, groups=3, gap=10.0):
    """Groups that lie ``gap`` standard deviations apart in some columns, in another order in each, and noise."""
    X, labels = rng.standard_normal((n, d)), balanced(rng, n, groups)
    for column in range(informative):
        X[:, column] += gap * rng.permutation(groups)[labels]
    return X, labels


def least(rng, n=600, d=40, groups=3, gap=75.0):
    """Correlated columns; groups are apart in the direction of least variance only, a hundredth of the largest's sd."""
    sd, labels = np.geomspace(0.01, 1.0, d), balanced(rng, n, groups)
    X = rng.standard_normal((n, d))
    X[:, 0] += gap * labels
    return (X * sd) @ np.linalg.qr(rng.standard_normal((d, d)))[0].T, labels


def lattice(rng, side=3, d=5, rows=20, sd=0.02):
    """A tight group of so many ``rows`` around every point of a grid of unit spacing."""
    points = np.stack(np.meshgrid(*[np.arange(side)] * d), axis=-1).reshape(-1, d)
    labels = balanced(rng, rows * len(points), len(points))
    return points[labels] + sd * rng.standard_normal((len(labels), d)), labels


def blobs(rng, n=2_000, d=5, groups=5, sd=1.0):
    """Spheres around uniform centres; in few dimensions some of them overlap."""
    return datasets.make_blobs(n, d, centers=groups, cluster_std=sd, random_state=int(rng.integers(2**31)))


def ellipses(rng, n=2_000):
    """Four ellipses of unequal size, of any direction and length, apart from each other."""
    centres = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0], [8.0, 8.0]])
    labels = rng.choice(4, n, p=[0.5, 0.25, 0.15, 0.1])
    shapes = rng.standard_normal((4, 2, 2))
    shapes *= 1.2 / np.linalg.norm(shapes, axis=(1, 2), keepdims=True)
    return centres[labels] + (shapes[labels] @ rng.standard_normal((n, 2, 1)))[:, :, 0], labels


def given(rng, n=2_000, d=5):
    """Three groups 250 standard deviations apart, whose variances ``parameters`` gives to the estimator."""
    centres = rng.standard_normal((3, d))
    centres *= 250.0 / np.linalg.norm(centres[[0, 0, 1]] - centres[[1, 2, 2]], axis=1).min()
    labels = balanced(rng, n, 3)
    return np.sqrt(variances(d)) * (centres[labels] + rng.standard_normal((n, d))), labels


def one(rng, n=1_000, d=10):
    """A single Gaussian."""
    return rng.standard_normal((n, d)), np.zeros(n, dtype=int)


def student(rng, n=1_000, d=3, df=3):
    """A single group with long tails, of which Gaussians need several."""
    return rng.standard_t(df, (n, d)), np.zeros(n, dtype=int)


def balanced(rng, n, groups):
    """Labels of groups of equal size, in random order."""
    return rng.permutation(np.arange(n) % groups)


def variances(d):
    """Of the columns of ``given``, from a hundredth to a hundred."""
    return np.geomspace(0.01, 100.0, d)


def table(name):
    """A labelled table of scikit-learn."""
    return lambda _rng: getattr(datasets, f"load_{name}")(return_X_y=True)


KINDS = {kind.__name__: kind for kind in (few, least, lattice, blobs, ellipses, given, one, student)}
KINDS |= {name: table(name) for name in ("iris", "wine", "breast_cancer", "digits")}


def parameters(name, n_features):
    """What the estimator is given besides its defaults."""
    known = {"likelihood": "diag", "covariance_prior": variances(n_features)}
    return known if name.split()[0] == "given" else {}
