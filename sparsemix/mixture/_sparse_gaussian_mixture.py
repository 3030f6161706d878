"""SparseGaussianMixture: validates, assembles a model, a start and a schedule, and publishes what they give."""

import numbers

from sparsemix._compat import Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._engine.threads import slow_blas
from sparsemix._estimator.absent import UNFITTED, Absent
from sparsemix._estimator.input.checks import COUNT, POSITIVE, VARIANCE, check_rows
from sparsemix._stats.families import GAUSSIANS
from sparsemix.mixture._assemble import (
    GivenParameters,
    MixtureEstimator,
    MixtureOfBlocks,
    begin_fit,
    begin_stream,
    weighted_rows,
)
from sparsemix.mixture._births import Births, late_births
from sparsemix.mixture._fitted import FittedMixture
from sparsemix.mixture._predict import MixturePredictMixin
from sparsemix.mixture._repairs import repaired_lists, widened
from sparsemix.mixture._starts._start import SEEDINGS, SPLITTING_FROM


# The docstring is half of this file: it is the manual of the class.
class SparseGaussianMixture(GivenParameters, MixtureOfBlocks, MixturePredictMixin, MixtureEstimator):
    """Mixture of Gaussians with at most L non-zero responsibilities a row.

    Use it for hundreds or thousands of components and many rows: every row touches the statistics of only
    ``n_nonzero`` components, rows are read in blocks, and no array of shape (n_samples, n_components) is ever made
    in training. With ``n_nonzero=None`` it is an ordinary mixture, with the batch, memoized and stochastic learning
    and the sample weights that scikit-learn's mixtures lack. For clusters of embeddings of unit length take
    :class:`SparseVonMisesFisherMixture`, whose labels are as good there, and whose components are of more even size.

    The best responsibilities with L non-zeros are the softmax of the row's L largest weights ([1]_ Section 3); the
    lower bound never falls in batch and memoized learning, for any L.

    Parameters
    ----------
    n_components : int, default=1
        Number of components K.
    n_nonzero : int or None, default=4
        Most non-zero responsibilities L of a row. 1 is hard assignment; None, or K and more, is dense.
    covariance_type : {"full", "tied", "diag", "tied_diag", "spherical", "tied_spherical", "low_rank", "zero_mean"}, \
            default="full"
        Covariance of each component: full, diagonal, or a multiple of the identity; the same with one for all
        components ("tied" is full; "tied_spherical" is k-means with probabilities); ``rank`` directions and a diagonal
        ("low_rank": a mixture of factor analysers [6]_ [7]_, for rows of hundreds of numbers); or full with the mean
        fixed at zero (image patches, other centred signals).
    rank : int, default=None
        Loadings Q of a component for "low_rank", at most n_features - 1, which is a full covariance. None means a fifth
        of the rows a component (of the first block or ``total_samples`` in ``partial_fit``), from 1 to 16: with as many
        loadings as rows a component describes its own rows and no others.
    inference : {"vb", "em"}, default="vb"
        Variational Bayes, or maximum likelihood by expectation maximisation.
    learning_method : {"memoized", "batch", "online"}, default="memoized"
        How ``fit`` learns. "memoized" [2]_ makes a step after each of about ten batches and remembers what each
        batch contributed: monotone like "batch", and faster. "online" [3]_ takes steps of decreasing size on random
        minibatches; it remembers nothing and has no bound. ``partial_fit`` has its own rule.
    candidates : {"auto", "all"} or int, default="auto"
        Components whose weights are computed for a row in learning. "all" is exact. An int keeps a list of so many of
        the row's best components (at least ``n_nonzero``), whose neighbours are looked at in the next pass, with some
        at random [5]_: a pass then costs some 30 weights a row, whatever K, and the bound still never falls. In
        ``partial_fit``, whose rows have no lists, it costs a quarter of all weights or more. A few rows look at all
        components now and then; where lists miss much, all rows do in the next pass. "auto" is max(4, n_nonzero) in
        ``fit`` with 100 components and more, else "all". Predictions and scores are exact always.
    candidates_init : {"random", "all"}, default=None
        What rows without a list look at in ``fit``: all components, which costs a dense pass and loses nothing that
        the start has found, or a few at random, which blurs the start. None means "all".
    weight_concentration_prior_type : {"dirichlet_distribution", "dirichlet_process"}, default="dirichlet_distribution"
        Prior of the weights (VB): symmetric Dirichlet, or a Dirichlet process truncated at K (stick-breaking).
    weight_concentration_prior : float, default=None
        Dirichlet parameter of each component, or concentration of the process; None means 1 / K.
    mean_precision_prior : float, default=None
        kappa_0, how many rows the prior of a mean counts as (VB); None means 1e-4.
    mean_prior : array-like of shape (n_features,), default=None
        Prior of the means (VB); None means the mean of the data.
    degrees_of_freedom_prior : float, default=None
        nu_0 of the Wishart or Gamma prior (VB), greater than n_features - 1, or than 0 for diagonal and spherical
        covariances. None means n_features + 2; for diagonal and spherical ones 3.
    covariance_prior : array-like or float, default=None
        B_0 (VB), in scikit-learn's meaning: (n_features, n_features), diagonal (n_features,), spherical a number; a
        number elsewhere means that multiple of the identity. None means nu_0 - n_features - 1 (diagonal, spherical:
        nu_0 - 2) times the covariance of the data, times K ** (-2 / D) * min(1, D K / N); a tenth of it where
        components learn their scales. With N < 8 D rows, matrices keep N / (8 D) of the data's correlations. A few
        wild values, such as a typing error, do not decide the scale of a column.
    optimize_priors : bool or None, default=None
        Whether each component learns s_k >= 1 by which its B_0 is multiplied, so that its evidence is largest (VB;
        "full", "diag", "low_rank", "zero_mean"). None means from 16 components on, where ``covariance_prior`` is None;
        fewer describe the density better with it, but are less often what one would call clusters.
    reg_covar : float, default=None
        A variance that is added to those of the components, N_k times to B in VB as in scikit-learn. None means for
        EM 1e-6, and for VB 1e-6 times the variance of each column; a column of one value gets the square of this
        value, or the median of the other columns' variances if that is larger, divided by N + 1.
    init_params : str or matrix of shape (n_samples, n_components), default="auto"
        Start of the fit. "kmeans": scikit-learn's k-means, "kmeans_scaled" with columns of equal standard deviation,
        "kmeans_range" with columns of equal range; "k-means++": its seeds alone; "splitting": one component becomes K
        by repeated cuts; "bregman" k-means++ [4]_; "random_from_data": rows drawn at random; "random": random labels.
        "auto" tries some of them (user guide) and keeps the one under which held-out rows are most likely. With 3 to
        15 components exchanges of components follow [8]_. Full covariances find places by EM where held-out rows are
        then more likely. A matrix, dense or sparse, gives the responsibilities themselves.
    init_size : int, default=None
        Rows of the random subset that seeds are chosen from. None means 20,000 or, if that is more, 50 a component,
        3 n_features a component where each has a covariance matrix; less where they would take more than 128 MB.
    n_init_iter : int, default=None
        Hard assignments of the subset under the seeds' Gaussians before learning begins. None means none in ``fit``,
        whose passes mend a start, and 3 for ``partial_fit``, whose first block does not come again.
    n_init : int, default=1
        Number of starts. Rows that are held out choose among them, after a few steps on a subset of the others; the
        fit goes on from that one, in ``partial_fit`` too.
    weights_init, means_init, precisions_init : array-like, default=None
        Start at these parameters, in the shapes that scikit-learn's GaussianMixture takes; precisions that all
        components share without n_components.
    max_iter : int, default=100
        Most passes over the data.
    tol : float, default=1e-3
        Convergence: a pass gains less than this per row, in nats. Zero asks for ``max_iter`` passes, without a warning.
    batch_size : int, default=None
        Rows of a batch. None means for "memoized" a tenth of the data, for "online" n_features rows a component
        where a component has a covariance matrix of its own, else 10; at least 1,000 and 10 a component.
    total_samples : float, default=None
        Size of the data set that ``partial_fit`` sees minibatches of; None: every row is new and counts the same.
    half_life : float, default=None
        Rows after which a row counts half in ``partial_fit`` with ``total_samples=None``, for data that drift; None:
        every row counts the same.
    learning_decay : float, default=0.6
        Exponent of the online step size (learning_offset + t) ** -learning_decay, t = 1, 2, ...
    learning_offset : float, default=10.0
        Offset of the online step size; larger makes early minibatches count less.
    warm_start : bool, default=False
        Start ``fit`` from the last fitted mixture.
    n_jobs : int, default=None
        Threads. Results are the same bits for any number.
    verbose : int, default=0
        Print a line every so many passes.
    random_state : int, RandomState instance or None, default=None
        For seeds, batches and ``sample``.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Mixture weights.
    means_ : ndarray of shape (n_components, n_features)
        Means.
    covariances_ : ndarray
        Covariances, in scikit-learn's shapes; shared ones without n_components. In VB B / nu, as scikit-learn's;
        ``density_parameters`` returns the larger ones of ``score_samples``.
    precisions_ : ndarray
        Inverses of the covariances.
    precisions_cholesky_ : ndarray
        Their upper triangular factors, as scikit-learn's.
    loadings_ : ndarray of shape (n_components, rank, n_features)
        Loadings W_k ("low_rank"): the covariance is ``W_k.T @ W_k`` and the noise. Point estimates in VB too.
    noise_variance_ : ndarray of shape (n_components, n_features)
        Variances of the noise ("low_rank"); in VB B / nu.
    weight_concentration_prior_, mean_precision_prior_, degrees_of_freedom_prior_ : float
        Priors of weights, means and covariances, as given or by default (VB).
    mean_prior_, covariance_prior_ : ndarray or float
        Likewise.
    covariance_prior_scales_ : ndarray of shape (n_components,)
        s_k, by which B_0 of each component is multiplied (VB); ones where they are not learned.
    weight_concentration_ : ndarray of shape (n_components,)
        Posterior of the weights (VB).
    mean_precision_ : ndarray of shape (n_components,)
        Posterior kappa (VB, with means).
    degrees_of_freedom_ : ndarray of shape (n_components,)
        Posterior nu (VB).
    lower_bound_ : float
        Evidence lower bound (VB) or expected log likelihood plus entropy (EM) of all rows, in nats. Not for "online".
    lower_bounds_ : list of float
        The bound after each pass, for "memoized" from the second one on.
    converged_ : bool
        Whether the last pass gained less than ``tol`` per row.
    n_iter_ : int
        Passes over the data.
    history_ : list of dict
        For each pass its number, the seconds so far and the bound (for "online" an estimate); "undone" where births
        were taken back, "repaired" where lists of candidates missed much.
    init_params_ : str
        How the clusters were seeded; what "auto" chose.
    n_samples_seen_ : int
        Rows of positive weight seen by ``fit`` and since by ``partial_fit`` or in ``update_from_stats``.
    n_steps_ : int
        Calls of ``partial_fit`` since the start or the last ``fit``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, when the rows came with names.

    See Also
    --------
    SparseVonMisesFisherMixture : Directions: embeddings and TF-IDF rows, where cosines matter.
    sklearn.mixture.GaussianMixture : Dense EM, all rows in memory several times over.
    sklearn.mixture.BayesianGaussianMixture : Dense variational Bayes.

    Notes
    -----
    With D features the statistics take K D (D + 1) / 2 float64 numbers (diag: 2 K D; low_rank: K (2 D + Q D + Q^2 + Q),
    and K Q D more by which rows tell of their factors), the tables half of that for float32 rows. Memoized learning
    keeps the statistics once more for each batch. Responsibilities exist for one chunk of rows at a time (16 MB). Lists
    of C candidates take 4 N C bytes for N rows while ``fit`` lasts. float32 rows are read as they are, and their
    weights are computed in float32; statistics are float64 always.

    References
    ----------
    .. [1] Hughes, M. C. and Sudderth, E. B., "Fast Learning of Clusters and Topics via Sparse Posteriors", 2016,
       Sections 2 to 4.
    .. [2] Hughes, M. C. and Sudderth, E. B., "Memoized Online Variational Inference for Dirichlet Process Mixture
       Models", NIPS 2013, Section 3.
    .. [3] Hoffman, M. D., Blei, D. M., Wang, C. and Paisley, J., "Stochastic Variational Inference", JMLR 2013,
       Section 2.
    .. [4] Ackermann, M. R. and Blömer, J., "Coresets and Approximate Clustering for Bregman Divergences", SODA 2009.
    .. [5] Forster, D. and Lücke, J., "Can clustering scale sublinearly with its clusters? A variational EM acceleration
       of GMMs and k-means", AISTATS 2018.
    .. [6] Ghahramani, Z. and Hinton, G. E., "The EM Algorithm for Mixtures of Factor Analyzers", 1996, Section 3.
    .. [7] Tipping, M. E. and Bishop, C. M., "Mixtures of Probabilistic Principal Component Analyzers", Neural
       Computation 1999, Section 3 and Appendix A.
    .. [8] Ueda, N., Nakano, R., Ghahramani, Z. and Hinton, G. E., "SMEM Algorithm for Mixture Models", Neural
       Computation 2000, Section 3.

    Examples
    --------
    >>> from sparsemix import SparseGaussianMixture
    >>> from sparsemix.datasets import make_patch_mixture
    >>> X, _, _ = make_patch_mixture(2000, n_features=8, n_components=10, rank=2, random_state=0)
    >>> mixture = SparseGaussianMixture(10, n_nonzero=2, covariance_type="zero_mean", random_state=0).fit(X)
    >>> mixture.predict_sparse_proba(X[:3]).nnz
    6
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "n_components": [Interval(numbers.Integral, 1, None, closed="left")],
        "n_nonzero": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "covariance_type": [StrOptions(set(GAUSSIANS))],
        "rank": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "inference": [StrOptions({"vb", "em"})],
        "learning_method": [StrOptions({"batch", "memoized", "online"})],
        "candidates": [StrOptions({"auto", "all"}), Interval(numbers.Integral, 1, None, closed="left")],
        "candidates_init": [StrOptions({"random", "all"}), None],
        "weight_concentration_prior_type": [StrOptions({"dirichlet_distribution", "dirichlet_process"})],
        "weight_concentration_prior": [POSITIVE, None],
        "mean_precision_prior": [COUNT, None],
        "mean_prior": ["array-like", None],
        "degrees_of_freedom_prior": [COUNT, None],
        "covariance_prior": ["array-like", VARIANCE, None],
        "optimize_priors": ["boolean", None],
        "reg_covar": [Interval(numbers.Real, 0.0, 1e100, closed="both"), None],
        "init_params": [
            StrOptions(set(SEEDINGS)),
            "array-like",
            "sparse matrix",
        ],
        "init_size": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "n_init_iter": [Interval(numbers.Integral, 0, None, closed="left"), None],
        "n_init": [Interval(numbers.Integral, 1, None, closed="left")],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", VARIANCE, None],
        "max_iter": [Interval(numbers.Integral, 0, None, closed="left")],
        "tol": [Interval(numbers.Real, 0.0, None, closed="left")],
        "batch_size": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "total_samples": [COUNT, None],
        "half_life": [POSITIVE, None],
        "learning_decay": [Interval(numbers.Real, 0.0, 1.0, closed="right")],
        "learning_offset": [Interval(numbers.Real, 0.0, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [numbers.Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    _fitted_class = FittedMixture
    cluster_centers_ = Absent("read means_, the means of the components")
    init_params_ = Absent(UNFITTED)

    def __init__(
        self,
        n_components=1,
        *,
        n_nonzero=4,
        covariance_type="full",
        rank=None,
        inference="vb",
        learning_method="memoized",
        candidates="auto",
        candidates_init=None,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=None,
        mean_precision_prior=None,
        mean_prior=None,
        degrees_of_freedom_prior=None,
        covariance_prior=None,
        optimize_priors=None,
        reg_covar=None,
        init_params="auto",
        init_size=None,
        n_init_iter=None,
        n_init=1,
        weights_init=None,
        means_init=None,
        precisions_init=None,
        max_iter=100,
        tol=1e-3,
        batch_size=None,
        total_samples=None,
        half_life=None,
        learning_decay=0.6,
        learning_offset=10.0,
        warm_start=False,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.covariance_type = covariance_type
        self.rank = rank
        self.inference = inference
        self.learning_method = learning_method
        self.candidates = candidates
        self.candidates_init = candidates_init
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.optimize_priors = optimize_priors
        self.reg_covar = reg_covar
        self.init_params = init_params
        self.init_size = init_size
        self.n_init_iter = n_init_iter
        self.n_init = n_init
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.half_life = half_life
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # -- learning

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, checkpoint=None):  # noqa: ARG002
        """Learn the mixture from all rows of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, float32 or float64; neither is copied or cast as a whole.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: a row of weight 2 counts as two rows.
        checkpoint : path-like, default=None
            Folder of this fit alone, to which its state is written after every pass. The same call goes on from there
            after a crash, with the same bits as if it had never ended; other rows or parameters are refused, but for
            ``max_iter``, ``tol``, ``n_jobs`` and ``verbose``. A fit that has ended is read back.

        Returns
        -------
        self : SparseGaussianMixture

        Raises
        ------
        ValueError
            For rows with NaN or infinity, negative weights, fewer rows than components, or priors that are not
            positive definite. A model that was fitted before stays as it was.
        """
        return self._fit(X, sample_weight, checkpoint)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):  # noqa: ARG002
        """Learn from one more block of a stream.

        With ``total_samples=None`` every row counts the same whenever it came: the statistics are the sum over
        all blocks, or with ``half_life`` one in which a row counts half after so many more. With ``total_samples``
        given the blocks are minibatches of a data set of that size, and step t moves the statistics by
        ``(learning_offset + t) ** -learning_decay`` towards the block's; only this makes sense when rows come again.

        Rows of a block that no component explains get components of their own, in the places of components without
        rows or of two that had better be one, as far as that raises the evidence; not for "low_rank", whose sums do not
        follow from rows alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The block. The first one starts the mixture and fixes the priors that depend on data: at least
            ``n_components`` rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : SparseGaussianMixture

        Raises
        ------
        ValueError
            As ``fit``; a failed call leaves the model as it was.
        """
        if self._params.half_life is not None and self._params.total_samples is not None:
            raise ValueError(
                "half_life is for rows that come once, total_samples for rows that come again; give only one of them"
            )
        return self._partial_fit(X, sample_weight)

    def expected_stats(self, X, sample_weight=None, *, first_row=None, memory=None):
        """Expected sufficient statistics of rows under the fitted model; nothing is changed.

        Statistics of several blocks may be added, in any order and on any machine, and given to
        ``update_from_stats``: ``partial_fit`` is one of each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        first_row : int, default=None
            Number of the first row of X in all the data, which keys random numbers and names rows in errors. None
            means 0.
        memory : object, default=None
            What ``row_memory`` gave for these rows: a visit goes on from what the last one left there, and changes it.

        Returns
        -------
        stats : SufficientStatistics
            Sums by component: ``stats["count"]`` (K,), and ``"first"``, ``"second"`` or ``"scatter"`` as the
            covariance type needs them, of the rows less a shift that the model keeps; for "low_rank" also of factors.
        """
        return self._expected_stats(X, sample_weight, first_row, memory)

    # -- inside a fit or a stream

    def _read(self, X, sample_weight, reset, may_be_empty=False):
        first = reset or not hasattr(self, "_fitted")  # blocks of a first fit are read after their survey
        X = check_rows(self, X, reset=reset, dtype=None if first else self._fitted.model.dtype)
        return X, weighted_rows(X, sample_weight, part=may_be_empty)

    def _begin_fit(self, rows, rng, workers, warm):
        self._check_enough(rows, "give more rows or lower n_components")
        return begin_fit(self._params, rows, rng, workers, self._fitted if warm else None)

    def _begin_stream(self, rows, rng, workers):
        self._check_enough(rows, "give the first call of partial_fit at least n_components rows")
        return begin_stream(self._params, rows, rng, workers)

    def _births(self, begin):
        few = self._params.n_components < SPLITTING_FROM  # they are to be clusters, and as few as there are
        family = begin.model.family
        return None if few or family.tied or family.has_loadings else Births()

    def _repair(self, begin):
        return None if begin.rows.memory is None else repaired_lists

    def _before_block(self, rows, workers):
        model, seen = self._view(self._fitted.model, rows, self.n_samples_seen_)
        if model.search is not None and len(seen):
            wider = widened(model, seen, workers)
            if wider is not model:
                model, self._fitted = wider, FittedMixture(wider, self._fitted.stats.copy())
        late = self.n_samples_seen_ and not model.family.has_loadings  # whose sums do not follow from rows alone
        found = late_births(model, self._fitted.stats, seen, workers) if late else None
        if found is not None:
            self._fitted = FittedMixture(*found)
        return rows

    def _check_enough(self, rows, remedy):
        super()._check_enough(rows, remedy)
        if self._params.verbose and slow_blas():
            print(slow_blas())

    def _attributes(self, monitor):
        return super()._attributes(monitor) | {"n_features_in_": monitor.model.family.n_features}

    def _view(self, model, rows, n_seen):  # noqa: ARG002
        return model, self._rows(rows.X, rows.sample_weight, model)
