/* The loops of document.h for one REAL and one instruction set: no include guard, included several times.
 *
 * A document is a topic-major block of its U word types and the A topics still active in it: row a holds exp E[log phi]
 * of topic a for all types, and the vector lanes hold types. When a topic is dropped, the rows after it move up. Types
 * are padded to whole vectors with counts of zero. */

#include "vectors/vector_math.h"

#define CACHE_BYTES 28000 /* of 32 KB */

#if defined(REAL_IS_DOUBLE)
#define PACKED sparsemix_packed_double
#define OTHER sparsemix_other_double
#else
#define PACKED sparsemix_packed_float
#define OTHER sparsemix_other_float
#endif

/* Zero the padding after the types of a block. */
TARGET static void SPARSEMIX_NAME(pad)(ptrdiff_t n_types, ptrdiff_t width, ptrdiff_t n_topics, REAL *block)
{
    ptrdiff_t a, u;
    for (a = 0; a < n_topics; a++)
        for (u = n_types; u < width; u++)
            block[a * width + u] = 0;
}

/* Rows of the table for the active topics, transposed: block[a, u] = table[types[u], topics[a]]. */
TARGET static void SPARSEMIX_NAME(gather)(const REAL *table, ptrdiff_t n_components, const int *types, ptrdiff_t n_types,
                                          ptrdiff_t width, const int *topics, ptrdiff_t n_topics, REAL *block)
{
    ptrdiff_t first, a, u;
    for (first = 0; first < n_types; first += 16) {
        const ptrdiff_t n = n_types - first < 16 ? n_types - first : 16;
        const REAL *rows[16];
        for (u = 0; u < n; u++)
            rows[u] = table + (ptrdiff_t)types[first + u] * n_components;
        for (a = 0; a < n_topics; a++) {
            const ptrdiff_t k = topics[a];
            REAL *out = block + a * width + first;
            for (u = 0; u < n; u++)
                out[u] = rows[u][k];
        }
    }
    SPARSEMIX_NAME(pad)(n_types, width, n_topics, block);
}

/* ``gather`` from a packed table: addresses are computed first, so that all loads of a group of types are in flight
 * together. ``entries`` has space for GROUP addresses per topic. */
#define GROUP 8
TARGET static void SPARSEMIX_NAME(gather_packed)(const PACKED *table, ptrdiff_t n_components,
                                                 const int *types, ptrdiff_t n_types, ptrdiff_t width,
                                                 const int *topics, ptrdiff_t n_topics, const REAL **entries,
                                                 REAL *block)
{
    ptrdiff_t first, a, u;
    for (first = 0; first < n_types; first += GROUP) {
        const ptrdiff_t n = n_types - first < GROUP ? n_types - first : GROUP;
        const uint64_t *heads[GROUP];
        const REAL *rows[GROUP];
        REAL *others = block + first; /* of a topic, at the destination of its entries */
        int all_whole = 1;
        for (u = 0; u < n; u++) {
            heads[u] = table->heads + types[first + u] * table->n_heads;
            rows[u] = table->values + table->starts[types[first + u]];
            all_whole &= sparsemix_row_length(heads[u][table->n_heads - 1]) == n_components;
        }
        if (all_whole) {
            for (a = 0; a < n_topics; a++)
                for (u = 0; u < n; u++)
                    block[a * width + first + u] = rows[u][topics[a]];
            continue;
        }
        for (a = 0; a < n_topics; a++, others += width) {
            const ptrdiff_t head = topics[a] / SPARSEMIX_HEAD_TOPICS;
            const uint64_t bit = (uint64_t)1 << topics[a] % SPARSEMIX_HEAD_TOPICS;
            for (u = 0; u < n; u++)
                others[u] = OTHER(table, types[first + u], topics[a]);
            for (u = 0; u < n; u++) { /* branchless choice of the address: half of the branches would be mispredicted */
                const ptrdiff_t place = sparsemix_place(heads[u][head], bit);
                const uintptr_t none = (uintptr_t)(place >> (8 * sizeof place - 1));
                const uintptr_t entry = ((uintptr_t)(rows[u] + place) & ~none) | ((uintptr_t)(others + u) & none);
                sparsemix_prefetch((const void *)entry);
                entries[GROUP * a + u] = (const REAL *)entry;
            }
        }
        for (a = 0; a < n_topics; a++)
            for (u = 0; u < n; u++)
                block[a * width + first + u] = *entries[GROUP * a + u];
    }
    SPARSEMIX_NAME(pad)(n_types, width, n_topics, block);
}
#undef GROUP

/* Prefetch what the next document reads of a packed table. */
TARGET static void SPARSEMIX_NAME(fetch)(const PACKED *table, const int *types, ptrdiff_t n_types, const int *lists,
                                         const REAL *best, ptrdiff_t n_nonzero)
{
    ptrdiff_t u, i;
    for (u = 0; u < n_types; u++) {
        const ptrdiff_t v = types[u];
        for (i = 0; i < table->n_heads; i += 8)
            sparsemix_prefetch(table->heads + v * table->n_heads + i);
        sparsemix_prefetch(table->starts + v);
        sparsemix_prefetch(lists + v * n_nonzero);
        sparsemix_prefetch(best + v * n_nonzero);
    }
}

/* One update of ``n_vectors`` vectors of types: scale = counts / Z with Z = sum_a block[a] p[a]; then add the lanes of
 * sum_u block[a, u] scale[u] to ``partial``. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(update_group)(
    const REAL *block, ptrdiff_t width, ptrdiff_t n_topics, const REAL *counts, const REAL *p, REAL *scale,
    REAL *partial, const int n_vectors)
{
    const REAL *row = block;
    VECTOR z[4] = {FILL(0), FILL(0), FILL(0), FILL(0)};
    ptrdiff_t a;
    int v;
    for (a = 0; a < n_topics; a++, row += width)
        for (v = 0; v < n_vectors; v++)
            z[v] += ((const VECTOR *)row)[v] * p[a];
    for (v = 0; v < n_vectors; v++) {
        z[v] = ((const VECTOR *)counts)[v] / (z[v] + (REAL)SMALLEST);
        ((VECTOR *)scale)[v] = z[v];
    }
    row = block;
    for (a = 0; a < n_topics; a++, row += width) {
        VECTOR sum = ((const VECTOR *)row)[0] * z[0];
        for (v = 1; v < n_vectors; v++)
            sum += ((const VECTOR *)row)[v] * z[v];
        ((VECTOR *)partial)[a] += sum;
    }
}

/* One update at given p = exp E[log pi]: scale[u] = count / Z_u with Z_u = sum_a block[a, u] p[a], and doc_topic[a]
 * = p[a] sum_u block[a, u] scale[u]. Each group of types is read twice over all topics, so it should fit the L1
 * cache. */
TARGET static void SPARSEMIX_NAME(update)(const REAL *block, ptrdiff_t width, ptrdiff_t n_topics, const REAL *counts,
                                          const REAL *p, REAL *scale, REAL *partial, REAL *doc_topic)
{
    const ptrdiff_t size = 4 * LANES * (ptrdiff_t)sizeof(REAL) * n_topics > CACHE_BYTES ? 2 : 4;
    ptrdiff_t first = 0, a, v;
    memset(partial, 0, n_topics * LANES * sizeof(REAL));
    if (size == 4)
        for (; first + 4 * LANES <= width; first += 4 * LANES)
            SPARSEMIX_NAME(update_group)(block + first, width, n_topics, counts + first, p, scale + first, partial, 4);
    for (; first + 2 * LANES <= width; first += 2 * LANES)
        SPARSEMIX_NAME(update_group)(block + first, width, n_topics, counts + first, p, scale + first, partial, 2);
    for (; first < width; first += LANES)
        SPARSEMIX_NAME(update_group)(block + first, width, n_topics, counts + first, p, scale + first, partial, 1);
    for (a = 0; a < n_topics; a++) { /* pairwise sums of lanes: sequential additions would wait for each other */
        REAL *sums = partial + a * LANES;
        ptrdiff_t half;
        for (half = LANES / 2; half > 0; half /= 2)
            for (v = 0; v < half; v++)
                sums[v] += sums[v + half];
        doc_topic[a] = sums[0] * p[a];
    }
}

/* The L topics with the largest block[a, u] p[a] of each type, ties to the lower topic, as a copy of the block with
 * zeros elsewhere. Each lane keeps its L best in decreasing order, by insertion. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(select_fixed)(
    const REAL *block, ptrdiff_t width, ptrdiff_t n_topics, const REAL *p, const int n_nonzero, REAL *kept)
{
    ptrdiff_t first, a;
    int j;
    for (first = 0; first < width; first += LANES) {
        VECTOR best[SPARSEMIX_MAX_SELECT];
        BITS free_places = (BITS){0} + n_nonzero;
        for (j = 0; j < n_nonzero; j++)
            best[j] = FILL(-1);
        for (a = 0; a < n_topics; a++) {
            VECTOR w = *(const VECTOR *)(block + a * width + first) * p[a];
            for (j = 0; j < n_nonzero; j++) {
                const VECTOR b = best[j];
                best[j] = LARGER(b, w);
                w = SMALLER(b, w);
            }
        }
        for (j = 0; j < n_nonzero; j++)  /* places above the threshold are occupied; masks are -1 */
            free_places += MASK(best[j] > best[n_nonzero - 1]);
        for (a = 0; a < n_topics; a++) {
            const VECTOR t = *(const VECTOR *)(block + a * width + first), w = t * p[a];
            const BITS equal = MASK(w == best[n_nonzero - 1]) & MASK(free_places > (BITS){0});
            free_places += equal;
            *(VECTOR *)(kept + a * width + first) = AS_REAL((MASK(w > best[n_nonzero - 1]) | equal) & AS_BITS(t));
        }
    }
}

TARGET static void SPARSEMIX_NAME(select)(const REAL *block, ptrdiff_t width, ptrdiff_t n_topics, const REAL *p,
                                          int n_nonzero, REAL *kept)
{
    switch (n_nonzero) { /* constants keep the best in registers */
    case 1: SPARSEMIX_NAME(select_fixed)(block, width, n_topics, p, 1, kept); break;
    case 2: SPARSEMIX_NAME(select_fixed)(block, width, n_topics, p, 2, kept); break;
    case 4: SPARSEMIX_NAME(select_fixed)(block, width, n_topics, p, 4, kept); break;
    case 8: SPARSEMIX_NAME(select_fixed)(block, width, n_topics, p, 8, kept); break;
    default: SPARSEMIX_NAME(select_fixed)(block, width, n_topics, p, n_nonzero, kept);
    }
}

#include "document_steps.h"

#undef CACHE_BYTES
#undef PACKED
#undef OTHER
#include "vectors/vector_math_end.h"
