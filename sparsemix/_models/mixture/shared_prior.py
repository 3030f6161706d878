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


def with_learned_prior(model, stats, split=serial):
    """The model under a prior of larger bound for the same statistics, or the model itself if none was found.

    An iteration is a line search for the degrees of freedom, and one step of EM for the scale and the mean precision,
    whose latent variables are the components' parameters. None of them lowers the bound for given scales s_k, which
    follow last. Round-off may, so the bound has the last word.
    """
    post, scales = model.learned(stats, split)
    before, learned = model.evidence_at(stats, post, scales), altered(model, table=None)
    for _ in range(ITERATIONS):
        learned.prior = _iterated(learned, post, scales, stats["count"], split)
        post = learned.family.rescaled(learned.prior, learned.unscaled(stats), scales)
    return learned if learned.evidence_at(stats, post, scales) > before else model


def _iterated(model, post, scales, counts, split):
    """The best nu_0, and with it S_0 = K nu_0 / sum_k s_k E[Lambda_k], and kappa_0 = K D / sum_k E[Mahalanobis distance
    of mu_k from m_0].
    """
    prior, n_components = model.prior, len(scales)
    factors, turned, log_dets = whiten(post.scale, post.mean - prior.mean, np.float64, split)
    dof = _best_dof(prior, scales, log_dets, counts)
    each = symmetric.unpack_triangle(factors * np.sqrt((dof + counts) * scales)[:, None])
    each = each.reshape(-1, each.shape[-1])
    mean = each.T @ each / (n_components * dof)
    changes = {"dof": np.array([dof]), "scale": symmetric.pack(symmetric.inverse(mean))[None]}
    if model.learned_prior == "all":
        squares = (dof + counts) @ (turned**2).sum(axis=1) / model.family.n_features
        changes["mean_precision"] = n_components / np.array([(1.0 / post.mean_precision).sum() + squares])
    return replace(prior, **changes)


def _best_dof(prior, scales, log_dets, counts):
    """nu_0 of largest evidence for given B_0; at least the default, with which a covariance has a mean."""
    d = prior.mean.shape[1]
    known = (d * np.log(scales) + symmetric.log_dets(prior.scale)[0] - log_dets).sum()

    def slope(dof):
        gain = digamma(0.5 * (dof + counts[:, None] - np.arange(d))) - digamma(0.5 * (dof - np.arange(d)))
        return gain.sum() + known

    low, high = d + 2.0, MOST_DOF * d
    if slope(low) <= 0.0:
        return low
    return high if slope(high) >= 0.0 else brentq(slope, low, high, rtol=1e-8)
