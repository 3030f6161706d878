/* Topic proportions of documents under fixed topics; the loops are in proportions_loops.h. */
#ifndef SPARSEMIX_PROPORTIONS_H
#define SPARSEMIX_PROPORTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "vectors/simd.h"

/* Words whose rows are read together; panels are padded to whole groups. */
#define SPARSEMIX_GROUP 4

/* Settings shared by all documents. */
typedef struct {
    ptrdiff_t n_components; /* K */
    ptrdiff_t longest;      /* words of the longest document, padded */
    ptrdiff_t kept;         /* largest panel kept in memory, in numbers; a larger one is read again in each update */
    int max_iter;
    int linear;             /* weights alpha + N_dk in the place of exp E[log pi] */
    double tol;             /* converged when no N_dk changes by this much, in tokens */
    int relative;           /* ``tol`` is a share of the document's tokens */
    ptrdiff_t step;         /* from the prior of a document to that of the next: K, or 0 if all have one */
} sparsemix_proportion_settings;

static inline ptrdiff_t sparsemix_whole(ptrdiff_t n, ptrdiff_t group)
{
    return (n + group - 1) / group * group;
}

/* REALs of a panel: that of the longest document, or the largest one kept, plus one group of words. */
static inline ptrdiff_t sparsemix_proportion_panel(const sparsemix_proportion_settings *s)
{
    const ptrdiff_t width = sparsemix_whole(s->n_components, SPARSEMIX_PADDING), all = s->longest * width;
    return all <= s->kept ? all : sparsemix_whole(s->kept, SPARSEMIX_PADDING) + SPARSEMIX_GROUP * width;
}

/* REALs of scratch for one document. */
static inline ptrdiff_t sparsemix_proportion_work_size(const sparsemix_proportion_settings *s)
{
    const ptrdiff_t width = sparsemix_whole(s->n_components, SPARSEMIX_PADDING);
    return 2 * sparsemix_proportion_panel(s) + 11 * width + 3 * sparsemix_whole(s->longest, SPARSEMIX_PADDING);
}

static inline ptrdiff_t sparsemix_proportion_int_work_size(const sparsemix_proportion_settings *s)
{
    return s->n_components;
}

#define LOOPS "proportions/proportions_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

#define SPARSEMIX_PROPORTIONS(REAL)                                                                                    \
    static void sparsemix_proportions_##REAL(                                                                          \
        int isa, const sparsemix_proportion_settings *settings, ptrdiff_t n_docs, const int64_t *indptr,               \
        const int *indices, const REAL *counts, const REAL *table, const double *prior, REAL *work, int *int_work,     \
        double *out, int64_t *n_iter)                                                                                  \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, proportions, REAL, settings, n_docs, indptr, indices, counts, table, prior, work,      \
                           int_work, out, n_iter);                                                                     \
    }

SPARSEMIX_PROPORTIONS(float)
SPARSEMIX_PROPORTIONS(double)

#define sparsemix_proportions(a0, a1, a2, a3, a4, pointer, ...)                                                        \
    SPARSEMIX_BY_REAL(sparsemix_proportions, pointer)(a0, a1, a2, a3, a4, pointer, __VA_ARGS__)

#endif
