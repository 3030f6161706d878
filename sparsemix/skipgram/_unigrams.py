"""Whether topics predict context words better than the frequencies of words in the corpus do."""

import warnings

import numpy as np

from sparsemix.skipgram._input import counts_of
from sparsemix.topics._evaluation import LEAST_DOCUMENTS, LEAST_EPOCHS, MARGIN, MOST_DOCUMENTS, MOST_NUMBERS


def warn_if_worse_than_unigrams(est, X, n_epochs):
    """Warn if word frequencies predict the context words of documents that were learned from better than topics do.

    Parameters
    ----------
    est : SkipGramTopicModel
    X : CSR array of shape (N, longest)
        Word numbers + 1.
    n_epochs : int
        Fits of fewer than ``LEAST_EPOCHS`` are not judged.
    """
    n_words = est.n_features_in_
    if n_epochs < LEAST_EPOCHS or est._n_features_out * n_words > MOST_NUMBERS:
        return
    chosen = X[:: -(-X.shape[0] // MOST_DOCUMENTS)]
    if np.count_nonzero(np.diff(chosen.indptr) > 1) < LEAST_DOCUMENTS:
        return
    totals = np.asarray(counts_of(X, n_words).sum(axis=0), dtype=np.float64).ravel()
    topics, frequencies = est.score(chosen), unigram_score(est, chosen, totals)
    if topics < frequencies - MARGIN:
        warnings.warn(
            f"the topics predict context words worse ({topics:.2f} nats a word) than word frequencies do "
            f"({frequencies:.2f}); lower n_components, or raise max_iter",
            stacklevel=4,
        )


def unigram_score(est, X, totals):
    """As ``score``, under the frequencies of words.

    Windows are symmetric, so a position is a context word as often as it has context words.
    """
    logs, sums = np.log(np.maximum(totals, 1.0) / totals.sum()), {}

    def add(first, x, log_sums, sizes):  # noqa: ARG001
        sums[first] = sizes @ logs[x.words], sizes.sum()

    est._visit(X, add)
    return float(sum(total for total, _ in sums.values()) / sum(n for _, n in sums.values()))
