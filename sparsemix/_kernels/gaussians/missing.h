/* Gaussian log densities of the observed values of rows, under K components; NaN is a missing value.
 *
 * The loops are in missing_loops.h. The vector lanes hold components, so that rows with different missing values cost
 * only their observed ones. Tables are blocks of SPARSEMIX_BLOCK_BYTES / sizeof(real) components, padded. */
#ifndef SPARSEMIX_MISSING_H
#define SPARSEMIX_MISSING_H

#include <math.h>

#include "vectors/simd.h"

/* Bytes of one number of each component of a block: a vector of the widest instruction set. */
#define SPARSEMIX_BLOCK_BYTES 64

/* Pivots multiplied before their logarithm is taken: each is at least 1e-16 or so of a diagonal entry. */
#define SPARSEMIX_PIVOTS 8

#define LOOPS "gaussians/missing_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

/* out[row, k] = constants[k] - 0.5 sum over observed j of (factor x_j - offset)^2 + log of component k. ``columns``
 * (n, D) lists the observed columns of each row, ``sizes`` their number. */
#define SPARSEMIX_OBSERVED_DIAGONAL(real)                                                                              \
    static void sparsemix_observed_diagonal_##real(int isa, const real *x, ptrdiff_t n, ptrdiff_t d,                   \
                                                   const int *columns, const int *sizes, const real *table,            \
                                                   const real *constants, ptrdiff_t n_components, real *out)           \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, observed_diagonal, real, x, n, d, columns, sizes, table, constants, n_components,      \
                           out);                                                                                       \
    }

SPARSEMIX_OBSERVED_DIAGONAL(float)
SPARSEMIX_OBSERVED_DIAGONAL(double)

#define sparsemix_observed_diagonal(a0, pointer, ...)                                                                  \
    SPARSEMIX_BY_REAL(sparsemix_observed_diagonal, pointer)(a0, pointer, __VA_ARGS__)

/* The same under precision matrices, in double. Rows order[starts[g]] to order[starts[g + 1] - 1] of group g have one
 * pattern: ``columns`` (n_groups, D) lists its observed columns, then the missing ones. */
static void sparsemix_observed_matrix(int isa, const double *x, ptrdiff_t d, const int *order, const ptrdiff_t *starts,
                                      ptrdiff_t n_groups, const int *columns, const int *sizes, const double *table,
                                      const double *means, const double *constants, ptrdiff_t n_components,
                                      double *scratch, double *out)
{
    SPARSEMIX_DISPATCH(isa, observed_matrix, double, x, d, order, starts, n_groups, columns, sizes, table, means,
                       constants, n_components, scratch, out);
}

#endif
