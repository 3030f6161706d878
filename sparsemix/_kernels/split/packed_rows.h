/* Addition of sums to packed counts; the loop is in packed_rows_loops.h. */
#ifndef SPARSEMIX_PACKED_ROWS_H
#define SPARSEMIX_PACKED_ROWS_H

#include "split/counts.h"
#include "vectors/simd.h"

#define LOOPS "split/packed_rows_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

#define SPARSEMIX_PACKED_ROWS(REAL)                                                                                    \
    static void sparsemix_add_packed_rows_##REAL(                                                                      \
        int isa, const sparsemix_counts_##REAL *packed, const int *words, ptrdiff_t n_words, const int64_t *indptr,    \
        int *topics, REAL *sums, REAL factor, REAL smallest, uint64_t key, double *gains)                              \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, add_packed_rows, REAL, packed, words, n_words, indptr, topics, sums, factor, smallest, \
                           key, gains);                                                                                \
    }

SPARSEMIX_PACKED_ROWS(float)
SPARSEMIX_PACKED_ROWS(double)

#define sparsemix_add_packed_rows(a0, a1, a2, a3, a4, a5, pointer, ...)                                                \
    SPARSEMIX_BY_REAL(sparsemix_add_packed_rows, pointer)(a0, a1, a2, a3, a4, a5, pointer, __VA_ARGS__)

#endif
