"""SparseLDA: validates, assembles a model, a start and a schedule, and publishes what they give."""

import numbers
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sparsemix._additive import OF_FIT, AdditiveEstimator
from sparsemix._base import check_counts, check_weights
from sparsemix._compat import FitObserver, Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._engine.documents import Documents
from sparsemix._engine.loop import collect, run
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.threads import Workers
from sparsemix.topics._assemble import make_memory, make_model, make_schedule, make_start
from sparsemix.topics._fitted import FittedTopics
from sparsemix.topics._readings import TopicReadings

# Passes over the first block of a stream before it is counted: it does not come again.
STREAM_FIRST_PASSES = 5


# The docstring is half of this file: it is the manual of the class.
class SparseLDA(TopicReadings, AdditiveEstimator):
    """Latent Dirichlet allocation with at most L topics for each word of a document.

    Use it for topics of a large corpus, hundreds or thousands of them. A word of a document keeps responsibilities for
    only ``n_nonzero`` topics, topics without mass leave a document early, and what is left fits the registers of the
    processor, so the time of a pass hardly follows the number of topics. With ``n_nonzero=None`` it is ordinary
    variational LDA, with the bound of scikit-learn's LatentDirichletAllocation and its fixed points.

    The responsibilities of a word with at most L non-zeros are the softmax of its L largest weights, and documents are
    inferred by coordinate ascent on the same bound as without that limit ([1]_ Section 5).

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K.
    n_nonzero : int or None, default=8
        Most topics L of one word in one document, at most 64. None, or K and more, is dense.
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        Dirichlet prior alpha of each topic in a document. None means 0.1, and 20 / K for more than 200 topics.
    topic_word_prior : float, default=None
        Dirichlet prior of each word in a topic. None means 0.01.
    optimize_priors : bool, default=False
        Learn both priors from the statistics in each step: alpha for every topic, and one number for the words.
    learning_method : {"memoized", "batch", "online"}, default="memoized"
        How ``fit`` learns. "memoized" [2]_ makes a step after each of about ten batches and remembers what each batch
        contributed: monotone like "batch", and faster. "online" [3]_ takes steps of decreasing size on random
        minibatches; it remembers nothing and has no bound. ``partial_fit`` has its own rule.
    init_params : {"em", "random", "bregman"} or array-like of shape (n_components, n_features), default="em"
        Start: a few passes of dense smoothed EM over a random subset; the corpus' word frequencies with noise;
        documents chosen by Bregman k-means++; or topics, such as ``components_`` of another model.
    init_size : int, default=None
        Documents of the subset for "em". None means what a few passes can afford: all documents of small corpora.
    n_init_iter : int, default=None
        Passes of "em". None means 5, or 6 where the subset is not the whole corpus: topics form in the first ones,
        and many more would fit a subset too closely.
    n_restarts : int, default=0
        Restart proposals a document and visit: a topic is emptied, and what follows is kept if the bound has risen
        [4]_. Better optima, for about a third more time with 2.
    warm_documents : bool or int, default=True
        Start a document where its last visit ended: the bound then never falls, and later passes are cheap. An integer
        n makes the first n visits cold (True is 1), False or 0 makes all cold. Not for "online".
    max_iter : int, default=50
        Most passes over the documents.
    tol : float, default=1e-3
        Convergence: a pass gains less than this per token, in nats.
    max_doc_update_iter : int, default=100
        Most iterations of one document.
    doc_update_tol : float, default=0.5
        A document has converged when the tokens of no topic change by this much.
    batch_size : int, default=None
        Documents of a batch. None means for "memoized" a tenth of the corpus and at least 1,000; for "online" a
        hundredth, between 256 and 4,096.
    total_samples : float, default=None
        Size of the corpus that ``partial_fit`` sees minibatches of; None: every document is new and counts the same.
    learning_decay : float, default=0.7
        Exponent of the online step size (learning_offset + t) ** -learning_decay, t = 1, 2, ...
    learning_offset : float, default=10.0
        Offset of the online step size; larger makes early minibatches count less.
    warm_start : bool, default=False
        Start ``fit`` from the last fitted topics.
    n_jobs : int, default=None
        Threads. Results are the same bits for any number.
    verbose : int, default=0
        Print a line every so many passes.
    random_state : int, RandomState instance or None, default=None
        For the start and the batches.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior Dirichlet parameters of the topics; divide rows by their sums for word probabilities.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        exp E[log phi], up to a factor for each word.
    doc_topic_prior_ : ndarray of shape (n_components,)
        Prior of the documents, given or learned.
    topic_word_prior_ : float
        Prior of the words, given or learned.
    topic_weights_ : ndarray of shape (n_components,)
        Share of all tokens in each topic.
    lower_bound_ : float
        Evidence lower bound of all documents, in nats. Not for "online".
    lower_bounds_ : list of float
        The bound after each pass, for "memoized" from the second one on.
    restart_acceptance_ : float
        Share of restart proposals accepted in the last pass.
    converged_ : bool
        Whether the last pass gained less than ``tol`` per token.
    n_iter_ : int
        Passes over the documents.
    history_ : list of dict
        For each pass its number, the seconds so far and the bound (for "online" an estimate).
    n_samples_seen_ : int
        Documents of positive weight seen by ``fit`` and since by ``partial_fit``.
    n_steps_ : int
        Calls of ``partial_fit`` since the start or the last ``fit``.
    n_features_in_ : int
        Size V of the vocabulary.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        The words, when the counts came with names.

    See Also
    --------
    sklearn.decomposition.LatentDirichletAllocation : Dense variational LDA.
    sparsemix.metrics : Scores and coherence of topics, for any topic model.

    Notes
    -----
    Tables and counts by word are float32. With V words they take 4 V K bytes each: one for the counts, one more while
    a step is made, one for exp E[log phi], and on the first pass up to one for the start; "em" takes up to eleven of
    its own, of at most 200 topics, before. Memoized learning keeps the counts of each batch sparse, and with
    ``warm_documents`` the topics of every document that hold more than a thousandth of it. Documents are read in
    chunks of 32 MB of entries and responsibilities; counts in float32 CSR are not copied.

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
    >>> len(lda.topic_table(n_top_words=5)[0]["words"])
    5
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "n_components": [Interval(numbers.Integral, 1, None, closed="left")],
        "n_nonzero": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "doc_topic_prior": [Interval(numbers.Real, 0.0, None, closed="neither"), "array-like", None],
        "topic_word_prior": [Interval(numbers.Real, 0.0, None, closed="neither"), None],
        "optimize_priors": ["boolean"],
        "learning_method": [StrOptions({"batch", "memoized", "online"})],
        "init_params": [StrOptions({"em", "random", "bregman"}), "array-like"],
        "init_size": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "n_init_iter": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "n_restarts": [Interval(numbers.Integral, 0, None, closed="left")],
        "warm_documents": ["boolean", Interval(numbers.Integral, 0, None, closed="left")],
        "max_iter": [Interval(numbers.Integral, 0, None, closed="left")],
        "tol": [Interval(numbers.Real, 0.0, None, closed="left")],
        "max_doc_update_iter": [Interval(numbers.Integral, 1, None, closed="left")],
        "doc_update_tol": [Interval(numbers.Real, 0.0, None, closed="left")],
        "batch_size": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "total_samples": [Interval(numbers.Real, 0.0, None, closed="neither"), None],
        "learning_decay": [Interval(numbers.Real, 0.0, 1.0, closed="right")],
        "learning_offset": [Interval(numbers.Real, 0.0, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [numbers.Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }
    # Of the tables that documents are inferred from; the oracles of the tests set float64.
    _table_dtype = np.float32
    # Seconds after which the pass at hand is the last one; for the command line.
    _stop_after = None

    def __init__(
        self,
        n_components=10,
        *,
        n_nonzero=8,
        doc_topic_prior=None,
        topic_word_prior=None,
        optimize_priors=False,
        learning_method="memoized",
        init_params="em",
        init_size=None,
        n_init_iter=None,
        n_restarts=0,
        warm_documents=True,
        max_iter=50,
        tol=1e-3,
        max_doc_update_iter=100,
        doc_update_tol=0.5,
        batch_size=None,
        total_samples=None,
        learning_decay=0.7,
        learning_offset=10.0,
        warm_start=False,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.optimize_priors = optimize_priors
        self.learning_method = learning_method
        self.init_params = init_params
        self.init_size = init_size
        self.n_init_iter = n_init_iter
        self.n_restarts = n_restarts
        self.warm_documents = warm_documents
        self.max_iter = max_iter
        self.tol = tol
        self.max_doc_update_iter = max_doc_update_iter
        self.doc_update_tol = doc_update_tol
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # -- learning

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):  # noqa: ARG002
        """Learn topics from all documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, or non-negative weights such as tf-idf; CSR is read as it is. Documents without tokens
            change nothing.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document: a document of weight 2 counts as two documents (not as one twice as long).

        Returns
        -------
        self : SparseLDA

        Raises
        ------
        ValueError
            For negative, NaN or infinite counts, with the document's row, and when no document has a token. A model
            that was fitted before stays as it was.
        """
        trials, started = [], time.perf_counter()
        with self._all_or_nothing(lambda: self._publish(trials)), Workers(self.n_jobs) as workers:
            warm = self.warm_start and hasattr(self, "_fitted")
            X = check_counts(self, X, reset=not warm)
            documents = self._weighted(X, sample_weight)
            documents.memory = make_memory(self)
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
            observer = FitObserver(self, self.max_iter, self._attributes, X)
            model, initial = self._begin(documents, rng, workers, warm)
            schedule = make_schedule(self, documents, rng, initial)
            name, seconds = type(self).__name__, self._stop_after
            monitor = Monitor(self.max_iter, self.tol, schedule, self.verbose, name, observer, seconds, started)
            monitor.model, monitor.n_rows = model, len(documents)
            trials.append(monitor)
            monitor.stats = run(model, documents, schedule, monitor, workers, initial)
            self._publish(trials)
            observer.finish()
        if schedule.has_bound and self.tol > 0 and not self.converged_ and 0 < self.max_iter == self.n_iter_:
            warnings.warn(
                f"the fit did not converge in max_iter={self.max_iter} passes; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):  # noqa: ARG002
        """Learn from one more block of a stream.

        With ``total_samples=None`` every document counts the same whenever it came: the statistics are the sum over
        all blocks. With ``total_samples`` given the blocks are minibatches of a corpus of that size, and step t moves
        the statistics by ``(learning_offset + t) ** -learning_decay`` towards the block's; only this forgets, and
        only this makes sense when documents come again.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The block. The first one starts the topics: the more documents it has, the better.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document.

        Returns
        -------
        self : SparseLDA

        Raises
        ------
        ValueError
            As ``fit``; a failed call leaves the model as it was.
        """
        with self._all_or_nothing(), Workers(self.n_jobs) as workers:
            first = not hasattr(self, "_fitted")
            documents = self._weighted(check_counts(self, X, reset=first), sample_weight, may_be_empty=not first)
            if first:
                self._start_stream(documents, workers)
            if documents.has_tokens:  # documents without any teach nothing, and should not make others forgotten
                self._absorb(self._collect(documents, workers), len(documents), workers)
        return self

    def expected_stats(self, X, sample_weight=None):
        """Expected sufficient statistics of documents under the fitted topics; nothing is changed.

        Statistics of several blocks may be added, in any order and on any machine, and given to
        ``update_from_stats``: ``partial_fit`` is one of each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document.

        Returns
        -------
        stats : SufficientStatistics
            ``stats["word_topic"]`` (V, K), sparse, the expected counts; ``"count"`` (K,), their sums by topic;
            ``"mass"`` documents and ``"tokens"``, and what the bound needs.
        """
        check_is_fitted(self)
        X = check_counts(self, X, reset=False)
        with Workers(self.n_jobs) as workers:
            return self._collect(self._weighted(X, sample_weight, may_be_empty=True), workers)

    # -- inside a fit

    def _weighted(self, X, sample_weight, may_be_empty=False):
        """Documents of positive weight."""
        sample_weight = check_weights(sample_weight, X.shape[0])
        if sample_weight is not None and not sample_weight.all():
            kept = sample_weight > 0
            X, sample_weight = X[kept], sample_weight[kept]
        documents = Documents(X, sample_weight, self._table_dtype)
        if not may_be_empty and not documents.has_tokens:
            raise ValueError("no document of X has a token of positive weight; give at least one that is not empty")
        return documents

    def _begin(self, documents, rng, workers, warm):
        """Model and initial statistics."""
        if not warm:
            model = make_model(self, documents.X.shape[1])
            return model, make_start(self, model, documents, rng, workers)
        model, old = make_model(self, documents.X.shape[1]), self._fitted.model
        if (old.n_components, old.n_words) != (model.n_components, model.n_words):
            raise ValueError(
                f"warm_start goes on with the {old.n_components} topics fitted; keep n_components, or set "
                "warm_start=False"
            )
        if self.optimize_priors:
            model.doc_topic_prior, model.topic_word_prior = old.doc_topic_prior, old.topic_word_prior
        stats = self._fitted.stats.copy()
        stats.scale(documents.mass / float(stats["mass"]))
        stats["visited"] *= 0.0  # as a start, these are nobody's statistics
        stats["entropy"] *= 0.0
        stats["alloc"] *= 0.0
        stats["log_pi"] *= 0.0
        return model, stats

    def _attributes(self, monitor):
        """Fitted attributes as of a monitor's last step."""
        attributes = {
            "_fitted": FittedTopics(monitor.model, monitor.stats),
            "n_samples_seen_": monitor.n_rows if self.max_iter else 0,  # a start has not seen documents
            "n_iter_": monitor.n_laps,
            "n_steps_": 0,
            "converged_": monitor.converged,
            "history_": list(monitor.history),
        }
        if monitor.lower_bounds:
            attributes |= {"lower_bounds_": monitor.lower_bounds, "lower_bound_": monitor.lower_bounds[-1]}
        return attributes

    def _publish(self, trials):
        """Publish the last completed step; whether there is one."""
        if not trials or trials[0].stats is None:
            return False
        monitor = trials[0]
        monitor.model.global_step(monitor.stats)  # an interrupt may have come after the next step's sums
        for name in OF_FIT:
            vars(self).pop(name, None)
        vars(self).update(self._attributes(monitor))
        return True

    # -- inside a stream

    def _start_stream(self, documents, workers):
        """Model and initial statistics from the first block."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        model = make_model(self, documents.X.shape[1])
        stats = make_start(self, model, documents, rng, workers)
        if self.total_samples is not None:
            stats.scale(self.total_samples / documents.mass)
        model.global_step(stats)
        if self.total_samples is None:
            for _ in range(STREAM_FIRST_PASSES):
                stats = collect(model, documents, slice(0, len(documents)), workers)
                model.global_step(stats)
        vars(self).update(_fitted=FittedTopics(model, stats), n_samples_seen_=0, n_steps_=0)

    def _collect(self, documents, workers):
        """Statistics of documents under the fitted topics."""
        return collect(self._fitted.model, documents, slice(0, len(documents)), workers)
