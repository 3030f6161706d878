/* Vectors of REAL, and their exp, log and digamma. Loops include this file once for each REAL and instruction set, so
 * it has no include guard; vector_math_end.h undefines its macros. */

#if defined(REAL_IS_DOUBLE)
#define INTEGER int64_t
#define MANTISSA_BITS 52
#define EXPONENT_BIAS 1023
#define EXP_LOWEST (-708.0)
#define EXP_DEGREE 12
#define LOG2_HIGH 6.93147180369123816490e-01
#define LOG2_LOW 1.90821492927058770002e-10
#define SQRT_HALF_BITS 0x3FE6A09E667F3BCDLL
#define LOG_TERMS 10
#define DIGAMMA_SHIFT 12
#define SMALLEST 1e-300
#else
#define INTEGER int32_t
#define MANTISSA_BITS 23
#define EXPONENT_BIAS 127
#define EXP_LOWEST (-87.0)
#define EXP_DEGREE 6
#define LOG2_HIGH 0.693359375
#define LOG2_LOW (-2.12194440e-4)
#define SQRT_HALF_BITS 0x3F3504F3
#define LOG_TERMS 4
#define DIGAMMA_SHIFT 6
#define SMALLEST 1e-37
#endif

#if SPARSEMIX_VECTORS
#define LANES ((ptrdiff_t)(VECTOR_BYTES / sizeof(REAL)))
typedef REAL SPARSEMIX_NAME(types) SPARSEMIX_VECTOR(VECTOR_BYTES);
typedef INTEGER SPARSEMIX_NAME(bits) SPARSEMIX_VECTOR(VECTOR_BYTES);
#define AS_BITS(x) ((BITS)(x))
#define AS_REAL(x) ((VECTOR)(x))
#define TO_INTEGER(x) sparsemix_convert_vector(x, BITS)
#define TO_REAL(x) sparsemix_convert_vector(x, VECTOR)
#define FILL(x) ((VECTOR){0} + (REAL)(x))
#else
#define LANES ((ptrdiff_t)1)
typedef REAL SPARSEMIX_NAME(types);
typedef INTEGER SPARSEMIX_NAME(bits);
static inline SPARSEMIX_NAME(bits) SPARSEMIX_NAME(as_bits)(REAL x)
{
    SPARSEMIX_NAME(bits) b;
    memcpy(&b, &x, sizeof b);
    return b;
}
static inline REAL SPARSEMIX_NAME(as_real)(SPARSEMIX_NAME(bits) b)
{
    REAL x;
    memcpy(&x, &b, sizeof x);
    return x;
}
#define AS_BITS(x) SPARSEMIX_NAME(as_bits)(x)
#define AS_REAL(x) SPARSEMIX_NAME(as_real)(x)
#define TO_INTEGER(x) ((INTEGER)(x))
#define TO_REAL(x) ((REAL)(x))
#define FILL(x) ((REAL)(x))
#endif
#define VECTOR SPARSEMIX_NAME(types)
#define BITS SPARSEMIX_NAME(bits)
#if SPARSEMIX_VECTORS
#define MASK(condition) (condition)
#else
#define MASK(condition) (-(INTEGER)(condition))
#endif
/* x where the mask is set, else y */
#define CHOOSE(mask, x, y) AS_REAL(((mask) & AS_BITS(x)) | (~(mask) & AS_BITS(y)))

/* Compilers do not generate the instructions for maximum and minimum from comparisons. */
#if SPARSEMIX_X86 && LEVEL == 2
#define LARGER(a, b) X86_(_mm512_max, a, b)
#define SMALLER(a, b) X86_(_mm512_min, a, b)
#elif SPARSEMIX_X86 && LEVEL == 1
#define LARGER(a, b) X86_(_mm256_max, a, b)
#define SMALLER(a, b) X86_(_mm256_min, a, b)
#else
#define LARGER(a, b) CHOOSE(MASK((a) > (b)), a, b)
#define SMALLER(a, b) CHOOSE(MASK((a) > (b)), b, a)
#endif
#if defined(REAL_IS_DOUBLE)
#define X86_(name, a, b) name##_pd(a, b)
#else
#define X86_(name, a, b) name##_ps(a, b)
#endif

/* exp(x) for x <= 0; underflows to 0 below the smallest normal number. log 2 is split in two to keep the reduced
 * argument exact. */
TARGET static inline VECTOR SPARSEMIX_NAME(exp)(VECTOR x)
{
    const BITS small = MASK(x < FILL(EXP_LOWEST));
    const VECTOR z = CHOOSE(small, FILL(EXP_LOWEST), x);
    const BITS n = TO_INTEGER(z * (REAL)1.44269504088896340736 - (REAL)0.5);
    const VECTOR k = TO_REAL(n), f = (z - k * (REAL)LOG2_HIGH) - k * (REAL)LOG2_LOW;
    VECTOR p = FILL(0);
    int i;
    for (i = EXP_DEGREE; i > 0; i--)
        p = p * f * (REAL)(1.0 / (i + 1)) + (REAL)1;
    p = p * f + (REAL)1;
    return AS_REAL(~small & AS_BITS(p * AS_REAL((n + EXPONENT_BIAS) << MANTISSA_BITS)));
}

/* log(x) for normal x > 0: x = m 2^n with m in [sqrt(1/2), sqrt(2)), and log m = 2 artanh((m - 1) / (m + 1)). */
TARGET static inline VECTOR SPARSEMIX_NAME(log)(VECTOR x)
{
    const BITS shifted = AS_BITS(x) - SQRT_HALF_BITS, n = shifted >> MANTISSA_BITS;
    const VECTOR m = AS_REAL(AS_BITS(x) - (n << MANTISSA_BITS)), s = (m - (REAL)1) / (m + (REAL)1), s2 = s * s;
    VECTOR series = FILL(0);
    int i;
    for (i = LOG_TERMS; i > 0; i--)
        series = (series + (REAL)(2.0 / (2 * i + 1))) * s2;
    return TO_REAL(n) * (REAL)0.69314718055994530942 + s * (series + (REAL)2);
}

/* exp(digamma(x)) as a product y exp(e), in which only e may be very negative: y = x, or x + DIGAMMA_SHIFT for small
 * x. e increases with x. */
TARGET static inline void SPARSEMIX_NAME(digamma_parts)(VECTOR x, VECTOR *y, VECTOR *e)
{
    const BITS small = MASK(x < FILL(DIGAMMA_SHIFT));
    const VECTOR z = CHOOSE(small, x, FILL(1));
    VECTOR product = z, slope = FILL(1), r, r2;
    int j;
    for (j = 1; j < DIGAMMA_SHIFT; j++) {
        slope = slope * (z + (REAL)j) + product;
        product *= z + (REAL)j;
    }
    *y = CHOOSE(small, z + (REAL)DIGAMMA_SHIFT, x);
    r = (REAL)1 / *y;
    r2 = r * r;
    r = (REAL)-0.5 * r
        - r2 * ((REAL)(1.0 / 12)
                - r2 * ((REAL)(1.0 / 120)
                        - r2 * ((REAL)(1.0 / 252) - r2 * ((REAL)(1.0 / 240) - r2 * (REAL)(1.0 / 132)))));
    *e = CHOOSE(small, r - slope / product, r);
}

/* out = exp(digamma(x)) times a common factor, which keeps the largest result from underflow even if all x are tiny.
 * x has n positive numbers, padded to whole vectors with any positive number. */
TARGET static inline void SPARSEMIX_NAME(exp_digamma)(const REAL *x, ptrdiff_t n, REAL *out)
{
    ptrdiff_t i;
    REAL largest = x[0];
    VECTOR y, top, e;
    for (i = 1; i < n; i++)
        largest = x[i] > largest ? x[i] : largest;
    SPARSEMIX_NAME(digamma_parts)(FILL(largest), &y, &top);
    for (i = 0; i < n; i += LANES) {
        SPARSEMIX_NAME(digamma_parts)(*(const VECTOR *)(x + i), &y, &e);
        *(VECTOR *)(out + i) = y * SPARSEMIX_NAME(exp)(e - top);
    }
}
