/* Ward's distances between clusters of rows. */
#ifndef SPARSEMIX_WARD_H
#define SPARSEMIX_WARD_H

#include <stddef.h>

/* Rises of the sum of squares within clusters if one of n clusters is merged with cluster ``own``. Means are columns of
 * d rows that are ``stride`` apart. The operations are symmetric, so that both clusters find the same number. */
static inline void sparsemix_ward_rises(ptrdiff_t n, ptrdiff_t d, const double *means, ptrdiff_t stride,
                                        const double *sizes, ptrdiff_t own, double *restrict out)
{
    for (ptrdiff_t k = 0; k < n; k++)
        out[k] = 0.0;
    for (ptrdiff_t j = 0; j < d; j++) {
        const double *row = means + j * stride;
        const double mean = row[own];
        for (ptrdiff_t k = 0; k < n; k++) {
            const double apart = row[k] - mean;
            out[k] += apart * apart;
        }
    }
    for (ptrdiff_t k = 0; k < n; k++)
        out[k] *= sizes[k] * sizes[own] / (sizes[k] + sizes[own]);
}

#endif
