/* Components that are linear in a sparse row: word tables, and products of rows with panels of components; the loops
 * are in linear_loops.h. */
#ifndef SPARSEMIX_LINEAR_H
#define SPARSEMIX_LINEAR_H

#include <stdint.h>
#include <string.h>

#include "vectors/simd.h"

/* Components of a panel; their parameters for some thousand words fit the L2 cache. */
#define SPARSEMIX_PANEL 32

#define LOOPS "documents/linear_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

#define SPARSEMIX_WORD_LOGS(REAL)                                                                                      \
    static void sparsemix_word_logs_##REAL(int isa, const double *sums, ptrdiff_t n, double prior, int digamma,        \
                                           double total, REAL *out)                                                    \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, word_logs, REAL, sums, n, prior, digamma, total, out);                                 \
    }

SPARSEMIX_WORD_LOGS(float)
SPARSEMIX_WORD_LOGS(double)

#define SPARSEMIX_PANELS(REAL)                                                                                         \
    static void sparsemix_fill_panel_##REAL(int isa, const REAL *natural, ptrdiff_t n_features, ptrdiff_t width,       \
                                            const int *words, ptrdiff_t n_words, REAL *panel)                          \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, fill_panel, REAL, natural, n_features, width, words, n_words, panel);                  \
    }                                                                                                                  \
    static void sparsemix_panel_products_##REAL(int isa, const REAL *panel, const int64_t *indptr, const int *places,  \
                                                const REAL *counts, ptrdiff_t n, const REAL *constants,                \
                                                ptrdiff_t width, ptrdiff_t stride, REAL *out)                          \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, panel_products, REAL, panel, indptr, places, counts, n, constants, width, stride,      \
                           out);                                                                                       \
    }

SPARSEMIX_PANELS(float)
SPARSEMIX_PANELS(double)

#define sparsemix_fill_panel(a0, pointer, ...)                                                                         \
    SPARSEMIX_BY_REAL(sparsemix_fill_panel, pointer)(a0, pointer, __VA_ARGS__)

#define sparsemix_panel_products(a0, pointer, ...)                                                                     \
    SPARSEMIX_BY_REAL(sparsemix_panel_products, pointer)(a0, pointer, __VA_ARGS__)

#define sparsemix_word_logs(a0, a1, a2, a3, a4, a5, pointer)                                                           \
    SPARSEMIX_BY_REAL(sparsemix_word_logs, pointer)(a0, a1, a2, a3, a4, a5, pointer)

#endif
