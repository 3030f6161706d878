"""SparseMixedMixture: clusters of rows whose columns are numbers, categories and counts."""

import numbers
from typing import Any

from sparsemix._compat import Interval, StrOptions
from sparsemix._estimator.absent import Absent
from sparsemix._estimator.base import published
from sparsemix._estimator.input.checks import COUNT, LARGEST_VARIANCE
from sparsemix._typing import Seed
from sparsemix.mixture._estimator import MixtureEstimator
from sparsemix.mixture._linear._start import SEEDINGS
from sparsemix.mixture._linear.likelihoods import Tables
from sparsemix.mixture._linear.recipe import LINEAR_CONSTRAINTS, LinearRecipe


# The docstring is half of this file: it is the manual of the class.
class SparseMixedMixture(MixtureEstimator):
    """Mixture for tables of numbers, categories and counts, with missing values: latent class and profile analysis.

    Use it for tables as people have them: customers, patients, survey answers. Give a data frame of pandas, polars or
    Arrow as it is. Within a component the columns are independent, and each has a distribution of its kind. A missing
    value drops out of its row, which is exact if values are missing at random. Choose ``n_components`` by ``bic``,
    ``icl``, or the ``score`` of held-out rows.

    Parameters
    ----------
    n_components : int, default=1
        Number of components K. ``bic``, or the ``score`` of held-out rows, compares several.
    n_nonzero : int or None, default=4
        Maximum number L of non-zero responsibilities of a row. 1 is hard assignment; None, or K and more, is dense.
        Raise it while the held-out ``score`` increases; lower it to save time.
    columns : "auto" or list of (str, list), default="auto"
        Kinds of columns, and the columns of each kind by name or number, such as
        ``[("categorical", ["region"]), ("full", ["height", "weight"]), ("drop", ["id"])]``:

        - "diag": numbers with a normal distribution each;
        - "full": one group of numbers with a common normal distribution, which has correlations;
        - "categorical": categories with a probability each;
        - "bernoulli": categories of two values;
        - "poisson": whole numbers with a Poisson distribution each;
        - "multinomial": one group of counts of which only the shares matter, such as words;
        - "drop": left out.

        Columns that the list does not name are read as with "auto": texts, booleans, categorical types and numbers of
        only two values are categories. Whole numbers with zeros are counts if one Poisson distribution describes all of
        them better than one normal distribution. Other numbers have the kind "diag". If it reads a column so, ``fit``
        prints what it took all columns for, unless all are numbers; ``columns=mixture.columns_`` gives the same kinds
        and prints nothing. Dates, identifiers, names, numbers as texts and constant columns are refused by name.
    handle_unknown : {"error", "ignore"}, default="error"
        Whether a category that ``fit`` has not seen is an error, or a missing value.
    inference : {"em", "vb"}, default="em"
        "em" is expectation maximisation with the prior ``prior_rows``. "vb" is variational Bayes over weights and all
        parameters. It has a lower bound of the evidence.
    learning_method : {"memoized", "batch", "online"}, default="memoized"
        Algorithm of ``fit``, as in SparseGaussianMixture. "memoized" takes a step after each of about ten batches and
        stores the statistics of each batch: its bound never decreases, as with "batch", and it is faster. "online"
        takes steps of decreasing size on random batches. It stores no statistics of batches and computes no bound.
        ``partial_fit`` does not use this parameter.
    candidates : {"auto", "all"} or int, default="auto"
        Components whose weights are computed for a row during learning, as in SparseGaussianMixture. "auto" keeps lists
        of max(4, n_nonzero) components in ``fit`` from 500 components on (dense rows of directions: from 100 on), else
        it computes all weights. Predictions and scores are always exact.
    prior_rows : float, default=1.0
        Weight of the prior: each component begins with this many rows with the frequencies and means of all rows. Their
        variances are those of all rows times K ** (-2 / D) min(1, D K / N) for D columns and N rows; the prior of a
        normal mean is nearly flat. A small number, such as 1e-6, gives maximum likelihood.
    reg_covar : float, default=None
        Variance of the rounding of numbers, which no component falls below. None takes that of the last digit of a
        column, and at least a millionth of its variance.
    weight_concentration_prior : float, default=None
        Dirichlet parameter of each component's weight (VB). None means 1 / K. Raise it for more even weights.
        Infinity keeps all weights at 1 / K, also for "em", which refuses other numbers.
    init_params : str or dict, default="k-means++"
        Initialisation: "k-means++" seeds with rows that are far apart in likelihood. Up to 100 components it then
        merges two and splits another one while that raises the likelihood of a subset of the rows. With 2 to 15
        components and few columns it first seeds up to 256 times, and steps of EM on the subset choose.
        "random_from_data" seeds with random rows; "random" draws random labels. A dict gives "responsibilities", a
        matrix of shape (n_samples, n_components), dense or sparse.
    max_iter : int, default=100
        Maximum number of epochs. A ConvergenceWarning says when it was too small.
    tol : float, default=1e-4
        Convergence threshold: the fit stops when an epoch gains less than this per row, in nats. Smaller values take
        more epochs.
    batch_size : int, default=None
        Rows of a batch. None means a tenth of the data for "memoized" and 10 K for "online"; in both cases at least
        1,000 and 10 K. Smaller batches mean more steps in an epoch, and for "memoized" more stored statistics.
    total_samples : float, default=None
        Size of the data set if the blocks of ``partial_fit`` are random batches of it. None means that every row is new
        and counts the same.
    step_size : tuple, default=(10.0, 0.6)
        Offset and decay of online steps and of ``partial_fit`` with ``total_samples``: step t = 1, 2, ... has size (t +
        offset) ** -decay. A smaller decay gives late batches more weight, a larger offset gives the first batches less.
        (scale, offset, decay) is min(1, scale * (t + offset) ** -decay), where t counts batches.
        For drifting data without ``total_samples``, ("half_life", h) makes a row of ``partial_fit`` count half after h
        further rows.
    warm_start : bool, default=False
        Whether ``fit`` continues from the last fitted mixture.
    dense_output : bool, default=False
        Whether ``transform`` returns a dense array, as trees, naive Bayes and scalers need. False returns CSR.
    n_jobs : int, default=None
        Number of threads. -1 uses all cores. Results have the same bits for any number.
    verbose : int, default=0
        Number of epochs between printed lines; 0 prints none.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialisation, the batches and draws. An integer makes results repeatable.

    Attributes
    ----------
    columns_ : list of (str, list)
        Kinds and labels of the columns, as for ``columns``.
    weights_ : ndarray of shape (n_components,)
        Mixture weights.
    weight_concentration_prior_ : float
        Prior of the weights: the given value or the default (VB).
    lower_bound_ : float
        Evidence lower bound (VB), or expected log likelihood plus entropy (EM), of all rows, in nats. Absent for
        "online".
    lower_bounds_ : list of float
        Lower bound after each epoch; for "memoized" from the second epoch on.
    converged_ : bool
        Whether the last epoch gained less than ``tol`` per row.
    n_iter_ : int
        Number of epochs.
    history_ : list of dict
        One record for each epoch: its number, the seconds so far and the bound (for "online" an estimate).
    n_samples_seen_ : int
        Number of rows of positive weight seen by ``fit``, plus those seen since by ``partial_fit``;
        ``update_from_stats`` adds the mass of its statistics.
    n_steps_ : int
        Number of ``partial_fit`` calls since the first call or the last ``fit``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if ``X`` had names.

    See Also
    --------
    SparseGaussianMixture : Numbers alone, with eight types of covariances.
    SparseBernoulliMixture : Tables of yes and no, sparse or dense.
    sklearn.compose.ColumnTransformer : Prepares columns for models of numbers.

    Notes
    -----
    The log density of a row is the sum over its columns. A column that differs between clusters by many nats counts
    more than one that differs by few: ``summary`` shows how many. Many columns that repeat the same answer count many
    times, since they are taken for independent given the cluster; leave copies out. No weights of columns are offered,
    since a weighted likelihood is no distribution.

    Rows are converted once to a table of float64. A column of categories takes a statistic for each level, a number
    and a count three; tables and sums take K times as many float64 numbers.

    References
    ----------
    .. [1] McLachlan, G. J. and Peel, D., "Finite Mixture Models", Wiley 2000, Section 5.10.
    .. [2] Vermunt, J. K. and Magidson, J., "Latent class cluster analysis", in Applied Latent Class Analysis, Cambridge
       University Press 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseMixedMixture
    >>> rng = np.random.default_rng(0)
    >>> south = rng.random(300) < np.repeat([0.2, 0.9], 150)
    >>> X = [[rng.normal(5.0 * (i > 149)), "south" if s else "north", rng.poisson(2.0)] for i, s in enumerate(south)]
    >>> mixture = SparseMixedMixture(2, random_state=0).fit(X)
    SparseMixedMixture: columns taken for numbers: 0; categories: 1 (2); counts: 2
    >>> sorted(np.bincount(mixture.predict(X)).tolist())
    [149, 151]
    """

    _takes = "tables of numbers and categories; make a data frame of them"
    _fixed_params = MixtureEstimator._fixed_params | {"first_epochs": {"em": 2, "vb": 5}}
    cluster_centers_ = Absent("read summary(), which lists typical values of the columns")
    _parameter_constraints: dict = LINEAR_CONSTRAINTS | {
        "columns": [StrOptions({"auto"}), list],
        "handle_unknown": [StrOptions({"error", "ignore"})],
        "prior_rows": [COUNT],
        "reg_covar": [Interval(numbers.Real, 0.0, LARGEST_VARIANCE, closed="both"), None],
        "init_params": [StrOptions(set(SEEDINGS)), dict],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzero: int | None = 4,
        columns: Any = "auto",
        handle_unknown: str = "error",
        inference: str = "em",
        learning_method: str = "memoized",
        candidates: str | int = "auto",
        prior_rows: float = 1.0,
        reg_covar: float | None = None,
        weight_concentration_prior: float | None = None,
        init_params: Any = "k-means++",
        max_iter: int = 100,
        tol: float = 1e-4,
        batch_size: int | None = None,
        total_samples: float | None = None,
        step_size: tuple[float, ...] | tuple[str, float] = (10.0, 0.6),
        warm_start: bool = False,
        dense_output: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.columns = columns
        self.handle_unknown = handle_unknown
        self.inference = inference
        self.learning_method = learning_method
        self.candidates = candidates
        self.prior_rows = prior_rows
        self.reg_covar = reg_covar
        self.weight_concentration_prior = weight_concentration_prior
        self.init_params = init_params
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.step_size = step_size
        self.warm_start = warm_start
        self.dense_output = dense_output
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _recipe(self):
        likelihood = Tables()
        return LinearRecipe(self._params, likelihood.prepared(self) if hasattr(self, "_schema") else likelihood)

    def __sklearn_tags__(self):
        """Tables of any columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    @published
    def columns_(self):
        """Kinds and labels of the columns."""
        self._attribute("columns_")
        return self._schema.pairs()
