/* What is done word by word for split_loops.h, which includes it: the fixed parts of words, and sums of what entries
 * leave. No include guard. */

/* -- the fixed part of a word */

/* (N_wk + base) fixed_k for one vector of topics. */
TARGET static inline VECTOR SPARSEMIX_NAME(fixed_vector)(const REAL *row, const REAL *fixed, REAL base, ptrdiff_t n)
{
    return (SPARSEMIX_NAME(load)(row, n) + base) * *(const VECTOR *)fixed;
}

TARGET static void SPARSEMIX_NAME(split_blocks)(const REAL *table, ptrdiff_t n_components, ptrdiff_t n_blocks,
                                                REAL base, const REAL *fixed, const int *words, ptrdiff_t first,
                                                ptrdiff_t last, REAL *blocks)
{
    ptrdiff_t i, b, k;
    for (i = first; i < last; i++) {
        const REAL *row = table + words[i] * n_components;
        REAL *out = blocks + words[i] * n_blocks, total = 0;
        if (i + 2 < last)
            SPARSEMIX_NAME(fetch)(table + words[i + 2] * n_components, n_components < 512 ? n_components : 512);
        for (b = 0; b < n_blocks; b++) {
            const ptrdiff_t begin = b * SPARSEMIX_SPLIT_BLOCK, left = n_components - begin;
            const ptrdiff_t end = left < SPARSEMIX_SPLIT_BLOCK ? n_components : begin + SPARSEMIX_SPLIT_BLOCK;
            VECTOR sum = FILL(0), other = FILL(0); /* two sums: additions wait for each other */
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
}

/* The topic at ``rest`` of a word's fixed part: its block, its lane there, its place in the lane. */
TARGET static int SPARSEMIX_NAME(draw_fixed)(const SPLIT *d, ptrdiff_t word, REAL rest)
{
    const REAL *row = d->table + word * d->s->n_components, *blocks = d->blocks + word * d->s->n_blocks;
    const REAL base = (REAL)d->s->base;
    REAL weights[SPARSEMIX_SPLIT_BLOCK], lanes[SPARSEMIX_PADDING];
    ptrdiff_t block = 0, lane = 0, begin, n, k;
    VECTOR sum = FILL(0);
    while (block < d->s->n_blocks - 1 && rest >= blocks[block])
        block++;
    if (block > 0)
        rest -= blocks[block - 1];
    begin = block * SPARSEMIX_SPLIT_BLOCK;
    n = d->s->n_components - begin;
    n = n < SPARSEMIX_SPLIT_BLOCK ? n : SPARSEMIX_SPLIT_BLOCK;
    for (k = 0; k < n; k += LANES) {
        const VECTOR w = SPARSEMIX_NAME(fixed_vector)(row + begin + k, d->fixed + begin + k, base, n - k);
        memcpy(weights + k, &w, sizeof w);
        sum += w;
    }
    memcpy(lanes, &sum, sizeof sum);
    while (lane < LANES - 1 && rest >= lanes[lane])
        rest -= lanes[lane++];
    for (k = lane; k < n; k += LANES) {
        if (rest < weights[k])
            return (int)(begin + k);
        rest -= weights[k];
    }
    for (k = n - 1; k > 0 && !(weights[k] > 0); k--) /* by round-off behind the last one */
        ;
    return (int)(begin + k);
}

/* -- sums by word */

/* The factor of the fixed part that the entries of a word leave. */
TARGET static REAL SPARSEMIX_NAME(sum_shares)(const int *entries, int64_t begin, int64_t end, const REAL *shares,
                                              const REAL *weights)
{
    REAL share = 0;
    int64_t at;
    for (at = begin; at < end; at++)
        share += weights ? shares[entries[at]] * weights[entries[at]] : shares[entries[at]];
    return share;
}

/* What the entries of a word leave on their own topics, in their order, added to a row of all topics. */
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
        if (at + 4 < behind) {
            sparsemix_prefetch((const char *)(intptr_t)records[entries[at + 4]].values);
            sparsemix_prefetch((const char *)(intptr_t)records[entries[at + 4]].topics);
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

/* out[i] = what the entries of word words[i] leave: the fixed part, which is one number for all of them, and their own
 * topics. */
TARGET static void SPARSEMIX_NAME(split_rows)(
    const int64_t *starts, const int *entries, const sparsemix_split_record *records, const REAL *shares,
    const REAL *weights, const REAL *table, REAL base, const REAL *fixed, ptrdiff_t n_components, const int *words,
    ptrdiff_t first, ptrdiff_t last, REAL *row, REAL *out, double *totals)
{
    const int64_t behind = first < last ? starts[words[last - 1] + 1] : 0;
    ptrdiff_t i, k;
    for (i = first; i < last; i++) {
        const int64_t begin = starts[words[i]], end = starts[words[i] + 1];
        const REAL *source = table + words[i] * n_components;
        const REAL share = SPARSEMIX_NAME(sum_shares)(entries, begin, end, shares, weights);
        if (i + 2 < last)
            SPARSEMIX_NAME(fetch)(table + words[i + 2] * n_components, n_components < 512 ? n_components : 512);
        for (k = 0; k < n_components; k += LANES)
            *(VECTOR *)(row + k)
                = SPARSEMIX_NAME(fixed_vector)(source + k, fixed + k, base, n_components - k) * share;
        SPARSEMIX_NAME(add_records)(entries, begin, end, behind, records, weights, row);
        for (k = 0; k < n_components; k += LANES)
            SPARSEMIX_NAME(store)(out + i * n_components + k, n_components - k, *(const VECTOR *)(row + k));
        for (k = 0; k < n_components; k++)
            totals[k] += row[k];
    }
}

/* table[words[i]] += factor times that, and what was added, up to the factor, to the totals: a word's row is read and
 * written once. Totals of some words are summed in a vector of single precision before they reach the others. ``row`` and
 * ``part`` are zero and stay so. */
TARGET static void SPARSEMIX_NAME(split_add_rows)(
    const int64_t *starts, const int *entries, const sparsemix_split_record *records, const REAL *shares,
    const REAL *weights, REAL *table, REAL base, const REAL *fixed, ptrdiff_t n_components, const int *words,
    ptrdiff_t first, ptrdiff_t last, REAL factor, REAL *row, REAL *part, double *totals)
{
    const int64_t behind = first < last ? starts[words[last - 1] + 1] : 0;
    ptrdiff_t i, k;
    for (i = first; i < last; i++) {
        const int64_t begin = starts[words[i]], end = starts[words[i] + 1];
        REAL *out = table + words[i] * n_components;
        const REAL share = SPARSEMIX_NAME(sum_shares)(entries, begin, end, shares, weights);
        if (i + 2 < last)
            SPARSEMIX_NAME(fetch)(table + words[i + 2] * n_components, n_components < 512 ? n_components : 512);
        SPARSEMIX_NAME(add_records)(entries, begin, end, behind, records, weights, row);
        for (k = 0; k < n_components; k += LANES) {
            const ptrdiff_t n = n_components - k;
            const VECTOR old = SPARSEMIX_NAME(load)(out + k, n);
            const VECTOR new = (old + base) * *(const VECTOR *)(fixed + k) * share + *(const VECTOR *)(row + k);
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

/* Draws of the fixed part for each topic, beyond which more say nothing new; counts may be as large as 1e25. */
#define MOST_DRAWS 64.0

/* The same for very many topics, sparse: lengths[i] topics and values of each word, one word after the other; returns
 * how many there are. The fixed part is drawn and not spread over all topics: at even distances of one random number,
 * ``n_even`` topics for each token that it holds. ``row`` is zero and stays so; a bit of ``touched`` is 64 topics. */
TARGET static void SPARSEMIX_NAME(split_sparse_rows)(
    const SPLIT *d, const int64_t *starts, const int *entries, const sparsemix_split_record *records,
    const REAL *weights, const int *words, ptrdiff_t first, ptrdiff_t last, int n_even, REAL *row, uint64_t *touched,
    int64_t *lengths, int *topics, REAL *values, int64_t *n_values)
{
    const ptrdiff_t n_groups = (d->s->n_components + 63) / 64;
    const int64_t behind = first < last ? starts[words[last - 1] + 1] : 0;
    int64_t n = 0, at, j;
    ptrdiff_t i, g;
    for (i = first; i < last; i++) {
        const int64_t begin = starts[words[i]], end = starts[words[i] + 1], before = n;
        const REAL all = d->blocks[(words[i] + (ptrdiff_t)1) * d->s->n_blocks - 1];
        const REAL mass = SPARSEMIX_NAME(sum_shares)(entries, begin, end, d->shares, weights) * all;
        const double draws = (double)mass * n_even, most = MOST_DRAWS * (double)d->s->n_components;
        const int64_t n_draws = 1 + (int64_t)(draws < most ? draws : most);
        const double offset = sparsemix_uniform(sparsemix_bits(d->key, (uint64_t)words[i]));
        SPARSEMIX_NAME(add_records)(entries, begin, end, behind, records, weights, row);
        for (at = begin; at < end; at++) {
            const sparsemix_split_record *record = records + entries[at];
            const int *list = (const int *)(intptr_t)record->topics;
            for (j = 0; j < record->n; j++)
                touched[list[j] >> 6] |= (uint64_t)1 << (list[j] & 63);
        }
        for (j = 0; j < n_draws; j++) {
            const int k = SPARSEMIX_NAME(draw_fixed)(d, words[i], (REAL)((j + offset) / n_draws) * all);
            row[k] += mass / n_draws;
            touched[k >> 6] |= (uint64_t)1 << (k & 63);
        }
        for (g = 0; g < n_groups; g++) {
            uint64_t bits = touched[g];
            touched[g] = 0;
            while (bits) {
                const int k = (int)(64 * g) + sparsemix_lowest_bit(bits);
                bits &= bits - 1;
                if (row[k] > 0) {
                    topics[n] = k;
                    values[n++] = row[k];
                }
                row[k] = 0;
            }
        }
        lengths[i] = n - before;
    }
    *n_values = n;
}

#undef MOST_DRAWS
