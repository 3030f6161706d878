"""SparseBernoulliMixture: classes of rows of yes and no (latent class analysis)."""

import numbers
from typing import Any

from sparsemix._compat import Interval
from sparsemix._estimator.absent import Absent
from sparsemix._estimator.base import published
from sparsemix._estimator.input.checks import PRIOR
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import Array, Seed
from sparsemix.mixture._estimator import MixtureEstimator
from sparsemix.mixture._linear._rows import BinaryRows
from sparsemix.mixture._linear.likelihoods import Flags
from sparsemix.mixture._linear.recipe import LINEAR_CONSTRAINTS, LinearRecipe


# The docstring is half of this file: it is the manual of the class.
class SparseBernoulliMixture(MixtureEstimator):
    """Mixture of Bernoulli distributions: classes of rows of yes and no, known as latent class analysis.

    Use it for tables of 0 and 1: answers of a survey, symptoms, purchases, species at sites, tags. Within a component
    the features are independent. Rows may be sparse, and the cost of a row is proportional to its ones. NaN is an
    answer that was not observed. Unlike in :class:`SparseMultinomialMixture`, a zero is an answer too. Choose
    ``n_components`` by ``bic``. A fit uses most components, whatever the prior of the weights; ``beta_prior=3.0``
    leaves most unneeded ones empty.

    Parameters
    ----------
    n_components : int, default=1
        Number of components K. ``bic``, or the ``score`` of held-out rows, compares several.
    n_nonzero : int or None, default=4
        Maximum number L of non-zero responsibilities of a row. 1 is hard assignment; None, or K and more, is dense.
        Raise it while the held-out ``score`` increases; lower it to save time.
    inference : {"em", "vb"}, default="em"
        "em" is expectation maximisation: it adds ``beta_prior`` to the counts of yes and of no before it divides, and
        weights have no prior. "vb" is variational Bayes over weights and probabilities. It has a lower bound of the
        evidence.
    learning_method : {"memoized", "batch", "online"}, default="memoized"
        Algorithm of ``fit``, as in SparseGaussianMixture. "memoized" takes a step after each of about ten batches and
        stores the statistics of each batch: its bound never decreases, as with "batch", and it is faster. "online"
        takes steps of decreasing size on random batches. It stores no statistics of batches and computes no bound.
        ``partial_fit`` does not use this parameter.
    candidates : {"auto", "all"} or int, default="auto"
        Components whose weights are computed for a row during learning, as in SparseGaussianMixture. "auto" keeps lists
        of max(4, n_nonzero) components in ``fit`` from 500 components on (dense rows of directions: from 100 on), else
        it computes all weights. Predictions and scores are always exact.
    beta_prior : float, default=0.1
        Parameter of the Beta prior of each probability: each component begins with this many rows of yes and as many of
        no. Raise it to keep the probabilities of small components away from 0 and 1.
    binarize : float or None, default=None
        Threshold, not negative: larger values are yes, all others no. None means that X holds 0 and 1, or booleans;
        other values are refused, except NaN. 0 keeps only whether a count is positive.
    weight_concentration_prior : float, default=None
        Dirichlet parameter of each component's weight (VB). None means 1 / K. Raise it for more even weights.
        Infinity keeps all weights at 1 / K, also for "em", which refuses other numbers.
    init_params : str, array-like of shape (n_components, n_features) or dict, default="k-means++"
        Initialisation: "k-means++" seeds with rows that are far apart in likelihood. Up to 100 components it then
        merges two and splits another one while that raises the likelihood of a subset of the rows. With 2 to 15
        components and few columns it first seeds up to 256 times, and steps of EM on the subset choose.
        "random_from_data" seeds with random rows; "random" draws random labels. An array gives initial probabilities. A
        dict gives them as "means", or "responsibilities", a matrix of shape (n_samples, n_components), dense or sparse.
    max_iter : int, default=100
        Maximum number of epochs. A ConvergenceWarning says when it was too small.
    tol : float, default=1e-4
        Convergence threshold: the fit stops when an epoch gains less than this per row, in nats. Smaller values take
        more epochs. The default is smaller than that of the other mixtures, because EM of few columns gains little in
        each epoch.
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
    weights_ : ndarray of shape (n_components,)
        Mixture weights.
    probabilities_ : ndarray of shape (n_components, n_features)
        Probability of yes of each feature in each component; posterior means in VB.
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
    SparseMultinomialMixture : Counts of words, where absent words give no information of their own.
    SparseGaussianMixture : Rows of numbers.
    sklearn.naive_bayes.BernoulliNB : The same likelihood with known classes.

    Notes
    -----
    Latent classes of few columns have several maxima. With 2 to 15 components, up to 256 initialisations take steps
    together on at most 5,000 rows, and the likeliest starts the fit; more columns allow fewer of them. Fewer fits end
    at a low maximum with ``n_nonzero=None``.

    EM is slow where columns are few. With the default ``tol``, fits of six or seven columns ended up to 2 nats below
    the maximum for 3,000 rows, and 45 for 65,000; with 1e-6 less than 4. With fewer than ten columns lower it to 1e-6.

    NaN in X, also a stored NaN of a sparse matrix, is an answer that was not observed. It drops out of the likelihood
    of its row and out of the counts of its feature; this is exact if answers are missing at random.

    Statistics take 16 K D bytes; the table takes 4 K D, and 8 K D for predictions, three times as much for rows with
    missing answers. Statistics of a batch are sparse, also when memoized learning stores them. With ``binarize``, fits
    and predictions make a copy of X.

    References
    ----------
    .. [1] Lazarsfeld, P. F. and Henry, N. W., "Latent Structure Analysis", Houghton Mifflin 1968.
    .. [2] Bishop, C. M., "Pattern Recognition and Machine Learning", Springer 2006, Section 9.3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseBernoulliMixture
    >>> rng = np.random.default_rng(0)
    >>> probabilities = np.repeat([[0.9, 0.1, 0.5], [0.1, 0.9, 0.5]], 4, axis=1)
    >>> X = rng.random((200, 12)) < probabilities[np.arange(200) % 2]
    >>> mixture = SparseBernoulliMixture(2, random_state=0).fit(X)
    >>> np.bincount(mixture.predict(X)).tolist()
    [100, 100]
    >>> np.round(mixture.probabilities_[mixture.predict(X[:1])[0]], 1).tolist()
    [0.9, 0.8, 0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.5, 0.5, 0.5, 0.5]
    """

    _row_class = BinaryRows
    _takes = "tables of 0 and 1; encode answers with sklearn.preprocessing.OneHotEncoder"
    _fixed_params = MixtureEstimator._fixed_params | {"first_epochs": {"em": 2, "vb": 5}}
    cluster_centers_ = Absent("read probabilities_, the probabilities of the components")
    _likelihood = Flags()
    _parameter_constraints: dict = LINEAR_CONSTRAINTS | {
        "beta_prior": [PRIOR],
        "binarize": [Interval(numbers.Real, 0.0, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzero: int | None = 4,
        inference: str = "em",
        learning_method: str = "memoized",
        candidates: str | int = "auto",
        beta_prior: float = 0.1,
        binarize: float | None = None,
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
        self.inference = inference
        self.learning_method = learning_method
        self.candidates = candidates
        self.beta_prior = beta_prior
        self.binarize = binarize
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
        return LinearRecipe(self._params, self._likelihood)

    def __sklearn_tags__(self):
        """Zeros and ones, sparse or dense."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._params.binarize is None
        tags.input_tags.allow_nan = True
        return tags

    @plain_arguments
    def sample(self, n_samples: int = 1) -> Array:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features), bool
            Rows, grouped by component.
        y : ndarray of shape (n_samples,), int64
            Component of each row.
        """
        labels, rng = self._drawn_components(n_samples)
        return rng.random((n_samples, self.n_features_in_)) < self.probabilities_[labels], labels

    @published
    def probabilities_(self):
        """Probabilities of yes, (n_components, n_features)."""
        return self._attribute("probabilities_").plug_in.counts.means
