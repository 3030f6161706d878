/* The loops of collapsed.h for one REAL and one instruction set: no include guard, included several times.
 *
 * The vector lanes hold topics. A word type of a document reads and writes one row of the responsibilities and one
 * row of each table by word; numbers of the document or of all documents are padded vectors of length K. */

#include "vectors/vector_math.h"

#include "own_token.h"
#include "vectors/vector_rows.h"

#define AT(array, k) (*(VECTOR *)((array) + (k)))

/* One document. Totals are ``base`` + ``moved``: the sum over documents is double, and within a document the few tokens
 * that move are not rounded away next to millions. */
typedef struct {
    const sparsemix_collapsed_settings *s;
    REAL *alpha, *now, *spread;                      /* N_jk and its variances */
    REAL *base, *moved, *base_spread, *moved_spread; /* of all documents */
    REAL *weights, *power;                           /* of one type */
    VECTOR change, entropy;                          /* of one document, by lanes */
} SPARSEMIX_NAME(visit);
#define VISIT SPARSEMIX_NAME(visit)

/* Unnormalised responsibilities of one type in ``weights``, with one copy of its tokens excluded; returns their sum. */
TARGET static inline REAL SPARSEMIX_NAME(weigh)(VISIT *d, const REAL *gamma, const REAL *word, REAL copy,
                                                REAL word_copy)
{
    const ptrdiff_t n = d->s->n_components;
    const VECTOR beta = FILL(d->s->word_prior), total = FILL(d->s->total_prior);
    VECTOR sum = FILL(0);
    ptrdiff_t k;
    for (k = 0; k < n; k += LANES) {
        const VECTOR own = SPARSEMIX_NAME(load)(gamma + k, n - k);
        const VECTOR y = SPARSEMIX_NAME(without_token)(AT(d->now, k), own, copy, AT(d->alpha, k));
        const VECTOR x = SPARSEMIX_NAME(without_token)(SPARSEMIX_NAME(load)(word + k, n - k), own, word_copy, beta);
        const VECTOR z = SPARSEMIX_NAME(without_token)(AT(d->base, k) + AT(d->moved, k), own, word_copy, total);
        const VECTOR weight = y * x / z;
        AT(d->weights, k) = weight;
        sum += weight;
    }
    return SPARSEMIX_NAME(lane_sum)(sum);
}

/* ``weigh`` times exp of the second-order terms ([TNW07] Eq. 18), with the largest exponent subtracted. */
TARGET static inline REAL SPARSEMIX_NAME(weigh_second_order)(VISIT *d, const REAL *gamma, const REAL *word,
                                                             const REAL *word_spread, REAL copy, REAL word_copy)
{
    const ptrdiff_t n = d->s->n_components;
    const VECTOR beta = FILL(d->s->word_prior), total = FILL(d->s->total_prior), none = FILL(0);
    VECTOR sum = FILL(0), top = FILL(-1e30);
    REAL largest;
    ptrdiff_t k, i;
    for (k = 0; k < n; k += LANES) {
        const VECTOR own = SPARSEMIX_NAME(load)(gamma + k, n - k), own_spread = own - own * own;
        const VECTOR y = SPARSEMIX_NAME(without_token)(AT(d->now, k), own, copy, AT(d->alpha, k));
        const VECTOR x = SPARSEMIX_NAME(without_token)(SPARSEMIX_NAME(load)(word + k, n - k), own, word_copy, beta);
        const VECTOR z = SPARSEMIX_NAME(without_token)(AT(d->base, k) + AT(d->moved, k), own, word_copy, total);
        const VECTOR vy = SPARSEMIX_NAME(without_token)(AT(d->spread, k), own_spread, copy, none);
        const VECTOR vx = SPARSEMIX_NAME(without_token)(SPARSEMIX_NAME(load)(word_spread + k, n - k), own_spread,
                                                        word_copy, none);
        const VECTOR vz = SPARSEMIX_NAME(without_token)(AT(d->base_spread, k) + AT(d->moved_spread, k), own_spread,
                                                        word_copy, none);
        /* two divisions, so that the square of a small prior does not underflow; y is zero in the padding */
        const VECTOR there = y + (REAL)SMALLEST, power = (REAL)0.5 * (vz / z / z - vx / x / x - vy / there / there);
        AT(d->weights, k) = y * x / z;
        AT(d->power, k) = CHOOSE(MASK(y > none), power, FILL(-1e30));
        top = LARGER(AT(d->power, k), top);
    }
    largest = ((const REAL *)&top)[0];
    for (i = 1; i < LANES; i++)
        largest = ((const REAL *)&top)[i] > largest ? ((const REAL *)&top)[i] : largest;
    for (k = 0; k < n; k += LANES) {
        const VECTOR power = SMALLER(AT(d->power, k) - largest, none);
        const VECTOR weight = AT(d->weights, k) * SPARSEMIX_NAME(exp)(power);
        AT(d->weights, k) = weight;
        sum += weight;
    }
    return SPARSEMIX_NAME(lane_sum)(sum);
}

/* Normalise the weights, store them as the new responsibilities, and update all sums. */
TARGET static inline void SPARSEMIX_NAME(replace)(VISIT *d, REAL sum, REAL count, REAL weight, REAL *gamma, REAL *word)
{
    const ptrdiff_t n = d->s->n_components;
    const VECTOR scale = FILL(1 / sum);
    VECTOR change = FILL(0);
    ptrdiff_t k;
    for (k = 0; k < n; k += LANES) {
        const VECTOR r = AT(d->weights, k) * scale, old = SPARSEMIX_NAME(load)(gamma + k, n - k);
        const VECTOR difference = r - old, move = difference * count, moved = move * weight;
        SPARSEMIX_NAME(store)(gamma + k, n - k, r);
        AT(d->now, k) = LARGER(AT(d->now, k) + move, FILL(0));
        AT(d->moved, k) += moved;
        SPARSEMIX_NAME(store)(word + k, n - k, LARGER(SPARSEMIX_NAME(load)(word + k, n - k) + moved, FILL(0)));
        change += LARGER(difference, -difference);
    }
    d->change += change * count;
}

/* Update the variances for the new responsibilities ``weights`` / sum, and add their entropy. */
TARGET static inline void SPARSEMIX_NAME(replace_spread)(VISIT *d, REAL sum, REAL count, REAL weight, const REAL *gamma,
                                                         REAL *word_spread)
{
    const ptrdiff_t n = d->s->n_components;
    const VECTOR scale = FILL(1 / sum);
    VECTOR entropy = FILL(0);
    ptrdiff_t k;
    for (k = 0; k < n; k += LANES) {
        const VECTOR r = AT(d->weights, k) * scale, old = SPARSEMIX_NAME(load)(gamma + k, n - k);
        const VECTOR move = ((r - r * r) - (old - old * old)) * count, moved = move * weight;
        AT(d->spread, k) = LARGER(AT(d->spread, k) + move, FILL(0));
        AT(d->moved_spread, k) += moved;
        SPARSEMIX_NAME(store)(word_spread + k, n - k,
                              LARGER(SPARSEMIX_NAME(load)(word_spread + k, n - k) + moved, FILL(0)));
        entropy -= r * SPARSEMIX_NAME(log)(LARGER(r, FILL(SMALLEST)));
    }
    d->entropy += entropy * count;
}

/* N_jk as the sum of the document's own responsibilities; resets ``moved``. */
TARGET static inline void SPARSEMIX_NAME(enter)(VISIT *d, ptrdiff_t n_types, const REAL *counts, const REAL *gamma)
{
    const ptrdiff_t n = d->s->n_components;
    ptrdiff_t u, k;
    memset(d->now, 0, d->s->padded * sizeof(REAL));
    memset(d->spread, 0, d->s->padded * sizeof(REAL));
    for (u = 0; u < n_types; u++, gamma += n)
        for (k = 0; k < n; k += LANES) {
            const VECTOR r = SPARSEMIX_NAME(load)(gamma + k, n - k);
            AT(d->now, k) += r * counts[u];
            if (d->s->second_order)
                AT(d->spread, k) += (r - r * r) * counts[u];
        }
}

/* Split the double totals into ``base`` and ``moved``, between two documents. */
TARGET static inline void SPARSEMIX_NAME(read_totals)(const double *totals, ptrdiff_t n, REAL *base, REAL *moved)
{
    ptrdiff_t k;
    for (k = 0; k < n; k++) {
        base[k] = (REAL)totals[k];
        moved[k] = 0;
    }
}

TARGET static inline void SPARSEMIX_NAME(write_totals)(double *totals, ptrdiff_t n, const REAL *moved)
{
    ptrdiff_t k;
    for (k = 0; k < n; k++) {
        const double total = totals[k] + moved[k];
        totals[k] = total > 0.0 ? total : 0.0;
    }
}

/* E_q[log p(z_j)] of a document to second order. */
TARGET static double SPARSEMIX_NAME(document_bound)(const VISIT *d, const double *log_gamma_alpha, double tokens)
{
    const ptrdiff_t n = d->s->n_components;
    double bound = 0.0, mass = 0.0;
    ptrdiff_t k;
    for (k = 0; k < n; k++) {
        bound += sparsemix_expected_log_gamma(d->now[k], d->spread[k], d->alpha[k], log_gamma_alpha[k]);
        mass += d->alpha[k];
    }
    return bound + sparsemix_log_gamma(mass) - sparsemix_log_gamma(mass + tokens);
}

/* Visit documents in order; each word type gets new responsibilities, and all sums are updated before the next type.
 * Adds to ``sums``: change of the responsibilities, entropy, E_q[log p(z)]. The scratch holds SPARSEMIX_COLLAPSED_WORK
 * padded vectors. */
TARGET static void SPARSEMIX_NAME(cvb_documents)(const sparsemix_collapsed_settings *s, ptrdiff_t n_docs,
                                                 const int64_t *indptr, const int *indices, const REAL *counts,
                                                 const double *weight, const REAL *alpha, const double *log_gamma_alpha,
                                                 REAL *work, REAL *gamma, REAL *word_topic, REAL *word_variance,
                                                 double *totals, double *total_variances, REAL *doc_topic, double *sums)
{
    const ptrdiff_t n = s->n_components, p = s->padded;
    VISIT visit = {s,          work + 0 * p, work + 1 * p, work + 2 * p, work + 3 * p, work + 4 * p,
                   work + 5 * p, work + 6 * p, work + 7 * p, work + 8 * p, FILL(0),      FILL(0)};
    ptrdiff_t j, e;
    memset(work, 0, SPARSEMIX_COLLAPSED_WORK * p * sizeof(REAL));
    memcpy(visit.alpha, alpha, n * sizeof(REAL)); /* padding topics have prior zero, hence weight zero */
    for (j = 0; j < n_docs; j++) {
        const double w = weight ? weight[j] : 1.0;
        double tokens = 0.0;
        visit.change = visit.entropy = FILL(0);
        SPARSEMIX_NAME(enter)(&visit, indptr[j + 1] - indptr[j], counts + indptr[j], gamma + indptr[j] * n);
        SPARSEMIX_NAME(read_totals)(totals, n, visit.base, visit.moved);
        if (s->second_order)
            SPARSEMIX_NAME(read_totals)(total_variances, n, visit.base_spread, visit.moved_spread);
        for (e = indptr[j]; e < indptr[j + 1]; e++) {
            const REAL count = counts[e], copy = (REAL)sparsemix_own_copy(count);
            const REAL word_copy = copy * (REAL)sparsemix_own_copy(w);
            REAL *own = gamma + e * n, *word = word_topic + (ptrdiff_t)indices[e] * n, *spread = NULL, sum;
            tokens += count;
            if (e + 1 < indptr[n_docs])
                SPARSEMIX_NAME(fetch)(word_topic + (ptrdiff_t)indices[e + 1] * n, n);
            if (s->second_order) {
                spread = word_variance + (ptrdiff_t)indices[e] * n;
                sum = SPARSEMIX_NAME(weigh_second_order)(&visit, own, word, spread, copy, word_copy);
            }
            else
                sum = SPARSEMIX_NAME(weigh)(&visit, own, word, copy, word_copy);
            if (!(sum > (REAL)SMALLEST))
                continue; /* tiny priors made all weights underflow: keep the old responsibilities */
            if (s->second_order)
                SPARSEMIX_NAME(replace_spread)(&visit, sum, count, (REAL)w, own, spread);
            SPARSEMIX_NAME(replace)(&visit, sum, count, (REAL)w, own, word);
        }
        SPARSEMIX_NAME(write_totals)(totals, n, visit.moved);
        if (s->second_order) {
            SPARSEMIX_NAME(write_totals)(total_variances, n, visit.moved_spread);
            sums[2] += w * SPARSEMIX_NAME(document_bound)(&visit, log_gamma_alpha, tokens);
        }
        sums[0] += w * SPARSEMIX_NAME(lane_sum)(visit.change);
        sums[1] += w * SPARSEMIX_NAME(lane_sum)(visit.entropy);
        if (doc_topic)
            memcpy(doc_topic + j * n, visit.now, n * sizeof(REAL));
    }
}

#undef AT
#undef VISIT
#include "vectors/vector_math_end.h"
