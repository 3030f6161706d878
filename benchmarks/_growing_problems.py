"""Rows whose number of clusters is to be found, and the labels that they were drawn with, by name and seed.

A name is a kind and the sizes that differ from its defaults, "few n=300 d=5 informative=1"; a last word "standardised"
gives each column mean 0 and variance 1. Tables of scikit-learn are the same for every seed.
"""

import json

import numpy as np
from scipy.spatial.distance import pdist
from sklearn import datasets
from sklearn.decomposition import PCA


def draw(name, seed):
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
    """A tight group of ``rows`` rows around every point of a grid of unit spacing."""
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
    return rng.standard_normal((n, d)), np.zeros(n, dtype=int)


def student(rng, n=1_000, d=3, df=3):
    """A single group with long tails, of which Gaussians need several."""
    return rng.standard_t(df, (n, d)), np.zeros(n, dtype=int)


def unequal(rng, n=1_110, d=4):
    """Three groups whose sizes are as 1 to 10 to 100."""
    labels = rng.permutation(np.digitize(np.arange(n) * 111 / n, [1, 11]))
    return apart(rng, d, 3, 6.0)[labels] + rng.standard_normal((n, d)), labels


def copies(rng, n=600, groups=3):
    """Three columns, a copy of one of them and a sum of two."""
    labels = balanced(rng, n, groups)
    X = apart(rng, 3, groups, 6.0)[labels] + rng.standard_normal((n, 3))
    return np.c_[X, X[:, 0], X[:, 0] + X[:, 1]], labels


def binary(rng, n=600, groups=3):
    """Three columns of numbers and three of zeros and ones, whose shares of ones differ between groups."""
    labels = balanced(rng, n, groups)
    ones = rng.random((n, 3)) < rng.permuted(np.tile([[0.1], [0.5], [0.9]], 3), axis=0)[labels % 3]
    return np.c_[apart(rng, 3, groups, 6.0)[labels] + rng.standard_normal((n, 3)), ones], labels


def typo(rng, n=500, d=4, groups=4):
    """Spheres, and one wrong value far away."""
    labels = balanced(rng, n, groups)
    X = apart(rng, d, groups, 8.0)[labels] + rng.standard_normal((n, d))
    X[0, 0] = 1e9
    return X, labels


def codes(rng, n=1_000, d=2, groups=5, far=1, code=-999_999.0):
    """Narrow groups, and rows that hold a code of missing values in all columns."""
    labels = balanced(rng, n, groups)
    X = rng.uniform(0.0, 1.0, (groups, d))[labels] + 0.04 * rng.standard_normal((n, d))
    X[:far], labels[:far] = code, groups
    return X, labels


def moving(rng, shift=3.0, d=2, n=1_000, groups=5, blocks=30):
    """Blocks of a stream, each with new groups; the place of all of them moves by ``shift`` a block."""
    for block in range(blocks):
        centres, labels = rng.uniform(-5.0, 5.0, (groups, d)) + shift * block, rng.integers(0, groups, n)
        yield centres[labels] + 0.2 * rng.standard_normal((n, d)), labels, centres


def reduced(rng, n=1_000, d=10):
    """Principal components of some digits."""
    X, labels = datasets.load_digits(return_X_y=True)
    rows = rng.permutation(len(X))[:n]
    return PCA(d, svd_solver="full").fit_transform(X[rows]), labels[rows]


def nested(rng, n=600, d=3, ratio=10.0):
    """A narrow group in the middle of a wide one."""
    labels = balanced(rng, n, 2)
    return np.array([1.0, ratio])[labels, None] * rng.standard_normal((n, d)), labels


def oblique(rng, n=600, d=5, groups=4, gap=8.0):
    """Groups with covariances of any direction and length."""
    labels, shapes = balanced(rng, n, groups), rng.standard_normal((groups, d, d))
    shapes *= np.sqrt(d) / np.linalg.norm(shapes, axis=(1, 2), keepdims=True)
    noise = np.einsum("nij,nj->ni", shapes[labels], rng.standard_normal((n, d)))
    return apart(rng, d, groups, gap)[labels] + noise, labels


def zeros(rng, n=600, d=6, groups=3):
    """Columns that are zero but in one group, and in a twentieth of the other rows."""
    labels = balanced(rng, n, groups)
    positive = (labels[:, None] == np.arange(d) % groups) | (rng.random((n, d)) < 0.05)
    return positive * (5.0 + rng.standard_normal((n, d))), labels


def normal(rng, shape):
    return rng.standard_normal(shape)


def grouped(n, d, groups, gap, noise=normal, change=lambda X: X):
    """A kind whose groups of equal size have noise around centres ``gap`` apart, changed in the end."""

    def kind(rng, n=n, d=d, groups=groups, gap=gap):
        labels = balanced(rng, n, groups)
        return change(apart(rng, d, groups, gap)[labels] + noise(rng, (n, d))), labels

    return kind


def apart(rng, d, groups, gap):
    """Normal centres, of which the nearest two are ``gap`` apart."""
    centres = rng.standard_normal((groups, d))
    return centres * gap / pdist(centres).min()


def balanced(rng, n, groups):
    """Labels of groups of equal size, in random order."""
    return rng.permutation(np.arange(n) % groups)


def variances(d):
    """Of the columns of ``given``, from a hundredth to a hundred."""
    return np.geomspace(0.01, 100.0, d)


def table(name):
    return lambda _rng: getattr(datasets, f"load_{name}")(return_X_y=True)


KINDS = {
    kind.__name__: kind
    for kind in (few, least, lattice, blobs, ellipses, given, one, student, unequal, copies, binary, typo, codes,
                 reduced, nested, oblique, zeros)
} | {
    "heavy": grouped(600, 3, 4, 9.0, lambda rng, shape: rng.standard_t(5, shape)),
    "skewed": grouped(600, 3, 3, 3.0, lambda rng, shape: 0.4 * normal(rng, shape), np.exp),
    "whole": grouped(600, 5, 4, 12.0, lambda rng, shape: 2.0 * normal(rng, shape), np.rint),
    "touching": grouped(600, 2, 2, 3.0),
    "wide": grouped(500, 200, 4, 12.0),
    "boxes": grouped(600, 3, 4, 5.0, lambda rng, shape: rng.uniform(-1.7, 1.7, shape)),
    "many": grouped(1_200, 4, 100, 5.0),
    "units": grouped(600, 4, 4, 7.0, change=lambda X: X * np.geomspace(1.0, 1e3, X.shape[1])),
    **{name: table(name) for name in ("iris", "wine", "breast_cancer", "digits")},
}  # fmt: skip


def parameters(name, n_features):
    """Parameters of the estimator other than its defaults."""
    known = {"likelihood": "diag", "covariance_prior": variances(n_features)}
    return known if name.split()[0] == "given" else {}
