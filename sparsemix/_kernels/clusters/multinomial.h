/* Dirichlet-multinomial predictive densities of a document in many clusters; the loops are in multinomial_loops.h.
 *
 * The table holds beta + S_wk, words first, so that the clusters of a word are one contiguous row. A density is a
 * product of such numbers; multiplying instead of adding logarithms needs only one logarithm per cluster. */
#ifndef SPARSEMIX_MULTINOMIAL_H
#define SPARSEMIX_MULTINOMIAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "clusters/codes.h"
#include "vectors/simd.h"
#include "vectors/special.h"

typedef struct {
    const int *words;
    const double *counts;
    ptrdiff_t n_entries;
    double n_tokens;
    int small_totals; /* whether V beta, and so perhaps the total of a slot, is too small for Stirling's series */
} sparsemix_document;

/* Rows of a panel are padded to whole rounds of the loops. */
#define SPARSEMIX_SLOTS 32
/* Largest number of panels. */
#define SPARSEMIX_PANELS 16

#define LOOPS "clusters/multinomial_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

/* The densities in eight slots, starting at a multiple of eight; ``out`` may be unaligned. */
static void sparsemix_scores_of_eight(int isa, const sparsemix_document *d, const double *table, ptrdiff_t stride,
                                      const double *totals, double *out)
{
    SPARSEMIX_CACHE_LINE double scores[8];
    SPARSEMIX_DISPATCH(isa, scores_of_eight, double, d, table, stride, totals, scores);
    memcpy(out, scores, sizeof scores);
}

static void sparsemix_scores(int isa, const sparsemix_document *d, const double *table, ptrdiff_t stride,
                             const double *totals, ptrdiff_t n_slots, double *out)
{
    SPARSEMIX_DISPATCH(isa, scores, double, d, table, stride, totals, n_slots, out);
}

/* Upper bounds of log_prior + density: see bounds_loops.h. */
static void sparsemix_bounds(int isa, const sparsemix_document *d, const sparsemix_copies *copies, const uint8_t *codes,
                             ptrdiff_t stride, const double *totals, const double *log_prior, double largest_total,
                             ptrdiff_t n_slots, double *out, double *largest)
{
    SPARSEMIX_DISPATCH(isa, bounds, double, d, copies, codes, stride, totals, log_prior, largest_total, n_slots, out,
                       largest);
}

static void sparsemix_eights(int isa, const double *bounds, ptrdiff_t n_slots, double least, int *eights,
                             ptrdiff_t *n_eights)
{
    SPARSEMIX_DISPATCH(isa, eights, double, bounds, n_slots, least, eights, n_eights);
}

/* The density in one slot, whose statistics are reduced by ``mass`` times those of the document. */
static inline double sparsemix_score_without(const sparsemix_document *d, const double *table, ptrdiff_t stride,
                                             double total, double prior, double total_prior, ptrdiff_t slot,
                                             double mass)
{
    double product = 1.0, sum = 0.0;
    ptrdiff_t e;
    for (e = 0; e < d->n_entries; e++) {
        const double c = d->counts[e];
        double x = table[(ptrdiff_t)d->words[e] * stride + slot] - mass * c;
        x = x > prior ? x : prior;
        if (c == 1.0)
            product *= x;
        else
            sum += sparsemix_log_rising(x, c);
        if (product > 1e200 || product < 1e-200) {
            sum += log(product);
            product = 1.0;
        }
    }
    total -= mass * d->n_tokens;
    return sum + log(product) - sparsemix_log_rising(total > total_prior ? total : total_prior, d->n_tokens);
}

/* Add ``change`` times the document's statistics to a slot and its total; codes may be NULL. */
static inline void sparsemix_move(const sparsemix_document *d, double *table, uint8_t *codes, ptrdiff_t stride,
                                  double *total, double prior, double total_prior, ptrdiff_t slot, double change)
{
    ptrdiff_t e;
    for (e = 0; e < d->n_entries; e++) {
        const ptrdiff_t place = (ptrdiff_t)d->words[e] * stride + slot;
        double x = table[place] + change * d->counts[e];
        x = x > prior ? x : prior;
        table[place] = x;
        if (codes)
            codes[place] = sparsemix_code(x, prior);
    }
    *total += change * d->n_tokens;
    *total = *total > total_prior ? *total : total_prior;
}

#endif
