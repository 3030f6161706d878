/* The loops of positions.h for one REAL and one instruction set: no include guard, included several times.
 *
 * A position of word w with the context w_1, ..., w_m has the conditional ([IF19] Eq. 5)
 *
 *     log p(k) = log (N_wk + alpha_k) + sum_c log (N_{w_c k} + beta + n_c) - sum_c log (N_k + V beta + c - 1)
 *
 * where n_c counts earlier occurrences of w_c in the context. The logarithms are cached in tables; only a word that
 * repeats in a context needs another logarithm per topic. */

#include "vectors/vector_math.h"
#include "vectors/vector_rows.h"

#define AT(array, k) (*(VECTOR *)((array) + (k)))
#define AT_CONST(array, k) (*(const VECTOR *)((array) + (k)))

/* out[i] = log(factors[word] scale table[word] + base), with SPARSEMIX_NO_TOPIC in the padding. */
TARGET static void SPARSEMIX_NAME(log_rows)(const REAL *table, const int *words, const double *factors,
                                            ptrdiff_t n_words, ptrdiff_t n, ptrdiff_t padded, double scale,
                                            const double *base, REAL *out)
{
    ptrdiff_t i, k;
    for (i = 0; i < n_words; i++) {
        const REAL *row = table + words[i] * n;
        const REAL factor = (REAL)(factors ? factors[words[i]] * scale : scale);
        REAL *to = out + i * padded;
        for (k = 0; k < n; k++)
            to[k] = factor * row[k] + (REAL)base[k];
        for (; k < padded; k++)
            to[k] = 1;
        for (k = 0; k < padded; k += LANES)
            AT(to, k) = SPARSEMIX_NAME(log)(AT(to, k));
        for (k = n; k < padded; k++)
            to[k] = (REAL)SPARSEMIX_NO_TOPIC;
    }
}

/* weights[k] = the sum above for all topics, before tempering. */
TARGET static void SPARSEMIX_NAME(weigh_position)(const sparsemix_position_settings *s, const sparsemix_context *c,
                                                  const REAL *input, const REAL *context_logs, const REAL *total_logs,
                                                  const REAL *table, REAL *weights)
{
    const ptrdiff_t p = s->padded;
    const REAL *total = total_logs ? total_logs + c->n * p : NULL;
    ptrdiff_t k;
    int i;
    memcpy(weights, input, p * sizeof(REAL));
    for (k = 0; total && k < p; k += LANES)
        AT(weights, k) -= AT_CONST(total, k);
    for (i = 0; i + 1 < c->n; i += 2) { /* two words at a time: half the stores */
        const REAL *first = context_logs + s->slots[c->word[i]] * p, *second = context_logs + s->slots[c->word[i + 1]] * p;
        for (k = 0; k < p; k += LANES)
            AT(weights, k) += AT_CONST(first, k) + AT_CONST(second, k);
    }
    if (i < c->n) {
        const REAL *first = context_logs + s->slots[c->word[i]] * p;
        for (k = 0; k < p; k += LANES)
            AT(weights, k) += AT_CONST(first, k);
    }
    for (i = 0; table && i < c->n; i++) {
        const REAL *row = table + (ptrdiff_t)c->word[i] * s->n_components;
        if (!c->before[i])
            continue;
        for (k = 0; k < s->n_components; k += LANES) {
            const VECTOR there = SPARSEMIX_NAME(load)(row + k, s->n_components - k) * (REAL)s->scale + (REAL)s->base;
            AT(weights, k) += SPARSEMIX_NAME(log)((REAL)1 + (REAL)c->before[i] / there);
        }
    }
}

/* exp of the tempered weights relative to the largest, and sums by vector; returns their total, and the largest. */
TARGET static double SPARSEMIX_NAME(exponents)(const sparsemix_position_settings *s, REAL *weights, REAL *parts,
                                               double *top)
{
    const ptrdiff_t p = s->padded;
    const REAL t = (REAL)s->inverse_temperature;
    VECTOR largest = AT(weights, 0);
    double sum = 0.0;
    REAL most;
    ptrdiff_t k;
    for (k = LANES; k < p; k += LANES)
        largest = LARGER(AT(weights, k), largest);
    most = ((const REAL *)&largest)[0];
    for (k = 1; k < LANES; k++)
        most = ((const REAL *)&largest)[k] > most ? ((const REAL *)&largest)[k] : most;
    for (k = 0; k < p; k += LANES)
        AT(weights, k) = SPARSEMIX_NAME(exp)((AT(weights, k) - most) * t);
    for (k = s->n_components; k < p; k++) /* at high temperatures even the padding gets a weight */
        weights[k] = 0;
    for (k = 0; k < p; k += LANES) {
        parts[k / LANES] = SPARSEMIX_NAME(lane_sum)(AT(weights, k));
        sum += parts[k / LANES];
    }
    *top = most;
    return sum;
}

/* Topics at the positions u, u + 1 / n, ... of all weights. */
TARGET static void SPARSEMIX_NAME(draw)(const sparsemix_position_settings *s, const REAL *weights, const REAL *parts,
                                        double sum, double u, int n, int *topics)
{
    double before = 0.0;
    ptrdiff_t v = 0, last = 0;
    int i;
    for (i = 0; i < n; i++) {
        const double at = (u + i) / n * sum;
        double rest;
        ptrdiff_t k;
        while (v + 1 < s->padded / LANES && at >= before + parts[v])
            before += parts[v++];
        rest = at - before;
        for (k = v * LANES; k < (v + 1) * LANES; k++) {
            if (weights[k] > 0) {
                last = k; /* round-off may put the position past the last topic */
                if (rest < weights[k])
                    break;
            }
            rest -= weights[k];
        }
        topics[i] = (int)last;
    }
}

/* Visit every position of some documents under fixed tables: ``n_even`` topics, the log of the sum over topics, and the
 * responsibilities; NULL outputs are skipped. Positions without a context get their input word's distribution. */
TARGET static void SPARSEMIX_NAME(positions)(
    const sparsemix_position_settings *s, ptrdiff_t n_docs, const int64_t *indptr, const int *places, const int *words,
    const int64_t *numbers, const REAL *input_logs, const REAL *context_logs, const REAL *total_logs,
    const REAL *table, sparsemix_context *c, REAL *weights, REAL *parts, int n_even, int *topics, double *log_sums,
    REAL *out, int *sizes)
{
    ptrdiff_t d;
    for (d = 0; d < n_docs; d++) {
        const uint64_t key = topics ? sparsemix_document_key(s->seed, numbers[d], (int64_t)s->visit) : 0;
        int64_t first = indptr[d], last = indptr[d], e;
        for (e = indptr[d]; e < indptr[d + 1]; e++) {
            double top, sum;
            sparsemix_slide(places, indptr[d + 1], e, s->window, &first, &last);
            sparsemix_read_context(c, words, e, first, last);
            SPARSEMIX_NAME(weigh_position)(s, c, input_logs + s->slots[words[e]] * s->padded, context_logs, total_logs,
                                           table, weights);
            sum = SPARSEMIX_NAME(exponents)(s, weights, parts, &top);
            if (sizes)
                sizes[e] = c->n;
            if (topics)
                SPARSEMIX_NAME(draw)(s, weights, parts, sum,
                                     sparsemix_uniform(sparsemix_bits(key, (uint64_t)(e - indptr[d]))), n_even,
                                     topics + e * n_even);
            if (log_sums)
                log_sums[e] = top + log(sum);
            if (out) {
                ptrdiff_t k;
                for (k = 0; k < s->n_components; k++)
                    out[e * s->n_components + k] = (REAL)(weights[k] / sum);
            }
        }
    }
}

/* Update the tables of logarithms for the counts of one topic. */
TARGET static void SPARSEMIX_NAME(move)(const sparsemix_position_settings *s, const sparsemix_context *c, int word,
                                        ptrdiff_t k, REAL amount, REAL *input_logs, REAL *context_logs,
                                        REAL *total_logs, REAL *input_table, REAL *table)
{
    const ptrdiff_t n = s->n_components, p = s->padded;
    REAL *count = input_table + word * n + k;
    double sum = 0.0;
    int i;
    *count += amount;
    input_logs[word * p + k] = (REAL)log(*count + s->alpha[k]);
    for (i = 0; i < c->n; i++)
        table[c->word[i] * n + k] += amount;
    for (i = 0; i < c->n; i++)
        if (!c->before[i])
            context_logs[c->word[i] * p + k] = (REAL)log(table[c->word[i] * n + k] + s->base);
    s->totals[k] += amount * c->n;
    for (i = 0; i <= 2 * s->window; i++) {
        total_logs[i * p + k] = (REAL)sum;
        sum += log(s->totals[k] + s->total_prior + i);
    }
}

/* Redraw the topic of every position, in order; counts and their logarithms are updated after each. A position is
 * removed from all counts while its topic is drawn, which affects its old topic only. With ``conditional``, writes
 * the distribution of the first position there and draws nothing. */
TARGET static void SPARSEMIX_NAME(sweep)(const sparsemix_position_settings *s, ptrdiff_t n_docs, const int64_t *indptr,
                                         const int *places, const int *words, REAL *input_logs, REAL *context_logs,
                                         REAL *total_logs, REAL *input_table, REAL *table, sparsemix_context *c,
                                         REAL *weights, REAL *parts, int *topics, int64_t *moved, double *conditional)
{
    const ptrdiff_t n = s->n_components;
    ptrdiff_t d;
    for (d = 0; d < n_docs; d++) {
        const uint64_t key = sparsemix_document_key(s->seed, (int64_t)(s->first_row + d), (int64_t)s->visit);
        int64_t first = indptr[d], last = indptr[d], e;
        for (e = indptr[d]; e < indptr[d + 1]; e++) {
            const int word = words[e];
            const ptrdiff_t old = topics[e];
            double top, sum;
            int i, k;
            sparsemix_slide(places, indptr[d + 1], e, s->window, &first, &last);
            if (last - first < 2) /* without a context there is no topic */
                continue;
            sparsemix_read_context(c, words, e, first, last);
            SPARSEMIX_NAME(weigh_position)(s, c, input_logs + word * s->padded, context_logs, total_logs, table,
                                           weights);
            if (old >= 0) {
                double own = log(input_table[word * n + old] - 1 + s->alpha[old]);
                for (i = 0; i < c->n; i++)
                    own += log((table[c->word[i] * n + old] - c->times[i] + c->before[i] + s->base)
                               / (s->totals[old] - c->n + s->total_prior + i));
                weights[old] = (REAL)own;
            }
            sum = SPARSEMIX_NAME(exponents)(s, weights, parts, &top);
            if (conditional) {
                ptrdiff_t j;
                for (j = 0; j < n; j++)
                    conditional[j] = weights[j] / sum;
                return;
            }
            SPARSEMIX_NAME(draw)(s, weights, parts, sum,
                                 sparsemix_uniform(sparsemix_bits(key, (uint64_t)(e - indptr[d]))), 1, &k);
            if (k == old)
                continue;
            if (old >= 0)
                SPARSEMIX_NAME(move)(s, c, word, old, -1, input_logs, context_logs, total_logs, input_table, table);
            SPARSEMIX_NAME(move)(s, c, word, k, 1, input_logs, context_logs, total_logs, input_table, table);
            topics[e] = k;
            (*moved)++;
        }
    }
}

#undef AT
#undef AT_CONST
#include "vectors/vector_math_end.h"
