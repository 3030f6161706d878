/* Collapsed variational inference, document by document; the loops are in collapsed_loops.h. */
#ifndef SPARSEMIX_COLLAPSED_H
#define SPARSEMIX_COLLAPSED_H

#include <stdint.h>
#include <string.h>

#include "vectors/simd.h"
#include "vectors/special.h"

/* Settings shared by all documents of a block. */
typedef struct {
    ptrdiff_t n_components; /* K */
    ptrdiff_t padded;       /* K in whole vectors */
    int second_order;       /* variances too: CVB, else CVB0 */
    double word_prior;      /* beta */
    double total_prior;     /* V beta */
} sparsemix_collapsed_settings;

/* Scratch vectors of K numbers for ``cvb_documents``. */
#define SPARSEMIX_COLLAPSED_WORK 9

/* E[log Gamma(prior + n)] - log Gamma(prior) for a count n with this mean and variance. For a small prior only n = 0
 * is special, so it is treated separately, with the probability from a binomial distribution of this mean and
 * variance; given n > 0 the expansion is of second order. (An expansion about the mean alone would be wrong by 1 /
 * (8 prior) for every topic in which a word is rare.) */
static inline double sparsemix_expected_log_gamma(double mean, double variance, double prior, double log_gamma_prior)
{
    double success, positive, mean_positive, variance_positive;
    if (!(mean > 0.0))
        return 0.0;
    success = 1.0 - variance / mean;
    if (success > 1.0 - 1e-12) /* certain */
        positive = 1.0;
    else
        positive = -expm1(success > 1e-8 ? mean / success * log1p(-success) : -mean);
    mean_positive = mean / positive;
    variance_positive = (variance + mean * mean) / positive - mean_positive * mean_positive;
    return positive
           * (sparsemix_log_gamma(prior + mean_positive) - log_gamma_prior
              + 0.5 * (variance_positive > 0.0 ? variance_positive : 0.0) * sparsemix_trigamma(prior + mean_positive));
}

#define LOOPS "collapsed/collapsed_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

#define SPARSEMIX_CVB(REAL)                                                                                            \
    static void sparsemix_cvb_##REAL(                                                                                  \
        int isa, const sparsemix_collapsed_settings *s, ptrdiff_t n_docs, const int64_t *indptr, const int *indices,   \
        const REAL *counts, const double *weight, const REAL *alpha, const double *log_gamma_alpha, REAL *work,        \
        REAL *gamma, REAL *word_topic, REAL *word_variance, double *totals, double *total_variances, REAL *doc_topic,  \
        double *sums)                                                                                                  \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, cvb_documents, REAL, s, n_docs, indptr, indices, counts, weight, alpha,                \
                           log_gamma_alpha, work, gamma, word_topic, word_variance, totals, total_variances,           \
                           doc_topic, sums);                                                                           \
    }

SPARSEMIX_CVB(float)
SPARSEMIX_CVB(double)

#define sparsemix_cvb(a0, a1, a2, a3, a4, pointer, ...)                                                                \
    SPARSEMIX_BY_REAL(sparsemix_cvb, pointer)(a0, a1, a2, a3, a4, pointer, __VA_ARGS__)

#endif
