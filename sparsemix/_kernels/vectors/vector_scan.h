/* Prefix sums of a vector's lanes, and searches in them; for one REAL and one instruction set, included after
 * vector_math.h: no include guard. */

#if SPARSEMIX_X86 && LEVEL == 2 && defined(REAL_IS_DOUBLE)
#define BEHIND(x, n) ((VECTOR)_mm512_alignr_epi64((__m512i)(x), _mm512_setzero_si512(), 8 - (n)))
#define LAST_LANE(x) ((VECTOR)_mm512_permutexvar_pd(_mm512_set1_epi64(7), (__m512d)(x)))
#define PASSED(p, y) sparsemix_count_bits(_mm512_cmp_pd_mask((__m512d)(p), (__m512d)(y), _CMP_LE_OQ))
#elif SPARSEMIX_X86 && LEVEL == 2
#define BEHIND(x, n) ((VECTOR)_mm512_alignr_epi32((__m512i)(x), _mm512_setzero_si512(), 16 - (n)))
#define LAST_LANE(x) ((VECTOR)_mm512_permutexvar_ps(_mm512_set1_epi32(15), (__m512)(x)))
#define PASSED(p, y) sparsemix_count_bits(_mm512_cmp_ps_mask((__m512)(p), (__m512)(y), _CMP_LE_OQ))
#elif SPARSEMIX_X86 && LEVEL == 1 && defined(REAL_IS_DOUBLE)
#define BEHIND(x, n) SPARSEMIX_NAME(behind)(x, n)
#define LAST_LANE(x) ((VECTOR)_mm256_permute4x64_pd((__m256d)(x), 0xff))
#define PASSED(p, y) sparsemix_count_bits(_mm256_movemask_pd(_mm256_cmp_pd((__m256d)(p), (__m256d)(y), _CMP_LE_OQ)))
#elif SPARSEMIX_X86 && LEVEL == 1
#define BEHIND(x, n) SPARSEMIX_NAME(behind)(x, n)
#define LAST_LANE(x) ((VECTOR)_mm256_permutevar8x32_ps((__m256)(x), _mm256_set1_epi32(7)))
#define PASSED(p, y) sparsemix_count_bits(_mm256_movemask_ps(_mm256_cmp_ps((__m256)(p), (__m256)(y), _CMP_LE_OQ)))
#endif

#if SPARSEMIX_X86 && LEVEL == 1
/* x shifted up by n lanes, a power of two, with zeros below: whole halves by a permutation, smaller shifts by bytes. */
TARGET SPARSEMIX_INLINE VECTOR SPARSEMIX_NAME(behind)(VECTOR x, const int n)
{
    const __m256i bits = (__m256i)x, carried = _mm256_permute2x128_si256(bits, bits, 0x08);
    switch (n * (int)sizeof(REAL)) {
    case 4:
        return (VECTOR)_mm256_alignr_epi8(bits, carried, 12);
    case 8:
        return (VECTOR)_mm256_alignr_epi8(bits, carried, 8);
    default:
        return (VECTOR)carried;
    }
}
#endif

/* Lane i of the result is the sum of lanes 0 to i. */
TARGET SPARSEMIX_INLINE VECTOR SPARSEMIX_NAME(running_sum)(VECTOR x)
{
#if defined(BEHIND)
    x += BEHIND(x, 1);
    x += BEHIND(x, 2);
#if !(defined(REAL_IS_DOUBLE) && VECTOR_BYTES == 32)
    x += BEHIND(x, 4);
#endif
#if VECTOR_BYTES == 64 && !defined(REAL_IS_DOUBLE)
    x += BEHIND(x, 8);
#endif
    return x;
#elif SPARSEMIX_VECTORS
    REAL lanes[VECTOR_BYTES / sizeof(REAL)];
    ptrdiff_t i;
    memcpy(lanes, &x, sizeof x);
    for (i = 1; i < LANES; i++)
        lanes[i] += lanes[i - 1];
    memcpy(&x, lanes, sizeof x);
    return x;
#else
    return x;
#endif
}

/* The last lane, broadcast to all lanes. */
TARGET SPARSEMIX_INLINE VECTOR SPARSEMIX_NAME(last_lane)(VECTOR x)
{
#if defined(LAST_LANE)
    return LAST_LANE(x);
#elif SPARSEMIX_VECTORS
    return FILL(x[LANES - 1]);
#else
    return x;
#endif
}

/* The first lane. */
TARGET SPARSEMIX_INLINE REAL SPARSEMIX_NAME(first_lane)(VECTOR x)
{
#if SPARSEMIX_VECTORS
    return x[0];
#else
    return x;
#endif
}

/* The number of lanes of p that are not above y. */
TARGET SPARSEMIX_INLINE int SPARSEMIX_NAME(passed)(VECTOR p, VECTOR y)
{
#if defined(PASSED)
    return PASSED(p, y);
#elif SPARSEMIX_VECTORS
    int n = 0;
    ptrdiff_t i;
    for (i = 0; i < LANES; i++)
        n += p[i] <= y[i];
    return n;
#else
    return p <= y;
#endif
}

#undef BEHIND
#undef LAST_LANE
#undef PASSED
