"""SparseGaussianMixture: checks parameters, assembles model, initialisation and schedule, publishes fitted attributes.
"""

import numbers
from typing import Any, Self

from sparsemix._compat import Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._estimator.absent import UNFITTED, Absent
from sparsemix._estimator.input.checks import (
    COUNT,
    VARIANCE,
    Several,
)
from sparsemix._estimator.learning import fit_rows
from sparsemix._estimator.streams import absorb_rows
from sparsemix._heuristics.mixture.start import SEEDINGS
from sparsemix._stats.families import GAUSSIANS
from sparsemix._typing import ArrayLike, Folder, RowsLike, Seed, Weights
from sparsemix.mixture import _conditional, _predict
from sparsemix.mixture._annotations import labels
from sparsemix.mixture._estimator import CONSTRAINTS, MixtureEstimator
from sparsemix.mixture._given_parameters import from_parameters
from sparsemix.mixture._recipe import GaussianRecipe

RANK = Interval(numbers.Integral, 1, None, closed="left")
OF_MEANS = ("mean_precision_prior", "mean_prior")
# EM reads none of them, and of the prior of weights an infinite concentration only (weights_of).
PRIORS = (*OF_MEANS, "degrees_of_freedom_prior", "covariance_prior", "weight_concentration_prior_type")


# The docstring is half of this file: it is the manual of the class.
class SparseGaussianMixture(MixtureEstimator):
    """Mixture of Gaussians with at most L non-zero responsibilities a row.

    Use it for hundreds or thousands of components and many rows. Each row updates the statistics of only ``n_nonzero``
    components, rows are read in chunks, and training never makes an array of shape (n_samples, n_components). With
    ``n_nonzero=None`` it is an ordinary mixture, with the batch, memoized and stochastic learning and the sample
    weights that scikit-learn's mixtures lack. For clusters of embeddings of unit length use
    :class:`SparseVonMisesFisherMixture`: its labels are as good there, and its clusters are more even in size.

    The best responsibilities with L non-zeros are the softmax of the row's L largest weights ([1]_ Section 3). The
    lower bound never decreases in batch and memoized learning, for any L.

    Parameters
    ----------
    n_components : int, default=1
        Number of components K. ``bic``, or the ``score`` of held-out rows, compares several.
    n_nonzero : int or None, default=4
        Maximum number L of non-zero responsibilities of a row. 1 is hard assignment; None, or K and more, is dense.
        Raise it while the held-out ``score`` increases; lower it to save time.
    covariance_type : {"full", "tied", "diag", "tied_diag", "spherical", "tied_spherical", "low_rank", "zero_mean"} or \
            tuple, default="full"
        Covariance of each component. "full", "diag" and "spherical" are as in scikit-learn. One for all components:
        "tied" (full), "tied_diag", and "tied_spherical" (k-means with probabilities). "zero_mean" is a full covariance
        with the mean fixed at zero, for image patches and other centred signals. "low_rank" is a mixture of factor
        analysers [6]_ [7]_: a covariance is the sum of a few directions (loadings) and a diagonal. Use it for rows of
        hundreds of numbers. ("low_rank", 8) has 8 loadings for each component; n_features - 1 loadings give a full
        covariance. "low_rank" alone sets their number to a fifth of the rows per component, from 1 to 16, because a
        component with as many loadings as rows overfits. In ``partial_fit`` it counts the rows of the first block, or
        ``total_samples``.
    inference : {"vb", "em"}, default="vb"
        Variational Bayes ("vb"), or maximum likelihood by expectation maximisation ("em"), which refuses priors. Use
        "vb" for many components with few rows each.
    learning_method : {"memoized", "batch", "online"}, default="memoized"
        Algorithm of ``fit``. "memoized" [2]_ takes a step after each of about ten batches and stores the statistics of
        each batch: its bound never decreases, as with "batch", and it is faster. "online" [3]_ takes steps of
        decreasing size on random batches. It stores no statistics of batches and computes no bound. ``partial_fit``
        does not use this parameter.
    candidates : {"auto", "all"} or int, default="auto"
        Components whose weights are computed for a row during learning. "all" is exact. An int is the length of a list
        of the row's best components, at least ``n_nonzero``. The next epoch tries the neighbours of the list and some
        random components [5]_: it computes about 30 weights for each row, for any K, and the bound still never
        decreases. All rows try all components in the first epoch, and again if their lists miss good components. In
        ``partial_fit`` rows have no lists, and an int saves weights only of thousands of separate components. "auto"
        means max(4, n_nonzero) in ``fit`` from 100 components on, else "all". Predictions and scores are always exact.
    weight_concentration_prior_type : {"dirichlet_distribution", "dirichlet_process"}, default="dirichlet_distribution"
        Prior of the weights (VB): a symmetric Dirichlet distribution, or a Dirichlet process truncated at K
        (stick-breaking). The first stick belongs to the largest component, and so on; components are not reordered.
        "dirichlet_process" is the default of scikit-learn's BayesianGaussianMixture.
    weight_concentration_prior : float, default=None
        Dirichlet parameter of each component, or concentration of the process (VB). None means 1 / K. Raise it for more
        even weights. Infinity keeps all weights at 1 / K (Dirichlet distribution, or "em"), as k-means does.
    mean_precision_prior : float, default=None
        kappa_0: the prior of a mean counts as this number of rows (VB). None means 1e-4, or a learned number where nu_0
        is learned. Raise it to shrink the means of small components towards ``mean_prior``.
    mean_prior : array-like of shape (n_features,), default=None
        Prior of the means (VB). None means the mean of the data.
    degrees_of_freedom_prior : float, default=None
        nu_0 of the Wishart or Gamma prior (VB). It must be greater than n_features - 1, or than 0 for diagonal and
        spherical covariances. None means n_features + 2, or 3 for diagonal and spherical covariances. From 16
        components on, "full" and "zero_mean" learn nu_0, kappa_0 and the shape of B_0 from all components after epochs
        1, 2, 4, 8 and so on, if neither nu_0 nor a value of B_0 is given. Raise it to make the covariances of small
        components more alike.
    covariance_prior : array-like, float, {"learned", "fixed"} or tuple, default=None
        B_0 (VB), in scikit-learn's shapes: (n_features, n_features), (n_features,) for diagonal covariances, a number
        for spherical ones. A number for any other type means that multiple of the identity. "fixed" computes B_0 from
        the data. It is the covariance of the data, times nu_0 - n_features - 1 (diagonal, spherical: nu_0 - 2), times K
        ** (-2 / D) * min(1, D K / N). With N < 8 D rows, it contains N / (8 D) of the correlations. A few outliers,
        such as typing errors, do not change the scale of a column. "learned" begins with a small multiple of this B_0,
        and each component learns the scale s_k >= 1 of B_0 that maximises its evidence; components that share a
        covariance learn one. Below 16 components the covariance is that within the initial clusters, in place of that
        of the data. ("learned", B_0) learns scales of a given B_0. None means "learned" if a covariance has several
        numbers, and "fixed" for spherical ones. Use "learned" for densities if components have few rows. With "fixed"
        a column that is constant in a cluster, such as a pixel, has a larger variance there.
    reg_covar : float, default=None
        Number added to the variances of the components. In VB, N_k times this number is added to B_k, as in
        scikit-learn. None means 1e-6 for EM. For VB it means 1e-6 times the variance of each column, or a twelfth of
        the squared step of a column that is rounded to multiples of a step, if that is larger. For a constant column,
        VB uses its squared value or the median variance of all non-constant columns, whichever is larger, divided by N
        + 1. An error names it if a covariance is not positive definite, or a component too narrow.
    init_params : str, array-like of shape (n_components, n_features) or dict, default="auto"
        Initialisation. "kmeans": k-means on the columns as they are; "kmeans_scaled": on columns of equal standard
        deviation; "kmeans_range": on columns of equal range; "kmeans_shape": in units in which clusters are round, for
        correlated columns; "k-means++": its seeds alone; "splitting": repeated splits of one component into K;
        "bregman": k-means++ seeds under a Bregman divergence [4]_; "random_from_data": random rows; "random": random
        labels. "auto" takes "kmeans_range", "kmeans" or "kmeans_shape", whichever ends at the highest bound of
        variational Bayes after exchanges of components [8]_, also for "em"; from 16 components on "kmeans_range", or
        "splitting" if held-out rows prefer it.
        An array gives initial means. A dict gives any of "weights", "means" and "precisions", in the shapes of
        scikit-learn's GaussianMixture (precisions that components share lack the axis n_components), or
        "responsibilities", a matrix of shape (n_samples, n_components), dense or sparse.
    n_init : int, default=1
        Number of initialisations. Each takes some steps on a subset of the rows. Their bound chooses the best, from 16
        components on held-out rows, and the fit continues from it, in ``partial_fit`` too. This end need not be the
        best one.
    max_iter : int, default=100
        Maximum number of epochs. A ConvergenceWarning says when it was too small.
    tol : float, default=1e-3
        Convergence threshold: the fit stops when an epoch gains less than this per row, in nats. Zero runs ``max_iter``
        epochs without a warning. Smaller values take more epochs.
    batch_size : int, default=None
        Rows of a batch. None means a tenth of the data for "memoized". For "online" it means K times n_features if each
        component has its own covariance matrix, else 10 K. In both cases it is at least 1,000 and 10 K. Smaller batches
        mean more steps in an epoch, and for "memoized" more stored statistics.
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
        Seed of the initialisation, the batches and ``sample``. An integer makes results repeatable.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Mixture weights.
    means_ : ndarray of shape (n_components, n_features)
        Means.
    covariances_ : ndarray
        Covariances, in scikit-learn's shapes; shared ones lack the axis n_components. In VB they are B / nu, as in
        scikit-learn. ``score_samples`` uses larger ones, which ``density_parameters`` returns.
    precisions_ : ndarray
        Inverses of the covariances.
    precisions_cholesky_ : ndarray
        Upper triangular factors of the precisions, as in scikit-learn.
    loadings_ : ndarray of shape (n_components, rank, n_features)
        Loadings W_k ("low_rank"): the covariance is ``W_k.T @ W_k`` plus the noise. Point estimates, in VB too.
    noise_variance_ : ndarray of shape (n_components, n_features)
        Variances of the noise ("low_rank"). In VB they are B / nu.
    component_labels_ : ndarray of shape (n_components,)
        Label of each component, after ``fit`` or ``partial_fit`` with ``labels``: integers (int64) or texts.
    background_weight_ : float
        Share of the background, after ``fit`` or ``partial_fit`` with ``background``; else 0. ``weights_`` are those of
        the Gaussians among all other rows.
    label_classes_ : ndarray of shape (n_labels,)
        The labels in increasing order: the columns of ``predict_label_proba``.
    weight_concentration_prior_, mean_precision_prior_, degrees_of_freedom_prior_ : float
        Priors of weights, means and covariances (VB): the given values, the learned ones or the defaults.
    mean_prior_, covariance_prior_ : ndarray or float
        Priors of means and covariances (VB): the given values, the learned ones or the defaults.
    covariance_prior_scales_ : ndarray of shape (n_components,)
        Learned scales s_k of B_0 (VB), or ones; (1,) if components share a covariance.
    weight_concentration_ : ndarray of shape (n_components,)
        Posterior of the weights (VB).
    mean_precision_ : ndarray of shape (n_components,)
        Posterior kappa (VB, with means).
    degrees_of_freedom_ : ndarray of shape (n_components,)
        Posterior nu (VB).
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
        One record for each epoch: its number, the seconds so far and the bound (for "online" an estimate). "undone"
        marks births of components that were undone; "repaired" marks candidate lists that missed much and were
        replaced.
    init_params_ : str
        The initialisation in use; with "auto" the chosen one.
    n_samples_seen_ : int
        Number of rows of positive weight seen by ``fit``, plus those seen since by ``partial_fit`` and
        ``update_from_stats``.
    n_steps_ : int
        Number of ``partial_fit`` calls since the first call or the last ``fit``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features, if ``X`` had names.

    See Also
    --------
    SparseVonMisesFisherMixture : Clusters of directions, for embeddings and TF-IDF rows compared by cosine.
    sklearn.mixture.GaussianMixture : Dense EM; holds several copies of all rows in memory.
    sklearn.mixture.BayesianGaussianMixture : Dense variational Bayes.

    Notes
    -----
    NaN means that a value was not observed, in rows of all methods. Densities are those of the observed values, and the
    statistics add the expectation and covariance of the missing ones. Values should be missing at random (user guide).

    A fit uses all components, whatever the prior of the weights, since the default ``covariance_prior`` expects K small
    clusters. Unlike the defaults of BayesianGaussianMixture it empties none. ``covariance_prior=numpy.cov(X.T)`` with
    ``mean_precision_prior=1.0`` and ``tol=1e-5`` leaves most unneeded components empty.

    With D features the statistics take K D (D + 1) / 2 float64 numbers (diag: 2 K D; low_rank: K (2 D + Q D + Q^2 +
    Q)). The tables of predictions take half of that for float32 rows; low_rank tables take K Q D more, to compute the
    factors of a row. Memoized learning stores the statistics of each batch as well. Responsibilities exist for one
    chunk of rows at a time (16 MB). Lists of C candidates take 4 N C bytes for N rows during ``fit``. float32 rows are
    not converted, and their weights are computed in float32; statistics are always float64.

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
    .. [9] Bovy, J., Hogg, D. W. and Roweis, S. T., "Extreme Deconvolution: Inferring Complete Distribution Functions
       from Noisy, Heterogeneous and Incomplete Observations", Annals of Applied Statistics 2011, Section 3.

    Examples
    --------
    >>> from sparsemix import SparseGaussianMixture
    >>> from sparsemix.datasets import make_patch_mixture
    >>> X, _, _ = make_patch_mixture(2000, n_features=8, n_components=10, rank=2, random_state=0)
    >>> mixture = SparseGaussianMixture(10, n_nonzero=2, covariance_type="zero_mean", random_state=0).fit(X)
    >>> mixture.predict_sparse_proba(X[:3]).nnz
    6
    """

    _parameter_constraints: dict = CONSTRAINTS | {
        "covariance_type": [StrOptions(set(GAUSSIANS)), Several(StrOptions({"low_rank"}), RANK)],
        "weight_concentration_prior_type": [StrOptions({"dirichlet_distribution", "dirichlet_process"})],
        "mean_precision_prior": [COUNT, None],
        "mean_prior": ["array-like", None],
        "degrees_of_freedom_prior": [COUNT, None],
        "covariance_prior": ["array-like", VARIANCE, StrOptions({"learned", "fixed"}), None],
        "reg_covar": [Interval(numbers.Real, 0.0, 1e100, closed="both"), None],
        "init_params": [StrOptions(set(SEEDINGS)), "array-like", dict],
        "n_init": [Interval(numbers.Integral, 1, None, closed="left")],
    }
    _unread: dict = {"inference": {"em": PRIORS}, "covariance_type": {"zero_mean": OF_MEANS}}  # noqa: RUF012

    from_parameters = classmethod(from_parameters)
    # What other files define.
    predict = _predict.predict
    predict_proba = _predict.predict_proba
    score_samples = _predict.score_samples
    score = _predict.score
    sample, density_parameters = _predict.sample, _predict.density_parameters
    predict_labels, predict_label_proba = labels.predict_labels, labels.predict_label_proba
    marginal, condition, impute = _conditional.marginal, _conditional.condition, _conditional.impute
    weights_, means_, covariances_ = _predict.weights_, _predict.means_, _predict.covariances_
    precisions_, precisions_cholesky_ = _predict.precisions_, _predict.precisions_cholesky_
    loadings_, noise_variance_ = _predict.loadings_, _predict.noise_variance_
    component_labels_ = _predict.component_labels_
    label_classes_ = _predict.label_classes_
    background_weight_ = _predict.background_weight_
    mean_precision_prior_, mean_prior_ = _predict.mean_precision_prior_, _predict.mean_prior_
    degrees_of_freedom_prior_ = _predict.degrees_of_freedom_prior_
    covariance_prior_ = _predict.covariance_prior_
    covariance_prior_scales_ = _predict.covariance_prior_scales_
    weight_concentration_ = _predict.weight_concentration_
    mean_precision_ = _predict.mean_precision_
    degrees_of_freedom_ = _predict.degrees_of_freedom_
    cluster_centers_ = Absent("read means_, the means of the components")
    init_params_ = Absent(UNFITTED)

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzero: int | None = 4,
        covariance_type: str | tuple[str, int] = "full",
        inference: str = "vb",
        learning_method: str = "memoized",
        candidates: str | int = "auto",
        weight_concentration_prior_type: str = "dirichlet_distribution",
        weight_concentration_prior: float | None = None,
        mean_precision_prior: float | None = None,
        mean_prior: ArrayLike | None = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: Any = None,
        reg_covar: float | None = None,
        init_params: Any = "auto",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
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
        self.covariance_type = covariance_type
        self.inference = inference
        self.learning_method = learning_method
        self.candidates = candidates
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.reg_covar = reg_covar
        self.init_params = init_params
        self.n_init = n_init
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

    # -- learning

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: RowsLike,
        y: object = None,  # noqa: ARG002
        sample_weight: Weights = None,
        checkpoint: Folder = None,
        *,
        labels: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
        background: bool | float = False,
    ) -> Self:
        """Learn the mixture from all rows of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. float32 and float64 need no conversion, and ``fit`` makes no copy. NaN is a missing value.
        y : None
            Ignored: pipelines and grid searches pass the target of a later classifier.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: a row of weight 2 counts as two rows.
        checkpoint : path-like, default=None
            Folder for this fit only. The fit writes its state there after every epoch. After a crash, the same call
            continues from there and gives the same bits. It refuses other rows or parameters, except ``max_iter``,
            ``tol``, ``dense_output``, ``n_jobs`` and ``verbose``. If the fit has ended, the call loads its result.
        labels : array-like of shape (n_samples,), int or str, default=None
            Label of each row: integers, and -1, None or NaN where it is not known, or texts, and None, NaN or "". Each
            label has its own components, in proportion to the rows, and at least one (``component_labels_``). Labelled
            rows belong to components of their label, unlabelled rows to any. The labels initialise the components, so
            ``n_init`` has no effect. ``predict_labels`` returns labels.
        noise_variance : array-like of shape (n_features,), (n_samples, n_features) or \
                (n_samples, n_features, n_features), default=None
            Known noise of the measurements: variances of all rows, variances of each row, or a covariance matrix of
            each row. The mixture then describes the rows without their noise (extreme deconvolution). None means
            that rows have no noise.
        background : bool or float, default=False
            Whether rows may belong to no Gaussian: a further component has a constant density, 1 / V, where V is the
            volume of the box that holds the rows. Its share of the rows is learned (``background_weight_``). True
            expects 0.05; a number is the expected share. Labelled rows never belong to it. A warm start keeps it.

        Returns
        -------
        self : SparseGaussianMixture

        Raises
        ------
        ValueError
            For invalid values, with their row; negative weights; fewer rows than components; more labels than
            components; priors that are not positive definite. A previously fitted model stays unchanged.
        """
        recipe = GaussianRecipe(self._params, labels, noise_variance, background)
        return fit_rows(self, recipe, X, sample_weight, checkpoint)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: RowsLike,
        y: object = None,  # noqa: ARG002
        sample_weight: Weights = None,
        *,
        labels: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
        background: bool | float = False,
    ) -> Self:
        """Learn from one more block of a stream.

        With ``total_samples=None`` every row counts the same: the statistics are the sum over all blocks. With
        ``step_size=("half_life", h)`` the sum is discounted. With ``total_samples`` the blocks are batches of a data
        set of that size, and step t moves the statistics towards those of the block by ``(t + offset) ** -decay``, the
        numbers of ``step_size``. Use it if rows repeat.

        If no component explains some rows of a block, they get new components, as far as that raises the evidence. A
        new component replaces one without rows, or one of two that merge. Under a half-life it also replaces one whose
        cluster has ended. Clusters should recur within a half-life, or a pause looks like an end: shuffle sorted
        streams. This is not done for "low_rank", whose statistics also depend on the posterior of the factors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the block. The first block initialises the mixture and fixes the priors that depend on data; it
            needs at least ``n_components`` rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        labels : array-like of shape (n_samples,), int or str, default=None
            Labels as for ``fit``. The first block must contain every label, since a later label would have no
            component and is refused. Later blocks may be without labels.
        noise_variance : array-like, default=None
            Noise of the rows of this block, as for ``fit``.
        background : bool or float, default=False
            As for ``fit``, in the first call, whose rows define the box; later calls keep the background.

        Returns
        -------
        self : SparseGaussianMixture

        Raises
        ------
        ValueError
            As ``fit``, or if ``n_components``, ``covariance_type`` or ``inference`` changed. A failed call leaves the
            model unchanged.

        Notes
        -----
        Changes of ``n_nonzero``, ``total_samples`` and ``step_size`` take effect at once; priors and candidates stay.
        """
        return absorb_rows(self, GaussianRecipe(self._params, labels, noise_variance, background), X, sample_weight)

    def _recipe(self):
        return GaussianRecipe(self._params)

    def __sklearn_tags__(self):
        """NaN is a missing value."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
