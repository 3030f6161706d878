"""Random Gaussians in the form that kernels read, and their log densities by NumPy in float64."""

import numpy as np
import reference


def random_table(rng, shape, n_features, n_components, dtype):
    """Factors as the kernel takes them, the same as (K, D, D) matrices, offsets and constants."""
    factors = rng.normal(size=(n_components, n_features, n_features)) / np.sqrt(n_features)
    if shape == "triangular":
        packed = reference.lower_triangles(factors).astype(dtype)
        matrices = np.zeros(factors.shape)
        matrices[:, *np.tril_indices(n_features)] = packed
    elif shape == "diagonal":
        packed = np.abs(factors[:, 0]).astype(dtype) + dtype(0.1)
        matrices = np.array([np.diag(row) for row in packed.astype(np.float64)])
    else:
        packed = np.abs(factors[:, 0, 0]).astype(dtype) + dtype(0.1)
        matrices = packed[:, None, None].astype(np.float64) * np.eye(n_features)
    offsets = rng.normal(size=(n_components, n_features)).astype(dtype)
    constants = rng.normal(scale=10, size=n_components).astype(dtype)
    return packed.reshape(-1), matrices, offsets, constants


def twin_and_error(shape, x, matrices, offsets, constants):
    """Log densities in float64, and how far arithmetic in the dtype of ``x`` may be from them.

    A sum of D products is within D units in the last place of the sum of their absolute values, and so is its square.
    """
    n_features, unit = x.shape[1], np.finfo(x.dtype).eps
    x, offsets, constants = (a.astype(np.float64) for a in (x, offsets, constants))
    expected, size = np.empty((len(x), len(constants))), np.empty((len(x), len(constants)))
    for k, matrix in enumerate(matrices):
        offset = matrix @ offsets[k] if shape == "spherical" else offsets[k]
        expected[:, k] = constants[k] - 0.5 * ((x @ matrix.T - offset) ** 2).sum(axis=1)
        size[:, k] = np.abs(constants[k]) + ((np.abs(x) @ np.abs(matrix).T + np.abs(offset)) ** 2).sum(axis=1)
    return expected, (3 * n_features + 8) * unit * size
