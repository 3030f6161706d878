/* The loops of scvb.h for one REAL and one instruction set: no include guard, included several times.
 *
 * The vector lanes hold topics. Rows of the table have K numbers and are read in place; a document's own vectors are
 * padded to whole registers, with inverse = 0 there, so that the padding gets no weight. */

#include "vectors/vector_math.h"

#include "own_token.h"
#include "vectors/vector_rows.h"

#if defined(REAL_IS_DOUBLE)
#define SCVB scvb_double
#else
#define SCVB scvb_float
#endif

/* (N_wk + beta) / (N_k + V beta) (N_jk + alpha_k) for one vector of topics, excluding ``own`` tokens of gamma. */
TARGET SPARSEMIX_INLINE VECTOR SPARSEMIX_NAME(weigh_vector)(
    const SCVB *d, VECTOR count, ptrdiff_t k, const REAL *gamma, REAL own, const int exclude)
{
    const VECTOR now = *(const VECTOR *)(d->now + k), alpha = *(const VECTOR *)(d->alpha + k);
    VECTOR topic = count + (REAL)d->s.base, inverse = *(const VECTOR *)(d->inverse + k);
    if (exclude == SPARSEMIX_EXCLUDE_NONE)
        return topic * inverse * (now + alpha);
    if (exclude == SPARSEMIX_EXCLUDE_BOTH) {
        const VECTOR share = *(const VECTOR *)(gamma + k) * own * (REAL)d->s.own;
        topic = LARGER(topic - share, FILL(d->s.prior));
        inverse = inverse / LARGER((REAL)1 - share * inverse, inverse * (REAL)d->s.floor);
    }
    return topic * inverse * SPARSEMIX_NAME(without_token)(now, *(const VECTOR *)(gamma + k), own, alpha);
}

/* Weights of all topics for a type; returns their sum. */
TARGET SPARSEMIX_INLINE REAL SPARSEMIX_NAME(weigh_fixed)(
    const SCVB *d, const REAL *row, const REAL *gamma, REAL own, const int exclude)
{
    const ptrdiff_t n = d->s.n_components;
    VECTOR sum = FILL(0), other = FILL(0), w;
    ptrdiff_t k = 0;
    for (; k + 2 * LANES <= n; k += 2 * LANES) { /* two independent sums: additions have latency */
        w = SPARSEMIX_NAME(weigh_vector)(d, SPARSEMIX_NAME(load)(row + k, LANES), k, gamma, own, exclude);
        *(VECTOR *)(d->weights + k) = w;
        sum += w;
        w = SPARSEMIX_NAME(weigh_vector)(d, SPARSEMIX_NAME(load)(row + k + LANES, LANES), k + LANES, gamma, own, exclude);
        *(VECTOR *)(d->weights + k + LANES) = w;
        other += w;
    }
    for (; k < n; k += LANES) {
        w = SPARSEMIX_NAME(weigh_vector)(d, SPARSEMIX_NAME(load)(row + k, n - k), k, gamma, own, exclude);
        *(VECTOR *)(d->weights + k) = w;
        other += w;
    }
    sum += other;
    return SPARSEMIX_NAME(lane_sum)(sum);
}

TARGET static REAL SPARSEMIX_NAME(weigh)(const SCVB *d, const REAL *row, const REAL *gamma, REAL own)
{
    const int exclude = gamma ? d->s.exclude : SPARSEMIX_EXCLUDE_NONE;
    if (exclude == SPARSEMIX_EXCLUDE_NONE)
        return SPARSEMIX_NAME(weigh_fixed)(d, row, gamma, own, SPARSEMIX_EXCLUDE_NONE);
    if (exclude == SPARSEMIX_EXCLUDE_DOCUMENT)
        return SPARSEMIX_NAME(weigh_fixed)(d, row, gamma, own, SPARSEMIX_EXCLUDE_DOCUMENT);
    return SPARSEMIX_NAME(weigh_fixed)(d, row, gamma, own, SPARSEMIX_EXCLUDE_BOTH);
}

/* One sweep of exact sums: N_j loses a type's old c gamma and gains the new one. In the first sweep, recalled counts
 * are removed instead, in proportion to the tokens replaced. */
TARGET static void SPARSEMIX_NAME(sweep_exact)(SCVB *d, int sweep)
{
    const int first = sweep == 0;
    ptrdiff_t u, k;
    for (u = 0; u < d->n_types; u++) {
        const REAL c = d->counts[u];
        const REAL *row = d->table + (ptrdiff_t)d->types[u] * d->s.n_components;
        REAL *gamma = d->resp + u * d->s.width;
        const REAL total = SPARSEMIX_NAME(weigh)(d, row, first ? NULL : gamma, (REAL)sparsemix_own_copy(c));
        const REAL *old = first ? d->start : gamma;
        const REAL scale = 1 / total;
        const REAL old_share = first ? (REAL)(c / d->length) : c;
        for (k = 0; k < d->s.width; k += LANES) {
            const VECTOR value = *(const VECTOR *)(d->weights + k) * scale;
            *(VECTOR *)(d->now + k) += value * c - *(const VECTOR *)(old + k) * old_share;
            *(VECTOR *)(gamma + k) = value;
        }
    }
    for (k = 0; k < d->s.width; k++) /* clip round-off of the differences */
        d->now[k] = d->now[k] > 0 ? d->now[k] : 0;
}

/* One sweep of steps: N_j <- (1 - rho)^c N_j + (1 - (1 - rho)^c) C_j gamma, rho by the tokens seen so far. */
TARGET static void SPARSEMIX_NAME(sweep_steps)(SCVB *d, int sweep)
{
    double seen = sweep * d->length;
    ptrdiff_t u, k;
    for (u = 0; u < d->n_types; u++) {
        const double c = d->counts[u];
        const ptrdiff_t at = seen < d->s.n_rates ? (ptrdiff_t)seen : d->s.n_rates - 1;
        const double keep = c == 1.0 ? 1.0 - d->s.rates[at] : pow(1.0 - d->s.rates[at], c);
        const REAL *row = d->table + (ptrdiff_t)d->types[u] * d->s.n_components;
        const REAL scale = 1 / SPARSEMIX_NAME(weigh)(d, row, NULL, 0), add = (REAL)((1.0 - keep) * d->length);
        for (k = 0; k < d->s.width; k += LANES)
            *(VECTOR *)(d->now + k) = *(VECTOR *)(d->now + k) * (REAL)keep
                                      + *(const VECTOR *)(d->weights + k) * (add * scale);
        if (sweep == d->s.n_sweeps - 1) /* gamma is summed by word */
            for (k = 0; k < d->s.width; k += LANES)
                *(VECTOR *)(d->resp + u * d->s.width + k) = *(const VECTOR *)(d->weights + k) * scale;
        seen += c;
    }
}

/* Process documents in order; threads that share ``next`` take one at a time. */
TARGET static void SPARSEMIX_NAME(scvb_documents)(
    const sparsemix_scvb_settings *settings, ptrdiff_t n_docs, const int64_t *indptr, const int *indices,
    const REAL *counts, const REAL *table, const REAL *inverse, const REAL *alpha, REAL *work, REAL *doc_topic,
    REAL *resp, const int *order, int64_t *next)
{
    const ptrdiff_t n = settings->n_components, width = settings->width;
    const size_t bytes = n * sizeof(REAL);
    SCVB d;
    ptrdiff_t i, u;
    int sweep;
    d.s = *settings;
    d.table = table;
    memset(work, 0, SPARSEMIX_SCVB_ROWS * width * sizeof(REAL));
    memcpy(work, alpha, bytes);
    memcpy(work + width, inverse, bytes);
    d.alpha = work;
    d.inverse = work + width;
    d.now = work + 2 * width;
    d.start = work + 3 * width;
    d.weights = work + 4 * width;
    while ((i = (ptrdiff_t)sparsemix_fetch_add(next, 1)) < n_docs) {
        int64_t first;
        i = order[i];
        first = indptr[i];
        d.n_types = indptr[i + 1] - first;
        d.types = indices + first;
        d.counts = counts + first;
        d.resp = resp + first * width;
        d.length = 0.0;
        for (u = 0; u < d.n_types; u++)
            d.length += d.counts[u];
        memcpy(d.now, doc_topic + i * n, bytes);
        memcpy(d.start, doc_topic + i * n, bytes);
        for (sweep = 0; sweep < d.s.n_sweeps && d.n_types > 0; sweep++)
            if (d.s.exact)
                SPARSEMIX_NAME(sweep_exact)(&d, sweep);
            else
                SPARSEMIX_NAME(sweep_steps)(&d, sweep);
        memcpy(doc_topic + i * n, d.now, bytes);
    }
}

#undef SCVB
#include "vectors/vector_math_end.h"
