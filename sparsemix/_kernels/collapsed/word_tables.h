/* Non-zeros of long, mostly zero rows, and the alias tables of words. */
#ifndef SPARSEMIX_WORD_TABLES_H
#define SPARSEMIX_WORD_TABLES_H

#include <stdint.h>
#include <string.h>

#include "random/alias.h"
#include "vectors/simd.h"

/* Bit mask of the numbers above ``smallest``, for 16 numbers. */
static inline uint32_t sparsemix_above_float(const float *x, float smallest)
{
#if SPARSEMIX_X86
    const __m128 limit = _mm_set1_ps(smallest);
    uint32_t found = 0;
    for (int i = 0; i < 4; i++)
        found |= (uint32_t)_mm_movemask_ps(_mm_cmpgt_ps(_mm_loadu_ps(x + 4 * i), limit)) << (4 * i);
    return found;
#else
    uint32_t found = 0;
    for (int i = 0; i < 16; i++)
        found |= (uint32_t)(x[i] > smallest) << i;
    return found;
#endif
}

static inline uint32_t sparsemix_above_double(const double *x, double smallest)
{
#if SPARSEMIX_X86
    const __m128d limit = _mm_set1_pd(smallest);
    uint32_t found = 0;
    for (int i = 0; i < 8; i++)
        found |= (uint32_t)_mm_movemask_pd(_mm_cmpgt_pd(_mm_loadu_pd(x + 2 * i), limit)) << (2 * i);
    return found;
#else
    uint32_t found = 0;
    for (int i = 0; i < 16; i++)
        found |= (uint32_t)(x[i] > smallest) << i;
    return found;
#endif
}

/* Bit b of element g of `masks`: whether row[64 g + b] is above ``smallest``. */
#define SPARSEMIX_MASKS(REAL)                                                                                          \
    static inline void sparsemix_masks_##REAL(const REAL *row, int n, REAL smallest, uint64_t *masks)                  \
    {                                                                                                                  \
        for (; n >= 64; n -= 64, row += 64, masks++)                                                                   \
            *masks = (uint64_t)sparsemix_above_##REAL(row, smallest)                                                   \
                     | (uint64_t)sparsemix_above_##REAL(row + 16, smallest) << 16                                      \
                     | (uint64_t)sparsemix_above_##REAL(row + 32, smallest) << 32                                      \
                     | (uint64_t)sparsemix_above_##REAL(row + 48, smallest) << 48;                                     \
        if (n > 0)                                                                                                     \
            *masks = 0;                                                                                                \
        for (int i = 0; i < n; i++)                                                                                    \
            *masks |= (uint64_t)(row[i] > smallest) << i;                                                              \
    }

SPARSEMIX_MASKS(float)
SPARSEMIX_MASKS(double)

/* The table of one word: topics with G_wk above ``smallest``, their densities weight_k scale G_wk, and the alias
 * table. One sequential pass over the row at memory speed builds bit masks (K / 64 of them), from which non-zeros
 * are taken: a branch per number would stall at every non-zero. Returns the number of topics. */
#define SPARSEMIX_WORD_TABLE(REAL)                                                                                     \
    static inline int sparsemix_word_table_##REAL(const REAL *row, int n_components, double scale, REAL smallest,      \
                                                  const double *weight, double *total, int *topics, REAL *density,     \
                                                  REAL *prob, int *alias, uint64_t *masks, int *stack, double *excess) \
    {                                                                                                                  \
        int n = 0;                                                                                                     \
        double sum = 0.0;                                                                                              \
        sparsemix_masks_##REAL(row, n_components, smallest, masks);                                                    \
        for (int first = 0; first < n_components; first += 64) {                                                       \
            for (uint64_t bits = masks[first / 64]; bits; bits &= bits - 1) {                                          \
                const int k = first + sparsemix_lowest_bit(bits);                                                       \
                const REAL q = (REAL)(weight[k] * (scale * row[k]));                                                   \
                topics[n] = k;                                                                                         \
                density[n] = q;                                                                                        \
                sum += q > 0 ? q : 0;                                                                                  \
                n += q > 0;                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
        *total = sum;                                                                                                  \
        if (n > 0)                                                                                                     \
            sparsemix_alias_build_##REAL(density, n, sum, prob, alias, stack, excess);                                 \
        return n;                                                                                                      \
    }

SPARSEMIX_WORD_TABLE(float)
SPARSEMIX_WORD_TABLE(double)

#define sparsemix_word_table(pointer, ...) SPARSEMIX_BY_REAL(sparsemix_word_table, pointer)(pointer, __VA_ARGS__)

#endif
