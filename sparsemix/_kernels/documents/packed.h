/* A table (V, K) storing only the entries with counts above zero, row by row; each remaining entry is a number of
 * its row times a number of its topic. A row has a head for every 40 topics: one bit per stored entry, and above
 * them the number of entries before. */
#ifndef SPARSEMIX_PACKED_H
#define SPARSEMIX_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "vectors/portable.h"

#define SPARSEMIX_HEAD_TOPICS 40
#define SPARSEMIX_HEAD_MASK (((uint64_t)1 << SPARSEMIX_HEAD_TOPICS) - 1)

/* Lower bound of entries, in rows scaled to a largest entry of 1. */
#define SPARSEMIX_LOWEST_float 1e-30f
#define SPARSEMIX_LOWEST_double 1e-250

/* Number of entries of a row, from its last head. */
static inline ptrdiff_t sparsemix_row_length(uint64_t head)
{
    return (ptrdiff_t)(head >> SPARSEMIX_HEAD_TOPICS) + sparsemix_count_bits(head & SPARSEMIX_HEAD_MASK);
}

/* Position in its row of the entry for one bit of a head, or -1. */
static inline ptrdiff_t sparsemix_place(uint64_t head, uint64_t bit)
{
    const ptrdiff_t before = (ptrdiff_t)(head >> SPARSEMIX_HEAD_TOPICS) + sparsemix_count_bits(head & (bit - 1));
    return head & bit ? before : -1;
}

#define SPARSEMIX_PACKED(REAL)                                                                                         \
    typedef struct {                                                                                                   \
        ptrdiff_t n_heads;     /* of a row */                                                                          \
        const uint64_t *heads; /* (V, n_heads) */                                                                      \
        const int64_t *starts; /* (V,) place of a row among the values */                                              \
        const REAL *values;                                                                                            \
        const REAL *rest, *scale; /* (V,) */                                                                           \
        const REAL *inverse;      /* (K,) an entry not stored is rest inverse[k] scale, at least LOWEST */             \
    } sparsemix_packed_##REAL;                                                                                         \
                                                                                                                       \
    /* An entry not stored. */                                                                                         \
    static inline REAL sparsemix_other_##REAL(const sparsemix_packed_##REAL *t, ptrdiff_t v, ptrdiff_t k)              \
    {                                                                                                                  \
        const REAL other = t->rest[v] * t->inverse[k] * t->scale[v];                                                   \
        return other > SPARSEMIX_LOWEST_##REAL ? other : SPARSEMIX_LOWEST_##REAL;                                      \
    }                                                                                                                  \
                                                                                                                       \
    static inline REAL sparsemix_entry_##REAL(const sparsemix_packed_##REAL *t, ptrdiff_t v, ptrdiff_t k)              \
    {                                                                                                                  \
        const ptrdiff_t place = sparsemix_place(t->heads[v * t->n_heads + k / SPARSEMIX_HEAD_TOPICS],                  \
                                                (uint64_t)1 << k % SPARSEMIX_HEAD_TOPICS);                             \
        return place >= 0 ? t->values[t->starts[v] + place] : sparsemix_other_##REAL(t, v, k);                         \
    }

SPARSEMIX_PACKED(float)
SPARSEMIX_PACKED(double)

/* An entry of a table, of the type that pointer points to. */
#define sparsemix_entry(pointer, table, v, k) SPARSEMIX_BY_REAL(sparsemix_entry, pointer)(table, v, k)

#endif
