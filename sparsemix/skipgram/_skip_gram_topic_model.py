"""The estimator SkipGramTopicModel."""

import numbers
import time
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from sparsemix._compat import FitObserver, Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.sweeps import Mean, Sweeps, burn_in_of, run
from sparsemix._estimator.absent import NO_BOUND, Absent
from sparsemix._estimator.additive import Additive
from sparsemix._estimator.base import published
from sparsemix._estimator.input.checks import POSITIVE, STEP_SIZE, Several
from sparsemix._estimator.learning import OF_FIT, fit_rows, read
from sparsemix._estimator.streams import absorb_rows, statistics_of
from sparsemix._typing import ArrayLike, Folder, RowsLike, Seed, Weights
from sparsemix.skipgram import _assemble, _predict
from sparsemix.skipgram._predict import FittedSkipGram, warn_if_worse_than_unigrams
from sparsemix.skipgram._recipe import SkipGramRecipe
from sparsemix.topics._parameters import MINI_EPOCH, OF_STEPS
from sparsemix.topics._predict import TopicPredictMixin

ANNEALING = Several(
    Interval(numbers.Real, 0.0, None, closed="left"), POSITIVE, Interval(numbers.Real, 0.0, 1.0, closed="both")
)
DROPPED = ("doc_topic_prior", "max_doc_update_iter")


def learns_by_steps(estimator):
    """Whether the estimator has ``partial_fit`` and related methods."""
    fitted = vars(estimator).get("_fitted")
    if estimator.inference in ("gibbs", "mhw") or (fitted is not None and not hasattr(fitted.model, "sampler")):
        raise AttributeError(
            'only inference="scvb0" learns by steps from statistics; the samplers need all documents at once'
        )
    return True


# Half of this file is the docstring, which is the manual of the class.
class SkipGramTopicModel(TopicPredictMixin, Additive):
    """Topics and interpretable word vectors from word sequences: the mixed membership skip-gram topic model.

    Every word has a distribution over topics, and every topic a distribution over the words of its contexts ([1]_,
    [2]_). One model gives topics, word vectors whose entries are topics, and vectors of words in their context, which
    distinguish the senses of a word. Use it if the order of words is known and you are interested in words; use
    :class:`SparseSCVB0LDA` for topics of documents. Its topics are finer than those of documents, because the words of
    one window share a topic.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K.
    window : int, default=5
        Number of places on each side of a word that are its context. It ends at the borders of the document.
    inference : {"scvb0", "gibbs", "mhw"}, default="scvb0"
        "scvb0": stochastic collapsed variational inference on batches, for data of any size and streams. "gibbs":
        collapsed Gibbs sampling, which draws the topic of every position from its exact conditional; its time is
        proportional to the number of topics, and the topics of all positions are in memory. "mhw": sampling from the
        same posterior by Metropolis-Hastings-Walker proposals from alias tables of the context words, with annealing,
        in time that does not depend on the number of topics.
    sampler : {"auto", "dense", "mhw"}, default="auto"
        How "scvb0" visits a position. "dense": responsibilities of all topics, by vector instructions. "mhw":
        ``n_samples`` proposals of a chain whose state is kept between visits ([2]_ Eq. 10). "auto" is "dense" up to
        2,000 topics.
    input_topic_prior : float or array-like of shape (n_components,), default=None
        Dirichlet prior alpha of each topic of an input word. None means 0.1, or 5 / K for more than 50 topics. Raise it
        to give words more topics.
    topic_word_prior : float, default=None
        Dirichlet prior beta of each context word of a topic. None means 0.01 for each place of a window, which is 0.1
        for ``window=5``, because every word is counted that often. Raise it to give topics more words.
    n_words : int, default=None
        Size V of the vocabulary. None takes the largest word number in the first data; later data may have no larger
        one.
    n_samples : int, default=None
        Samples of a position in a visit. "mhw": proposals of its chain; None means 5. "dense": topics that it adds to
        the counts, each for an equal part of its responsibilities; None means 16.
    annealing : tuple of three floats, default=None
        (start, final, cooling) for "scvb0" and "mhw": conditionals are raised to the power 1 / T, with T = final +
        start cooling^epochs. None means (2 ``window``, 1, 0.9^5 = 0.59): the start is the number of factors of a
        context, and the end samples from the model. A final temperature near 0 optimises at the end: 1e-5 in [2]_, 1e-4
        with a cooling of 0.99 in [1]_. Slower cooling takes more epochs. A start of 0 switches annealing off.
    init_params : {"random"} or array-like of shape (n_components, n_words), default="random"
        Initialisation: "random", word frequencies with noise ("scvb0") or random topics of all positions; or an array
        of topics.
    max_iter : int, default=20
        Number of epochs.
    burn_in : int, default=None
        Epochs of "gibbs" and "mhw" before the first sample; counts are averaged over the epochs after it. None means
        half of ``max_iter``. ``history_`` shows whether the chain is stationary by then.
    batch_size : int, default=None
        Documents per batch. None means 100 tokens per topic, between 2,000 and 50,000 tokens, and at least 64 batches
        per epoch.
    mini_epoch : tuple of two ints, default=None
        With (size, visits), ``size`` documents are visited ``visits`` times in a row before their chains are dropped.
        None keeps the chains between epochs, which takes more memory.
    total_samples : float, default=None
        Size of the corpus from which ``partial_fit`` gets batches. None: every document is new and has equal weight. A
        number means that documents come again.
    step_size : tuple of two or three floats, default=(1.0, 0.6)
        Offset and decay of steps and of ``partial_fit`` with ``total_samples``: step t = 1, 2, ... has size (t +
        offset) ** -decay. A smaller decay gives late batches more weight, a larger offset gives the first batches less.
        (scale, offset, decay) is min(1, scale * (t + offset) ** -decay), where t counts batches.
        The default offset is smaller than that of mixtures, because the first batches replace counts of topics that are
        alike.
    input_step_size : tuple of two or three floats, default=(5.0, 0.9)
        Offset and decay of the steps of an input word's topics: after its occurrence t = 1, 2, ... they move by (t +
        offset) ** -decay, or by steps of (scale, offset, decay) as in ``step_size``. Every word has its own t. A
        smaller decay forgets earlier occurrences faster.
    warm_start : bool, default=False
        Initialise ``fit`` with the topics of the last fit, for "scvb0".
    n_jobs : int, default=None
        Number of threads of "scvb0" and of predictions. Results have the same bits for any number. "gibbs" and "mhw"
        fit with one thread. -1 uses all cores.
    verbose : int, default=0
        Number of epochs between printed lines; 0 prints none.
    random_state : int, RandomState instance or None, default=None
        Seed of the initialisation, the batches and the samples. An integer makes results repeatable.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Expected counts of context words plus ``topic_word_prior_``; divide rows by their sums for probabilities.
    word_topics_ : ndarray of shape (n_features, n_components)
        Topics of each input word, rows sum to one.
    word_vectors_ : ndarray of shape (n_features, n_components)
        Square roots of ``word_topics_``: vectors of length one.
    topic_word_distribution_ : ndarray of shape (n_components, n_features)
        Probability of each context word in each topic: rows sum to one.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        exp E[log phi], as in models of documents; computed in each access.
    topic_weights_ : ndarray of shape (n_components,)
        Share of all context words in each topic.
    input_topic_prior_ : ndarray of shape (n_components,)
        Prior of the input words' topics.
    doc_topic_prior_ : ndarray of shape (n_components,)
        Same as ``input_topic_prior_``, under the name used by models of documents.
    topic_word_prior_ : float
        Prior of the topics' words.
    acceptance_rate_ : float
        Share of proposals accepted in the last epoch, or in the stream; NaN without proposals.
    n_iter_ : int
        Number of epochs.
    history_ : list of dict
        For each epoch its number and the seconds so far; for "gibbs" and "mhw" also the logarithm of the joint
        probability.
    n_samples_seen_ : int
        Number of documents seen by ``fit`` and later calls of ``partial_fit``.
    n_steps_ : int
        Calls of ``partial_fit`` since the last ``fit``, or since the first call.
    n_features_in_ : int
        Size V of the vocabulary, not the number of columns of X, which are places.

    See Also
    --------
    TokenSequences : Converts texts to word sequences.
    SparseSCVB0LDA : Topics of documents, from counts of words.

    Notes
    -----
    A document is a row of a matrix. Column p holds the number + 1 of the word at place p. 0, or no entry in a sparse
    matrix, is a place without a word; windows extend over it. Lists or arrays of word numbers of any length are also
    accepted; in a list, numbers begin with 0, and -1 is a place without a word.

    Counts are two float32 tables of 4 V K bytes each. "gibbs" adds two tables of their logarithms, and so do
    predictions. "mhw" adds alias tables of 16 bytes for each count above a tenth of the prior.

    References
    ----------
    .. [1] Foulds, J., "Mixed Membership Word Embeddings for Computational Social Science", AISTATS 2018.
    .. [2] Islam, R. and Foulds, J., "Scalable Collapsed Inference for High-Dimensional Topic Models", NAACL 2019,
       Sections 2.2 and 5, Eqs. 5, 7 and 10.

    Examples
    --------
    >>> from sparsemix import SkipGramTopicModel
    >>> from sparsemix.datasets import make_skip_gram
    >>> X, topics, word_topics = make_skip_gram(random_state=0)
    >>> model = SkipGramTopicModel(10, random_state=0).fit(X)
    >>> model.transform(X[:2]).shape
    (2, 10)
    >>> len(model.most_similar(0, n=3))
    3
    """

    _unread = {"inference": {"scvb0": ("burn_in",)}}  # noqa: RUF012
    _parameter_constraints: dict = {  # noqa: RUF012
        **{name: value for name, value in OF_STEPS.items() if name not in DROPPED},
        "window": [Interval(numbers.Integral, 1, 1 << 20, closed="both")],
        "inference": [StrOptions({"scvb0", "gibbs", "mhw"})],
        "sampler": [StrOptions({"auto", "dense", "mhw"})],
        "input_topic_prior": [POSITIVE, "array-like", None],
        "topic_word_prior": [POSITIVE, None],
        "n_words": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "n_samples": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "annealing": [ANNEALING, None],
        "init_params": [StrOptions({"random"}), "array-like"],
        "burn_in": [Interval(numbers.Integral, 0, None, closed="left"), None],
        "mini_epoch": [MINI_EPOCH, None],
        "input_step_size": STEP_SIZE,
    }
    lower_bound_, lower_bounds_ = Absent(NO_BOUND), Absent(NO_BOUND)
    _takes = "numbers of words; make them with sparsemix.skipgram.TokenSequences().fit_transform(texts)"
    # What another file defines.
    fit_transform, transform, transform_words = _predict.fit_transform, _predict.transform, _predict.transform_words
    count_words, score, score_by_document = _predict.count_words, _predict.score, _predict.score_by_document
    _visit, word_topics_, word_vectors_ = _predict._visit, _predict.word_topics_, _predict.word_vectors_
    input_topic_prior_, most_similar, _known = _predict.input_topic_prior_, _predict.most_similar, _predict._known
    word_topic_table, save_word_vectors = _predict.word_topic_table, _predict.save_word_vectors
    topic_names_ = Absent("only seeds in topic_word_prior of SparseSCVB0LDA and its siblings name topics")

    def __init__(
        self,
        n_components: int = 10,
        *,
        window: int = 5,
        inference: str = "scvb0",
        sampler: str = "auto",
        input_topic_prior: ArrayLike | None = None,
        topic_word_prior: float | str | None = None,
        n_words: int | None = None,
        n_samples: int | None = None,
        annealing: tuple[float, float, float] | None = None,
        init_params: Any = "random",
        max_iter: int = 20,
        burn_in: int | None = None,
        batch_size: int | None = None,
        mini_epoch: tuple[int, int] | None = None,
        total_samples: float | None = None,
        step_size: tuple[float, ...] | tuple[str, float] = (1.0, 0.6),
        input_step_size: tuple[float, ...] = (5.0, 0.9),
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.window = window
        self.inference = inference
        self.sampler = sampler
        self.input_topic_prior = input_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_words = n_words
        self.n_samples = n_samples
        self.annealing = annealing
        self.init_params = init_params
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.batch_size = batch_size
        self.mini_epoch = mini_epoch
        self.total_samples = total_samples
        self.step_size = step_size
        self.input_step_size = input_step_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: RowsLike, y: object = None, sample_weight: Weights = None, checkpoint: Folder = None) -> Self:  # noqa: ARG002
        """Learn topics from all documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, longest), or list of sequences
            Word number + 1 at the place of each word, as ``TokenSequences`` returns it; or lists of word numbers.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document, only for "scvb0"; the samplers count unweighted positions.
        checkpoint : path-like, default=None
            Folder for this fit only, for "scvb0". The state is written to it after every epoch. After a crash, the
            same call resumes the fit with the same bits. Other documents or parameters are refused, except
            ``max_iter``, ``n_jobs`` and ``verbose``. A finished fit is loaded.

        Returns
        -------
        self : SkipGramTopicModel

        Raises
        ------
        ValueError
            For entries that are not word numbers, with row and place, and if no word has a context. An earlier fit is
            kept.
        """
        params = self._params
        if params.inference == "scvb0":
            return fit_rows(self, self._recipe(), X, sample_weight, checkpoint)
        if checkpoint is not None:
            raise ValueError(f'inference="{params.inference}" has no checkpoints; use inference="scvb0"')
        if sample_weight is not None:
            raise ValueError(
                f'inference="{params.inference}" counts positions and takes no sample_weight; use inference="scvb0", '
                "or repeat documents"
            )
        if params.warm_start:
            raise ValueError(f'inference="{params.inference}" cannot continue from topics; set warm_start=False')
        return self._fit_by_sweeps(X)

    @available_if(learns_by_steps)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: RowsLike, y: object = None, sample_weight: Weights = None) -> Self:  # noqa: ARG002
        """Update the topics with a block of a stream, for ``inference="scvb0"``.

        With ``total_samples=None`` all documents have equal weight, in any order. With ``total_samples`` the blocks are
        batches of a corpus of that size: step t moves the statistics towards those of the block by
        ``(t + offset) ** -decay``, the numbers of ``step_size``, and every input word has its own t.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, longest), or list of sequences
            The block. The first block initialises the topics, and the size of the vocabulary unless ``n_words`` is set.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document.

        Returns
        -------
        self : SkipGramTopicModel

        Raises
        ------
        ValueError
            As ``fit``, or if ``n_components`` changed since the last call. A failed call leaves the model unchanged.
        """
        return absorb_rows(self, self._recipe(), X, sample_weight)

    @available_if(learns_by_steps)
    def expected_stats(
        self, X: RowsLike, sample_weight: Weights = None, *, first_row: int | None = None, memory: Any = None
    ) -> Any:
        """Expected sufficient statistics of documents under the fitted topics; does not change the model.

        Statistics of several blocks can be added, in any order and on any machine, and passed to
        ``update_from_stats``. ``partial_fit`` calls both methods once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, longest), or list of sequences
            Documents.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document.
        first_row : int, default=None
            Number of the first row of X in the whole data. It seeds random numbers and names rows in errors. None means
            ``n_samples_seen_``.
        memory : object, default=None
            Result of ``row_memory`` for these rows: the state of their last visit, which this visit uses and updates.

        Returns
        -------
        stats : SufficientStatistics
            ``stats["word_topic"]`` and ``stats["input_topic"]`` (V, K), sparse counts of context words and of input
            words; ``"count"`` (K,), the sums of the former; ``"mass"``, the number of positions.
        """
        return statistics_of(self, self._recipe(), X, sample_weight, first_row, memory)

    update_from_stats = available_if(learns_by_steps)(Additive.update_from_stats)

    @published
    def acceptance_rate_(self):
        """Share of proposals accepted in the last epoch or block; NaN without proposals."""
        proposed, accepted = self._fitted_part("stats")["proposals"]
        return float(accepted / proposed) if proposed else float("nan")

    def _recipe(self):
        return SkipGramRecipe(self._params, self._table_dtype)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # word numbers are not quantities
        tags.transformer_tags.preserves_dtype = []  # word numbers have no precision: doc_topic is always float64
        return tags

    # -- sweeps

    def _fit_by_sweeps(self, X):
        params = self._params
        fits, started = [], time.perf_counter()
        with self._all_or_nothing(lambda: self._publish_sweeps(fits)):
            _, X, documents = read(self, self._recipe(), X, None, reset=True)
            seed = check_random_state(params.random_state).randint(2**31 - 1)
            observer = FitObserver(self, params.max_iter, self._attributes_of_sweeps, X)
            model = _assemble.make_sweep_model(params, self.n_features_in_, seed, self._table_dtype)
            state, stats = _assemble.make_row_state(params, model, documents, np.random.default_rng(seed))
            schedule = Sweeps(has_bound=False)
            monitor = Monitor(
                params.max_iter, 0.0, schedule, params.verbose, type(self).__name__, observer, self._stop_after, started
            )
            monitor.n_rows = len(documents)
            fits.append(monitor)
            run(model, documents, state, monitor, stats, Mean(burn_in_of(params), 1))
            if params.max_iter == 0:
                monitor.step(stats, model)  # the initialisation is the result
            self._publish_sweeps(fits)
            observer.finish()
        warn_if_worse_than_unigrams(self, X, self.n_iter_)
        return self

    def _attributes_of_sweeps(self, monitor):
        return {
            "_fitted": FittedSkipGram(monitor.model, monitor.stats),
            "n_samples_seen_": monitor.n_rows if self._params.max_iter else 0,
            "n_steps_": 0,
            "n_iter_": monitor.n_epochs_done,
            "history_": list(monitor.history),
        }

    def _publish_sweeps(self, fits):
        """Publish the last completed sweep. Return whether there is one."""
        if not fits or fits[0].stats is None:
            return False
        for name in OF_FIT:
            vars(self).pop(name, None)
        vars(self).update(self._attributes_of_sweeps(fits[0]))
        return True
