"""The estimator SparseLDA."""

import numbers
from typing import Any, Self

from sparsemix._compat import Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._estimator.additive import Additive
from sparsemix._estimator.base import published
from sparsemix._estimator.learning import fit_rows
from sparsemix._typing import ArrayLike, Folder, RowsLike, Seed, Weights
from sparsemix.topics import _streams
from sparsemix.topics._parameters import MOST_VISITS, OF_STEPS
from sparsemix.topics._predict import TopicPredictMixin
from sparsemix.topics._variational.recipe import VariationalRecipe


# Most of this file is the docstring, which is the manual of the class.
class SparseLDA(TopicPredictMixin, Additive):
    """Latent Dirichlet allocation with at most L topics for each word of a document.

    Use it for hundreds of topics of a large corpus, if you want a bound or sparse responsibilities. For a thousand
    topics or more of short documents use SparseSCVB0LDA, whose topics are better and far more coherent there.

    A word of a document keeps responsibilities for only ``n_nonzero`` topics, and topics without mass leave a document
    early. So the time of an epoch hardly depends on the number of topics. With ``n_nonzero=None`` this is ordinary
    variational LDA, with the bound and the fixed points of scikit-learn's LatentDirichletAllocation.

    The responsibilities of a word with at most L non-zeros are the softmax of its L largest weights. Documents are
    inferred by coordinate ascent on the same bound as without that limit ([1]_ Section 5).

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K. :func:`sparsemix.topics.choose_n_topics` compares several.
    n_nonzero : int or None, default=8
        Maximal number L of topics of a word in a document, at most 64. None, or a number of K or more, is dense. Lower
        it to 2 to save time; 1 gives lower held-out scores.
    doc_topic_prior : float, "learned" or array-like of shape (n_components,), default=None
        Dirichlet prior alpha of each topic in a document. None means 0.1, or 5 / K for more than 50 topics. Raise it to
        give documents more topics. "learned" begins with the default and learns a value for every topic in each step.
    topic_word_prior : float, "learned", WordPrior or array-like of shape (n_components, n_features), default=None
        Dirichlet prior beta of each word in a topic. None means 0.01. Raise it to give topics more words. "learned"
        begins with the default and learns one value for all words in each step.
        :class:`~sparsemix.topics.WordPrior` guides topics by words. A sparse array is added to the default.
    learning_method : {"memoized", "batch", "online"}, default="memoized"
        Algorithm of ``fit``. "memoized" [2]_ makes a step after each of about ten batches, and stores the statistics of
        each batch: monotone like "batch", and faster. "online" [3]_ makes steps of decreasing size on random batches;
        it stores nothing and has no bound. ``partial_fit`` does not use this parameter.
    init_params : {"collapsed", "em", "random", "bregman"} or array-like of shape (n_components, n_features), \
            default="collapsed"
        Initialisation: "collapsed", a few epochs of stochastic collapsed inference on a random subset, as in
        ``SparseSCVB0LDA``; "em", a few epochs of dense smoothed EM on a random subset, which leads to a smaller bound
        and less coherent topics; "random", the word frequencies of the corpus with noise; "bregman", documents chosen
        by Bregman k-means++; or an array of topics, such as ``components_`` of another model.
    n_restarts : int, default=0
        Restart proposals per document and visit: a topic is emptied, and the result is kept if the bound of the
        document increases [4]_. Set 5 for better held-out scores: they rose by 0.005 to 0.014 nats per token, while the
        bound of the corpus fell (:doc:`/measured/departures`).
    warm_documents : bool or int, default=True
        Initialise a document with the result of its last visit. The bound then never decreases, except by less than
        1e-4 nats per token where documents drop topics that hardly have a token, and later epochs are fast. An integer
        n makes the first n visits cold (True is 1); False or 0 makes all visits cold. Set False for a higher bound in
        about twice the time; held-out scores fell (:doc:`/measured/departures`). Not for "online".
    max_iter : int, default=50
        Maximal number of epochs. A ConvergenceWarning says when it was too small.
    tol : float, default=1e-3
        The fit has converged when an epoch improves the bound by less than this, in nats per token.
    max_doc_update_iter : int, default=100
        Maximal number of iterations per document.
    doc_update_tol : float, default=0.5
        A document has converged when no topic's expected tokens change by more than this. Lower it to 0.05 to
        compare with [1]_: the bound fell in all fits, and held-out scores stayed within 0.003 nats
        (:doc:`/measured/departures`).
    batch_size : int, default=None
        Documents per batch. None means, for "memoized", a tenth of the corpus but at least 1,000; for "online", a
        hundredth, between 256 and 4,096. Lower it to learn more in the first epochs, if batches still have tokens of
        every topic.
    total_samples : float, default=None
        Size of the corpus from which ``partial_fit`` gets batches. None: every document is new and has equal weight. A
        number means that documents come again.
    step_size : tuple of two or three floats, default=(10.0, 0.7)
        Offset and decay of online steps and of ``partial_fit`` with ``total_samples``: step t = 1, 2, ... has size (t +
        offset) ** -decay. A smaller decay gives late batches more weight, a larger offset gives the first batches less.
        (scale, offset, decay) is min(1, scale * (t + offset) ** -decay), where t counts batches.
        The default is that of scikit-learn's LatentDirichletAllocation.
    warm_start : bool, default=False
        Initialise ``fit`` with the topics of the last fit.
    n_jobs : int, default=None
        Number of threads. -1 uses all cores. Results have the same bits for any number.
    verbose : int, default=0
        Number of epochs between printed lines; 0 prints none.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialisation and the batches. An integer makes results repeatable.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior Dirichlet parameters of the topics; divide rows by their sums for word probabilities.
    topic_word_distribution_ : ndarray of shape (n_components, n_features)
        Probability of each word in each topic.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        exp E[log phi], computed in each access.
    doc_topic_prior_ : ndarray of shape (n_components,)
        Prior of the documents, given or learned.
    topic_word_prior_ : float or ndarray of shape (n_components, n_features)
        Prior of the words, given or learned.
    topic_names_ : list of str
        Names of seeded topics; empty for other topics.
    topic_weights_ : ndarray of shape (n_components,)
        Share of all tokens in each topic.
    lower_bound_ : float
        Evidence lower bound of all documents after the fit, in nats. Not for "online".
    lower_bounds_ : list of float
        The bound after each epoch; for "memoized" from the second epoch on.
    restart_acceptance_ : float
        Share of restart proposals accepted in the last epoch; NaN without proposals.
    converged_ : bool
        Whether the last epoch improved the bound by less than ``tol`` per token.
    n_iter_ : int
        Number of epochs.
    history_ : list of dict
        For each epoch its number, the seconds so far and the bound (an estimate for "online").
    n_samples_seen_ : int
        Number of documents of positive weight seen by ``fit`` and later calls of ``partial_fit``.
    n_steps_ : int
        Calls of ``partial_fit`` since the last ``fit``, or since the first call.
    n_features_in_ : int
        Size V of the vocabulary.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The words, if X has column names.

    See Also
    --------
    sklearn.decomposition.LatentDirichletAllocation : Dense variational LDA.
    sparsemix.metrics : Scores and coherence of topics, for any topic model.

    Notes
    -----
    Counts and other tables by word and topic are float32. With V words the counts take 4 V K bytes and are updated in
    place. exp E[log phi] takes the same memory for up to 400 topics. With more topics, it is stored only for nonzero
    counts: all of them in the first epoch after a "random" initialisation, a few per cent later. "collapsed" takes one
    more table of counts at first. During "em" there are up to ten tables of at most 200 topics. Memoized learning
    stores the counts of each batch sparsely; with ``warm_documents`` it also stores, for every document, the topics
    with more than a thousandth of its tokens. Documents are read in chunks of 32 MB of entries and responsibilities.
    Counts in float32 CSR are not copied.

    References
    ----------
    .. [1] Hughes, M. C. and Sudderth, E. B., "Fast Learning of Clusters and Topics via Sparse Posteriors", 2016,
       Sections 5 and 6, Algorithm 2.
    .. [2] Hughes, M. C. and Sudderth, E. B., "Memoized Online Variational Inference for Dirichlet Process Mixture
       Models", NIPS 2013, Section 3.
    .. [3] Hoffman, M. D., Blei, D. M. and Bach, F., "Online Learning for Latent Dirichlet Allocation", NIPS 2010.
    .. [4] Hughes, M. C., Kim, D. I. and Sudderth, E. B., "Reliable and Scalable Variational Inference for the
       Hierarchical Dirichlet Process", AISTATS 2015, Section 4.

    Examples
    --------
    >>> from sparsemix import SparseLDA
    >>> from sparsemix.datasets import make_bars
    >>> X = make_bars(n_samples=500, random_state=0)[0]
    >>> lda = SparseLDA(10, n_nonzero=2, random_state=0).fit(X)
    >>> lda.transform(X[:2]).shape
    (2, 10)
    >>> len(lda.topic_table(n_top_words=5))
    10
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        **OF_STEPS,
        "n_nonzero": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "learning_method": [StrOptions({"batch", "memoized", "online"})],
        "init_params": [StrOptions({"collapsed", "em", "random", "bregman"}), "array-like"],
        "n_restarts": [Interval(numbers.Integral, 0, MOST_VISITS, closed="both")],
        "warm_documents": ["boolean", Interval(numbers.Integral, 0, None, closed="left")],
        "tol": [Interval(numbers.Real, 0.0, None, closed="left")],
        "doc_update_tol": [Interval(numbers.Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        n_nonzero: int | None = 8,
        doc_topic_prior: ArrayLike | None = None,
        topic_word_prior: Any = None,
        learning_method: str = "memoized",
        init_params: Any = "collapsed",
        n_restarts: int = 0,
        warm_documents: bool | int = True,
        max_iter: int = 50,
        tol: float = 1e-3,
        max_doc_update_iter: int = 100,
        doc_update_tol: float = 0.5,
        batch_size: int | None = None,
        total_samples: float | None = None,
        step_size: tuple[float, ...] | tuple[str, float] = (10.0, 0.7),
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learning_method = learning_method
        self.init_params = init_params
        self.n_restarts = n_restarts
        self.warm_documents = warm_documents
        self.max_iter = max_iter
        self.tol = tol
        self.max_doc_update_iter = max_doc_update_iter
        self.doc_update_tol = doc_update_tol
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.step_size = step_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: RowsLike, y: object = None, sample_weight: Weights = None, checkpoint: Folder = None) -> Self:  # noqa: ARG002
        """Fit topics to all documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, or nonnegative weights such as tf-idf; CSR is not copied. Documents without tokens have no
            effect.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document: a document of weight 2 counts as two documents (not as one of twice the length).
        checkpoint : path-like, default=None
            Folder for this fit only. The state is written to it after every epoch. After a crash, the same call
            resumes the fit with the same bits. Other rows or parameters are refused, except ``max_iter``, ``tol``,
            ``n_jobs`` and ``verbose``. A finished fit is loaded.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            For negative, NaN or infinite counts, with the row of the document, and if no document has a token. An
            earlier fit is kept.
        """
        return fit_rows(self, self._recipe(), X, sample_weight, checkpoint)

    partial_fit, expected_stats = _streams.partial_fit, _streams.expected_stats

    @published
    def restart_acceptance_(self):
        """Share of restart proposals accepted in the last epoch; NaN without proposals."""
        proposed, accepted = self._fitted_part("stats")["restarts"]
        return float(accepted / proposed) if proposed else float("nan")

    def _recipe(self):
        return VariationalRecipe(self._params, self._table_dtype)
