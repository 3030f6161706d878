"""StreamingNGGPMixture: clusters that grow with a stream, in one pass or several."""

import numbers
import time
from itertools import pairwise

import numpy as np
from sklearn.base import ClusterMixin

from sparsemix._compat import FitObserver, Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._engine.blocks import spans
from sparsemix._engine.interrupts import interrupts_wait
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.sweeps import RowState, Sweeps, run, run_parts, sweep_part
from sparsemix._engine.threads import Workers
from sparsemix._estimator.base import SparsemixEstimator, seeded
from sparsemix.clusters._gaussian._steps import SteppedRows
from sparsemix.clusters._model import RowResponsibilities, StreamingModel
from sparsemix.clusters._moves import MERGE_THRESHOLDS, joined
from sparsemix.clusters._parameters import (
    ROWS,
    SHARED,
    check_data,
    check_first,
    check_words,
    make_prior,
    make_state,
    moves_of,
    opening_threshold,
    passes_of,
    rounds_of_shards,
    warn_if_fractions,
    warn_if_shattered,
    weighted_rows,
)
from sparsemix.clusters._predict import ClusterPredictMixin, FittedClusters
from sparsemix.clusters._settle import settling

# Attributes that tell of the last ``fit``.
OF_FIT = ("n_iter_", "converged_", "history_", "labels_")


class StreamingNGGPMixture(ClusterPredictMixin, ClusterMixin, SparsemixEstimator):
    """Clusters whose number grows with the data, from one pass over a stream or several over rows in memory.

    Give it rows and read ``labels_`` and ``n_clusters_``; or show it blocks of a stream with ``partial_fit``, for which
    each row is read once, joins the clusters that explain it, and may open one. The number of clusters is never given.
    Rows are documents (counts of words, sparse as a rule) or measurements (a dense array of real numbers): by default
    ``likelihood="auto"`` tells which. Two parameters matter: for documents ``dirichlet_prior`` (smaller makes more, and
    more specific, clusters), for measurements ``likelihood``, the shape of a cluster. All others may stay.

    The prior of the clusters is a normalized generalized gamma process: the Dirichlet process (``discount=0``, clusters
    grow like log n), the normalized inverse Gaussian (``discount=0.5``, like the square root of n), and everything
    between and beyond. Clusters are conjugate and integrated out, so nothing is initialised. ``partial_fit`` is assumed
    density filtering [1]_, with the same result however rows are cut into blocks. ``fit`` shuffles the rows, makes the
    same pass, and goes on for ``n_epochs`` by expectation propagation: each row is taken out of the clusters and
    assigned anew under all others.

    Parameters
    ----------
    likelihood : {"auto", "multinomial", "full", "diag", "spherical", "zero_mean"}, default="auto"
        What a cluster is: a distribution of words for rows of counts, or a Gaussian with full, diagonal or spherical
        covariance, or with a full one and mean zero. "auto" takes sparse rows for counts, and
        dense whole numbers that are many columns, mostly zero and otherwise mostly 1. It warns in doubt. For all other
        rows the evidence of the first ones chooses "full" or "diag", above 100 features "diag". See ``likelihood_``.
    concentration : float, default=None
        a of the prior: larger opens more clusters. None means 1000 for "multinomial", where one word in a short text
        speaks for an old cluster louder than the prior for a new one and long texts hardly notice, and 1 for
        Gaussians.
    discount : float in [0, 1), default=0.0
        sigma of the prior: 0 is the Dirichlet process, 0.5 the normalized inverse Gaussian; larger makes more small
        clusters.
    tilt : float, default=1.0
        tau of the prior. It matters through ``concentration * tilt ** discount`` alone; 0 is the normalized stable
        process, for which the concentration does not matter.
    new_cluster_threshold : float, default=None
        epsilon: a row opens a cluster when its responsibility for a new one is larger. At least ``discount``, else the
        cluster could never win another row. None means max(0.5, discount + 0.001): smaller ones open many clusters
        that no row chooses again.
    n_nonzero : int, default=None
        Most clusters L that a row touches; None is all with a responsibility above 1e-6.
    max_components : int, default=None
        No cluster is opened beyond so many; None is no limit.
    dirichlet_prior : float, default=0.03
        Dirichlet parameter of every word in every cluster ("multinomial"). Smaller makes more clusters, and more
        specific ones: on long texts it decides their number far more than the concentration.
    mean_precision_prior : float, default=None
        kappa_0, how many rows the prior of a mean counts as (Gaussians); None: chosen with ``covariance_prior``.
    mean_prior : array-like of shape (n_features,), default=None
        Prior of the means (Gaussians); None means the mean of the data of the first call.
    degrees_of_freedom_prior : float, default=None
        nu_0 of the Wishart or Gamma prior (Gaussians); None: chosen with ``covariance_prior``.
    covariance_prior : array-like or float, default=None
        B_0 (Gaussians) in scikit-learn's shapes. None chooses by the evidence of up to 1000 rows of the first call: the
        share of each column's variance that is within clusters, how many rows that counts as, and ``column_scales_``.
        With a matrix given, what else is None is kappa_0 = 0.1 and nu_0 = n_features + 2 (3 for "diag", "spherical").
    u_rule : {"mode", "quadrature"}, default="mode"
        How the auxiliary variable U enters the prior weights: at the mode of log U, or integrated out.
    expected_clusters : {"recursion", "count"}, default="recursion"
        The number of clusters that U goes by in a stream: expected under the responsibilities, or that there are.
    merge_criterion : {"auto", "bayes_factor", "responsibility", "similarity"}, default="auto"
        Merge pairs of clusters: by the log Bayes factor of one cluster against two, by the overlap of their
        responsibilities (one less the normalized L1 distance [3]_), or by the similarity of their means or densities.
        "auto" is "bayes_factor" for Gaussians and None, which merges none, for counts, where hardly a pair qualifies.
    merge_threshold : float, default=None
        What a pair must exceed; None means 0 for "bayes_factor", which joins what is likelier to be one, 0.9 for
        "responsibility", 0.98 for "similarity".
    merge_every : int, default=1000
        Rows between two looks for clusters to merge or to prune, in a stream or a single epoch; for Bayes factors of
        documents at least 2 n_features words as well. Of several epochs each ends with a look for clusters to merge.
    prune_threshold : float, default=None
        Clusters of smaller expected mass are forgotten, with their rows, at the second look after they were opened.
        None forgets only clusters that can win no row any more. Several epochs do not use it: they give up clusters
        whose mass falls to ``new_cluster_threshold``, and assign their rows anew.
    half_life : float, default=None
        Rows after which a row counts half, where clusters drift or end: every ``merge_every`` rows all sums shrink, and
        clusters of which a twentieth of a row is left go. None forgets nothing; several epochs do not use it.
    n_epochs : int or "auto", default="auto"
        Passes of ``fit``: one of assumed density filtering, the others of expectation propagation; with "full" ones
        and without weights sampling settles the first 4,096 rows and their prior before more are read.
        "auto" is 2 for Gaussians, whose first rows are assigned before there are clusters and whose merges are surer
        where responsibilities are kept, and 1 for counts, or with ``discount``, ``prune_threshold``, ``half_life`` or
        ``n_shards``.
    n_shards : int, default=1
        Parts of the rows that ``fit`` streams apart, by ``n_jobs`` threads, and whose clusters it joins (of documents
        again and again, after a tenth in one stream). Another result, as good. ``partial_fit`` has one stream.
    tol : float, default=1e-3
        ``fit`` ends when an epoch moves less than this share of all responsibilities.
    shuffle : bool, default=True
        Whether ``fit`` visits rows in random order; ``partial_fit`` never does.
    compute_labels : bool, default=True
        Whether ``fit`` ends with a pass that makes ``labels_``.
    n_jobs : int, default=None
        Threads. Results are the same bits for any number.
    verbose : int, default=0
        Print a line every so many passes.
    random_state : int, RandomState instance or None, default=None
        For the order of the rows.

    Attributes
    ----------
    n_clusters_ : int
        Clusters that a row may join.
    likelihood_ : str
        What a cluster is: ``likelihood``, or what "auto" has chosen.
    weights_ : ndarray of shape (n_clusters,)
        Prior probabilities that the next row is of each.
    new_weight_ : float
        Prior probability that the next row opens a cluster.
    counts_ : ndarray of shape (n_clusters,)
        Expected mass of rows in each cluster.
    cluster_ids_ : ndarray of shape (n_clusters,), int64
        Number of each cluster in the order they were opened; it stays when others are merged or forgotten.
    means_ : ndarray of shape (n_clusters, n_features)
        Posterior mean word distributions, or means of Gaussians.
    covariances_ : ndarray
        Posterior mean covariances of Gaussians, in scikit-learn's shapes, of columns divided by ``column_scales_``.
    column_scales_ : ndarray of shape (n_features,)
        How wide columns are within "spherical" clusters, relative to each other; one where balls serve, and for others.
    expected_n_clusters_ : float
        E[K], expected number of clusters of the rows so far under their responsibilities.
    u_ : float
        Mode of U given the rows so far.
    labels_ : ndarray of shape (n_samples,), int64
        Cluster of each row of ``fit``, as ``predict`` has it.
    n_iter_ : int
        Epochs of the last ``fit``.
    converged_ : bool
        Whether the last epoch met ``tol``.
    history_ : list of dict
        For each epoch its number, the seconds so far, "log_predictive" (the sum over rows of their log predictive
        densities: in the first epoch given the rows before, later given all others), the same per row, and "change".
    n_samples_seen_ : int
        Rows of positive weight that were learned from.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, when the rows came with names.

    See Also
    --------
    GibbsNGGPMixture : The same model by sampling: slower, exact in the limit.
    SparseGaussianMixture : A given number of Gaussians, in batch or stochastic learning, with threads.
    sklearn.mixture.BayesianGaussianMixture : Truncated variational inference for a Dirichlet process of Gaussians.

    Notes
    -----
    A row costs (clusters) x (distinct words), or x n_features ** 2 for full covariances; of many clusters of counts
    most are ruled out by a bound, whose sums take an eighth of the memory traffic. Memory is that of the clusters:
    9 n_features bytes a cluster for counts, 8 n_features (n_features + 3) / 2 for full Gaussians, with up to a
    quarter of spare room; expectation propagation keeps 12 bytes a responsibility, some three a row. Everything is
    computed in double precision, in the order of rows, by one thread.

    Documents without words say nothing about their cluster: they change nothing, and predictions give them the prior.
    A row of weight w is one arrival of mass w. A Gaussian prior that is not given is taken from the first call, whose
    block should then be large; given in full, blocks may have one row.
    The width of the rows is fixed by the first call. For words that nobody has listed hash them
    (``HashingVectorizer(n_features=2**14, norm=None, alternate_sign=False)``).

    References
    ----------
    .. [1] Tank, A., Foti, N. J. and Fox, E. B., "Streaming Variational Inference for Bayesian Nonparametric Mixture
       Models", AISTATS 2015, Sections 3.2 to 3.4, Algorithms 1 and 2.
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

    _parameter_constraints: dict = {  # noqa: RUF012
        **SHARED,
        "new_cluster_threshold": [Interval(numbers.Real, 0.0, 1.0, closed="both"), None],
        "n_nonzero": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "u_rule": [StrOptions({"mode", "quadrature"})],
        "expected_clusters": [StrOptions({"recursion", "count"})],
        "merge_criterion": [StrOptions({"auto", *MERGE_THRESHOLDS}), None],
        "merge_threshold": [Interval(numbers.Real, -1e300, 1e300, closed="both"), None],
        "merge_every": [Interval(numbers.Integral, 1, None, closed="left")],
        "prune_threshold": [Interval(numbers.Real, 0.0, None, closed="left"), None],
        "half_life": [Interval(numbers.Real, 0.0, None, closed="neither"), None],
        "n_epochs": [Interval(numbers.Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_shards": [Interval(numbers.Integral, 1, None, closed="left")],
        "tol": [Interval(numbers.Real, 0.0, None, closed="left")],
        "shuffle": ["boolean"],
        "compute_labels": ["boolean"],
        "n_jobs": [numbers.Integral, None],
    }

    def __init__(
        self,
        likelihood="auto",
        *,
        concentration=None,
        discount=0.0,
        tilt=1.0,
        new_cluster_threshold=None,
        n_nonzero=None,
        max_components=None,
        dirichlet_prior=0.03,
        mean_precision_prior=None,
        mean_prior=None,
        degrees_of_freedom_prior=None,
        covariance_prior=None,
        u_rule="mode",
        expected_clusters="recursion",
        merge_criterion="auto",
        merge_threshold=None,
        merge_every=1000,
        prune_threshold=None,
        half_life=None,
        n_epochs="auto",
        n_shards=1,
        tol=1e-3,
        shuffle=True,
        compute_labels=True,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.likelihood = likelihood
        self.concentration = concentration
        self.discount = discount
        self.tilt = tilt
        self.new_cluster_threshold = new_cluster_threshold
        self.n_nonzero = n_nonzero
        self.max_components = max_components
        self.dirichlet_prior = dirichlet_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.u_rule = u_rule
        self.expected_clusters = expected_clusters
        self.merge_criterion = merge_criterion
        self.merge_threshold = merge_threshold
        self.merge_every = merge_every
        self.prune_threshold = prune_threshold
        self.half_life = half_life
        self.n_epochs = n_epochs
        self.n_shards = n_shards
        self.tol = tol
        self.shuffle = shuffle
        self.compute_labels = compute_labels
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):  # noqa: ARG002
        """Learn clusters from all rows, in random order and ``n_epochs`` passes; what was learned before is dropped.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; sparse ones for counts only. Counts may be any numbers that are not negative.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: it arrives once, with that mass.

        Returns
        -------
        self : StreamingNGGPMixture

        Raises
        ------
        ValueError
            For rows with NaN or infinity, negative counts or weights, and when no document has a word.
        """
        params = self._params
        fits, started = [], time.perf_counter()
        with self._all_or_nothing(lambda: self._publish(fits)):
            X, counts = check_data(self, X, reset=True)
            rows, kept = weighted_rows(X, counts, sample_weight)
            check_words(rows, counts)
            order = seeded(params.random_state).permutation(len(rows)) if params.shuffle else None
            state, rows = self._first_state(rows, counts)
            n_epochs = passes_of(params, counts)
            model = self._model(state, record=n_epochs > 1)
            row_state = RowState(rows, 0, ROWS, order)
            if model.record:
                model.settle = settling(params, state)
                row_state.parts = [RowResponsibilities(stop - start) for start, stop in row_state.spans]
            observer = FitObserver(self, n_epochs, lambda monitor: self._attributes(monitor, copy=True), X)
            schedule = Sweeps(has_bound=False, least_laps=2)
            name = type(self).__name__
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
            if params.compute_labels:
                self.labels_ = self._labels_of_fit(X, fits)
            warn_if_shattered(params, self.n_clusters_, len(rows))
            observer.finish()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):  # noqa: ARG002
        """Learn from the next rows of a stream, one after the other in the order they have.

        The result is the same bits however the stream is cut into calls. After an exception, of a signal handler
        too, the clusters are those of the rows before it: ``n_samples_seen_`` has grown by their number.

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
            As ``fit``. A row without a finite density under any cluster ends the call; rows before it are learned.
        """
        begun = []
        with self._all_or_nothing(lambda: self._publish_stream(begun)):
            first = not hasattr(self, "_fitted")
            if not first:
                self._check_likelihood()
            X, counts = check_data(self, X, reset=first)
            shift = None if first else getattr(self._fitted.state.sums, "shift", None)
            rows, kept = weighted_rows(X, counts, sample_weight, shift)
            if first:
                check_first(self._params, rows, counts)
                state, rows = self._first_state(rows, counts)
            else:
                warn_if_fractions(self, X)
                state = self._fitted.state.copy() if self._fitted.shared else self._fitted.state
            if state.sums.steps is not None:
                rows = SteppedRows(rows, state.sums.steps, state.n_rows, state.sums.scales)
            model = self._model(state)
            model.numbers = kept
            begun.append((model, state, state.n_rows))
            for start, stop in spans(len(rows), ROWS):
                part = slice(start, stop)
                with interrupts_wait():
                    model.stream(rows.read(part), rows.weight(part), state, start)
            self._publish_stream(begun)
        return self

    @property
    def expected_n_clusters_(self):
        """E[K], expected number of clusters of the rows so far under their responsibilities."""
        return self._attribute("expected_n_clusters_").state.expected_clusters

    @property
    def u_(self):
        """Mode of U given the rows so far, in E[K] clusters; infinite where no number is large enough."""
        fitted = self._attribute("u_")
        with np.errstate(over="ignore"):
            return float(np.exp(fitted.prior.log_mode(fitted.state.mass, fitted.expected)))

    # -- inside

    def _labels_of_fit(self, X, fits):
        """Labels of all rows; one of no weight that cannot be read ends the fit, of which nothing is kept."""
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

    def _first_state(self, rows, counts):
        """No clusters, and rows as they will be read."""
        params = self._params
        threshold = opening_threshold(params.discount, params.new_cluster_threshold)
        state, rows = make_state(params, rows, counts, make_prior(params, counts), threshold)
        if params.verbose and params.likelihood == "auto":
            print(f"{type(self).__name__}: likelihood {state.sums.likelihood!r}")
        return state, rows

    def _model(self, state, record=False):
        """The model of the parameters, for a state that begins or goes on."""
        params = self._params
        return StreamingModel(
            make_prior(params, state.sums.likelihood == "multinomial"),
            opening_threshold(params.discount, params.new_cluster_threshold), params.n_nonzero, params.max_components,
            params.u_rule == "quadrature", params.expected_clusters == "recursion", moves_of(params, state),
            record=record,
        )  # fmt: skip

    def _check_likelihood(self):
        """A stream goes on as it began."""
        given, began = self._params.likelihood, self._fitted.state.sums.likelihood
        if given not in ("auto", began):
            raise ValueError(f"likelihood is {given!r}, but the stream began with {began!r}; set it back, or call fit")

    def _fitted_clusters(self, prior, state):
        params = self._params
        recursion = params.expected_clusters == "recursion"
        expected = state.expected_clusters if recursion else len(state.live(prior.discount))
        return FittedClusters(prior, state, params.u_rule, expected)

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
        """Publish the clusters of the rows so far; whether rows have come."""
        if not begun or begun[0][1].n_rows == begun[0][2]:
            return False
        model, state, _ = begun[0]
        for name in OF_FIT:
            vars(self).pop(name, None)
        self._fitted = self._fitted_clusters(model.prior, state)
        return True

    def _publish(self, fits):
        """Publish the clusters of the last completed epoch, or of the rows since; whether there are any."""
        if not fits or fits[0].stats is None or not len(fits[0].stats.live(self._params.discount)):
            return False
        for name in OF_FIT:
            vars(self).pop(name, None)
        vars(self).update(self._attributes(fits[0]))
        return True
