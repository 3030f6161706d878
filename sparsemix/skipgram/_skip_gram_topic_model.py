"""SkipGramTopicModel: the manual, and what it is learned with; fits and streams by steps are AdditiveEstimator's."""

import numbers
import time

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from sparsemix._compat import FitObserver, Interval, StrOptions, _fit_context, with_callbacks
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.sweeps import Mean, Sweeps, run
from sparsemix._estimator.absent import NO_BOUND, Absent
from sparsemix._estimator.additive import OF_FIT, AdditiveEstimator, FitSetup
from sparsemix._estimator.input.checks import POSITIVE
from sparsemix.skipgram import _assemble
from sparsemix.skipgram._fitted import FittedSkipGram
from sparsemix.skipgram._input import check_sequences
from sparsemix.skipgram._predict import SkipGramPredictMixin
from sparsemix.topics._parameters import OF_STEPS

DROPPED = ("doc_topic_prior", "init_size", "n_init_iter", "max_doc_update_iter", "stream_init_size")


def learns_by_steps(estimator):
    """Whether it has ``partial_fit`` and what belongs to it."""
    fitted = vars(estimator).get("_fitted")
    if estimator.inference in ("gibbs", "mhw") or (fitted is not None and not hasattr(fitted.model, "sampler")):
        raise AttributeError(
            'only inference="scvb0" learns by steps from statistics; the samplers need all documents at once'
        )
    return True


# The docstring is half of this file: it is the manual of the class.
class SkipGramTopicModel(SkipGramPredictMixin, AdditiveEstimator):
    """Topics and readable word vectors from words in their order: the mixed membership skip-gram topic model.

    Every word has a distribution over topics, and every topic a distribution over the words that stand near ([1]_,
    [2]_). So one model gives topics, vectors of words whose entries are topics with names, and vectors of words where
    they stand, which tell the senses of a word apart. Use it where the order of words is known and words are what you
    ask about; :class:`SparseSCVB0LDA` where documents are. Its topics are finer than those of documents, since a
    topic is what words of one window share.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K.
    window : int, default=5
        Places on both sides of a word that are its context. It ends at the borders of the document.
    inference : {"scvb0", "gibbs", "mhw"}, default="scvb0"
        "scvb0": stochastic collapsed variational inference on minibatches, for data of any size and streams. "gibbs":
        collapsed Gibbs sampling, which draws every position's topic from its exact conditional; time follows the number
        of topics, and all positions' topics are in memory. "mhw": the same posterior by Metropolis-Hastings-Walker
        proposals from alias tables of the context's words, in a time that does not follow the number of topics,
        annealed.
    sampler : {"auto", "dense", "mhw"}, default="auto"
        How "scvb0" visits a position. "dense": all topics are weighed, in logarithms, by vector instructions. "mhw":
        ``n_samples`` proposals of a chain that lives from visit to visit ([2]_ Eq. 10). "auto" is "dense" up to 2,000
        topics.
    input_topic_prior : float or array-like of shape (n_components,), default=None
        Dirichlet prior alpha of each topic of an input word. None means 0.1, and 5 / K for more than 50 topics.
    topic_word_prior : float, default=None
        Dirichlet prior beta of each context word of a topic. None means 0.01 for each place of a window, 0.1 for 5 on
        both sides: so often is every word counted.
    n_words : int, default=None
        Size V of the vocabulary. None means that the largest number in the first data says it; give it for streams.
    n_samples : int, default=5
        Proposals of a position at each visit, where proposals are made.
    n_even_samples : int, default=16
        Topics that a position adds to the counts, for "dense": each stands for an equal part of its responsibilities.
    start_temperature : float, default=None
        Conditionals are raised to 1 / T with T = final_temperature + start_temperature cooling^passes, for "scvb0" and
        "mhw". None means 2 ``window``, the number of factors of a context; 0 switches annealing off.
    final_temperature : float, default=1.0
        1 samples from the model; 1e-5 is that of [2]_, which ends as an optimisation, 1e-4 that of [1]_.
    cooling : float, default=0.59
        Factor of the temperature for each pass: 0.9^5 of [2]_; 0.99 is that of [1]_.
    init_params : {"random"} or array-like of shape (n_components, n_words), default="random"
        Start: the words' frequencies with noise ("scvb0"), or random topics of all positions; or given topics.
    max_table_age : int, default=None
        Steps for which alias tables are used before they are made anew, for ``sampler="mhw"``. None means 10.
    max_iter : int, default=20
        Passes over the documents.
    burn_in : int, default=None
        Passes of "gibbs" and "mhw" before the first sample. None means half of ``max_iter``.
    thin : int, default=1
        Passes from sample to sample; counts are averaged over samples.
    batch_size : int, default=None
        Documents of a minibatch. None means 100 tokens a topic, within 2,000 and 50,000, and at least 64 minibatches a
        pass.
    mini_epoch_size : int, default=None
        Documents that are visited ``mini_epoch_passes`` times in a row before their chains are forgotten; None: chains
        are remembered from pass to pass.
    mini_epoch_passes : int, default=5
        Visits of a document in a mini-epoch, in one pass.
    total_samples : float, default=None
        Size of the corpus that ``partial_fit`` sees minibatches of; None: every document is new and counts the same.
    learning_decay : float, default=0.6
        Exponent of the step size (learning_offset + t) ** -learning_decay, t = 1, 2, ... minibatches.
    learning_offset : float, default=1.0
        Offset of the step size.
    input_decay : float, default=0.9
        Exponent of the steps (input_offset + t) ** -input_decay by which an input word's topics follow its occurrences
        t = 1, 2, ...: every word has its own clock.
    input_offset : float, default=5.0
        Offset of those steps.
    warm_start : bool, default=False
        Start ``fit`` from the last fitted topics, for "scvb0".
    n_jobs : int, default=None
        Threads of "scvb0", and of readings. Results are the same bits for any number. The other two go from position
        to position on one.
    verbose : int, default=0
        Print a line every so many passes.
    random_state : int, RandomState instance or None, default=None
        For the start, the batches and the samples.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Expected counts of context words plus ``topic_word_prior_``; divide rows by their sums for probabilities.
    word_topics_ : ndarray of shape (n_features, n_components)
        Topics of each input word, rows sum to one.
    word_vectors_ : ndarray of shape (n_features, n_components)
        Square roots of them, vectors of length one.
    topic_word_distribution_ : ndarray of shape (n_components, n_features)
        Probability of each context word in each topic: rows sum to one.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        exp E[log phi], as models of documents have it; made anew at each call.
    topic_weights_ : ndarray of shape (n_components,)
        Share of all context words in each topic.
    input_topic_prior_ : ndarray of shape (n_components,)
        Prior of the input words' topics.
    doc_topic_prior_ : ndarray of shape (n_components,)
        The same, by the name that it has in models of documents.
    topic_word_prior_ : float
        Prior of the topics' words.
    acceptance_rate_ : float
        Share of proposals accepted in the last pass, or in the stream; NaN without any.
    n_iter_ : int
        Passes over the documents.
    history_ : list of dict
        For each pass its number and the seconds so far; for "gibbs" and "mhw" also the logarithm of the joint
        probability.
    n_samples_seen_ : int
        Documents seen by ``fit`` and since by ``partial_fit``.
    n_steps_ : int
        Calls of ``partial_fit`` since the start or the last ``fit``.
    n_features_in_ : int
        Size V of the vocabulary, whatever the width of X, whose columns are places.

    See Also
    --------
    TokenSequences : Makes its input from texts.
    SparseSCVB0LDA : Topics of documents, from counts of words.

    Notes
    -----
    A document is a row of a matrix: at column p the number + 1 of the word at place p. 0, or nothing in a sparse
    matrix, is a place without a word, over which windows reach. Lists or arrays of word numbers of any length are
    taken too; in a list numbers begin with 0, and -1 is a place without a word.

    Counts are two float32 tables of 4 V K bytes each. "gibbs" has two more, of their logarithms, and readings two;
    "mhw" has alias tables of 16 bytes for each count above a tenth of the prior.

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

    _parameter_constraints: dict = {  # noqa: RUF012
        **{name: value for name, value in OF_STEPS.items() if name not in DROPPED},
        "window": [Interval(numbers.Integral, 1, 1 << 20, closed="both")],
        "inference": [StrOptions({"scvb0", "gibbs", "mhw"})],
        "sampler": [StrOptions({"auto", "dense", "mhw"})],
        "input_topic_prior": [POSITIVE, "array-like", None],
        "n_words": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "n_samples": [Interval(numbers.Integral, 1, None, closed="left")],
        "n_even_samples": [Interval(numbers.Integral, 1, None, closed="left")],
        "start_temperature": [Interval(numbers.Real, 0.0, None, closed="left"), None],
        "final_temperature": [POSITIVE],
        "cooling": [Interval(numbers.Real, 0.0, 1.0, closed="both")],
        "init_params": [StrOptions({"random"}), "array-like"],
        "max_table_age": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "burn_in": [Interval(numbers.Integral, 0, None, closed="left"), None],
        "thin": [Interval(numbers.Integral, 1, None, closed="left")],
        "mini_epoch_size": [Interval(numbers.Integral, 1, None, closed="left"), None],
        "mini_epoch_passes": [Interval(numbers.Integral, 1, None, closed="left")],
        "input_decay": [Interval(numbers.Real, 0.0, 1.0, closed="right")],
        "input_offset": [Interval(numbers.Real, 0.0, None, closed="left")],
    }
    # Of the counts, and of all that documents are inferred with; the oracles of the tests set float64.
    _table_dtype = np.float32
    _stream_first_passes = 5
    _fitted_class = FittedSkipGram
    lower_bound_, lower_bounds_ = Absent(NO_BOUND), Absent(NO_BOUND)
    _numbers_go_on = True
    _rows_statistic = "documents"  # mass is of positions

    def __init__(
        self,
        n_components=10,
        *,
        window=5,
        inference="scvb0",
        sampler="auto",
        input_topic_prior=None,
        topic_word_prior=None,
        n_words=None,
        n_samples=5,
        n_even_samples=16,
        start_temperature=None,
        final_temperature=1.0,
        cooling=0.59,
        init_params="random",
        max_table_age=None,
        max_iter=20,
        burn_in=None,
        thin=1,
        batch_size=None,
        mini_epoch_size=None,
        mini_epoch_passes=5,
        total_samples=None,
        learning_decay=0.6,
        learning_offset=1.0,
        input_decay=0.9,
        input_offset=5.0,
        warm_start=False,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.n_components = n_components
        self.window = window
        self.inference = inference
        self.sampler = sampler
        self.input_topic_prior = input_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_words = n_words
        self.n_samples = n_samples
        self.n_even_samples = n_even_samples
        self.start_temperature = start_temperature
        self.final_temperature = final_temperature
        self.cooling = cooling
        self.init_params = init_params
        self.max_table_age = max_table_age
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.thin = thin
        self.batch_size = batch_size
        self.mini_epoch_size = mini_epoch_size
        self.mini_epoch_passes = mini_epoch_passes
        self.total_samples = total_samples
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.input_decay = input_decay
        self.input_offset = input_offset
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, checkpoint=None):  # noqa: ARG002
        """Learn topics from all documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, longest), or list of sequences
            Word number + 1 at the place of each word, as ``TokenSequences`` makes it; or lists of word numbers.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document, for "scvb0": the samplers count positions, which have no weights.
        checkpoint : path-like, default=None
            Folder of this fit alone, for "scvb0", to which its state is written after every pass. The same call goes on
            from there after a crash, with the same bits as if it had never ended; other documents or parameters are
            refused, but for ``max_iter``, ``n_jobs`` and ``verbose``. A fit that has ended is read back.

        Returns
        -------
        self : SkipGramTopicModel

        Raises
        ------
        ValueError
            For words that are no numbers, with row and place, and when no word has a context. A model that was fitted
            before stays as it was.
        """
        params = self._params
        if params.inference == "scvb0":
            return self._fit(X, sample_weight, checkpoint)
        if checkpoint is not None:
            raise ValueError(f'inference="{params.inference}" has no checkpoints; use inference="scvb0"')
        if sample_weight is not None:
            raise ValueError(
                f'inference="{params.inference}" counts positions and takes no sample_weight; use inference="scvb0", '
                "or repeat documents"
            )
        if params.warm_start:
            raise ValueError(f'inference="{params.inference}" cannot go on from topics; set warm_start=False')
        return self._fit_by_sweeps(X)

    @available_if(learns_by_steps)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):  # noqa: ARG002
        """Learn from one more block of a stream, for ``inference="scvb0"``.

        With ``total_samples=None`` every document counts the same whenever it came. With ``total_samples`` given the
        blocks are minibatches of a corpus of that size, step t moves the statistics by
        ``(learning_offset + t) ** -learning_decay`` towards the block's, and every input word moves by its own clock.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, longest), or list of sequences
            The block. The first one starts the topics, and says the size of the vocabulary unless ``n_words`` does.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document.

        Returns
        -------
        self : SkipGramTopicModel
        """
        return self._partial_fit(X, sample_weight)

    @available_if(learns_by_steps)
    def expected_stats(self, X, sample_weight=None, *, first_row=None, memory=None):
        """Expected sufficient statistics of documents under the fitted topics; nothing is changed.

        Statistics of several blocks may be added, in any order and on any machine, and given to
        ``update_from_stats``: ``partial_fit`` is one of each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, longest), or list of sequences
            Documents.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document.
        first_row : int, default=None
            Number of the first row of X in all the data, which keys random numbers and names rows in errors. None
            means ``n_samples_seen_``.
        memory : object, default=None
            What ``row_memory`` gave for these rows: a visit goes on from what the last one left there, and changes it.

        Returns
        -------
        stats : SufficientStatistics
            ``stats["word_topic"]`` and ``stats["input_topic"]`` (V, K), sparse, of context words and of input words;
            ``"count"`` (K,), sums of the former; ``"mass"``, the positions.
        """
        return self._expected_stats(X, sample_weight, first_row, memory)

    update_from_stats = available_if(learns_by_steps)(AdditiveEstimator.update_from_stats)

    @property
    def acceptance_rate_(self):
        """Share of proposals accepted in the last pass or block; NaN without any."""
        proposed, accepted = self._fitted_part("stats")["proposals"]
        return float(accepted / proposed) if proposed else float("nan")

    # -- what it learns with

    def _read(self, X, sample_weight, reset, may_be_empty=False):
        n_words = self._params.n_words if reset else self.n_features_in_
        X, least = check_sequences(self, X, n_words)
        if reset:
            self.n_features_in_ = max(1, least) if n_words is None else n_words
        return X, _assemble.weighted_sequences(X, self.n_features_in_, sample_weight, self._params.window, may_be_empty)

    def _begin_fit(self, documents, rng, workers, warm):  # noqa: ARG002
        params = self._params
        documents.memory = _assemble.make_memory()
        model = _assemble.make_model(
            params, documents.n_words, float(len(documents)), self._table_dtype
        )
        if warm:
            stats = _assemble.continued(params, model, self._fitted, documents)
        else:
            stats = _assemble.make_start(params, model, documents, rng)
        return FitSetup(documents, model, stats, _assemble.make_schedule(params, documents, rng, stats))

    def _begin_stream(self, documents, rng, workers):  # noqa: ARG002
        params = self._params
        model = _assemble.make_model(
            params, documents.n_words, params.total_samples, self._table_dtype
        )
        return FitSetup(documents, model, _assemble.make_start(params, model, documents, rng, streaming=True))

    def _view(self, model, documents, n_seen):
        params = self._params
        model = model.renewed(n_seen)
        model.n_documents = params.total_samples
        if params.total_samples is not None:  # a fit has cooled the model
            model.n_visited += getattr(self, "n_iter_", 0) * params.total_samples
        return model, documents

    def _row_memory(self, model, n_rows, first_row):  # noqa: ARG002
        return _assemble.make_memory()  # tiles are known by the numbers of their rows

    # -- sweeps

    def _fit_by_sweeps(self, X):
        params = self._params
        fits, started = [], time.perf_counter()
        with self._all_or_nothing(lambda: self._publish_sweeps(fits)):
            X, documents = self._read(X, None, reset=True)
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
            burn_in = params.max_iter // 2 if params.burn_in is None else params.burn_in
            run(model, documents, state, monitor, stats, Mean(burn_in, params.thin))
            if params.max_iter == 0:
                monitor.step(stats, model)  # the start is the result
            self._publish_sweeps(fits)
            observer.finish()
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
        """Publish the last completed sweep; whether there is one."""
        if not fits or fits[0].stats is None:
            return False
        for name in OF_FIT:
            vars(self).pop(name, None)
        vars(self).update(self._attributes_of_sweeps(fits[0]))
        return True
