"""Priors of the mixture weights, as functions of the expected counts N_k."""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln, xlogy


def log_dirichlet(concentration, axis=-1):
    """Log normalising constant of a Dirichlet density: lgamma(sum a) - sum lgamma(a)."""
    return gammaln(np.sum(concentration, axis=axis)) - np.sum(gammaln(concentration), axis=axis)


@dataclass(frozen=True)
class DirichletWeights:
    """pi ~ Dirichlet(concentration, ..., concentration); q(pi) = Dirichlet(concentration + N)."""

    concentration: float

    def posterior(self, counts):
        """Parameters of q, (K,)."""
        return self.concentration + counts

    def expected_log(self, counts):
        """E[log pi_k]."""
        post = self.posterior(counts)
        return digamma(post) - digamma(post.sum())

    def mean(self, counts):
        """E[pi_k]."""
        post = self.posterior(counts)
        return post / post.sum()

    def evidence(self, counts):
        """The allocation term of the lower bound ([HS16] Eq. 22), at q = posterior."""
        prior = np.full(len(counts), self.concentration)
        return float(log_dirichlet(prior) - log_dirichlet(self.posterior(counts)))


@dataclass(frozen=True)
class EqualWeights:
    """pi_k = 1 / K: the limit of ``DirichletWeights`` for an infinite concentration."""

    concentration: float = np.inf

    def posterior(self, counts):
        """Parameters of q, (K,)."""
        return self.concentration + counts

    def expected_log(self, counts):
        """log pi_k."""
        return np.full(len(counts), -np.log(len(counts)))

    def mean(self, counts):
        """pi_k."""
        return np.full(len(counts), 1.0 / len(counts))

    def evidence(self, counts):
        """log p(z)."""
        return float(-counts.sum() * np.log(len(counts)))


@dataclass(frozen=True)
class StickBreakingWeights:
    """pi_k = v_k prod_{j<k} (1 - v_j), v_k ~ Beta(1, concentration): a Dirichlet process truncated at K.

    q(v_k) = Beta(1 + N_k, concentration + sum_{j>k} N_j). As in scikit-learn, the last stick is not forced to one.
    The sticks are taken by decreasing count, whatever the order of the components. No other order has a larger
    evidence: an exchange of neighbours j and k, with k after j and the mass T after both, changes it by
    log(concentration + T + N_k) - log(concentration + T + N_j).
    """

    concentration: float

    def posterior(self, counts):
        """Parameters of q, two arrays (K,) in the order of the components."""
        order, a, b = self._sticks(counts)
        return placed(a, order), placed(b, order)

    def _sticks(self, counts):
        """Components by decreasing count, and the parameters of q in this order."""
        order = np.argsort(-counts, kind="stable")
        counts = counts[order]
        after = counts.sum() - np.cumsum(counts)
        return order, 1.0 + counts, self.concentration + np.maximum(after, 0.0)

    def expected_log(self, counts):
        """E[log pi_k]."""
        order, a, b = self._sticks(counts)
        total = digamma(a + b)
        log_rest = digamma(b) - total
        return placed(digamma(a) - total + np.concatenate([[0.0], np.cumsum(log_rest)[:-1]]), order)

    def mean(self, counts):
        """E[pi_k], scaled to sum to one."""
        order, a, b = self._sticks(counts)
        rest = np.concatenate([[1.0], np.cumprod(b / (a + b))[:-1]])
        mean = a / (a + b) * rest
        return placed(mean / mean.sum(), order)

    def evidence(self, counts):
        """Log prior constants minus log posterior constants of the Beta distributions, summed."""
        prior = log_dirichlet(np.array([1.0, self.concentration]))
        return float(len(counts) * prior - log_dirichlet(np.stack(self._sticks(counts)[1:]), axis=0).sum())


def placed(values, order):
    """``values[i]`` at place ``order[i]``."""
    out = np.empty_like(values)
    out[order] = values
    return out


@dataclass(frozen=True)
class MaximumLikelihoodWeights:
    """No prior: pi_k = N_k / N; an empty component stays empty."""

    def expected_log(self, counts):
        """log pi_k, -inf for an empty component."""
        with np.errstate(divide="ignore"):
            return np.log(self.mean(counts))

    def mean(self, counts):
        """pi_k; clips the counts, because memoized sums may leave negative round-off in an empty component."""
        counts = np.maximum(counts, 0.0)
        return counts / counts.sum()

    def evidence(self, counts):
        """E[log p(z | pi)] = sum N_k log pi_k."""
        return float(xlogy(np.maximum(counts, 0.0), self.mean(counts)).sum())


def weights_of(params):
    """The prior of the weights that the parameters of a mixture give."""
    concentration, sticks = params.weight_concentration_prior, getattr(params, "weight_concentration_prior_type", None)
    if params.inference == "em":
        if concentration is None:
            return MaximumLikelihoodWeights()
        if np.isfinite(concentration):
            raise ValueError(
                f"weight_concentration_prior={concentration:g} has no effect with inference='em', where weights have "
                "no prior; set inference='vb' or weight_concentration_prior=None, or infinity for equal weights"
            )
    if concentration is None:
        concentration = 1.0 / params.n_components
    if sticks == "dirichlet_process":
        if np.isinf(concentration):
            raise ValueError(
                "weight_concentration_prior=inf makes all weights equal, which a Dirichlet process cannot; set "
                "weight_concentration_prior_type='dirichlet_distribution', or give a finite number"
            )
        return StickBreakingWeights(concentration)
    return EqualWeights() if np.isinf(concentration) else DirichletWeights(concentration)
