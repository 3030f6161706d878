"""Effects of covariates of documents on their topic proportions, by multiple imputation (method of composition)."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import t as student
from sklearn.utils import Bunch

from sparsemix._estimator.base import seeded
from sparsemix._estimator.input.checks import check_number, check_weights
from sparsemix._estimator.input.forms import row_of
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._estimator.tables import table_of
from sparsemix._rows.threads import Workers
from sparsemix._typing import RowsLike, Seed, Table, Weights
from sparsemix.metrics._checks import check_share, check_token_list, first_part, read_counts, read_topics
from sparsemix.topics._covariates.chain import Chain
from sparsemix.topics._covariates.formula import Design, read_formula

# Steps of the chain before the first draw, and from one draw to the next.
BURN_IN, THIN = 30, 1
# Levels of a category that are compared with its first one.
MOST_LEVELS = 30
# A document with a larger leverage decides a coefficient alone.
MOST_LEVERAGE = 1.0 - 1e-8


@plain_arguments
def estimate_effect(
    model: Any,
    X: RowsLike,
    table: Any,
    formula: str,
    *,
    n_draws: int = 25,
    level: float = 0.9,
    sample_weight: Weights = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> "TopicEffects":
    """Estimate how topic proportions depend on covariates of the documents, with intervals.

    The proportions of each topic are regressed on the covariates by least squares. Proportions are not known, so they
    are drawn several times from their posterior, in which the prior of a document depends on its covariates
    (Dirichlet-multinomial regression, [1]_). The intervals contain the uncertainty of these draws and that of the
    regression (Rubin's rules, [2]_), with variances that may differ between documents (HC3, [3]_). The topics
    themselves are fixed.

    Parameters
    ----------
    model : estimator
        Fitted topic model with ``components_`` and ``doc_topic_prior_``, including scikit-learn's.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts of the documents, whole numbers. Documents without words are left out.
    table : DataFrame of pandas or polars, table of Arrow, or dict of columns
        The covariates, one row for each document. Dates, including texts such as 2019-07-02, become numbers of years,
        2019.5 in the middle of 2019; durations become numbers of days.
    formula : str
        Right-hand side of a formula of formulaic, such as ``"party + s(year)"``. Coefficients of a text column are
        differences from its reference, the first level in sorted order (of a categorical column, in its own order);
        ``C(party, contr.treatment("right"))`` chooses another one. ``s(x)`` or ``s(x, df=5)`` is a smooth
        curve: B-splines with 10 columns by default, fewer for fewer distinct values. Their coefficients have no meaning
        one by one: read the curve by ``contrast`` or :func:`sparsemix.plotting.plot_effect`.
    n_draws : int, default=25
        Number of draws of all proportions, at least 2.
    level : float, default=0.9
        Probability of the intervals.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of documents in the regression, such as those of a survey. The priors of documents have no weights.
    random_state : int, RandomState or None, default=0
        Seed of the draws.
    n_jobs : int, default=None
        Number of threads; results do not depend on it.

    Returns
    -------
    effects : TopicEffects
        Has ``table``, ``predict`` and ``contrast``; :func:`sparsemix.plotting.plot_effect` plots it.

    Raises
    ------
    ImportError
        If formulaic is not installed: ``pip install "sparsemix[formula]"``.
    ValueError
        For counts that are not whole, missing covariates, with column and row, a formula with linearly dependent
        columns, and if a document decides a coefficient alone.

    See Also
    --------
    sparsemix.plotting.plot_effect : Plot of the expected proportion of a topic.
    sparsemix.plotting.plot_topics_over_time : Mean document shares without a model of covariates.

    References
    ----------
    .. [1] Mimno, McCallum (2008). "Topic Models Conditioned on Arbitrary Features with Dirichlet-Multinomial
       Regression", UAI.
    .. [2] Barnard, Rubin (1999). "Small-Sample Degrees of Freedom with Multiple Imputation", Biometrika 86.
    .. [3] Long, Ervin (2000). "Using Heteroscedasticity Consistent Standard Errors in the Linear Regression Model",
       The American Statistician 54.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import estimate_effect
    >>> X, doc_topic = make_bars(n_samples=200, random_state=0)[:2]
    >>> model = SparseSCVB0LDA(10, random_state=0).fit(X)
    >>> side = np.where(model.transform(X)[:, 0] > 0.1, "left", "right")
    >>> effects = estimate_effect(model, X, {"side": side}, "side")
    >>> effects.terms
    ['Intercept', 'side[T.right]']
    >>> bool(effects.table(0)["high"][1] < 0)  # the second side has less of topic 0
    True
    """
    if isinstance(n_draws, float) or n_draws < 2:
        raise ValueError(f"n_draws is {n_draws!r}; give a whole number of at least 2: one draw shows no uncertainty")
    check_number("n_draws", n_draws)
    level, (counts, words, prior) = check_share(level, "level", ends=False), check_documents(model, X)
    weights, used = check_weights(sample_weight, counts.shape[0]), counts.sum(axis=1) > 0
    used &= True if weights is None else weights > 0
    design = Design(formula, table, used)
    regression = Regression(design, None if weights is None else weights[used])
    seed = int(seeded(random_state).integers(2**31))
    with Workers(n_jobs) as workers:
        chain = Chain(counts[used], words, prior, design.orthogonal, seed, workers)
        for step in range(BURN_IN + THIN * n_draws):
            chain.step()
            if step >= BURN_IN and (step - BURN_IN) % THIN == THIN - 1:
                regression.add(chain)
    return TopicEffects(design, np.array(regression.coefficients), np.array(regression.covariances), level)


@plain_arguments
def check_formula(formula: str, table: Any = None, row_numbers: Any = None) -> list[str]:
    """Check a formula before a fit, and covariates for it, as :func:`estimate_effect` does after it.

    Parameters
    ----------
    formula : str
        As in ``estimate_effect``.
    table : DataFrame of pandas or polars, table of Arrow, or dict of columns, default=None
        The covariates; None checks the formula alone.
    row_numbers : sequence of int, default=None
        Numbers of the rows of the table in messages; None counts them from 0.

    Returns
    -------
    names : list of str
        The covariates that the formula reads, sorted.

    Raises
    ------
    ImportError
        If formulaic is not installed: ``pip install "sparsemix[formula]"``.
    ValueError
        For a formula that cannot be read, missing covariates, linearly dependent columns, and if a row decides a
        coefficient alone.

    Examples
    --------
    >>> from sparsemix.topics import check_formula
    >>> check_formula("party + s(year)")
    ['party', 'year']
    """
    if table is not None:
        Regression(Design(formula, table, numbers=row_numbers))
    return sorted(read_formula(formula)[1])


def check_documents(model, X):
    """Whole counts (N, V), word distributions (K, V), and the prior of documents (K,)."""
    words = read_topics(model, "model")
    counts = sparse.csr_array(read_counts(X, n_words=words.shape[1]))
    if (entry := first_part(counts)) is not None:
        raise ValueError(
            f"X has {counts.data[entry]} in row {row_of(counts, entry)}, column {counts.indices[entry]}; topics are "
            "drawn for each token, so give counts of words, which are whole numbers"
        )
    check_token_list(counts, 0, "give counts of words")
    if not hasattr(model, "doc_topic_prior_"):
        raise ValueError(f"model is a {type(model).__name__} without doc_topic_prior_; give a fitted topic model")
    prior = np.broadcast_to(np.asarray(model.doc_topic_prior_, dtype=np.float64), len(words))
    return counts, words / words.sum(axis=1, keepdims=True, dtype=np.float64), prior


class Regression:
    """Least squares of drawn proportions on the standardised columns of a design, with covariances (HC3)."""

    def __init__(self, design, weights=None):
        root = np.ones(len(design.rows)) if weights is None else np.sqrt(weights / weights.mean())
        q, r = np.linalg.qr(design.orthogonal * root[:, None])
        leverage = np.einsum("np,np->n", q, q)
        # coefficients are solve @ proportions
        self.solve = np.linalg.solve(r @ design.scale, q.T * root)
        if leverage.max() > MOST_LEVERAGE:
            row = leverage.argmax()
            sizes = np.abs(self.solve[:, row])
            raise ValueError(
                f"row {design.kept[row]} of table decides the coefficient {design.columns[sizes.argmax()]!r} alone, "
                "which then has no standard error; join its level with another one, or leave the row out"
            )
        self.rows, self.scale = design.standard(design.rows), 1.0 / (1.0 - leverage)
        self.coefficients, self.covariances = [], []

    def add(self, chain):
        """Add the regression of the proportions of the chain's current state, which are drawn block by block."""
        n_columns = self.rows.shape[1]
        spans = [slice(*span) for span in chain.spans]
        coefficients = sum(self.solve[:, rows] @ chain.proportions(i) for i, rows in enumerate(spans))
        covariances = np.zeros((coefficients.shape[1], n_columns, n_columns))
        for i, rows in enumerate(spans):
            squares = ((chain.proportions(i) - self.rows[rows] @ coefficients) * self.scale[rows, None]) ** 2
            part = self.solve[:, rows]
            covariances += (squares.T @ (part[:, None] * part).reshape(-1, part.shape[1]).T).reshape(covariances.shape)
        self.coefficients.append(coefficients)
        self.covariances.append(covariances)


class TopicEffects:
    """Effects of covariates on topic proportions; :func:`estimate_effect` creates it.

    Parameters
    ----------
    design : Design
        The covariates and their columns.
    coefficients : ndarray of shape (n_draws, n_terms, n_components)
        Coefficients of each draw of the proportions, for standardised columns.
    covariances : ndarray of shape (n_draws, n_components, n_terms, n_terms)
        Their covariances.
    level : float
        Probability of the intervals.

    Attributes
    ----------
    terms : list of str
        Names of the coefficients.
    estimates : ndarray of shape (n_terms, n_components)
        Coefficients, means over draws.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.topics import estimate_effect
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> model = SparseSCVB0LDA(10, random_state=0).fit(X)
    >>> effects = estimate_effect(model, X, {"year": np.arange(200) % 10}, "s(year, df=3)")
    >>> len(effects.predict({"year": [0, 9]}))
    20
    >>> len(effects.contrast({"year": [9]}, {"year": [0]}))
    10
    """

    def __init__(self, design: Any, coefficients: Any, covariances: Any, level: float) -> None:
        self.design, self.level, self.terms = design, level, design.columns
        self.coefficients, self.covariances = coefficients, covariances
        self.estimates = self._of_terms().mean

    def table(self, topic: int | None = None) -> Table:
        """Coefficients with standard errors and intervals.

        A coefficient is the difference of expected proportions for one more unit of its column. That is an effect for
        levels of categories and for numbers as they are. Columns of splines, such as ``s(year)[1]``, change together
        with the number, so their coefficients have no meaning one by one, and may exceed 1. Read such a curve by
        ``contrast``, ``predict`` or :func:`sparsemix.plotting.plot_effect`.

        Parameters
        ----------
        topic : int, default=None
            Index of a topic; None lists all.

        Returns
        -------
        table : pandas.DataFrame
            With "topic", "term", "estimate", "std", "low" and "high".
        """
        return table_of(self._coefficients(topic))

    def _coefficients(self, topic=None):
        """Rows of ``table`` as dicts."""
        found = self._of_terms()
        topics = range(self.estimates.shape[1]) if topic is None else [self._known(topic)]
        return [
            {"topic": int(k), "term": term, **entry(found, (p, k))} for k in topics for p, term in enumerate(self.terms)
        ]

    def predict(self, table: Any) -> Table:
        """Expected proportions of all topics for new values of the covariates.

        Parameters
        ----------
        table : DataFrame of pandas or polars, or dict of columns
            Values of the covariates. Covariates that it lacks have the median, or the most frequent level.

        Returns
        -------
        expected : pandas.DataFrame
            With "row" (of the table), "topic", "mean", "std", "low" and "high": n_components rows for each row of the
            table. The regression is linear, so intervals may reach below 0 or above 1.
        """
        found = self._expected(table)
        return table_of(
            {"row": i, "topic": k, **{name: float(found[name][i, k]) for name in ("mean", "std", "low", "high")}}
            for i, k in np.ndindex(found.mean.shape)
        )

    def _expected(self, table):
        """What ``predict`` returns as arrays of shape (n_rows, n_components)."""
        return self._pooled(self.design.standard(self.design.matrix(table)))

    def contrast(self, table: Any, other: Any) -> Table:
        """Difference of expected proportions: the mean over the rows of a table less that of another one.

        Parameters
        ----------
        table, other : DataFrame of pandas or polars, or dict of columns
            Values of the covariates, as in ``predict``.

        Returns
        -------
        table : pandas.DataFrame
            With "topic", "estimate", "std", "low" and "high", one row for each topic.
        """
        return table_of(self._difference(table, other))

    def _difference(self, table, other):
        """Rows of ``contrast`` as dicts."""
        means = (self.design.standard(self.design.matrix(each)).mean(axis=0) for each in (table, other))
        found = self._pooled(np.subtract(*means)[None])
        return [{"topic": k, **entry(found, (0, k))} for k in range(self.estimates.shape[1])]

    def _known(self, topic):
        """An index of a topic; raises if there is no such topic."""
        n_components = self.estimates.shape[1]
        if not isinstance(topic, Integral) or not 0 <= topic < n_components:
            raise ValueError(f"topic is {topic!r}; give an index from 0 to {n_components - 1}")
        return topic

    def comparisons(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Contrasts of the levels of each category and its first one, and of the quantiles of 90 and 10 % of numbers.

        Returns
        -------
        comparisons : list of (str, list of dict)
            A label, such as "party: left less right", and the rows of ``contrast`` as dicts; at most 30
            levels of a category.
        """
        found = []
        for name in self.design.names:
            values, is_curve = self.design.points(name, 2)
            first, *later = self.design.inner(name) if is_curve else values
            for value in later[:MOST_LEVELS]:
                label = f"{name}: {shown(value, first)} less {shown(first, value)}"
                found.append((label, self._difference({name: [value]}, {name: [first]})))
        return found

    def curves(self, n_points: int = 25) -> list[tuple[str, list[str], Bunch]]:
        """Expected proportions of all topics along each number of the formula.

        Parameters
        ----------
        n_points : int, default=25
            Number of points, from the smallest value of the documents to the largest one.

        Returns
        -------
        curves : list of (str, list of str, Bunch)
            Name of the number, both ends as texts, and arrays ``mean``, ``std``, ``low`` and ``high`` of
            shape (n_points, n_components).
        """
        check_number("n_points", n_points)
        found = []
        for name in self.design.names:
            values, is_curve = self.design.points(name, n_points)
            if is_curve:
                ends = values[0], values[-1]
                found.append((name, [shown(*ends), shown(*reversed(ends))], self._expected({name: values})))
        return found

    def _of_terms(self):
        """Means, standard errors and intervals of the coefficients of the columns as they are."""
        rows, unit = np.eye(len(self.terms)), self.design.unit
        if "Intercept" in self.terms:  # all columns are zero there
            rows[self.terms.index("Intercept")] -= self.design.center / unit
        return Bunch(**{name: values / unit[:, None] for name, values in self._pooled(rows).items()})

    def _pooled(self, rows):
        """Means, standard errors and intervals of rows @ coefficients, by Rubin's rules. Rows are standardised."""
        values = rows @ self.coefficients
        within = np.einsum("np,kpq,nq->nk", rows, self.covariances.mean(axis=0), rows)
        n_draws, free = len(values), len(self.design.rows) - len(self.terms)
        between = (1.0 + 1.0 / n_draws) * values.var(axis=0, ddof=1)
        total = within + between
        share = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
        observed = (free + 1.0) / (free + 3.0) * free * (1.0 - share)
        degrees = 1.0 / (share**2 / (n_draws - 1) + 1.0 / np.maximum(observed, 1e-3))
        mean, std = values.mean(axis=0), np.sqrt(total)
        reach = student.ppf(0.5 + 0.5 * self.level, degrees) * std
        return Bunch(mean=mean, std=std, low=mean - reach, high=mean + reach)

    def __repr__(self):
        return f"<TopicEffects of {self.estimates.shape[1]} topics on {', '.join(self.terms)}>"


def shown(value, other=None):
    """A value of a covariate in a label: a number in short, with the digits that tell it from another one."""
    if not isinstance(value, int | float):
        return str(value)
    enough = (digits for digits in range(6, 17) if other is None or f"{value:.{digits}g}" != f"{other:.{digits}g}")
    return f"{value:.{next(enough, 17)}g}"


def entry(found, at):
    """An estimate with its standard error and interval."""
    return {
        "estimate": float(found.mean[at]), "std": float(found.std[at]),
        "low": float(found.low[at]), "high": float(found.high[at]),
    }  # fmt: skip
