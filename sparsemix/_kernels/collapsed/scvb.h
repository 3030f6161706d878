/* Clumped collapsed inference of documents under frozen topics, over all topics; the loops are in scvb_loops.h. */
#ifndef SPARSEMIX_SCVB_H
#define SPARSEMIX_SCVB_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "own_token.h"
#include "vectors/simd.h"

/* Rows of ``width`` numbers that a thread needs. */
#define SPARSEMIX_SCVB_ROWS 5

/* Settings shared by a block of documents. */
typedef struct {
    ptrdiff_t n_components; /* K */
    ptrdiff_t width;        /* K padded */
    int n_sweeps;           /* the last one adds to the statistics */
    int exclude;
    int exact;              /* N is the sum of c gamma; else steps of size rho towards C gamma */
    double base;            /* (offset + topic_word_prior) / factor: added to every count of the table */
    double prior;           /* topic_word_prior / factor */
    double own;             /* 1 / factor: a token in units of the table */
    double floor;           /* V topic_word_prior / factor: lower bound of a topic's total */
    ptrdiff_t n_rates;
    const double *rates;    /* (n_rates,) rho by whole tokens seen in the visit */
} sparsemix_scvb_settings;

/* One document, and scratch for its sweeps. */
#define SPARSEMIX_SCVB_STRUCT(REAL)                                                                                    \
    typedef struct {                                                                                                   \
        sparsemix_scvb_settings s;                                                                                     \
        const REAL *table;            /* (V, K) counts by word and topic */                                            \
        const REAL *alpha, *inverse;  /* (width,) prior; factor / (N_k + V topic_word_prior) */                        \
        REAL *now, *start, *weights;  /* (width,) N_jk; its recalled part; unnormalised gamma */                       \
        REAL *resp;                   /* (U, width) gamma */                                                           \
        ptrdiff_t n_types;            /* U */                                                                          \
        const int *types;             /* (U,) rows of the table */                                                     \
        const REAL *counts;           /* (U,) c */                                                                     \
        double length;                /* C_j */                                                                        \
    } scvb_##REAL;

SPARSEMIX_SCVB_STRUCT(float)
SPARSEMIX_SCVB_STRUCT(double)

#define LOOPS "collapsed/scvb_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

#define SPARSEMIX_SCVB_DOCUMENTS(REAL)                                                                                 \
    static void sparsemix_scvb_documents_##REAL(                                                                       \
        int isa, const sparsemix_scvb_settings *settings, ptrdiff_t n_docs, const int64_t *indptr, const int *indices, \
        const REAL *counts, const REAL *table, const REAL *inverse, const REAL *alpha, REAL *work, REAL *doc_topic,    \
        REAL *resp, const int *order, int64_t *next)                                                                   \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, scvb_documents, REAL, settings, n_docs, indptr, indices, counts, table, inverse,       \
                           alpha, work, doc_topic, resp, order, next);                                                 \
    }

SPARSEMIX_SCVB_DOCUMENTS(float)
SPARSEMIX_SCVB_DOCUMENTS(double)

#define sparsemix_scvb_documents(a0, a1, a2, a3, a4, pointer, ...)                                                     \
    SPARSEMIX_BY_REAL(sparsemix_scvb_documents, pointer)(a0, a1, a2, a3, a4, pointer, __VA_ARGS__)

#endif
