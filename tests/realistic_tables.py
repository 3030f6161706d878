"""Tables and corpora as people have them: dates as numbers, identifiers, whole numbers, one cell mistyped, few rows."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

GROUPS, ROWS = 3, 240


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to learn from, rows held out, their groups, and the columns in which the groups lie."""

    name: str
    train: np.ndarray
    test: np.ndarray
    groups: np.ndarray
    test_groups: np.ndarray

    def __repr__(self):
        return self.name


def tables():
    """All tables by name; each call draws the same."""
    found = {}
    for seed, (name, make) in enumerate(MAKERS.items()):
        rng = np.random.default_rng(seed)
        X, groups = make(rng)
        order = rng.permutation(len(X))
        if name == "a mistyped cell":  # which is to be learned from
            order = np.roll(order, -1 - np.flatnonzero(order == len(X) - 1)[0])
        test, train = order[: len(X) // 3], order[len(X) // 3 :]
        found[name] = Table(name, X[train], X[test], groups[train], groups[test])
    return found


def _people(rng, n=ROWS, n_features=4):
    """Groups that lie apart in every column, in random order."""
    groups = rng.permutation(np.arange(n) % GROUPS)
    centres = rng.permuted(np.tile(np.arange(GROUPS) * 6.0, (n_features, 1)), axis=1).T
    return centres[groups] + rng.normal(size=(n, n_features)), groups


def _with(rng, make_column, n=ROWS):
    """The groups and one more column, which knows nothing of them."""
    X, groups = _people(rng, n)
    return np.column_stack([X, make_column(len(X))]), groups


def _dates(rng):
    return _with(rng, lambda n: np.sort(rng.integers(1_600_000_000, 1_700_000_000, n)).astype(float))


def _identifiers(rng):
    return _with(rng, lambda n: 10_000_000 + np.arange(n))


def _other_unit(rng):
    return _with(rng, lambda n: rng.normal(size=n) * 1e7)


def _small_unit(rng):
    return _with(rng, lambda n: rng.normal(size=n) * 1e-9)


def _whole_numbers(rng):
    X, groups = _people(rng)
    return np.round(5.0 * X + 100.0).astype(np.int64), groups


def _prices_in_two_currencies(rng):
    return _with(rng, lambda n: np.exp(rng.normal(size=n)) * np.where(rng.random(n) < 0.5, 1.0, 150.0))


def _one_hot(rng):
    return _with(rng, lambda n: np.eye(4)[rng.integers(4, size=n)])


def _constant_column(rng):
    return _with(rng, lambda n: np.full(n, 1e6))


def _mistyped_cell(rng):
    X, groups = _people(rng)
    X[-1, 0] = 1e9
    return X, groups


def _duplicates(rng):
    X, groups = _people(rng, ROWS // 5)
    return np.repeat(X, 5, axis=0), np.repeat(groups, 5)


def _redundant_column(rng):
    X, groups = _people(rng)
    return np.column_stack([X, X.sum(axis=1)]), groups


def _heavy_tails(rng):
    X, groups = _people(rng)
    return X + 0.3 * rng.standard_t(2, size=X.shape), groups


def _more_columns_than_rows(rng):
    return _people(rng, 60, 100)


def _ten_rows(rng):
    return _people(rng, 15, 2)  # of which ten are learned from


def _one_column(rng):
    return _people(rng, ROWS, 1)


MAKERS = {
    "dates as seconds": _dates,
    "identifiers": _identifiers,
    "a column of another unit": _other_unit,
    "a column of tiny numbers": _small_unit,
    "whole numbers": _whole_numbers,
    "prices in two currencies": _prices_in_two_currencies,
    "one-hot columns": _one_hot,
    "a constant column": _constant_column,
    "a mistyped cell": _mistyped_cell,
    "duplicates": _duplicates,
    "a redundant column": _redundant_column,
    "heavy tails": _heavy_tails,
    "more columns than rows": _more_columns_than_rows,
    "ten rows": _ten_rows,
    "one column": _one_column,
}


@dataclass(frozen=True, eq=False)
class Corpus:
    """Word counts to learn from and held out."""

    name: str
    train: sparse.csr_array
    test: sparse.csr_array

    def __repr__(self):
        return self.name


def corpora():
    """All corpora by name; each call draws the same."""
    found = {}
    for seed, (name, lengths) in enumerate(CORPORA.items()):
        rng, n_docs = np.random.default_rng(100 + seed), len(lengths)
        X = _documents(rng, n_docs, lengths)
        found[name] = Corpus(name, X[n_docs // 3 :], X[: n_docs // 3])
    return found


def _documents(rng, n_docs, lengths, n_words=150, n_topics=5):
    """Counts of documents of one to two of five topics."""
    topics = rng.dirichlet(np.full(n_words, 0.05), size=n_topics)
    shares = rng.dirichlet(np.full(n_topics, 0.2), size=n_docs) @ topics
    return sparse.csr_array(np.array([rng.multinomial(n, p / p.sum()) for n, p in zip(lengths, shares, strict=True)]))


# Tokens of each document.
CORPORA = {
    "titles of five words": np.full(300, 5),
    "articles": np.arange(150) % 11 * 20 + 80,
    "a few documents": np.full(36, 400),
    "some documents are empty": np.where(np.arange(150) % 3 == 0, 0, 60),
    "one document is a book": np.where(np.arange(90) == 45, 2_000, 60),
}
