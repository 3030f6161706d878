/* Sums of outer products of rows, y^T y; the loop is in outer_loops.h. */
#ifndef SPARSEMIX_OUTER_H
#define SPARSEMIX_OUTER_H

#include "vectors/simd.h"

#define LOOPS "gaussians/outer_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

/* Lower triangle of square (width, width) += y^T y for y (n, width); both 64-byte aligned, width a multiple of 16. */
static void sparsemix_outer(int isa, const double *y, ptrdiff_t n, ptrdiff_t width, double *square)
{
    SPARSEMIX_DISPATCH(isa, outer, double, y, n, width, square);
}

#endif
