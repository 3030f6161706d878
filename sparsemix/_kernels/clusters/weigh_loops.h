/* The loops of weigh.h for one REAL and one instruction set: no include guard, included several times; double only. */

#include "vectors/vector_math.h"

#include "vectors/vector_rows.h"

#if defined(REAL_IS_DOUBLE)

TARGET static void SPARSEMIX_NAME(weigh)(const double *log_prior, const double *scores, ptrdiff_t n, double *shares,
                                         double *largest, double *total)
{
    VECTOR top = FILL(-INFINITY), sum = FILL(0);
    double best = -INFINITY;
    ptrdiff_t k;
    for (k = 0; k < n; k += LANES) {
        const VECTOR x = *(const VECTOR *)(log_prior + k) + *(const VECTOR *)(scores + k);
        *(VECTOR *)(shares + k) = x;
        top = LARGER(top, x);
    }
    for (k = 0; k < LANES; k++)
        best = ((const double *)&top)[k] > best ? ((const double *)&top)[k] : best;
    *largest = best;
    *total = 0.0;
    if (!(best > -INFINITY && best < INFINITY))
        return;
    for (k = 0; k < n; k += LANES) {
        const VECTOR share = SPARSEMIX_NAME(exp)(*(const VECTOR *)(shares + k) - (REAL)best);
        *(VECTOR *)(shares + k) = share;
        sum += share;
    }
    *total = SPARSEMIX_NAME(lane_sum)(sum);
}

#endif

#include "vectors/vector_math_end.h"
