/* The loops of compact.h for one instruction set: no include guard, included several times. */

#include "vectors/vector_math.h"

#if defined(REAL_IS_DOUBLE)

#define VECTORS (SPARSEMIX_POINTS / LANES)
#define BLOCKS 4

/* Of some blocks of points at once: each sum is a chain of additions, and several chains hide their latency. */
TARGET static inline void SPARSEMIX_NAME(blocks_of_squares)(const double *x, ptrdiff_t d, const double *columns,
                                                             ptrdiff_t padded, const int blocks, double *out)
{
    VECTOR sums[BLOCKS * SPARSEMIX_POINTS];
    for (int v = 0; v < blocks * VECTORS; v++) { /* zeros would be stored by a slow instruction */
        const VECTOR apart = ((const VECTOR *)columns)[v] - x[0];
        sums[v] = apart * apart;
    }
    for (ptrdiff_t j = 1; j < d; j++) {
        const VECTOR *row = (const VECTOR *)(columns + j * padded);
        for (int v = 0; v < blocks * VECTORS; v++) {
            const VECTOR apart = row[v] - x[j];
            sums[v] += apart * apart;
        }
    }
    for (int v = 0; v < blocks * VECTORS; v++)
        ((VECTOR *)out)[v] = sums[v];
}

TARGET static inline void SPARSEMIX_NAME(squares)(const double *x, ptrdiff_t d, const double *columns,
                                                   ptrdiff_t padded, double *out)
{
    ptrdiff_t at = 0;
    for (; at + BLOCKS * SPARSEMIX_POINTS <= padded; at += BLOCKS * SPARSEMIX_POINTS)
        SPARSEMIX_NAME(blocks_of_squares)(x, d, columns + at, padded, BLOCKS, out + at);
    for (; at < padded; at += SPARSEMIX_POINTS)
        SPARSEMIX_NAME(blocks_of_squares)(x, d, columns + at, padded, 1, out + at);
}

TARGET static void SPARSEMIX_NAME(within)(const double *squares, ptrdiff_t padded, double limit, unsigned char *found)
{
    for (ptrdiff_t block = 0; block < padded / SPARSEMIX_POINTS; block++) {
        const VECTOR *part = (const VECTOR *)(squares + block * SPARSEMIX_POINTS);
        INTEGER lanes[LANES], any = 0;
        BITS mask = MASK(part[0] <= FILL(limit));
        for (int v = 1; v < VECTORS; v++)
            mask |= MASK(part[v] <= FILL(limit));
        memcpy(lanes, &mask, sizeof(mask));
        for (ptrdiff_t lane = 0; lane < LANES; lane++)
            any |= lanes[lane];
        found[block] = any != 0;
    }
}

TARGET static void SPARSEMIX_NAME(nearest_points)(ptrdiff_t n, const double *x, ptrdiff_t d, const double *columns,
                                                  ptrdiff_t padded, ptrdiff_t n_points, double *scratch, int *labels,
                                                  double *nearest, ptrdiff_t *n_changed)
{
    ptrdiff_t changed = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        int best = 0;
        SPARSEMIX_NAME(squares)(x + i * d, d, columns, padded, scratch);
        for (int k = 1; k < n_points; k++)
            best = scratch[k] < scratch[best] ? k : best;
        changed += labels[i] != best;
        labels[i] = best;
        nearest[i] = scratch[best];
    }
    *n_changed = changed;
}

#undef VECTORS
#undef BLOCKS

#endif

#include "vectors/vector_math_end.h"
