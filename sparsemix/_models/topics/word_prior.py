"""Updates and evidence of the word prior, as sums over the table of counts by word and topic."""

from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.special import gammaln, psi

from sparsemix._kernels.documents import _special
from sparsemix._stats.dirichlet import maximize_symmetric_prior
from sparsemix._stats.packed_counts import PackedCounts

# Words per piece of a sum over the table. Pieces are added in order, so threads do not change the sum.
WORDS = 1024
# Fixed-point steps for given draws; each at least halves the distance.
FIXED_POINT_STEPS = 10


def over_words(function, stats, prior):
    """Sum of a function over the table of counts by word and topic, in pieces and in order."""
    counts, factor = stats.unfolded("word_topic")
    bounds = [*range(0, counts.shape[0], WORDS), counts.shape[0]]
    if isinstance(counts, PackedCounts):
        return sum(function(counts.rows(range(a, b)), factor, prior, 0, b - a) for a, b in pairwise(bounds))
    counts = counts.toarray() if sparse.issparse(counts) else counts
    return sum(function(counts, factor, prior, a, b) for a, b in pairwise(bounds))


def maximize_topic_word_prior(prior, stats):
    """The word prior that maximises the bound, given the expected counts under the old prior."""
    n_words, n_components = stats.unfolded("word_topic")[0].shape
    totals = psi(n_words * prior + stats["count"])
    expected_log = over_words(_special.digamma_sum, stats, prior) + n_words * (n_components * psi(prior) - totals.sum())
    return maximize_symmetric_prior(prior, n_words, expected_log, n_components)


def log_evidence_of_words(stats, prior):
    """Log probability of the words given their topics, with the topics' word distributions integrated out."""
    total = stats.unfolded("word_topic")[0].shape[0] * prior
    totals = float(np.sum(gammaln(total) - gammaln(total + stats["count"])))
    return totals + over_words(_special.log_gamma_sum, stats, prior) - log_evidence_of_prior(stats, prior)


def log_evidence_of_prior(stats, prior):
    """What the constant part of the statistics adds to the evidence: it is a prior, not tokens."""
    if stats.prior is None:
        return 0.0
    table, total = stats.prior.table, stats.prior.table.shape[0] * prior
    counts = table.data if sparse.issparse(table) else table
    words = float(np.sum(gammaln(prior + counts.astype(np.float64)) - gammaln(prior)))
    return words + float(np.sum(gammaln(total) - gammaln(total + stats.prior.totals)))


def next_topic_word_prior(prior, first, stats):
    """Word prior after fixed-point steps of Minka (2000, Section 3); an additional topic has ``first`` draws per word.

    Many expected counts are small fractions of tokens; their digammas would suggest that all topics have all words.
    The update uses instead the expected number of draws from the prior, which changes little with the prior.
    """
    n_words, n_topics = stats.unfolded("word_topic")[0].shape
    drawn = over_words(_special.draws_sum, stats, prior) / n_words
    for _ in range(FIXED_POINT_STEPS):
        total = n_words * prior
        per_prior = float(np.sum(psi(total + stats["count"]) - psi(total)))
        if per_prior == 0.0:  # the counts are negligible compared with the prior
            break
        prior = (drawn + first * per_prior / n_topics) / (per_prior + per_prior / n_topics)
    return prior
