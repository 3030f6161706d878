/* The loops of packed_rows.h for one REAL and one instruction set: no include guard, included several times. */

#include "vectors/vector_math.h"

#if defined(REAL_IS_DOUBLE)
#define PACKED_COUNTS sparsemix_counts_double
#else
#define PACKED_COUNTS sparsemix_counts_float
#endif

#include "counts_loops.h"

/* Add the sums of some words, stored word after word, to their rows. */
TARGET static void SPARSEMIX_NAME(add_packed_rows)(const PACKED_COUNTS *packed, const int *words, ptrdiff_t n_words,
                                                   const int64_t *indptr, int *topics, REAL *sums, REAL factor,
                                                   REAL smallest, uint64_t key, double *gains)
{
    ptrdiff_t i;
    for (i = 0; i < n_words; i++)
        SPARSEMIX_NAME(add_counts)(packed, words[i], topics + indptr[i], sums + indptr[i], indptr[i + 1] - indptr[i],
                                   factor, smallest, sparsemix_key(key, (uint64_t)words[i]), gains);
}

#undef PACKED_COUNTS
#include "vectors/vector_math_end.h"
