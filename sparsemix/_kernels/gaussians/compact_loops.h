/* The loops of compact.h for one instruction set: no include guard, included several times. */

#include "vectors/vector_math.h"

#if defined(REAL_IS_DOUBLE)

#define VECTORS (SPARSEMIX_POINTS / LANES)

TARGET static inline void SPARSEMIX_NAME(squares)(const double *x, ptrdiff_t d, const double *columns,
                                                   ptrdiff_t padded, double *out)
{
    for (ptrdiff_t at = 0; at < padded; at += SPARSEMIX_POINTS) {
        VECTOR sums[SPARSEMIX_POINTS];
        for (int v = 0; v < VECTORS; v++)
            sums[v] = FILL(0);
        for (ptrdiff_t j = 0; j < d; j++) {
            const VECTOR *row = (const VECTOR *)(columns + j * padded + at);
            for (int v = 0; v < VECTORS; v++) {
                const VECTOR apart = row[v] - x[j];
                sums[v] += apart * apart;
            }
        }
        for (int v = 0; v < VECTORS; v++)
            ((VECTOR *)(out + at))[v] = sums[v];
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

#endif

#include "vectors/vector_math_end.h"
