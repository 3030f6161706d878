"""Independent yes-or-no features (Bernoulli distributions) with a symmetric Beta prior: latent class analysis.

log F(x | k) = sum_d log(1 - theta_kd) + sum_d x_d logit(theta_kd): a constant for each component plus a sum over the
features that a row has. In EM, probabilities are the posterior mode under Beta(1 + prior, 1 + prior): relative
frequencies with ``prior`` added to the counts of yes and of no, because a probability of zero or one would exclude
rows for ever.

An answer that is not observed drops out. Rows with such answers have D more columns, whose ones mark them and have the
weights -log(1 - theta_kd); statistics count them as ``lost``.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import betaln, digamma

from sparsemix._stats.families import serial
from sparsemix._stats.linear._base import LinearFamily, LinearTable, csr, dense, entries_of
from sparsemix._stats.sums import added

# A row used as an initial cluster is smoothed by this many rows of which features have their overall frequencies.
SEED_ROWS = 1.0
# Components per step of a table, which limits temporary memory.
STEP = 16


@dataclass(frozen=True)
class YesNoCounts:
    """Expected counts of yes (K, D), of rows (K,) and of lost answers (K, D), None if there are none; the prior of each
    of the two answers.
    """

    yes: np.ndarray
    rows: np.ndarray
    prior: float
    lost: np.ndarray | None = None

    def posteriors(self, part):
        """Parameters of the Beta posteriors of some components; clips round-off of additions and subtractions."""
        rows = self.rows[part][:, None]
        rows = np.maximum(rows if self.lost is None else rows - self.lost[part], 0.0)
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
        return YesNoTable(natural, log_weights + constants, self)

    def of_lost(self):
        """Weights (K, D) of the marks of lost answers."""
        out = np.empty(self.counts.yes.shape)
        for start in range(0, len(out), STEP):
            yes, no = self.counts.posteriors(slice(start, start + STEP))
            out[start : start + STEP] = self.function(yes + no) - self.function(no)
        return out


class YesNoTable(LinearTable):
    """Weights of rows of D columns, and of rows of 2 D columns, of which the second half marks lost answers."""

    def __init__(self, natural, constants, logs):
        super().__init__(natural, constants)
        self.logs = logs

    @cached_property
    def wide(self):
        """The table for rows with lost answers, made on first use."""
        marks = self.logs.of_lost().astype(self.natural.dtype)
        return LinearTable(np.hstack([self.natural, marks]), self.constants)

    def weights(self, x, out):
        """See LinearTable."""
        return super().weights(x, out) if x.n_words == self.natural.shape[1] else self.wide.weights(x, out)

    def pair_weights(self, x, starts, rows):
        """See LinearTable."""
        narrow = x.n_words == self.natural.shape[1]
        return super().pair_weights(x, starts, rows) if narrow else self.wide.pair_weights(x, starts, rows)


class Bernoulli(LinearFamily):
    """D features, each with the prior Beta(``prior``, ``prior``); ``frequencies`` (D,) smooth rows used as clusters."""

    def __init__(self, n_features, prior, frequencies=None):
        super().__init__(n_features)
        self.prior = prior
        self.frequencies = frequencies

    def fit(self, stats, variational, previous=None):  # noqa: ARG002
        """Prior + statistics."""
        lost = stats["lost"]
        lost = dense(lost) if (lost.nnz if issparse(lost) else lost.any()) else None
        return YesNoCounts(dense(stats["first"]), stats["count"], self.prior, lost)

    def empty_stats(self, n_components, shift=None, sparse=False):
        """See LinearFamily; ``lost`` counts answers that were not observed, (K, D)."""
        out = super().empty_stats(n_components, shift, sparse)
        out.put_sums("lost", (csr_array if sparse else np.zeros)((n_components, self.n_features)))
        return out

    def add_sums(self, stats, sums):
        """See LinearFamily."""
        if sums.shape[1] > self.n_features:
            lost, sums = sums[:, self.n_features :], sums[:, : self.n_features]
            stats.put_sums("lost", added(stats["lost"], lost, 1.0, signed=True))
        super().add_sums(stats, sums)

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
        d, width = self.n_features, x.n_words
        rows, (constant, without), (more_constant, more) = csr(x, width), *self._seeds(width)
        of_others = constant + rows @ without

        def weights(chosen):
            seeds = np.atleast_1d(chosen)
            owner, columns, _ = entries_of(x, seeds)
            gains = np.zeros((width, len(seeds)))
            gains[columns % d, owner] = more[columns]
            if width > d:
                gains[d + columns % d, owner] = -more_constant[columns]
            constants = np.bincount(owner, more_constant[columns], minlength=len(seeds))
            out = of_others[:, None] + rows @ gains + constants
            return out.T if np.ndim(chosen) else out[:, 0]

        return weights

    def own_weights(self, x):
        """Log likelihood of each row under its own smoothed probabilities."""
        (constant, without), (more_constant, more) = self._seeds(x.n_words)
        own = without.copy()
        own[: self.n_features] += (more_constant + more)[: self.n_features]
        return constant + csr(x, x.n_words) @ own

    def _seeds(self, width):
        """Constant and weights of columns for a seed row of zeros, and how each column of the row changes both.

        A lost answer of the seed has the probability of its feature in all rows.
        """
        theta = (SEED_ROWS * self.frequencies + np.array([[0.0], [1.0]])) / (SEED_ROWS + 1.0)
        theta = np.vstack([theta, self.frequencies])
        log_no, logit = np.log1p(-theta), np.log(theta) - np.log1p(-theta)
        without = np.concatenate([logit[0], -log_no[0]])[:width]
        more_constant, more = ((each[1:] - each[0]).ravel()[:width] for each in (log_no, logit))
        return (log_no[0].sum(), without), (more_constant, more)
