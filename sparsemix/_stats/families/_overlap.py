"""How much Gaussians overlap."""

import numpy as np


def bhattacharyya(gaussians, others):
    """Bhattacharyya coefficients of all pairs, (K, L): the integrals of sqrt(N_k N_l), which are one if N_k = N_l.

    Minus its log is (m_k - m_l)^T C^-1 (m_k - m_l) / 8 + log(|C| / sqrt(|C_k| |C_l|)) / 2 with C = (C_k + C_l) / 2
    (Kailath 1967). Covariances must not be tied.
    """
    log_dets, their_log_dets = gaussians.log_dets(), others.log_dets()
    out = np.empty((len(gaussians.means), len(others.means)))
    for k, mean in enumerate(gaussians.means):
        between = 0.5 * (others.covariances + gaussians.covariances[k])
        lengths, log_det = gaussians.shape.lengths_and_log_dets(between, others.means - mean)
        distance = 0.125 * lengths + 0.5 * log_det - 0.25 * (their_log_dets + log_dets[k])
        out[k] = np.exp(-np.maximum(distance, 0.0))
    return out


def marginal_bounds(mean, variances, other_means, other_variances):
    """Upper bounds of the coefficients of one Gaussian with L others: the minimum over one-dimensional marginals, (L,).

    Inputs of shape (K, 1, D) and (K, L, D) give (K, L): each of K Gaussians with its own L others.

    The bound holds because a marginal never separates two Gaussians better than the joint distribution.
    """
    between = 0.5 * (variances + other_variances)
    ratio = between / (np.sqrt(variances) * np.sqrt(other_variances))  # the product of variances may overflow
    distance = 0.125 * (other_means - mean) ** 2 / between + 0.5 * np.log(ratio)
    return np.exp(-np.maximum(distance.max(axis=-1), 0.0))
