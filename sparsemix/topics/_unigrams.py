"""Whether topics predict hidden words better than the frequencies of words in the corpus do."""

import warnings

import numpy as np

from sparsemix._engine.documents import canonical
from sparsemix.metrics import document_completion
from sparsemix.metrics._splits import split_blocks

# The fewest documents that tell, and the most that are scored.
LEAST_DOCUMENTS, MOST_DOCUMENTS = 50, 200
# The fewest epochs of a fit, and the largest table (K V), that are judged.
LEAST_EPOCHS, MOST_NUMBERS = 5, 1 << 22
# Documents longer than this many times the median length are left out, because they would dominate word frequencies.
LONG = 10.0
# Nats a token by which topics have to be behind.
MARGIN = 0.01


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
        warnings.warn(
            f"the topics predict hidden words worse ({topics:.2f} nats a token) than word frequencies do "
            f"({frequencies:.2f}); {remedy}",
            stacklevel=4,
        )


def unigram_completion(X, chosen):
    """As ``document_completion`` of the chosen documents, under the frequencies of the words of X."""
    totals = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    log_likelihood = n_hidden = 0.0
    for _, hidden in split_blocks(chosen, "type", 0.2, 0):
        log_likelihood += float(hidden.data @ np.log(totals[hidden.indices] / totals.sum()))
        n_hidden += float(hidden.data.sum())
    return log_likelihood / n_hidden
