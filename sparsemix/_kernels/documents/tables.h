/* Rows of the table exp E[log phi]; the loop is in special_loops.h. */
#ifndef SPARSEMIX_TABLES_H
#define SPARSEMIX_TABLES_H

#include <stdint.h>
#include <string.h>

#include "packed.h"
#include "vectors/simd.h"
#include "vectors/special.h"

#define LOOPS "documents/special_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

#if SPARSEMIX_X86
#define SPARSEMIX_CHOOSE_WORD_ROW(isa, REAL)                                                                           \
    ((isa) == SPARSEMIX_V4   ? word_row_##REAL##_v4                                                                    \
     : (isa) == SPARSEMIX_V3 ? word_row_##REAL##_v3                                                                    \
                             : word_row_##REAL##_baseline)
#else
#define SPARSEMIX_CHOOSE_WORD_ROW(isa, REAL) word_row_##REAL##_baseline
#endif

#if SPARSEMIX_X86
#define SPARSEMIX_CHOOSE_PACKED_ROW(isa, REAL)                                                                         \
    ((isa) == SPARSEMIX_V4   ? packed_row_##REAL##_v4                                                                  \
     : (isa) == SPARSEMIX_V3 ? packed_row_##REAL##_v3                                                                  \
                             : packed_row_##REAL##_baseline)
#else
#define SPARSEMIX_CHOOSE_PACKED_ROW(isa, REAL) packed_row_##REAL##_baseline
#endif

#define SPARSEMIX_WORD_ROW(REAL)                                                                                       \
    static double sparsemix_word_row_##REAL(int isa, const REAL *counts, ptrdiff_t n, double factor, REAL prior,       \
                                            int linear, const REAL *inverse, REAL *x, REAL *row)                       \
    {                                                                                                                  \
        (void)isa;                                                                                                     \
        return SPARSEMIX_CHOOSE_WORD_ROW(isa, REAL)(counts, n, factor, prior, linear, inverse, x, row);                \
    }                                                                                                                  \
                                                                                                                       \
    static double sparsemix_packed_row_##REAL(int isa, const REAL *counts, ptrdiff_t n, double factor, REAL prior,     \
                                              const REAL *inverse, REAL largest_inverse, REAL *x, int *topics,         \
                                              uint64_t *heads, REAL *values, REAL *rest, REAL *scale,                  \
                                              ptrdiff_t *n_kept)                                                       \
    {                                                                                                                  \
        (void)isa;                                                                                                     \
        return SPARSEMIX_CHOOSE_PACKED_ROW(isa, REAL)(counts, n, factor, prior, inverse, largest_inverse, x, topics,   \
                                                      heads, values, rest, scale, n_kept);                             \
    }

SPARSEMIX_WORD_ROW(float)
SPARSEMIX_WORD_ROW(double)

#define sparsemix_word_row(a0, pointer, ...) SPARSEMIX_BY_REAL(sparsemix_word_row, pointer)(a0, pointer, __VA_ARGS__)

#define sparsemix_packed_row(a0, pointer, ...)                                                                         \
    SPARSEMIX_BY_REAL(sparsemix_packed_row, pointer)(a0, pointer, __VA_ARGS__)

#endif
