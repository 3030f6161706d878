"""Independent yes-or-no features (Bernoulli distributions) with a symmetric Beta prior: latent class analysis.

log F(x | k) = sum_d log(1 - theta_kd) + sum_d x_d logit(theta_kd): a constant for each component plus a sum over the
features that a row has. In EM, probabilities are the posterior mode under Beta(1 + prior, 1 + prior): relative
frequencies with ``prior`` added to the counts of yes and of no, because a probability of zero or one would exclude
rows for ever.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma

from sparsemix._stats.families import serial
from sparsemix._stats.linear._base import LinearFamily, LinearTable, csr, dense, entries_of

# A row used as an initial cluster is smoothed by this many rows of which features have their overall frequencies.
SEED_ROWS = 1.0
# Components per step of a table, which limits temporary memory.
STEP = 16


@dataclass(frozen=True)
class YesNoCounts:
    """Expected counts of yes (K, D) and of rows (K,), with the prior of each of the two answers."""

    yes: np.ndarray
    rows: np.ndarray
    prior: float

    def posteriors(self, part):
        """Parameters of the Beta posteriors of some components; clips round-off of additions and subtractions."""
        rows = np.maximum(self.rows[part], 0.0)[:, None]
        yes = np.clip(self.yes[part], 0.0, rows)
        return self.prior + yes, self.prior + (rows - yes)

    @property
    def means(self):
        """Probabilities of yes, (K, D)."""
        yes, no = self.posteriors(slice(None))
        return yes / (yes + no)


@dataclass(frozen=True)
class YesNoLogs:
    """E[log theta] and E[log(1 - theta)] if ``function`` is digamma, the logs of the means if it is np.log."""

    counts: YesNoCounts
    function: object

    def table(self, log_weights, dtype, split=serial):
        """Table of ``log_weights[k]`` + log likelihoods of rows."""
        natural, constants = np.empty(self.counts.yes.shape, dtype), np.empty(len(self.counts.rows))

        def some(first, last):
            for start in range(first, last, STEP):
                part = slice(start, min(start + STEP, last))
                yes, no = self.counts.posteriors(part)
                log_no = self.function(no)
                natural[part] = self.function(yes) - log_no
                constants[part] = (log_no - self.function(yes + no)).sum(axis=1)

        split(some, len(constants))
        return LinearTable(natural, log_weights + constants)


class Bernoulli(LinearFamily):
    """D features, each with the prior Beta(``prior``, ``prior``); ``frequencies`` (D,) smooth rows used as clusters."""

    def __init__(self, n_features, prior, frequencies=None):
        super().__init__(n_features)
        self.prior = prior
        self.frequencies = frequencies

    def fit(self, stats, variational, previous=None):  # noqa: ARG002
        """Prior + statistics."""
        return YesNoCounts(dense(stats["first"]), stats["count"], self.prior)

    def kept(self, parameters, stats):  # noqa: ARG002
        """See LinearFamily; counts are the sums themselves."""
        return self.fit(stats, variational=None)

    def log_evidences(self, stats, parameters):  # noqa: ARG002
        """See LinearFamily."""
        out, counts = np.empty(stats.n_components), self.fit(stats, variational=True)
        for start in range(0, len(out), STEP):
            yes, no = counts.posteriors(slice(start, start + STEP))
            out[start : start + STEP] = (betaln(yes, no) - betaln(self.prior, self.prior)).sum(axis=1)
        return out

    def objective(self, parameters, stats, variational):
        """See LinearFamily; in EM includes the log prior, up to its constant."""
        if variational:
            return float(self.log_evidences(stats, parameters).sum())
        total = 0.0
        for start in range(0, stats.n_components, STEP):
            yes, no = parameters.posteriors(slice(start, start + STEP))
            total += (yes * np.log(yes) + no * np.log(no) - (yes + no) * np.log(yes + no)).sum()
        return float(total)

    def expected(self, parameters, variational):
        """See LinearFamily."""
        return YesNoLogs(parameters, digamma if variational else np.log)

    def plug_in(self, parameters):
        """Log likelihoods at the posterior means."""
        return self.expected(parameters, variational=False)

    def n_parameters(self, n_components):
        """See LinearFamily."""
        return n_components * self.n_features

    def seed_weights(self, x):
        """Log likelihoods under the row's smoothed probabilities."""
        rows, (constant, without), (more_constant, more) = csr(x, self.n_features), *self._seeds()
        of_others = constant + rows @ without

        def weights(chosen):
            seeds = np.atleast_1d(chosen)
            owner, columns, _ = entries_of(x, seeds)
            gains = np.zeros((self.n_features, len(seeds)))
            gains[columns, owner] = more[columns]
            constants = np.bincount(owner, more_constant[columns], minlength=len(seeds))
            out = of_others[:, None] + rows @ gains + constants
            return out.T if np.ndim(chosen) else out[:, 0]

        return weights

    def own_weights(self, x):
        """Log likelihood of each row under its own smoothed probabilities."""
        (constant, without), (more_constant, more) = self._seeds()
        return constant + csr(x, self.n_features) @ (without + more_constant + more)

    def _seeds(self):
        """Constant and weights of features for a seed row of zeros, and how each feature of the row changes both."""
        theta = (SEED_ROWS * self.frequencies + np.array([[0.0], [1.0]])) / (SEED_ROWS + 1.0)
        log_no, logit = np.log1p(-theta), np.log(theta) - np.log1p(-theta)
        return (log_no[0].sum(), logit[0]), (log_no[1] - log_no[0], logit[1] - logit[0])
