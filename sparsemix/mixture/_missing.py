"""Initialisation from rows with missing values (NaN): the data as one Gaussian, and rows completed under it.

The epochs of a fit treat missing values exactly. Seeds and clusters of the initialisation need complete rows: they get
the conditional means of missing values under one Gaussian of all rows, as they are read, without a copy of the data.
"""

from dataclasses import replace

import numpy as np

from sparsemix._estimator.input.labels import column_name
from sparsemix._heuristics.mixture.start import one_component, subset
from sparsemix._models.mixture.missing import IncompleteTable
from sparsemix._models.mixture.model import MixtureModel
from sparsemix._rows.blocks import Observation, Rows, length, numbers, part
from sparsemix._stats import symmetric
from sparsemix._stats.altered import altered
from sparsemix._stats.families import FullGaussian, Gaussians

# Steps of expectation maximisation for one Gaussian, and number of rows that they use.
STEPS, ROWS = 8, 10_000
# Most columns for which rows are completed under a full covariance, whatever the covariances of the components.
MOST_COLUMNS = 128
# Share of its values that a row needs to make clusters of the initialisation, if enough rows have so many. Half was as
# good as all on tables with rows of one value, and better with values missing at random.
OBSERVED = 0.5
# Share of each variance that is added to it, and the variance of constant columns: completed, they stay constant.
RIDGE, CONSTANT = 1e-6, 1e-200


class CompletedRows(Rows):
    """Rows with conditional means in place of missing values, under one Gaussian with this table."""

    observation = Observation()

    def __init__(self, rows, table):
        super().__init__(rows.X, rows.sample_weight, rows.shift, rows.dtype)
        self.kept, self._of = rows.kept, rows
        self._completion = table.completion

    @property
    def mass(self):
        """See Rows; of a subsample, that of all rows."""
        return self._of.mass

    def load(self, selection, start, stop, buffer):
        """See Rows."""
        out = super().load(selection, start, stop, buffer)
        x, inexact = self._inexact(out, part(selection, start, stop))
        some = np.flatnonzero(inexact.any(axis=1)).astype(np.intc)
        completed = np.empty((len(some), out.shape[1]))
        self._completion.complete(0, x, some, np.ones(len(some)), completed)
        out[some] = completed
        return out

    def _inexact(self, out, chosen):  # noqa: ARG002
        """Rows as the completion reads them, and which values it replaces."""
        return out, np.isnan(out)

    def with_values(self, selection, least):
        """See Rows. Completed values of many rows lie in one subspace, where they look like a narrow cluster."""
        observed = (~np.isnan(self.X[selection])).mean(axis=1)
        for kept in (np.flatnonzero(observed >= OBSERVED), np.flatnonzero(observed)):
            if least <= len(kept):
                return numbers(selection, 0, length(selection))[kept]
        return selection

    def _is_view(self, selection):  # noqa: ARG002
        return False


def completed(rows, family, workers):
    """Rows completed under one Gaussian of them; of a full covariance if the columns are not too many."""
    return CompletedRows(rows, table_of(sampled_gaussian(correlated(family), rows, workers)))


def correlated(family):
    """The family of the Gaussian that completes rows."""
    if family.has_means and not family.shape.correlated and family.n_features <= MOST_COLUMNS:
        return FullGaussian(family.n_features)
    return family


def incomplete_gaussian(family, rows, workers):
    """All rows as one Gaussian of the family: steps of EM on a subsample, and one over all rows."""
    one = reading(family, rows, sampled_gaussian(family, rows, workers))
    moments = one_component if rows.source is None else rows.source.moments
    found = family.maximum_likelihood(moments(one, rows, workers), 0.0)
    variances = found.variances()[0]
    return replace(found, covariances=family.shape.with_variances(
        found.covariances, np.where(variances > 2.0 * CONSTANT, variances, 0.0)
    ))  # fmt: skip


def sampled_gaussian(family, rows, workers):
    """One Gaussian of a subsample of the rows by EM, from the variances of the observed values."""
    selection = subset(rows, ROWS, np.random.default_rng(0))
    some = Rows(rows.read(selection), rows.weight(selection))
    squares, observed = Rows(some.X.astype(np.float64) ** 2, some.sample_weight).observed()
    variances = squares / np.where(observed > 0.0, observed, 1.0)
    unit = family.unit_covariances(1)
    gaussian = Gaussians(
        family.structure, np.zeros((1, family.n_features)),
        family.shape.with_variances(unit, family.shape.pooled(variances)),
    )  # fmt: skip
    for _ in range(STEPS if family.shape.correlated else 1):
        one = reading(family, some, positive(gaussian))
        gaussian = family.maximum_likelihood(one_component(one, some, workers), 0.0)
    return positive(gaussian)


def reading(family, rows, gaussian):
    """A model of one component that completes rows under a Gaussian."""
    one = MixtureModel(family, None, 1, 1, rows.dtype, rows.shift)
    return altered(one, observation=Observation(missing=True), table=table_of(gaussian))


def table_of(gaussian):
    """Table of one Gaussian for rows with missing values."""
    return IncompleteTable(gaussian, gaussian.table(np.zeros(1), np.float64))


def positive(gaussian):
    """A Gaussian with a slightly larger, positive definite covariance."""
    covariances = np.array(gaussian.covariances)
    numbers = slice(None)
    if gaussian.shape.correlated:
        numbers = symmetric.diagonal_positions(gaussian.means.shape[1])
    covariances[..., numbers] = np.maximum(covariances[..., numbers] * (1.0 + RIDGE), CONSTANT)
    return replace(gaussian, covariances=covariances)


def observed_sample(X):
    """Rows for estimates of single columns: missing values are replaced by other values of their column, in turn."""
    rows = X if len(X) <= ROWS else X[np.sort(np.random.default_rng(0).choice(len(X), ROWS, replace=False))]
    out = np.array(rows)
    for column in out.T:
        lost = np.isnan(column)
        column[lost] = np.resize(column[~lost], lost.sum()) if not lost.all() else 0.0
    return out


def check_observed(means, params):
    """Refuse columns without an observed value; ``means`` are those of the observed values."""
    bad = np.flatnonzero(np.isnan(means))
    if len(bad):
        raise ValueError(
            f"column {column_name(params, bad[0])} of X is NaN in every row; leave out columns without any observed "
            "value"
        )
