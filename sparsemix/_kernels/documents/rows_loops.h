/* The loops of rows.h for one REAL and one instruction set: no include guard, included several times. */

#include "vectors/vector_math.h"
#include "vectors/vector_rows.h"

/* out[i] = sum of counts times responsibilities over the entries of word words[i], in order, plus out[i] unless it is
 * fresh; one group of topics at a time stays in registers. */
TARGET static void SPARSEMIX_NAME(sum_rows)(const int64_t *starts, const int *entries, const REAL *counts,
                                            const REAL *resp, ptrdiff_t stride, const int *words, ptrdiff_t first,
                                            ptrdiff_t last, ptrdiff_t n_components, int fresh, REAL *out)
{
    ptrdiff_t i, k;
    int64_t at;
    int j;
    for (i = first; i < last; i++) {
        const int64_t begin = starts[words[i]], end = starts[words[i] + 1];
        REAL *row = out + i * n_components;
        for (k = 0; k < n_components; k += 4 * LANES) {
            VECTOR sum[4];
            for (j = 0; j < 4; j++)
                if (k + j * LANES < n_components && fresh)
                    sum[j] = FILL(0);
                else if (k + j * LANES < n_components)
                    sum[j] = SPARSEMIX_NAME(load)(row + k + j * LANES, n_components - k - j * LANES);
            for (at = begin; at < end; at++) {
                const REAL *source = resp + entries[at] * stride + k;
                const REAL count = counts[entries[at]];
                for (j = 0; j < 4; j++) /* rows of responsibilities are padded */
                    if (k + j * LANES < n_components)
                        sum[j] += *(const VECTOR *)(source + j * LANES) * count;
            }
            for (j = 0; j < 4; j++)
                if (k + j * LANES < n_components)
                    SPARSEMIX_NAME(store)(row + k + j * LANES, n_components - k - j * LANES, sum[j]);
        }
    }
}

/* out[words[i]] += factor rows[i], not below zero; totals += rows[i], unless they are NULL. */
TARGET static void SPARSEMIX_NAME(add_whole_rows)(const int *words, ptrdiff_t n_words, const REAL *rows, REAL factor,
                                                  ptrdiff_t n_components, REAL *out, double *totals)
{
    ptrdiff_t i, k;
    for (i = 0; i < n_words; i++) {
        const REAL *source = rows + i * n_components;
        REAL *row = out + words[i] * n_components;
        for (k = 0; k < n_components; k += LANES) {
            const ptrdiff_t n = n_components - k;
            const VECTOR value = SPARSEMIX_NAME(load)(row + k, n) + SPARSEMIX_NAME(load)(source + k, n) * factor;
            SPARSEMIX_NAME(store)(row + k, n, LARGER(value, FILL(0)));
        }
        for (k = 0; totals && k < n_components; k++)
            totals[k] += source[k];
    }
}

#include "vectors/vector_math_end.h"
