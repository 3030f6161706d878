/* Addition of table rows; the loops are in rows_loops.h. */
#ifndef SPARSEMIX_ROWS_H
#define SPARSEMIX_ROWS_H

#include <stdint.h>
#include <string.h>

#include "vectors/simd.h"

#define LOOPS "documents/rows_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

#define SPARSEMIX_SUM_ROWS(REAL)                                                                                       \
    static void sparsemix_sum_rows_##REAL(int isa, const int64_t *starts, const int *entries, const REAL *counts,      \
                                          const REAL *resp, ptrdiff_t stride, const int *words, ptrdiff_t first,       \
                                          ptrdiff_t last, ptrdiff_t n_components, int fresh, REAL *out)                \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, sum_rows, REAL, starts, entries, counts, resp, stride, words, first, last,             \
                           n_components, fresh, out);                                                                  \
    }                                                                                                                  \
    static void sparsemix_add_whole_rows_##REAL(int isa, const int *words, ptrdiff_t n_words, const REAL *rows,        \
                                                REAL factor, ptrdiff_t n_components, REAL *out, double *totals)        \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, add_whole_rows, REAL, words, n_words, rows, factor, n_components, out, totals);        \
    }

SPARSEMIX_SUM_ROWS(float)
SPARSEMIX_SUM_ROWS(double)

#define sparsemix_add_whole_rows(a0, a1, a2, pointer, ...)                                                             \
    SPARSEMIX_BY_REAL(sparsemix_add_whole_rows, pointer)(a0, a1, a2, pointer, __VA_ARGS__)

#define sparsemix_sum_rows(a0, a1, a2, pointer, ...)                                                                   \
    SPARSEMIX_BY_REAL(sparsemix_sum_rows, pointer)(a0, a1, a2, pointer, __VA_ARGS__)

#endif
