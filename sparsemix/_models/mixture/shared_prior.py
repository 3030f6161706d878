"""Empirical Bayes: the Normal-Wishart prior that all components share, learned from their posteriors."""

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma

from sparsemix._stats import symmetric
from sparsemix._stats.altered import altered
from sparsemix._stats.families._shapes import serial, whiten

# Iterations of an update, and the largest nu_0 for each column: beyond it all covariances have one shape.
ITERATIONS, MOST_DOF = 3, 1e3
# Rows of a component, as a share of nu_0, below which round-off would decide the second fixed point of S_0.
LEAST_ROWS = 1e-6
# Entries of matrices to unpack in one step.
UNPACKED = 1 << 20


def with_learned_prior(model, stats, split=serial):
    """The model under a prior of larger bound for the same statistics, or the model itself if none was found.

    An iteration is a line search for the degrees of freedom, then a fixed-point step for the scale and a step of EM for
    the mean precision. The scales s_k follow last. A step may lower the bound, which has the last word.
    """
    post, scales = model.learned(stats, split)
    before, learned = model.evidence_at(stats, post, scales), altered(model, table=None)
    for _ in range(ITERATIONS):
        for step in (_with_best_dof, _with_shape):
            learned.prior = step(learned, post, scales, stats["count"], split)
            post = learned.family.rescaled(learned.prior, learned.unscaled(stats), scales)
    return learned if learned.evidence_at(stats, post, scales) > before else model


def _with_best_dof(model, post, scales, counts, split):
    """The prior of largest evidence among those of one mean covariance S_0 / nu_0; nu_0 is at least the default.

    S_0 and nu_0 change together: for a given S_0 the best nu_0 is near the old one.
    """
    prior, d = model.prior, model.prior.mean.shape[1]
    spectra, scales, counts = _spectra(prior, post, scales, split), scales[:, None], counts[:, None]

    def slope(dof):
        gain = digamma(0.5 * (dof + counts - np.arange(d))) - digamma(0.5 * (dof - np.arange(d)))
        ratios = spectra / (dof * scales)
        return (gain - np.log1p(ratios) + 1.0 - (1.0 + counts / dof) / (1.0 + ratios)).sum()

    dof, high = d + 2.0, MOST_DOF * d
    if slope(dof) > 0.0:
        dof = high if slope(high) >= 0.0 else brentq(slope, dof, high, rtol=1e-8)
    return replace(prior, dof=np.array([dof]), scale=prior.scale * (dof / prior.dof))


def _spectra(prior, post, scales, split):
    """Eigenvalues of the scatter matrix A_k of each component relative to S_0 / nu_0, (K, D)."""
    d, out = prior.mean.shape[1], np.empty(post.mean.shape)
    factor = symmetric.unpack_triangle(whiten(prior.scale, np.zeros((1, d)), np.float64)[0])[0] * np.sqrt(prior.dof)
    size = max(1, UNPACKED // d**2)

    def share(first, last):
        for start in range(first, last, size):
            part = slice(start, min(start + size, last))
            out[part] = np.linalg.eigvalsh(factor @ symmetric.unpack(post.scale[part]) @ factor.T)

    split(share, len(out))
    return np.maximum(out - prior.dof * scales[:, None], 0.0)


def _with_shape(model, post, scales, counts, split):
    """The prior with a new scale S_0 and kappa_0 = K D / sum_k E[Mahalanobis distance of mu_k from m_0].

    At the optimum S_0 is the fixed point of two maps: that of EM, K nu_0 (sum_k s_k E[Lambda_k])^-1, whose error is
    multiplied by about w = nu_0 / (nu_0 + n), with n rows in a component; and the mean of
    (nu_0 + n_k) (S_0^-1 / s_k + A_k^-1)^-1 / (s_k n), whose error is multiplied by 1 - w. The error of their mean with
    weights 1 - w and w is multiplied by 2 w (1 - w), at most a half.
    """
    prior, n_components = model.prior, len(scales)
    factors, turned, _ = whiten(post.scale, post.mean - prior.mean, np.float64, split)
    dof, old, n = float(prior.dof[0]), symmetric.unpack(prior.scale)[0], counts.mean()
    each = symmetric.unpack_triangle(factors * np.sqrt((dof + counts) * scales)[:, None])
    each = each.reshape(-1, each.shape[-1])
    mean = each.T @ each / (n_components * dof)
    scale = symmetric.inverse(mean)
    if n > LEAST_ROWS * dof:
        w = dof / (dof + n)
        scale = (1.0 - w) * scale + dof / n * (old - w * (old @ mean @ old))
    changes = {"scale": symmetric.pack(scale)[None]}
    if model.learned_prior == "all":
        squares = (dof + counts) @ (turned**2).sum(axis=1) / model.family.n_features
        changes["mean_precision"] = n_components / np.array([(1.0 / post.mean_precision).sum() + squares])
    return replace(prior, **changes)
