/* The loops of proportions.h for one REAL and one instruction set: no include guard, included several times.
 *
 * A panel holds one row per word of a document, and the vector lanes hold topics: all K in ``all``, those with some
 * mass in ``some``. Rows are padded to whole vectors and panels to whole groups of words, with zeros. A long
 * document has no panel of all topics: its rows are read from the table one group of words at a time, and ``all``
 * holds that group. */

#include "vectors/vector_math.h"
#include "vectors/vector_rows.h"

#define PROPORTIONS SPARSEMIX_NAME(proportions_of)

/* Updates of all topics before the first of some; the share of tokens below which a topic is not among some; most pairs
 * of updates of some before the next of all; largest extrapolation step. */
#define FULL_ITER 2
#define STANDS_STILL 1e-4
#define PAIRS 10
#define LARGEST_STEP 32.0
/* With linear weights: that share, and the gain below which a topic moves to its own fixed point. */
#define STANDS_STILL_LINEAR 2e-4
#define LOW_GAIN 0.5

typedef struct {
    sparsemix_proportion_settings s;
    ptrdiff_t n, n_words, width;    /* words; padded to whole groups; K padded */
    int is_long;                    /* no panel of all topics */
    const REAL *table;              /* (V, K) */
    const int *words;               /* (n,) */
    double length;                  /* tokens */
    double tol;                     /* converged when no N_dk changes by this much */
    REAL *counts, *rest;            /* (n_words,) c; contribution of the fixed topics to Z */
    REAL *alpha;                    /* (K,) */
    REAL *all, *some;               /* panels */
    REAL *x, *p, *gain;             /* (K,) p = the weights, gain = sum_u c_u t_uk / Z_u */
    REAL *now, *next;               /* (K,) N_dk */
    REAL *prior, *mass, *first, *second; /* (A,) of some: alpha, N_dk, and after one and two updates */
    int *topics;                    /* (A,) increasing */
} PROPORTIONS;

/* The sums of the lanes of four vectors. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(four_sums)(const VECTOR *x, REAL *out)
{
#if SPARSEMIX_X86 && LEVEL > 0 && !defined(REAL_IS_DOUBLE)
    __m256 y[4], sums;
    int j;
    for (j = 0; j < 4; j++)
#if LEVEL == 2
        y[j] = _mm256_add_ps(_mm512_castps512_ps256((__m512)x[j]), _mm512_extractf32x8_ps((__m512)x[j], 1));
#else
        y[j] = (__m256)x[j];
#endif
    sums = _mm256_hadd_ps(_mm256_hadd_ps(y[0], y[1]), _mm256_hadd_ps(y[2], y[3]));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1)));
#else
    int j;
    for (j = 0; j < 4; j++)
        out[j] = SPARSEMIX_NAME(lane_sum)(x[j]);
#endif
}

/* Z_u = sum_k row_u[k] p[k] of a group of words. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(group_evidence)(const REAL *rows, ptrdiff_t width, const REAL *p, REAL *out)
{
    VECTOR z[SPARSEMIX_GROUP];
    ptrdiff_t k;
    int j;
    for (j = 0; j < SPARSEMIX_GROUP; j++)
        z[j] = FILL(0);
    for (k = 0; k < width; k += LANES) {
        const VECTOR weights = *(const VECTOR *)(p + k);
        for (j = 0; j < SPARSEMIX_GROUP; j++)
            z[j] += *(const VECTOR *)(rows + j * width + k) * weights;
    }
    SPARSEMIX_NAME(four_sums)(z, out);
}

/* Copy the rows of a group of words into ``all`` from ``to`` on; zeros after the last word. */
TARGET SPARSEMIX_INLINE const REAL *SPARSEMIX_NAME(read_group)(const PROPORTIONS *d, ptrdiff_t u, REAL *to)
{
    const ptrdiff_t n_all = d->s.n_components;
    int j;
    for (j = 0; j < SPARSEMIX_GROUP; j++) {
        REAL *row = to + j * d->width;
        const ptrdiff_t n_read = u + j < d->n ? n_all : 0;
        if (n_read)
            memcpy(row, d->table + (ptrdiff_t)d->words[u + j] * n_all, n_all * sizeof(REAL));
        memset(row + n_read, 0, (d->width - n_read) * sizeof(REAL));
    }
    return to;
}

/* The rows of a group of words in a panel; for all topics of a long document, reads them from the table. */
TARGET SPARSEMIX_INLINE const REAL *SPARSEMIX_NAME(group_of)(const PROPORTIONS *d, const REAL *panel, ptrdiff_t width,
                                                             ptrdiff_t u)
{
    if (d->is_long && panel == d->all)
        return SPARSEMIX_NAME(read_group)(d, u, d->all);
    return panel + u * width;
}

/* gain[k] = sum_u c_u row_u[k] / Z_u over the rows of a panel, where Z includes ``rest``. */
TARGET static void SPARSEMIX_NAME(gains)(const PROPORTIONS *d, const REAL *panel, ptrdiff_t width, const REAL *p,
                                         const REAL *rest, REAL *gain)
{
    ptrdiff_t u, k;
    int j;
    memset(gain, 0, width * sizeof(REAL));
    for (u = 0; u < d->n_words; u += SPARSEMIX_GROUP) {
        const REAL *rows = SPARSEMIX_NAME(group_of)(d, panel, width, u);
        REAL scale[SPARSEMIX_GROUP];
        SPARSEMIX_NAME(group_evidence)(rows, width, p, scale);
        for (j = 0; j < SPARSEMIX_GROUP; j++)
            scale[j] = d->counts[u + j] / (scale[j] + rest[u + j] + (REAL)SMALLEST);
        for (k = 0; k < width; k += LANES) {
            VECTOR sum = *(const VECTOR *)(gain + k);
            for (j = 0; j < SPARSEMIX_GROUP; j++)
                sum += *(const VECTOR *)(rows + j * width + k) * scale[j];
            *(VECTOR *)(gain + k) = sum;
        }
    }
}

/* The weights p of n topics at some N_dk, padded with zeros. */
TARGET static void SPARSEMIX_NAME(weigh)(const PROPORTIONS *d, const REAL *alpha, const REAL *mass, ptrdiff_t n,
                                         ptrdiff_t width, REAL *p)
{
    ptrdiff_t k;
    for (k = 0; k < n; k++)
        d->x[k] = alpha[k] + mass[k];
    for (; k < width; k++)
        d->x[k] = 1;
    if (d->s.linear)
        memcpy(p, d->x, n * sizeof(REAL));
    else
        SPARSEMIX_NAME(exp_digamma)(d->x, n, p);
    for (k = n; k < width; k++)
        p[k] = 0;
}

/* to = p gain; returns the largest change. */
TARGET static REAL SPARSEMIX_NAME(move)(const REAL *p, const REAL *gain, const REAL *from, ptrdiff_t n, REAL *to)
{
    REAL largest = 0;
    ptrdiff_t k;
    for (k = 0; k < n; k++) {
        const REAL mass = p[k] * gain[k], change = mass > from[k] ? mass - from[k] : from[k] - mass;
        largest = change > largest ? change : largest;
        to[k] = mass;
    }
    return largest;
}

/* One update of some topics while the remaining topics stay fixed; returns the largest change. */
TARGET static REAL SPARSEMIX_NAME(update_some)(PROPORTIONS *d, const REAL *panel, ptrdiff_t n, ptrdiff_t width,
                                               const REAL *from, REAL *to)
{
    SPARSEMIX_NAME(weigh)(d, d->prior, from, n, width, d->p);
    SPARSEMIX_NAME(gains)(d, panel, width, d->p, d->rest, d->gain);
    return SPARSEMIX_NAME(move)(d->p, d->gain, from, n, to);
}

/* Extrapolate the fixed point of two updates n0, n1, n2 into n0 (Varadhan & Roland 2008, scheme S3): accelerates the
 * slow linear convergence. */
TARGET static void SPARSEMIX_NAME(extrapolate)(ptrdiff_t n, REAL *n0, const REAL *n1, const REAL *n2)
{
    double moved = 0.0, bent = 0.0, step;
    ptrdiff_t a;
    for (a = 0; a < n; a++) {
        const double r = (double)n1[a] - n0[a], v = (double)n2[a] - n1[a] - r;
        moved += r * r;
        bent += v * v;
    }
    step = bent > 0.0 ? sqrt(moved / bent) : 1.0;
    step = step < 1.0 ? 1.0 : step > LARGEST_STEP ? LARGEST_STEP : step;
    for (a = 0; a < n; a++) {
        const double r = (double)n1[a] - n0[a], v = (double)n2[a] - n1[a] - r;
        const double ahead = n0[a] + 2.0 * step * r + step * step * v;
        n0[a] = (REAL)(ahead > 0.1 * n2[a] ? ahead : 0.1 * n2[a]);
    }
}

/* The panel of some topics, and the contribution of the remaining topics to Z. */
TARGET static void SPARSEMIX_NAME(take_some)(PROPORTIONS *d, ptrdiff_t n, ptrdiff_t width)
{
    ptrdiff_t u, a;
    int j;
    SPARSEMIX_NAME(weigh)(d, d->alpha, d->now, d->s.n_components, d->width, d->p);
    for (a = 0; a < n; a++)
        d->p[d->topics[a]] = 0;
    for (u = 0; u < d->n_words; u += SPARSEMIX_GROUP) {
        const REAL *rows = SPARSEMIX_NAME(group_of)(d, d->all, d->width, u);
        SPARSEMIX_NAME(group_evidence)(rows, d->width, d->p, d->rest + u);
        for (j = 0; j < SPARSEMIX_GROUP; j++) {
            REAL *to = d->some + (u + j) * width;
            for (a = 0; a < n; a++)
                to[a] = rows[j * d->width + d->topics[a]];
            for (; a < width; a++)
                to[a] = 0;
        }
    }
}

/* Updates of the topics with some mass, while the remaining topics stay fixed. A full update must follow, and
 * decides on convergence. With linear weights the objective is concave, so any path reaches its only maximum;
 * otherwise documents of few topics are updated without extrapolation, which would lead to other fixed points. */
TARGET static void SPARSEMIX_NAME(iterate_some)(PROPORTIONS *d)
{
    const double share = d->s.linear ? STANDS_STILL_LINEAR : STANDS_STILL;
    const ptrdiff_t n_all = d->s.n_components;
    ptrdiff_t a, n = 0, width = d->width;
    const REAL *panel = d->all;
    int i;
    for (a = 0; a < n_all; a++)
        if (d->now[a] > (REAL)(share * d->length))
            d->topics[n++] = (int)a;
    if (2 * n < n_all && (!d->is_long || d->n_words * sparsemix_whole(n, SPARSEMIX_PADDING) <= d->s.kept)) {
        width = sparsemix_whole(n, SPARSEMIX_PADDING);
        panel = d->some;
        SPARSEMIX_NAME(take_some)(d, n, width);
    } else if (d->s.linear) {
        for (n = 0; n < n_all; n++)
            d->topics[n] = (int)n;
        memset(d->rest, 0, d->n_words * sizeof(REAL));
    } else
        return;
    for (a = 0; a < n; a++) {
        d->mass[a] = d->now[d->topics[a]];
        d->prior[a] = d->alpha[d->topics[a]];
    }
    for (i = 0; i < PAIRS; i++) {
        if (SPARSEMIX_NAME(update_some)(d, panel, n, width, d->mass, d->first) < d->tol)
            break;
        SPARSEMIX_NAME(update_some)(d, panel, n, width, d->first, d->second);
        SPARSEMIX_NAME(extrapolate)(n, d->mass, d->first, d->second);
    }
    for (a = 0; a < n; a++)
        d->now[d->topics[a]] = d->mass[a];
    memset(d->rest, 0, d->n_words * sizeof(REAL));
}

/* Move topics of low gain to the fixed point they would have if all other topics stayed fixed: N = (alpha + N) gain. */
TARGET static void SPARSEMIX_NAME(settle)(PROPORTIONS *d)
{
    ptrdiff_t k;
    for (k = 0; k < d->s.n_components; k++)
        if (d->gain[k] < (REAL)LOW_GAIN)
            d->now[k] = d->alpha[k] * d->gain[k] / (1 - d->gain[k]);
}

/* Set up a document: its words, their rows if kept, and the first N_dk, at equal weights. */
TARGET static void SPARSEMIX_NAME(begin)(PROPORTIONS *d, const int *words)
{
    const ptrdiff_t n_all = d->s.n_components;
    ptrdiff_t u, k;
    d->words = words;
    d->is_long = d->n_words * d->width > d->s.kept;
    for (u = 0; u < d->n_words && !d->is_long; u += SPARSEMIX_GROUP)
        SPARSEMIX_NAME(read_group)(d, u, d->all + u * d->width);
    for (k = 0; k < d->width; k++)
        d->p[k] = k < n_all;
    memset(d->rest, 0, d->n_words * sizeof(REAL));
    SPARSEMIX_NAME(gains)(d, d->all, d->width, d->p, d->rest, d->now);
}

/* N_dk of a document into ``now``; returns the number of updates of all topics. */
TARGET static int SPARSEMIX_NAME(infer)(PROPORTIONS *d)
{
    const ptrdiff_t n_all = d->s.n_components;
    int i;
    for (i = 1; i <= d->s.max_iter; i++) {
        REAL change, *swapped = d->now;
        SPARSEMIX_NAME(weigh)(d, d->alpha, d->now, n_all, d->width, d->p);
        SPARSEMIX_NAME(gains)(d, d->all, d->width, d->p, d->rest, d->gain);
        change = SPARSEMIX_NAME(move)(d->p, d->gain, d->now, n_all, d->next);
        d->now = d->next;
        d->next = swapped;
        if (change < d->tol || i == d->s.max_iter)
            break;
        if (d->s.linear)
            SPARSEMIX_NAME(settle)(d);
        if (i > FULL_ITER)
            SPARSEMIX_NAME(iterate_some)(d);
    }
    return i;
}

/* Assign the parts of the scratch memory. */
TARGET static void SPARSEMIX_NAME(assign_work)(PROPORTIONS *d, REAL *work, int *int_work)
{
    const ptrdiff_t longest = sparsemix_whole(d->s.longest, SPARSEMIX_PADDING);
    REAL **vectors[] = {&d->alpha, &d->x, &d->p, &d->gain, &d->now, &d->next,
                        &d->prior, &d->mass, &d->first, &d->second};
    size_t i;
    d->width = sparsemix_whole(d->s.n_components, SPARSEMIX_PADDING);
    d->counts = work;
    d->rest = d->counts + longest;
    work += 2 * longest;
    for (i = 0; i < sizeof vectors / sizeof *vectors; i++, work += d->width)
        *vectors[i] = work;
    d->all = work;
    d->some = d->all + sparsemix_proportion_panel(&d->s);
    d->topics = int_work;
}

/* out[d, k] = prior[k] + N_dk of a block of documents. */
TARGET static void SPARSEMIX_NAME(proportions)(
    const sparsemix_proportion_settings *settings, ptrdiff_t n_docs, const int64_t *indptr, const int *indices,
    const REAL *counts, const REAL *table, const double *prior, REAL *work, int *int_work, double *out, int64_t *n_iter)
{
    PROPORTIONS d;
    ptrdiff_t i, u, k;
    memset(&d, 0, sizeof d);
    d.s = *settings;
    d.table = table;
    SPARSEMIX_NAME(assign_work)(&d, work, int_work);
    for (i = 0; i < n_docs; i++) {
        const double *of_document = prior + i * d.s.step;
        const ptrdiff_t start = indptr[i], n = indptr[i + 1] - start;
        double *theta = out + i * d.s.n_components;
        n_iter[i] = 0;
        if (i == 0 || d.s.step > 0)
            for (k = 0; k < d.s.n_components; k++)
                d.alpha[k] = (REAL)of_document[k];
        d.n = n;
        d.n_words = sparsemix_whole(n, SPARSEMIX_GROUP);
        d.length = 0.0;
        for (u = 0; u < d.n_words; u++) {
            d.counts[u] = u < n ? counts[start + u] : 0;
            d.length += d.counts[u];
        }
        d.tol = d.s.relative ? d.s.tol * d.length : d.s.tol;
        if (n == 0)
            memset(d.now, 0, d.s.n_components * sizeof(REAL));
        else {
            SPARSEMIX_NAME(begin)(&d, indices + start);
            n_iter[i] = SPARSEMIX_NAME(infer)(&d);
        }
        for (k = 0; k < d.s.n_components; k++)
            theta[k] = of_document[k] + d.now[k];
    }
}

#undef PROPORTIONS
#undef FULL_ITER
#undef STANDS_STILL
#undef PAIRS
#undef LARGEST_STEP
#undef STANDS_STILL_LINEAR
#undef LOW_GAIN
#include "vectors/vector_math_end.h"
