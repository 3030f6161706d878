/* Local inference of a document; the loops are in document_loops.h. */
#ifndef SPARSEMIX_DOCUMENT_H
#define SPARSEMIX_DOCUMENT_H

#include <stdint.h>
#include <string.h>

#include "packed.h"
#include "vectors/simd.h"
#include "vectors/special.h"

/* The largest number of topics per type in the vectorised selection. */
#define SPARSEMIX_MAX_SELECT 64

/* Settings shared by a block of documents. */
typedef struct {
    ptrdiff_t n_components; /* K */
    ptrdiff_t width;        /* of the widest document, in types, padded */
    ptrdiff_t max_topics;   /* the most topics that can be active in one */
    int n_nonzero;          /* L; K and more is dense */
    int max_iter;
    int list_iter;          /* iterations on the words' lists before the block is gathered */
    int select_first;       /* supports are chosen in the first iterations */
    int select_every;       /* and at this interval after them */
    int n_restarts;
    int restart_iter;
    int warm;               /* start at doc_topic */
    int linear;             /* posterior means in the place of exp E[log pi] */
    double tol;             /* largest change of N_dk at convergence */
    double active;          /* topics with at most this mass are dropped, unless the document is short */
    double enter;           /* a topic on a type's list enters a warm document if it would have this share */
} sparsemix_settings;

/* State and scratch of one document. */
#define SPARSEMIX_DOCUMENT_STRUCT(REAL)                                                                                \
    typedef struct {                                                                                                   \
        sparsemix_settings s;                                                                                          \
        ptrdiff_t n_types, width, n_topics; /* U, U padded, A */                                                       \
        const REAL *table;                  /* (V, K) exp E[log phi], any factor a row; or NULL, and then */           \
        const sparsemix_packed_##REAL *packed; /* the same, packed */                                                  \
        const int *lists;                   /* (V, L) the topics with the L largest entries of a row */                \
        const REAL *best;                   /* (V, L) those entries, or NULL: they are in the table */                 \
        const REAL *alpha;                  /* (K,) */                                                                 \
        REAL largest_alpha;                                                                                            \
        const int *types;                   /* (U,) rows of the table */                                               \
        REAL *counts;                       /* (width,) */                                                             \
        REAL *scale;                        /* (width,) counts / Z */                                                  \
        REAL *block, *kept;                 /* (A, width) */                                                           \
        const REAL *resp;                   /* the one with zeros outside each type's support */                       \
        REAL *partial;                      /* (A, lanes) */                                                           \
        REAL *x, *p, *prior;                /* (A,) p = exp E[log pi] up to a factor */                                \
        REAL *now, *next;                   /* (A,) N_dk */                                                            \
        int *topics;                        /* (A,) increasing */                                                      \
        int *local;                         /* (K,) -1 between documents */                                            \
        REAL *doc_topic;                    /* (K,) N_dk: in when warm, and out */                                     \
        double length, active;              /* tokens; topics with at most this are dropped */                         \
        double energy;                      /* sum_u c_u log Z_u - sum_k N_k log p_k */                                \
        double bound;                       /* L_d up to a function of the document's length */                        \
        int n_iter, n_proposed, n_accepted;                                                                            \
    } document_##REAL;

SPARSEMIX_DOCUMENT_STRUCT(float)
SPARSEMIX_DOCUMENT_STRUCT(double)

#define LOOPS "documents/document_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS


#define SPARSEMIX_DOCUMENTS(REAL)                                                                                       \
    static void sparsemix_documents_##REAL(                                                                            \
        int isa, const sparsemix_settings *settings, ptrdiff_t n_docs, const int64_t *indptr, const int *indices,      \
        const REAL *counts, const REAL *table, const sparsemix_packed_##REAL *packed, const int *lists,                \
        const REAL *best, const REAL *alpha, REAL *work, int *int_work,                                                \
        int *topics, REAL *values, REAL *p, REAL *doc_topic, double *bound, double *energy, int64_t *tally)            \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, documents, REAL, settings, n_docs, indptr, indices, counts, table, packed, lists,      \
                           best, alpha, work, int_work, topics, values, p, doc_topic, bound, energy, tally);                              \
    }

SPARSEMIX_DOCUMENTS(float)
SPARSEMIX_DOCUMENTS(double)

/* REALs and ints of scratch that ``documents`` needs. */
static inline ptrdiff_t sparsemix_work_size(const sparsemix_settings *s)
{
    const ptrdiff_t topics = (s->max_topics + SPARSEMIX_PADDING) / SPARSEMIX_PADDING * SPARSEMIX_PADDING;
    return 2 * (topics + s->n_nonzero) * s->width + 2 * s->width + (5 + 16) * topics;
}

static inline ptrdiff_t sparsemix_int_work_size(const sparsemix_settings *s)
{
    return s->max_topics + s->n_components + s->width;
}

#define sparsemix_documents(a0, a1, a2, a3, a4, pointer, ...)                                                          \
    SPARSEMIX_BY_REAL(sparsemix_documents, pointer)(a0, a1, a2, a3, a4, pointer, __VA_ARGS__)

#endif
