"""Empirical Bayes: the Normal-Wishart prior that all components share, learned from their posteriors."""

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma

from sparsemix._stats import symmetric
from sparsemix._stats.altered import altered
from sparsemix._stats.families import serial

# Iterations of an update, and the largest nu_0 for each column: beyond it all covariances have one shape.
ITERATIONS, MOST_DOF = 3, 1e3


def with_learned_prior(model, stats, split=serial):
    """The model under a prior of larger bound for the same statistics, or the model itself if none was found.

    An iteration is one step of EM for the scale and the mean precision, whose latent variables are the components'
    parameters, and a line search for the degrees of freedom. None of them lowers the evidence. Learned scales follow
    the statistics, and may lower it by their limits alone, so the bound has the last word.
    """
    learned = altered(model, table=None)
    for _ in range(ITERATIONS):
        learned.prior = _em_step(learned, stats, split)
        post, scales = learned._learned(stats, split)
        learned.prior = replace(learned.prior, dof=_best_dof(learned, post, scales, stats["count"]))
    return learned if learned.data_bound(stats) > model.data_bound(stats) else model


def _em_step(model, stats, split):
    """The prior with S_0 = K nu_0 / sum_k s_k E[Lambda_k], and kappa_0 = K D / sum_k E[(mu_k - m_0)' Lambda_k (...)].
    """
    prior = model.prior
    post, scales = model._learned(stats, split)
    precisions = symmetric.inverse(symmetric.unpack(post.scale)) * post.dof[:, None, None]
    mean = np.tensordot(scales, precisions, axes=1) / (len(scales) * prior.dof[0])
    changes = {"scale": symmetric.pack(symmetric.inverse(mean))[None]}
    if model.learned_prior == "all":
        apart = post.mean - prior.mean
        squares = ((precisions @ apart[:, :, None])[:, :, 0] * apart).sum()
        spread = (1.0 / post.mean_precision).sum() + squares / model.family.n_features
        changes["mean_precision"] = len(scales) / np.array([spread])
    return replace(prior, **changes)


def _best_dof(model, post, scales, counts):
    """nu_0 of largest evidence for given B_0, (1,); at least the default, which has a mean of the covariance."""
    d = model.family.n_features
    log_det, log_dets = symmetric.log_dets(model.prior.scale)[0], symmetric.log_dets(post.scale)
    known = (d * np.log(scales) + log_det - log_dets).sum()

    def slope(log_dof):
        dof = np.exp(log_dof)
        gain = digamma(0.5 * (dof + counts[:, None] - np.arange(d))) - digamma(0.5 * (dof - np.arange(d)))
        return gain.sum() + known

    low, high = np.log(d + 2.0), np.log(MOST_DOF * d)
    if slope(low) <= 0.0:
        return np.array([np.exp(low)])
    return np.array([np.exp(high if slope(high) >= 0.0 else brentq(slope, low, high, xtol=1e-8))])
