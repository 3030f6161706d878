/* Counts by word and topic, storing those above zero only: V rows in one array of values. A row has a head for every 32
 * topics: one bit per stored count, and above them the number of counts before. */
#ifndef SPARSEMIX_COUNTS_H
#define SPARSEMIX_COUNTS_H

#include <stdint.h>
#include <string.h>

#include "documents/packed.h"
#include "random/random.h"

#define SPARSEMIX_GROUP 32
#define SPARSEMIX_GROUP_BITS(head) ((uint32_t)(head))
#define SPARSEMIX_BEFORE(head) ((int64_t)((head) >> SPARSEMIX_GROUP))
/* Spare space that a moved row of n counts gets. */
#define SPARSEMIX_SPARE(n) ((n) / 4 + 16)

/* Number of counts of a row, from its last head. */
static inline int64_t sparsemix_counts_length(const uint64_t *heads, ptrdiff_t n_heads)
{
    return SPARSEMIX_BEFORE(heads[n_heads - 1]) + sparsemix_count_bits(SPARSEMIX_GROUP_BITS(heads[n_heads - 1]));
}

/* Number of counts of a row before topic k. */
static inline int64_t sparsemix_counts_before(uint64_t head, ptrdiff_t k)
{
    const uint32_t below = ((uint32_t)1 << k % SPARSEMIX_GROUP) - 1;
    return SPARSEMIX_BEFORE(head) + sparsemix_count_bits(SPARSEMIX_GROUP_BITS(head) & below);
}

#define SPARSEMIX_COUNTS(REAL)                                                                                         \
    typedef struct {                                                                                                   \
        ptrdiff_t n_heads; /* of a row */                                                                              \
        uint64_t *heads;   /* (V, n_heads) */                                                                          \
        int64_t *starts;   /* (V,) of each row */                                                                      \
        int *capacity;     /* (V,) capacity of each row */                                                             \
        REAL *values;                                                                                                  \
        int64_t *end;      /* end of the last row */                                                                   \
    } sparsemix_counts_##REAL;                                                                                         \
                                                                                                                       \
    static inline REAL sparsemix_count_##REAL(const sparsemix_counts_##REAL *t, ptrdiff_t v, ptrdiff_t k)              \
    {                                                                                                                  \
        const uint64_t head = t->heads[v * t->n_heads + k / SPARSEMIX_GROUP];                                          \
        return head >> k % SPARSEMIX_GROUP & 1 ? t->values[t->starts[v] + sparsemix_counts_before(head, k)] : 0;       \
    }

SPARSEMIX_COUNTS(float)
SPARSEMIX_COUNTS(double)

#endif
