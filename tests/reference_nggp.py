"""Slow and obvious versions of what sweeps over rows compute for normalized generalized gamma process mixtures.

Documents are dense rows of counts, (n, V); responsibilities are dense, (n, K). Statistics are summed again for every
row from all responsibilities, so that nothing is ever added to a cluster or taken away from it.
"""

import math
from dataclasses import dataclass

import numpy as np
import reference_chains as chains
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp, psi
from sklearn.utils import check_random_state

from sparsemix.datasets._mixture_generators import draw_clustered
from sparsemix.datasets._topic_generators import draw_dirichlet

# -- documents given clusters


NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def log_rising(x, count):
    """log Gamma(x + count) - log Gamma(x) of each x, to rounding: sums of logarithms, an integral for the rest."""
    x = np.asarray(x, dtype=np.float64)[:, None]
    whole, rest = math.floor(count), count - math.floor(count)
    steps = sum(np.log(x + r).sum(axis=1) for r in np.array_split(np.arange(whole), 1 + whole // 10_000))
    start = x + whole
    near = (gammaln(start + rest) - gammaln(start))[:, 0]
    far = rest / 2 * psi(start + rest / 2 * (1 + NODES)) @ WEIGHTS
    return steps + np.where(start[:, 0] < 20, near, far)


def log_dirichlet_multinomial(x, prior, statistics):
    """Log predictive densities of a document, without its multinomial coefficient, given clusters' counts of words.

    Returns them, (K,), and the sums of the absolute values of their terms, which round-off is relative to.
    """
    words, totals = np.flatnonzero(x), prior * len(x) + statistics.sum(axis=1)
    terms = [log_rising(prior + statistics[:, w], x[w]) for w in words] + [-log_rising(totals, x.sum())]
    return np.sum(terms, axis=0), np.abs(terms).sum(axis=0)


def log_predictive(x, prior, statistics):
    """The same in each cluster, (K, V) -> (K,); faster, for counts that are not large."""
    a = prior + statistics
    return (gammaln(a + x) - gammaln(a)).sum(axis=1) + gammaln(a.sum(axis=1)) - gammaln(a.sum(axis=1) + x.sum())


def log_evidence(X, prior):
    """Log probability of documents of one cluster, without multinomial coefficients."""
    a = prior + X.sum(axis=0)
    return (gammaln(a) - gammaln(prior)).sum() - gammaln(a.sum()) + gammaln(prior * len(a))


# -- the prior


@dataclass
class Rule:
    """What a row asks of the prior, and what it does with its responsibilities; the names are the kernels'."""

    concentration: float = 1.0
    discount: float = 0.0
    tilt: float = 1.0
    theta: float = 0.0
    threshold: float = 0.01
    n_nonzero: int = 0
    max_components: int = 0
    quadrature: bool = False
    recursion: bool = True

    def log_density(self, v, n, n_clusters):
        """Of v = log U given n rows in some clusters, but for a constant."""
        a, sigma, tau = self.concentration, self.discount, self.tilt
        log_sum = np.logaddexp(v, math.log(tau)) if tau else v
        laplace = a / sigma * np.exp(sigma * log_sum) if sigma else a * log_sum
        return (n + self.theta) * v - (n - sigma * n_clusters) * log_sum - laplace

    def log_mode(self, n, n_clusters):
        """Where a (u + tau)^sigma = sigma K + n tau / u; log u."""
        a, sigma, tau = self.concentration, self.discount, self.tilt

        def difference(v):
            left = math.log(a) + sigma * (np.logaddexp(v, math.log(tau)) if tau else v)
            terms = [math.log(self.theta + sigma * n_clusters)] if sigma else []
            terms += [math.log(n * tau) - v] if tau else []
            return left - np.logaddexp.reduce(terms)

        return brentq(difference, -500, 500, xtol=1e-14)

    def nodes(self, n, n_clusters):
        """Values of log U, evenly spaced, and their probabilities, for sums that are integrals."""
        mode, low, high = self.log_mode(n, n_clusters), 1e-3, 1e-3
        top = self.log_density(mode, n, n_clusters)
        while self.log_density(mode - low, n, n_clusters) > top - 45:
            low *= 1.5
        while self.log_density(mode + high, n, n_clusters) > top - 45:
            high *= 1.5
        v = np.linspace(mode - low, mode + high, 2001)
        p = np.exp(self.log_density(v, n, n_clusters) - top)
        return v, p / p.sum()

    def log_new(self, n, n_clusters):
        """Log weight of a new cluster where each existing one has n_k - sigma."""
        a, sigma, tau = self.concentration, self.discount, self.tilt
        if n == 0:
            return math.log(a)
        if not self.quadrature:
            return math.log(a) + sigma * np.logaddexp(self.log_mode(n, n_clusters), math.log(tau) if tau else -np.inf)
        v, p = self.nodes(n, n_clusters)
        u = np.exp(v)
        return math.log(a) + math.log(p @ (u * (u + tau) ** (sigma - 1))) - math.log(p @ (u / (u + tau)))

    # -- a row

    def respond(self, counts, scores, score_new, expected, mass=1.0):
        """Responsibilities of existing clusters and, last, of a new one, (K + 1,); log predictive density."""
        weights = np.maximum(counts - self.discount, 0.0)
        log_new = self.log_new(counts.sum(), expected)
        with np.errstate(divide="ignore"):
            joint = np.append(np.log(weights) + scores, log_new + score_new)
        log_predictive = logsumexp(joint) - math.log(weights.sum() + math.exp(log_new))
        q = np.exp(joint - logsumexp(joint))
        # A cluster that starts with less than the discount would never get a weight.
        opens = q[-1] > self.threshold and q[-1] * mass > self.discount
        if not weights.any():
            opens = True
        if self.max_components and np.count_nonzero(counts) >= self.max_components:
            opens = False
        if not opens:
            q[-1] = 0.0
        if not q.any():
            q[np.argmax(scores)] = 1.0
        q[q < 1e-6 * q.sum()] = 0.0
        if self.n_nonzero:
            q[np.argsort(-q, kind="stable")[self.n_nonzero :]] = 0.0
        return q / q.sum(), log_predictive


def statistics(X, Q, weight):
    """Counts n_k and counts of words of each cluster."""
    return weight @ Q, (weight[:, None] * Q).T @ X


def expected_clusters(Q):
    """Of rows with these responsibilities."""
    return (1.0 - np.prod(1.0 - Q, axis=0)).sum()


def widened(Q, n_clusters):
    return np.hstack([Q, np.zeros((len(Q), n_clusters - Q.shape[1]))])


def stream(X, prior, rule, weight=None):
    """Assumed density filtering: responsibilities (n, K) and the rows' log predictive densities.

    Each row sees those before it. One without words has neither.
    """
    weight = np.ones(len(X)) if weight is None else weight
    Q, densities = np.zeros((len(X), 0)), np.zeros(len(X))
    for i in np.flatnonzero(X.any(axis=1)):
        counts, words = statistics(X[:i], Q[:i], weight[:i])
        expected = expected_clusters(Q[:i]) if rule.recursion else np.count_nonzero(counts)
        new = log_predictive(X[i], prior, np.zeros((1, X.shape[1])))[0]
        q, densities[i] = rule.respond(counts, log_predictive(X[i], prior, words), new, expected, weight[i])
        Q = widened(Q, len(q) if q[-1] else len(q) - 1)
        Q[i] = q[: Q.shape[1]]
    return Q, densities


def revisit(X, Q, prior, rule, weight=None):
    """One epoch of expectation propagation: each row sees all others. A row that was alone stays where it is."""
    weight = np.ones(len(X)) if weight is None else weight
    Q, densities = Q.copy(), np.zeros(len(X))
    for i in np.flatnonzero(X.any(axis=1)):
        others = np.delete(np.arange(len(X)), i)
        counts, words = statistics(X[others], Q[others], weight[others])
        new = log_predictive(X[i], prior, np.zeros((1, X.shape[1])))[0]
        scores = log_predictive(X[i], prior, words)
        q, densities[i] = rule.respond(counts, scores, new, np.count_nonzero(counts), weight[i])
        alone = np.flatnonzero((counts == 0) & (Q[i] > 0))
        if q[-1] and len(alone):
            q[alone[0]], q[-1] = q[-1], 0.0
        Q = widened(Q, len(q) if q[-1] else len(q) - 1)
        Q[i] = q[: Q.shape[1]]
    return Q, densities


# -- partitions


def predictive(measure, sizes):
    """Probabilities that the next row joins clusters of these sizes; the last entry is that of a new cluster."""
    sizes = np.asarray(sizes, dtype=np.float64)
    weights = np.append(sizes - measure.discount, np.exp(measure.log_new_weight(sizes.sum(), len(sizes))))
    return weights / weights.sum()


def log_eppf(measure, sizes):
    """Log probability of a partition with clusters of these sizes, by the chain rule over rows in any order."""
    sizes = np.asarray(sizes, dtype=np.int64)
    n = np.arange(1, sizes.sum())
    k = np.repeat(np.arange(1, len(sizes) + 1), sizes)[:-1]  # clusters after each row, if rows come by cluster
    log_new = measure.log_new_weight(n, k)
    log_total = np.logaddexp(log_new, np.log(n - measure.discount * k))
    joins = gammaln(sizes - measure.discount) - gammaln(1 - measure.discount)
    return float(joins.sum() + log_new[np.cumsum(sizes)[:-1] - 1].sum() - log_total.sum())


def sample_partition(measure, n, rng):
    """Clusters of n rows, drawn sequentially from exact predictions; numbered in order of appearance."""
    return sample_urn(n, measure.discount, lambda i, k: np.exp(measure.log_new_weight(i, k)), rng)


def sample_urn(n, discount, new_weight, rng):
    """Clusters of n rows, drawn sequentially: weights n_k - discount, or new_weight(rows, clusters) to open one."""
    labels = np.zeros(n, dtype=np.int64)
    opened = np.zeros(n, dtype=bool)
    opened[:1] = True
    k = 1
    for i in range(1, n):
        new = new_weight(i, k)
        if rng.uniform() * (i - discount * k + new) < new:
            labels[i], opened[i] = k, True
            k += 1
            continue
        # Copy the cluster of a random earlier row; a row that opened its cluster counts as 1 - discount rows.
        earlier = int(rng.uniform() * i)
        while opened[earlier] and rng.uniform() < discount:
            earlier = int(rng.uniform() * i)
        labels[i] = labels[earlier]
    return labels


def make_pitman_yor_mixture(
    n_samples=1000, n_features=500, *, concentration=1.0, discount=0.5, doc_length=100, cluster_word_prior=0.05,
    random_state=None,
):  # fmt: skip
    """Documents of a Pitman-Yor process: counts, the cluster of each document, and the clusters' words.

    Document n + 1 joins a cluster of n_k documents with probability (n_k - discount) / (n + concentration), and opens
    a new one otherwise. The number of clusters grows as ``n_samples ** discount``.
    """
    rng = check_random_state(random_state)
    labels = sample_urn(n_samples, discount, lambda _, k: concentration + discount * k, rng)
    clusters = draw_dirichlet("cluster_word_prior", cluster_word_prior, (labels.max() + 1, n_features), rng)
    return draw_clustered(clusters, labels, doc_length, rng), labels, clusters


# -- Gibbs sampling


def log_joint(X, labels, prior, rule, log_u):
    """Log joint density of documents and their partition, given u, but for a constant."""
    a, sigma = rule.concentration, rule.discount
    log_sum = np.logaddexp(log_u, math.log(rule.tilt)) if rule.tilt else log_u
    total = 0.0
    for k in np.unique(labels):
        n = np.count_nonzero(labels == k)
        total += math.log(a) + gammaln(n - sigma) - gammaln(1 - sigma) - (n - sigma) * log_sum  # kappa_n(u)
        total += log_evidence(X[labels == k], prior)
    return total


def conditional(X, labels, row, n_slots, prior, rule, log_u):
    """Distribution of one row's cluster given all others and u: in each slot, and last a new one, (n_slots + 1,)."""
    joint = np.full(n_slots + 1, -np.inf)
    others = np.delete(labels, row)
    others = others[others >= 0]
    for k in [*np.unique(others), n_slots]:
        trial = labels.copy()
        trial[row] = k
        seen = trial >= 0
        joint[k] = log_joint(X[seen], trial[seen], prior, rule, log_u)
    if rule.max_components and len(np.unique(others)) >= rule.max_components:
        joint[-1] = -np.inf
    return np.exp(joint - logsumexp(joint))


def choice(p, seed, row, sweep):
    """The slot that a conditional's random number selects: a new cluster first, then slots in order."""
    key = chains.mix(chains.mix((seed + chains.GOLDEN) & chains.MASK))
    key = chains.child(chains.child(key, row), sweep)
    u = (chains.mix((key + chains.GOLDEN) & chains.MASK) >> 11) * 2.0**-53
    order = [len(p) - 1, *range(len(p) - 1)]
    return order[int(np.searchsorted(np.cumsum(p[order]), u, side="right"))]


def partitions(n):
    """All partitions of n rows, as labels by order of appearance."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*labels, k] for labels in found for k in range(max(labels) + 2)]
    return [tuple(labels) for labels in found]


def posterior(X, prior, rule):
    """Probability of each partition, U integrated out: a dictionary by labels in order of appearance."""
    v = np.linspace(-60, 60, 24001)
    logs = {}
    for labels in partitions(len(X)):
        n_clusters = max(labels) + 1
        density = rule.log_density(v, len(X), n_clusters)
        sizes = np.bincount(labels)
        logs[labels] = (
            logsumexp(density)
            + n_clusters * math.log(rule.concentration)
            + (gammaln(sizes - rule.discount) - gammaln(1 - rule.discount)).sum()
            + sum(log_evidence(X[np.array(labels) == k], prior) for k in range(n_clusters))
        )
    possible = {k: x for k, x in logs.items() if not rule.max_components or max(k) < rule.max_components}
    total = logsumexp(list(possible.values()))
    return {labels: math.exp(value - total) for labels, value in possible.items()}
