/* The loops of log_sum.h for one REAL and one instruction set: no include guard, included several times. */

#include "vectors/vector_math.h"

#include "vectors/vector_rows.h"

/* Vectors added up in REAL before they are added to the double sum. */
#define TOGETHER 64

/* The next vector of a row with n numbers left; past the end, padding that adds nothing. */
TARGET static inline VECTOR SPARSEMIX_NAME(next)(const REAL *x, ptrdiff_t n)
{
    REAL end[VECTOR_BYTES / sizeof(REAL) + 1];
    VECTOR out;
    ptrdiff_t i;
    if (n >= LANES)
        return *(const SPARSEMIX_NAME(unaligned) *)x;
    for (i = 0; i < LANES; i++)
        end[i] = i < n ? x[i] : (REAL)-INFINITY;
    memcpy(&out, end, sizeof out);
    return out;
}

TARGET static void SPARSEMIX_NAME(log_sum)(const REAL *x, ptrdiff_t n, double *out)
{
    VECTOR top = FILL(-INFINITY);
    REAL best = (REAL)-INFINITY;
    double total = 0.0;
    ptrdiff_t k, stop;
    for (k = 0; k < n; k += LANES) {
        const VECTOR next = SPARSEMIX_NAME(next)(x + k, n - k);
        top = LARGER(top, next);
    }
    for (k = 0; k < LANES; k++)
        best = ((const REAL *)&top)[k] > best ? ((const REAL *)&top)[k] : best;
    *out = best;
    if (!(best > (REAL)-INFINITY && best < (REAL)INFINITY))
        return;
    for (k = 0; k < n; k = stop) {
        VECTOR sum = FILL(0);
        ptrdiff_t i;
        stop = n - k > TOGETHER * LANES ? k + TOGETHER * LANES : n;
        for (i = k; i < stop; i += LANES)
            sum += SPARSEMIX_NAME(exp)(SPARSEMIX_NAME(next)(x + i, n - i) - best);
        total += SPARSEMIX_NAME(lane_sum)(sum);
    }
    *out = best + log(total);
}

#undef TOGETHER

#include "vectors/vector_math_end.h"
