"""When learning of topics ends, and which epoch is kept: a rule of numbers measured after some epochs."""

import numpy as np

from sparsemix._rows.blocks import spans

# Epochs without held-out documents, including averaged ones: EPOCHS for documents of LENGTH tokens, and more for
# shorter ones by the square root of the ratio, within bounds. VISITS tokens take half a minute; a corpus that
# needs more has many batches per epoch, and gets EPOCHS at most.
EPOCHS, LENGTH, FEWEST, MOST = 20, 60.0, 10, 60
VISITS = 5e7
# Held-out scores may extend learning to this many times these epochs.
EXTENSION = 2
# They may not end learning before this share of these epochs, because scores of short documents are too noisy.
LEAST_SHARE = 0.5
# Topics have separated at the first epoch that reaches this share of the largest separation.
SEPARATED = 0.95
# Nats per token. Learning continues while the mean score of the last half of the epochs is this much better than that
# of the half before.
GAIN = 0.01
# Scores that differ by less are equal, and coherence decides; the noise between epochs is about as large.
TIE = 0.005
# With at least this many held-out documents, averages may have a score this much worse than that of the best epoch.
# With fewer documents the limit is larger, because the noise is.
WORSE, WORSE_DOCUMENTS = 0.03, 500
# Averaged epochs: this share of all epochs, and at most this number. Averages of more differ by less than the noise.
AVERAGED_SHARE, MOST_AVERAGED = 0.45, 10
LEAST_AVERAGED_ITER = 5
# Fits of fewer epochs average this share of their steps if documents have LENGTH tokens; with shorter documents less in
# proportion, because their topics form later.
SETTLED_SHARE = 0.5
# All of the first epochs are evaluated, later ones when the number has grown by 1 / EVERY.
EVERY = 8


def n_epochs(length, n_tokens):
    """Number of epochs for documents of a mean length, in tokens."""
    wanted = EPOCHS * (LENGTH / max(length, 1.0)) ** 0.5
    affordable = max(EPOCHS, VISITS / max(n_tokens, 1.0))
    return int(np.clip(round(min(wanted, affordable)), FEWEST, MOST))


def n_averaged(max_iter, length=0.0):
    """Number of final epochs that are averaged, for documents of a mean length; few epochs have a fraction."""
    if max_iter < LEAST_AVERAGED_ITER:
        settled = SETTLED_SHARE * min(1.0, length / LENGTH) * max_iter
        return settled if settled < 1.0 else int(settled)
    return min(MOST_AVERAGED, int(AVERAGED_SHARE * max_iter))


def n_averaged_after(epoch):
    """Number of averaged epochs after this number of others."""
    return max(2, min(MOST_AVERAGED, int(AVERAGED_SHARE / (1.0 - AVERAGED_SHARE) * epoch)))


def is_due(epoch, last):
    """Whether to evaluate after an epoch, if the last evaluation was after epoch ``last``."""
    return epoch - last >= max(1, last // EVERY)


def separation(word_topic, totals):
    """How far topics are from the word frequencies of the corpus: 0 if all are equal to them, less than 1.

    Parameters
    ----------
    word_topic : ndarray of shape (V, K)
        Counts.
    totals : ndarray of shape (K,)
        Their sums.

    Returns
    -------
    separation : float
        Mean total variation distance between a topic and the mean topic, weighted by tokens.
    """
    weights, distances = totals / totals.sum(), np.zeros(len(totals))
    for start, stop in spans(len(word_topic), max(1, (1 << 17) // len(totals))):
        shares = word_topic[start:stop] / totals
        distances += np.abs(shares - (shares @ weights)[:, None]).sum(axis=0)
    return float(0.5 * weights @ distances)


class StoppingRule:
    """Decides from score, coherence and separation which epoch is kept, and when learning stops.

    Parameters
    ----------
    least : int
        Learning does not stop in earlier epochs.
    n_documents : int
        Held-out documents.

    Attributes
    ----------
    kept : tuple or None
        Epoch, score and coherence of the topics to keep.
    stopped_at : int or None
        The epoch after which the score gained too little. Only averaged epochs follow.
    gain : float
        The last gain, in nats.
    """

    def __init__(self, least=1, n_documents=WORSE_DOCUMENTS):
        self.least = least
        self.worse = WORSE * max(1.0, WORSE_DOCUMENTS / n_documents) ** 0.5
        self.epochs, self.scores, self.separations = [], [], []
        self.kept = self.stopped_at = None
        self.gain = np.nan

    def add(self, epoch, score, coherence, separation, averaged=False):
        """Add an evaluation. Return whether its topics replace those that were kept.

        An epoch before topics have separated is never kept: copies of the corpus have good scores on short documents,
        and frequent words are coherent. The best score is kept, the best coherence among equal scores. The last of
        ``averaged`` epochs is kept unless its score is more than ``worse`` below the best, because the best of many
        noisy scores is too good.
        """
        self.epochs.append(epoch)
        self.scores.append(score)
        self.separations.append(separation)
        first = self.first_separated
        best = max(score for epoch, score in zip(self.epochs, self.scores, strict=True) if epoch >= first)
        better = (
            self.kept is None
            or self.kept[0] < first
            or score > self.kept[1] + TIE
            or (score >= best - TIE and coherence > self.kept[2])
            or (averaged and score >= best - self.worse)
        )
        if better:
            self.kept = epoch, score, coherence
        return better

    @property
    def first_separated(self):
        """The first epoch whose topics have separated, as far as is known."""
        enough = SEPARATED * max(self.separations)
        return next(epoch for epoch, value in zip(self.epochs, self.separations, strict=True) if value >= enough)

    def stops(self):
        """Whether the score has stopped improving: in the last half of the epochs, compared with the half before.

        Half of the epochs must have begun with separated topics.
        """
        now = self.epochs[-1]
        if self.stopped_at is None and now >= max(self.least, 2 * self.first_separated):
            epochs, scores = np.array(self.epochs), np.array(self.scores)
            last, before = epochs > now / 2, (epochs > now / 4) & (epochs <= now / 2)
            if before.any():
                self.gain = float(scores[last].mean() - scores[before].mean())
                self.stopped_at = now if self.gain < GAIN else None
        return self.stopped_at is not None

    def reason(self, n_iter, max_iter):
        """One line: why the fit ended after ``n_iter`` of at most ``max_iter`` epochs, and what was kept."""
        if self.stopped_at is None:
            why = f"all {n_iter} epochs were made" if n_iter >= max_iter else f"the fit was ended in epoch {n_iter}"
        else:
            why = (
                f"the held-out score gained {self.gain:.3f} nats, less than {GAIN:g}, in the last half of "
                f"{self.stopped_at} epochs"
            )
            if n_iter > self.stopped_at:
                why += f"; {n_iter - self.stopped_at} averaged epochs followed"
        if self.kept is not None and self.kept[0] < n_iter:
            why += f"; kept epoch {self.kept[0]}, whose score {self.kept[1]:.3f} is better than that of the last epoch"
        return why

    def state(self):
        """State for ``resume``."""
        return dict(vars(self))

    def resume(self, state):
        """Continue from a state."""
        vars(self).update(state)
