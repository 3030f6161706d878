"""The linear likelihoods: what a mixture of directions, words, flags or mixed columns checks, reads and estimates."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.checks import check_counts
from sparsemix._estimator.summary.columns import Numbers, Shares
from sparsemix._stats.linear import Bernoulli, Mixed, Multinomial, VonMisesFisher
from sparsemix._stats.linear.von_mises_fisher import coordinate_moments
from sparsemix._warnings import warn_caller
from sparsemix.mixture._linear._columns import check_valued
from sparsemix.mixture._linear._reading import read
from sparsemix.mixture._linear._rows import (
    BinaryRows,
    MixedRows,
    SparseDocuments,
    UnitDocuments,
    UnitRows,
    check_binary,
    check_directions,
    check_zeros,
)
from sparsemix.mixture._linear._table import columns_of

# Weight of the prior of separate concentrations, in rows: its mean resultant length is that of all rows.
PRIOR_ROWS = 1.0
# Mean resultant length of components with given means; the most likely one of a row does not depend on it.
SPREAD = 0.5
# If one minus the length of the mean direction is less than this times n_features, all rows together have a
# concentration of about 1e6. That is the largest concentration of a component, so no component could be narrower.
NARROW = 5e-7


class Likelihood(Protocol):
    """What a ``LinearRecipe`` needs of a likelihood; x . eta_k + c_k is the log density of row x in component k.

    Terms of the row alone, such as -sum(log(x!)) of counts, may be left out: bounds and scores then lack them. A
    likelihood that depends on the columns may have ``prepared(estimator)``, which returns it after the check of rows.
    """

    def check(self, estimator, X, reset):
        """X as checked numbers; with ``reset`` the estimator stores the number and the names of its features."""

    def refuse(self, X, kept):
        """Raise for rows that have no density; X are the rows ``kept`` of those given (None: all)."""

    def rows(self, X, sample_weight):
        """Rows as learning reads them, such as ``SparseDocuments``; ``total()`` is their weighted sum."""

    def exact_rows(self, X):
        """Rows as predictions read them, in double precision."""

    def check_information(self, rows):
        """Raise if no row tells anything."""

    def family(self, params, rows):
        """The ``LinearFamily``, with the prior that follows from parameters and rows."""

    def sums(self, means, rows):
        """Sums (K, D) of one row in each component with given means, checked."""

    def columns(self, plug_in, names, shares):
        """What ``summary`` says of the columns: a list of Numbers, Shares and Category. Only ``summary`` needs it."""


@dataclass(frozen=True)
class Directions:
    """Rows on the unit sphere, von Mises-Fisher."""

    name: str = "SparseVonMisesFisherMixture"
    keeps_labels: bool = True  # as spherical k-means, which it replaces

    def check(self, estimator, X, reset):
        return check_directions(estimator, X, reset)

    def refuse(self, X, kept):
        check_zeros(X, kept, self.name)

    def rows(self, X, sample_weight):
        return UnitDocuments(X, sample_weight, X.dtype) if sparse.issparse(X) else UnitRows(X, sample_weight)

    def exact_rows(self, X):
        return self.rows(X, None)

    def check_information(self, rows):
        """Any row has information."""

    def family(self, params, rows):
        n_features = rows.X.shape[1]
        mean_length = min(float(np.linalg.norm(rows.total())) / rows.mass, 1.0)
        if n_features > 1 and 1.0 - mean_length < NARROW * n_features:
            warn_caller(
                f"all rows of X have nearly the same direction (their mean has length 1 - {1.0 - mean_length:.1g}), so "
                "clusters of directions are not found; standardise the columns "
                "(sklearn.preprocessing.StandardScaler), or use SparseGaussianMixture",
            )
        if params.concentration_type == "shared":
            return VonMisesFisher(n_features)
        return VonMisesFisher(n_features, shared=False, weight=PRIOR_ROWS, mean_length=mean_length)

    def sums(self, means, rows):  # noqa: ARG002
        norms = np.linalg.norm(means, axis=1, keepdims=True)
        if not norms.all():
            raise ValueError(f"row {norms.argmin()} of init_params is zero and has no direction; give mean directions")
        return SPREAD * means / norms

    def columns(self, plug_in, names, shares):
        return [Numbers.of_moments(names, *coordinate_moments(plug_in.means, plug_in.scale), shares)]


@dataclass(frozen=True)
class Words:
    """Documents as word counts, multinomial."""

    dtype: Any = np.float32  # of tables; tests set float64 for exact comparison

    def check(self, estimator, X, reset):
        return check_counts(estimator, X, reset)

    def refuse(self, X, kept):
        """All counts are fine."""

    def rows(self, X, sample_weight):
        return SparseDocuments(X, sample_weight, self.dtype)

    def exact_rows(self, X):
        return SparseDocuments(X, None, np.float64)

    def check_information(self, rows):
        if not rows.informative:
            raise ValueError("no document of X has a token of positive weight; give at least one")

    def family(self, params, rows):
        totals = rows.total()
        return Multinomial(rows.X.shape[1], params.word_prior, (totals + 1.0) / (totals + 1.0).sum())

    def sums(self, means, rows):
        if (means < 0).any() or not (means.sum(axis=1) > 0).all():
            raise ValueError("a row of init_params is not a distribution; give no negative numbers, and positive sums")
        return means / means.sum(axis=1, keepdims=True) * rows.total().sum() / rows.mass

    def columns(self, plug_in, names, shares):
        return [Shares.of_words(names, plug_in.counts.means, shares)]


@dataclass(frozen=True)
class Flags:
    """Rows of yes and no, Bernoulli; NaN is a lost answer."""

    dtype: Any = np.float32

    def check(self, estimator, X, reset):
        return check_binary(estimator, X, reset, estimator._params.binarize)

    def refuse(self, X, kept):
        """All rows are fine."""

    def rows(self, X, sample_weight):
        return BinaryRows(X, sample_weight, self.dtype)

    def exact_rows(self, X):
        return BinaryRows(X, None, np.float64)

    def check_information(self, rows):
        """Any row has information."""

    def family(self, params, rows):
        n = len(rows)  # and not the mass, which may be any number
        yes, lost = (n * rows.total() / rows.mass).reshape(2, -1)
        frequencies = (yes + 1.0) / (n - lost + 2.0)
        return Bernoulli(rows.X.shape[1], params.beta_prior, frequencies)

    def sums(self, means, rows):  # noqa: ARG002
        if not ((means >= 0) & (means <= 1)).all():
            row = np.flatnonzero(~((means >= 0) & (means <= 1)).all(axis=1))[0]
            raise ValueError(f"row {row} of init_params holds a number outside 0 to 1; give probabilities")
        return means

    def columns(self, plug_in, names, shares):
        counts, known = plug_in.counts, 1.0
        if counts.lost is not None:
            known = np.clip(1.0 - counts.lost / np.maximum(counts.rows, 1e-300)[:, None], 0.0, 1.0)
        return [Shares.of_flags(names, counts.means, shares, known)]


@dataclass(frozen=True)
class Tables:
    """Columns of several kinds, which the first check finds: ``schema`` are Columns."""

    schema: Any = None

    def check(self, estimator, X, reset):
        params = estimator._params
        raw = columns_of(estimator, X, reset)
        schema = read(raw, params.columns) if reset else self.schema
        codes = schema.codes(raw, params.handle_unknown)
        if reset:
            check_valued(schema.columns, codes)
            estimator._schema = schema
            if schema.guessed and not schema.plain:
                print(f"{type(estimator).__name__}: {schema.described()}")
        return codes

    def prepared(self, estimator):
        return Tables(estimator._schema)

    def refuse(self, X, kept):
        """All rows are fine."""

    def rows(self, X, sample_weight):
        return MixedRows(X, sample_weight, self.schema.kinds())

    def exact_rows(self, X):
        return self.rows(X, None)

    def check_information(self, rows):
        """Any row has information."""

    def family(self, params, rows):
        rows.kinds = self.schema.kinds(rows.X, rows.kept, params.reg_covar)
        n_columns, n = len(self.schema.columns), len(rows)
        share = params.n_components ** (-2.0 / n_columns) * min(1.0, n_columns * params.n_components / n)
        mass = n if rows.sample_weight is None else rows.sample_weight.sum()
        return Mixed(rows.kinds, n * rows.total_of_sample() / mass, params.prior_rows, share)

    def columns(self, plug_in, names, shares):  # noqa: ARG002
        masses = np.maximum(plug_in.at.masses, 0.0)
        return [part for found in plug_in.typical() for part in self.schema.said(*found, masses)]

    def sums(self, means, rows):  # noqa: ARG002
        raise ValueError(
            "init_params is an array, and components of mixed columns have no means; give a name, or "
            "{'responsibilities': array}"
        )
