/* Collapsed Gibbs sampling, token by token; the loops are in gibbs_loops.h. */
#ifndef SPARSEMIX_GIBBS_H
#define SPARSEMIX_GIBBS_H

#include <stdint.h>
#include <string.h>

#include "random/random.h"
#include "vectors/simd.h"
#include "vectors/special.h"

/* Settings shared by all documents of a block. */
typedef struct {
    ptrdiff_t n_components; /* K */
    ptrdiff_t padded;       /* K in whole rounds of columns */
    double word_prior;      /* beta */
    double total_prior;     /* V beta */
    uint64_t seed, first_row, sweep;
} sparsemix_gibbs_settings;

/* Topic k is in column k mod 16 for all register widths, so that sums have one order. */
#define SPARSEMIX_COLUMNS 16

/* Scratch vectors of K numbers for ``gibbs_documents``, plus one round of columns. */
#define SPARSEMIX_GIBBS_WORK 4

#define LOOPS "collapsed/gibbs_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

#define SPARSEMIX_GIBBS(REAL)                                                                                          \
    static void sparsemix_gibbs_##REAL(                                                                                \
        int isa, const sparsemix_gibbs_settings *s, ptrdiff_t n_docs, const int64_t *indptr, const int *indices,       \
        const REAL *counts, const double *weight, const REAL *alpha, const double *log_gamma_alpha, REAL *work,        \
        int *topics, REAL *word_topic, double *totals, REAL *doc_topic, double *sums)                                  \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, gibbs_documents, REAL, s, n_docs, indptr, indices, counts, weight, alpha,              \
                           log_gamma_alpha, work, topics, word_topic, totals, doc_topic, sums);                        \
    }                                                                                                                  \
    static void sparsemix_conditional_##REAL(int isa, const sparsemix_gibbs_settings *s, const REAL *now,              \
                                             const REAL *alpha, const REAL *word, const double *totals, ptrdiff_t old, \
                                             REAL copy, REAL *work)                                                    \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, conditional, REAL, s, now, alpha, word, totals, old, copy, work);                      \
    }

SPARSEMIX_GIBBS(float)
SPARSEMIX_GIBBS(double)

#define sparsemix_conditional(a0, a1, pointer, ...)                                                                    \
    SPARSEMIX_BY_REAL(sparsemix_conditional, pointer)(a0, a1, pointer, __VA_ARGS__)

#define sparsemix_gibbs(a0, a1, a2, a3, a4, pointer, ...)                                                              \
    SPARSEMIX_BY_REAL(sparsemix_gibbs, pointer)(a0, a1, a2, a3, a4, pointer, __VA_ARGS__)

#endif
