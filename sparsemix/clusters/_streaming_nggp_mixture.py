"""StreamingNGGPMixture: a number of clusters that grows with a stream, in one epoch or several."""

import numbers
import time
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin

from sparsemix._compat import FitObserver, Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.sweeps import RowState, Sweeps, run, run_parts, sweep_part
from sparsemix._estimator.base import SparsemixEstimator, seeded
from sparsemix._estimator.input.checks import N_JOBS, Several
from sparsemix._models.clusters.model import RowResponsibilities, StreamingModel
from sparsemix._models.clusters.moves import MERGE_THRESHOLDS, joined
from sparsemix._rows.threads import Workers
from sparsemix._typing import ArrayLike, RowsLike, Seed, Weights
from sparsemix.clusters._parameters import (
    ROWS,
    SHARED,
    UNREAD,
    check_content,
    check_data,
    make_prior,
    make_state,
    moves_of,
    opening_threshold,
    passes_of,
    rounds_of_shards,
    u_rule_of,
    warn_if_fractions,
    warn_if_shattered,
    warn_if_single,
    weighted_rows,
)
from sparsemix.clusters._predict import ClusterPredictMixin, FittedClusters
from sparsemix.clusters._stream import Guide, Stream, follows

U_RULES, CRITERIA = StrOptions({"mode", "quadrature"}), StrOptions(set(MERGE_THRESHOLDS))
THRESHOLD = Interval(numbers.Real, -1e300, 1e300, closed="both")
OF_FIT = ("n_iter_", "converged_", "history_", "labels_")  # attributes of the last ``fit``


class StreamingNGGPMixture(ClusterPredictMixin, ClusterMixin, SparsemixEstimator):
    """Clusters whose number grows with the data, from one epoch over a stream or several over rows in memory.

    Call ``fit`` and read ``labels_`` and ``n_clusters_``; or give blocks of a stream to ``partial_fit``, which reads
    each row once, adds it to clusters, and may open a new one. The number of clusters is learned. Rows are documents
    (word counts, usually sparse) or measurements (a dense array of real numbers); ``likelihood="auto"`` detects which.
    Two parameters matter: for documents ``word_prior`` (smaller makes more, and more specific, clusters), for
    measurements ``likelihood``, the shape of a cluster. The remaining defaults suit most data.

    The prior of the clusters is a normalized generalized gamma process. Special cases are the Dirichlet process
    (``discount=0``; the number of clusters grows like log n) and the normalized inverse Gaussian process
    (``discount=0.5``; like the square root of n). Cluster parameters are conjugate and integrated out, so there is no
    initialisation. ``partial_fit`` is assumed density filtering [1]_; its documentation says when blocks matter.
    ``fit`` shuffles the rows and does the same in its first epoch. Further epochs are expectation propagation: they
    remove each row from its clusters and assign it again given all other rows.

    Parameters
    ----------
    likelihood : {"auto", "multinomial", "full", "diag", "spherical", "zero_mean"}, default="auto"
        Distribution of a cluster: "multinomial" for word counts; or a Gaussian with full, diagonal or spherical
        covariance, or with full covariance and mean zero. "auto" treats sparse rows as counts, and dense whole numbers
        if columns are many, most entries are zero and most non-zeros are 1. It warns in doubt. For other rows it is
        "full" if columns are correlated within clusters, else "diag", and "diag" above 100 features. See
        ``likelihood_``.
    concentration : float, default=None
        a of the prior. Raise it to open more clusters. None means 0.1 for Gaussians and 1000 for "multinomial": one
        shared word of a short text outweighs a smaller prior of a new cluster, and long texts hardly depend on it.
    discount : float in [0, 1), default=0.0
        sigma: 0 is a Dirichlet process, 0.5 a normalized inverse Gaussian process. Larger values make small clusters
        more probable.
    tilt : float or "pitman-yor", default=1.0
        tau of the prior. Only ``concentration * tilt ** discount`` matters. 0 is the normalized stable process, for
        which the concentration does not matter. "pitman-yor" is the process of Pitman and Yor with theta =
        ``concentration``: a new cluster has the weight theta + sigma K, where sigma is the discount.
    new_cluster_threshold : float, default=None
        epsilon: a row opens a cluster if its responsibility for a new one is larger. At least ``discount``. None means
        max(0.5, discount + 0.001); smaller values open many clusters that win no further row.
    n_nonzero : int, default=None
        Maximum number L of non-zero responsibilities of a row. None keeps those above 1e-6.
    max_components : int, default=None
        Maximum number of clusters, which limits time and memory. None is no limit.
    word_prior : float, default=0.03
        Dirichlet parameter of every word in every cluster ("multinomial"). Lower it for more, and more specific,
        clusters. On long texts it has far more effect on their number than the concentration.
    mean_precision_prior : float, default=None
        kappa_0, the weight of the prior of a mean in rows (Gaussians). None estimates it from the rows, for "diag" one
        for each column.
    mean_prior : array-like of shape (n_features,), default=None
        Prior of the means (Gaussians). None estimates it from the rows.
    degrees_of_freedom_prior : float, default=None
        nu_0 of the Wishart or Gamma prior (Gaussians). None chooses it with ``covariance_prior``. Raise it for clusters
        of similar covariance.
    covariance_prior : array-like or float, default=None
        B_0 (Gaussians) in scikit-learn's shapes. None chooses it with the other parameters of the prior: those of the
        most probable clusters of up to 2000 rows, see :doc:`/user_guide/cluster_priors`. A given B_0 is the expected
        covariance of a cluster, since nu_0 is then n_features + 2 (3 for "diag", "spherical") unless you give it.
    u_rule : {"mode", "quadrature"} or tuple, default="mode"
        Treatment of the auxiliary variable U in the prior weights: U fixed at the mode of log U, or U integrated out.
        The number of clusters in its posterior is their expectation under the responsibilities; with a tuple ("mode",
        "count") or ("quadrature", "count") it is the number of existing clusters, as always from the second epoch on.
        Labels hardly depend on it, and for ``tilt="pitman-yor"`` both treatments are the same.
    merge_criterion : {"auto", "bayes_factor", "responsibility", "similarity"} or tuple, default="auto"
        Criterion for merging two clusters: the log Bayes factor of one cluster against two, the overlap of their
        responsibilities (one minus the normalized L1 distance [3]_), or the similarity of their means or densities.
        None merges nothing. "auto" is "bayes_factor" for Gaussians and None for counts (few pairs qualify). A tuple
        (criterion, threshold) gives the value that a pair must exceed: 0 by default for "bayes_factor" (one cluster is
        more likely than two), 0.9 for "responsibility", 0.98 for "similarity". Lower the threshold if one kind of rows
        has several clusters.
    merge_every : int, default=1000
        Rows between two searches for clusters to merge or prune, in a single epoch; for Bayes factors of documents also
        at least 2 n_features words. Several epochs have one search after each. Smaller values merge sooner.
    prune_threshold : float, default=None
        Clusters with less expected mass are forgotten, with their rows, at the second search after they were opened.
        None forgets only clusters that can win no further row. Several epochs ignore it: they remove clusters whose
        mass falls to ``new_cluster_threshold`` and assign their rows again.
    half_life : float, default=None
        Number of further rows after which a row counts half. Set it if clusters drift or end. Sums shrink four times in
        that number, or every ``merge_every`` rows; clusters of less than a twentieth of a row end. Several epochs
        ignore it.
    max_iter : int or "auto", default="auto"
        Epochs of ``fit``: one of assumed density filtering, then expectation propagation. "auto" is 2 for Gaussians; 1
        for counts, or with ``discount``, ``prune_threshold``, ``half_life`` or ``n_shards``.
    n_shards : int, default=1
        Number of shards: ``fit`` streams them separately, in ``n_jobs`` threads, and joins their clusters (for
        documents repeatedly, after one stream over a tenth). The result differs: as good for distinct clusters, worse
        for clusters that are hard to tell apart. One shard uses one thread.
    tol : float, default=1e-3
        ``fit`` stops when an epoch changes less than this share of all responsibilities.
    shuffle : bool, default=True
        Whether ``fit`` visits rows in random order, unlike ``partial_fit``. False keeps the order of rows.
    dense_output : bool, default=False
        Whether ``transform`` returns a dense array, as trees, naive Bayes and scalers need. False returns CSR.
    n_jobs : int, default=None
        Threads for ``n_shards``. -1 uses all cores; results have the same bits for any number.
    verbose : int, default=0
        Number of epochs between printed lines; 0 prints none.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. An integer makes results repeatable.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters that a row may join.
    likelihood_ : str
        Likelihood in use: ``likelihood``, or the choice of "auto".
    weights_ : ndarray of shape (n_clusters,)
        Prior probability of each cluster for the next row.
    new_weight_ : float
        Prior probability that the next row opens a cluster.
    counts_ : ndarray of shape (n_clusters,)
        Expected mass of rows in each cluster.
    cluster_ids_ : ndarray of shape (n_clusters,), int64
        Permanent number of each cluster, in order of creation. Merging or forgetting other clusters does not change it.
    means_ : ndarray of shape (n_clusters, n_features)
        Posterior mean word distributions, or means of Gaussians.
    covariances_ : ndarray
        Posterior mean covariances of Gaussians, in scikit-learn's shapes, of columns divided by ``column_scales_``.
    column_scales_ : ndarray of shape (n_features,)
        Widths of columns within "spherical" clusters, relative to each other. Ones if equal widths explain the rows,
        and for all other likelihoods.
    expected_n_clusters_ : float
        E[K], the expected number of clusters of all rows so far under their responsibilities.
    u_ : float
        Mode of U given the rows so far.
    labels_ : ndarray of shape (n_samples,), int64
        Cluster of each row of ``fit``, as ``predict`` returns it.
    n_iter_ : int
        Number of epochs of the last ``fit``.
    converged_ : bool
        Whether the last epoch met ``tol``.
    history_ : list of dict
        One record for each epoch: its number, the seconds so far, "change", and "log_predictive", the sum over rows of
        log predictive densities (in the first epoch given the rows before, later given all other rows), and per row.
    n_samples_seen_ : int
        Number of learned rows of positive weight.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if ``X`` had names.

    See Also
    --------
    GibbsNGGPMixture : The same model by Gibbs sampling: slower, exact in the limit.
    SparseGaussianMixture : A given number of Gaussians, in batch or stochastic learning, with threads.
    sklearn.mixture.BayesianGaussianMixture : Truncated variational inference for a Dirichlet process of Gaussians.

    Notes
    -----
    A row costs (clusters) x (distinct words), or x n_features ** 2 for full covariances. A bound excludes most of many
    clusters of counts, at an eighth of the memory traffic. Clusters with full covariances of 32 columns or more cost
    n_features ** 2 only if the first 16 columns leave them a share of the row. Memory is proportional to the clusters:
    9 n_features bytes each for counts, 8 n_features (n_features + 3) / 2 for full Gaussians (twice in ``partial_fit``),
    plus up to a quarter of spare capacity. Expectation propagation stores 12 bytes for each responsibility, about three
    for each row. One thread computes everything in double precision, in the order of rows.

    Documents without words change nothing, and their predictions are the prior. A row of weight w is one arrival of
    mass w. A Gaussian prior that is not given is estimated from the first rows of a stream, and again until there are
    1,000; this may change all clusters and their numbers. The rows of the search begin in the clusters that it found.
    Later the prior of means follows the clusters, unless you give ``mean_precision_prior``, and every 125 rows of a
    stream are judged together, which may change the clusters of these rows. The first call fixes the number of columns;
    ``HashingVectorizer(n_features=2**14, norm=None, alternate_sign=False)`` takes an open vocabulary.

    References
    ----------
    .. [1] Tank, A., Foti, N. J. and Fox, E. B., "Streaming Variational Inference for Bayesian Nonparametric Mixture
       Models", AISTATS 2015, Section 3, Algorithms 1 and 2.
    .. [2] Favaro, S. and Teh, Y. W., "MCMC for Normalized Random Measure Mixture Models", Statistical Science 2013.
    .. [3] Lin, D., "Online Learning of Nonparametric Mixture Models via Sequential Variational Approximation", NIPS
       2013, Section 3.

    Examples
    --------
    >>> from sparsemix import StreamingNGGPMixture
    >>> from sparsemix.datasets import make_bars_mixture
    >>> X, labels = make_bars_mixture(random_state=0)[:2]
    >>> stream = StreamingNGGPMixture(concentration=1.0)
    >>> for start in range(0, X.shape[0], 10):
    ...     stream = stream.partial_fit(X[start : start + 10])
    >>> stream.n_clusters_
    10
    """

    _unread = UNREAD
    _parameter_constraints: dict = {  # noqa: RUF012
        **SHARED,
        "new_cluster_threshold": [Interval(numbers.Real, 0.0, 1.0, closed="both"), None],
        "n_nonzero": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "u_rule": [U_RULES, Several(U_RULES, StrOptions({"count"}))],
        "merge_criterion": [StrOptions({"auto", *MERGE_THRESHOLDS}), Several(CRITERIA, THRESHOLD), None],
        "merge_every": [Interval(numbers.Integral, 1, None, closed="left")],
        "prune_threshold": [Interval(numbers.Real, 0.0, None, closed="left"), None],
        "half_life": [Interval(numbers.Real, 0.0, None, closed="neither"), None],
        "max_iter": [Interval(numbers.Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_shards": [Interval(numbers.Integral, 1, None, closed="left")],
        "tol": [Interval(numbers.Real, 0.0, None, closed="left")],
        "shuffle": ["boolean"],
        "n_jobs": [*N_JOBS],
    }

    def __init__(
        self,
        likelihood: str = "auto",
        *,
        concentration: float | None = None,
        discount: float = 0.0,
        tilt: float | str = 1.0,
        new_cluster_threshold: float | None = None,
        n_nonzero: int | None = None,
        max_components: int | None = None,
        word_prior: float = 0.03,
        mean_precision_prior: float | None = None,
        mean_prior: ArrayLike | None = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: Any = None,
        u_rule: str | tuple[Any, ...] = "mode",
        merge_criterion: str | tuple[Any, ...] = "auto",
        merge_every: int = 1000,
        prune_threshold: float | None = None,
        half_life: float | None = None,
        max_iter: int | str = "auto",
        n_shards: int = 1,
        tol: float = 1e-3,
        shuffle: bool = True,
        dense_output: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.likelihood = likelihood
        self.concentration = concentration
        self.discount = discount
        self.tilt = tilt
        self.new_cluster_threshold = new_cluster_threshold
        self.n_nonzero = n_nonzero
        self.max_components = max_components
        self.word_prior = word_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.u_rule = u_rule
        self.merge_criterion = merge_criterion
        self.merge_every = merge_every
        self.prune_threshold = prune_threshold
        self.half_life = half_life
        self.max_iter = max_iter
        self.n_shards = n_shards
        self.tol = tol
        self.shuffle = shuffle
        self.dense_output = dense_output
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: RowsLike, y: object = None, sample_weight: Weights = None) -> Self:  # noqa: ARG002
        """Learn clusters from all rows, in random order and ``max_iter`` epochs; the previous model is replaced.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows. Sparse rows must be counts; counts may be any non-negative numbers.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: the row arrives once, with this mass.

        Returns
        -------
        self : StreamingNGGPMixture

        Raises
        ------
        ValueError
            For rows with NaN or infinity, negative counts or weights, or if no document has a word.
        """
        params = self._params
        fits, started = [], time.perf_counter()
        with self._all_or_nothing(lambda: self._publish(fits)):
            X, counts = check_data(self, X, reset=True)
            rows, kept = weighted_rows(X, counts, sample_weight)
            check_content(rows, counts, kept)
            order = seeded(params.random_state).permutation(len(rows)) if params.shuffle else None
            state, rows, divided = self._first_state(rows, counts, order)
            n_epochs = passes_of(params, counts)
            model = self._model(state, record=n_epochs > 1)
            row_state = RowState(rows, 0, ROWS, order)
            if divided is not None and order is not None and params.n_shards == 1:
                model.divided = divided[1]
            if model.record:
                row_state.parts = [RowResponsibilities(stop - start) for start, stop in row_state.spans]
            observer = FitObserver(self, n_epochs, lambda monitor: self._attributes(monitor, copy=True), X)
            schedule, name = Sweeps(has_bound=False, least_epochs=2), type(self).__name__
            monitor = Monitor(n_epochs, params.tol, schedule, params.verbose, name, observer, None, started)
            fits.append(monitor)
            model.numbers = order if kept is None else (kept if order is None else kept[order])
            if params.n_shards == 1:
                run(model, rows, row_state, monitor, state)
            else:
                self._stream_shards(monitor, model, state, rows, order)
            if not self._publish(fits):
                raise ValueError(
                    f"no row of X opened a cluster: no weight is above discount={params.discount}; give larger ones"
                )
            self.labels_ = self._labels_of_fit(X, fits)
            warn_if_shattered(params, self.n_clusters_, len(rows))
            if counts:
                warn_if_single(rows, params.word_prior, self.labels_)
            observer.finish()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: RowsLike, y: object = None, sample_weight: Weights = None) -> Self:  # noqa: ARG002
        """Learn from the next rows of a stream, one by one in their order.

        The result has the same bits for any division of the stream into calls. With an automatic Gaussian prior this
        holds for streams of at least 1,000 rows whose first call has fewer; a larger first call chooses the prior.
        After an exception, also from a signal handler, the model includes all rows before it; a call with invalid rows
        learns none of them. Changed parameters take effect at once; priors of clusters stay.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, one or many.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : StreamingNGGPMixture

        Raises
        ------
        ValueError
            As ``fit``, or if ``likelihood`` changed. A row without a finite density raises after the rows before it.
        """
        begun = []
        with self._all_or_nothing(lambda: self._publish_stream(begun)):
            first = not hasattr(self, "_fitted")
            if not first:
                self._check_likelihood()
            X, counts = check_data(self, X, reset=first)
            rows, kept = weighted_rows(X, counts, sample_weight)
            divided = None
            if first:
                state, divided = self._stream_state(rows, counts)
            else:
                warn_if_fractions(self, X)
                state = self._fitted.state.copy() if self._fitted.shared else self._fitted.state
            stream = Stream(self._params, self._stream_state, self._model, state)
            begun.append((stream, state, state.n_rows))
            stream.learn(rows, kept, ROWS, divided)
            self._publish_stream(begun)
        return self

    @property
    def expected_n_clusters_(self):
        """E[K], the expected number of clusters of all rows so far under their responsibilities."""
        return self._attribute("expected_n_clusters_").state.expected_clusters

    @property
    def u_(self):
        """Mode of U given the rows so far in E[K] clusters; infinity on overflow."""
        fitted = self._attribute("u_")
        with np.errstate(over="ignore"):
            return float(np.exp(fitted.prior.log_mode(fitted.state.mass, fitted.expected)))

    # -- inside

    def _labels_of_fit(self, X, fits):
        """Labels of all rows. An invalid row of weight zero raises here, and the whole fit is discarded."""
        try:
            return self._labels(self._read(X))
        except ValueError:
            fits.clear()
            raise

    def _stream_shards(self, monitor, model, state, rows, order):
        params = self._params
        monitor.begin(1)
        model.begin(state)
        apart = state.sums.has_covariances or model.moves is not None
        bounds = [0, len(rows)] if apart else rounds_of_shards(len(rows))
        sweep_part(model, rows, order, ROWS, state, 0, bounds[0])
        with Workers(params.n_jobs) as workers:
            for start, stop in pairwise(bounds):
                parts = run_parts(model, rows, order, ROWS, state, start, stop, params.n_shards, workers)
                state = joined(model.prior, state, parts, params.max_components)
        monitor.step(state, model)
        monitor.epoch(1, model, state)

    def _first_state(self, rows, counts, order=None):
        """A state without clusters, rows in the form that the model reads, and how the first ones divide."""
        params = self._params
        threshold = opening_threshold(params.discount, params.new_cluster_threshold)
        return make_state(params, rows, counts, make_prior(params, counts), threshold, order)

    def _stream_state(self, rows, counts=False):
        """A state without clusters for a stream that begins with these rows, and how they divide."""
        state, _, divided = self._first_state(rows, counts)
        if follows(self._params, state):
            state.guide = Guide(self._params, state.sums)
            state.guide.keep(rows.X, rows.sample_weight, len(rows))
        return state, divided

    def _model(self, state, record=False):
        """The model that the parameters define, for a new or continued state."""
        params = self._params
        rule, recursion = u_rule_of(params)
        return StreamingModel(
            make_prior(params, not state.sums.has_covariances),
            opening_threshold(params.discount, params.new_cluster_threshold), params.n_nonzero, params.max_components,
            rule == "quadrature", recursion, moves_of(params, state),
            record=record,
        )  # fmt: skip

    def _check_likelihood(self):
        """Check all parameters, which scikit-learn does in the first call only."""
        self._validate_params()
        given, began = self._params.likelihood, self._fitted.state.sums.likelihood
        if given not in ("auto", began):
            raise ValueError(f"likelihood is {given!r}, but the stream began with {began!r}; set it back, or call fit")

    def _fitted_clusters(self, prior, state):
        rule, recursion = u_rule_of(self._params)
        expected = state.expected_clusters if recursion else len(state.live(prior.discount))
        return FittedClusters(prior, state, rule, expected)

    def _attributes(self, monitor, copy=False):
        """Fitted attributes as of the last row."""
        state = monitor.stats.copy() if copy else monitor.stats
        return {
            "_fitted": self._fitted_clusters(monitor.model.prior, state),
            "n_iter_": monitor.n_epochs_done,
            "converged_": monitor.converged,
            "history_": list(monitor.history),
        }

    def _publish_stream(self, begun):
        """Publish the clusters of the rows so far; return whether there were rows."""
        if not begun or begun[0][1].n_rows == begun[0][2]:
            return False
        stream, state, _ = begun[0]
        for name in OF_FIT:
            vars(self).pop(name, None)
        self._fitted = self._fitted_clusters(stream.model.prior, state)
        return True

    def _publish(self, fits):
        """Publish the clusters of the last completed epoch, or of the rows since; return whether clusters exist."""
        if not fits or fits[0].stats is None or not len(fits[0].stats.live(self._params.discount)):
            return False
        for name in OF_FIT:
            vars(self).pop(name, None)
        vars(self).update(self._attributes(fits[0]))
        return True
