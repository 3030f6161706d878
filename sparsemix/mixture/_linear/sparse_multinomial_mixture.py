"""SparseMultinomialMixture: clusters of documents, with one cluster for each document."""


from typing import Any

from sparsemix._estimator.absent import Absent
from sparsemix._estimator.base import published
from sparsemix._estimator.input.checks import PRIOR
from sparsemix._estimator.input.forms import COUNTS
from sparsemix._typing import Seed
from sparsemix.mixture._estimator import MixtureEstimator
from sparsemix.mixture._linear.likelihoods import Words
from sparsemix.mixture._linear.recipe import LINEAR_CONSTRAINTS, LinearRecipe


# The docstring is half of this file: it is the manual of the class.
class SparseMultinomialMixture(MixtureEstimator):
    """Mixture of multinomial distributions: one cluster for each document, from its word counts.

    Use it for short texts with one subject (titles, messages, queries); longer texts have several, which a topic model
    separates. A fit uses more components than it needs; ``word_prior=1.0`` leaves most unneeded ones empty. The
    responsibilities of a document have at most ``n_nonzero`` entries, and sparse counts stay sparse.

    Parameters
    ----------
    n_components : int, default=1
        Number of components K. ``bic``, or the ``score`` of held-out rows, compares several.
    n_nonzero : int or None, default=4
        Maximum number L of non-zero responsibilities of a row. 1 is hard assignment; None, or K and more, is dense.
        Raise it while the held-out ``score`` increases; lower it to save time.
    inference : {"em", "vb"}, default="em"
        "em" is expectation maximisation: it adds ``word_prior`` to each count before it normalises word proportions,
        and weights have no prior. "vb" is variational Bayes over weights and word proportions ([1]_ Appendix B.2). Its
        labels were worse on tweets and nearly the same on titles and abstracts. It has a lower bound of the evidence.
    learning_method : {"memoized", "batch", "online"}, default="memoized"
        Algorithm of ``fit``, as in SparseGaussianMixture. "memoized" takes a step after each of about ten batches and
        stores the statistics of each batch: its bound never decreases, as with "batch", and it is faster. "online"
        takes steps of decreasing size on random batches. It stores no statistics of batches and computes no bound.
        ``partial_fit`` does not use this parameter.
    candidates : {"auto", "all"} or int, default="auto"
        Components whose weights are computed for a row during learning, as in SparseGaussianMixture. "auto" keeps lists
        of max(4, n_nonzero) components in ``fit`` from 500 components on (dense rows of directions: from 100 on), else
        it computes all weights. Predictions and scores are always exact.
    word_prior : float, default=0.1
        Dirichlet parameter of each word in each component. Lower it for components of fewer words.
    weight_concentration_prior : float, default=None
        Dirichlet parameter of each component's weight (VB). None means 1 / K. Raise it for more even weights.
        Infinity keeps all weights at 1 / K, also for "em", which refuses other numbers.
    init_params : str, array-like of shape (n_components, n_features) or dict, default="k-means++"
        Initialisation: "k-means++" seeds with documents that are far apart in likelihood. Up to 100 components it then
        merges two and splits another one while that raises the likelihood of a subset of the rows. With 2 to 15
        components and few words it first seeds up to 256 times, and steps of EM on the subset choose.
        "random_from_data" seeds with random documents; "random" draws random labels. An array gives initial word
        proportions. A dict gives them as "means", or "responsibilities", a matrix of shape (n_samples, n_components),
        dense or sparse.
    max_iter : int, default=100
        Maximum number of epochs. A ConvergenceWarning says when it was too small.
    tol : float, default=1e-2
        Convergence threshold: the fit stops when an epoch gains less than this per row, in nats. Smaller values take
        more epochs. The default is larger than that of SparseGaussianMixture: a row has a log density of tens to
        hundreds of nats, in which a gain of 0.01 changes no label.
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
    word_proportions_ : ndarray of shape (n_components, n_features)
        Expected proportions of words in each component; rows sum to one.
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
    StreamingNGGPMixture : The same likelihood with a learned number of clusters.
    SparseLDA : Several topics for each document.
    SparseVonMisesFisherMixture : Clusters of TF-IDF rows by cosine.

    Notes
    -----
    Bounds and scores leave out the multinomial coefficient: the likelihood of a row is that of its words in order.
    Statistics take 8 K V bytes; the table takes 4 K V, and 8 K V for predictions. Statistics of a batch are sparse,
    also when memoized learning stores them. A row without words gives no information on its component: its
    responsibilities are the weights.

    References
    ----------
    .. [1] Hughes, M. C. and Sudderth, E. B., "Fast Learning of Clusters and Topics via Sparse Posteriors", 2016,
       Section 2 and Appendix B.2.
    .. [2] Yin, J. and Wang, J., "A Dirichlet Multinomial Mixture Model-based Approach for Short Text Clustering", KDD
       2014, the same model by Gibbs sampling.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseMultinomialMixture
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(0.2 + 3.0 * np.repeat(np.eye(3), 4, axis=1)[np.arange(90) % 3])
    >>> mixture = SparseMultinomialMixture(3, random_state=0).fit(X)
    >>> np.bincount(mixture.predict(X)).tolist()
    [30, 30, 30]
    """

    _takes = COUNTS
    cluster_centers_ = Absent("read word_proportions_, the word probabilities of the components")
    _likelihood = Words()
    _parameter_constraints: dict = LINEAR_CONSTRAINTS | {"word_prior": [PRIOR]}
    # Online epochs of EM before learning, in which clusters form before they compete for short documents; variational
    # Bayes needs them, since it does not recover from seeds alone.
    _fixed_params = MixtureEstimator._fixed_params | {"first_epochs": {"em": 2, "vb": 5}}

    def __init__(
        self,
        n_components: int = 1,
        *,
        n_nonzero: int | None = 4,
        inference: str = "em",
        learning_method: str = "memoized",
        candidates: str | int = "auto",
        word_prior: float = 0.1,
        weight_concentration_prior: float | None = None,
        init_params: Any = "k-means++",
        max_iter: int = 100,
        tol: float = 1e-2,
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
        self.word_prior = word_prior
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
        """Counts, sparse or dense."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    @published
    def word_proportions_(self):
        """Expected proportions of words in each component, (n_components, n_features)."""
        return self._attribute("word_proportions_").plug_in.counts.means
