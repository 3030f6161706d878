/* The loops of linear.h for one REAL and one instruction set: no include guard, included several times. */

#include "vectors/vector_math.h"

#include "vectors/vector_rows.h"

TARGET static inline VECTOR SPARSEMIX_NAME(word_log)(VECTOR x, int digamma)
{
    VECTOR y, e;
    if (!digamma)
        return SPARSEMIX_NAME(log)(x);
    SPARSEMIX_NAME(digamma_parts)(x, &y, &e);
    return SPARSEMIX_NAME(log)(y) + e;
}

/* f(prior + sums) - total, f the logarithm or digamma; most sums are zero, and f is computed once for these. */
TARGET static void SPARSEMIX_NAME(word_logs)(const double *sums, ptrdiff_t n, double prior, int digamma, double total,
                                             REAL *out)
{
    const VECTOR none = SPARSEMIX_NAME(word_log)(FILL((REAL)prior), digamma) - FILL((REAL)total);
    ptrdiff_t v, i;
    for (v = 0; v < n; v += LANES) {
        const ptrdiff_t left = n - v < LANES ? n - v : LANES;
        REAL x[LANES];
        double most = 0.0;
        for (i = 0; i < left; i++)
            most = sums[v + i] > most ? sums[v + i] : most;
        if (!(most > 0.0)) {
            SPARSEMIX_NAME(store)(out + v, left, none);
            continue;
        }
        for (i = 0; i < left; i++)
            x[i] = (REAL)(prior + (sums[v + i] > 0.0 ? sums[v + i] : 0.0));
        for (; i < LANES; i++)
            x[i] = (REAL)prior;
        SPARSEMIX_NAME(store)
        (out + v, left, SPARSEMIX_NAME(word_log)(SPARSEMIX_NAME(load)(x, LANES), digamma) - FILL((REAL)total));
    }
}

/* Words copied at once: source (one component) and destination (the panel) both stay in the cache. */
#define WORDS_AT_ONCE 64

/* panel[u, c] = natural[c, words[u]] for ``width`` components, zero in the remaining columns. */
TARGET static void SPARSEMIX_NAME(fill_panel)(const REAL *natural, ptrdiff_t n_features, ptrdiff_t width,
                                              const int *words, ptrdiff_t n_words, REAL *panel)
{
    ptrdiff_t first, u, c;
    if (width < SPARSEMIX_PANEL)
        memset(panel, 0, (size_t)(n_words * SPARSEMIX_PANEL) * sizeof(REAL));
    for (first = 0; first < n_words; first += WORDS_AT_ONCE) {
        const ptrdiff_t last = first + WORDS_AT_ONCE < n_words ? first + WORDS_AT_ONCE : n_words;
        for (c = 0; c < width; c++)
            for (u = first; u < last; u++)
                panel[u * SPARSEMIX_PANEL + c] = natural[c * n_features + words[u]];
    }
}

/* out[i, c] = constants[c] + the product of row i with component c of the panel. */
TARGET static void SPARSEMIX_NAME(panel_products)(const REAL *panel, const int64_t *indptr, const int *places,
                                                  const REAL *counts, ptrdiff_t n, const REAL *constants,
                                                  ptrdiff_t width, ptrdiff_t stride, REAL *out)
{
    ptrdiff_t i, j;
    int64_t at;
    for (i = 0; i < n; i++) {
        VECTOR sums[SPARSEMIX_PANEL / LANES];
        for (j = 0; j < SPARSEMIX_PANEL / LANES; j++)
            sums[j] = FILL(0);
        for (at = indptr[i]; at < indptr[i + 1]; at++) {
            const REAL *source = panel + (ptrdiff_t)places[at] * SPARSEMIX_PANEL, count = counts[at];
            for (j = 0; j < SPARSEMIX_PANEL / LANES; j++)
                sums[j] += *(const SPARSEMIX_NAME(unaligned) *)(source + j * LANES) * count;
        }
        for (j = 0; j * LANES < width; j++) {
            const ptrdiff_t left = width - j * LANES;
            const VECTOR constant = SPARSEMIX_NAME(load)(constants + j * LANES, left);
            SPARSEMIX_NAME(store)(out + i * stride + j * LANES, left, constant + sums[j]);
        }
    }
}

#undef WORDS_AT_ONCE

#include "vectors/vector_math_end.h"
