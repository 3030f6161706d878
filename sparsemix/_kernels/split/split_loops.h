/* The loops of split.h for one REAL and one instruction set: no include guard, included several times.
 *
 * The vector lanes hold slots of a document's topics. Slots without a topic have no counts, so their weight is zero
 * whatever their columns contain. */

#include "vectors/vector_math.h"

#include "vectors/vector_rows.h"
#include "vectors/vector_scan.h"

#if defined(REAL_IS_DOUBLE)
#define SPLIT split_double
#define PACKED_COUNTS sparsemix_counts_double
#define PACKED_COUNT sparsemix_count_double
#else
#define SPLIT split_float
#define PACKED_COUNTS sparsemix_counts_float
#define PACKED_COUNT sparsemix_count_float
#endif

#include "counts_loops.h"

/* N_wk. */
TARGET static inline REAL SPARSEMIX_NAME(count)(const SPLIT *d, ptrdiff_t word, ptrdiff_t topic)
{
    return d->packed.heads ? PACKED_COUNT(&d->packed, word, topic) : d->table[word * d->s->n_components + topic];
}

#include "split_words.h"
#include "split_own.h"

#define PADDED(n) (((n) + SPARSEMIX_PADDING - 1) / SPARSEMIX_PADDING * SPARSEMIX_PADDING)

/* -- slots and their columns */

/* Update the pointers into arrays that may have moved. */
TARGET static void SPARSEMIX_NAME(point)(SPLIT *d)
{
    const sparsemix_array *a = d->work->arrays;
    d->places = (int *)a[SPARSEMIX_SPLIT_PLACES].start;
    d->now = (REAL *)a[SPARSEMIX_SPLIT_NOW].start;
    d->start = (REAL *)a[SPARSEMIX_SPLIT_START].start;
    d->sums = (REAL *)a[SPARSEMIX_SPLIT_SUMS].start;
    d->topic = (int *)a[SPARSEMIX_SPLIT_TOPIC].start;
    d->born = (int *)a[SPARSEMIX_SPLIT_BORN].start;
    d->unused = (int *)a[SPARSEMIX_SPLIT_FREE].start;
}

/* Ensure space for n slots in the vectors by slot; 0, or -1 if out of memory. */
TARGET static int SPARSEMIX_NAME(reserve)(SPLIT *d, ptrdiff_t n)
{
    sparsemix_array *a = d->work->arrays;
    if (n > d->work->n_slots) {
        const size_t used = d->n_slots, wanted = n;
        int i;
        for (i = SPARSEMIX_SPLIT_NOW; i <= SPARSEMIX_SPLIT_SUMS; i++)
            if (sparsemix_grow(a + i, used * sizeof(REAL), wanted * sizeof(REAL)))
                return -1;
        for (i = SPARSEMIX_SPLIT_TOPIC; i <= SPARSEMIX_SPLIT_FREE; i++)
            if (sparsemix_grow(a + i, used * sizeof(int), wanted * sizeof(int)))
                return -1;
        d->work->n_slots = n;
    }
    SPARSEMIX_NAME(point)(d);
    return 0;
}

/* Widen the rows to n slots; columns of the new slots are zero. */
TARGET static int SPARSEMIX_NAME(widen)(SPLIT *d, ptrdiff_t n)
{
    const ptrdiff_t old = d->stride, stride = PADDED(n > old + old / 2 ? n : old + old / 2);
    const size_t kept = d->n_types * old * sizeof(REAL), size = d->n_types * stride * sizeof(REAL);
    ptrdiff_t u, j;
    if (SPARSEMIX_NAME(reserve)(d, stride) || !(d->rows = (REAL *)sparsemix_extend(&d->work->arena, kept, size)))
        return -1;
    for (u = d->n_types - 1; u >= 0; u--) {
        memmove(d->rows + u * stride, d->rows + u * old, old * sizeof(REAL));
        memset(d->rows + u * stride + old, 0, (stride - old) * sizeof(REAL));
    }
    for (j = d->n_slots; j < stride; j++)
        d->now[j] = d->start[j] = 0;
    d->stride = stride;
    return 0;
}

/* Prefetch the count of a type on a topic: its head, or the value that the head points to. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(fetch_count)(const SPLIT *d, ptrdiff_t type,
                                                                                     int topic, const int value)
{
#if SPARSEMIX_VECTORS
    const uint64_t *head = d->packed.heads + type * d->packed.n_heads + topic / SPARSEMIX_GROUP;
    if (value)
        sparsemix_prefetch(d->packed.values + d->packed.starts[type] + sparsemix_counts_before(*head, topic));
    else
        sparsemix_prefetch(head);
#else
    (void)d;
    (void)type;
    (void)topic;
    (void)value;
#endif
}

/* phi of some types in one slot. */
TARGET static void SPARSEMIX_NAME(fill_column)(SPLIT *d, ptrdiff_t slot, ptrdiff_t first, ptrdiff_t last)
{
    const int topic = d->topic[slot];
    const REAL base = (REAL)d->s->base, inverse = d->inverse[topic];
    ptrdiff_t u;
    if (d->packed.heads)
        for (u = first; u < last && u < first + 8; u++)
            SPARSEMIX_NAME(fetch_count)(d, d->types[u], topic, 0);
    for (u = first; u < last; u++) {
        if (d->packed.heads && u + 8 < last)
            SPARSEMIX_NAME(fetch_count)(d, d->types[u + 8], topic, 0);
        if (d->packed.heads && u + 4 < last)
            SPARSEMIX_NAME(fetch_count)(d, d->types[u + 4], topic, 1);
        d->rows[u * d->stride + slot] = (SPARSEMIX_NAME(count)(d, d->types[u], topic) + base) * inverse;
    }
}

/* Append a slot; -1 if out of memory. */
TARGET static ptrdiff_t SPARSEMIX_NAME(append)(SPLIT *d, int topic)
{
    const ptrdiff_t slot = d->n_slots;
    if (slot == d->work->n_slots && SPARSEMIX_NAME(reserve)(d, 2 * slot + SPARSEMIX_PADDING))
        return -1;
    d->now[slot] = d->start[slot] = 0;
    d->topic[slot] = topic;
    d->born[slot] = -1;
    d->work->slot[topic] = (int)slot;
    d->n_slots++;
    return slot;
}

/* The slot of a topic drawn for type u; a new slot gets its column for the following types only. */
TARGET static ptrdiff_t SPARSEMIX_NAME(place)(SPLIT *d, int topic, ptrdiff_t u)
{
    ptrdiff_t slot = d->work->slot[topic];
    if (slot >= 0)
        return slot;
    if (d->n_free) {
        slot = d->unused[--d->n_free];
        d->topic[slot] = topic;
        d->work->slot[topic] = (int)slot;
    } else {
        if (d->n_slots == d->stride && SPARSEMIX_NAME(widen)(d, d->stride + 1))
            return -1;
        slot = SPARSEMIX_NAME(append)(d, topic);
    }
    d->born[slot] = (int)u;
    SPARSEMIX_NAME(fill_column)(d, slot, u + 1, d->n_types);
    return slot;
}

/* phi of all types in all slots, from packed counts. */
TARGET static void SPARSEMIX_NAME(fill_from_packed)(SPLIT *d)
{
    const REAL base = (REAL)d->s->base;
    ptrdiff_t u, j;
    for (u = 0; u < d->n_types; u++) {
        REAL *out = d->rows + u * d->stride;
        if (u + 8 < d->n_types)
            for (j = 0; j < d->n_slots; j++)
                SPARSEMIX_NAME(fetch_count)(d, d->types[u + 8], d->topic[j], 0);
        if (u + 4 < d->n_types)
            for (j = 0; j < d->n_slots; j++)
                SPARSEMIX_NAME(fetch_count)(d, d->types[u + 4], d->topic[j], 1);
        for (j = 0; j < d->n_slots; j++)
            out[j] = (PACKED_COUNT(&d->packed, d->types[u], d->topic[j]) + base) * d->sums[j];
    }
}

/* phi of all types in all slots, with independent loads. */
TARGET static int SPARSEMIX_NAME(fill_rows)(SPLIT *d)
{
    const ptrdiff_t n = d->n_slots;
    const REAL base = (REAL)d->s->base;
    ptrdiff_t u, j;
    d->stride = 0;
    if (SPARSEMIX_NAME(widen)(d, n + SPARSEMIX_PADDING / 2))
        return -1;
    for (j = 0; j < n; j++)
        d->sums[j] = d->inverse[d->topic[j]];
    if (d->packed.heads) {
        SPARSEMIX_NAME(fill_from_packed)(d);
        return 0;
    }
    for (u = 0; u < d->n_types; u++) {
        const REAL *row = d->table + d->types[u] * d->s->n_components;
        REAL *out = d->rows + u * d->stride;
        j = 0;
#if SPARSEMIX_VECTORS
        if (u + 4 < d->n_types) {
            const REAL *later = d->table + d->types[u + 4] * d->s->n_components;
            for (j = 0; j < n; j++)
                sparsemix_prefetch(later + d->topic[j]);
            j = 0;
        }
#endif
#if SPARSEMIX_X86 && LEVEL == 2 && !defined(REAL_IS_DOUBLE)
        for (; j + LANES <= n; j += LANES) {
            const VECTOR counts = (VECTOR)_mm512_i32gather_ps(_mm512_loadu_si512(d->topic + j), row, 4);
            *(VECTOR *)(out + j) = (counts + base) * *(const VECTOR *)(d->sums + j);
        }
#endif
        for (; j < n; j++)
            out[j] = (row[d->topic[j]] + base) * d->sums[j];
    }
    return 0;
}

/* -- sweeps */

/* Change N_jk in one slot, not below zero despite round-off. Stores a whole vector: the next load reads a whole vector,
 * and would have to wait for a store of one number. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(shift)(SPLIT *d, ptrdiff_t slot, REAL amount)
{
    static const REAL one[2 * SPARSEMIX_PADDING] = {[SPARSEMIX_PADDING] = 1};
    VECTOR *now = (VECTOR *)(d->now + slot / LANES * LANES);
    const VECTOR here = *(const SPARSEMIX_NAME(unaligned) *)(one + SPARSEMIX_PADDING - slot % LANES);
    *now = LARGER(*now + here * amount, FILL(0));
}

/* Weights of the document's topics for a type, and their running sums; returns the total. With ``leave`` the weights
 * replace phi. */
TARGET SPARSEMIX_INLINE REAL SPARSEMIX_NAME(weigh_slots)(
    SPLIT *d, REAL *row, REAL remembered, const int soft, const int leave)
{
    VECTOR sum = FILL(0);
    ptrdiff_t j;
    d->n_weighed = d->n_slots;
    for (j = 0; j < d->n_slots; j += LANES) {
        VECTOR now = *(const VECTOR *)(d->now + j);
        if (soft)
            now += *(const VECTOR *)(d->start + j) * remembered;
        now *= *(const VECTOR *)(row + j);
        if (leave)
            *(VECTOR *)(row + j) = now;
        sum += SPARSEMIX_NAME(running_sum)(now);
        *(VECTOR *)(d->sums + j) = sum;
        sum = SPARSEMIX_NAME(last_lane)(sum);
    }
    return SPARSEMIX_NAME(first_lane)(sum);
}

/* Sums by block of the fixed part of a type. */
TARGET static inline const REAL *SPARSEMIX_NAME(blocks_of)(const SPLIT *d, ptrdiff_t u)
{
    return d->own_blocks ? d->own_blocks + u * d->s->n_blocks : d->blocks + d->types[u] * d->s->n_blocks;
}

/* Slot of sample ``s`` of a type, whose slots weigh ``of_slots`` of ``total``; -1 if out of memory. */
TARGET static inline ptrdiff_t SPARSEMIX_NAME(draw)(SPLIT *d, ptrdiff_t u, uint64_t key, int s, REAL of_slots,
                                                    REAL total, const SPARSEMIX_NAME(own_topics) *own)
{
    ptrdiff_t slot = 0, j;
    REAL y = (REAL)sparsemix_uniform(sparsemix_bits(key, s)) * total;
    int refused, topic;
    for (refused = 0; y >= of_slots; refused++) {
        const uint64_t again = sparsemix_key(key, (uint64_t)s * MOST_REFUSALS + refused);
        topic = SPARSEMIX_NAME(draw_fixed)(d, d->types[u], SPARSEMIX_NAME(blocks_of)(d, u), y - of_slots);
        if (refused == MOST_REFUSALS || SPARSEMIX_NAME(accepts)(own, topic, sparsemix_uniform(sparsemix_bits(again, 0))))
            return SPARSEMIX_NAME(place)(d, topic, u);
        y = (REAL)sparsemix_uniform(sparsemix_bits(again, 1)) * total;
    }
    for (j = 0; j < d->n_weighed; j += LANES)
        slot += SPARSEMIX_NAME(passed)(*(const VECTOR *)(d->sums + j), FILL(y));
    return slot < d->n_weighed ? slot : d->n_weighed - 1;
}

/* Record an entry for the sums by word: c gamma on the slots, and a factor of the word's fixed part. */
TARGET static void SPARSEMIX_NAME(leave)(SPLIT *d, ptrdiff_t u, REAL *row, REAL scale)
{
    ptrdiff_t j;
    for (j = 0; j < d->n_slots; j += LANES)
        *(VECTOR *)(row + j) *= scale;
    d->shares[u] = scale;
    d->records[u].n = d->n_slots;
}

/* One sweep: N_j is the sum of samples, one topic per token. In the first sweep of a document without samples, N_j
 * counts only earlier types; ``soft`` counts that it started with fade out as the document is read. (Counting unread
 * tokens as spread evenly fits documents sooner, but ends in worse topics.) -1 if out of memory. */
TARGET static int SPARSEMIX_NAME(split_sweep)(SPLIT *d, int sweep, const int fresh, const int soft)
{
    const int last = sweep == d->s->n_sweeps - 1;
    double left = d->length;
    int *places = d->places;
    int64_t at = d->first_state;
    SPARSEMIX_NAME(own_topics) own_topics;
    ptrdiff_t u;
    int s;
    own_topics.n = 0;
    for (u = 0; u < d->n_types; u++) {
        const REAL c = d->counts[u];
        const int n_samples = sparsemix_split_samples(c);
        const REAL share = c / (REAL)n_samples, copy = (REAL)sparsemix_own_copy(c);
        const REAL own = d->s->exclude ? copy / (REAL)n_samples : 0;
        const uint64_t key = sparsemix_type_key(d->key, u, sweep);
        REAL *row = d->rows + u * d->stride, of_slots, total, surplus = 0;
        if (!fresh)
            for (s = 0; s < n_samples; s++)
                SPARSEMIX_NAME(shift)(d, places[s], -own);
        if (d->own > 0)
            surplus = SPARSEMIX_NAME(exclude_own)(d, row, at, n_samples, copy * d->own, &own_topics);
        of_slots = soft ? last ? SPARSEMIX_NAME(weigh_slots)(d, row, (REAL)(left / d->length), 1, 1)
                               : SPARSEMIX_NAME(weigh_slots)(d, row, (REAL)(left / d->length), 1, 0)
                        : last ? SPARSEMIX_NAME(weigh_slots)(d, row, 0, 0, 1)
                               : SPARSEMIX_NAME(weigh_slots)(d, row, 0, 0, 0);
        total = of_slots + SPARSEMIX_NAME(blocks_of)(d, u)[d->s->n_blocks - 1];
        for (s = 0; s < own_topics.n; s++) {
            const ptrdiff_t slot = own_topics.slots[s];
            SPARSEMIX_NAME(put)(row, slot, last ? row[slot] - own_topics.surplus[s] : own_topics.phi[s]);
        }
        if (last)
            SPARSEMIX_NAME(leave)(d, u, row, c / (total - surplus));
        if (!fresh && own != share)
            for (s = 0; s < n_samples; s++)
                SPARSEMIX_NAME(shift)(d, places[s], own - share);
        for (s = 0; s < n_samples; s++) {
            const ptrdiff_t slot = SPARSEMIX_NAME(draw)(d, u, key, s, of_slots, total, &own_topics);
            if (slot < 0)
                return -1;
            places[s] = (int)slot;
        }
        for (s = 0; s < n_samples; s++)
            SPARSEMIX_NAME(shift)(d, places[s], share);
        places += n_samples;
        at += n_samples;
        left -= c;
    }
    return 0;
}

/* N_j of the samples. */
TARGET static void SPARSEMIX_NAME(add_samples)(SPLIT *d)
{
    const int *places = d->places;
    ptrdiff_t u;
    int s;
    if (d->n_slots > 0) /* if the first document is empty, nothing is allocated yet */
        memset(d->now, 0, d->n_slots * sizeof(REAL));
    for (u = 0; u < d->n_types; u++) {
        const int n_samples = sparsemix_split_samples(d->counts[u]);
        const REAL share = d->counts[u] / (REAL)n_samples;
        for (s = 0; s < n_samples; s++)
            d->now[*places++] += share;
    }
}

/* Before another sweep: recompute counts without round-off, complete all columns, free slots without tokens. */
TARGET static void SPARSEMIX_NAME(settle)(SPLIT *d)
{
    ptrdiff_t j;
    SPARSEMIX_NAME(add_samples)(d);
    d->n_free = 0;
    for (j = d->n_slots - 1; j >= 0; j--) {
        d->start[j] = 0;
        if (d->now[j] == 0) {
            if (d->work->slot[d->topic[j]] == j) /* the topic may have got another slot since */
                d->work->slot[d->topic[j]] = -1;
            d->unused[d->n_free++] = (int)j;
        } else if (d->born[j] >= 0)
            SPARSEMIX_NAME(fill_column)(d, j, 0, d->born[j] + 1);
        d->born[j] = -1;
    }
}

/* -- documents */

/* Set up slots from the stored samples or counts of a document. Returns the number of samples, or -1. */
TARGET static ptrdiff_t SPARSEMIX_NAME(recall)(SPLIT *d, sparsemix_states states, int64_t begin, const int *topics,
                                               const REAL *values, int64_t n_remembered)
{
    ptrdiff_t u, s, i = 0;
    int64_t r;
    for (u = 0; u < d->n_types; u++)
        i += sparsemix_split_samples(d->counts[u]);
    if (sparsemix_grow(d->work->arrays + SPARSEMIX_SPLIT_PLACES, 0, (i + 1) * sizeof(int)))
        return -1;
    SPARSEMIX_NAME(point)(d);
    if (i > 0 && sparsemix_state(states, begin) < 0) {
        for (r = 0; r < n_remembered; r++) {
            const ptrdiff_t slot = SPARSEMIX_NAME(append)(d, topics[r]);
            if (slot < 0)
                return -1;
            d->start[slot] = values[r];
        }
        return i;
    }
    for (s = 0; s < i; s++) {
        const int topic = sparsemix_state(states, begin + s);
        ptrdiff_t slot = d->work->slot[topic];
        if (slot < 0)
            slot = SPARSEMIX_NAME(append)(d, topic);
        if (slot < 0)
            return -1;
        d->places[s] = (int)slot;
    }
    SPARSEMIX_NAME(add_samples)(d);
    return i;
}

/* Keep rows and topics of the current document until the next visit, and point its records to them. */
TARGET static int SPARSEMIX_NAME(keep_records)(SPLIT *d)
{
    sparsemix_arena *arena = &d->work->arena;
    const size_t size = PADDED(d->n_slots) * sizeof(int); /* so that the next rows are aligned */
    char *topics;
    ptrdiff_t u;
    arena->used += d->n_types * d->stride * sizeof(REAL);
    topics = sparsemix_extend(arena, 0, size);
    if (!topics)
        return -1;
    if (d->n_slots > 0) /* if the first document has no words, nothing is allocated yet */
        memcpy(topics, d->topic, d->n_slots * sizeof(int));
    arena->used += size;
    for (u = 0; u < d->n_types; u++) {
        d->records[u].values = (int64_t)(intptr_t)(d->rows + u * d->stride);
        d->records[u].topics = (int64_t)(intptr_t)topics;
    }
    return 0;
}

/* One document; changes its samples in place. */
TARGET static int SPARSEMIX_NAME(split_document)(SPLIT *d, sparsemix_states states, int64_t begin, int64_t end,
                                                 const int *topics, const REAL *values, int64_t n_remembered)
{
    const int fresh = begin < end && sparsemix_state(states, begin) < 0;
    int64_t at;
    ptrdiff_t j;
    int sweep;
    for (at = begin; at < end; at++) {
        const int topic = sparsemix_state(states, at);
        if (topic >= d->s->n_components || (topic < 0 && !fresh))
            return SPARSEMIX_SPLIT_NO_TOPIC;
    }
    d->n_slots = d->n_free = 0;
    d->states = states;
    d->first_state = begin;
    d->own = fresh ? 0 : d->own;
    if (SPARSEMIX_NAME(recall)(d, states, begin, topics, values, n_remembered) < 0 || SPARSEMIX_NAME(fill_rows)(d))
        return SPARSEMIX_SPLIT_NO_MEMORY;
    for (sweep = 0; sweep < d->s->n_sweeps && d->n_types > 0; sweep++) {
        if (sweep > 0)
            SPARSEMIX_NAME(settle)(d);
        if (SPARSEMIX_NAME(split_sweep)(d, sweep, fresh && sweep == 0, fresh && sweep == 0 && n_remembered > 0))
            return SPARSEMIX_SPLIT_NO_MEMORY;
    }
    for (at = begin; at < end; at++)
        sparsemix_set_state(states, at, d->topic[d->places[at - begin]]);
    if (SPARSEMIX_NAME(keep_records)(d))
        return SPARSEMIX_SPLIT_NO_MEMORY;
    for (j = 0; j < d->n_slots; j++)
        d->work->slot[d->topic[j]] = -1;
    return SPARSEMIX_SPLIT_OK;
}

/* Process documents in order; threads that share ``next`` take one at a time. */
TARGET static void SPARSEMIX_NAME(split_documents)(
    SPLIT *d, ptrdiff_t n_docs, const int64_t *indptr, const int *indices, const REAL *counts, const int64_t *numbers,
    const int64_t *start_indptr, const int *start_topics, const REAL *start_values, const int64_t *state_indptr,
    sparsemix_states states, sparsemix_split_record *records, REAL *shares, const int *order, int64_t *next,
    const double *own, const int *groups, const REAL *fixed, int *status)
{
    ptrdiff_t i, j;
    d->work->arena.current = d->work->arena.used = 0;
    *status = SPARSEMIX_SPLIT_OK;
    while (*status == SPARSEMIX_SPLIT_OK && (i = (ptrdiff_t)sparsemix_fetch_add(next, 1)) < n_docs) {
        const ptrdiff_t document = order[i];
        const int64_t first = indptr[document], known = start_indptr ? start_indptr[document] : 0;
        d->n_types = indptr[document + 1] - first;
        d->types = indices + first;
        d->counts = counts + first;
        d->shares = shares + first;
        d->records = records + first;
        d->length = 0.0;
        for (j = 0; j < d->n_types; j++)
            d->length += d->counts[j];
        d->own = own ? (REAL)own[document] : 0;
        if (groups && SPARSEMIX_NAME(enter_group)(d, fixed + groups[document] * d->s->width)) {
            *status = SPARSEMIX_SPLIT_NO_MEMORY;
            break;
        }
        d->key = sparsemix_document_key(d->s->seed, numbers[document], d->s->visit);
        *status = SPARSEMIX_NAME(split_document)(
            d, states, state_indptr[document], state_indptr[document + 1], start_topics + known, start_values + known,
            start_indptr ? start_indptr[document + 1] - known : 0);
    }
}

#undef PADDED
#undef MOST_REFUSALS
#undef SPLIT
#undef PACKED_COUNTS
#undef PACKED_COUNT
#include "vectors/vector_math_end.h"
