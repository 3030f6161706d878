"""Slow and obvious versions of collapsed inference for topics: one token or word type after the other, float64.

A corpus is ``indptr``, ``indices``, ``counts`` as in CSR. Expectations are exact where a function says so: by the
distribution of a sum of Bernoulli variables, or by enumeration of all assignments.
"""

from itertools import product

import numpy as np
from reference_chains import GOLDEN, MASK, child, mix
from scipy.special import gammaln, logsumexp, polygamma

# -- CVB and CVB0


def fields(corpus, gamma, n_words, weight=None):
    """Means and variances of the counts by word and topic, from responsibilities."""
    indptr, indices, counts = corpus
    means, variances = np.zeros((2, n_words, gamma.shape[1]))
    for d in range(len(indptr) - 1):
        w = 1.0 if weight is None else weight[d]
        for e in range(indptr[d], indptr[d + 1]):
            means[indices[e]] += w * counts[e] * gamma[e]
            variances[indices[e]] += w * counts[e] * gamma[e] * (1 - gamma[e])
    return means, variances


def without(total, own, copy):
    """A sum less a copy of one of its terms, not below zero."""
    return np.maximum(total - copy * own, 0.0)


def cvb_sweep(corpus, alpha, beta, gamma, means, variances=None, weight=None, exclude=True):
    """One sweep in place; N_jk (n, K), the sum of c |change| and the entropy. Without variances it is CVB0.

    The totals are summed again from the table for every type; ``exclude`` False leaves the own token in all counts.
    ``beta`` is a number, or one for each word and topic.
    """
    indptr, indices, counts = corpus
    beta = np.broadcast_to(beta, means.shape)
    doc_topic, change, entropy = np.zeros((len(indptr) - 1, gamma.shape[1])), 0.0, 0.0
    for d in range(len(indptr) - 1):
        w, mine = 1.0 if weight is None else weight[d], slice(indptr[d], indptr[d + 1])
        for e in range(indptr[d], indptr[d + 1]):
            own, spread, c = gamma[e].copy(), gamma[e] * (1 - gamma[e]), counts[e]
            copy = min(c, 1.0) * exclude
            word_copy = copy * min(w, 1.0)
            y = alpha + without(counts[mine] @ gamma[mine], own, copy)
            x = beta[indices[e]] + without(means[indices[e]], own, word_copy)
            z = beta.sum(axis=0) + without(means.sum(axis=0), own, word_copy)
            log_weights = np.log(y) + np.log(x) - np.log(z)
            if variances is not None:
                log_weights -= without(counts[mine] @ (gamma[mine] * (1 - gamma[mine])), spread, copy) / (2 * y**2)
                log_weights -= without(variances[indices[e]], spread, word_copy) / (2 * x**2)
                log_weights += without(variances.sum(axis=0), spread, word_copy) / (2 * z**2)
            new = np.exp(log_weights - logsumexp(log_weights))
            gamma[e] = new
            means[indices[e]] += w * c * (new - own)
            if variances is not None:
                variances[indices[e]] += w * c * (new * (1 - new) - spread)
            change += w * c * np.abs(new - own).sum()
            entropy -= w * c * (new @ np.log(np.maximum(new, 1e-300)))
        doc_topic[d] = counts[mine] @ gamma[mine]
    return doc_topic, change, entropy


def expected_log(mean, variance, prior):
    """E[log(prior + n)] to second order."""
    return np.log(prior + mean) - variance / (2 * (prior + mean) ** 2)


def expected_log_gamma(mean, variance, prior):
    """E[log Gamma(prior + n)] - log Gamma(prior): n = 0 by itself, as of a binomial distribution, the rest Taylor."""
    if mean <= 0:
        return 0.0
    success = 1 - variance / mean
    if success >= 1 - 1e-12:
        positive = 1.0
    elif success <= 1e-8:
        positive = 1 - np.exp(-mean)
    else:
        positive = 1 - (1 - success) ** (mean / success)
    m = mean / positive
    v = max((variance + mean**2) / positive - m**2, 0.0)
    return positive * (gammaln(prior + m) - gammaln(prior) + v / 2 * polygamma(1, prior + m))


def cvb_bound(corpus, alpha, beta, gamma, n_words, weight=None):
    """E_q[log p(z, w)] + H(q) with these expectations."""
    indptr, _, counts = corpus
    means, variances = fields(corpus, gamma, n_words, weight)
    beta = np.broadcast_to(beta, means.shape)
    each = np.vectorize(expected_log_gamma)
    out = each(means, variances, beta).sum() - each(means.sum(axis=0), variances.sum(axis=0), beta.sum(axis=0)).sum()
    for d in range(len(indptr) - 1):
        w, mine = 1.0 if weight is None else weight[d], slice(indptr[d], indptr[d + 1])
        c, g = counts[mine], gamma[mine]
        out += w * each(c @ g, c @ (g * (1 - g)), alpha).sum()
        out += w * (gammaln(alpha.sum()) - gammaln(alpha.sum() + c.sum()))
        out -= w * float(c @ (g * np.log(np.maximum(g, 1e-300))).sum(axis=1))
    return out


# -- exact: documents as lists of tokens


def log_joint(documents, topics, alpha, beta, n_words):
    """log p(z, w): Polya's urn for the topics of each document and for the words of each topic, token by token."""
    n_components, out = len(alpha), 0.0
    words, beta = np.zeros((n_components, n_words)), np.broadcast_to(beta, (n_words, n_components)).T
    position = 0
    for document in documents:
        own = np.zeros(n_components)
        for word in document:
            k = topics[position]
            out += np.log((alpha[k] + own[k]) / (alpha.sum() + own.sum()))
            out += np.log((beta[k, word] + words[k, word]) / (beta[k].sum() + words[k].sum()))
            own[k] += 1
            words[k, word] += 1
            position += 1
    return out


def assignments(n_tokens, n_components):
    """All topics of all tokens."""
    return list(product(range(n_components), repeat=n_tokens))


def posterior(documents, alpha, beta, n_words):
    """Probabilities of all assignments, and the log evidence."""
    every = assignments(sum(map(len, documents)), len(alpha))
    logs = np.array([log_joint(documents, z, alpha, beta, n_words) for z in every])
    return np.exp(logs - logsumexp(logs)), logsumexp(logs)


def poisson_binomial(probabilities):
    """Distribution of the sum of independent Bernoulli variables."""
    pmf = np.ones(1)
    for p in probabilities:
        pmf = np.convolve(pmf, [1 - p, p])
    return pmf


def exact_expectation(function, probabilities, prior):
    """E[function(prior + n)] for the sum n of Bernoulli variables."""
    pmf = poisson_binomial(probabilities)
    return pmf @ function(prior + np.arange(len(pmf)))


def exact_cvb_update(documents, gamma, token, alpha, beta, n_words):
    """The responsibilities of one token that maximise the collapsed bound, all others fixed ([TNW07] Eq. 14)."""
    owner, words = flat(documents)
    others = np.arange(len(owner)) != token
    out, beta = np.empty(len(alpha)), np.broadcast_to(beta, (n_words, len(alpha)))
    for k in range(len(alpha)):
        same_document, same_word = others & (owner == owner[token]), others & (words == words[token])
        out[k] = exact_expectation(np.log, gamma[same_document, k], alpha[k])
        out[k] += exact_expectation(np.log, gamma[same_word, k], beta[words[token], k])
        out[k] -= exact_expectation(np.log, gamma[others, k], beta[:, k].sum())
    return np.exp(out - logsumexp(out))


def exact_cvb_bound(documents, gamma, alpha, beta, n_words):
    """E_q[log p(z, w)] + H(q), exactly."""
    owner, words = flat(documents)
    out = -float((gamma * np.log(np.maximum(gamma, 1e-300))).sum())
    beta = np.broadcast_to(beta, (n_words, len(alpha)))
    for k in range(len(alpha)):
        total = beta[:, k].sum()
        out += gammaln(total) - exact_expectation(gammaln, gamma[:, k], total)
        for v in range(n_words):
            out += exact_expectation(gammaln, gamma[words == v, k], beta[v, k]) - gammaln(beta[v, k])
        for d in range(len(documents)):
            out += exact_expectation(gammaln, gamma[owner == d, k], alpha[k]) - gammaln(alpha[k])
    lengths = np.array([len(document) for document in documents])
    return out + float(np.sum(gammaln(alpha.sum()) - gammaln(alpha.sum() + lengths)))


def flat(documents):
    """Document and word of every token."""
    owner = np.repeat(np.arange(len(documents)), [len(document) for document in documents])
    return owner, np.concatenate([np.asarray(document, dtype=int) for document in documents])


# -- Gibbs


def uniform(seed, row, sweep, token):
    """The number in [0, 1) that a token of a document is drawn with."""
    key = child(child(mix(mix((seed + GOLDEN) & MASK)), row), sweep)
    return (mix((key + GOLDEN * (token + 1)) & MASK) >> 11) * 2.0**-53


def gibbs_sweep(corpus, alpha, beta, topics, word_topic, seed=0, first_row=0, sweep=0, weight=None):
    """One sweep in place, topics in the order of columns k mod 16; number of tokens that moved."""
    indptr, indices, counts = corpus
    n_words, n_components = word_topic.shape
    order = sorted(range(n_components), key=lambda k: (k % 16, k))
    position = moved = 0
    for d in range(len(indptr) - 1):
        w = 1.0 if weight is None else weight[d]
        length = int(counts[indptr[d] : indptr[d + 1]].sum())
        mine, start = topics[position : position + length], position
        for e in range(indptr[d], indptr[d + 1]):
            for _ in range(int(counts[e])):
                at = position - start
                old, mine[at] = mine[at], -1
                if old >= 0:
                    word_topic[indices[e], old] -= w
                own = np.bincount(mine[mine >= 0], minlength=n_components)
                odds = (alpha + own) * (beta + word_topic[indices[e]]) / (n_words * beta + word_topic.sum(axis=0))
                cumulated = np.cumsum(odds[order])
                new = order[int(np.searchsorted(cumulated, uniform(seed, first_row + d, sweep, at) * cumulated[-1],
                                                side="right"))]  # fmt: skip
                mine[at] = new
                word_topic[indices[e], new] += w
                moved += w * (new != old)
                position += 1
    return moved
