"""Scores of held-out documents during a fit, early stopping, and the comparison with frequencies of words."""

from copy import copy, deepcopy

import numpy as np

from sparsemix._rows.documents import Documents, canonical
from sparsemix._warnings import warn_caller
from sparsemix.metrics import document_completion, topic_coherence
from sparsemix.metrics._splits import split_blocks
from sparsemix.topics._stopping import StoppingRule, is_due, n_epochs, separation

# Documents set aside by default: enough for a score with an error of a hundredth of a nat.
SHARE, MOST = 0.1, 500
# Top words per topic for coherence.
N_TOP_WORDS = 10
# Least number of documents for co-occurrences, in a fit over blocks.
MET = 10_000
# The fewest documents that tell, and the most that are scored.
LEAST_DOCUMENTS, MOST_DOCUMENTS = 50, 200
# The fewest epochs of a fit, and the largest table (K V), that are judged.
LEAST_EPOCHS, MOST_NUMBERS = 5, 1 << 22
# Documents longer than this many times the median length are left out, because they would dominate word frequencies.
LONG = 10.0
# What an evaluation adds to the record of its epoch.
SCORES = "score", "coherence", "separation"
# Nats a token by which topics have to be behind.
MARGIN = 0.01


class Evaluation:
    """Observer that wraps another one, adds scores to the history, and ends the fit by the ``StoppingRule``.

    Parameters
    ----------
    monitor : Monitor
        Of this fit.
    observer : object
        The wrapped observer; its ``begin`` and ``end`` are still called.
    params : Parameters
        Has ``n_jobs`` and ``verbose``.
    fitted_class : type
        Of the published state.
    held_out : CSR array
        Documents for the score.
    learned : CSR array
        Training documents, for co-occurrences of words.
    stops : bool
        Whether the rule ends the fit and chooses the epoch; otherwise the history is all.
    least : int
        Epochs before which learning does not stop.
    n_averaged_after : callable
        Maps the number of epochs to the number of averaged epochs that follow.
    """

    def __init__(
        self, monitor, observer, params, fitted_class, held_out, learned, stops, least, n_averaged_after
    ):  # fmt: skip
        self.params, self.fitted_class, self.observer = params, fitted_class, observer
        self.monitor, self.held_out, self.learned = monitor, held_out, learned
        self.stops, self.n_averaged_after = stops, n_averaged_after
        self.rule = StoppingRule(least, held_out.shape[0])
        self.best = None
        self.evaluated = 0  # the last epoch that was evaluated
        self.ends = None  # the last averaged epoch, once the rule has ended learning
        self.before = None  # the state before an evaluation that only the last epoch of this max_iter has

    def begin(self, epoch):
        """Begin an epoch."""
        self.observer.begin(epoch)

    @property
    def stopped(self):
        """Whether a callback has requested a stop."""
        return self.observer.stopped

    def end(self, monitor):
        """End an epoch. Return whether the fit ends."""
        epoch = monitor.n_epochs_done
        ended, due = epoch == self.ends, epoch == self.ends or is_due(epoch, self.evaluated)
        last = ended or epoch == monitor.max_iter  # which a fit that continues may raise
        if due or last:
            self.before = None if due else deepcopy(self._now())
            self.evaluate(monitor)
            ended = ended or self.stop_learning(monitor)
        monitor.converged = (ended or last) and self.rule.stopped_at is not None
        return self.observer.end(monitor) or ended

    def evaluate(self, monitor):
        """Record score, coherence and separation of the current topics, and remember them if they are the best."""
        epoch = self.evaluated = monitor.n_epochs_done
        fitted = self.fitted_class(monitor.model, monitor.stats)
        topics = fitted.word_topic.T
        score = document_completion(
            topics, self.held_out, doc_topic_prior=fitted.model.doc_topic_prior, n_jobs=self.params.n_jobs
        )
        coherence = np.nan
        if topics.shape[1] > 1:
            n_top_words = min(N_TOP_WORDS, topics.shape[1])
            coherence = float(topic_coherence(topics, self.learned, n_top_words=n_top_words).mean())
        separated = separation(fitted.word_topic, fitted.totals)
        monitor.history[-1] |= dict(zip(SCORES, (score, coherence, separated), strict=True))
        if self.params.verbose:
            print(
                f"{' ' * len(monitor.name)} held-out score {score:.4f}  coherence (NPMI) {coherence:.4f}  "
                f"separation {separated:.3f}",
                flush=True,
            )
        averaged = epoch > getattr(monitor.schedule, "last_warm", np.inf)
        if self.stops and self.rule.add(epoch, score, np.nan_to_num(coherence), separated, averaged):
            self.best = epoch, copy(monitor.model), monitor.stats.copy()

    def stop_learning(self, monitor):
        """Begin averaged epochs if the rule says so. Return whether the fit ends without them."""
        if not self.stops or self.ends is not None:
            return False
        epoch, schedule = monitor.n_epochs_done, monitor.schedule
        if epoch >= getattr(schedule, "last_warm", np.inf) or not self.rule.stops():
            return False
        n_averaged = self.n_averaged_after(epoch) if hasattr(schedule, "last_warm") else 0
        self.ends = epoch + n_averaged
        if self.ends > epoch:
            schedule.last_warm = epoch
        return self.ends == epoch

    def _now(self):
        return {name: getattr(self, name) for name in ("best", "evaluated", "ends")} | {"rule": self.rule.state()}

    def state(self):
        """State for ``resume``."""
        return self._now() | {"before": self.before}

    def resume(self, state):
        """Continue from a state; in an epoch that was the last and is no more, forget what was done for this."""
        monitor = self.monitor
        continues = monitor.n_epochs_done < monitor.max_iter and not monitor.stopped
        if continues and state["before"] is not None:
            state = state["before"]
            for name in SCORES:
                monitor.history[-1].pop(name)
        self.rule.resume(state["rule"])
        self.best, self.evaluated, self.ends = (state[name] for name in ("best", "evaluated", "ends"))
        if self.ends is not None and self.ends > self.rule.stopped_at:
            monitor.schedule.last_warm = self.rule.stopped_at
        if continues:
            monitor.stopped = self.evaluated == monitor.n_epochs_done and self.stop_learning(monitor)
            monitor.converged = monitor.stopped

    def restore(self, monitor, workers):
        """Set the best topics in the monitor, if they are not the last ones, and say why the fit ended."""
        if self.best is None:
            return
        epoch, model, stats = self.best
        reason = self.rule.reason(monitor.n_epochs_done, monitor.max_iter)
        monitor.about = {**monitor.about, "best_iter_": epoch, "stop_reason_": reason}
        if self.params.verbose:
            print(f"{monitor.name}: {reason}", flush=True)
        if epoch < monitor.n_epochs_done:
            model.global_step(stats, workers.split)
            monitor.step(stats, model)


def set_aside(documents, rng, dtype):
    """Training documents, and held-out rows for the score."""
    X = documents.X
    n_held_out = min(MOST, round(SHARE * X.shape[0]))
    if n_held_out == 0:
        raise ValueError(
            f"early_stopping=True sets aside a tenth of the documents, and X has {X.shape[0]}; give validation_data"
        )
    return divided(documents, np.sort(rng.permutation(X.shape[0])[:n_held_out]), dtype)


def divided(documents, held_out, dtype):
    """Documents without some rows, which are sorted, and the counts of these rows."""
    X, weight = documents.X, documents.sample_weight
    kept = np.setdiff1d(np.arange(X.shape[0]), held_out)
    return Documents(X[kept], None if weight is None else weight[kept], dtype), X[held_out]


def wanted_epochs(documents):
    """Number of epochs for the length of the documents."""
    return n_epochs(mean_length(documents), float(documents.word_totals().sum()))


def mean_length(documents):
    """Mean number of tokens of a document."""
    return float(documents.word_totals().sum()) / documents.mass


def check_held_out(held_out, documents):
    """Raise if no held-out document can be scored, or no training document has tokens."""
    if not (np.diff(canonical(held_out).indptr) > 1).any():
        raise ValueError(
            "no document that is held out for evaluation has two distinct words; give validation_data with longer ones"
        )
    if not documents.informative:
        raise ValueError("every document with a token was held out for evaluation; give validation_data")


# -- whether topics predict hidden words better than the frequencies of words in the corpus do


def warn_if_worse_than_unigrams(est, X, n_epochs, remedy):
    """Warn if word frequencies predict hidden tokens of documents that were learned from better than topics do.

    Topics and frequencies have both seen the hidden tokens. Topics that fail here predict no other documents either.
    """
    if n_epochs < LEAST_EPOCHS or est._n_features_out * X.shape[1] > MOST_NUMBERS:
        return
    chosen = canonical(X[:: -(-X.shape[0] // MOST_DOCUMENTS)])
    chosen = chosen[np.flatnonzero(np.diff(chosen.indptr) > 1)]
    if chosen.shape[0] < LEAST_DOCUMENTS:
        return
    lengths = np.asarray(chosen.sum(axis=1)).ravel()
    chosen = chosen[np.flatnonzero(lengths <= LONG * np.median(lengths))]
    topics, frequencies = document_completion(est, chosen), unigram_completion(X, chosen)
    if topics < frequencies - MARGIN:
        warn_caller(
            f"the topics predict hidden words worse ({topics:.2f} nats a token) than word frequencies do "
            f"({frequencies:.2f}); {remedy}",
        )


def unigram_completion(X, chosen):
    """As ``document_completion`` of the chosen documents, under the frequencies of the words of X."""
    totals = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    log_likelihood = n_hidden = 0.0
    for _, hidden in split_blocks(chosen, "type", 0.2, 0):
        log_likelihood += float(hidden.data @ np.log(totals[hidden.indices] / totals.sum()))
        n_hidden += float(hidden.data.sum())
    return log_likelihood / n_hidden
