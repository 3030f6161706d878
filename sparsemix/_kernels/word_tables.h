/* Non-zeros of long rows: a row is a sequence of blocks of 16 numbers, most of them zero. */
#ifndef SPARSEMIX_WORD_TABLES_H
#define SPARSEMIX_WORD_TABLES_H

#include <stdint.h>
#include <string.h>

#include "alias.h"
#include "simd.h"

#if defined(_MSC_VER)
#include <intrin.h>
static __inline int sparsemix_first_bit(uint64_t x)
{
    unsigned long i;
    _BitScanForward64(&i, x);
    return (int)i;
}
#else
static inline int sparsemix_first_bit(uint64_t x)
{
    return __builtin_ctzll(x);
}
#endif

/* Bit i: whether x[i] is not zero, for 16 numbers. */
static inline uint32_t sparsemix_nonzeros_float(const float *x)
{
#if SPARSEMIX_X86
    const __m128 zero = _mm_setzero_ps();
    uint32_t found = 0;
    for (int i = 0; i < 4; i++)
        found |= (uint32_t)_mm_movemask_ps(_mm_cmpneq_ps(_mm_loadu_ps(x + 4 * i), zero)) << (4 * i);
    return found;
#else
    uint32_t found = 0;
    for (int i = 0; i < 16; i++)
        found |= (uint32_t)(x[i] != 0.0f) << i;
    return found;
#endif
}

static inline uint32_t sparsemix_nonzeros_double(const double *x)
{
#if SPARSEMIX_X86
    const __m128d zero = _mm_setzero_pd();
    uint32_t found = 0;
    for (int i = 0; i < 8; i++)
        found |= (uint32_t)_mm_movemask_pd(_mm_cmpneq_pd(_mm_loadu_pd(x + 2 * i), zero)) << (2 * i);
    return found;
#else
    uint32_t found = 0;
    for (int i = 0; i < 16; i++)
        found |= (uint32_t)(x[i] != 0.0) << i;
    return found;
#endif
}

/* The same for block b of a row, which may end within it. */
#define SPARSEMIX_BLOCK(REAL)                                                                                          \
    static inline uint32_t sparsemix_block_##REAL(const REAL *row, int n_components, int block)                        \
    {                                                                                                                  \
        const int first = 16 * block;                                                                                  \
        uint32_t found = 0;                                                                                            \
        if (first + 16 <= n_components)                                                                                \
            return sparsemix_nonzeros_##REAL(row + first);                                                             \
        for (int k = first; k < n_components; k++)                                                                     \
            found |= (uint32_t)(row[k] != 0) << (k - first);                                                           \
        return found;                                                                                                  \
    }

SPARSEMIX_BLOCK(float)
SPARSEMIX_BLOCK(double)

/* Bit b of element g: whether numbers 16 (64 g + b) and the next 15 are not all zero. */
#define SPARSEMIX_OCCUPIED(REAL)                                                                                       \
    static inline void sparsemix_occupied_##REAL(const REAL *row, int n_components, uint64_t *occupied)                \
    {                                                                                                                  \
        const int n_blocks = (n_components + 15) / 16;                                                                 \
        memset(occupied, 0, (size_t)((n_blocks + 63) / 64) * sizeof *occupied);                                        \
        for (int b = 0; b < n_blocks; b++)                                                                             \
            occupied[b / 64] |= (uint64_t)(sparsemix_block_##REAL(row, n_components, b) != 0) << (b % 64);             \
    }

SPARSEMIX_OCCUPIED(float)
SPARSEMIX_OCCUPIED(double)

/* The table of one word: topics with weight_k scale G_wk above zero, their densities and alias table. `occupied` has a
 * bit for each block that may hold non-zeros, or is NULL. Non-zeros are taken from masks of bits, since a branch for
 * each number would be mispredicted once a non-zero. Returns how many topics there are. */
#define SPARSEMIX_WORD_TABLE(REAL)                                                                                     \
    static inline int sparsemix_word_table_##REAL(const REAL *row, int n_components, double scale,                     \
                                                  const double *weight, const uint64_t *occupied, double *total,       \
                                                  int *topics, REAL *density, REAL *prob, int *alias, int *stack,      \
                                                  double *excess)                                                      \
    {                                                                                                                  \
        const int n_blocks = (n_components + 15) / 16;                                                                 \
        int n = 0;                                                                                                     \
        double sum = 0.0;                                                                                              \
        for (int first = 0; first < n_blocks; first += 4) {                                                            \
            uint64_t bits = 0, four = occupied ? occupied[first / 64] >> (first % 64) & 15 : 15;                       \
            for (int b = 0; four && b < 4 && first + b < n_blocks; b++)                                                \
                if (!occupied || (four >> b & 1))                                                                      \
                    bits |= (uint64_t)sparsemix_block_##REAL(row, n_components, first + b) << (16 * b);                \
            for (; bits; bits &= bits - 1) {                                                                           \
                const int k = 16 * first + sparsemix_first_bit(bits);                                                  \
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

#endif
