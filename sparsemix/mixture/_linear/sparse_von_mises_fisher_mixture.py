"""SparseVonMisesFisherMixture: clusters of directions."""

from typing import Any

from sparsemix._compat import StrOptions
from sparsemix._estimator.absent import Absent, by_fit
from sparsemix._estimator.base import published
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._stats.linear import draws
from sparsemix._typing import Array, Seed
from sparsemix.mixture._estimator import MixtureEstimator
from sparsemix.mixture._linear.likelihoods import Directions
from sparsemix.mixture._linear.recipe import LINEAR_CONSTRAINTS, LinearRecipe

# Weight of the prior of separate concentrations, in rows: its mean resultant length is that of all rows.
PRIOR_ROWS = 1.0
# Mean resultant length of components with given means; the most likely one of a row does not depend on it.
SPREAD = 0.5
# If one minus the length of the mean direction is less than this times n_features, all rows together have a
# concentration of about 1e6. That is the largest concentration of a component, so no component could be narrower.
NARROW = 5e-7


# The docstring is half of this file: it is the manual of the class.
class SparseVonMisesFisherMixture(MixtureEstimator):
    """Mixture of von Mises-Fisher distributions on the unit sphere: clusters of directions, dense or sparse.

    Use it for embeddings and TF-IDF rows, if cosine measures similarity: it is spherical k-means with probabilities,
    densities and outliers. Rows are scaled to unit length as they are read, and sparse rows stay sparse. Each row
    updates the statistics of only ``n_nonzero`` components. A fit uses all components, whatever the prior of the
    weights: choose ``n_components`` by ``bic``.

    Component k has the density C(kappa_k) exp(kappa_k mu_k . x) with respect to the surface of the sphere.

    Parameters
    ----------
    n_components : int, default=1
        Number of components K. ``bic``, or the ``score`` of held-out rows, compares several.
    n_nonzero : int or None, default=4
        Maximum number L of non-zero responsibilities of a row. 1 is hard assignment; None, or K and more, is dense.
        Raise it while the held-out ``score`` increases; lower it to save time.
    concentration_type : {"shared", "own"}, default="shared"
        "shared" is one concentration for all components, "own" one for each. "own" describes densities better and
        labels worse: broad components grow and narrow ones shrink. Its prior counts as one row with the mean resultant
        length of all rows.
    inference : {"em", "vb"}, default="em"
        "em" is maximum likelihood by expectation maximisation [1]_, whose clusters are about as even in size as those
        of spherical k-means. "vb" is variational Bayes over mean directions, with a uniform prior; concentrations are
        point estimates that maximise the bound. Use "vb" for densities if components have ten rows or fewer. There it
        also makes the largest clusters larger, since the means of small clusters are uncertain.
    learning_method : {"memoized", "batch", "online"}, default="memoized"
        Algorithm of ``fit``, as in SparseGaussianMixture. "memoized" takes a step after each of about ten batches and
        stores the statistics of each batch: its bound never decreases, as with "batch", and it is faster. "online"
        takes steps of decreasing size on random batches. It stores no statistics of batches and computes no bound.
        ``partial_fit`` does not use this parameter.
    candidates : {"auto", "all"} or int, default="auto"
        Components whose weights are computed for a row during learning, as in SparseGaussianMixture. "auto" keeps lists
        of max(4, n_nonzero) components in ``fit`` from 500 components on (dense rows of directions: from 100 on), else
        it computes all weights. Predictions and scores are always exact.
    weight_concentration_prior : float, default=None
        Dirichlet parameter of each component's weight (VB). None means 1 / K. Raise it for more even weights.
        Infinity keeps all weights at 1 / K, also for "em", which refuses other numbers.
    init_params : str, array-like of shape (n_components, n_features) or dict, default="k-means++"
        Initialisation: "k-means++" seeds with rows that are far apart in cosine. Up to 100 components it then merges
        two and splits another one while that raises the likelihood of a subset of the rows; with more, a few of many
        separate clusters may share a component, which ``covariance_type="tied_spherical"`` of
        :class:`SparseGaussianMixture` avoids. With 2 to 15 components and few columns it first seeds up to 256 times,
        and steps of EM on the subset choose. "random_from_data" seeds with random rows; "random" draws random labels.
        An array gives initial mean directions. A dict gives them as "means", or "responsibilities", a matrix of shape
        (n_samples, n_components), dense or sparse.
    max_iter : int, default=100
        Maximum number of epochs. A ConvergenceWarning says when it was too small.
    tol : float, default=None
        Convergence threshold: the fit stops when an epoch gains less than this per row, in nats. Smaller values take
        more epochs. None is 0.01, and for dense rows at least 0.01 K D / N, where D is ``n_features`` and N the mass of
        the rows: a hundredth of what a row's score gains by chance, as AIC estimates it. A row has a log density of
        tens to hundreds of nats, in which such a gain changes few labels.
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
    means_ : ndarray of shape (n_components, n_features)
        Mean directions, of unit length.
    concentrations_ : ndarray of shape (n_components,)
        Concentrations kappa, at most 1e6.
    labels_ : ndarray of shape (n_samples,), int64
        Component of each row of the last ``fit``, as ``predict`` gives it. Absent after ``partial_fit`` and fits over
        blocks.
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
    SparseGaussianMixture : Clusters with covariances; "tied_spherical" is the most similar model.
    SparseMultinomialMixture : Clusters of short documents from their word counts.

    Notes
    -----
    Statistics and mean directions take K D float64 numbers each, and tables as many in the dtype of the rows: K D must
    fit into memory, N D need not. Memoized learning also stores the statistics of each batch, for sparse rows only the
    non-zeros. Bessel functions of any order and argument use uniform asymptotic expansions (DLMF 10.41), exact to about
    13 digits.

    References
    ----------
    .. [1] Banerjee, A., Dhillon, I. S., Ghosh, J. and Sra, S., "Clustering on the Unit Hypersphere using von
       Mises-Fisher Distributions", JMLR 2005, Sections 2 to 4.
    .. [2] Gopal, S. and Yang, Y., "Von Mises-Fisher Clustering Models", ICML 2014, Section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseVonMisesFisherMixture
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 8)) + 6.0 * np.eye(8)[np.arange(300) % 3]
    >>> mixture = SparseVonMisesFisherMixture(3, random_state=0).fit(X)
    >>> np.bincount(mixture.predict(X)).tolist()
    [100, 100, 100]
    """

    cluster_centers_ = Absent("read means_, the mean directions of the components")
    labels_ = Absent(by_fit)
    _likelihood = Directions()
    _fixed_params = MixtureEstimator._fixed_params | {"first_epochs": {"em": 0, "vb": 0}}
    _parameter_constraints: dict = LINEAR_CONSTRAINTS | {
        "tol": [*LINEAR_CONSTRAINTS["tol"], None],
        "concentration_type": [StrOptions({"shared", "own"})],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzero: int | None = 4,
        concentration_type: str = "shared",
        inference: str = "em",
        learning_method: str = "memoized",
        candidates: str | int = "auto",
        weight_concentration_prior: float | None = None,
        init_params: Any = "k-means++",
        max_iter: int = 100,
        tol: float | None = None,
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
        self.concentration_type = concentration_type
        self.inference = inference
        self.learning_method = learning_method
        self.candidates = candidates
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
        """Sparse or dense."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @plain_arguments
    def sample(self, n_samples: int = 1) -> Array:
        """Draw rows of unit length from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            How many.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, grouped by component.
        y : ndarray of shape (n_samples,), int64
            Their components.

        Notes
        -----
        Wood, A. T. A., "Simulation of the von Mises Fisher distribution", Communications in Statistics 1994.
        """
        labels, rng = self._drawn_components(n_samples)
        return draws(self.means_, self.concentrations_, labels, rng), labels

    @published
    def means_(self):
        """Mean directions of shape (n_components, n_features), of unit length."""
        return self._attribute("means_").plug_in.means

    @published
    def concentrations_(self):
        """Concentrations of shape (n_components,)."""
        return self._attribute("concentrations_").plug_in.scale
