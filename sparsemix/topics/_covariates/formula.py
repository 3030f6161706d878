"""Design matrices of formulas such as ``party + s(year)``, and of new values of the same covariates."""

import warnings

import numpy as np
from sklearn.preprocessing import SplineTransformer

# Largest number of columns of a spline by default, as in R's stm.
SPLINE_COLUMNS = 10
DEGREE = 3
# A column whose part outside the columns before it is smaller is a combination of these.
INDEPENDENT = 1e-8


def needed(name):
    """A module of formulaic, or of pandas, which formulaic needs."""
    try:
        return __import__(name, fromlist=["*"])
    except ImportError as error:
        raise ImportError(
            f'estimate_effect needs {name.partition(".")[0]} to read formulas: pip install "sparsemix[formula]"'
        ) from error


def spline(values, df=None, _state=None):
    """B-splines of a number or date, ``s(x)`` in formulas: cubic, or of a lower degree for fewer than three columns."""
    x = np.asarray(values)
    x = (x.astype("datetime64[D]") if x.dtype.kind == "M" else x).astype(np.float64)
    if not _state:
        distinct = np.unique(x)
        if len(distinct) < 2:
            raise ValueError("s() got one distinct value; leave this covariate out")
        df = min(SPLINE_COLUMNS, len(distinct) - 1) if df is None else df
        if not 1 <= df < len(distinct):
            most = len(distinct) - 1
            raise ValueError(f"df is {df!r}; it must be from 1 to {most}, one less than the distinct values")
        degree = min(DEGREE, df)
        knots = np.quantile(distinct, np.linspace(0, 1, df - degree + 2))[:, None]
        _state["splines"] = SplineTransformer(degree=degree, knots=knots, include_bias=False).fit(x[:, None])
        _state["ends"] = distinct[[0, -1]]
    low, high = _state["ends"]
    if outside := x[(x < low) | (x > high)].tolist():
        raise ValueError(f"s() got {outside[0]:g}; splines are known from {low:g} to {high:g} only: give such values")
    return _state["splines"].transform(x[:, None])


def read_formula(formula):
    """A formula as formulaic's, and the names of its variables without the function ``s``; raises if it is wrong."""
    formulaic = needed("formulaic")
    try:
        parsed = formulaic.Formula(formula)
    except formulaic.errors.FormulaSyntaxError as error:
        raise ValueError(f"formula {formula!r} cannot be read; give one such as 'party + s(year)'") from error
    if not isinstance(parsed, formulaic.SimpleFormula):
        raise ValueError(f"formula is {formula!r}; give its right-hand side only, such as 'party + s(year)'")
    return parsed, {str(name) for name in parsed.required_variables} - {"s"}


class Design:
    """The design matrix ``rows`` (n, P) of a formula, the names of its columns, and the covariates that it reads.

    ``typical`` has the median of each number and the most frequent level of each category.
    """

    def __init__(self, formula, table):
        formulaic, transforms = needed("formulaic"), needed("formulaic.transforms")
        self.context = {"s": transforms.stateful_transform(spline)}
        parsed, names = read_formula(formula)
        self.names = sorted(names | (parsed.required_variables & columns_of(table)))
        if not self.names:
            raise ValueError(f"formula is {formula!r}, which has no covariate; name a column of table")
        frame = self.frame(table)
        if constant := [name for name in self.names if frame[name].nunique() < 2]:
            raise ValueError(f"column {constant[0]!r} of table has one value; leave it out of formula")
        matrix = self.build(lambda: formulaic.model_matrix(parsed, frame, context=self.context, output="numpy"))
        self.spec, self.rows = matrix.model_spec, np.asarray(matrix, dtype=np.float64)
        self.columns, self.kept = list(self.spec.column_names), np.arange(len(self.rows))
        self.values = {name: frame[name] for name in self.names}
        self.typical = {name: typical_value(column) for name, column in self.values.items()}

    def keep(self, used):
        """Leave out documents, then find Q (n, P) of mean squares one, and R (P, P), with rows = Q R."""
        self.rows, self.kept = self.rows[used], self.kept[used]
        self.orthogonal, self.scale = self.factors()

    def matrix(self, table):
        """The design matrix of a table of new values; covariates that it lacks have their typical value."""
        if unknown := columns_of(table) - set(self.names):
            raise ValueError(f"table has a column {min(unknown)!r}, which the formula does not read; leave it out")
        frame = self.frame(table, self.typical)
        return np.asarray(self.build(lambda: self.spec.get_model_matrix(frame, context=self.context)), dtype=np.float64)

    def frame(self, table, default=None):
        """The covariates as a data frame; raises for missing columns and values."""
        known = columns_of(table)
        columns = {}
        for name in self.names:
            if name not in known and default is None:
                raise ValueError(f"table has no column {name!r}, which the formula names; it has {sorted(known)}")
            column = table[name] if name in known else default[name]
            columns[name] = column.to_list() if hasattr(column, "to_list") and not hasattr(column, "iloc") else column
        is_row = not any(hasattr(column, "__len__") and not isinstance(column, str) for column in columns.values())
        frame = needed("pandas").DataFrame(columns, index=[0] if is_row else None).reset_index(drop=True)
        for name in self.names:
            column = frame[name]
            lacks = column.isna().to_numpy()
            if column.dtype.kind == "f":
                lacks |= ~np.isfinite(column.to_numpy())
            if lacks.any():
                row = int(np.flatnonzero(lacks)[0])
                raise ValueError(f"column {name!r} of table has no value in row {row}; give one or leave the row out")
        return frame

    def points(self, name, n_points):
        """Values of a covariate to predict at, and whether they are numbers or dates rather than levels."""
        if name not in self.values:
            raise ValueError(f"covariate is {name!r}; give one of {', '.join(map(repr, self.names))}")
        column = self.values[name]
        if column.dtype.kind in "iufM":
            return column.min() + (column.max() - column.min()) * np.linspace(0, 1, n_points), True
        return column.drop_duplicates().sort_values(), False

    def build(self, make):
        """The matrix that ``make()`` returns; errors of formulaic become errors of values."""
        errors = needed("formulaic.errors")
        with warnings.catch_warnings():
            warnings.simplefilter("error", errors.DataMismatchWarning)
            try:
                return make()
            except errors.DataMismatchWarning as error:
                raise ValueError(f"table has a level that the documents of the estimate lack: {error}") from error
            except errors.FormulaicError as error:
                raise ValueError(f"the formula cannot be computed from table: {error}") from error

    def factors(self):
        """Q and R; raises unless the rank is P."""
        n, n_columns = self.rows.shape
        if n <= n_columns:
            raise ValueError(f"formula has {n_columns} coefficients for {n} documents; give more documents")
        q, r = np.linalg.qr(self.rows)
        small = np.abs(np.diag(r)) <= INDEPENDENT * np.linalg.norm(self.rows, axis=0)
        if small.any():
            name = self.columns[int(np.flatnonzero(small)[0])]
            raise ValueError(
                f"the column {name!r} of the formula is constant or a combination of the columns before it; leave out "
                "one of these terms"
            )
        return q * np.sqrt(n), r / np.sqrt(n)


def columns_of(table):
    """The names of the columns of a data frame or of a dict of columns."""
    if not hasattr(table, "columns") and not hasattr(table, "keys"):
        raise ValueError(f"table is a {type(table).__name__}; give a data frame or a dict of columns")
    return set(table.columns if hasattr(table, "columns") else table.keys())


def typical_value(column):
    """The median of numbers and dates, the most frequent value otherwise."""
    return column.median() if column.dtype.kind in "iufM" else column.mode().iloc[0]
