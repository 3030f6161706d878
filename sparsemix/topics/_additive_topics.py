"""Base class of topic estimators that learn by prior + statistics: fits, streams, statistics of documents."""

from typing import Any, Self

import numpy as np

from sparsemix._compat import _fit_context, with_callbacks
from sparsemix._engine.rounds.sample import SampledDocuments
from sparsemix._estimator.absent import check_continues
from sparsemix._estimator.hooked import AdditiveEstimator, FitSetup
from sparsemix._estimator.input.checks import check_counts
from sparsemix._rows.documents import FirstDocuments
from sparsemix._typing import Folder, RowsLike, Weights
from sparsemix.topics import _start
from sparsemix.topics._assemble import weighted_documents, with_prior
from sparsemix.topics._evaluation import warn_if_worse_than_unigrams
from sparsemix.topics._fitted import FittedTopics
from sparsemix.topics._predict import TopicPredictMixin

# Number of entries stored from the beginning of a stream: 34 MB.
MOST_ENTRIES = 1 << 22


class AdditiveTopics(TopicPredictMixin, AdditiveEstimator):
    """Topic estimator that learns by steps from statistics.

    In addition to the parameters of ``AdditiveEstimator``, a subclass has ``n_components`` and
    ``max_doc_update_iter``, and defines

    - ``_make_model(n_words)``: a model; its method ``continued`` makes initial statistics from an earlier fit;
    - ``_make_start(model, documents, rng, workers)``: initial statistics, scaled to all documents;
    - ``_make_schedule(documents, rng, initial)``: the learning method;
    - ``_make_memory()``: storage of documents' topics between visits, or None;
    - ``_documents_of_step(documents)``: documents per step.
    """

    # Type of the inference tables; test oracles set float64.
    _table_dtype = np.float32
    _stream_first_passes = 5
    _numbers_go_on = True
    _fitted_class = FittedTopics
    # What helps if topics predict worse than word frequencies.
    _remedy = "lower n_components"

    # -- learning

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
        return self._fit(X, sample_weight, checkpoint)

    def _check_fit(self, X):
        warn_if_worse_than_unigrams(self, X, self.n_iter_, self._remedy)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: RowsLike, y: object = None, sample_weight: Weights = None) -> Self:  # noqa: ARG002
        """Update the topics with a block of a stream.

        With ``total_samples=None`` all documents have equal weight, in any order: the statistics are the sum over all
        blocks. Few documents make poor topics, and a sum does not forget them. So the first documents are stored
        (2 ** 22 distinct words of documents, 34 MB), and whenever their number has grown by half, topics are
        initialised again from all of them. Topic indices may then change, and the call takes five epochs over the
        stored documents. Call ``fit`` with the first documents if topics must keep their indices.

        With ``total_samples`` the blocks are batches of a corpus of that size: step t moves the statistics towards
        those of the block by ``(t + offset) ** -decay``, the numbers of ``step_size``. Only this forgets, and only this
        is right if documents repeat.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The block. The first block initialises the topics.
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
            As in ``fit``, or if ``n_components`` changed since the last call. A failed call leaves the model unchanged.

        Notes
        -----
        Changes of ``total_samples``, ``step_size`` and ``n_jobs`` take effect with the next call. Given priors stay.
        Learned ones change with the statistics, but for the sum of a document prior that unseen documents gave.
        """
        return self._partial_fit(X, sample_weight)

    def expected_stats(
        self, X: RowsLike, sample_weight: Weights = None, *, first_row: int | None = None, memory: Any = None
    ) -> Any:
        """Expected sufficient statistics of documents under the fitted topics; does not change the model.

        Statistics of several blocks can be added, in any order and on any machine, and passed to
        ``update_from_stats``. ``partial_fit`` calls both methods once, unless it initialises the topics again.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts.
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
            ``stats["word_topic"]`` (V, K), the expected counts, sparse or for the words in use, with the method
            ``toarray``; ``"count"`` (K,), their sums by topic; ``"mass"``, the unit of scale (documents, or tokens in
            collapsed inference); and terms of the bound.
        """
        return self._expected_stats(X, sample_weight, first_row, memory)

    # -- inside a fit or a stream

    def _check(self, X, reset):
        return check_counts(self, X, reset=reset)

    def _weighted(self, X, sample_weight, part):
        return weighted_documents(X, sample_weight, self._table_dtype, part)

    def _begin_fit(self, documents, rng, workers, warm):
        documents.memory = self._make_memory()
        model = self._make_model(documents.X.shape[1])
        stats = self._continued(model, documents) if warm else self._make_start(model, documents, rng, workers)
        schedule = self._make_schedule(documents, rng, stats)
        stats = with_prior(self._params, stats, documents, model.dtype, aligns=not warm)
        if documents.source is not None:
            schedule = schedule.over(documents.source.plan)
        return FitSetup(documents, model, stats, schedule)

    def _row_memory(self, model, n_rows, first_row):  # noqa: ARG002
        return self._make_memory()  # tiles are identified by their row numbers

    def _continued(self, model, documents):
        """Initial statistics for ``warm_start``."""
        old = self._fitted.model
        check_continues(self._params, self._structure())
        return model.continued(old, self._fitted.stats, documents)

    def _begin_stream(self, documents, rng, workers):
        model, total = self._make_model(documents.X.shape[1]), self._params.total_samples
        stats = self._make_start(model, documents, rng, workers)
        times = 1.0 if total is None else total / documents.mass
        return FitSetup(documents, model, with_prior(self._params, stats, documents, model.dtype, times=times))

    def _start_stream(self, documents, workers):
        super()._start_stream(documents, workers)
        given = self._params.total_samples is not None or not isinstance(self._params.init_params, str)
        kept = None if given else FirstDocuments.of(documents)
        self._first_documents = None if given or kept.n_entries >= MOST_ENTRIES else kept

    def _before_block(self, documents, workers):
        """Initialise the topics again from all stored documents, if their number has grown enough."""
        kept = self._first_documents
        if kept is None or self.n_samples_seen_ == 0:
            return documents
        kept = kept.grown(documents)
        if not kept.outgrown and kept.n_entries < MOST_ENTRIES:
            self._first_documents = kept
            return documents
        n_steps, documents = self.n_steps_, kept.documents()
        self._start_stream(documents, workers)
        self.n_steps_ = n_steps
        return documents

    # -- fits over blocks

    def _refuse_blocks(self):
        if getattr(self._params, "mini_epoch", None) is not None:
            raise ValueError(
                "mini_epoch visits the same documents several times in a row, but a fit over blocks visits them "
                "once per epoch; set mini_epoch=None"
            )

    def _survey(self, documents):
        return {"totals": documents.word_totals(), "entries": documents.entries * len(documents)}

    def _start_size(self, survey):
        params = self._params
        method = params.init_params
        if not isinstance(method, str) or method in ("random", "uniform"):
            return 1
        if method == "bregman":
            return max(_start.SEED_DOCUMENTS, 2 * params.n_components)
        entries = max(1.0, survey.sums["entries"] / survey.n_rows)
        return _start.em_documents(entries, min(params.n_components, _start.EM_COMPONENTS))

    def _whole(self, survey, X, weight, source):
        sums, n_rows = survey.sums, survey.n_rows
        if not sums["totals"].any():
            raise ValueError("no document of data has a token of positive weight; give at least one that is not empty")
        entries = max(1.0, sums["entries"] / n_rows)
        return SampledDocuments(
            X, weight, self._table_dtype, source, n_rows, float(sums["mass"]), entries, sums["totals"]
        )

    def _step_size(self, documents, survey):  # noqa: ARG002
        return self._documents_of_step(documents)
