/* Non-zeros of long rows: a row is a sequence of blocks of 16 numbers, most of them zero. */
#ifndef SPARSEMIX_WORD_TABLES_H
#define SPARSEMIX_WORD_TABLES_H

#include <stdint.h>
#include <string.h>

#include "alias.h"

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

/* Bit b of the result: whether numbers 16 b to 16 b + 15 are not all zero, for up to 64 blocks of n numbers. The bits
 * of all numbers are or-ed, a loop without branches that compilers vectorise. */
#define SPARSEMIX_OCCUPIED(REAL, BITS)                                                                                 \
    static inline uint64_t sparsemix_occupied_##REAL(const REAL *x, int n)                                             \
    {                                                                                                                  \
        uint64_t found = 0;                                                                                            \
        for (int block = 0; 16 * block < n && block < 64; block++) {                                                   \
            const int left = n - 16 * block < 16 ? n - 16 * block : 16;                                                \
            BITS bits[16] = {0}, any = 0;                                                                              \
            if (left == 16)                                                                                            \
                memcpy(bits, x + 16 * block, sizeof bits);                                                             \
            else                                                                                                       \
                memcpy(bits, x + 16 * block, (size_t)left * sizeof(BITS));                                             \
            for (int i = 0; i < 16; i++)                                                                               \
                any |= bits[i];                                                                                        \
            found |= (uint64_t)(any != 0) << block;                                                                    \
        }                                                                                                              \
        return found;                                                                                                  \
    }

SPARSEMIX_OCCUPIED(float, uint32_t)
SPARSEMIX_OCCUPIED(double, uint64_t)

/* The table of one word: topics with weight_k scale G_wk above zero, their densities and alias table. `occupied` has a
 * bit for each block that may hold non-zeros, or is NULL. Returns how many topics there are. */
#define SPARSEMIX_WORD_TABLE(REAL)                                                                                     \
    static inline int sparsemix_word_table_##REAL(const REAL *row, int n_components, double scale,                     \
                                                  const double *weight, const uint64_t *occupied, double *total,       \
                                                  int *topics, REAL *density, REAL *prob, int *alias, int *stack,      \
                                                  double *excess)                                                      \
    {                                                                                                                  \
        int n = 0;                                                                                                     \
        *total = 0.0;                                                                                                  \
        for (int first = 0; first < n_components; first += 1024) {                                                     \
            const int width = n_components - first;                                                                    \
            uint64_t bits = occupied ? occupied[first / 1024] : sparsemix_occupied_##REAL(row + first, width);         \
            for (; bits; bits &= bits - 1) {                                                                           \
                const int begin = first + 16 * sparsemix_first_bit(bits);                                              \
                const int end = begin + 16 < n_components ? begin + 16 : n_components;                                 \
                for (int k = begin; k < end; k++) {                                                                    \
                    const REAL q = (REAL)(weight[k] * (scale * row[k]));                                               \
                    if (q > 0) {                                                                                       \
                        topics[n] = k;                                                                                 \
                        density[n++] = q;                                                                              \
                        *total += q;                                                                                   \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        if (n > 0)                                                                                                     \
            sparsemix_alias_build_##REAL(density, n, *total, prob, alias, stack, excess);                              \
        return n;                                                                                                      \
    }

SPARSEMIX_WORD_TABLE(float)
SPARSEMIX_WORD_TABLE(double)

#endif
