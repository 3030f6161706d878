"""Design matrices of formulas such as ``party + s(year)``, and of new values of the same covariates."""

import ast
import keyword
import re
import warnings
from numbers import Integral

import numpy as np
from sklearn.preprocessing import SplineTransformer

from sparsemix.topics._covariates.columns import as_numbers, power_of_two

# Largest number of columns of a spline by default, as in R's stm.
SPLINE_COLUMNS = 10
DEGREE = 3
# Quantiles of a number that are compared: at both ends few documents decide a curve.
INNER = 0.1, 0.9
# Kinds of columns that are numbers.
NUMBERS = "iuf"
# A column whose part outside the columns before it is smaller is a combination of these. The second bound exceeds the
# rounding of values, relative to the column with its mean.
INDEPENDENT, ROUNDED = 1e-8, 16 * np.finfo(float).eps
# A name that is no identifier is in backticks, and a text in quotes.
QUOTED = re.compile(r"""("(?:\\"|[^"])*"|'(?:\\'|[^'])*')|`([^`]*)`""")
# Follows a keyword of Python, since formulaic replaces names that are no identifiers only.
MARK = "\u200b"
# Names in formulas that have attributes, and are no variables.
MODULES = {"np", "contr"}


def needed(name):
    """A module of formulaic, or of pandas, which formulaic needs."""
    try:
        return __import__(name, fromlist=["*"])
    except ImportError as error:
        raise ImportError(
            f'estimate_effect needs {name.partition(".")[0]} to read formulas: pip install "sparsemix[formula]"'
        ) from error


def functions():
    """The functions of formulas that formulaic lacks."""
    return {"s": needed("formulaic.transforms").stateful_transform(spline)}


def spline(values, df=None, *, _state=None, **unknown):
    """B-splines of a number, ``s(x)`` in formulas: cubic, or of a lower degree for fewer than three columns."""
    if unknown:
        raise ValueError(f"s() has no argument {min(unknown)!r}; give df only, such as s(year, df=5)")
    x = np.asarray(values).astype(np.float64)
    if not np.isfinite(x).all():
        raise ValueError(f"s() got {x[~np.isfinite(x)][0]:g}; give finite numbers")
    if not _state:
        distinct = np.unique(x)
        if len(distinct) < 2:
            raise ValueError("s() got one distinct value; leave this covariate out")
        df = min(SPLINE_COLUMNS, len(distinct) - 1) if df is None else df
        if not isinstance(df, Integral) or not 1 <= df < len(distinct):
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
    """A formula as formulaic's, and the names of its variables; raises if it is wrong."""
    formulaic = needed("formulaic")
    if not isinstance(formula, str):
        raise ValueError(f"formula is a {type(formula).__name__}; give a text such as 'party + s(year)'")
    if "" in quoted_names(formula):
        raise ValueError(f"formula {formula!r} has backticks without a name; write the name of a column between them")
    try:
        parsed = formulaic.Formula(QUOTED.sub(lambda found: found[1] or f"`{marked(found[2])}`", formula))
        if not isinstance(parsed, formulaic.SimpleFormula):
            raise ValueError(f"formula is {formula!r}; give its right-hand side only, such as 'party + s(year)'")
        return parsed, set().union(*map(variables_of, factors_of(parsed)))
    except (formulaic.errors.FormulaicError, SyntaxError) as error:
        raise ValueError(f"formula {formula!r} cannot be read; give one such as 'party + s(year)'") from error


def quoted_names(text):
    """The names in backticks."""
    return {name for quotes, name in QUOTED.findall(text) if not quotes}


def marked(name):
    """A name as formulaic can read it in backticks."""
    return name + MARK if keyword.iskeyword(name) else name


def with_marks(frame):
    """A data frame that also has the columns of keywords under their marked names."""
    return frame.assign(**{marked(name): frame[name] for name in frame.columns})


def variables_of(factor):
    """Names of the variables of a factor. Those that formulaic finds lack the arguments of its stateful functions."""
    expression = factor.expr.replace(MARK, "")
    if factor.eval_method.value != "python":
        return {expression} if factor.eval_method.value == "lookup" else set()
    nodes = list(ast.walk(ast.parse(QUOTED.sub(lambda found: found[1] or "0", expression), mode="eval")))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    attributes = (node.value for node in nodes if isinstance(node, ast.Attribute))
    others = called | {id(value) for value in attributes if isinstance(value, ast.Name) and value.id in MODULES}
    names = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in others}
    return names | quoted_names(expression)


def factors_of(formula):
    """All factors of a formula."""
    return (factor for term in formula for factor in term.factors)


def levelled_by(factor):
    """Names of the variables whose values name levels, as those of C(year)."""
    return variables_of(factor) if re.match(r"C\s*\(", factor.expr) else set()


class Design:
    """The design matrix ``rows`` (n, P) of a formula, the names of its columns, and the covariates that it reads.

    ``typical`` has the median of each number and the most frequent level of each category.
    """

    def __init__(self, formula, table, used=None, numbers=None):
        formulaic = needed("formulaic")
        parsed, names = read_formula(formula)
        self.names, self.levelled = sorted(names), set().union(*map(levelled_by, factors_of(parsed)))
        if not self.names:
            raise ValueError(f"formula is {formula!r}, which has no covariate; name a column of table")
        frame = self.frame(table)
        if used is not None and len(frame) != len(used):
            raise ValueError(f"table has {len(frame)} rows but X has {len(used)}; give one for each document")
        # which rows messages name
        self.kept = np.arange(len(frame)) if numbers is None else numbers
        if used is not None:
            frame, self.kept = frame[used].reset_index(drop=True), self.kept[used]
        self.values = {name: with_used_levels(frame[name]) for name in self.names}
        if constant := [name for name, column in self.values.items() if column.nunique() < 2]:
            raise ValueError(f"column {constant[0]!r} of table has one value; leave it out of formula")
        self.typical = {name: typical_value(column) for name, column in self.values.items()}
        frame, options = with_marks(frame.assign(**self.values)), {"output": "numpy", "na_action": "ignore"}
        matrix = self.build(lambda: formulaic.model_matrix(parsed, frame, context=functions(), **options))
        self.spec, self.columns = matrix.model_spec, [name.replace(MARK, "") for name in matrix.model_spec.column_names]
        self.coded = set().union(*map(variables_of, self.spec.factor_contrasts))  # in categories, as C(year)
        self.rows = self.finite(matrix, self.kept)
        self.center, self.unit = self.standards()
        self.orthogonal, self.scale = self.factors()

    def matrix(self, table):
        """The design matrix of a table of new values; covariates that it lacks have their typical value."""
        if unknown := columns_of(table) - set(self.names):
            raise ValueError(f"table has a column {min(unknown)!r}, which the formula does not read; leave it out")
        frame = with_marks(self.frame(table, self.typical))
        matrix = self.build(lambda: self.spec.get_model_matrix(frame, context=functions()))
        return self.finite(matrix, range(len(frame)))

    def finite(self, matrix, rows):
        """A matrix as an array; raises for an entry that is not finite, with its row."""
        values = np.asarray(matrix, dtype=np.float64)
        for row, column in np.argwhere(~np.isfinite(values))[:1]:
            raise ValueError(
                f"the column {self.columns[column]!r} of the formula is {values[row, column]:g} in row {rows[row]} of "
                "table; change this term, or leave the row out"
            )
        return values

    def frame(self, table, default=None):
        """The covariates as a data frame of numbers and categories; raises for missing columns and values."""
        frame = self.raw(table, default)
        for name in self.names:
            column = frame[name]
            lacks = column.isna().to_numpy()
            if column.dtype.kind == "f":
                lacks = lacks | ~np.isfinite(column.to_numpy())
            if lacks.any():
                row = int(np.flatnonzero(lacks)[0])
                raise ValueError(f"column {name!r} of table has no value in row {row}; give one or leave the row out")
            column = as_numbers(column) if default is None else self.like_before(name, column)
            # sums and powers of integers, and logarithms of short types, are rounded or wrapped
            is_number = column.dtype.kind in NUMBERS and name not in self.levelled
            frame[name] = column.astype(np.float64) if is_number else with_used_levels(column)
        return frame

    def like_before(self, name, column):
        """New values of a covariate, as numbers if it was one; raises for others than numbers and for new levels."""
        old = self.values[name]
        if old.dtype.kind in NUMBERS:
            if (found := as_numbers(column)).dtype.kind in NUMBERS + "b":
                return found
            raise ValueError(f"column {name!r} of table has {column.iloc[0]!r}; give numbers or dates as before")
        for level in column[~column.isin(old.unique())][:1]:
            raise ValueError(f"column {name!r} of table has {level!r}, a level that the documents of the estimate lack")
        return column

    def raw(self, table, default):
        """The covariates as a data frame of what the table has. Columns are read by position."""
        known, columns = columns_of(table), {}
        for name in self.names:
            if name not in known and default is None:
                raise ValueError(f"table has no column {name!r}, which the formula names; it has {sorted(known)}")
            column = table[name] if name in known else default[name]
            if hasattr(column, "isna"):  # of pandas
                column = column.astype(object) if str(column.dtype).startswith("string") else column
                columns[name] = getattr(column, "array", column)
            else:
                convert = getattr(column, "to_list", getattr(column, "to_pylist", None))
                columns[name] = convert() if convert else column
        is_row = not any(hasattr(column, "__len__") and not isinstance(column, str) for column in columns.values())
        try:
            return needed("pandas").DataFrame(columns, index=[0] if is_row else None).reset_index(drop=True)
        except ValueError as error:
            raise ValueError(f"table has columns that are no columns of one length: {error}") from error

    def points(self, name, n_points):
        """Values of a covariate to predict at, and whether they are numbers rather than levels."""
        if name not in self.values:
            raise ValueError(f"covariate is {name!r}; give one of {', '.join(map(repr, self.names))}")
        column = self.values[name]
        if column.dtype.kind in NUMBERS and name not in self.coded:
            return between(float(column.min()), float(column.max()), n_points), True
        return column.drop_duplicates().sort_values(), False

    def inner(self, name):
        """Two values of a number to compare: its quantiles of 10 % and 90 %, or both ends if these are one value."""
        column = self.values[name].to_numpy(dtype=np.float64)
        low, high = np.quantile(column, INNER, method="inverted_cdf").tolist()  # values that documents have
        return (low, high) if low < high else (float(column.min()), float(column.max()))

    def build(self, make):
        """The matrix that ``make()`` returns; errors of formulaic become errors of values."""
        errors = needed("formulaic.errors")
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error", errors.DataMismatchWarning)
            try:
                return make()
            except errors.DataMismatchWarning as error:
                raise ValueError(f"table has a level that the documents of the estimate lack: {error}") from error
            except errors.FormulaicError as error:
                # the cause is shorter than formulaic's message around it
                raise ValueError(f"the formula cannot be computed from table: {error.__cause__ or error}") from error

    def standards(self):
        """Means of the columns, zeros without an intercept, and powers of two near what is left of them.

        Large numbers that hardly differ, such as identifiers, then keep their digits, and no square is out of range.
        """
        size = power_of_two(np.abs(self.rows).max(axis=0))
        center = (self.rows / size).mean(axis=0) * size if "Intercept" in self.columns else np.zeros(len(size))
        center[[name == "Intercept" for name in self.columns]] = 0.0
        return center, power_of_two(np.abs(self.rows - center).max(axis=0))

    def standard(self, rows):
        """Rows of standardised columns."""
        return (rows - self.center) / self.unit

    def factors(self):
        """Q and R of the standardised columns; raises unless the rank is P."""
        n, n_columns = self.rows.shape
        if n <= n_columns:
            raise ValueError(f"formula has {n_columns} coefficients for {n} documents; give more documents")
        columns = self.standard(self.rows)
        q, r = np.linalg.qr(columns)
        rounding = ROUNDED * np.linalg.norm(self.rows / self.unit, axis=0)
        small = np.abs(np.diag(r)) <= np.maximum(INDEPENDENT * np.linalg.norm(columns, axis=0), rounding)
        if small.any():
            name = self.columns[int(np.flatnonzero(small)[0])]
            raise ValueError(
                f"the column {name!r} of the formula is constant or a combination of the columns before it; leave out "
                "one of these terms, or subtract the mean of large numbers, as center(x) does"
            )
        return q * np.sqrt(n), r / np.sqrt(n)


def between(low, high, n_points):
    """Points from low to high, both exactly: splines refuse a point that rounding puts outside of them."""
    share = np.linspace(0, 1, n_points)
    return np.clip(low * (1 - share) + high * share, low, high)  # high - low may be infinite


def columns_of(table):
    """The names of the columns of a data frame or of a dict of columns."""
    for names in ("column_names", "columns"):  # columns of Arrow are no names
        if hasattr(table, names):
            return set(getattr(table, names))
    if not hasattr(table, "keys"):
        raise ValueError(f"table is a {type(table).__name__}; give a data frame or a dict of columns")
    return set(table.keys())


def with_used_levels(column):
    """A column of pandas; a categorical one without the levels that no row has."""
    return column.cat.remove_unused_categories() if hasattr(column, "cat") else column


def typical_value(column):
    """The median of numbers, the most frequent value otherwise."""
    return column.median() if column.dtype.kind in NUMBERS else column.mode().iloc[0]
