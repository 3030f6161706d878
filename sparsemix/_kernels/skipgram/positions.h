/* All topics of a position at once, in logarithms; the loops are in positions_loops.h. */
#ifndef SPARSEMIX_POSITIONS_H
#define SPARSEMIX_POSITIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "random/random.h"
#include "skipgram/context.h"
#include "vectors/simd.h"

/* log 0 of the padding topics; still finite after division by a small temperature. */
#define SPARSEMIX_NO_TOPIC (-1e30)

/* Settings shared by all positions of a call. Rows of logarithms are padded and aligned to vectors. */
typedef struct {
    ptrdiff_t n_components, padded; /* K */
    int window;
    double inverse_temperature;
    double scale, base;             /* counts of context words plus beta are scale G + base */
    double total_prior;             /* V beta */
    uint64_t seed, first_row, visit;
    const double *alpha;            /* (K,) */
    double *totals;                 /* (K,) N_k */
    const int *slots;               /* (V,) rows of the words in the tables of logarithms */
} sparsemix_position_settings;

#define LOOPS "skipgram/positions_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

#define SPARSEMIX_POSITIONS(REAL)                                                                                      \
    static void sparsemix_log_rows_##REAL(int isa, const REAL *table, const int *words, const double *factors,         \
                                          ptrdiff_t n_words, ptrdiff_t n, ptrdiff_t padded, double scale,              \
                                          const double *base, REAL *out)                                               \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, log_rows, REAL, table, words, factors, n_words, n, padded, scale, base, out);          \
    }                                                                                                                  \
    static void sparsemix_positions_##REAL(                                                                            \
        int isa, const sparsemix_position_settings *s, ptrdiff_t n_docs, const int64_t *indptr, const int *places,     \
        const int *words, const int64_t *numbers, const REAL *input_logs, const REAL *context_logs,                    \
        const REAL *total_logs, const REAL *table, sparsemix_context *c, REAL *weights, REAL *parts, int n_even,       \
        int *topics, double *log_sums, REAL *out, int *sizes)                                                          \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, positions, REAL, s, n_docs, indptr, places, words, numbers, input_logs, context_logs,  \
                           total_logs, table, c, weights, parts, n_even, topics, log_sums, out, sizes);                \
    }                                                                                                                  \
    static void sparsemix_sweep_##REAL(                                                                                \
        int isa, const sparsemix_position_settings *s, ptrdiff_t n_docs, const int64_t *indptr, const int *places,     \
        const int *words, REAL *input_logs, REAL *context_logs, REAL *total_logs, REAL *input_table, REAL *table,      \
        sparsemix_context *c, REAL *weights, REAL *parts, int *topics, int64_t *moved, double *conditional)            \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, sweep, REAL, s, n_docs, indptr, places, words, input_logs, context_logs, total_logs,   \
                           input_table, table, c, weights, parts, topics, moved, conditional);                         \
    }

SPARSEMIX_POSITIONS(float)
SPARSEMIX_POSITIONS(double)

#define sparsemix_log_rows(a0, pointer, ...) SPARSEMIX_BY_REAL(sparsemix_log_rows, pointer)(a0, pointer, __VA_ARGS__)

#define sparsemix_sweep(a0, a1, a2, a3, a4, a5, pointer, ...)                                                          \
    SPARSEMIX_BY_REAL(sparsemix_sweep, pointer)(a0, a1, a2, a3, a4, a5, pointer, __VA_ARGS__)

#define sparsemix_positions(a0, a1, a2, a3, a4, a5, a6, pointer, ...)                                                  \
    SPARSEMIX_BY_REAL(sparsemix_positions, pointer)(a0, a1, a2, a3, a4, a5, a6, pointer, __VA_ARGS__)

#endif
