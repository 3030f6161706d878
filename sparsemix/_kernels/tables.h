/* Rows of the table exp E[log phi]: the loop lives in special_loops.h. */
#ifndef SPARSEMIX_TABLES_H
#define SPARSEMIX_TABLES_H

#include <stdint.h>
#include <string.h>

#include "simd.h"
#include "special.h"

#define LOOPS "special_loops.h"
#include "for_each_simd.h"
#undef LOOPS

#define SPARSEMIX_WORD_ROW(REAL)                                                                                       \
    static void sparsemix_word_row_##REAL(int isa, const REAL *counts, ptrdiff_t n, double factor, REAL prior,         \
                                          int linear, const REAL *inverse, REAL *x, REAL *row)                                   \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, word_row, REAL, counts, n, factor, prior, linear, inverse, x, row);                           \
    }

SPARSEMIX_WORD_ROW(float)
SPARSEMIX_WORD_ROW(double)

#endif
