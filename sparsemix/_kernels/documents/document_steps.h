/* Local inference of a document ([HS16] Algorithm 2), included by document_loops.h: no include guard. */

#if defined(REAL_IS_DOUBLE)
#define DOCUMENT document_double
#define ACCEPT_GAIN 0.0
#else
#define DOCUMENT document_float
#define ACCEPT_GAIN 1e-5 /* per token; smaller gains are round-off */
#endif
/* Topics with less mass are no candidates of a restart; a smaller change means no change. */
#define NO_MASS 1e-6
/* Tokens; in shorter documents the mass threshold is a share of the length. */
#define SHORT_DOCUMENT 10.0

/* p = exp E[log pi] of the active topics at given N_dk. */
TARGET static void SPARSEMIX_NAME(expect)(DOCUMENT *d, const REAL *doc_topic)
{
    ptrdiff_t a;
    for (a = 0; a < d->n_topics; a++)
        d->x[a] = d->prior[a] + doc_topic[a];
    for (; a % SPARSEMIX_PADDING; a++)
        d->x[a] = 1;
    if (d->s.linear)
        memcpy(d->p, d->x, d->n_topics * sizeof(REAL));
    else
        SPARSEMIX_NAME(exp_digamma)(d->x, d->n_topics, d->p);
}

/* Drop topics without mass for good: psi(alpha) is so low that no type would select them again. Keeps the largest. */
TARGET static void SPARSEMIX_NAME(drop)(DOCUMENT *d)
{
    ptrdiff_t a, b = 0, largest = 0;
    for (a = 1; a < d->n_topics; a++)
        if (d->now[a] > d->now[largest])
            largest = a;
    for (a = 0; a < d->n_topics; a++)
        if (d->now[a] > d->active || a == largest) {
            if (b < a) {
                memcpy(d->block + b * d->width, d->block + a * d->width, d->width * sizeof(REAL));
                if (d->resp == d->kept)
                    memcpy(d->kept + b * d->width, d->kept + a * d->width, d->width * sizeof(REAL));
                d->topics[b] = d->topics[a];
                d->prior[b] = d->prior[a];
                d->now[b] = d->now[a];
            }
            b++;
        }
    d->n_topics = b;
}

/* The L best topics of each type at the current p. */
TARGET static void SPARSEMIX_NAME(support)(DOCUMENT *d)
{
    d->resp = d->block;
    if (d->s.n_nonzero < d->n_topics) {
        SPARSEMIX_NAME(select)(d->block, d->width, d->n_topics, d->p, d->s.n_nonzero, d->kept);
        d->resp = d->kept;
    }
}

TARGET static void SPARSEMIX_NAME(refresh)(DOCUMENT *d, REAL *out)
{
    SPARSEMIX_NAME(update)(d->resp, d->width, d->n_topics, d->counts, d->p, d->scale, d->partial, out);
}

TARGET static REAL SPARSEMIX_NAME(change)(const DOCUMENT *d)
{
    REAL largest = 0;
    ptrdiff_t a;
    for (a = 0; a < d->n_topics; a++) {
        const REAL change = d->next[a] > d->now[a] ? d->next[a] - d->now[a] : d->now[a] - d->next[a];
        largest = change > largest ? change : largest;
    }
    return largest;
}

TARGET static void SPARSEMIX_NAME(swap)(DOCUMENT *d)
{
    REAL *now = d->now;
    d->now = d->next;
    d->next = now;
}

/* The objective after an update at p that gave ``doc_topic``: the energy sum_u c_u log Z_u - sum_k N_k log p_k, and
 * L_d up to a function of the length, where an inactive topic contributes lgamma(alpha) - lgamma(alpha). Logs are
 * REAL, sums are double. */
TARGET static void SPARSEMIX_NAME(evaluate)(DOCUMENT *d, const REAL *doc_topic)
{
    ptrdiff_t u, a;
    int i;
    d->energy = 0.0;
    for (u = 0; u < d->width; u += LANES) {
        const VECTOR c = *(const VECTOR *)(d->counts + u), scale = *(const VECTOR *)(d->scale + u);
        const BITS padded = MASK(c <= FILL(0));
        const VECTOR terms = c * SPARSEMIX_NAME(log)(CHOOSE(padded, FILL(1), c / scale));
        for (i = 0; i < LANES; i++)
            d->energy += ((const REAL *)&terms)[i];
    }
    for (a = 0; a < d->n_topics; a += LANES) {
        const VECTOR p = *(const VECTOR *)(d->p + a);
        const VECTOR logs = SPARSEMIX_NAME(log)(CHOOSE(MASK(p > FILL(SMALLEST)), p, FILL(SMALLEST)));
        for (i = 0; i < LANES && a + i < d->n_topics; i++)
            if (doc_topic[a + i] > 0)
                d->energy -= (double)doc_topic[a + i] * ((const REAL *)&logs)[i];
    }
    d->bound = d->energy;
    for (a = 0; a < d->n_topics; a++)
        if (doc_topic[a] > 0)
            d->bound += sparsemix_log_gamma((double)d->prior[a] + doc_topic[a]) - sparsemix_log_gamma(d->prior[a]);
}

/* Iterations 1, 2, ... from N_dk = now; supports are selected in the first ones, then periodically. */
TARGET static void SPARSEMIX_NAME(ascend)(DOCUMENT *d, int may_drop)
{
    int i;
    for (i = 1; i <= d->s.max_iter; i++) {
        const int selects = i <= d->s.select_first || (i - 1) % d->s.select_every == 0 || d->s.n_nonzero == 1;
        if (may_drop || i > 1)
            SPARSEMIX_NAME(drop)(d);
        SPARSEMIX_NAME(expect)(d, d->now);
        if (selects)
            SPARSEMIX_NAME(support)(d);
        SPARSEMIX_NAME(refresh)(d, d->next);
        d->n_iter++;
        if (SPARSEMIX_NAME(change)(d) < d->s.tol) {
            SPARSEMIX_NAME(swap)(d);
            break;
        }
        SPARSEMIX_NAME(swap)(d);
    }
}

/* The smallest topic above a threshold, or -1 when fewer than two topics have mass. */
TARGET static ptrdiff_t SPARSEMIX_NAME(smallest)(const DOCUMENT *d, REAL threshold)
{
    ptrdiff_t a, found = -1;
    int n_with_mass = 0;
    for (a = 0; a < d->n_topics; a++) {
        n_with_mass += d->now[a] > (REAL)NO_MASS;
        if (d->now[a] > threshold && (found < 0 || d->now[a] < d->now[found]))
            found = a;
    }
    return n_with_mass < 2 ? -1 : found;
}

/* Restart proposals: empty one topic, from the smallest up, iterate, and accept if L_d has increased. */
TARGET static void SPARSEMIX_NAME(restart)(DOCUMENT *d)
{
    double current;
    REAL threshold = (REAL)NO_MASS;
    int trial, i;
    SPARSEMIX_NAME(expect)(d, d->now);
    SPARSEMIX_NAME(support)(d);
    SPARSEMIX_NAME(refresh)(d, d->next);
    SPARSEMIX_NAME(swap)(d);
    SPARSEMIX_NAME(evaluate)(d, d->now);
    current = d->bound;
    for (trial = 0; trial < d->s.n_restarts; trial++) {
        const ptrdiff_t emptied = SPARSEMIX_NAME(smallest)(d, threshold);
        if (emptied < 0)
            break;
        threshold = d->now[emptied];
        memcpy(d->next, d->now, d->n_topics * sizeof(REAL));
        d->next[emptied] = 0;
        for (i = 0; i < d->s.restart_iter; i++) {
            SPARSEMIX_NAME(expect)(d, d->next);
            SPARSEMIX_NAME(support)(d);
            SPARSEMIX_NAME(refresh)(d, d->next);
        }
        d->n_proposed++;
        if (d->next[emptied] - threshold < (REAL)NO_MASS && threshold - d->next[emptied] < (REAL)NO_MASS)
            continue; /* it grew back */
        SPARSEMIX_NAME(evaluate)(d, d->next);
        if (d->bound > current + ACCEPT_GAIN * d->length) {
            current = d->bound;
            SPARSEMIX_NAME(swap)(d);
            d->n_accepted++;
        }
    }
}

/* Final update at N_dk = now, its objective, and the document's row of N_dk. */
TARGET static void SPARSEMIX_NAME(finish)(DOCUMENT *d)
{
    ptrdiff_t a;
    SPARSEMIX_NAME(expect)(d, d->now);
    SPARSEMIX_NAME(support)(d);
    SPARSEMIX_NAME(refresh)(d, d->next);
    SPARSEMIX_NAME(swap)(d);
    if (d->s.linear)
        d->bound = d->energy = 0.0; /* there is no objective */
    else
        SPARSEMIX_NAME(evaluate)(d, d->now);
    memset(d->doc_topic, 0, d->s.n_components * sizeof(REAL));
    for (a = 0; a < d->n_topics; a++)
        d->doc_topic[d->topics[a]] = d->now[a];
}

/* The topics marked in ``local`` become the active ones, increasing. */
TARGET static void SPARSEMIX_NAME(enter)(DOCUMENT *d)
{
    ptrdiff_t k, i, n = 0;
    for (k = 0; k < d->s.n_components; k += 8) {
        const ptrdiff_t end = k + 8 < d->s.n_components ? k + 8 : d->s.n_components;
        int none = -1; /* all bits set while nothing is marked */
        for (i = k; i < end; i++)
            none &= d->local[i];
        if (none != -1)
            for (i = k; i < end; i++)
                if (d->local[i] == 0) {
                    d->local[i] = (int)n;
                    d->topics[n] = (int)i;
                    d->prior[n] = d->alpha[i];
                    d->now[n++] = d->s.warm ? d->doc_topic[i] : 0;
                }
    }
    d->n_topics = n;
}

/* Mark all topics on the lists of the document's types. */
TARGET static void SPARSEMIX_NAME(mark_lists)(DOCUMENT *d)
{
    const ptrdiff_t l = d->s.n_nonzero;
    ptrdiff_t u, j;
    for (u = 0; u < d->n_types; u++)
        for (j = 0; j < l; j++)
            d->local[d->lists[d->types[u] * l + j]] = 0;
}

/* Mark the topics of a warm document. Most values are zero, which has no bits set, so they are tested eight at a
 * time. */
TARGET static void SPARSEMIX_NAME(mark_own)(DOCUMENT *d)
{
    ptrdiff_t k = 0, i;
    for (; k + 8 <= d->s.n_components; k += 8) {
        INTEGER some[8], any = 0;
        memcpy(some, d->doc_topic + k, sizeof some);
        for (i = 0; i < 8; i++)
            any |= some[i];
        if (any)
            for (i = k; i < k + 8; i++)
                if (d->doc_topic[i] > 0)
                    d->local[i] = 0;
    }
    for (; k < d->s.n_components; k++)
        if (d->doc_topic[k] > 0)
            d->local[k] = 0;
}

/* The table entry of a topic on a type's list. */
TARGET static inline REAL SPARSEMIX_NAME(on_list)(const DOCUMENT *d, ptrdiff_t u, ptrdiff_t j)
{
    const ptrdiff_t at = d->types[u] * (ptrdiff_t)d->s.n_nonzero + j;
    return d->best != NULL ? d->best[at] : d->table[d->types[u] * d->s.n_components + d->lists[at]];
}

/* Mark the topics on the lists that a warm document lacks and that would take a share of some type, given the block of
 * its current topics; returns their number. The best missing topics of a type are on its list, because with symmetric
 * alpha all missing topics have the same E[log pi]. */
TARGET static int SPARSEMIX_NAME(mark_newcomers)(DOCUMENT *d)
{
    const ptrdiff_t l = d->s.n_nonzero;
    ptrdiff_t u, j, a;
    int n_new = 0;
    REAL least;
    for (a = 0; a < d->n_topics; a++)
        d->x[a] = d->prior[a] + d->now[a];
    d->x[a++] = d->largest_alpha; /* upper bound for a new topic */
    for (; a % SPARSEMIX_PADDING; a++)
        d->x[a] = 1;
    if (d->s.linear)
        memcpy(d->p, d->x, (d->n_topics + 1) * sizeof(REAL));
    else
        SPARSEMIX_NAME(exp_digamma)(d->x, d->n_topics + 1, d->p);
    least = d->p[d->n_topics];
    for (u = 0; u < d->width; u += LANES) {
        VECTOR z = FILL(SMALLEST);
        for (a = 0; a < d->n_topics; a++)
            z += *(const VECTOR *)(d->block + a * d->width + u) * d->p[a];
        *(VECTOR *)(d->scale + u) = z * (REAL)d->s.enter;
    }
    for (u = 0; u < d->n_types; u++)
        for (j = 0; j < l; j++) {
            const int k = d->lists[d->types[u] * l + j];
            if (d->local[k] < 0 && SPARSEMIX_NAME(on_list)(d, u, j) * least >= d->scale[u]) {
                d->local[k] = 0;
                n_new++;
            }
        }
    return n_new;
}

/* Iterations on the lists alone, L entries per type, before the block is gathered, starting at p = 1. Result in now. */
TARGET static void SPARSEMIX_NAME(iterate_lists)(DOCUMENT *d)
{
    const ptrdiff_t l = d->s.n_nonzero;
    ptrdiff_t u, j, a;
    int i;
    int *at = (int *)d->block; /* scratch: the block is gathered later */
    REAL *t = d->kept;
    for (u = 0; u < d->n_types; u++)
        for (j = 0; j < l; j++) {
            const int k = d->lists[d->types[u] * l + j];
            at[u * l + j] = d->local[k];
            t[u * l + j] = SPARSEMIX_NAME(on_list)(d, u, j);
        }
    for (a = 0; a < d->n_topics; a++)
        d->p[a] = 1;
    for (i = 0; i <= d->s.list_iter; i++) {
        if (i > 0)
            SPARSEMIX_NAME(expect)(d, d->now);
        memset(d->now, 0, d->n_topics * sizeof(REAL));
        for (u = 0; u < d->n_types; u++) {
            REAL z = (REAL)SMALLEST;
            for (j = u * l; j < (u + 1) * l; j++)
                z += t[j] * d->p[at[j]];
            z = d->counts[u] / z;
            for (j = u * l; j < (u + 1) * l; j++)
                d->now[at[j]] += z * t[j] * d->p[at[j]];
        }
    }
}

TARGET static void SPARSEMIX_NAME(gather_active)(DOCUMENT *d)
{
    if (d->table == NULL)
        SPARSEMIX_NAME(gather_packed)(d->packed, d->s.n_components, d->types, d->n_types, d->width, d->topics, d->n_topics,
                                      (const REAL **)d->partial, d->block);
    else
        SPARSEMIX_NAME(gather)(d->table, d->s.n_components, d->types, d->n_types, d->width, d->topics, d->n_topics,
                               d->block);
}

/* L-sparse inference, with restarts ([HS16] Algorithm 2). */
TARGET static void SPARSEMIX_NAME(sparse_document)(DOCUMENT *d)
{
    ptrdiff_t a;
    d->n_iter = d->n_proposed = d->n_accepted = 0;
    if (d->s.warm)
        SPARSEMIX_NAME(mark_own)(d);
    else
        SPARSEMIX_NAME(mark_lists)(d);
    SPARSEMIX_NAME(enter)(d);
    if (d->s.warm) {
        SPARSEMIX_NAME(gather_active)(d);
        if (SPARSEMIX_NAME(mark_newcomers)(d)) {
            for (a = 0; a < d->n_topics; a++)
                d->local[d->topics[a]] = 0;
            SPARSEMIX_NAME(enter)(d);
            SPARSEMIX_NAME(gather_active)(d);
        }
    } else
        SPARSEMIX_NAME(iterate_lists)(d);
    for (a = 0; a < d->n_topics; a++)
        d->local[d->topics[a]] = -1;
    if (!d->s.warm) { /* drop before gathering the block, so that topics without mass cost nothing */
        const ptrdiff_t width = d->width;
        d->width = 0;
        SPARSEMIX_NAME(drop)(d);
        d->width = width;
        SPARSEMIX_NAME(gather_active)(d);
    }
    d->resp = d->block;
    SPARSEMIX_NAME(ascend)(d, !d->s.warm);
    if (d->s.n_restarts > 0)
        SPARSEMIX_NAME(restart)(d);
    SPARSEMIX_NAME(finish)(d);
}

#include "document_dense.h"

/* Assign the parts of the scratch memory. */
TARGET static void SPARSEMIX_NAME(assign_work)(DOCUMENT *d, REAL *work, int *int_work)
{
    const ptrdiff_t width = d->s.width;
    const ptrdiff_t topics = (d->s.max_topics + SPARSEMIX_PADDING) / SPARSEMIX_PADDING * SPARSEMIX_PADDING;
    const ptrdiff_t size = (topics + d->s.n_nonzero) * width;
    ptrdiff_t k;
    d->counts = work;
    d->scale = d->counts + width;
    d->block = d->scale + width;
    d->kept = d->block + size;
    d->partial = d->kept + size;
    d->x = d->partial + 16 * topics;
    d->p = d->x + topics;
    d->prior = d->p + topics;
    d->now = d->prior + topics;
    d->next = d->now + topics;
    d->topics = int_work;
    d->local = d->topics + d->s.max_topics;
    for (k = 0; k < d->s.n_components; k++)
        d->local[k] = -1;
}

/* The responsibilities times counts of a finished document: for each type at most L topics and values, padded with
 * values of zero. */
TARGET static void SPARSEMIX_NAME(write_entries)(const DOCUMENT *d, int *filled, int *topics, REAL *values)
{
    const ptrdiff_t l = d->s.n_nonzero;
    ptrdiff_t a, u;
    memset(filled, 0, d->n_types * sizeof(int));
    memset(topics, 0, d->n_types * l * sizeof(int));
    memset(values, 0, d->n_types * l * sizeof(REAL));
    for (a = 0; a < d->n_topics; a++) {
        const REAL *row = d->resp + a * d->width;
        for (u = 0; u < d->n_types; u++)
            if (row[u] > 0 && filled[u] < l) {
                topics[u * l + filled[u]] = d->topics[a];
                values[u * l + filled[u]++] = row[u] * d->p[a] * d->scale[u];
            }
    }
}

/* A block of documents. Sparse: topics and values (nnz, L). Dense: values (nnz,) are counts / Z, with p (n, K). */
TARGET static void SPARSEMIX_NAME(documents)(
    const sparsemix_settings *settings, ptrdiff_t n_docs, const int64_t *indptr, const int *indices, const REAL *counts,
    const REAL *table, const PACKED *packed, const int *lists, const REAL *best, const REAL *alpha, REAL *work,
    int *int_work, int *topics, REAL *values,
    REAL *p, REAL *doc_topic, double *bound, double *energy, int64_t *tally)
{
    DOCUMENT d;
    ptrdiff_t i, u;
    memset(&d, 0, sizeof d);
    d.s = *settings;
    d.table = table;
    d.packed = packed;
    d.lists = lists;
    d.best = best;
    d.alpha = alpha;
    d.largest_alpha = alpha[0];
    for (i = 1; i < d.s.n_components; i++)
        d.largest_alpha = alpha[i] > d.largest_alpha ? alpha[i] : d.largest_alpha;
    SPARSEMIX_NAME(assign_work)(&d, work, int_work);
    for (i = 0; i < n_docs; i++) {
        const ptrdiff_t start = indptr[i];
        d.n_types = indptr[i + 1] - start;
        d.width = (d.n_types + SPARSEMIX_PADDING - 1) / SPARSEMIX_PADDING * SPARSEMIX_PADDING;
        d.types = indices + start;
        if (packed != NULL && i + 1 < n_docs)
            SPARSEMIX_NAME(fetch)(packed, d.types + d.n_types, indptr[i + 2] - indptr[i + 1], lists, best,
                                  d.s.n_nonzero);
        d.doc_topic = doc_topic + i * d.s.n_components;
        memcpy(d.counts, counts + start, d.n_types * sizeof(REAL));
        memset(d.counts + d.n_types, 0, (d.width - d.n_types) * sizeof(REAL));
        d.length = 0.0;
        for (u = 0; u < d.n_types; u++)
            d.length += d.counts[u];
        d.active = d.s.active * (d.length < SHORT_DOCUMENT ? d.length / SHORT_DOCUMENT : 1.0);
        if (d.n_types == 0) {
            memset(d.doc_topic, 0, d.s.n_components * sizeof(REAL));
            bound[i] = energy[i] = 0.0;
            memset(tally + 3 * i, 0, 3 * sizeof *tally);
            if (p != NULL)
                memset(p + i * d.s.n_components, 0, d.s.n_components * sizeof(REAL));
            continue;
        }
        if (lists != NULL) {
            SPARSEMIX_NAME(sparse_document)(&d);
            if (values != NULL)
                SPARSEMIX_NAME(write_entries)(&d, d.local + d.s.n_components, topics + start * d.s.n_nonzero,
                                              values + start * d.s.n_nonzero);
        } else {
            SPARSEMIX_NAME(dense_document)(&d);
            if (values != NULL) {
                memcpy(values + start, d.scale, d.n_types * sizeof(REAL));
                memcpy(p + i * d.s.n_components, d.p, d.s.n_components * sizeof(REAL));
            }
        }
        bound[i] = d.bound;
        energy[i] = d.energy;
        tally[3 * i] = d.n_iter;
        tally[3 * i + 1] = d.n_proposed;
        tally[3 * i + 2] = d.n_accepted;
    }
}

#undef DOCUMENT
#undef ACCEPT_GAIN
#undef NO_MASS
#undef SHORT_DOCUMENT
