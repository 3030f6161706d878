"""Covariates of documents as a caller gives them: their check and their units."""

from dataclasses import dataclass

import numpy as np

from sparsemix._estimator.input.forms import floats_of
from sparsemix.topics._covariates.columns import power_of_two

# Half the range of a covariate is between this number and its inverse, so that coefficients are floats.
LEAST_SPREAD = 1e-290


@dataclass(frozen=True)
class GivenCovariates:
    """Covariates of the documents of a fit.

    Attributes
    ----------
    values : ndarray of shape (N, P)
        Of the documents of positive weight.
    weight : ndarray of shape (N,) or None
        Of these documents.
    center, scale : ndarray of shape (P,)
        What standardised covariates are relative to.
    """

    values: np.ndarray
    weight: np.ndarray | None
    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, given, n_documents, documents):
        """Check the covariates of ``n_documents``, of which those of positive weight are ``documents``."""
        values = np.empty((n_documents, 0)) if given is None else covariates_of(given)
        check_one_each(values, n_documents)
        values = values if documents.kept is None else values[documents.kept]
        share = np.ones(len(values)) if documents.sample_weight is None else documents.sample_weight
        return cls(values, documents.sample_weight, *standard_of(values, share / share.sum()))

    def design(self):
        """Standardised covariates after a column of ones, (N, P + 1)."""
        return design_of(self.values, self.center, self.scale)


def design_of(values, center, scale):
    """Standardised covariates after a column of ones, (n, P + 1)."""
    return np.column_stack([np.ones(len(values)), (values - center) / scale])


def names_of(given):
    """Names of the columns of a table; none of other forms."""
    return [str(name) for name in getattr(given, "columns", ())]


def covariates_of(given):
    """Checked covariates, (n, P) float64 and C-ordered, since sums depend on the layout."""
    values = np.ascontiguousarray(floats_of(given, "covariates"))
    values = values.reshape(-1, 1) if values.ndim == 1 else values
    if values.ndim != 2:
        raise ValueError(f"covariates has {values.ndim} dimensions; give one row of numbers for each document")
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"covariates has {values[row, column]} in row {row}, column {column}; replace it, or leave the document out"
        )
    return values


def standard_of(values, share):
    """Center and scale of each column: its standard deviation, the difference of two values, or one for a constant."""
    low, high = values.min(axis=0, initial=np.inf), values.max(axis=0, initial=-np.inf)
    spread = np.where(low < high, high / 2 - low / 2, 0.5)  # half of the range, which may be twice the largest float
    wrong = np.flatnonzero((spread < LEAST_SPREAD) | (spread > 1.0 / LEAST_SPREAD))
    if len(wrong):
        raise ValueError(
            f"column {wrong[0]} of covariates has values from {low[wrong[0]]:g} to {high[wrong[0]]:g}, whose "
            "coefficient is out of the range of float64; multiply the column by a power of ten"
        )
    center = low + share @ (values - low)
    unit = power_of_two(spread)  # no square is out of range
    deviation = np.sqrt(share @ ((values - center) / unit) ** 2) * unit
    binary = np.array([len(np.unique(column)) == 2 for column in values.T], dtype=bool)
    return center, np.where(low < high, np.where(binary, 2.0 * spread, deviation), 1.0)


def check_one_each(values, n_documents):
    """Raise unless there is one row for each document."""
    if len(values) != n_documents:
        raise ValueError(f"covariates has {len(values)} rows, but X has {n_documents}; give one for each document")
