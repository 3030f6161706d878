"""What topic estimators that learn by prior + statistics have in common: fits, streams, statistics of documents."""

import numpy as np

from sparsemix._compat import _fit_context, with_callbacks
from sparsemix._engine.documents import FirstDocuments
from sparsemix._estimator.absent import check_continues
from sparsemix._estimator.additive import AdditiveEstimator, FitSetup
from sparsemix._estimator.input.checks import check_counts
from sparsemix.topics._assemble import weighted_documents
from sparsemix.topics._blockwise import TopicsOfBlocks
from sparsemix.topics._fitted import FittedTopics
from sparsemix.topics._predict import TopicPredictMixin
from sparsemix.topics._unigrams import warn_if_worse_than_unigrams

# Entries that are kept of the beginning of a stream by default: 34 MB.
MOST_ENTRIES = 1 << 22


class AdditiveTopics(TopicsOfBlocks, TopicPredictMixin, AdditiveEstimator):
    """Learns topics by steps from statistics; what it learns with is the estimator's.

    An estimator has the parameters ``n_components`` and ``max_doc_update_iter`` beside those of ``AdditiveEstimator``,
    and defines

    - ``_make_model(n_words)``: a model, whose ``continued`` makes a start of what was learned before;
    - ``_make_start(model, documents, rng, workers)``: statistics to start from, as of all documents;
    - ``_make_schedule(documents, rng, initial)``: the learning method;
    - ``_make_memory()``: where documents are remembered from visit to visit, or None;
    - ``_documents_of_step(documents)``: how many make a step.
    """

    # Of the tables that documents are inferred from; the oracles of the tests set float64.
    _table_dtype = np.float32
    _stream_first_passes = 5
    _numbers_go_on = True
    _fitted_class = FittedTopics
    # What helps if topics predict worse than word frequencies.
    _remedy = "lower n_components"

    # -- learning

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, checkpoint=None):  # noqa: ARG002
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
        checkpoint : path-like, default=None
            Folder of this fit alone, to which its state is written after every pass. The same call goes on from there
            after a crash, with the same bits as if it had never ended; other rows or parameters are refused, but for
            ``max_iter``, ``tol``, ``n_jobs`` and ``verbose``. A fit that has ended is read back.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            For negative, NaN or infinite counts, with the document's row, and when no document has a token. A model
            that was fitted before stays as it was.
        """
        return self._fit(X, sample_weight, checkpoint)

    def _check_fit(self, X):
        warn_if_worse_than_unigrams(self, X, self.n_iter_, self._remedy)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):  # noqa: ARG002
        """Learn from one more block of a stream.

        With ``total_samples=None`` every document counts the same whenever it came: the statistics are the sum over all
        blocks. Few documents make poor topics, and a sum does not forget them. So the first documents are kept
        (``stream_init_size``), and when they have grown by half topics are begun anew from all of them: then a topic
        need not be that of the call before, and the call costs five passes over what is kept. With
        ``total_samples`` given the blocks are minibatches of a corpus of that size, and step t moves the statistics by
        ``(learning_offset + t) ** -learning_decay`` towards the block's; only this forgets, and only this makes sense
        when documents come again.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The block. The first one starts the topics.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            As ``fit``; a failed call leaves the model as it was.
        """
        return self._partial_fit(X, sample_weight)

    def expected_stats(self, X, sample_weight=None, *, first_row=None, memory=None):
        """Expected sufficient statistics of documents under the fitted topics; nothing is changed.

        Statistics of several blocks may be added, in any order and on any machine, and given to
        ``update_from_stats``: ``partial_fit`` is one of each, where it does not begin the topics anew.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
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
            ``stats["word_topic"]`` (V, K), the expected counts, sparse or in the rows of the words at hand, with
            ``toarray``; ``"count"`` (K,), their sums by topic; ``"mass"``, what statistics are scaled by (documents, or
            tokens in collapsed inference); and what a bound needs.
        """
        return self._expected_stats(X, sample_weight, first_row, memory)

    # -- inside a fit or a stream

    def _read(self, X, sample_weight, reset, may_be_empty=False):
        X = check_counts(self, X, reset=reset)
        return X, weighted_documents(X, sample_weight, self._table_dtype, may_be_empty)

    def _begin_fit(self, documents, rng, workers, warm):
        documents.memory = self._make_memory()
        model = self._make_model(documents.X.shape[1])
        stats = self._continued(model, documents) if warm else self._make_start(model, documents, rng, workers)
        schedule = self._make_schedule(documents, rng, stats)
        if documents.source is not None:
            schedule = schedule.over(documents.source.plan)
        return FitSetup(documents, model, stats, schedule)

    def _row_memory(self, model, n_rows, first_row):  # noqa: ARG002
        return self._make_memory()  # tiles are known by the numbers of their rows

    def _continued(self, model, documents):
        """Statistics that ``warm_start`` goes on from."""
        old = self._fitted.model
        check_continues(self._params, n_components=old.n_components)
        return model.continued(old, self._fitted.stats, documents)

    def _begin_stream(self, documents, rng, workers):
        model = self._make_model(documents.X.shape[1])
        return FitSetup(documents, model, self._make_start(model, documents, rng, workers))

    def _start_stream(self, documents, workers):
        super()._start_stream(documents, workers)
        given = self._params.total_samples is not None or not isinstance(self._params.init_params, str)
        kept = None if given else FirstDocuments.of(documents)
        self._first_documents = None if given or kept.n_entries >= self._most_entries() else kept

    def _before_block(self, documents, workers):
        """Begin the topics anew, from all documents so far, where these are many more than at the last beginning."""
        kept = self._first_documents
        if kept is None or self.n_samples_seen_ == 0:
            return documents
        kept = kept.grown(documents)
        if not kept.outgrown and kept.n_entries < self._most_entries():
            self._first_documents = kept
            return documents
        n_steps, documents = self.n_steps_, kept.documents()
        self._start_stream(documents, workers)
        self.n_steps_ = n_steps
        return documents

    def _most_entries(self):
        return MOST_ENTRIES if self._params.stream_init_size is None else self._params.stream_init_size
