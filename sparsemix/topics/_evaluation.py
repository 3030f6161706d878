"""Scores of held-out documents while a fit goes on, and its end when they have stopped to gain."""

from contextlib import contextmanager
from copy import copy

import numpy as np

from sparsemix._compat import _fit_context, with_callbacks
from sparsemix._engine.documents import Documents, canonical
from sparsemix._estimator.input.checks import check_counts
from sparsemix._estimator.progress import fingerprint
from sparsemix.metrics import document_completion, topic_coherence
from sparsemix.topics._additive_topics import AdditiveTopics

# Documents that are set aside when none are given: enough for a score to a hundredth of a nat.
SHARE, MOST = 0.1, 500
# Words of a topic for coherence.
N_TOP_WORDS = 10
# Documents of a fit over blocks in which words may meet.
MET = 10_000


class Evaluation:
    """Stands between a fit and its observer; every so many passes it adds a score and a coherence to the history.

    Parameters
    ----------
    estimator : estimator
        With ``_fitted_class``, ``early_stopping``, ``n_iter_no_change``, ``evaluation_tol`` and ``verbose``.
    observer : object
        What was there before: its ``begin`` and ``end`` go on being called.
    held_out : CSR array
        Documents that nothing is learned from, for the score.
    learned : CSR array
        Documents whose words' meetings say whether topics cohere.
    every : int
        Passes from one evaluation to the next.
    """

    def __init__(self, estimator, observer, held_out, learned, every):
        self.params, self.fitted_class, self.observer = estimator._params, estimator._fitted_class, observer
        self.held_out, self.learned, self.every = held_out, learned, every
        self.best = None
        self.best_value = -np.inf
        self.reference = self.previous = -np.inf
        self.waited = 0

    def begin(self, epoch):
        """A pass begins."""
        self.observer.begin(epoch)

    @property
    def stopped(self):
        """Whether a callback has asked to stop."""
        return self.observer.stopped

    def end(self, monitor):
        """A pass ends; whether the fit does."""
        done = monitor.n_epochs_done % self.every == 0 and self.evaluate(monitor)
        return self.observer.end(monitor) or done

    def evaluate(self, monitor):
        """Score and coherence of the topics as they are; whether they have stopped to gain."""
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
        """Remember the best topics; whether the last evaluations have gained too little.

        The value is the sum of score and coherence. By the score alone long documents would go on for dozens of
        passes, in which a hundredth of a nat is gained and several hundredths of coherence are lost; by coherence
        alone they would end after three, with a score that is 0.05 lower. Where documents are short the score comes
        first and coherence later, and the sum waits for both. A gain over the last evaluation counts as well as one
        over the best: after the first pass, which begins in another way, the sum may fall before it rises.
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
        """What a fit that goes on elsewhere takes up in ``resume``."""
        return {name: getattr(self, name) for name in ("best", "best_value", "reference", "previous", "waited")}

    def resume(self, state):
        """Go on from there."""
        vars(self).update(state)

    def restore(self, monitor, workers):
        """Give the monitor the best topics, where they are not the last ones."""
        if self.best is None:
            return
        epoch, model, stats = self.best
        monitor.about = {**monitor.about, "best_iter_": epoch}
        if epoch < monitor.n_epochs_done:
            model.global_step(stats, workers.split)
            monitor.step(stats, model)


def set_aside(documents, rng, dtype):
    """Documents to learn from, and rows of them that are held out: those with two different words can be scored."""
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
    """Before anything is learned: something can be scored, and something is left to learn from."""
    if not (np.diff(canonical(held_out).indptr) > 1).any():
        raise ValueError(
            "no document that is held out for evaluation has two distinct words; give validation_data with longer ones"
        )
    if not documents.informative:
        raise ValueError("every document with a token was held out for evaluation; give validation_data")


class EvaluatedTopics(AdditiveTopics):
    """Topics whose fit may be watched, and ended, by the score of documents that it does not learn from.

    An estimator has the parameters ``evaluate_every``, ``early_stopping``, ``n_iter_no_change`` and
    ``evaluation_tol`` beside those of ``AdditiveTopics``.
    """

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, validation_data=None, checkpoint=None):  # noqa: ARG002
        """Learn topics from all documents, or all but those that are set aside for evaluation.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Word counts, or non-negative weights such as tf-idf; CSR is read as it is. Documents without tokens
            change nothing.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each document: a document of weight 2 counts as two documents (not as one twice as long).
        validation_data : {array-like, sparse matrix} of shape (n_held_out, n_features), default=None
            Documents for ``evaluate_every`` and ``early_stopping``. None sets a tenth of X aside, at most 500.
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
            For negative, NaN or infinite counts, with the document's row, and when no document has a token, or none
            that is held out can be scored. A model that was fitted before stays as it was.
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

    def _fingerprints_beside(self):
        if self._validation_data is None or not self._evaluates:
            return []
        return [fingerprint(check_counts(self, self._validation_data, reset=False))]

    def _refuse_blocks(self):
        super()._refuse_blocks()
        if self._evaluates and self._validation_data is None:
            raise ValueError(
                "early_stopping and evaluate_every need documents set aside in memory, which a fit over blocks does "
                "not have; give validation_data, or turn them off and use sparsemix.distributed.score"
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
