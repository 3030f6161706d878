"""Collapsed Gaussian clusters with conjugate priors: Student-t predictive densities, row-by-row updates.

The arithmetic is in gaussian_clusters.h.
"""

import numpy as np

from libc.math cimport INFINITY, log

from sparsemix._kernels.clusters._clusters cimport Clusters
from sparsemix._kernels.vectors._simd cimport instruction_level

from sparsemix._kernels.vectors._simd import aligned_empty


cdef extern from "clusters/gaussian_clusters.h" nogil:
    enum:
        SPARSEMIX_FULL
        SPARSEMIX_ZERO_MEAN
        SPARSEMIX_DIAG
        SPARSEMIX_SPHERICAL
        SPARSEMIX_COUNT
        SPARSEMIX_MEAN
        SPARSEMIX_PADDING
    ctypedef struct sparsemix_gaussians:
        int isa, structure
        Py_ssize_t n_features, width
        double kappa, nu, row_dof
        const double* kappas
        double* work
        double* rotations
    void sparsemix_refresh(const sparsemix_gaussians*, double*)
    double sparsemix_gaussian_score(const sparsemix_gaussians*, const double*, const double*)
    double sparsemix_gaussian_score_without(
        const sparsemix_gaussians*, const double*, const double*, const double*, double)
    double sparsemix_gaussian_bound(const sparsemix_gaussians*, const double*, const double*, Py_ssize_t)
    double sparsemix_gaussian_score_from(const sparsemix_gaussians*, const double*, const double*, double)
    int sparsemix_has_matrix(const sparsemix_gaussians*)
    int sparsemix_gaussian_move(const sparsemix_gaussians*, const double*, double*, const double*, double)


STRUCTURES = {
    "full": SPARSEMIX_FULL,
    "zero_mean": SPARSEMIX_ZERO_MEAN,
    "diag": SPARSEMIX_DIAG,
    "spherical": SPARSEMIX_SPHERICAL,
}
# Columns of a table of slots: the count, two cached numbers, the mean from here on, then the scale.
COUNT = SPARSEMIX_COUNT
MEAN = SPARSEMIX_MEAN

# Columns of a first bound; matrices of fewer than twice as many are evaluated.
cdef Py_ssize_t BOUND_COLUMNS = 16
# Clusters that together have less than this share of a row's largest weight are skipped: e^-30.
cdef double LEFT_OUT = 30.0


def scale_size(structure, Py_ssize_t n_features):
    """Numbers in the scale of a slot."""
    sizes = {"diag": n_features, "spherical": 1}
    return sizes.get(structure, n_features * (n_features + 1) // 2)


cdef class GaussianClusters(Clusters):
    """Gaussian clusters over a block of rows.

    A slot is a row of ``table``: its count n, two numbers cached by ``refresh``, the posterior mean (D numbers, zeros
    if means are zero), and the scale: the packed lower Cholesky factor of B, or the b of each dimension, or one b.
    Moves change it in place.
    """

    cdef const double[:, ::1] x
    cdef double[:, ::1] table
    cdef double[::1] prior, work, rotations
    cdef const double[::1] kappas
    cdef sparsemix_gaussians g
    cdef const double* row
    cdef readonly Py_ssize_t n_clipped  # moves that round-off would have left without a positive definite B

    def __init__(
        self,
        const double[:, ::1] x,     # IN    (n, D)
        double[:, ::1] table,       # INOUT (capacity, MEAN + D + scale_size)
        double[::1] prior,          # INOUT (MEAN + D + scale_size,) a slot without rows
        str structure,              # IN    of STRUCTURES
        mean_precision,             # IN    kappa of the prior, for "diag" a number or (D,); not used if means are zero
        double dof,                 # IN    nu of the prior
        Py_ssize_t n_slots,         # IN    in use
    ):
        cdef Py_ssize_t d = x.shape[1]
        self.n_rows, self.capacity, self.n_slots, self.n_clipped = x.shape[0], table.shape[0], n_slots, 0
        self.g.structure, self.g.isa = STRUCTURES[structure], instruction_level()
        self.g.n_features, self.g.width = d, SPARSEMIX_MEAN + d + scale_size(structure, d)
        self.kappas = np.full(d, mean_precision, dtype=np.float64)
        self.g.nu = dof
        self.g.row_dof = d if structure == "spherical" else 1.0
        if d == 0:
            raise ValueError("x must have columns")
        if table.shape[1] != self.g.width or prior.shape[0] != self.g.width:
            raise ValueError(f"slots of {structure} Gaussians in {d} dimensions are {self.g.width} numbers")
        if not 0 <= n_slots <= self.capacity:
            raise ValueError(f"n_slots must be 0 to {self.capacity}")
        self.x, self.table, self.prior = x, table, prior
        self.work = aligned_empty(d + SPARSEMIX_PADDING, np.float64)
        self.work[:] = 0.0
        self.rotations = np.empty(4 * d)
        self.g.work, self.g.rotations = &self.work[0], &self.rotations[0]
        self.g.kappas, self.g.kappa = &self.kappas[0], self.kappas[0]
        sparsemix_refresh(&self.g, &prior[0])

    cdef bint begin(self, Py_ssize_t row) noexcept nogil:
        self.row = &self.x[row, 0]
        return True

    cdef double score_new(self) noexcept nogil:
        return sparsemix_gaussian_score(&self.g, &self.prior[0], self.row)

    cdef void score(self, double* out) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.n_slots):
            out[k] = sparsemix_gaussian_score(&self.g, &self.table[k, 0], self.row)

    cdef void score_likely(self, const double* log_prior, double known, double* out) noexcept nogil:
        cdef Py_ssize_t k, best = -1
        cdef double least, largest = -INFINITY
        if not sparsemix_has_matrix(&self.g) or self.g.n_features < 2 * BOUND_COLUMNS or self.n_slots == 0:
            self.score(out)
            return
        for k in range(self.n_slots):
            out[k] = -INFINITY
            if log_prior[k] > -INFINITY:
                out[k] = log_prior[k] + sparsemix_gaussian_bound(&self.g, &self.table[k, 0], self.row, BOUND_COLUMNS)
            if out[k] > largest:
                best, largest = k, out[k]
        if best >= 0:
            known = max(known, log_prior[best] + sparsemix_gaussian_score(&self.g, &self.table[best, 0], self.row))
        if known == -INFINITY:  # without weights or bounds the scores alone decide
            self.score(out)
            return
        least = known - LEFT_OUT - log(self.n_slots)
        for k in range(self.n_slots):
            if out[k] >= least:
                out[k] = sparsemix_gaussian_score_from(
                    &self.g, &self.table[k, 0], self.row, least - log_prior[k])
            else:
                out[k] = -INFINITY

    cdef double score_without(self, Py_ssize_t slot, double mass) noexcept nogil:
        return sparsemix_gaussian_score_without(&self.g, &self.prior[0], &self.table[slot, 0], self.row, mass)

    cdef void move(self, Py_ssize_t slot, double change) noexcept nogil:
        self.n_clipped += sparsemix_gaussian_move(&self.g, &self.prior[0], &self.table[slot, 0], self.row, change)

    def refresh(self, const Py_ssize_t[::1] slots):
        """Recompute the cached numbers of slots, after the other numbers were written from outside."""
        cdef Py_ssize_t i
        for i in range(slots.shape[0]):
            if not 0 <= slots[i] < self.capacity:
                raise ValueError(f"slots must be 0 to {self.capacity - 1}")
            sparsemix_refresh(&self.g, &self.table[slots[i], 0])
