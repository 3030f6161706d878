/* Gaussian log densities of rows with their own noise, under K components; NaN is a value that was not observed.
 *
 * The loops are in noisy_loops.h. The vector lanes hold components. Tables are blocks of SPARSEMIX_BLOCK_BYTES /
 * sizeof(double) components, padded. */
#ifndef SPARSEMIX_NOISY_H
#define SPARSEMIX_NOISY_H

#include <math.h>

#include "vectors/simd.h"

/* Bytes of one number of each component of a block: a vector of the widest instruction set. */
#define SPARSEMIX_BLOCK_BYTES 64

/* Pivots multiplied before their logarithm is taken, if none is more than LARGE times a variance of the component. */
#define SPARSEMIX_PIVOTS 8
#define SPARSEMIX_LARGE 1e30

/* Least pivot as a share of its diagonal entry: round-off makes some pivots of nearly singular noise negative. */
#define SPARSEMIX_LEAST_PIVOT 1e-15

/* Place of the noise covariance of columns i >= j in a row of D variances or D (D + 1) / 2 covariances. */
#define SPARSEMIX_NOISE(noise, packed, i, j)                                                                           \
    ((packed) ? (noise)[(ptrdiff_t)(i) * ((i) + 1) / 2 + (j)] : (i) == (j) ? (noise)[i] : 0.0)

#define LOOPS "gaussians/noisy_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

/* out[row, k] = constants[k] + log N(observed x | means[k], covariances[k] + noise of the row). ``x`` (n, D + width)
 * holds the values, then their noise; ``columns`` (D,) and ``scratch`` are working memory. */
static void sparsemix_noisy_matrix(int isa, const double *x, ptrdiff_t n, ptrdiff_t d, ptrdiff_t width,
                                   const double *table, const double *means, const double *constants,
                                   ptrdiff_t n_components, int *columns, double *scratch, double *out)
{
    SPARSEMIX_DISPATCH(isa, noisy_matrix, double, x, n, d, width, table, means, constants, n_components, columns,
                       scratch, out);
}

#endif
