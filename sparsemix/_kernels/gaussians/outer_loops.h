/* The loop of outer.h for one REAL and one instruction set: no include guard, included several times. */

/* A block of the product holds N_ROWS x N_VECTORS sums in registers. */
#define N_VECTORS 2
#if LEVEL == 2
#define N_ROWS 8
#else
#define N_ROWS 4
#endif

#if SPARSEMIX_VECTORS
#define LANES ((ptrdiff_t)(VECTOR_BYTES / sizeof(REAL)))
typedef REAL SPARSEMIX_NAME(outer_vector) SPARSEMIX_VECTOR(VECTOR_BYTES);
#else
#define LANES ((ptrdiff_t)1)
typedef REAL SPARSEMIX_NAME(outer_vector);
#endif
#define VECTOR SPARSEMIX_NAME(outer_vector)
#define COLUMNS (LANES * N_VECTORS)

/* square (width, width) += y^T y for y (n, width), only in blocks that reach the lower triangle. The width is a
 * multiple of 16, so all blocks are whole; entries above the diagonal are undefined. */
TARGET static void SPARSEMIX_NAME(outer)(const REAL *y, ptrdiff_t n, ptrdiff_t width, REAL *square)
{
    ptrdiff_t i, j, row, a, v;
    for (i = 0; i < width; i += N_ROWS)
        for (j = 0; j < i + N_ROWS; j += COLUMNS) {
            VECTOR sums[N_ROWS][N_VECTORS];
            const REAL *left = y + i;
            const VECTOR *right = (const VECTOR *)(y + j);
            for (a = 0; a < N_ROWS; a++)
                for (v = 0; v < N_VECTORS; v++)
                    sums[a][v] = ((const VECTOR *)(square + (i + a) * width + j))[v];
            for (row = 0; row < n; row++) {
                for (a = 0; a < N_ROWS; a++)
                    for (v = 0; v < N_VECTORS; v++)
                        sums[a][v] += left[a] * right[v];
                left += width;
                right += width / LANES;
            }
            for (a = 0; a < N_ROWS; a++)
                for (v = 0; v < N_VECTORS; v++)
                    ((VECTOR *)(square + (i + a) * width + j))[v] = sums[a][v];
        }
}

#undef VECTOR
#undef COLUMNS
#undef LANES
#undef N_ROWS
#undef N_VECTORS
