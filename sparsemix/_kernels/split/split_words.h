/* Per-word work of split_loops.h, which includes this file: the fixed parts of words, and the sums of the records of
 * entries. No include guard. */

/* -- the fixed part of a word */

/* (N_wk + base) fixed_k for one vector of topics. */
TARGET static inline VECTOR SPARSEMIX_NAME(fixed_vector)(const REAL *row, const REAL *fixed, REAL base, ptrdiff_t n)
{
    return (SPARSEMIX_NAME(load)(row, n) + base) * *(const VECTOR *)fixed;
}

/* Sums of (row + base) fixed up to the end of each block of topics. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(sum_row_blocks)(const REAL *row, ptrdiff_t n_components, ptrdiff_t n_blocks,
                                                            REAL base, const REAL *fixed, REAL *out)
{
    REAL total = 0;
    ptrdiff_t b, k;
    for (b = 0; b < n_blocks; b++) {
        const ptrdiff_t begin = b * SPARSEMIX_SPLIT_BLOCK, left = n_components - begin;
        const ptrdiff_t end = left < SPARSEMIX_SPLIT_BLOCK ? n_components : begin + SPARSEMIX_SPLIT_BLOCK;
        VECTOR sum = FILL(0), other = FILL(0); /* two independent sums: additions have latency */
        for (k = begin; k + 2 * LANES <= end; k += 2 * LANES) {
            sum += SPARSEMIX_NAME(fixed_vector)(row + k, fixed + k, base, LANES);
            other += SPARSEMIX_NAME(fixed_vector)(row + k + LANES, fixed + k + LANES, base, LANES);
        }
        for (; k < end; k += LANES)
            sum += SPARSEMIX_NAME(fixed_vector)(row + k, fixed + k, base, end - k);
        total += SPARSEMIX_NAME(lane_sum)(sum + other);
        out[b] = total;
    }
}

TARGET static void SPARSEMIX_NAME(split_blocks)(const REAL *table, ptrdiff_t n_components, ptrdiff_t n_blocks,
                                                REAL base, const REAL *fixed, const int *words, ptrdiff_t first,
                                                ptrdiff_t last, REAL *blocks)
{
    ptrdiff_t i;
    for (i = first; i < last; i++) {
        if (i + 2 < last)
            SPARSEMIX_NAME(fetch)(table + words[i + 2] * n_components, n_components < 512 ? n_components : 512);
        SPARSEMIX_NAME(sum_row_blocks)(table + words[i] * n_components, n_components, n_blocks, base, fixed,
                                       blocks + words[i] * n_blocks);
    }
}

/* The prior of a document's group, and sums by block for its types under it; -1 if out of memory. */
TARGET static int SPARSEMIX_NAME(enter_group)(SPLIT *d, const REAL *fixed)
{
    const ptrdiff_t n_components = d->s->n_components, n_blocks = d->s->n_blocks;
    sparsemix_array *array = d->work->arrays + SPARSEMIX_SPLIT_OWN_BLOCKS;
    ptrdiff_t u;
    if (sparsemix_grow(array, 0, (d->n_types * n_blocks + 1) * sizeof(REAL)))
        return -1;
    d->own_blocks = (REAL *)array->start;
    d->fixed = fixed;
    for (u = 0; u < d->n_types; u++) {
        if (u + 2 < d->n_types)
            SPARSEMIX_NAME(fetch)(d->table + d->types[u + 2] * n_components, n_components < 512 ? n_components : 512);
        SPARSEMIX_NAME(sum_row_blocks)(d->table + d->types[u] * n_components, n_components, n_blocks, (REAL)d->s->base,
                                       fixed, d->own_blocks + u * n_blocks);
    }
    return 0;
}

/* Prefetch a row of packed counts: its heads, or its values, of which there may be many. */
TARGET static inline void SPARSEMIX_NAME(fetch_packed)(const PACKED_COUNTS *t, ptrdiff_t word, const int values)
{
#if SPARSEMIX_VECTORS
    const char *from = values ? (const char *)(t->values + t->starts[word]) : (const char *)(t->heads + word * t->n_heads);
    const ptrdiff_t size = values ? t->capacity[word] * sizeof(REAL) : t->n_heads * sizeof(uint64_t);
    ptrdiff_t i;
    for (i = 0; i < (size < 4096 ? size : 4096); i += 64)
        sparsemix_prefetch(from + i);
#else
    (void)t;
    (void)word;
    (void)values;
#endif
}

#if SPARSEMIX_X86 && LEVEL == 2 && !defined(REAL_IS_DOUBLE)
/* Place one number per set bit into the lane of that bit. A separate load: expanding directly from memory is slower. */
TARGET SPARSEMIX_INLINE VECTOR SPARSEMIX_NAME(expand)(const REAL *values, uint32_t bits)
{
    __m512 all = _mm512_loadu_ps(values);
    sparsemix_keep_apart(all);
    return (VECTOR)_mm512_maskz_expand_ps((__mmask16)bits, all);
}
#endif

/* Sum of packed counts times fixed over a block of topics. There is no branch on whether a group has counts, which
 * would be unpredictable: vectors are expanded from the group's position even if another group's values are there. */
TARGET static inline REAL SPARSEMIX_NAME(packed_block)(const uint64_t *heads, const REAL *values, const REAL *fixed,
                                                       ptrdiff_t n_groups)
{
    ptrdiff_t g;
#if SPARSEMIX_X86 && LEVEL == 2 && !defined(REAL_IS_DOUBLE)
    VECTOR low = FILL(0), high = FILL(0);
    for (g = 0; g < n_groups; g++) {
        const uint32_t bits = SPARSEMIX_GROUP_BITS(heads[g]);
        const REAL *value = values + SPARSEMIX_BEFORE(heads[g]), *of = fixed + g * SPARSEMIX_GROUP;
        const REAL *second = value + sparsemix_count_bits(bits & 0xffff);
        low += SPARSEMIX_NAME(expand)(value, bits) * *(const VECTOR *)of;
        high += SPARSEMIX_NAME(expand)(second, bits >> 16) * *(const VECTOR *)(of + LANES);
    }
    return SPARSEMIX_NAME(lane_sum)(low + high);
#else
    REAL sum = 0;
    for (g = 0; g < n_groups; g++) {
        const REAL *value = values + SPARSEMIX_BEFORE(heads[g]), *of = fixed + g * SPARSEMIX_GROUP;
        uint32_t bits = SPARSEMIX_GROUP_BITS(heads[g]);
        for (; bits; bits &= bits - 1)
            sum += *value++ * of[sparsemix_lowest_bit(bits)];
    }
    return sum;
#endif
}

/* split_blocks from packed counts; ``background`` is scratch for the sums of fixed by block. */
TARGET static void SPARSEMIX_NAME(split_packed_blocks)(
    const PACKED_COUNTS *packed, ptrdiff_t n_components, ptrdiff_t n_blocks, REAL base, const REAL *fixed,
    REAL *background, const int *words, ptrdiff_t first, ptrdiff_t last, REAL *blocks)
{
    const ptrdiff_t groups = SPARSEMIX_SPLIT_BLOCK / SPARSEMIX_GROUP;
    ptrdiff_t i, b, k;
    for (b = 0; b < n_blocks; b++) {
        const ptrdiff_t end = (b + 1) * SPARSEMIX_SPLIT_BLOCK;
        background[b] = 0;
        for (k = b * SPARSEMIX_SPLIT_BLOCK; k < (end < n_components ? end : n_components); k++)
            background[b] += base * fixed[k];
    }
    for (i = first; i < last; i++) {
        const uint64_t *heads = packed->heads + words[i] * packed->n_heads;
        const REAL *values = packed->values + packed->starts[words[i]];
        REAL *out = blocks + words[i] * n_blocks, total = 0;
        if (i + 1 < last) {
            SPARSEMIX_NAME(fetch_packed)(packed, words[i + 1], 0);
            SPARSEMIX_NAME(fetch_packed)(packed, words[i + 1], 1);
        }
        for (b = 0; b < n_blocks; b++) {
            const ptrdiff_t left = packed->n_heads - b * groups;
            total += background[b]
                     + SPARSEMIX_NAME(packed_block)(heads + b * groups, values, fixed + b * SPARSEMIX_SPLIT_BLOCK,
                                                    left < groups ? left : groups);
            out[b] = total;
        }
    }
}

/* (N_wk + base) fixed_k of a block of topics, in whole vectors; returns the number of topics. */
TARGET static ptrdiff_t SPARSEMIX_NAME(fixed_block)(const SPLIT *d, ptrdiff_t word, ptrdiff_t block, REAL *weights)
{
    const ptrdiff_t begin = block * SPARSEMIX_SPLIT_BLOCK, left = d->s->n_components - begin;
    const ptrdiff_t n = left < SPARSEMIX_SPLIT_BLOCK ? left : SPARSEMIX_SPLIT_BLOCK;
    const REAL *fixed = d->fixed + begin, base = (REAL)d->s->base;
    ptrdiff_t k, g;
    if (!d->packed.heads) {
        const REAL *row = d->table + word * d->s->n_components + begin;
        for (k = 0; k < n; k += LANES) {
            const VECTOR w = SPARSEMIX_NAME(fixed_vector)(row + k, fixed + k, base, n - k);
            memcpy(weights + k, &w, sizeof w);
        }
        return n;
    }
    for (k = 0; k < n; k += LANES) {
        const VECTOR w = *(const VECTOR *)(fixed + k) * base;
        memcpy(weights + k, &w, sizeof w);
    }
    for (g = 0; g * SPARSEMIX_GROUP < n; g++) {
        const uint64_t head = d->packed.heads[word * d->packed.n_heads + begin / SPARSEMIX_GROUP + g];
        const REAL *value = d->packed.values + d->packed.starts[word] + SPARSEMIX_BEFORE(head);
        uint32_t bits = SPARSEMIX_GROUP_BITS(head);
        for (; bits; bits &= bits - 1) {
            k = g * SPARSEMIX_GROUP + sparsemix_lowest_bit(bits);
            weights[k] += *value++ * fixed[k];
        }
    }
    return n;
}

/* A block of a word's fixed part, and the cumulated sum at its start. ``blocks`` are the sums by block of the word. */
typedef struct {
    ptrdiff_t block, n;
    REAL before; /* the sum of the blocks before */
    REAL weights[SPARSEMIX_SPLIT_BLOCK], lanes[SPARSEMIX_PADDING];
} SPARSEMIX_NAME(block_at);

TARGET static void SPARSEMIX_NAME(enter_block)(const SPLIT *d, ptrdiff_t word, const REAL *blocks,
                                               ptrdiff_t block, SPARSEMIX_NAME(block_at) *at)
{
    VECTOR sum = FILL(0);
    ptrdiff_t k;
    at->block = block;
    at->before = block > 0 ? blocks[block - 1] : 0;
    at->n = SPARSEMIX_NAME(fixed_block)(d, word, block, at->weights);
    for (k = 0; k < at->n; k += LANES)
        sum += *(const SPARSEMIX_NAME(unaligned) *)(at->weights + k);
    memcpy(at->lanes, &sum, sizeof sum);
}

/* The topic at position ``rest`` within the block: first its lane, then its place in the lane. */
TARGET static int SPARSEMIX_NAME(draw_in_block)(const SPARSEMIX_NAME(block_at) *at, REAL rest)
{
    ptrdiff_t lane = 0, k;
    while (lane < LANES - 1 && rest >= at->lanes[lane])
        rest -= at->lanes[lane++];
    for (k = lane; k < at->n; k += LANES) {
        if (rest < at->weights[k])
            return (int)(at->block * SPARSEMIX_SPLIT_BLOCK + k);
        rest -= at->weights[k];
    }
    for (k = at->n - 1; k > 0 && !(at->weights[k] > 0); k--) /* round-off went past the last topic */
        ;
    return (int)(at->block * SPARSEMIX_SPLIT_BLOCK + k);
}

/* The block that contains position ``rest`` of a word's fixed part, searching from ``block`` on. */
TARGET static inline ptrdiff_t SPARSEMIX_NAME(block_of)(const SPLIT *d, const REAL *blocks, ptrdiff_t block, REAL rest)
{
    while (block < d->s->n_blocks - 1 && rest >= blocks[block])
        block++;
    return block;
}

/* The topic at position ``rest`` of a word's fixed part. */
TARGET static int SPARSEMIX_NAME(draw_fixed)(const SPLIT *d, ptrdiff_t word, const REAL *blocks, REAL rest)
{
    SPARSEMIX_NAME(block_at) at;
    SPARSEMIX_NAME(enter_block)(d, word, blocks, SPARSEMIX_NAME(block_of)(d, blocks, 0, rest), &at);
    return SPARSEMIX_NAME(draw_in_block)(&at, rest - at.before);
}

/* -- sums by word */

/* The total factor of the fixed part over the entries of a word. */
TARGET static REAL SPARSEMIX_NAME(sum_shares)(const int *entries, int64_t begin, int64_t end, const REAL *shares,
                                              const REAL *weights)
{
    REAL share = 0;
    int64_t at;
    for (at = begin; at < end; at++)
        share += weights ? shares[entries[at]] * weights[entries[at]] : shares[entries[at]];
    return share;
}

/* The fixed parts of a word's entries, without phi: sums of factor times fixed; one for all entries without groups. */
TARGET static const REAL *SPARSEMIX_NAME(mix_fixed)(
    const int *entries, int64_t begin, int64_t end, const REAL *shares, const REAL *weights, const REAL *fixed,
    sparsemix_split_groups groups, REAL *share)
{
    REAL *mix = groups.memory;
    int64_t at;
    ptrdiff_t k;
    if (!groups.of_entry) {
        *share = SPARSEMIX_NAME(sum_shares)(entries, begin, end, shares, weights);
        return fixed;
    }
    *share = 1;
    memset(mix, 0, groups.width * sizeof(REAL));
    for (at = begin; at < end; at++) {
        const REAL factor = weights ? shares[entries[at]] * weights[entries[at]] : shares[entries[at]];
        const REAL *of_group = fixed + groups.of_entry[entries[at]] * groups.width;
        for (k = 0; k < groups.width; k += LANES)
            *(VECTOR *)(mix + k) += *(const VECTOR *)(of_group + k) * factor;
    }
    return mix;
}

/* Add the records of a word's entries on their own topics, in order, to a dense row. */
TARGET static void SPARSEMIX_NAME(add_records)(const int *entries, int64_t begin, int64_t end, int64_t behind,
                                               const sparsemix_split_record *records, const REAL *weights, REAL *row)
{
    int64_t at, j;
    for (at = begin; at < end; at++) {
        const sparsemix_split_record *record = records + entries[at];
        const REAL *values = (const REAL *)(intptr_t)record->values;
        const int *topics = (const int *)(intptr_t)record->topics;
        const REAL weight = weights ? weights[entries[at]] : 1;
#if SPARSEMIX_VECTORS
        if (at + 24 < behind)
            sparsemix_prefetch(records + entries[at + 24]);
        if (at + 12 < behind) {
            const sparsemix_split_record *later = records + entries[at + 12];
            for (j = 0; j < later->n && j < 64; j += 16) {
                sparsemix_prefetch((const REAL *)(intptr_t)later->values + j);
                sparsemix_prefetch((const int *)(intptr_t)later->topics + j);
            }
        }
#else
        (void)behind;
#endif
        if (weight == 1)
            for (j = 0; j < record->n; j++)
                row[topics[j]] += values[j];
        else
            for (j = 0; j < record->n; j++)
                row[topics[j]] += weight * values[j];
    }
}

/* out[i] = sum of the records of word words[i]: the fixed part, one factor for all entries, and their own topics. */
TARGET static void SPARSEMIX_NAME(split_rows)(
    const int64_t *starts, const int *entries, const sparsemix_split_record *records, const REAL *shares,
    const REAL *weights, const REAL *table, REAL base, const REAL *fixed, sparsemix_split_groups groups,
    ptrdiff_t n_components, const int *words, ptrdiff_t first, ptrdiff_t last, REAL *row, REAL *out, double *totals)
{
    const int64_t behind = first < last ? starts[words[last - 1] + 1] : 0;
    ptrdiff_t i, k;
    for (i = first; i < last; i++) {
        const int64_t begin = starts[words[i]], end = starts[words[i] + 1];
        const REAL *source = table + words[i] * n_components;
        REAL share;
        const REAL *parts = SPARSEMIX_NAME(mix_fixed)(entries, begin, end, shares, weights, fixed, groups, &share);
        if (i + 2 < last)
            SPARSEMIX_NAME(fetch)(table + words[i + 2] * n_components, n_components < 512 ? n_components : 512);
        for (k = 0; k < n_components; k += LANES)
            *(VECTOR *)(row + k)
                = SPARSEMIX_NAME(fixed_vector)(source + k, parts + k, base, n_components - k) * share;
        SPARSEMIX_NAME(add_records)(entries, begin, end, behind, records, weights, row);
        for (k = 0; k < n_components; k += LANES)
            SPARSEMIX_NAME(store)(out + i * n_components + k, n_components - k, *(const VECTOR *)(row + k));
        for (k = 0; k < n_components; k++)
            totals[k] += row[k];
    }
}

/* table[words[i]] += factor times the sums of split_rows, and the sums to the totals; each row of the table is read and
 * written once. Totals of some words are accumulated in a float vector before they are added to the double totals.
 * ``row`` and ``part`` are zero on entry and exit. */
TARGET static void SPARSEMIX_NAME(split_add_rows)(
    const int64_t *starts, const int *entries, const sparsemix_split_record *records, const REAL *shares,
    const REAL *weights, REAL *table, REAL base, const REAL *fixed, sparsemix_split_groups groups,
    ptrdiff_t n_components, const int *words, ptrdiff_t first, ptrdiff_t last, REAL factor, REAL *row, REAL *part,
    double *totals)
{
    const int64_t behind = first < last ? starts[words[last - 1] + 1] : 0;
    ptrdiff_t i, k;
    for (i = first; i < last; i++) {
        const int64_t begin = starts[words[i]], end = starts[words[i] + 1];
        REAL *out = table + words[i] * n_components;
        REAL share;
        const REAL *parts = SPARSEMIX_NAME(mix_fixed)(entries, begin, end, shares, weights, fixed, groups, &share);
        if (i + 2 < last)
            SPARSEMIX_NAME(fetch)(table + words[i + 2] * n_components, n_components < 512 ? n_components : 512);
        SPARSEMIX_NAME(add_records)(entries, begin, end, behind, records, weights, row);
        for (k = 0; k < n_components; k += LANES) {
            const ptrdiff_t n = n_components - k;
            const VECTOR old = SPARSEMIX_NAME(load)(out + k, n);
            const VECTOR new = (old + base) * *(const VECTOR *)(parts + k) * share + *(const VECTOR *)(row + k);
            SPARSEMIX_NAME(store)(out + k, n, old + new * factor);
            *(VECTOR *)(part + k) += new;
            *(VECTOR *)(row + k) = FILL(0);
        }
        if (i % 16 == 15 || i == last - 1)
            for (k = 0; k < n_components; k++) {
                totals[k] += part[k];
                part[k] = 0;
            }
    }
}

/* Most draws of the fixed part per topic: more would add no information, and counts may reach 1e25. */
#define MOST_DRAWS 64.0

/* Sparse sums of the records, for very many topics. The fixed part is sampled instead of spread over all topics:
 * systematically, with one random offset and ``n_even`` topics per token that it holds. With ``gains``, the sums of
 * a word, times ``factor``, are added to its packed counts, and the gains of topics to ``gains``. Without, the
 * outputs are lengths[i] topics and values per word, and the function returns their number. ``row`` is zero on entry
 * and exit; a bit of ``touched`` represents 64 topics. */
TARGET static void SPARSEMIX_NAME(split_sparse_rows)(
    const SPLIT *d, const int64_t *starts, const int *entries, const sparsemix_split_record *records,
    const REAL *weights, const int *words, ptrdiff_t first, ptrdiff_t last, int n_even, REAL *row, uint64_t *touched,
    int64_t *lengths, int *topics, REAL *values, REAL factor, REAL smallest, double *gains, int64_t *n_values)
{
    const ptrdiff_t n_groups = (d->s->n_components + 63) / 64;
    const int64_t behind = first < last ? starts[words[last - 1] + 1] : 0;
    SPARSEMIX_NAME(block_at) here;
    int64_t n = 0, at, j;
    ptrdiff_t i, g;
    for (i = first; i < last; i++) {
        const int64_t begin = starts[words[i]], end = starts[words[i] + 1], before = n;
        const REAL *blocks = d->blocks + words[i] * d->s->n_blocks, all = blocks[d->s->n_blocks - 1];
        const REAL mass = SPARSEMIX_NAME(sum_shares)(entries, begin, end, d->shares, weights) * all;
        const double draws = (double)mass * n_even, most = MOST_DRAWS * (double)d->s->n_components;
        const int64_t n_draws = 1 + (int64_t)(draws < most ? draws : most);
        const double offset = sparsemix_uniform(sparsemix_bits(d->key, (uint64_t)words[i]));
        REAL positive = 0, negative = 0;
        if (d->packed.heads && i + 1 < last) {
            SPARSEMIX_NAME(fetch_packed)(&d->packed, words[i + 1], 0);
            SPARSEMIX_NAME(fetch_packed)(&d->packed, words[i + 1], 1);
        }
        SPARSEMIX_NAME(add_records)(entries, begin, end, behind, records, weights, row);
        for (at = begin; at < end; at++) {
            const sparsemix_split_record *record = records + entries[at];
            const int *list = (const int *)(intptr_t)record->topics;
            for (j = 0; j < record->n; j++)
                touched[list[j] >> 6] |= (uint64_t)1 << (list[j] & 63);
        }
        for (j = 0; j < n_draws; j++) { /* increasing, so that most are in the same block as the previous one */
            const REAL rest = (REAL)((j + offset) / n_draws) * all;
            const ptrdiff_t block = SPARSEMIX_NAME(block_of)(d, blocks, j > 0 ? here.block : 0, rest);
            int k;
            if (j == 0 || block != here.block)
                SPARSEMIX_NAME(enter_block)(d, words[i], blocks, block, &here);
            k = SPARSEMIX_NAME(draw_in_block)(&here, rest - here.before);
            row[k] += mass / n_draws;
            touched[k >> 6] |= (uint64_t)1 << (k & 63);
        }
        for (g = 0; g < n_groups; g++) {
            uint64_t bits = touched[g];
            touched[g] = 0;
            while (bits) {
                const int k = (int)(64 * g) + sparsemix_lowest_bit(bits);
                bits &= bits - 1;
                topics[n] = k;
                values[n] = row[k];
                n += row[k] > 0;
                positive += row[k] > 0 ? row[k] : 0;
                negative += row[k] < 0 ? row[k] : 0;
                row[k] = 0;
            }
        }
        if (negative < 0) /* a surplus of the fixed part whose topic was not drawn */
            for (j = before; j < n; j++)
                values[j] *= 1 + negative / positive;
        lengths[i] = n - before;
        if (gains) {
            SPARSEMIX_NAME(add_counts)(&d->packed, words[i], topics, values, n, factor, smallest,
                                       sparsemix_key(d->key, (uint64_t)words[i]), gains);
            n = 0;
        }
    }
    *n_values = n;
}

#undef MOST_DRAWS
