"""What every estimator of Gaussians is tried with: clouds of points, wrong rows, forms of arrays, unusual sizes."""

import numpy as np
from scipy import sparse

N, D = 150, 2
# Clouds that touch each other, not around zero.
CENTRES = np.array([[3.0, 3.0], [7.0, 3.0], [3.0, 8.0]])
_rng = np.random.default_rng(0)
CLOUDS = _rng.normal(size=(N, D)) + CENTRES[_rng.integers(0, 3, N)]
# The same, each other one near zero.
SCALES = CLOUDS * np.where(np.arange(N) % 2, 0.05, 1.0)[:, None]


def spoilt(value, row=41, column=1):
    out = CLOUDS.copy()
    out[row, column] = value
    return out


def spoilt_row(value, row=41):
    out = CLOUDS.copy()
    out[row] = value
    return out


def weights_with(value, row=17, n=N):
    out = np.ones(n)
    out[row] = value
    return out


def bad_weights(n):
    """Wrong weights of ``n`` rows, and what the message must say."""
    return {
        "negative weight": (weights_with(-1.0, n=n), r"sample_weight of row 17 is -1\.0.*not negative"),
        "NaN weight": (weights_with(np.nan, n=n), "sample_weight of row 17 is nan.*finite"),
        "infinite weight": (weights_with(np.inf, n=n), "sample_weight of row 17 is inf.*finite"),
        "first weight": (weights_with(np.nan, 0, n), "sample_weight of row 0 is nan"),
        "last weight": (weights_with(-1.0, n - 1, n), rf"sample_weight of row {n - 1} is -1\.0"),
        "short weights": (np.ones(n - 1), rf"sample_weight has shape \({n - 1},\), expected \({n},\).*one weight for"),
        "square weights": (np.ones((n, 2)), rf"sample_weight has shape \({n}, 2\)"),
        "zero weights": (np.zeros(n), "every sample_weight is zero.*at least one row"),
        "weight of zero": (0, "every sample_weight is zero"),
        "text weights": (np.full(n, "a"), "could not convert"),
    }


BAD_DATA = {
    "NaN": (spoilt(np.nan), None, r"NaN in row 41, column 1.*(remove|impute)"),
    "infinity": (spoilt(-np.inf), None, r"infinity in row 41, column 1.*(remove|impute)"),
    "float32 NaN": (spoilt(np.nan).astype(np.float32), None, "NaN in row 41, column 1"),
    "first row": (spoilt(np.nan, 0, 0).astype(np.float32), None, "NaN in row 0, column 0"),
    "last row": (spoilt(np.inf, N - 1), None, f"infinity in row {N - 1}, column 1"),
    "list": (spoilt(np.nan).tolist(), None, "NaN in row 41"),
    "one dimension": (CLOUDS[:, 0], None, "Reshape your data"),
    "no rows": (CLOUDS[:0], None, "0 sample"),
    "no features": (CLOUDS[:, :0], None, "0 feature"),
    "text": (np.full((N, D), "a"), None, "row 0 of X holds the text 'a', and .* takes"),
    "complex": (CLOUDS + 1j, None, "Complex data not supported"),
    **{
        kind: (getattr(sparse, kind)(CLOUDS), None, "(?i)sparse data was passed.*dense")
        for kind in ("csr_array", "csc_matrix", "coo_array")
    },
}
MISSING = frozenset({"NaN", "float32 NaN", "first row", "list"})  # of these, what takes missing values accepts
BAD_CALLS = BAD_DATA | {name: (CLOUDS, weight, message) for name, (weight, message) in bad_weights(N).items()}
LATER = BAD_CALLS | {"wrong width": (np.ones((N, 5)), None, "5 features.*expecting 2 features")}


def forms(rows, folder):
    """The same rows in forms that are read as they are."""
    frozen = rows.copy()
    frozen.flags.writeable = False
    np.save(folder / "rows.npy", rows)
    return {
        "read-only": frozen,
        "memory map": np.load(folder / "rows.npy", mmap_mode="r"),
        "list": rows.tolist(),
        "data type of the other end": rows.astype(">f8"),
    }


_two = np.random.default_rng(1).normal(size=(2, D))
SIZES = {
    "one row": CLOUDS[:1],
    "one number": np.ones((1, 1)),
    "one feature": CLOUDS[:40, :1],
    "two rows": _two,
    "two rows again and again": np.repeat(_two, 20, axis=0),
    "equal rows": np.full((20, 3), 3.0),
    "rows of zeros": np.zeros((20, 2)),
    "a constant column": np.c_[CLOUDS[:40], np.full(40, 5.0)],
    "far from zero": CLOUDS[:40] + 1e6,
    "small numbers": 1e-6 * CLOUDS[:40],
    "large numbers": 1e6 * CLOUDS[:40],
    "more features than rows": np.random.default_rng(2).normal(size=(5, 9)),
}


def read_only(*arrays):
    """The same arrays, write-protected."""
    for array in arrays:
        array.flags.writeable = False
    return arrays
