/* Chains of documents with tables of type REAL, included by chain.h once for each type: no include guard. */

#define CHAIN_PASTE_(name, type) name##_##type
#define CHAIN_PASTE(name, type) CHAIN_PASTE_(name, type)
#define CHAIN_NAME(name) CHAIN_PASTE(name, REAL)

static inline double CHAIN_NAME(frozen)(const sparsemix_word_tables *t, int w, int k)
{
    const int64_t begin = t->begin[w];
    const int at = sparsemix_find(t->topics + begin, t->length[w], k, t->n_components);
    const double own = at < 0 ? 0.0 : ((const REAL *)t->density)[begin + at];
    return own + ((const REAL *)t->shared_density)[k];
}

/* The topic at position y in [0, sum of q_w). */
static inline int CHAIN_NAME(draw_word)(const sparsemix_word_tables *t, int w, double y)
{
    const double total = t->total[w];
    const int64_t begin = t->begin[w];
    if (y < total)
        return t->topics[begin + CHAIN_NAME(sparsemix_alias_draw)((const REAL *)t->prob + begin, t->alias + begin,
                                                                  t->length[w], y / total)];
    return CHAIN_NAME(sparsemix_alias_draw)((const REAL *)t->shared_prob, t->shared_alias, t->n_components,
                                            (y - total) / t->shared_total);
}

/* f_k of the slots and the prefix sums of N_k f_k; returns the last sum, P. */
static inline double CHAIN_NAME(weigh)(sparsemix_counts *c, const sparsemix_chain_settings *s, const REAL *row,
                                       const int *own)
{
    const double scale = s->scale, base = s->offset + s->prior;
    double sum = 0.0;
    for (int j = 0; j < c->n; j++)
        c->factor[j] = (scale * row[c->topic[j]] + base) * c->inverse[j];
    for (int d = 0; own && d < s->n_samples; d++) {
        const int j = c->slot[own[d]];
        const double count = scale * row[own[d]] + s->offset - c->own[j];
        c->factor[j] = ((count > 0.0 ? count : 0.0) + s->prior) * c->inverse[j];
    }
    for (int j = 0; j < c->n; j++)
        c->prefix[j] = sum += sparsemix_count(c, j) * c->factor[j];
    return sum;
}

static inline sparsemix_point
    CHAIN_NAME(point_at)(const sparsemix_counts *c, const sparsemix_chain_settings *s,
                         const sparsemix_word_tables *t, int w, const REAL *row, int k)
{
    const int j = c->slot[k];
    const double factor = j >= 0 ? c->factor[j] : (s->scale * row[k] + s->offset + s->prior) * s->inverse[k];
    const double from_document = j >= 0 ? sparsemix_count(c, j) * factor : 0.0;
    const sparsemix_point at = {from_document + s->alpha[k] * factor, from_document + CHAIN_NAME(frozen)(t, w, k)};
    return at;
}

/* Systematic samples of a type's conditional: topics that each represent an equal part of it, with even proposals, each
 * one step from z. Their counts vary less than those of as many independent samples. */
static inline void CHAIN_NAME(draw_evenly)(const sparsemix_counts *c, const sparsemix_chain_settings *s,
                                           const sparsemix_word_tables *t, int w, const REAL *row, uint64_t key,
                                           double from_document, int z, int *even)
{
    const double part = (from_document + t->total[w] + t->shared_total) / s->n_even;
    const double first = sparsemix_uniform(sparsemix_bits(key, 2 * (uint64_t)s->n_samples)) * part;
    const sparsemix_point old = CHAIN_NAME(point_at)(c, s, t, w, row, z);
    for (int d = 0, j = 0; d < s->n_even; d++) {
        const double u = first + d * part;
        int k;
        while (j < c->n - 1 && u >= c->prefix[j])
            j++;
        k = u < from_document ? c->topic[j] : CHAIN_NAME(draw_word)(t, w, u - from_document);
        if (s->check && k != z) {
            const sparsemix_point new = CHAIN_NAME(point_at)(c, s, t, w, row, k);
            if (!(sparsemix_uniform(sparsemix_bits(key, 2 * (uint64_t)s->n_samples + 1 + d))
                  < sparsemix_acceptance(new.target, old.target, new.density, old.density)))
                k = z;
        }
        even[d] = k;
    }
}

/* S steps of a type's chain; topics (S,) are its states. */
static inline void CHAIN_NAME(sample_type)(sparsemix_counts *c, const sparsemix_chain_settings *s,
                                           const sparsemix_word_tables *t, int w, const REAL *row,
                                           const int *own, uint64_t key, int *state, int *topics, int *even,
                                           int64_t *tally)
{
    const double from_document = CHAIN_NAME(weigh)(c, s, row, own);
    const double total = from_document + t->total[w] + t->shared_total;
    int z = *state, known = 0;
    sparsemix_point old = {0.0, 0.0}, new = {0.0, 0.0};
    for (int d = 0; d < s->n_samples; d++) {
        const double u = total * sparsemix_uniform(sparsemix_bits(key, 2 * (uint64_t)d));
        const int sparse = u < from_document;
        const int proposed = sparse ? c->topic[sparsemix_search(c->prefix, c->n, u)]
                                    : CHAIN_NAME(draw_word)(t, w, u - from_document);
        int accepted = 1;
        if (s->check && z >= 0 && proposed != z) {
            if (!known)
                old = CHAIN_NAME(point_at)(c, s, t, w, row, z);
            new = CHAIN_NAME(point_at)(c, s, t, w, row, proposed);
            accepted = sparsemix_uniform(sparsemix_bits(key, 2 * (uint64_t)d + 1))
                       < sparsemix_acceptance(new.target, old.target, new.density, old.density);
            known = 1;
            if (accepted)
                old = new;
        }
        if (accepted)
            z = proposed;
        topics[d] = z;
        tally[1] += sparse;
        tally[2] += accepted;
    }
    tally[0] += s->n_samples;
    *state = z;
    if (even)
        CHAIN_NAME(draw_evenly)(c, s, t, w, row, key, from_document, z, even);
}

/* Prefetch what a type reads of its word: entries of the row, and the proposal's density at z. */
static inline void CHAIN_NAME(fetch)(const sparsemix_counts *c, const sparsemix_chain_settings *s,
                                     const sparsemix_word_tables *t, int w, const REAL *row, int z)
{
    for (int j = 0; j < c->n; j++)
        sparsemix_prefetch(row + c->topic[j]);
    if (s->check && z >= 0) {
        const int64_t at = t->begin[w] + sparsemix_guess(t->length[w], z, t->n_components);
        sparsemix_prefetch(row + z);
        sparsemix_prefetch(t->topics + at);
        sparsemix_prefetch((const REAL *)t->density + at);
    }
}

/* One visit of one type with exact sums, optionally excluding its own last responsibilities. */
static inline void CHAIN_NAME(visit_exact)(sparsemix_counts *c, const sparsemix_chain_settings *s,
                                           const sparsemix_word_tables *t, int w, const REAL *row,
                                           uint64_t key, double m, int again, int *state, int *topics, int *even,
                                           int64_t *tally)
{
    const double left_out = s->exclude == SPARSEMIX_EXCLUDE_NONE ? 0.0 : sparsemix_own_copy(m);
    const int *own = again && s->exclude == SPARSEMIX_EXCLUDE_BOTH ? c->before : NULL;
    if (again) {
        for (int d = 0; d < s->n_samples; d++)
            c->before[d] = topics[d];
        sparsemix_take(c, s, left_out, c->before);
        if (own)
            sparsemix_own(c, s, left_out * c->scale, own);
    }
    CHAIN_NAME(sample_type)(c, s, t, w, row, own, key, state, topics, even, tally);
    if (again)
        sparsemix_take(c, s, m - left_out, c->before);
    for (int d = 0; own && d < s->n_samples; d++)
        c->own[c->slot[own[d]]] = 0.0;
    for (int d = 0; d < s->n_samples; d++)
        c->value[sparsemix_slot(c, s, topics[d])] += m;
    for (int d = 0; again && d < s->n_samples; d++)
        if (sparsemix_count(c, c->slot[c->before[d]]) < 1e-12 * c->length) {
            sparsemix_drop_below(c, 1e-12 * c->length);
            break;
        }
}

/* All sweeps of one document; its counts are left in `c`. */
static inline void CHAIN_NAME(sample_document)(sparsemix_counts *c, const sparsemix_chain_settings *s,
                                               const sparsemix_word_tables *t, const REAL *table,
                                               int n_types, const int *types, const REAL *counts, int64_t number,
                                               int *states, int *topics, int *even, int64_t *tally)
{
    const ptrdiff_t K = s->n_components, S = s->n_samples;
    const int far = K * (ptrdiff_t)sizeof(REAL) >= SPARSEMIX_SHORT_ROW;
    const uint64_t document_key = sparsemix_document_key(s->seed, number, s->visit);
    double seen = 0.0, rho = 1.0;
    for (int sweep = 0; sweep < s->n_sweeps; sweep++) {
        for (int i = 0; i < n_types; i++) {
            const int w = types[i], next = i + 1 < n_types ? i + 1 : 0, later = i + 2 < n_types ? i + 2 : 0;
            const double m = counts[i];
            const uint64_t key = sparsemix_type_key(document_key, i, sweep);
            const REAL *row = table + w * K;
            int *drawn = topics + i * S;
            int *evenly = even && sweep == s->n_sweeps - 1 ? even + i * (ptrdiff_t)s->n_even : NULL;
            if (far) {
                sparsemix_prefetch(t->begin + types[later]);
                sparsemix_prefetch(t->length + types[later]);
                sparsemix_prefetch(t->total + types[later]);
                CHAIN_NAME(fetch)(c, s, t, types[next], table + types[next] * K, states[next]);
            }
            if (s->rho) {
                rho = s->rho[seen < s->n_rho ? (int64_t)seen : s->n_rho - 1];
                CHAIN_NAME(sample_type)(c, s, t, w, row, NULL, key, states + i, drawn, evenly, tally);
                sparsemix_step(c, s, rho, m, drawn);
            } else
                CHAIN_NAME(visit_exact)(c, s, t, w, row, key, m, sweep > 0, states + i, drawn, evenly, tally);
            seen += m;
            /* exact sums replace recalled counts, which fade in proportion to the tokens not yet visited */
            c->fade = !s->rho && seen < c->length ? 1.0 - seen / c->length : 0.0;
        }
        if (!s->rho && sweep == 0)
            sparsemix_drop_below(c, 1e-12 * c->length);
        if (s->rho && sweep == s->n_sweeps - 2)
            sparsemix_drop_below(c, s->sparsity * rho * c->length);
    }
}

/* Documents in order. Returns the number of entries of the returned counts; -1 - e if the word of entry e has no table;
 * `capacity` + 1 if the output is too small. */
static int64_t CHAIN_NAME(sparsemix_sample_documents)(
    sparsemix_counts *c, const sparsemix_chain_settings *s, const sparsemix_word_tables *t,
    const REAL *table, ptrdiff_t n, const int64_t *indptr, const int *indices, const REAL *counts,
    const int64_t *numbers, const int64_t *start_indptr, const int *start_topics, const REAL *start_values,
    int *states, int *topics, REAL *values, int *even, int64_t capacity, int64_t *out_indptr, int *out_topics,
    REAL *out_values, int64_t *tally)
{
    int64_t used = 0;
    out_indptr[0] = 0;
    for (ptrdiff_t d = 0; d < n; d++) {
        const int64_t first = indptr[d], last = indptr[d + 1];
        c->length = 0.0;
        for (int64_t e = first; e < last; e++) {
            if (t->length[indices[e]] < 0)
                return -1 - e;
            c->length += counts[e];
        }
        c->scale = s->rho ? 1.0 : 1.0 / s->n_samples;
        c->fade = s->rho ? 0.0 : 1.0;
        for (int64_t e = start_indptr ? start_indptr[d] : 0; start_indptr && e < start_indptr[d + 1]; e++)
            (s->rho ? c->value : c->start)[sparsemix_slot(c, s, start_topics[e])] = start_values[e];
        tally[3 * d] = tally[3 * d + 1] = tally[3 * d + 2] = 0;
        CHAIN_NAME(sample_document)(c, s, t, table, (int)(last - first), indices + first, counts + first, numbers[d],
                                    states + first, topics + first * s->n_samples,
                                    even ? even + first * s->n_even : NULL, tally + 3 * d);
        for (int64_t e = first; e < last; e++)
            for (int i = 0; i < s->n_samples; i++)
                values[e * s->n_samples + i] = counts[e] / s->n_samples;
        if (first == last)
            sparsemix_clear(c);
        sparsemix_drop_below(c, s->share * c->length);
        for (int j = 0; j < c->n; j++) {
            if (sparsemix_count(c, j) > 0.0 && used < capacity) {
                out_topics[used] = c->topic[j];
                out_values[used] = (REAL)sparsemix_count(c, j);
            }
            used += sparsemix_count(c, j) > 0.0;
        }
        sparsemix_clear(c);
        if (used > capacity)
            return capacity + 1;
        out_indptr[d + 1] = used;
    }
    return used;
}

#undef CHAIN_NAME
#undef CHAIN_PASTE
#undef CHAIN_PASTE_
