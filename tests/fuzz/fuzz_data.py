"""Data at random: good and bad rows, documents, words in their order, weights; in every form that people have."""

import forms
import numpy as np
from scipy import sparse

DTYPES = [np.float64, np.float32, np.int64, np.int32]


def draw_rows(rng, n_features=None):
    """Rows of numbers."""
    n, d = int(rng.integers(1, 60)), int(n_features or rng.integers(1, 6))
    centres = rng.normal(scale=10.0 ** rng.integers(-2, 3), size=(int(rng.integers(1, 6)), d))
    X = centres[rng.integers(len(centres), size=n)] + rng.normal(size=(n, d))
    spoilt = some(rng, "constant", "equal", "scaled", "column", "NaN", "inf", "extreme")
    if spoilt == "constant":
        X[:, rng.integers(d)] = rng.choice([0.0, 1e5, -3.7])
    elif spoilt == "equal":
        X[:] = X[0]
    elif spoilt == "scaled":
        X *= 10.0 ** rng.integers(-30, 30)
    elif spoilt == "column":
        X[:, rng.integers(d)] *= 10.0 ** rng.integers(-30, 30)
    elif spoilt:
        wild = {"NaN": np.nan, "inf": np.inf, "extreme": 10.0 ** rng.integers(10, 300)}[spoilt]
        X[rng.integers(n), rng.integers(d)] = wild
    with np.errstate(over="ignore"):
        X = X.astype(rng.choice([np.float64, np.float64, np.float32]))
    return in_some_form(rng, X)


def draw_counts(rng, n_features=None):
    """Documents as counts of words."""
    n, v = int(rng.integers(1, 50)), int(n_features or rng.integers(1, 25))
    X = rng.poisson(rng.choice([0.1, 1.0, 5.0]), size=(n, v)).astype(np.float64)
    spoilt = some(rng, "fractions", "huge", "empty", "nothing", "NaN", "negative", "tiny")
    if spoilt == "fractions":
        X *= rng.random((n, v))
    elif spoilt == "huge":
        X[rng.integers(n), rng.integers(v)] = 10.0 ** rng.integers(3, 40)
    elif spoilt == "empty":
        X[rng.random(n) < 0.5] = 0.0
    elif spoilt == "nothing":
        X[:] = 0.0
    elif spoilt == "tiny":
        X *= 10.0 ** -float(rng.integers(1, 40))
    elif spoilt:
        X[rng.integers(n), rng.integers(v)] = np.nan if spoilt == "NaN" else -1.0
    dtype = rng.choice(DTYPES)
    if np.issubdtype(dtype, np.floating) or (np.isfinite(X).all() and X.max(initial=0) < 1e9):
        with np.errstate(over="ignore"):
            X = X.astype(dtype)
    if rng.random() < 0.3:
        return in_some_form(rng, X)
    form = f"{rng.choice(['csr', 'csr', 'csc', 'coo'])}_{rng.choice(['array', 'matrix'])}"
    return disorder(rng, getattr(sparse, form)(X))


def draw_flags(rng, n_features=None):
    """Rows of zeros and ones; now and then counts."""
    X = draw_counts(rng, n_features)
    if rng.random() < 0.1:
        return X
    if sparse.issparse(X):
        X.data = (X.data > 0).astype(X.dtype)
        return X
    return (np.asarray(X) > 0).astype(float)


def some(rng, *kinds):
    """One of some kinds of trouble, or none, which is likelier."""
    return kinds[rng.integers(len(kinds))] if rng.random() < 0.4 else ""


def disorder(rng, X):
    """What SciPy allows: wide numbers, unsorted rows, explicit zeros, and now and then numbers out of the shape."""
    if X.format == "csr" and X.nnz:
        kind = rng.integers(8)
        if kind == 0:
            X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        elif kind == 1:
            X.data[rng.random(X.nnz) < 0.3] = 0
        elif kind == 2:
            for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
                order = start + rng.permutation(stop - start)
                X.indices[start:stop], X.data[start:stop] = X.indices[order], X.data[order]
            X.has_sorted_indices = False
        elif kind == 3 and rng.random() < 0.3:
            X.indices[rng.integers(X.nnz)] = rng.choice([-1, X.shape[1], 1 << 30])
        elif kind == 4:
            X.data.flags.writeable = X.indices.flags.writeable = False
    return X


def draw_sequences(rng, n_features=None):
    """Words in their order: at each place the number of a word, counted from one."""
    n, v, width = int(rng.integers(1, 30)), int(n_features or rng.integers(1, 25)), int(rng.integers(1, 15))
    X = rng.integers(1, v + 1, size=(n, width)) * (rng.random((n, width)) < rng.choice([0.3, 0.9]))
    if rng.random() < 0.1:
        X[rng.integers(n), rng.integers(width)] = rng.choice([-1, v + 5, 1 << 40])
    X = sparse.csr_array(X.astype(rng.choice(DTYPES)))
    if X.nnz and rng.random() < 0.05 and X.dtype.kind == "f":
        X.data[rng.integers(X.nnz)] = rng.choice([np.nan, 0.5, np.inf])
    return disorder(rng, X)


def dressed(rng, X):
    """Whole numbers in a form of ``forms.py``, and whether it has to be refused; mostly the rows as they are."""
    if rng.random() < 0.7 or not forms.fits(X):
        return X, False
    A = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    kind = rng.integers(6)
    if kind == 0 and A[1:].any(axis=1).all():
        return forms.damaged(one_of(rng, forms.DAMAGED), A, one_of(rng, ("array", "matrix"))), True
    if kind == 1:
        table = {**forms.WRONG, **forms.WRONG_SPARSE}
        del table["rows of different lengths"]  # of words, these are documents
        return table[one_of(rng, table)][0](A), True
    table = forms.SPARSE | forms.REPEATED if sparse.issparse(X) and kind < 5 else forms.DENSE | forms.SINGLE
    return table[one_of(rng, table)](A), False


def one_of(rng, names):
    """A name at random."""
    return sorted(names)[rng.integers(len(names))]


def in_some_form(rng, X):
    """The same numbers in another layout."""
    kind = rng.integers(6)
    if kind == 0:
        return np.asfortranarray(X)
    if kind == 1:
        return np.repeat(X, 2, axis=0)[::2]
    if kind == 2:
        X.flags.writeable = False
    elif kind == 3 and X.size < 200:
        return X.tolist()
    return X


def draw_weights(rng, n):
    """Weights of rows; mostly none."""
    if rng.random() < 0.6:
        return None
    weight = rng.uniform(0.5, 2.0, n)
    kind = rng.choice(["", "zeros", "tiny", "huge", "wild", "negative", "NaN", "shape", "nothing"])
    if kind == "zeros":
        weight[rng.random(n) < 0.5] = 0.0
    elif kind == "tiny":
        weight *= 10.0 ** -float(rng.integers(1, 60))
    elif kind == "huge":
        weight *= 10.0 ** float(rng.integers(1, 60))
    elif kind == "wild":
        weight = 10.0 ** rng.uniform(-8, 8, n)
    elif kind in ("negative", "NaN"):
        weight[rng.integers(n)] = -1.0 if kind == "negative" else np.nan
    elif kind == "shape":
        return weight[:-1]
    elif kind == "nothing":
        return 0.0 * weight
    return weight
