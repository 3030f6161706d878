/* The loops of tables.h for one REAL and one instruction set: no include guard, included several times. */

#include "vector_math.h"

/* One word's row of the table: exp(digamma(counts + prior)) inverse[k] over its largest entry, and not below LOWEST,
 * so that no document is left without a topic for the word. ``x`` is scratch, padded like ``inverse``. Returns the sum of
 * the counts, in which NaN and infinity show. */
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

#include "vector_math_end.h"
