/* The loops of walk.h with tables of type REAL, included once for each type: no include guard. */

#define WALK_PASTE_(name, type) name##_##type
#define WALK_PASTE(name, type) WALK_PASTE_(name, type)
#define WALK_NAME(name) WALK_PASTE(name, REAL)

/* Log conditional of topic k ([IF19] Eq. 5); with ``own`` = 1, from counts without this position, whose topic is k.
 * Products of sixteen factors neither overflow nor underflow a double. */
static inline double WALK_NAME(log_target)(const sparsemix_walk_settings *s, const sparsemix_context *c,
                                           const REAL *input_table, const REAL *table, int word, int k, int own)
{
    const ptrdiff_t n = s->n_components;
    const double count = (s->factors ? s->factors[word] : 1.0) * input_table[word * n + k] - own;
    const double total = s->totals[k] - own * c->n + s->total_prior;
    double above = (count > 0.0 ? count : 0.0) + s->alpha[k], below = 1.0, sum = 0.0;
    for (int i = 0; i < c->n; i++) {
        above *= s->scale * table[c->word[i] * n + k] + s->base - own * c->times[i] + c->before[i];
        below *= total + i;
        if ((i & 15) == 15) {
            sum += log(above / below);
            above = below = 1.0;
        }
    }
    return sum + log(above / below);
}

/* S proposals, each from the tables of a uniformly drawn context word ([IF19] Eq. 10); returns the final state.
 * ``own_topic`` is the topic under which the position is counted, -1 if it is not. A chain without a state accepts its
 * first proposal. ``states`` receives the state after each proposal, unless NULL. */
static inline int WALK_NAME(walk)(const sparsemix_walk_settings *s, const sparsemix_word_tables *t,
                                  const sparsemix_context *c, const REAL *input_table, const REAL *table, int word,
                                  int z, int own_topic, uint64_t key, int *states, int64_t *tally)
{
    double old = 0.0;
    int known = 0;
    for (int i = 0; i < s->n_samples; i++) {
        const int w = c->word[sparsemix_below(sparsemix_bits(key, 3 * (uint64_t)i), (uint32_t)c->n)];
        const double u = sparsemix_uniform(sparsemix_bits(key, 3 * (uint64_t)i + 1));
        const int k = WALK_NAME(draw_word)(t, w, u * (t->total[w] + t->shared_total));
        tally[0]++;
        if (z < 0) {
            z = k;
            tally[1]++;
        } else if (k == z)
            tally[1]++;
        else {
            double new_target;
            if (!known)
                old = WALK_NAME(log_target)(s, c, input_table, table, word, z, z == own_topic);
            known = 1;
            new_target = WALK_NAME(log_target)(s, c, input_table, table, word, k, k == own_topic);
            if (log(sparsemix_uniform(sparsemix_bits(key, 3 * (uint64_t)i + 2)))
                < sparsemix_log_acceptance(new_target, old, WALK_NAME(frozen)(t, w, k), WALK_NAME(frozen)(t, w, z),
                                           s->inverse_temperature)) {
                z = k;
                old = new_target;
                tally[1]++;
            }
        }
        if (states)
            states[i] = z;
    }
    return z;
}

/* Chains of the positions of one part of some documents. With ``sweep``, counts are updated after every position;
 * without it they stay fixed, and ``states`` (n_tokens, S) receives the state after each proposal. Returns -1 - e if
 * a word of the context of e has no table. */
static int64_t WALK_NAME(sparsemix_walk)(const sparsemix_walk_settings *s, const sparsemix_word_tables *t,
                                         ptrdiff_t n_docs, const int64_t *indptr, const int *places, const int *words,
                                         const int64_t *numbers, REAL *input_table, REAL *table, sparsemix_context *c,
                                         int sweep, int *topics, int *states, int64_t *tally, int *sizes)
{
    const ptrdiff_t n = s->n_components;
    for (ptrdiff_t d = 0; d < n_docs; d++) {
        const uint64_t document = sparsemix_document_key(s->seed, numbers[d], s->visit);
        int64_t first = indptr[d], last = indptr[d];
        for (int64_t e = indptr[d] + s->part; e < indptr[d + 1]; e += s->parts) {
            const int word = words[e], old = topics[e];
            const uint64_t key = sparsemix_key(document, (uint64_t)(e - indptr[d]));
            int z;
            sparsemix_slide(places, indptr[d + 1], e, s->window, &first, &last);
            sparsemix_read_context(c, words, e, first, last);
            if (sizes)
                sizes[e] = c->n;
            if (c->n == 0) {
                for (int i = 0; states && i < s->n_samples; i++)
                    states[e * s->n_samples + i] = 0; /* never counted */
                continue;
            }
            for (int i = 0; i < c->n; i++)
                if (t->length[c->word[i]] < 0)
                    return -1 - e;
            z = WALK_NAME(walk)(s, t, c, input_table, table, word, old, sweep ? old : -1, key,
                                states ? states + e * s->n_samples : NULL, tally);
            topics[e] = z;
            if (!sweep || z == old)
                continue;
            for (int sign = old < 0 ? 1 : -1; sign <= 1; sign += 2) { /* leave the old topic, join the new one */
                const int k = sign < 0 ? old : z;
                input_table[word * n + k] += (REAL)sign;
                for (int i = 0; i < c->n; i++)
                    table[c->word[i] * n + k] += (REAL)sign;
                s->totals[k] += sign * c->n;
            }
            tally[2]++;
        }
    }
    return 0;
}

#undef WALK_NAME
#undef WALK_PASTE
#undef WALK_PASTE_
