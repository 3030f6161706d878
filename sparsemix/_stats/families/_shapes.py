"""Shapes of a covariance: a matrix, variances of the columns, or one variance for all columns.

Arrays of covariances have the shape's numbers on the last axis (a spherical covariance has none): packed lower
triangles (..., D (D + 1) / 2), variances (..., D), or variances (...). Leading axes are components; shared covariances
lack them.
"""

import numpy as np

from sparsemix._kernels.gaussians import _factor
from sparsemix._stats import symmetric
from sparsemix._warnings import warn_caller


class DiagonalShape:
    """One variance for each column.

    Attributes
    ----------
    correlated : bool
        Whether columns may be correlated.
    one_variance : bool
        Whether all columns share one variance.
    """

    correlated = False
    one_variance = False

    def of_one(self, n_features):
        """The shape of one covariance in scikit-learn's form."""
        return (n_features,)

    def multiple(self, value, n_features):
        """A multiple of the identity, in scikit-learn's form."""
        return np.full(n_features, value)

    def least_dof(self, n_features):  # noqa: ARG002
        """Degrees of freedom above which the prior is a distribution."""
        return 0

    def least_dof_of_mean(self, n_features):  # noqa: ARG002
        """Degrees of freedom above which the prior has an expected covariance."""
        return 2.0

    def dof_of_row(self, n_features):  # noqa: ARG002
        """Degrees of freedom that a row adds to the posterior."""
        return 1.0

    def pooled(self, variances):
        """Variances of the columns, as those of a covariance of this shape."""
        return variances

    def squares(self, rows):
        """What each row adds to the second moments, (n, ...)."""
        return rows**2

    def summed(self, covariances):
        """Sums of covariances, (D,) or (D, D), in the form of second moments."""
        return covariances

    def second_moments(self, stats, n_features):
        """Sums of squares of the columns and the squared sums of the columns, (K, D) each; ``first`` may be absent."""
        second = np.asarray(stats["second"])
        return second, stats["first"] ** 2 if "first" in stats else np.zeros((len(second), n_features))

    def variances(self, covariances, n_features):  # noqa: ARG002
        """Variances of the columns, (..., D)."""
        return covariances

    def with_variances(self, covariances, variances):
        """One covariance with other variances; columns whose variance changes lose their correlations."""
        return variances.reshape(covariances.shape)

    def inverse(self, covariances):
        """Inverses, in scikit-learn's form."""
        return 1.0 / covariances

    def refused(self, covariances, n_components):
        """Components without a positive variance."""
        return np.flatnonzero(~(covariances.reshape(n_components, -1) > 0.0).all(axis=1))

    def indefinite(self, covariances):  # noqa: ARG002
        """Components whose matrix is not positive definite; ``refused`` checks variances."""
        return np.empty(0, dtype=np.intp)

    def log_dets(self, covariances, n_features, tied):  # noqa: ARG002
        """Log determinants, (K,) or, tied, (1,)."""
        return np.log(covariances).sum(axis=-1, keepdims=tied)

    def precision_traces(self, covariances, n_features, tied):  # noqa: ARG002
        """Traces of the inverses, (K,) or, tied, (1,)."""
        return (1.0 / covariances).sum(axis=-1, keepdims=tied)

    def lengths_and_log_dets(self, covariances, vectors):
        """v^T C^-1 v and log |C| of K covariances and as many vectors."""
        return (vectors**2 / covariances).sum(axis=1), np.log(covariances).sum(axis=1)


class SphericalShape(DiagonalShape):
    """One variance for all columns."""

    one_variance = True

    def of_one(self, n_features):  # noqa: ARG002
        """See DiagonalShape."""
        return ()

    def multiple(self, value, n_features):  # noqa: ARG002
        """See DiagonalShape."""
        return value

    def dof_of_row(self, n_features):
        """See DiagonalShape."""
        return n_features

    def pooled(self, variances):
        """See DiagonalShape."""
        return np.full_like(variances, variances.mean())

    def squares(self, rows):
        """See DiagonalShape."""
        return (rows**2).sum(axis=1, keepdims=True)

    def summed(self, covariances):
        """See DiagonalShape."""
        return covariances.sum()

    def second_moments(self, stats, n_features):
        """See DiagonalShape; each column has the mean over all columns."""
        second, first = super().second_moments(stats, n_features)
        return np.repeat(second / n_features, n_features, axis=1), first.mean(axis=1, keepdims=True)

    def variances(self, covariances, n_features):
        """See DiagonalShape."""
        return np.repeat(np.expand_dims(covariances, -1), n_features, axis=-1)

    def with_variances(self, covariances, variances):
        """See DiagonalShape."""
        return np.full_like(covariances, variances[0])

    def log_dets(self, covariances, n_features, tied):  # noqa: ARG002
        """See DiagonalShape."""
        return n_features * np.log(covariances)

    def precision_traces(self, covariances, n_features, tied):  # noqa: ARG002
        """See DiagonalShape."""
        return n_features / covariances

    def lengths_and_log_dets(self, covariances, vectors):
        """See DiagonalShape."""
        return (vectors**2).sum(axis=1) / covariances, vectors.shape[1] * np.log(covariances)


class FullShape(DiagonalShape):
    """A matrix, as a packed lower triangle."""

    correlated = True

    def of_one(self, n_features):
        """See DiagonalShape."""
        return (n_features, n_features)

    def multiple(self, value, n_features):
        """See DiagonalShape."""
        return value * np.eye(n_features)

    def least_dof(self, n_features):
        """See DiagonalShape."""
        return n_features - 1

    def least_dof_of_mean(self, n_features):
        """See DiagonalShape."""
        return n_features + 1.0

    def squares(self, rows):
        """See DiagonalShape."""
        return symmetric.pack_outer(rows)

    def summed(self, covariances):
        """See DiagonalShape."""
        return symmetric.pack(covariances)

    def second_moments(self, stats, n_features):
        """See DiagonalShape."""
        second, first = super().second_moments(stats, n_features)
        return second[:, symmetric.diagonal_positions(n_features)], first

    def variances(self, covariances, n_features):
        """See DiagonalShape."""
        return covariances[..., symmetric.diagonal_positions(n_features)]

    def with_variances(self, covariances, variances):
        """See DiagonalShape."""
        out = np.array(covariances)
        packed = out.reshape(-1)
        diagonal = symmetric.diagonal_positions(len(variances))
        same = packed[diagonal] == variances
        packed *= symmetric.pack_outer(same.astype(np.float64))
        packed[diagonal] = variances
        return out

    def inverse(self, covariances):
        """See DiagonalShape."""
        return symmetric.inverse(covariances)

    def refused(self, covariances, n_components):  # noqa: ARG002
        """None: the factorisation checks matrices."""
        return np.empty(0, dtype=np.intp)

    def indefinite(self, covariances):
        """See DiagonalShape."""
        n_features = symmetric.n_features_of(covariances.shape[1])
        _, _, log_dets = factors_of(covariances, np.zeros((len(covariances), n_features)), np.float64)
        return np.flatnonzero(np.isnan(log_dets))

    def log_dets(self, covariances, n_features, tied):  # noqa: ARG002
        """See DiagonalShape."""
        return whitened(covariances)[2]

    def precision_traces(self, covariances, n_features, tied):  # noqa: ARG002
        """See DiagonalShape."""
        factors = whitened(covariances)[0]
        return np.einsum("kt,kt->k", factors, factors)

    def lengths_and_log_dets(self, covariances, vectors):
        """See DiagonalShape."""
        _, white, log_dets = whiten(covariances, vectors, np.float64)
        return (white**2).sum(axis=1), log_dets


FULL, DIAGONAL, SPHERICAL = FullShape(), DiagonalShape(), SphericalShape()


def serial(function, n):
    """Run ``function`` over all n pieces in one call; the engine passes a threaded ``split``."""
    function(0, n)


def whitened(covariances):
    """Inverse Cholesky factors of full covariances with the other results of ``whiten``; (1, ...) if tied."""
    covariances = np.atleast_2d(covariances)
    n_features = symmetric.n_features_of(covariances.shape[1])
    return whiten(covariances, np.zeros((len(covariances), n_features)), np.float64)


def whiten(covariances, means, dtype, split=serial):
    """Packed inverse Cholesky factors R_k, offsets R_k m_k and log determinants.

    Repairs a matrix that is not positive definite, with a warning (see ``repaired``).
    """
    means = np.ascontiguousarray(means, dtype=np.float64)
    factors, offsets, log_dets = factors_of(covariances, means, dtype, split)
    bad = np.flatnonzero(np.isnan(log_dets))
    if len(bad):
        repaired_factors, repaired_offsets, repaired_log_dets = factors[bad], offsets[bad], log_dets[bad]
        _factor.whiten(repaired(covariances, bad), means[bad], repaired_log_dets, repaired_factors, repaired_offsets)
        refuse(bad[np.isnan(repaired_log_dets)])
        factors[bad], offsets[bad], log_dets[bad] = repaired_factors, repaired_offsets, repaired_log_dets
    return factors, offsets, log_dets


def factors_of(covariances, means, dtype, split=serial):
    """As ``whiten`` without repair: an indefinite matrix gets the log determinant NaN."""
    factors, offsets = np.empty(covariances.shape, dtype=dtype), np.empty(means.shape, dtype=dtype)
    log_dets = np.empty(len(means))
    split(lambda first, last: _factor.whiten(covariances, means, log_dets, factors, offsets, first, last), len(means))
    return factors, offsets, log_dets


def cholesky(covariances):
    """Packed lower Cholesky factors of packed matrices (K, D (D + 1) / 2), repaired as in ``whiten``."""
    factors = symmetric.cholesky(covariances)
    bad = np.flatnonzero(np.isnan(factors[:, 0]))
    if len(bad):
        factors[bad] = symmetric.cholesky(repaired(covariances, bad))
        refuse(bad[np.isnan(factors[bad, 0])])
    return factors


def repaired(covariances, bad):
    """Add 1e-6 of each variance to the matrices ``bad``, with a warning.

    A variance that is not positive gets 1e-6 of the mean variance.
    """
    warn_caller(
        f"the covariance of component {bad[0]} is not positive definite; 1e-6 of its variances is added to its "
        "diagonal; raise reg_covar or covariance_prior to avoid this",
        RuntimeWarning,
    )
    out = covariances[bad]
    diagonal = symmetric.diagonal_positions(symmetric.n_features_of(out.shape[1]))
    variances = out[:, diagonal]
    out[:, diagonal] += 1e-6 * np.where(variances > 0.0, variances, variances.mean(axis=1, keepdims=True))
    return out


def refuse(bad):
    """Raise if any matrix is still not positive definite after the repair."""
    if len(bad):
        raise ValueError(
            f"the covariance of component {bad[0]} is not positive definite; raise reg_covar (with inference='vb' also "
            "covariance_prior), lower n_components, or remove rows far from all others"
        )
