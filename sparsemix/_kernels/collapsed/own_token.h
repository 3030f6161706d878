/* A token's responsibilities are computed from sums that exclude it: one copy of it, with its last responsibilities, is
 * subtracted. No include guard: after vector_math.h it defines the vector form too. */

#ifndef SPARSEMIX_OWN_TOKEN
#define SPARSEMIX_OWN_TOKEN

/* The sums that exclude it: none, those of its document, or those of the topics as well. */
enum { SPARSEMIX_EXCLUDE_NONE = 0, SPARSEMIX_EXCLUDE_DOCUMENT = 1, SPARSEMIX_EXCLUDE_BOTH = 2 };

/* The excluded copy: one token, or all of a count below one. */
static inline double sparsemix_own_copy(double count)
{
    return count < 1.0 ? count : 1.0;
}

/* sum - copy own, not below zero, + prior */
static inline double sparsemix_without_token(double sum, double own, double copy, double prior)
{
    const double rest = sum - copy * own;
    return (rest > 0.0 ? rest : 0.0) + prior;
}

#endif

#if defined(VECTOR)
TARGET static inline VECTOR SPARSEMIX_NAME(without_token)(VECTOR sum, VECTOR own, REAL copy, VECTOR prior)
{
    const VECTOR rest = sum - own * copy;
    return LARGER(rest, FILL(0)) + prior;
}
#endif
