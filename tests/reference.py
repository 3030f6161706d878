"""Slow and obvious versions of what the library computes: loops over rows and components, dense matrices, no tricks.

Names of covariance types, priors and statistics are those of the library; matrices are (D, D) here, never packed.
"""

from itertools import combinations, product

import numpy as np
from scipy.special import gammaln, logsumexp, psi

# -- responsibilities


def top_l(weights, n_nonzero):
    """Indices (n, L) increasing, values (n, L) and log_z (n,): sort, lower index first among equals, then softmax."""
    weights = np.asarray(weights, dtype=np.float64)
    indices = np.empty((len(weights), n_nonzero), dtype=np.int32)
    for n, row in enumerate(weights):
        ranked = sorted(range(len(row)), key=lambda k: (-row[k], k))
        indices[n] = sorted(ranked[:n_nonzero])
    chosen = np.take_along_axis(weights, indices.astype(np.intp), axis=1)
    return indices, softmax(chosen), logsumexp(chosen, axis=1)


def softmax(weights):
    """Responsibilities of all components."""
    e = np.exp(weights - weights.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def best_value(row, n_nonzero):
    """Largest value of sum r W + h(r) over all supports of at most ``n_nonzero`` components."""
    return max(logsumexp(row[list(support)]) for support in combinations(range(len(row)), n_nonzero))


def dense(indices, values, n_components):
    """(n, K) matrix of responsibilities."""
    out = np.zeros((len(indices), n_components))
    for n in range(len(indices)):
        for k, value in zip(indices[n], values[n], strict=True):
            out[n, k] += value
    return out


def entropy(resp, weight=None):
    """Minus the sum of r log r, each row times its weight."""
    logs = np.log(np.where(resp > 0, resp, 1.0))
    return -float((resp * logs * weight_column(resp, weight)).sum())


def random_responsibilities(rng, n_rows, n_components, n_nonzero):
    """Dense (n, K) responsibilities with ``n_nonzero`` random non-zeros in each row."""
    weights = rng.normal(size=(n_rows, n_components))
    indices, values, _ = top_l(weights, n_nonzero)
    return dense(indices, values, n_components)


def weight_column(resp, weight):
    return np.ones((len(resp), 1)) if weight is None else np.asarray(weight)[:, None]


# -- sums over rows


def counts(resp, weight=None):
    """(K,) sums of responsibilities."""
    return (resp * weight_column(resp, weight)).sum(axis=0)


def first(x, resp, weight=None):
    """(K, D) sums of rows."""
    return (resp * weight_column(resp, weight)).T @ np.asarray(x, dtype=np.float64)


def squares(x, resp, weight=None):
    """(K, D) sums of squared entries."""
    return first(np.asarray(x, dtype=np.float64) ** 2, resp, weight)


def outer(x, resp, weight=None):
    """(K, D, D) sums of outer products."""
    x = np.asarray(x, dtype=np.float64)
    return np.einsum("nk,nd,ne->kde", resp * weight_column(resp, weight), x, x)


def lower_triangles(matrices):
    """(..., D, D) to (..., D (D + 1) / 2), row by row."""
    d = matrices.shape[-1]
    return np.stack([matrices[..., i, j] for i in range(d) for j in range(i + 1)], axis=-1)


def statistics(covariance_type, x, resp, weight=None):
    """All sums that a family keeps, by name."""
    mass = len(x) if weight is None else np.sum(weight)
    sums = {"count": counts(resp, weight), "mass": np.array(float(mass)), "entropy": np.array(entropy(resp, weight))}
    if covariance_type != "zero_mean":
        sums["first"] = first(x, resp, weight)
    if covariance_type in ("full", "zero_mean"):
        sums["second"] = lower_triangles(outer(x, resp, weight))
    elif covariance_type in ("diag", "low_rank"):
        sums["second"] = squares(x, resp, weight)
    elif covariance_type == "spherical":
        sums["second"] = squares(x, resp, weight).sum(axis=1, keepdims=True)
    elif covariance_type == "tied_diag":
        sums["scatter"] = squares(x, np.ones((len(x), 1)), weight)
    elif covariance_type == "tied_spherical":
        sums["scatter"] = squares(x, np.ones((len(x), 1)), weight).sum(axis=1, keepdims=True)
    else:
        sums["scatter"] = lower_triangles(outer(x, np.ones((len(x), 1)), weight))
    if covariance_type == "low_rank":  # of one factor, of which nothing is known
        sums["factor_second"] = sums["count"][:, None, None] * np.eye(min(1, x.shape[1] - 1))
        sums["factor_entropy"] = 0.5 * len(sums["factor_second"][0]) * sums["count"]
    return sums


def fill(stats, sums):
    """The library's empty statistics with these sums in them."""
    for name, value in sums.items():
        stats[name] = value
    return stats


# -- Gaussians


def is_tied(covariance_type):
    """Whether all components share one covariance."""
    return covariance_type in ("tied", "tied_diag", "tied_spherical")


def shape_of(covariance_type):
    """Of one covariance."""
    shapes = {"tied": "full", "zero_mean": "full", "tied_diag": "diag", "tied_spherical": "spherical",
              "low_rank": "diag"}  # fmt: skip
    return shapes.get(covariance_type, covariance_type)


def one_covariance(covariance_type, matrix):
    """A (D, D) matrix, as far as the shape of one covariance stores it."""
    return {"diag": np.diag(matrix).copy(), "spherical": matrix[0, 0]}.get(shape_of(covariance_type), matrix)


def dense_covariances(covariance_type, covariances, n_components, n_features):
    """scikit-learn's shape of covariances to (K, D, D)."""
    if is_tied(covariance_type):
        covariances = [covariances] * n_components
    if shape_of(covariance_type) == "full":
        return np.array(covariances)
    return np.array([value * np.eye(n_features) for value in covariances])


def log_densities(x, means, covariances):
    """(n, K) log densities, covariances (K, D, D)."""
    out = np.empty((len(x), len(means)))
    for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        centred = np.asarray(x, dtype=np.float64) - mean
        mahalanobis = (centred * np.linalg.solve(covariance, centred.T).T).sum(axis=1)
        out[:, k] = -0.5 * (len(mean) * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1] + mahalanobis)
    return out


def maximum_likelihood(covariance_type, x, resp, reg_covar=0.0):
    """Means (K, D) and covariances (K, D, D), component by component with its own loop over rows."""
    n_components, d = resp.shape[1], x.shape[1]
    means = np.zeros((n_components, d))
    covariances = np.zeros((n_components, d, d))
    for k in range(n_components):
        if covariance_type != "zero_mean":
            means[k] = resp[:, k] @ x / resp[:, k].sum()
        centred = x - means[k]
        covariances[k] = (resp[:, k, None] * centred).T @ centred / resp[:, k].sum()
    if is_tied(covariance_type):
        covariances[:] = np.einsum("k,kde->de", resp.sum(axis=0) / resp.sum(), covariances)
    if shape_of(covariance_type) == "diag":
        covariances *= np.eye(d)
    if shape_of(covariance_type) == "spherical":
        covariances = np.array([np.trace(covariance) / d * np.eye(d) for covariance in covariances])
    return means, covariances + reg_covar * np.eye(d)


def kullback_leibler(mean_p, covariance_p, mean_q, covariance_q):
    """KL(p || q) of two Gaussians."""
    precision = np.linalg.inv(covariance_q)
    log_dets = np.linalg.slogdet(covariance_q)[1] - np.linalg.slogdet(covariance_p)[1]
    apart = mean_p - mean_q
    return 0.5 * (log_dets + np.trace(precision @ covariance_p) + apart @ precision @ apart - len(mean_p))


def smoothed(covariance_type, row, mean0, kappa0, dof0, scale0):
    """Mean and covariance (D, D) of one row with the prior as pseudo-data."""
    d = len(row)
    if covariance_type == "zero_mean":
        return np.zeros(d), (scale0 + np.outer(row, row)) / (dof0 - d - 1 + 1)
    mean = (kappa0 * mean0 + row) / (kappa0 + 1)
    scatter = kappa0 / (kappa0 + 1) * np.outer(row - mean0, row - mean0)
    if shape_of(covariance_type) == "diag":
        return mean, np.diag((scale0 + np.diag(scatter)) / (dof0 + 1 - 2))
    if shape_of(covariance_type) == "spherical":
        return mean, (scale0 + np.trace(scatter)) / (dof0 + d - 2) * np.eye(d)
    return mean, (scale0 + scatter) / (dof0 - d - 1 + 1)


# -- evidence


def log_dirichlet_multinomial(labels, concentration, n_components):
    """Log probability of labels under a symmetric Dirichlet prior: Polya's urn, label by label."""
    seen, out = np.zeros(n_components), 0.0
    for label in labels:
        out += np.log((concentration + seen[label]) / (n_components * concentration + seen.sum()))
        seen[label] += 1
    return out


def log_stick_breaking(labels, concentration, n_components):
    """Log probability of labels when every stick is Beta(1, concentration), the last one too."""
    out = 0.0
    counts_of = np.bincount(labels, minlength=n_components)
    for k in range(n_components):
        a, b = 1.0 + counts_of[k], concentration + counts_of[k + 1 :].sum()
        out += gammaln(a) + gammaln(b) - gammaln(a + b) - gammaln(1.0) - gammaln(concentration)
        out += gammaln(1.0 + concentration)
    return out


def log_evidence(n_rows, n_components, log_prior, log_likelihood):
    """Log of the sum over all assignments of exp(log_prior(labels) + log_likelihood(labels))."""
    every = product(range(n_components), repeat=n_rows)
    return logsumexp([log_prior(labels) + log_likelihood(labels) for labels in every])


# -- topics


def infer_doc_topic(X, word_topic, doc_topic_prior, *, max_iter=100, tol=1e-3):
    """Posterior theta_hat (N, K) of the topics of documents under fixed topics: one document and one word at a time.

    ``word_topic`` (V, K) is proportional to exp(C) in each row, ``doc_topic_prior`` a number or (K,).
    """
    X, log_word_topic = X.tocsr(), np.log(np.asarray(word_topic, dtype=np.float64))
    out = np.zeros((X.shape[0], word_topic.shape[1])) + doc_topic_prior
    for d, theta in enumerate(out):
        entries = slice(X.indptr[d], X.indptr[d + 1])
        scores, counts_of = log_word_topic[X.indices[entries]], X.data[entries].astype(np.float64)
        if len(counts_of) == 0:
            continue
        doc_topic = counts_of @ softmax(scores)
        for _ in range(max_iter):
            before, doc_topic = doc_topic, counts_of @ softmax(scores + psi(doc_topic_prior + doc_topic))
            if np.abs(doc_topic - before).max() < tol:
                break
        theta += doc_topic
    return out


def best_topics(weights, n_nonzero):
    """0/1 (U, K) for the ``n_nonzero`` largest of each row, the lower topic among equals."""
    mask = np.zeros(weights.shape)
    for u, row in enumerate(weights):
        mask[u, sorted(range(len(row)), key=lambda k: (-row[k], k))[:n_nonzero]] = 1.0
    return mask


def document_bound(counts_of, rows, resp, alpha):
    """L_d from the responsibilities themselves, up to what depends on the document's length; ``rows`` is exp C."""
    counts_of, rows, alpha = (np.asarray(a, dtype=np.float64) for a in (counts_of, rows, alpha))
    used, out = resp > 0, 0.0
    for c, row, r, mine in zip(counts_of, rows, resp, used, strict=True):
        out += c * np.sum(r[mine] * (np.log(row[mine]) - np.log(r[mine])))
    return out + np.sum(gammaln(alpha + counts_of @ resp) - gammaln(alpha))


def infer_document(
    types, counts_of, table, alpha, n_nonzero, *, max_iter=100, tol=0.05, list_iter=0, select_first=5, select_every=10,
    active=1e-9, linear=False, start=None, enter=0.0,
):  # fmt: skip
    """One document by [HS16] Algorithm 2: responsibilities (U, K), N_dk and the number of iterations.

    ``start`` is N_dk of an earlier visit: topics without mass there take part where they are among the best of a word
    and would get a share ``enter`` of it. A topic with no more than ``active`` leaves for good; with all topics a word
    (``n_nonzero`` is K) none leaves, and all take part.
    """
    counts_of, rows, alpha = (np.asarray(a, dtype=np.float64) for a in (counts_of, table[types], alpha))
    n_components = rows.shape[1]
    dense_step = n_nonzero >= n_components

    def expect(doc_topic, there):
        if linear:
            return np.where(there, alpha + doc_topic, 0.0)
        e = np.where(there, psi(alpha + doc_topic), -np.inf)
        return np.exp(e - e.max())

    def update(mask, p):
        resp = rows * p * mask
        resp /= resp.sum(axis=1, keepdims=True)
        return resp, counts_of @ resp

    def select(p, there):
        return best_topics(np.where(there, rows * p, -1.0), n_nonzero)

    mask, there = best_topics(rows, n_nonzero), np.ones(n_components, dtype=bool)
    if start is None:
        doc_topic = update(mask, np.ones(n_components))[1]
        for _ in range(0 if dense_step else list_iter):
            doc_topic = update(mask, expect(doc_topic, there))[1]
    else:
        doc_topic = np.array(start, dtype=np.float64)
        if not dense_step:
            there = doc_topic > 0
            newcomer = np.append(alpha + doc_topic, alpha.max())
            p = newcomer if linear else np.exp(psi(newcomer) - psi(newcomer).max())
            share_of_all = rows @ np.where(there, p[:-1], 0.0)
            there |= ((mask > 0) & (rows * p[-1] >= enter * share_of_all[:, None])).any(axis=0)
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        if not dense_step and (start is None or n_iter > 1):
            there &= doc_topic > active * min(1.0, counts_of.sum() / 10.0)  # short documents: a share
        p = expect(doc_topic, there)
        if n_iter <= select_first or (n_iter - 1) % select_every == 0 or n_nonzero == 1:
            mask = select(p, there)
        before, doc_topic = doc_topic, update(mask, p)[1]
        if np.abs(doc_topic - before)[there].max() < tol:
            break
    p = expect(doc_topic, there)
    resp, doc_topic = update(select(p, there), p)
    return resp, doc_topic, n_iter


def topics_bound(X, resp, theta, word_topic, alpha, eta):
    """Evidence lower bound of latent Dirichlet allocation for any responsibilities and Dirichlet parameters.

    ``resp`` (nnz, K) belongs to the entries of ``X`` in order, rows sum to one; ``theta`` is (N, K), ``word_topic``
    (V, K); ``eta`` is a number, or (V, K).
    """
    log_pi = psi(theta) - psi(theta.sum(axis=1, keepdims=True))
    log_phi = psi(word_topic) - psi(word_topic.sum(axis=0))
    out = 0.0
    for d in range(X.shape[0]):
        for e in range(X.indptr[d], X.indptr[d + 1]):
            used = resp[e] > 0
            score = log_pi[d] + log_phi[X.indices[e]] - np.log(np.where(used, resp[e], 1.0))
            out += X.data[e] * (resp[e, used] @ score[used])
    alphas, etas = np.broadcast_to(alpha, theta.shape), np.broadcast_to(eta, word_topic.shape).T
    for parameters, logs, priors in [(theta, log_pi, alphas), (word_topic.T, log_phi.T, etas)]:
        for a, log, prior in zip(parameters, logs, priors, strict=True):
            out += (prior - a) @ log + log_normalizer(prior) - log_normalizer(a)
    return out


def log_normalizer(a):
    """Of a Dirichlet density, with Gamma functions."""
    return gammaln(a.sum()) - gammaln(a).sum()
