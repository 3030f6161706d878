"""What topic estimators that learn by prior + statistics have in common: fits, streams, statistics of documents."""

import time

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparsemix._compat import FitObserver, _fit_context, with_callbacks
from sparsemix._engine.loop import collect, run
from sparsemix._engine.monitor import Monitor
from sparsemix._engine.threads import Workers
from sparsemix._estimator.additive import AdditiveEstimator
from sparsemix._estimator.base import seeded
from sparsemix._estimator.checks import check_counts
from sparsemix.topics._assemble import weighted_documents
from sparsemix.topics._fitted import FittedTopics
from sparsemix.topics._readings import TopicReadings


class AdditiveTopics(TopicReadings, AdditiveEstimator):
    """Learns topics by steps from statistics; what it learns with is the estimator's.

    An estimator has the parameters ``n_components``, ``max_iter``, ``tol``, ``total_samples``, ``learning_decay``,
    ``learning_offset``, ``max_doc_update_iter``, ``warm_start``, ``n_jobs``, ``verbose`` and ``random_state``, and
    defines

    - ``_make_model(n_words)``: a model, whose ``continued`` makes a start of what was learned before;
    - ``_make_start(model, documents, rng, workers)``: statistics to start from, as of all documents;
    - ``_make_schedule(documents, rng, initial)``: the learning method;
    - ``_make_memory()``: where documents are remembered from visit to visit, or None.
    """

    # Of the tables that documents are inferred from; the oracles of the tests set float64.
    _table_dtype = np.float32
    # Passes over the first block of a stream before it is counted: it does not come again.
    _stream_first_passes = 5
    # Seconds after which the pass at hand is the last one; for the command line.
    _stop_after = None
    _fitted_class = FittedTopics

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
        self : estimator

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
            documents = weighted_documents(X, sample_weight, self._table_dtype)
            documents.memory = self._make_memory()
            rng = seeded(self.random_state)
            observer = FitObserver(self, self.max_iter, self._attributes, X)
            model, initial = self._begin(documents, rng, workers, warm)
            schedule = self._make_schedule(documents, rng, initial)
            name, seconds = type(self).__name__, self._stop_after
            monitor = Monitor(self.max_iter, self.tol, schedule, self.verbose, name, observer, seconds, started)
            monitor.model, monitor.n_rows = model, len(documents)
            trials.append(monitor)
            monitor.stats = run(model, documents, schedule, monitor, workers, initial)
            self._publish(trials)
            observer.finish()
        self._warn_unless_converged(schedule.has_bound and self.tol > 0)
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
        self : estimator

        Raises
        ------
        ValueError
            As ``fit``; a failed call leaves the model as it was.
        """
        with self._all_or_nothing(), Workers(self.n_jobs) as workers:
            first = not hasattr(self, "_fitted")
            X = check_counts(self, X, reset=first)
            documents = weighted_documents(X, sample_weight, self._table_dtype, may_be_empty=not first)
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
            ``stats["word_topic"]`` (V, K), the expected counts, sparse or in the rows of the words at hand, with
            ``toarray``; ``"count"`` (K,), their sums by topic; ``"mass"``, what statistics are scaled by (documents, or
            tokens in collapsed inference); and what a bound needs.
        """
        check_is_fitted(self)
        X = check_counts(self, X, reset=False)
        with Workers(self.n_jobs) as workers:
            return self._collect(weighted_documents(X, sample_weight, self._table_dtype, may_be_empty=True), workers)

    # -- inside a fit

    def _begin(self, documents, rng, workers, warm):
        """Model and initial statistics."""
        model = self._make_model(documents.X.shape[1])
        if not warm:
            return model, self._make_start(model, documents, rng, workers)
        old = self._fitted.model
        if (old.n_components, old.n_words) != (model.n_components, model.n_words):
            raise ValueError(
                f"warm_start goes on with the {old.n_components} topics fitted; keep n_components, or set "
                "warm_start=False"
            )
        return model, model.continued(old, self._fitted.stats, documents)

    # -- inside a stream

    def _start_stream(self, documents, workers):
        """Model and initial statistics from the first block."""
        model = self._make_model(documents.X.shape[1])
        stats = self._make_start(model, documents, seeded(self.random_state), workers)
        if self.total_samples is not None:
            stats.scale(self.total_samples / documents.mass)
        model.global_step(stats)
        if self.total_samples is None:
            for _ in range(self._stream_first_passes):
                new = collect(model, documents, slice(0, len(documents)), workers)
                model.global_step(stats.clear().add(new))
        vars(self).update(_fitted=self._fitted_class(model, stats), n_samples_seen_=0, n_steps_=0)

    def _collect(self, documents, workers):
        """Statistics of documents under the fitted topics."""
        return collect(self._fitted.model, documents, slice(0, len(documents)), workers)
