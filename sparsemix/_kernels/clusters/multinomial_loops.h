/* The loops of multinomial.h for one REAL and one instruction set: no include guard, included several times. Double
 * only: a score is a sum over a whole document, and results depend on differences of scores. */

#include "vectors/vector_math.h"

#include "vectors/vector_scan.h"

#if defined(REAL_IS_DOUBLE)

/* Factors multiplied between two normalisations: fourteen of 2^70 are in the range of a double. */
#define FACTORS 14
/* A count up to this is expanded into factors; larger or fractional counts use a difference of log Gammas. */
#define LARGEST_FACTORIAL 8
#define MANTISSA ((INTEGER)0xFFFFFFFFFFFFF)
#define ONE ((INTEGER)0x3FF0000000000000)
#define STIRLING_FROM 16

/* log(1 + y) for y >= 0. */
TARGET static inline VECTOR SPARSEMIX_NAME(log1p)(VECTOR y)
{
    const VECTOR s = y / (y + (REAL)2), s2 = s * s;
    VECTOR series = FILL(0);
    int i;
    for (i = LOG_TERMS; i > 0; i--)
        series = (series + (REAL)(2.0 / (2 * i + 1))) * s2;
    return CHOOSE(MASK(y < FILL(0.4)), s * (series + (REAL)2), SPARSEMIX_NAME(log)(y + (REAL)1));
}

/* Tail of Stirling's series of log Gamma at z >= 16. */
TARGET static inline VECTOR SPARSEMIX_NAME(stirling_tail)(VECTOR z)
{
    const VECTOR r = (REAL)1 / z, r2 = r * r;
    return r
           * ((REAL)(1.0 / 12)
              - r2 * ((REAL)(1.0 / 360) - r2 * ((REAL)(1.0 / 1260) - r2 * ((REAL)(1.0 / 1680) - r2 * (REAL)(1.0 / 1188)))));
}

/* log Gamma(x + c) - log Gamma(x); ``shift`` if an x may be small. The difference is taken term by term, so it is
 * exact to rounding even for large x. */
TARGET SPARSEMIX_INLINE VECTOR SPARSEMIX_NAME(log_rising)(VECTOR x, REAL c, int shift)
{
    VECTOR z = x, above = FILL(1), below = FILL(1), out;
    int j;
    if (shift) {
        for (j = 0; j < STIRLING_FROM; j++) {
            above *= x + (c + (REAL)j);
            below *= x + (REAL)j;
        }
        z = x + (REAL)STIRLING_FROM;
    }
    out = (z - (REAL)0.5) * SPARSEMIX_NAME(log1p)(c / z) + c * (SPARSEMIX_NAME(log)(z + c) - (REAL)1)
          + (SPARSEMIX_NAME(stirling_tail)(z + c) - SPARSEMIX_NAME(stirling_tail)(z));
    if (shift)
        out += SPARSEMIX_NAME(log)(below) - SPARSEMIX_NAME(log)(above);
    return out;
}

/* Move the exponent of a positive number into the sum of exponents. */
TARGET static inline void SPARSEMIX_NAME(normalise)(VECTOR *x, BITS *exponent)
{
    *exponent += (AS_BITS(*x) >> MANTISSA_BITS) - EXPONENT_BIAS;
    *x = AS_REAL((AS_BITS(*x) & MANTISSA) | ONE);
}

/* Log predictive density of one document in ``parts`` vectors of slots from slot k on: the product over tokens of
 * (beta + S_wk + earlier copies of w) divided by that of (V beta + S_k + earlier tokens), mantissa and exponent
 * separate. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(scores_of)(const sparsemix_document *d,
                                                                                const double *table, ptrdiff_t stride,
                                                                                const double *totals, ptrdiff_t k,
                                                                                double *out, const int parts)
{
    VECTOR product[8], sum[8];
    BITS exponent[8];
    int n_factors = 0, v, r;
    ptrdiff_t e;
    for (v = 0; v < parts; v++) {
        product[v] = FILL(1);
        sum[v] = FILL(0);
        exponent[v] = (BITS)FILL(0);
    }
    for (e = 0; e < d->n_entries; e++) {
        const double *row = table + (ptrdiff_t)d->words[e] * stride + k;
        const double c = d->counts[e];
#if SPARSEMIX_VECTORS
        if (e + 4 < d->n_entries) { /* prefetch four rows ahead */
            const double *ahead = table + (ptrdiff_t)d->words[e + 4] * stride + k;
            for (v = 0; v < parts; v++)
                sparsemix_prefetch(ahead + v * LANES);
        }
#endif
        if (c <= LARGEST_FACTORIAL && c == (int)c) {
            n_factors += (int)c;
            if (n_factors > FACTORS) {
                for (v = 0; v < parts; v++)
                    SPARSEMIX_NAME(normalise)(&product[v], &exponent[v]);
                n_factors = (int)c;
            }
            for (v = 0; v < parts; v++) {
                const VECTOR x = *(const VECTOR *)(row + v * LANES);
                product[v] *= x;
                for (r = 1; r < (int)c; r++)
                    product[v] *= x + (REAL)r;
            }
        } else {
            for (v = 0; v < parts; v++)
                sum[v] += SPARSEMIX_NAME(log_rising)(*(const VECTOR *)(row + v * LANES), c, 1);
        }
    }
    for (v = 0; v < parts; v++) {
        const VECTOR total = *(const VECTOR *)(totals + k + v * LANES);
        SPARSEMIX_NAME(normalise)(&product[v], &exponent[v]);
        if (d->n_tokens >= 1 && d->n_tokens <= FACTORS && d->n_tokens == (int)d->n_tokens) {
            VECTOR below = total;
            for (r = 1; r < (int)d->n_tokens; r++)
                below *= total + (REAL)r;
            product[v] /= below;
            SPARSEMIX_NAME(normalise)(&product[v], &exponent[v]);
        } else if (d->small_totals)
            sum[v] -= SPARSEMIX_NAME(log_rising)(total, d->n_tokens, 1);
        else
            sum[v] -= SPARSEMIX_NAME(log_rising)(total, d->n_tokens, 0);
        *(VECTOR *)(out + k + v * LANES)
            = sum[v] + SPARSEMIX_NAME(log)(product[v]) + TO_REAL(exponent[v]) * (REAL)0.69314718055994530942;
    }
}

TARGET static void SPARSEMIX_NAME(scores)(const sparsemix_document *d, const double *table, ptrdiff_t stride,
                                          const double *totals, ptrdiff_t n_slots, double *out)
{
    ptrdiff_t k = 0;
    for (; k + 4 * LANES < n_slots && k + 8 * LANES <= stride; k += 8 * LANES)
        SPARSEMIX_NAME(scores_of)(d, table, stride, totals, k, out, 8);
    for (; k + 2 * LANES < n_slots; k += 4 * LANES)
        SPARSEMIX_NAME(scores_of)(d, table, stride, totals, k, out, 4);
    if (k < n_slots)
        SPARSEMIX_NAME(scores_of)(d, table, stride, totals, k, out, 2);
}

TARGET static void SPARSEMIX_NAME(scores_of_eight)(const sparsemix_document *d, const double *table, ptrdiff_t stride,
                                                   const double *totals, double *out)
{
    SPARSEMIX_NAME(scores_of)(d, table, stride, totals, 0, out, 8 / LANES);
}

#include "clusters/bounds_loops.h"

#undef FACTORS
#undef LARGEST_FACTORIAL
#undef MANTISSA
#undef ONE
#undef STIRLING_FROM

#endif

#include "vectors/vector_math_end.h"
