"""Rows of columns of several kinds, which are independent in a component: a product of exponential families.

The log density of a row is linear in the statistics T of its values (``kinds``). T is the row that the engine of linear
likelihoods reads: sums of T are the sufficient statistics, and products with natural parameters are the log densities.
"""

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from sparsemix._stats.families import serial
from sparsemix._stats.linear._base import LinearFamily, LinearTable, csr, dense


@dataclass(frozen=True)
class MixedSums:
    """Sums of T (K, W) and masses of components (K,) under a family."""

    family: "Mixed"
    sums: np.ndarray
    masses: np.ndarray

    def natural(self, method, *arguments):
        """Natural parameters (K, W) by a method of the kinds."""
        parts = self.family.parts(method, self.sums, *arguments)
        return np.hstack(list(parts))


@dataclass(frozen=True)
class MixedLogs:
    """Log likelihoods of rows, linear in T with natural parameters (K, W), at these sums."""

    natural: np.ndarray
    at: MixedSums

    def typical(self):
        """Each kind of columns, with its typical values and the mass of known ones."""
        family, sums = self.at.family, self.at.sums
        known = (kind.known(sums[:, part]) for kind, part in zip(family.kinds, spans_of(family.kinds), strict=True))
        return zip(family.kinds, family.parts("typical", sums), known, strict=True)

    def table(self, log_weights, dtype, split=serial):  # noqa: ARG002
        """Table of ``log_weights[k]`` + log likelihoods of rows."""
        return LinearTable(self.natural.astype(dtype, copy=False), log_weights)


class Mixed(LinearFamily):
    """Kinds of columns, each with its prior; ``total`` (W,) are the sums of T over all rows, and ``rows`` and ``share``
    are those of the priors (see ``kinds``).
    """

    def __init__(self, kinds, total, rows, share):
        super().__init__(len(total))
        self.kinds, self.total = kinds, total
        self.priors = [kind.prior(total[part], rows, share) for kind, part in zip(kinds, spans_of(kinds), strict=True)]

    def parts(self, method, sums, *arguments):
        """Results of a method of each kind, for its prior and its sums."""
        for kind, prior, part in zip(self.kinds, self.priors, spans_of(self.kinds), strict=True):
            yield getattr(kind, method)(prior, sums[:, part], *arguments)

    def fit(self, stats, variational, previous=None):  # noqa: ARG002
        """Prior + statistics."""
        return MixedSums(self, dense(stats["first"]), stats["count"])

    def kept(self, parameters, stats):  # noqa: ARG002
        """See LinearFamily; the parameters are the sums themselves."""
        return self.fit(stats, variational=None)

    def log_evidences(self, stats, parameters):  # noqa: ARG002
        """See LinearFamily."""
        return sum(self.parts("evidence", dense(stats["first"])))

    def objective(self, parameters, stats, variational):  # noqa: ARG002
        """See LinearFamily; in EM includes the log prior, up to its constant."""
        return float(sum(self.parts("evidence" if variational else "penalised", dense(stats["first"]))).sum())

    def expected(self, parameters, variational):
        """See LinearFamily."""
        return MixedLogs(parameters.natural("natural", variational), parameters)

    def plug_in(self, parameters):
        """Log likelihoods at the posterior means."""
        return MixedLogs(parameters.natural("plug_in"), parameters)

    def n_parameters(self, n_components):
        """See LinearFamily."""
        return n_components * sum(kind.n_parameters for kind in self.kinds)

    def seed_weights(self, x):
        """Log likelihoods under distributions made of the row and of all rows."""
        rows = csr(x, self.n_features)

        def weights(chosen):
            out = rows @ self._seeds(rows[np.atleast_1d(chosen)]).T
            return out.T if np.ndim(chosen) else out[:, 0]

        return weights

    def own_weights(self, x):
        """Log likelihood of each row under its own distribution."""
        rows = csr(x, self.n_features)
        return rows.multiply(self._seeds(rows)).sum(axis=1)

    def _seeds(self, rows):
        """Natural parameters of components made of a row each, sparse (m, W)."""
        rows = rows.toarray()
        parts = zip(self.kinds, spans_of(self.kinds), strict=True)
        return np.hstack([kind.seeds(self.total[part], rows[:, part]) for kind, part in parts])

    def axes(self, width):  # noqa: ARG002
        """See LinearFamily."""
        parts = zip(self.kinds, spans_of(self.kinds), strict=True)
        return np.hstack([kind.axes(self.total[part]) for kind, part in parts])


def spans_of(kinds):
    """Places of the statistics of each kind in T."""
    return [slice(*pair) for pair in pairwise(accumulate((kind.width for kind in kinds), initial=0))]


def encoded(kinds, X):
    """T of rows as compressed rows: indptr, indices, values and their number of columns W."""
    X, size = X.astype(np.float64, copy=False), sum(kind.entries for kind in kinds)
    places, values = np.empty((len(X), size), dtype=np.int32), np.empty((len(X), size))
    start = first = 0
    for kind in kinds:
        entries = slice(start, start + kind.entries)
        kind.encode(X, places[:, entries], values[:, entries])
        places[:, entries] += first
        start, first = entries.stop, first + kind.width
    observed = ~np.isnan(values)
    indptr = np.zeros(len(X) + 1, dtype=np.int64)
    np.cumsum(observed.sum(axis=1), out=indptr[1:])
    return indptr, places[observed], values[observed], first
