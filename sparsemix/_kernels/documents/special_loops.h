/* The loops of tables.h for one REAL and one instruction set: no include guard, included several times. */

#include "vectors/vector_math.h"

#if defined(REAL_IS_DOUBLE)
#define LOWEST SPARSEMIX_LOWEST_double
#else
#define LOWEST SPARSEMIX_LOWEST_float
#endif

/* A word's row of the table: exp(digamma(counts + prior)) inverse[k], divided by its largest entry and at least LOWEST,
 * so that every document has a topic for the word. ``x`` is scratch, padded like ``inverse``. Returns the sum of the
 * counts, which reveals NaN and infinity. */
TARGET static double SPARSEMIX_NAME(word_row)(const REAL *counts, ptrdiff_t n, double factor, REAL prior,
                                            int linear, const REAL *inverse, REAL *x, REAL *row)
{
    ptrdiff_t k, i;
    double sum = 0.0;
    REAL largest = 0;
    VECTOR top = FILL(0), scale;
    for (k = 0; k < n; k++) {
        x[k] = (REAL)factor * counts[k] + prior;
        sum += x[k];
    }
    for (; k % SPARSEMIX_PADDING; k++)
        x[k] = prior;
    if (!linear)
        SPARSEMIX_NAME(exp_digamma)(x, n, x);
    for (k = 0; k < n; k += LANES) {
        const VECTOR value = *(const VECTOR *)(x + k) * *(const VECTOR *)(inverse + k);
        top = CHOOSE(MASK(value > top), value, top);
        *(VECTOR *)(x + k) = value;
    }
    for (i = 0; i < LANES; i++)
        largest = ((const REAL *)&top)[i] > largest ? ((const REAL *)&top)[i] : largest;
    scale = FILL(1 / largest);
    for (k = 0; k < n; k += LANES) {
        const VECTOR value = *(const VECTOR *)(x + k) * scale;
        *(VECTOR *)(x + k) = CHOOSE(MASK(value > FILL(LOWEST)), value, FILL(LOWEST));
    }
    memcpy(row, x, n * sizeof(REAL));
    return sum;
}

/* Bit mask of the counts above zero or NaN, at most 40. */
TARGET static inline uint64_t SPARSEMIX_NAME(above_zero)(const REAL *counts, ptrdiff_t n)
{
    uint64_t bits = 0;
    ptrdiff_t k = 0;
#if SPARSEMIX_X86 && LEVEL == 2 && !defined(REAL_IS_DOUBLE)
    for (; k + 16 <= n; k += 16)
        bits |= (uint64_t)_mm512_cmp_ps_mask(_mm512_loadu_ps(counts + k), _mm512_setzero_ps(), _CMP_NLE_UQ) << k;
#elif SPARSEMIX_X86 && LEVEL == 1 && !defined(REAL_IS_DOUBLE)
    for (; k + 8 <= n; k += 8)
        bits |= (uint64_t)_mm256_movemask_ps(
                    _mm256_cmp_ps(_mm256_loadu_ps(counts + k), _mm256_setzero_ps(), _CMP_NLE_UQ)) << k;
#endif
    for (; k < n; k++)
        bits |= (uint64_t)!(counts[k] <= 0) << k;
    return bits;
}

/* The row of word_row, packed: ``values`` gets the entries with counts above zero. The prior is appended to the
 * counts in ``x``, so that it gets the same factor. ``x`` has space for n + 1 numbers, padded. */
TARGET static double SPARSEMIX_NAME(packed_row)(
    const REAL *counts, ptrdiff_t n, double factor, REAL prior, const REAL *inverse, REAL largest_inverse, REAL *x,
    int *topics, uint64_t *heads, REAL *values, REAL *rest, REAL *scale, ptrdiff_t *n_kept)
{
    ptrdiff_t k, i, n_v = 0;
    double sum = 0.0;
    REAL largest = 0;
    for (k = 0; k < n; k += SPARSEMIX_HEAD_TOPICS) {
        uint64_t left = SPARSEMIX_NAME(above_zero)(counts + k, n - k < SPARSEMIX_HEAD_TOPICS ? n - k : SPARSEMIX_HEAD_TOPICS);
        *heads++ = left | (uint64_t)n_v << SPARSEMIX_HEAD_TOPICS;
        for (; left; left &= left - 1) {
            const ptrdiff_t at = k + sparsemix_lowest_bit(left);
            x[n_v] = (REAL)factor * counts[at] + prior;
            sum += x[n_v];
            topics[n_v++] = (int)at;
        }
    }
    for (i = n_v; i == n_v || i % SPARSEMIX_PADDING; i++)
        x[i] = prior;
    SPARSEMIX_NAME(exp_digamma)(x, n_v + 1, x);
    *rest = x[n_v];
    for (i = 0; i < n_v; i++) {
        x[i] *= inverse[topics[i]];
        largest = x[i] > largest ? x[i] : largest;
    }
    largest = *rest * largest_inverse > largest ? *rest * largest_inverse : largest;
    *scale = 1 / largest;
    for (i = 0; i < n_v; i++) {
        const REAL value = x[i] * *scale;
        values[i] = value > LOWEST ? value : LOWEST;
    }
    *n_kept = n_v;
    return sum;
}

#undef LOWEST
#include "vectors/vector_math_end.h"
