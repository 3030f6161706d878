/* Shares of clusters in a row, from log prior weights and scores; the loops are in weigh_loops.h. */
#ifndef SPARSEMIX_WEIGH_H
#define SPARSEMIX_WEIGH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "vectors/simd.h"

#define LOOPS "clusters/weigh_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

/* shares[k] = exp(log_prior[k] + scores[k] - largest) and their total; n is padded to SPARSEMIX_PADDING with log prior
 * weights of minus infinity. If no cluster has a finite weight, the total is zero. */
static void sparsemix_weigh(int isa, const double *log_prior, const double *scores, ptrdiff_t n, double *shares,
                            double *largest, double *total)
{
    SPARSEMIX_DISPATCH(isa, weigh, double, log_prior, scores, n, shares, largest, total);
}

#endif
