/* Updates of packed counts, for one REAL and one instruction set: no include guard, included several times. The
 * instruction set matters for bit counting. */

/* Recompute the number of counts before each head, from ``first`` on, by counting bits. */
TARGET static void SPARSEMIX_NAME(rank_counts)(uint64_t *heads, ptrdiff_t first, ptrdiff_t n_heads)
{
    uint64_t before = (uint64_t)SPARSEMIX_BEFORE(heads[first]);
    ptrdiff_t g;
    for (g = first; g < n_heads; g++) {
        const uint32_t bits = SPARSEMIX_GROUP_BITS(heads[g]);
        heads[g] = before << SPARSEMIX_GROUP | bits;
        before += sparsemix_count_bits(bits);
    }
}

/* Round counts of a row below ``smallest`` at random to zero or ``smallest``, preserving expectations; add the gain of
 * each topic to ``gains``. Returns the new length. */
TARGET static int64_t SPARSEMIX_NAME(prune_counts)(const PACKED_COUNTS *t, ptrdiff_t v, REAL smallest,
                                             uint64_t key, double *gains)
{
    uint64_t *heads = t->heads + v * t->n_heads;
    REAL *row = t->values + t->starts[v];
    int64_t from = 0, to = 0;
    ptrdiff_t g;
    for (g = 0; g < t->n_heads; g++) {
        uint32_t bits = SPARSEMIX_GROUP_BITS(heads[g]), kept = 0;
        while (bits) {
            const int lowest = sparsemix_lowest_bit(bits);
            REAL x = row[from++];
            bits &= bits - 1;
            if (x < smallest) {
                const double uniform = sparsemix_uniform(sparsemix_bits(key, (uint64_t)from));
                const REAL rounded = uniform * smallest < x ? smallest : 0;
                gains[g * SPARSEMIX_GROUP + lowest] += rounded - x;
                x = rounded;
            }
            if (x > 0) {
                kept |= (uint32_t)1 << lowest;
                row[to++] = x;
            }
        }
        heads[g] = (heads[g] & ~(uint64_t)UINT32_MAX) | kept;
    }
    SPARSEMIX_NAME(rank_counts)(heads, 0, t->n_heads);
    return to;
}

/* Add n sums, times ``factor``, at increasing topics to a row. Sums of topics without a count are rounded like small
 * counts; changes ``topics`` and ``sums``. The gain of each topic is added to ``gains``. A full row is pruned or
 * moved to the end, where the caller must have reserved space. */
TARGET static void SPARSEMIX_NAME(add_counts)(const PACKED_COUNTS *t, ptrdiff_t v, int *topics, REAL *sums,
                                        int64_t n, REAL factor, REAL smallest, uint64_t key, double *gains)
{
    uint64_t *heads = t->heads + v * t->n_heads;
    REAL *row = t->values + t->starts[v];
    int64_t i, n_new = 0, length, behind;
    for (i = 0; i < n; i++) { /* whether a topic has a count is unpredictable, so only the rounding depends on it */
        const int k = topics[i];
        const uint64_t head = heads[k / SPARSEMIX_GROUP];
        const int known = head >> k % SPARSEMIX_GROUP & 1;
        REAL x = sums[i] * factor, nowhere;
        REAL *const place = known ? row + sparsemix_counts_before(head, k) : &nowhere;
        if (!known && x < smallest)
            x = sparsemix_uniform(sparsemix_bits(key, ~(uint64_t)k)) * smallest < x ? smallest : 0;
        nowhere = 0;
        *place += x;
        topics[n_new] = k;
        sums[n_new] = x;
        n_new += !known & (x > 0);
        gains[k] += x;
    }
    if (n_new == 0)
        return;
    length = sparsemix_counts_length(heads, t->n_heads);
    if (length + n_new > t->capacity[v]) {
        length = SPARSEMIX_NAME(prune_counts)(t, v, smallest, key, gains);
        if (length + n_new + SPARSEMIX_SPARE(length) / 2 > t->capacity[v]) { /* too full: it would soon be pruned again */
            const int capacity = (int)(length + n_new + SPARSEMIX_SPARE(length + n_new));
            const int64_t start = sparsemix_fetch_add(t->end, capacity);
            memcpy(t->values + start, row, length * sizeof(REAL));
            t->starts[v] = start;
            t->capacity[v] = capacity;
            row = t->values + start;
        }
    }
    for (behind = length, i = n_new - 1; i >= 0; i--) { /* backwards, so that nothing is overwritten */
        const int64_t before = sparsemix_counts_before(heads[topics[i] / SPARSEMIX_GROUP], topics[i]);
        memmove(row + before + i + 1, row + before, (behind - before) * sizeof(REAL));
        row[before + i] = sums[i];
        behind = before;
    }
    for (i = 0; i < n_new; i++)
        heads[topics[i] / SPARSEMIX_GROUP] |= (uint64_t)1 << topics[i] % SPARSEMIX_GROUP;
    SPARSEMIX_NAME(rank_counts)(heads, topics[0] / SPARSEMIX_GROUP, t->n_heads);
}
