/* The loops of gibbs.h for one REAL and one instruction set: no include guard, included several times.
 *
 * The tables do not change while a token is drawn; only the block of topics that contains its old topic is read without
 * the token. So a token that keeps its topic, the usual case late in a fit, writes nothing. */

#include "vectors/vector_math.h"

#include "vectors/vector_rows.h"

#define AT(array, k) (*(VECTOR *)((array) + (k)))
#define PARTS (SPARSEMIX_COLUMNS / LANES)

SPARSEMIX_CACHE_LINE static const REAL SPARSEMIX_NAME(numbers)[SPARSEMIX_COLUMNS] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* State shared by the tokens of a document, and scratch of one token. */
typedef struct {
    const sparsemix_gibbs_settings *s;
    REAL *alpha, *now, *inverse; /* inverse: 1 / (n_k + V beta), zero in the padding */
    REAL *weights, *columns;     /* of one token, and their sums by column */
} SPARSEMIX_NAME(chain);
#define CHAIN SPARSEMIX_NAME(chain)

/* (n_jk + alpha_k) (n_kw + beta) / (n_k + V beta) for one round of columns, added to ``sums``. If ``own`` is 0 to 15,
 * that topic excludes the token: ``copy`` of it in the tables, and ``inverse_own`` for its total. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(round_of_topics)(
    const CHAIN *c, const REAL *word, ptrdiff_t k, ptrdiff_t own, REAL copy, REAL inverse_own, VECTOR *sums)
{
    ptrdiff_t v;
    for (v = 0; v < PARTS; v++) {
        const ptrdiff_t at = k + v * LANES, left = c->s->n_components - at;
        VECTOR now = AT(c->now, at), inverse = AT(c->inverse, at), there = FILL(0), weight;
        if (left > 0)
            there = SPARSEMIX_NAME(load)(word + at, left);
        if (own >= 0) {
            const BITS mine = MASK(*(const VECTOR *)(SPARSEMIX_NAME(numbers) + v * LANES) == FILL(own));
            now = CHOOSE(mine, now - (REAL)1, now);
            there = CHOOSE(mine, LARGER(there - copy, FILL(0)), there);
            inverse = CHOOSE(mine, FILL(inverse_own), inverse);
        }
        weight = (now + AT(c->alpha, at)) * (there + (REAL)c->s->word_prior) * inverse;
        AT(c->weights, at) = weight;
        sums[v] += weight;
    }
}

/* Unnormalised conditional probabilities of all topics for a token of topic ``old``, -1 if it has none. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(weigh_token)(const CHAIN *c, const REAL *word,
                                                                                  const double *totals, ptrdiff_t old,
                                                                                  REAL copy)
{
    const ptrdiff_t padded = c->s->padded;
    const ptrdiff_t mine = old < 0 ? padded : old / SPARSEMIX_COLUMNS * SPARSEMIX_COLUMNS;
    VECTOR sums[SPARSEMIX_COLUMNS]; /* sized for vectors of one lane */
    ptrdiff_t k, v;
    for (v = 0; v < PARTS; v++)
        sums[v] = FILL(0);
    for (k = 0; k < mine; k += SPARSEMIX_COLUMNS)
        SPARSEMIX_NAME(round_of_topics)(c, word, k, -1, 0, 0, sums);
    if (old >= 0) {
        const double rest = totals[old] - copy;
        const REAL inverse = (REAL)(1.0 / ((rest > 0.0 ? rest : 0.0) + c->s->total_prior));
        SPARSEMIX_NAME(round_of_topics)(c, word, mine, old - mine, copy, inverse, sums);
    }
    for (k = mine + SPARSEMIX_COLUMNS; k < padded; k += SPARSEMIX_COLUMNS)
        SPARSEMIX_NAME(round_of_topics)(c, word, k, -1, 0, 0, sums);
    for (v = 0; v < PARTS; v++)
        AT(c->columns, v * LANES) = sums[v];
}

/* The topic at the share ``u`` of all weights: first its column, four at a time and without branches, then its place in
 * the column. */
TARGET static inline ptrdiff_t SPARSEMIX_NAME(choose)(const CHAIN *c, double u)
{
    const REAL *sums = c->columns, *weights = c->weights;
    double fours[4], before[4], rest;
    ptrdiff_t g, i, k;
    for (g = 0; g < 4; g++)
        fours[g] = ((double)sums[4 * g] + sums[4 * g + 1]) + ((double)sums[4 * g + 2] + sums[4 * g + 3]);
    before[0] = 0.0;
    before[1] = fours[0];
    before[2] = fours[0] + fours[1];
    before[3] = before[2] + fours[2];
    rest = u * (before[3] + fours[3]);
    g = (rest >= before[1]) + (rest >= before[2]) + (rest >= before[3]);
    rest -= before[g];
    sums += 4 * g;
    before[1] = sums[0];
    before[2] = (double)sums[0] + sums[1];
    before[3] = before[2] + sums[2];
    i = (rest >= before[1]) + (rest >= before[2]) + (rest >= before[3]);
    rest -= before[i];
    for (k = 4 * g + i; k < c->s->padded; k += SPARSEMIX_COLUMNS) {
        if (rest < weights[k])
            return k;
        rest -= weights[k];
    }
    for (k = c->s->n_components - 1; k > 0 && !(weights[k] > 0); k--) /* round-off went past the last topic */
        ;
    return k;
}

TARGET static inline void SPARSEMIX_NAME(invert)(CHAIN *c, const double *totals, ptrdiff_t k)
{
    c->inverse[k] = (REAL)(1.0 / (totals[k] + c->s->total_prior));
}

TARGET static inline CHAIN SPARSEMIX_NAME(start)(const sparsemix_gibbs_settings *s, const REAL *alpha,
                                                 const double *totals, REAL *work)
{
    const ptrdiff_t p = s->padded;
    CHAIN c = {s, work, work + p, work + 2 * p, work + 3 * p, work + SPARSEMIX_GIBBS_WORK * p};
    ptrdiff_t k;
    memset(work, 0, (SPARSEMIX_GIBBS_WORK * p + SPARSEMIX_COLUMNS) * sizeof(REAL));
    memcpy(c.alpha, alpha, s->n_components * sizeof(REAL));
    for (k = 0; k < s->n_components; k++)
        SPARSEMIX_NAME(invert)(&c, totals, k);
    return c;
}

/* The unnormalised conditional distribution of one token, at the beginning of the fourth scratch vector. */
TARGET static void SPARSEMIX_NAME(conditional)(const sparsemix_gibbs_settings *s, const REAL *now, const REAL *alpha,
                                               const REAL *word, const double *totals, ptrdiff_t old, REAL copy,
                                               REAL *work)
{
    CHAIN c = SPARSEMIX_NAME(start)(s, alpha, totals, work);
    memcpy(c.now, now, s->n_components * sizeof(REAL));
    SPARSEMIX_NAME(weigh_token)(&c, word, totals, old, copy);
}

/* Redraw the topic of every token, in the order of documents, types and copies. Adds to ``sums``: tokens that changed
 * their topic, and log p(z). Random numbers are keyed by seed, row, sweep and the token's number in its document. */
TARGET static void SPARSEMIX_NAME(gibbs_documents)(const sparsemix_gibbs_settings *s, ptrdiff_t n_docs,
                                                   const int64_t *indptr, const int *indices, const REAL *counts,
                                                   const double *weight, const REAL *alpha,
                                                   const double *log_gamma_alpha, REAL *work, int *topics,
                                                   REAL *word_topic, double *totals, REAL *doc_topic, double *sums)
{
    const ptrdiff_t n = s->n_components;
    CHAIN c = SPARSEMIX_NAME(start)(s, alpha, totals, work);
    double mass = 0.0;
    ptrdiff_t j, e, k;
    for (k = 0; k < n; k++)
        mass += alpha[k];
    for (j = 0; j < n_docs; j++) {
        const uint64_t key = sparsemix_document_key(s->seed, (int64_t)(s->first_row + j), (int64_t)s->sweep);
        const double w = weight ? weight[j] : 1.0;
        const REAL copy = (REAL)w;
        int64_t n_tokens = 0, t = 0, moved = 0, i;
        double bound;
        for (e = indptr[j]; e < indptr[j + 1]; e++)
            n_tokens += (int64_t)counts[e];
        memset(c.now, 0, n * sizeof(REAL));
        for (i = 0; i < n_tokens; i++)
            if (topics[i] >= 0)
                c.now[topics[i]] += 1;
        for (e = indptr[j]; e < indptr[j + 1]; e++) {
            REAL *word = word_topic + (ptrdiff_t)indices[e] * n;
            const int64_t end = t + (int64_t)counts[e];
            if (e + 1 < indptr[n_docs])
                SPARSEMIX_NAME(fetch)(word_topic + (ptrdiff_t)indices[e + 1] * n, n);
            for (; t < end; t++) {
                const ptrdiff_t old = topics[t];
                SPARSEMIX_NAME(weigh_token)(&c, word, totals, old, copy);
                k = SPARSEMIX_NAME(choose)(&c, sparsemix_uniform(sparsemix_bits(key, (uint64_t)t)));
                if (k == old)
                    continue;
                if (old >= 0) {
                    c.now[old] -= 1;
                    word[old] = word[old] > copy ? word[old] - copy : 0;
                    totals[old] = totals[old] > w ? totals[old] - w : 0.0;
                    SPARSEMIX_NAME(invert)(&c, totals, old);
                }
                c.now[k] += 1;
                word[k] += copy;
                totals[k] += w;
                SPARSEMIX_NAME(invert)(&c, totals, k);
                topics[t] = (int)k;
                moved++;
            }
        }
        topics += n_tokens;
        bound = sparsemix_log_gamma(mass) - sparsemix_log_gamma(mass + (double)n_tokens);
        for (k = 0; k < n; k++)
            if (c.now[k] > 0)
                bound += sparsemix_log_gamma((double)c.alpha[k] + c.now[k]) - log_gamma_alpha[k];
        sums[0] += w * (double)moved;
        sums[1] += w * bound;
        if (doc_topic)
            memcpy(doc_topic + j * n, c.now, n * sizeof(REAL));
    }
}

#undef AT
#undef PARTS
#undef CHAIN
#include "vectors/vector_math_end.h"
