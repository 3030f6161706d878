/* Log-sum-exp; the loops are in log_sum_loops.h. */
#ifndef SPARSEMIX_LOG_SUM_H
#define SPARSEMIX_LOG_SUM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "vectors/simd.h"

#define LOOPS "vectors/log_sum_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

static double sparsemix_log_sum_float(int isa, const float *x, ptrdiff_t n)
{
    double out;
    SPARSEMIX_DISPATCH(isa, log_sum, float, x, n, &out);
    return out;
}

static double sparsemix_log_sum_double(int isa, const double *x, ptrdiff_t n)
{
    double out;
    SPARSEMIX_DISPATCH(isa, log_sum, double, x, n, &out);
    return out;
}

#define sparsemix_log_sum(a0, pointer, ...) SPARSEMIX_BY_REAL(sparsemix_log_sum, pointer)(a0, pointer, __VA_ARGS__)

#endif
