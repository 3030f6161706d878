/* The loop of word_logs.h for one REAL and one instruction set: no include guard, included several times. */

#include "vectors/vector_math.h"

#include "vectors/vector_rows.h"

TARGET static inline VECTOR SPARSEMIX_NAME(word_log)(VECTOR x, int digamma)
{
    VECTOR y, e;
    if (!digamma)
        return SPARSEMIX_NAME(log)(x);
    SPARSEMIX_NAME(digamma_parts)(x, &y, &e);
    return SPARSEMIX_NAME(log)(y) + e;
}

/* f(prior + sums) - total, f the logarithm or digamma; most sums are zero, and all of these have one value. */
TARGET static void SPARSEMIX_NAME(word_logs)(const double *sums, ptrdiff_t n, double prior, int digamma, double total,
                                             REAL *out)
{
    const VECTOR none = SPARSEMIX_NAME(word_log)(FILL((REAL)prior), digamma) - FILL((REAL)total);
    ptrdiff_t v, i;
    for (v = 0; v < n; v += LANES) {
        const ptrdiff_t left = n - v < LANES ? n - v : LANES;
        REAL x[LANES];
        double most = 0.0;
        for (i = 0; i < left; i++)
            most = sums[v + i] > most ? sums[v + i] : most;
        if (!(most > 0.0)) {
            SPARSEMIX_NAME(store)(out + v, left, none);
            continue;
        }
        for (i = 0; i < left; i++)
            x[i] = (REAL)(prior + (sums[v + i] > 0.0 ? sums[v + i] : 0.0));
        for (; i < LANES; i++)
            x[i] = (REAL)prior;
        SPARSEMIX_NAME(store)
        (out + v, left, SPARSEMIX_NAME(word_log)(SPARSEMIX_NAME(load)(x, LANES), digamma) - FILL((REAL)total));
    }
}

#include "vectors/vector_math_end.h"
