"""What mixtures of mixed columns are tried with: numbers, a category and a count, and wrong values of each."""

import numpy as np
import row_cases
from row_cases import CLOUDS, D, N, bad_weights
from scipy import sparse

_rng = np.random.default_rng(0)
X = np.column_stack([CLOUDS, _rng.integers(0, 3, N), _rng.poisson(3.0, N)])
COLUMNS = [("diag", [0, 1]), ("categorical", [2]), ("poisson", [3])]
GROUPS = [("full", [0, 1]), ("categorical", [2]), ("poisson", [3])]


def spoilt(value, row=41, column=1):
    out = X.copy()
    out[row, column] = value
    return out


BAD_DATA = {
    "infinity": (spoilt(-np.inf), None, "column 1 of X contains infinity in row 41"),
    "infinity in float32": (spoilt(np.inf, 0, 0).astype(np.float32), None, "column 0 of X contains infinity in row 0"),
    "last row": (spoilt(np.inf, N - 1), None, f"column 1 of X contains infinity in row {N - 1}"),
    "half a count": (spoilt(0.5, 3, 3), None, "column 3 of X contains 0.5 in row 3, but takes a whole number"),
    "list": (spoilt(-1, 3, 3).tolist(), None, "column 3 of X contains -1 in row 3"),
    "one dimension": (X[:, 0], None, "Reshape your data"),
    "no rows": (X[:0], None, "0 sample"),
    "no features": (X[:, :0], None, "0 feature"),
    "text": (np.full(X.shape, "a"), None, "row 0 of X holds the text 'a' in column 0, which should be numbers"),
    "complex": (X + 1j, None, "Complex data not supported"),
    **{
        kind: (getattr(sparse, kind)(X), None, "(?i)sparse data was passed.*dense")
        for kind in ("csr_array", "csc_matrix", "coo_array")
    },
}
BAD_CALLS = BAD_DATA | {name: (X, weight, message) for name, (weight, message) in bad_weights(N).items()}
LATER = BAD_CALLS | {"wrong width": (np.hstack([X, X[:, :1]]), None, "5 features.*expecting 4 features")}

_more = np.column_stack([np.zeros(40), np.arange(40) % 7])
SIZES = {
    name: np.hstack([rows, np.resize(_more, (len(rows), 2))])
    for name, rows in row_cases.SIZES.items()
    if rows.shape[1] == D
} | {
    "one row": X[:1],
    "missing everywhere but once": np.vstack([X[:1], np.full((9, 4), np.nan)]),
    "missing categories": np.column_stack([X[:40, :2], np.where(np.arange(40) < 2, X[:40, 2], np.nan), X[:40, 3]]),
}
