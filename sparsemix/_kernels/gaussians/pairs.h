/* Gaussian log densities of selected pairs of a row and a component, constant[k] - 0.5 * |R_k x - o_k|^2; the loops
 * are in pairs_loops.h.
 *
 * Pairs are grouped by component. The vector lanes hold outputs of R_k, and a feature of a row is broadcast, so rows
 * are read in place, without gathering or transposition. */
#ifndef SPARSEMIX_PAIRS_H
#define SPARSEMIX_PAIRS_H

#include <stdint.h>
#include <string.h>

#include "vectors/simd.h"

enum { SPARSEMIX_PAIRS_TRIANGULAR = 0, SPARSEMIX_PAIRS_DIAGONAL = 1, SPARSEMIX_PAIRS_SPHERICAL = 2 };

/* Outputs of a triangular R_k are padded to blocks of this many. */
#define SPARSEMIX_PAIR_BLOCK 16

typedef struct {
    int shape;
    ptrdiff_t n_features, n_components;
    ptrdiff_t factor_size, offset_size; /* numbers of a component */
    const ptrdiff_t *starts;            /* pairs of component k are starts[k] to starts[k + 1] */
    const int *rows;                    /* of the pairs */
} sparsemix_pairs;

/* Numbers of a triangular R by columns. A column starts at the first row of the block that holds its diagonal, with
 * zeros above the diagonal and after the last row. */
static inline ptrdiff_t sparsemix_column_size(ptrdiff_t d)
{
    const ptrdiff_t padded = (d + SPARSEMIX_PAIR_BLOCK - 1) / SPARSEMIX_PAIR_BLOCK * SPARSEMIX_PAIR_BLOCK;
    ptrdiff_t size = 0, j;
    for (j = 0; j < d; j++)
        size += padded - j / SPARSEMIX_PAIR_BLOCK * SPARSEMIX_PAIR_BLOCK;
    return size;
}

#define LOOPS "gaussians/pairs_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

#define SPARSEMIX_PAIRS(REAL)                                                                                          \
    static void sparsemix_log_density_pairs_##REAL(int isa, const sparsemix_pairs *s, const REAL *x,                   \
                                                   const REAL *factors, const REAL *offsets, const REAL *constants,    \
                                                   REAL *out)                                                          \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, pairs, REAL, s, x, factors, offsets, constants, out);                                  \
    }

SPARSEMIX_PAIRS(float)
SPARSEMIX_PAIRS(double)

#define sparsemix_log_density_pairs(a0, a1, pointer, ...)                                                              \
    SPARSEMIX_BY_REAL(sparsemix_log_density_pairs, pointer)(a0, a1, pointer, __VA_ARGS__)

#endif
