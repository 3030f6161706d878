"""Scores of held-out documents during a fit, and early stopping."""

from contextlib import contextmanager
from copy import copy

import numpy as np

from sparsemix._compat import _fit_context, with_callbacks
from sparsemix._engine.documents import Documents, canonical
from sparsemix._estimator.input.checks import check_counts
from sparsemix._estimator.progress import fingerprint
from sparsemix.metrics import document_completion, topic_coherence
from sparsemix.topics._additive_topics import AdditiveTopics

# Documents set aside by default: enough for a score with an error of a hundredth of a nat.
SHARE, MOST = 0.1, 500
# Top words per topic for coherence.
N_TOP_WORDS = 10
# Least number of documents for co-occurrences, in a fit over blocks.
MET = 10_000


class Evaluation:
    """Observer that wraps another one, and adds score and coherence to the history every few epochs.

    Parameters
    ----------
    estimator : estimator
        Has ``_fitted_class``, ``early_stopping``, ``n_iter_no_change``, ``evaluation_tol`` and ``verbose``.
    observer : object
        The wrapped observer; its ``begin`` and ``end`` are still called.
    held_out : CSR array
        Documents for the score.
    learned : CSR array
        Training documents, for co-occurrences of words.
    every : int
        Epochs between evaluations.
    """

    def __init__(self, estimator, observer, held_out, learned, every):
        self.params, self.fitted_class, self.observer = estimator._params, estimator._fitted_class, observer
        self.held_out, self.learned, self.every = held_out, learned, every
        self.best = None
        self.best_value = -np.inf
        self.reference = self.previous = -np.inf
        self.waited = 0

    def begin(self, epoch):
        """Begin an epoch."""
        self.observer.begin(epoch)

    @property
    def stopped(self):
        """Whether a callback has requested a stop."""
        return self.observer.stopped

    def end(self, monitor):
        """End an epoch. Return whether the fit ends."""
        done = monitor.n_epochs_done % self.every == 0 and self.evaluate(monitor)
        return self.observer.end(monitor) or done

    def evaluate(self, monitor):
        """Record score and coherence of the current topics. Return whether they have stopped improving."""
        fitted = self.fitted_class(monitor.model, monitor.stats)
        topics = fitted.word_topic.T
        score = document_completion(
            topics, self.held_out, doc_topic_prior=fitted.model.doc_topic_prior, n_jobs=self.params.n_jobs
        )
        coherence = np.nan
        if topics.shape[1] > 1:
            n_top_words = min(N_TOP_WORDS, topics.shape[1])
            coherence = float(topic_coherence(topics, self.learned, n_top_words=n_top_words).mean())
        monitor.history[-1] |= {"score": score, "coherence": coherence}
        if self.params.verbose:
            indent = " " * len(monitor.name)
            print(f"{indent} held-out score {score:.4f}  coherence (NPMI) {coherence:.4f}", flush=True)
        return self.params.early_stopping and self.stalls(monitor, score + np.nan_to_num(coherence))

    def stalls(self, monitor, value):
        """Remember the best topics. Return whether the last evaluations have improved too little.

        The value is the sum of score and coherence. With the score alone, long documents would take dozens of epochs
        that gain a hundredth of a nat and lose several hundredths of coherence. With coherence alone, they would end
        after three epochs with a score that is 0.05 lower. With short documents the score improves first and coherence
        later, and the sum waits for both. An improvement over the last evaluation also counts, because after the first
        epoch, which has another initialisation, the sum may decrease before it increases.
        """
        if value > self.best_value:
            self.best_value = value
            self.best = monitor.n_epochs_done, copy(monitor.model), monitor.stats.copy()
        gained = value > min(self.reference, self.previous) + self.params.evaluation_tol
        self.waited = 0 if gained else self.waited + 1
        self.reference, self.previous = max(self.reference, value) if gained else self.reference, value
        monitor.converged = self.waited >= self.params.n_iter_no_change
        return monitor.converged

    def state(self):
        """State for ``resume``."""
        return {name: getattr(self, name) for name in ("best", "best_value", "reference", "previous", "waited")}

    def resume(self, state):
        """Continue from a state."""
        vars(self).update(state)

    def restore(self, monitor, workers):
        """Set the best topics in the monitor, if they are not the last ones."""
        if self.best is None:
            return
        epoch, model, stats = self.best
        monitor.about = {**monitor.about, "best_iter_": epoch}
        if epoch < monitor.n_epochs_done:
            model.global_step(stats, workers.split)
            monitor.step(stats, model)


def set_aside(documents, rng, dtype):
    """Training documents, and held-out rows for the score."""
    X = documents.X
    n_held_out = min(MOST, round(SHARE * X.shape[0]))
    if n_held_out == 0:
        raise ValueError(
            f"evaluate_every sets aside a tenth of the documents, and X has {X.shape[0]}; give validation_data"
        )
    order = rng.permutation(X.shape[0])
    held_out, kept = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    weight = documents.sample_weight
    return Documents(X[kept], None if weight is None else weight[kept], dtype), X[held_out]


def check_held_out(held_out, documents):
    """Raise if no held-out document can be scored, or no training document has tokens."""
    if not (np.diff(canonical(held_out).indptr) > 1).any():
        raise ValueError(
            "no document that is held out for evaluation has two distinct words; give validation_data with longer ones"
        )
    if not documents.informative:
        raise ValueError("every document with a token was held out for evaluation; give validation_data")


class EvaluatedTopics(AdditiveTopics):
    """Topics whose fit can be evaluated, and ended, by the score of held-out documents.

    In addition to the parameters of ``AdditiveTopics``, an estimator has ``evaluate_every``, ``early_stopping``,
    ``n_iter_no_change`` and ``evaluation_tol``.
    """

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, validation_data=None, checkpoint=None):  # noqa: ARG002
        """Fit topics to all documents, or to all except those set aside for evaluation.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, or nonnegative weights such as tf-idf; CSR is not copied. Documents without tokens have no
            effect.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document: a document of weight 2 counts as two documents (not as one of twice the length).
        validation_data : {array-like, sparse matrix} of shape (n_held_out, n_features), default=None
            Documents for ``evaluate_every`` and ``early_stopping``. None sets aside a tenth of X, at most 500.
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
            For negative, NaN or infinite counts, with the row of the document; if no document has a token, or no
            held-out document can be scored. An earlier fit is kept.
        """
        with self._watched_by(validation_data):
            return self._fit(X, sample_weight, checkpoint)

    @contextmanager
    def _watched_by(self, validation_data):
        self._validation_data = validation_data
        try:
            yield
        finally:
            vars(self).pop("_validation_data", None)

    def _other_fingerprints(self):
        if self._validation_data is None or not self._evaluates:
            return []
        return [fingerprint(check_counts(self, self._validation_data, reset=False))]

    def _refuse_blocks(self):
        super()._refuse_blocks()
        if self._evaluates and self._validation_data is None:
            raise ValueError(
                "early_stopping and evaluate_every need documents set aside in memory, which a fit over blocks does "
                "not have; give validation_data, or turn them off and use sparsemix.blocks.score"
            )

    def _start_size(self, survey):
        least = MET if self._evaluates else 1
        return max(least, super()._start_size(survey))

    @property
    def _evaluates(self):
        return max(self._params.evaluate_every, int(self._params.early_stopping)) > 0

    def _run(self, monitor, rows, rng, workers, warm, observer, progress):
        every = max(self._params.evaluate_every, int(self._params.early_stopping))
        if every <= 0:
            super()._run(monitor, rows, rng, workers, warm, observer, progress)
            return
        if self._validation_data is None:
            rows, held_out = set_aside(rows, rng, self._table_dtype)
        else:
            held_out = check_counts(self, self._validation_data, reset=False)
        check_held_out(held_out, rows)
        evaluation = Evaluation(self, observer, held_out, rows.X, every)
        super()._run(monitor, rows, rng, workers, warm, evaluation, progress)
        evaluation.restore(monitor, workers)
