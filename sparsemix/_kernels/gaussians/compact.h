/* Squared distances from a row to many points; the loops are in compact_loops.h. */
#ifndef SPARSEMIX_COMPACT_H
#define SPARSEMIX_COMPACT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "vectors/simd.h"

/* Points are padded to blocks of this many, which whole vectors fill. */
#define SPARSEMIX_POINTS 8

#define LOOPS "gaussians/compact_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

/* Of a row of d numbers, to points that are columns of d rows of ``padded`` numbers. */
static void sparsemix_squares(int isa, const double *x, ptrdiff_t d, const double *columns, ptrdiff_t padded,
                              double *out)
{
    SPARSEMIX_DISPATCH(isa, squares, double, x, d, columns, padded, out);
}

/* Whether each block of squares has one within a limit. */
static void sparsemix_within(int isa, const double *squares, ptrdiff_t padded, double limit, unsigned char *found)
{
    SPARSEMIX_DISPATCH(isa, within, double, squares, padded, limit, found);
}

/* Nearest point of each row and its squared distance, of equal ones the first; returns the number of new labels. */
static ptrdiff_t sparsemix_nearest_points(int isa, ptrdiff_t n, const double *x, ptrdiff_t d, const double *columns,
                                          ptrdiff_t padded, ptrdiff_t n_points, double *scratch, int *labels,
                                          double *nearest)
{
    ptrdiff_t changed;
    SPARSEMIX_DISPATCH(isa, nearest_points, double, n, x, d, columns, padded, n_points, scratch, labels, nearest,
                       &changed);
    return changed;
}

#endif
