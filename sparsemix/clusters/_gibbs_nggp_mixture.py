"""GibbsNGGPMixture: the exact posterior of clusters by Gibbs sampling, a reference for faster methods."""

import numbers
import time
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sparsemix._compat import FitObserver, Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._engine.chains import attributes_of_chains, best_chain, completed, disagreement
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.sweeps import RowState, Sweeps, burn_in_of, run
from sparsemix._estimator.absent import UNFITTED, Absent
from sparsemix._estimator.base import SparsemixEstimator
from sparsemix._estimator.parameters import plain
from sparsemix._models.clusters.model import GibbsModel
from sparsemix._typing import Array, ArrayLike, RowsLike, Seed, Weights
from sparsemix._warnings import warn_caller
from sparsemix.clusters._parameters import (
    PITMAN_YOR,
    ROWS,
    SHARED,
    UNREAD,
    check_content,
    check_data,
    make_prior,
    make_state,
    opening_threshold,
    warn_if_single,
    weighted_rows,
)
from sparsemix.clusters._predict import ClusterPredictMixin
from sparsemix.clusters._samples import Samples
from sparsemix.clusters._split_merge import SplitMerge

# Minimum weight of a row. The sampler removes clusters of mass below 1e-9 as round-off.
SMALLEST_WEIGHT = 1e-8
# Number of rows whose pairs co_clustering takes without being given them: a quarter of a GB.
MOST_PAIRED = 5000


class GibbsNGGPMixture(ClusterPredictMixin, ClusterMixin, SparsemixEstimator):
    """Mixture with a learned number of clusters, by collapsed Gibbs sampling.

    The model is that of StreamingNGGPMixture. An epoch draws each row's cluster given those of all other rows and the
    auxiliary variable U given the partition [1]_, [2]_; it also splits and merges whole clusters [3]_. A chain starts
    from the clusters of one streaming epoch. The samples are exact in the limit of many epochs. Use them to judge
    one-epoch methods, if several chains (``n_chains``) agree. ``fit`` needs all rows and hundreds of epochs.

    Parameters
    ----------
    likelihood : {"auto", "multinomial", "full", "diag", "spherical", "zero_mean"}, default="auto"
        Distribution of a cluster: "multinomial" for word counts; or a Gaussian with full, diagonal or spherical
        covariance, or with full covariance and mean zero. "auto" treats sparse rows as counts, and dense whole numbers
        if columns are many, most entries are zero and most non-zeros are 1. It warns in doubt. For other rows it is
        "full" if columns are correlated within clusters, else "diag", and "diag" above 100 features. See
        ``likelihood_``.
    concentration : float, default=None
        a of the prior, or its initial value if it is learned. None means 1000 for "multinomial", 0.1 for Gaussians.
        Raise it for more clusters.
    discount : float in [0, 1), default=0.0
        sigma: 0 is a Dirichlet process, 0.5 a normalized inverse Gaussian process. Larger values make small clusters
        more probable.
    tilt : float or "pitman-yor", default=1.0
        tau of the prior. Only ``concentration * tilt ** discount`` matters. 0 is the normalized stable process, for
        which the concentration does not matter. "pitman-yor" is the process of Pitman and Yor with theta =
        ``concentration``: a new cluster has the weight theta + sigma K, where sigma is the discount.
    concentration_prior : tuple of two floats, default=None
        Shape and rate of a Gamma prior of the concentration, which is then sampled. None keeps the concentration fixed.
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
    init_params : {"streaming", "single", "sequential"}, default="streaming"
        Initialisation of a chain: the clusters of one epoch of StreamingNGGPMixture ("streaming"), one cluster of all
        rows ("single"), or clusters drawn for one row after another ("sequential"). Chains from "single" and
        "sequential" show whether they forget their initialisation.
    split_merge : bool, default=True
        Whether each epoch also proposes to split and to merge clusters [3]_, which moves many rows at once. Set False
        to save time. Weighted rows have no such proposals: a weighted row is one arrival of that mass, and the joint
        distribution of such draws that an acceptance probability needs does not exist.
    n_chains : int, default=1
        Number of chains, run one after the other, each with its own order of rows and random numbers. ``r_hat_``
        compares them, and a warning says if they disagree, or the halves of one chain with at least 50 draws.
    max_iter : int, default=200
        Epochs of each chain.
    burn_in : int, default=None
        Epochs before the first sample. None means half of ``max_iter``. It is too small if "log_joint" of ``history_``
        still rises there.
    thin : int, default=10
        Epochs between two samples. Smaller values keep more samples, in more memory.
    dense_output : bool, default=False
        Whether ``transform`` returns a dense array, as trees, naive Bayes and scalers need. False returns CSR.
    verbose : int, default=0
        Number of epochs between printed lines; 0 prints none.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws and of the order of rows. An integer makes results repeatable.

    Attributes
    ----------
    n_clusters_, likelihood_, weights_, new_weight_, counts_, cluster_ids_, means_, covariances_, column_scales_, u_ :
        As in StreamingNGGPMixture, for the sample that represents the posterior, see Notes.
    labels_ : ndarray of shape (n_samples,), int64
        Cluster of each row in that sample; -1 for documents without words and rows of weight zero.
    concentration_ : float
        The given concentration, or its draw in that sample.
    n_samples_ : int
        Number of samples that ``score_samples`` averages. With 0 it uses the last epoch.
    sampled_labels_ : ndarray of shape (n_kept, n_samples), int32
        Cluster of each row in each sample, numbered separately in each; -1 as in ``labels_``. See ``co_clustering``.
    history_ : list of dict
        One record for each epoch: its number, the seconds so far, "log_joint" (log p(partition, u, rows) up to a
        constant), and the same per row.
    chain_log_joints_ : list of ndarray
        "log_joint" of every epoch of each chain. All other attributes describe the chain with the highest values.
    r_hat_ : float
        Potential scale reduction of "log_joint" after ``burn_in`` over the halves of all chains [4]_: near 1 if they
        agree. NaN with fewer than four epochs.
    n_iter_ : int
        Number of epochs.
    n_samples_seen_ : int
        Number of rows of positive weight.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if ``X`` had names.

    See Also
    --------
    StreamingNGGPMixture : The same model in one epoch or a few.

    Notes
    -----
    ``labels_`` and the clusters come from one draw: among the samples and the last epoch, the partition whose mean
    variation of information to the samples is lowest [5]_. A draw may have more clusters than the data need, the more
    the larger the concentration. If the rows are one cluster, the automatic prior expects clusters of the covariance
    and mean of all rows, and then the rows hardly tell one cluster from several.

    An epoch costs about as much as one of StreamingNGGPMixture. Every sample stores a copy of the clusters, for counts
    8 n_features bytes each, and 4 bytes a row for ``sampled_labels_``. A row of weight w is one row of mass w.

    References
    ----------
    .. [1] Favaro, S. and Teh, Y. W., "MCMC for Normalized Random Measure Mixture Models", Statistical Science 2013,
       Section 3, for conjugate likelihoods.
    .. [2] Neal, R. M., "Markov Chain Sampling Methods for Dirichlet Process Mixture Models", JCGS 2000, Algorithm 3.
    .. [3] Dahl, D. B., "Sequentially-Allocated Merge-Split Sampler for Conjugate and Nonconjugate Dirichlet Process
       Mixture Models", 2005; Jain, S. and Neal, R. M., "A Split-Merge Markov Chain Monte Carlo Procedure for the
       Dirichlet Process Mixture Model", JCGS 2004.
    .. [4] Vehtari, A. et al., "Rank-Normalization, Folding, and Localization: An Improved R-hat for Assessing
       Convergence of MCMC", Bayesian Analysis 2021.
    .. [5] Wade, S. and Ghahramani, Z., "Bayesian Cluster Analysis: Point Estimation and Credible Balls", Bayesian
       Analysis 2018.

    Examples
    --------
    >>> from sparsemix import GibbsNGGPMixture
    >>> from sparsemix.datasets import make_bars_mixture
    >>> X, labels = make_bars_mixture(random_state=0)[:2]
    >>> GibbsNGGPMixture(concentration=1.0, max_iter=40, random_state=0).fit(X).n_clusters_
    10
    """

    _unread = UNREAD
    _parameter_constraints: dict = {  # noqa: RUF012
        **SHARED,
        "concentration_prior": [tuple, None],
        "init_params": [StrOptions({"streaming", "single", "sequential"})],
        "split_merge": ["boolean"],
        "n_chains": [Interval(numbers.Integral, 1, None, closed="left")],
        "max_iter": [Interval(numbers.Integral, 1, None, closed="left")],
        "burn_in": [Interval(numbers.Integral, 0, None, closed="left"), None],
        "thin": [Interval(numbers.Integral, 1, None, closed="left")],
    }

    chain_log_joints_, r_hat_, sampled_labels_ = Absent(UNFITTED), Absent(UNFITTED), Absent(UNFITTED)

    def __init__(
        self,
        likelihood: str = "auto",
        *,
        concentration: float | None = None,
        discount: float = 0.0,
        tilt: float | str = 1.0,
        concentration_prior: tuple[float, float] | None = None,
        max_components: int | None = None,
        word_prior: float = 0.03,
        mean_precision_prior: float | None = None,
        mean_prior: ArrayLike | None = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: Any = None,
        init_params: Any = "streaming",
        split_merge: bool = True,
        n_chains: int = 1,
        max_iter: int = 200,
        burn_in: int | None = None,
        thin: int = 10,
        dense_output: bool = False,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.likelihood = likelihood
        self.concentration = concentration
        self.discount = discount
        self.tilt = tilt
        self.concentration_prior = concentration_prior
        self.max_components = max_components
        self.word_prior = word_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.init_params = init_params
        self.split_merge = split_merge
        self.n_chains = n_chains
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.thin = thin
        self.dense_output = dense_output
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: RowsLike, y: object = None, sample_weight: Weights = None) -> Self:  # noqa: ARG002
        """Sample partitions of all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows. Sparse rows must be counts.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: zero, or larger than ``discount``.

        Returns
        -------
        self : GibbsNGGPMixture

        Raises
        ------
        ValueError
            For rows with NaN or infinity, negative counts, invalid weights, or if no document has a word. A previously
            fitted model stays unchanged.
        """
        params = self._params
        fits, started = [], time.perf_counter()
        with self._all_or_nothing(lambda: self._publish(fits)):
            X, counts = check_data(self, X, reset=True)
            rows, kept = weighted_rows(X, counts, sample_weight)
            check_content(rows, counts, kept)
            concentration_prior(params)
            self._check_smallest_weight(rows, kept)
            prior, threshold = make_prior(params, counts), opening_threshold(params.discount)
            first, rows, divided = make_state(params, rows, counts, prior, threshold)
            observer = FitObserver(
                self, params.n_chains * params.max_iter, lambda monitor: self._attributes([monitor], X.shape[0]), X
            )
            seeds = check_random_state(params.random_state).randint(2**31 - 1, size=params.n_chains)
            for seed in seeds:
                self._run_chain(
                    fits, rows, kept, X.shape[0], first, divided, prior, threshold, int(seed), observer, started
                )
                if observer.stopped:
                    break
            self._publish(fits)
            found = disagreement(self.chain_log_joints_, self.r_hat_, fits[0].samples.burn_in)
            if found is not None:
                message = f"{found}, or see its clusters as one of several explanations"
                warn_caller(message, ConvergenceWarning)
            if counts:
                warn_if_single(rows, params.word_prior, self.labels_)
            observer.finish()
        return self

    def _run_chain(self, fits, rows, kept, n_rows, first, divided, prior, threshold, seed, observer, started):
        """Run one chain; append its monitor to ``fits``."""
        params = self._params
        rng, state = np.random.default_rng(seed), first.copy()
        model = GibbsModel(prior, params.max_components, seed, rng, concentration_prior(params))
        order = rng.permutation(len(rows))
        if divided is not None:
            order = np.append(divided[0], order[~np.isin(order, divided[0])])
        chain = RowState(rows, 0, ROWS, order)
        model.numbers = chain.order if kept is None else kept[chain.order]
        labels = np.full(len(rows), -1, dtype=np.intc)
        chain.parts = [labels[start:stop] for start, stop in chain.spans]
        if params.init_params == "single":
            model.gather(chain.visits(rows), state)
        elif params.init_params == "streaming":
            model.stream_start(chain.visits(rows), state, threshold, None if divided is None else divided[1])
        if params.split_merge and (rows.sample_weight is None or (rows.sample_weight == 1.0).all()):
            model.moves = SplitMerge(rows, chain.order, labels, rng, params.max_components)
        monitor = Monitor(
            params.max_iter, 0.0, Sweeps(has_bound=False), params.verbose, type(self).__name__, observer, None, started
        )
        monitor.chain, monitor.n_rows = chain, n_rows
        monitor.samples = Samples(burn_in_of(params), params.thin, model, labels)
        fits.append(monitor)
        run(model, rows, chain, monitor, state, monitor.samples)

    def _check_smallest_weight(self, rows, kept):
        """Refuse small weights. A cluster of one row has prior weight n_k - discount, which must exceed round-off.
        """
        weight, discount = rows.sample_weight, self._params.discount
        if weight is not None and weight.min() <= max(discount, SMALLEST_WEIGHT):
            row = int(weight.argmin())
            raise ValueError(
                f"sample_weight of row {row if kept is None else kept[row]} is {weight[row]}; weights must be zero, or "
                f"larger than discount={discount} and {SMALLEST_WEIGHT:g}, because a "
                "cluster of that row alone needs a larger mass"
            )

    def _check_loaded(self):
        super()._check_loaded()
        others = {type(sample).__name__ for sample in vars(self).get("_samples", ())} - {"FittedClusters"}
        if others:
            raise TypeError(f"of the samples some are {', '.join(others)}")

    @property
    def n_samples_(self):
        """Number of samples that ``score_samples`` averages."""
        self._attribute("n_samples_")
        return len(self._samples)

    @property
    def concentration_(self):
        """The given concentration, or its draw in the published sample."""
        return self._attribute("concentration_").prior.concentration

    @property
    def u_(self):
        """The draw of U in the published sample; infinity on overflow, as for a concentration near zero."""
        with np.errstate(over="ignore"):
            return float(np.exp(self._attribute("u_").state.log_u))

    def co_clustering(self, rows: ArrayLike | None = None) -> Array:
        """Posterior probability that two rows of ``fit`` belong to one cluster, for all pairs of some rows.

        It is the share of the samples in which both rows have the same cluster; without samples, that of the last
        epoch. With few samples it is coarse: lower ``thin`` for more.

        Parameters
        ----------
        rows : array-like of shape (n,), int, default=None
            Indices of the rows. None takes all rows, if they are at most 5000, since n rows take 9 n ** 2 bytes.

        Returns
        -------
        probabilities : ndarray of shape (n, n), float64
            Symmetric, with ones on the diagonal; NaN for documents without words and rows of weight zero.

        Raises
        ------
        ValueError
            If an index is not that of a row, or for None and more rows.

        Examples
        --------
        >>> from sparsemix import GibbsNGGPMixture
        >>> from sparsemix.datasets import make_bars_mixture
        >>> X, labels = make_bars_mixture(random_state=0)[:2]
        >>> chain = GibbsNGGPMixture(concentration=1.0, max_iter=40, thin=2, random_state=0).fit(X)
        >>> labels[[1, 2, 3]]
        array([0, 3, 3])
        >>> chain.co_clustering([1, 2, 3])
        array([[1., 0., 0.],
               [0., 1., 1.],
               [0., 1., 1.]])
        """
        check_is_fitted(self)
        n_rows = len(self.labels_)
        if rows is None:
            if n_rows > MOST_PAIRED:
                raise ValueError(
                    f"rows=None means all pairs of {n_rows} rows; give the indices of some rows, or "
                    f"np.arange({n_rows}) for all"
                )
            rows = np.arange(n_rows)
        rows = np.asarray(rows)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ValueError(f"rows must be a list of indices of rows, got shape {rows.shape} of {rows.dtype}")
        outside = rows[(rows < 0) | (rows >= n_rows)]
        if outside.size:
            raise ValueError(f"rows contains {outside[0]}; the fit had rows 0 to {n_rows - 1}")
        rows = rows.astype(np.intp)
        samples = self.sampled_labels_[:, rows] if len(self.sampled_labels_) else self.labels_[None, rows]
        together = np.zeros((len(rows), len(rows)))
        for labels in samples:
            together += labels[:, None] == labels
        together /= len(samples)
        lost = self.labels_[rows] < 0
        together[lost], together[:, lost] = np.nan, np.nan
        return together

    def score_samples(self, X: RowsLike, average: str = "density") -> Array:
        """Log predictive density of each row, averaged over the samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        average : {"density", "log"}, default="density"
            "density" averages densities and gives the posterior predictive density. "log" averages log densities, which
            is lower.

        Returns
        -------
        log_density : ndarray of shape (n_samples,), float64
            Natural logarithms.
        """
        if average not in ("density", "log"):
            raise ValueError(f"average={average!r}; it must be 'density' or 'log'")
        return self._log_density(self._rows(X), average)

    def _log_density(self, rows, average="density"):
        samples = self._samples or [self._fitted]
        log_densities = np.stack([sample.log_density(rows) for sample in samples])
        if average == "log":
            return log_densities.mean(axis=0)
        return logsumexp(log_densities, axis=0) - np.log(len(samples))

    def _attributes(self, monitors, n_rows):
        """Fitted attributes of the chain with the highest mean log joint."""
        monitor = best_chain(monitors)
        fitted, in_order = monitor.samples.representative(monitor.model, monitor.stats)
        labels = np.full(n_rows, -1, dtype=np.int64)
        labels[monitor.model.numbers] = in_order
        sampled = np.full((len(monitor.samples.kept), n_rows), -1, dtype=np.int32)
        for row, (_, sample) in zip(sampled, monitor.samples.kept, strict=True):
            row[monitor.model.numbers] = sample
        return {
            "_fitted": fitted,
            "_samples": [sample for sample, _ in monitor.samples.kept],
            "labels_": labels,
            "sampled_labels_": sampled,
            **attributes_of_chains(monitors, monitor),
        }

    def _publish(self, fits):
        """Publish the current chains if one has completed an epoch; return whether one has."""
        if not completed(fits):
            return False
        vars(self).update(self._attributes(completed(fits), fits[0].n_rows))
        return True


def concentration_prior(params):
    """Shape and rate of the gamma prior of the concentration, or None."""
    if params.concentration_prior is None:
        return None
    given = tuple(plain(value) for value in params.concentration_prior)
    if len(given) != 2 or not all(isinstance(value, numbers.Real) and 0 < value < np.inf for value in given):
        raise ValueError(f"concentration_prior is {given}; give two positive numbers, shape and rate, or None")
    if params.tilt == PITMAN_YOR:
        raise ValueError(
            f"concentration_prior is {given}, but the concentration of tilt={PITMAN_YOR!r} is not learned; "
            "set concentration_prior=None, or tilt to a number"
        )
    return given
