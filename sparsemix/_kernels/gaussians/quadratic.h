/* Gaussian log densities of a tile of rows under K components, constant[k] - 0.5 * |R_k x - o_k|^2, and the additional
 * term 0.5 * |L_k x - p_k|^2 of low-rank covariances.
 *
 * The loops are in quadratic_loops.h. The vector lanes hold rows, so a row's result does not depend on other rows or on
 * its position in the tile. */
#ifndef SPARSEMIX_QUADRATIC_H
#define SPARSEMIX_QUADRATIC_H

#include "vectors/simd.h"

/* The largest number of rows that any variant holds in registers; callers pad scratch by it. */
#define SPARSEMIX_MAX_ROWS 64

#define LOOPS "gaussians/quadratic_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

/* Shapes of R_k; its factors are D (D + 1) / 2, D or 1 numbers per component. */
enum { SPARSEMIX_TRIANGULAR = 0, SPARSEMIX_DIAGONAL = 1, SPARSEMIX_SPHERICAL = 2 };

#define SPARSEMIX_ENTRY(real)                                                                                          \
    static void sparsemix_log_density_##real(int isa, int shape, const real *x, ptrdiff_t n, ptrdiff_t d,              \
                                             const real *factors, const real *offsets, const real *constants,          \
                                             ptrdiff_t k, real *pack, real *out)                                       \
    {                                                                                                                  \
        if (shape == SPARSEMIX_TRIANGULAR)                                                                             \
            SPARSEMIX_DISPATCH(isa, triangular, real, x, n, d, factors, offsets, constants, k, pack, out);             \
        else if (shape == SPARSEMIX_DIAGONAL)                                                                          \
            SPARSEMIX_DISPATCH(isa, diagonal, real, x, n, d, factors, offsets, constants, k, pack, out);               \
        else                                                                                                           \
            SPARSEMIX_DISPATCH(isa, spherical, real, x, n, d, factors, offsets, constants, k, pack, out);              \
    }

SPARSEMIX_ENTRY(float)
SPARSEMIX_ENTRY(double)

#define SPARSEMIX_PROJECTIONS(real)                                                                                    \
    static void sparsemix_projections_##real(int isa, const real *x, ptrdiff_t n, ptrdiff_t d, const real *loadings,   \
                                             ptrdiff_t rank, const real *offsets, ptrdiff_t k,                         \
                                             const ptrdiff_t *starts, const int *rows, real *pack, real *out)          \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, projections, real, x, n, d, loadings, rank, offsets, k, starts, rows, pack, out);      \
    }

SPARSEMIX_PROJECTIONS(float)
SPARSEMIX_PROJECTIONS(double)

#define sparsemix_projections(a0, pointer, ...)                                                                        \
    SPARSEMIX_BY_REAL(sparsemix_projections, pointer)(a0, pointer, __VA_ARGS__)

#define sparsemix_log_density(a0, a1, pointer, ...)                                                                    \
    SPARSEMIX_BY_REAL(sparsemix_log_density, pointer)(a0, a1, pointer, __VA_ARGS__)

#endif
