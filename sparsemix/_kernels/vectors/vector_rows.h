/* Unaligned vectors, and partial vectors at the end of a row; for one REAL and one instruction set, included after
 * vector_math.h: no include guard. ``n`` numbers of the row are left; numbers past the end read as zero. */

#if SPARSEMIX_VECTORS
typedef REAL SPARSEMIX_NAME(unaligned) SPARSEMIX_VECTOR_ANYWHERE(VECTOR_BYTES, REAL);
#else
typedef REAL SPARSEMIX_NAME(unaligned);
#endif

#if SPARSEMIX_X86 && LEVEL == 2 && defined(REAL_IS_DOUBLE)
#define LOAD_END(p, n) _mm512_maskz_loadu_pd((__mmask8)((1u << (n)) - 1u), p)
#define STORE_END(p, n, x) _mm512_mask_storeu_pd(p, (__mmask8)((1u << (n)) - 1u), x)
#elif SPARSEMIX_X86 && LEVEL == 2
#define LOAD_END(p, n) _mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1u), p)
#define STORE_END(p, n, x) _mm512_mask_storeu_ps(p, (__mmask16)((1u << (n)) - 1u), x)
#endif

TARGET static inline VECTOR SPARSEMIX_NAME(load)(const REAL *p, ptrdiff_t n)
{
    if (n >= LANES)
        return *(const SPARSEMIX_NAME(unaligned) *)p;
#if defined(LOAD_END)
    return (VECTOR)LOAD_END(p, n);
#else
    {
        REAL end[VECTOR_BYTES / sizeof(REAL) + 1] = {0};
        VECTOR x;
        ptrdiff_t i;
        for (i = 0; i < n; i++)
            end[i] = p[i];
        memcpy(&x, end, sizeof x);
        return x;
    }
#endif
}

TARGET static inline void SPARSEMIX_NAME(store)(REAL *p, ptrdiff_t n, VECTOR x)
{
    if (n >= LANES) {
        *(SPARSEMIX_NAME(unaligned) *)p = x;
        return;
    }
#if defined(STORE_END)
    STORE_END(p, n, x);
#else
    {
        REAL end[VECTOR_BYTES / sizeof(REAL) + 1];
        ptrdiff_t i;
        memcpy(end, &x, sizeof x);
        for (i = 0; i < n; i++)
            p[i] = end[i];
    }
#endif
}

/* The sum of all lanes, by halving. */
TARGET static inline REAL SPARSEMIX_NAME(lane_sum)(VECTOR x)
{
#if SPARSEMIX_VECTORS
    typedef REAL quarter SPARSEMIX_VECTOR(16);
    const quarter *parts = (const quarter *)&x;
    quarter sum = parts[0];
#if VECTOR_BYTES == 64
    sum = (parts[0] + parts[2]) + (parts[1] + parts[3]);
#elif VECTOR_BYTES == 32
    sum = parts[0] + parts[1];
#endif
#if defined(REAL_IS_DOUBLE)
    return sum[0] + sum[1];
#else
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
#endif
#else
    return x;
#endif
}

/* Prefetch a row of n numbers. */
TARGET static inline void SPARSEMIX_NAME(fetch)(const REAL *row, ptrdiff_t n)
{
#if SPARSEMIX_VECTORS
    ptrdiff_t k;
    for (k = 0; k < n; k += (ptrdiff_t)(64 / sizeof(REAL)))
        sparsemix_prefetch_to_write(row + k);
#else
    (void)row;
    (void)n;
#endif
}

#undef LOAD_END
#undef STORE_END
