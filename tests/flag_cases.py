"""What estimators of yes and no are tried with: rows of zeros and ones, wrong rows, forms of matrices, sizes."""

import numpy as np
from row_cases import bad_weights
from scipy import sparse
from topic_cases import K, N, V
from topic_cases import X as COUNTS

X = sparse.csr_array((COUNTS > 0).astype(np.int64))
ROWS = X.toarray()


def spoilt(value, row=41, column=7):
    out = ROWS.astype(float)
    out[row, column] = value
    return out


def spoilt_csr(value, row=41):
    out = sparse.csr_array(X, dtype=np.float64)
    out.data[out.indptr[row]] = value
    return out


def message(value, row=41):
    if np.isfinite(value):
        return f"ow {row} of X holds {value:g}, and SparseBernoulliMixture takes 0 and 1; set binarize"
    return f"contains infinity in row {row}"


BAD_DATA = {
    **{f"dense {value}": (spoilt(value), None, message(value)) for value in (np.inf, -1.0, 0.5, 2.0)},
    **{f"sparse {value}": (spoilt_csr(value), None, message(value)) for value in (-np.inf, -1.0, 0.5, 2.0)},
    "float32": (spoilt(0.5).astype(np.float32), None, message(0.5)),
    "integer": (spoilt(3).astype(np.int32), None, message(3)),
    "sparse integer": (spoilt_csr(-2).astype(np.int64), None, message(-2)),
    "first row": (spoilt(np.inf, row=0), None, message(np.inf, 0)),
    "last row": (spoilt_csr(-1.0, row=N - 1), None, message(-1.0, N - 1)),
    "one place twice": (
        sparse.csr_array((np.ones(2), [3, 3], [0, *[2] * N]), shape=(N, V)), None, message(2.0, 0)
    ),
    "CSC": (sparse.csc_array(spoilt_csr(np.inf)), None, message(np.inf)),
    "COO": (sparse.coo_array(spoilt_csr(-3.0)), None, message(-3.0)),
    "list": (spoilt(-1.0).tolist(), None, message(-1.0)),
    "one dimension": (ROWS[0], None, "Reshape your data"),
    "no rows": (ROWS[:0], None, "0 sample"),
    "no rows, sparse": (X[:0], None, "0 sample"),
    "no features": (ROWS[:, :0], None, "0 feature"),
    "text": (np.full((N, V), "a"), None, "row 0 of X holds the text 'a', and .* takes tables of 0 and 1"),
    "complex": (ROWS + 1j, None, "Complex data not supported"),
}  # fmt: skip
BAD_CALLS = BAD_DATA | {name: (X, weight, said) for name, (weight, said) in bad_weights(N).items()}
LATER = BAD_CALLS | {
    "wrong width": (np.ones((N, V + 1)), None, f"{V + 1} features.*expecting {V} features"),
    "wrong sparse width": (X[:, :-1], None, f"{V - 1} features.*expecting {V} features"),
}


FORMS = {
    **{f"CSR {dtype.__name__}": X.astype(dtype) for dtype in (bool, np.int32, np.float32, np.float64, np.uint8)},
    **{f"dense {dtype.__name__}": ROWS.astype(dtype) for dtype in (bool, np.int64, np.float32)},
    "csr_matrix": sparse.csr_matrix(X),
    "CSC": sparse.csc_array(X),
    "COO": sparse.coo_array(X),
    "LIL matrix": sparse.lil_matrix(ROWS),
    "list": ROWS.tolist(),
    "list of booleans": (ROWS > 0).tolist(),
    "Fortran": np.asfortranarray(ROWS),
}
SIZES = {
    "one row": X[:1],
    "one feature": ROWS[:, :1],
    "one number": np.ones((1, 1)),
    "rows of zeros": np.zeros((20, 3)),
    "rows of ones": np.ones((20, 3)),
    "a feature that no row has": np.hstack([ROWS, np.zeros((N, 2))]),
    "a feature that every row has": np.hstack([ROWS, np.ones((N, 2))]),
    "fewer rows than components": X[:3],
    "more features than rows": X[: K + 1],
}
