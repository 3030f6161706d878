"""Symmetric and triangular matrices as packed lower triangles, row by row: D (D + 1) / 2 numbers each."""

from functools import lru_cache

import numpy as np
from scipy.linalg import lapack


@lru_cache(maxsize=16)
def _positions(n_features):
    return np.tril_indices(n_features)


def n_features_of(size):
    """D of a triangle of D (D + 1) / 2 numbers."""
    return round((np.sqrt(8 * size + 1) - 1) / 2)


def packed_size(n_features):
    """Numbers in one triangle."""
    return n_features * (n_features + 1) // 2


def diagonal_positions(n_features):
    """Positions of the diagonal within a packed triangle."""
    k = np.arange(n_features)
    return k * (k + 3) // 2


def pack(matrices):
    """(..., D, D) to (..., D (D + 1) / 2), C-ordered; only the lower triangles are read."""
    matrices = np.asarray(matrices, dtype=np.float64)
    out = np.empty((*matrices.shape[:-2], packed_size(matrices.shape[-1])))
    for row, place in _rows(matrices.shape[-1]):
        out[..., place] = matrices[..., row, : row + 1]
    return out


def unpack(packed):
    """(..., D (D + 1) / 2) to symmetric (..., D, D)."""
    lower = unpack_triangle(packed)
    out = lower + np.swapaxes(lower, -1, -2)
    diagonal = np.arange(out.shape[-1])
    out[..., diagonal, diagonal] = lower[..., diagonal, diagonal]
    return out


def unpack_triangle(packed):
    """(..., D (D + 1) / 2) to lower triangular (..., D, D)."""
    n_features = n_features_of(packed.shape[-1])
    out = np.zeros((*packed.shape[:-1], n_features, n_features), dtype=packed.dtype)
    for row, place in _rows(n_features):
        out[..., row, : row + 1] = packed[..., place]
    return out


def _rows(n_features):
    """Number of each row of a triangle and its place in the packed one: contiguous copies are fast."""
    return ((row, slice(packed_size(row), packed_size(row + 1))) for row in range(n_features))


def pack_outer(vectors):
    """Packed v v^T of the last axis: (..., D) to (..., D (D + 1) / 2)."""
    rows, columns = _positions(vectors.shape[-1])
    return np.take(vectors, rows, axis=-1) * np.take(vectors, columns, axis=-1)  # indexing would not give C order


def pack_identity(n_features, scale=1.0):
    """Packed multiple of the identity."""
    out = np.zeros(packed_size(n_features))
    out[diagonal_positions(n_features)] = scale
    return out


def cholesky(packed):
    """Packed lower Cholesky factors of (K, D (D + 1) / 2); NaN for matrices that are not positive definite."""
    try:
        return pack(np.linalg.cholesky(unpack_triangle(packed)))
    except np.linalg.LinAlgError:
        if len(packed) == 1:
            return np.full_like(packed, np.nan)
        return np.concatenate([cholesky(one[None]) for one in packed])


def log_dets(packed):
    """Log determinants of (K, D (D + 1) / 2); NaN for matrices that are not positive definite."""
    out = np.full(len(packed), np.nan)
    for k, lower in enumerate(unpack_triangle(packed)):
        factor, failed = lapack.dpotrf(lower.T, lower=0, clean=0, overwrite_a=1)  # several times as fast as NumPy's
        if not failed:
            out[k] = 2.0 * np.log(np.diagonal(factor)).sum()
    return out


def inverse(matrices):
    """Inverses of positive definite (..., D, D), accurate for any units of the columns."""
    exponents = np.frexp(np.diagonal(matrices, axis1=-2, axis2=-1))[1] // 2
    scaled = np.ldexp(matrices, -exponents[..., :, None] - exponents[..., None, :])
    return np.ldexp(np.linalg.inv(scaled), -exponents[..., :, None] - exponents[..., None, :])


def pack_product(factors):
    """Packed L L^T of packed triangles L."""
    triangles = unpack_triangle(factors)
    return pack(triangles @ np.swapaxes(triangles, -1, -2))


def product_diagonal(factors):
    """Diagonals of L L^T of packed triangles L: (..., D (D + 1) / 2) to (..., D)."""
    starts = diagonal_positions(n_features_of(factors.shape[-1])) - np.arange(n_features_of(factors.shape[-1]))
    return np.add.reduceat(factors**2, starts, axis=-1)
