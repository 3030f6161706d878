/* The loops of quadratic.h for one REAL and one instruction set: no include guard, included several times. */

/* Registers: AVX-512 holds 4 x 4 sums, with 16 multiply-adds for 8 loads (broadcasts folded into them). In AVX2, 4 x 3
 * sums, 3 columns of rows and one broadcast fill the 16 registers exactly. */
#if LEVEL == 2
#define N_VECTORS 4
#elif LEVEL == 1
#define N_VECTORS 3
#else
#define N_VECTORS 2
#endif
#if SPARSEMIX_VECTORS
#define LANES ((ptrdiff_t)(VECTOR_BYTES / sizeof(REAL)))
typedef REAL SPARSEMIX_NAME(vector) SPARSEMIX_VECTOR(VECTOR_BYTES);
#else
#define LANES ((ptrdiff_t)1)
typedef REAL SPARSEMIX_NAME(vector);
#endif
#define VECTOR SPARSEMIX_NAME(vector)
#define ROWS (LANES * N_VECTORS)

/* Pack n rows of x (n, d), or the rows numbered in ``chosen``, into groups of ROWS, feature-major within a group;
 * the last group is padded with zeros. */
TARGET static void SPARSEMIX_NAME(pack_rows)(const REAL *x, const int *chosen, ptrdiff_t n, ptrdiff_t d, REAL *pack)
{
    ptrdiff_t first, i, j, block;
    for (first = 0; first < n; first += ROWS) {
        const ptrdiff_t rows = n - first < ROWS ? n - first : ROWS;
        for (block = 0; block < d; block += 16) { /* so that the output stays in the L1 cache */
            const ptrdiff_t end = d < block + 16 ? d : block + 16;
            for (i = 0; i < ROWS; i++) {
                const REAL *row = i < rows ? x + (chosen ? (ptrdiff_t)chosen[first + i] : first + i) * d : x;
                for (j = block; j < end; j++)
                    pack[j * ROWS + i] = i < rows ? row[j] : 0;
            }
        }
        pack += ROWS * d;
    }
}

/* out[first + i, k] = constant - 0.5 * q[i] for the rows of one group */
TARGET static void SPARSEMIX_NAME(store)(const VECTOR *q, REAL constant, ptrdiff_t rows, ptrdiff_t stride, REAL *out)
{
    const REAL *value = (const REAL *)q;
    ptrdiff_t i;
    for (i = 0; i < rows; i++)
        out[i * stride] = constant - (REAL)0.5 * value[i];
}

/* R_k lower triangular, packed by rows: 4 rows of R_k times one group, so that the 4 x N_VECTORS sums stay in
 * registers; a component's triangle (D = 64: 8 KB) stays in the L1 cache for all groups. */
TARGET static void SPARSEMIX_NAME(triangular)(const REAL *x, ptrdiff_t n, ptrdiff_t d, const REAL *factors,
                                              const REAL *offsets, const REAL *constants, ptrdiff_t n_components,
                                              REAL *pack, REAL *out)
{
    ptrdiff_t k, first, i, j, m, v;
    SPARSEMIX_NAME(pack_rows)(x, 0, n, d, pack);
    for (k = 0; k < n_components; k++) {
        const REAL *offset = offsets + k * d;
        for (first = 0; first < n; first += ROWS) {
            const VECTOR *rows = (const VECTOR *)(pack + first * d), *column;
            const REAL *r0 = factors + k * (d * (d + 1) / 2);
            VECTOR q[N_VECTORS];
            for (v = 0; v < N_VECTORS; v++)
                q[v] = (VECTOR){0};
            for (i = 0; i + 4 <= d; i += 4) {
                const REAL *r1 = r0 + i + 1, *r2 = r1 + i + 2, *r3 = r2 + i + 3;
                VECTOR z[4][N_VECTORS];
                for (v = 0; v < N_VECTORS; v++)
                    for (m = 0; m < 4; m++)
                        z[m][v] = (VECTOR){0} - offset[i + m];
                column = rows;
                for (j = 0; j <= i; j++, column += N_VECTORS) {
                    for (v = 0; v < N_VECTORS; v++)
                        z[0][v] += r0[j] * column[v];
                    for (v = 0; v < N_VECTORS; v++)
                        z[1][v] += r1[j] * column[v];
                    for (v = 0; v < N_VECTORS; v++)
                        z[2][v] += r2[j] * column[v];
                    for (v = 0; v < N_VECTORS; v++)
                        z[3][v] += r3[j] * column[v];
                }
                for (v = 0; v < N_VECTORS; v++) {
                    const VECTOR a = column[v], b = column[N_VECTORS + v], c = column[2 * N_VECTORS + v];
                    z[1][v] += r1[i + 1] * a;
                    z[2][v] += r2[i + 1] * a + r2[i + 2] * b;
                    z[3][v] += r3[i + 1] * a + r3[i + 2] * b + r3[i + 3] * c;
                    q[v] += z[0][v] * z[0][v] + z[1][v] * z[1][v] + z[2][v] * z[2][v] + z[3][v] * z[3][v];
                }
                r0 = r3 + i + 4;
            }
            for (; i < d; r0 += i + 1, i++) {
                VECTOR z[N_VECTORS];
                for (v = 0; v < N_VECTORS; v++)
                    z[v] = (VECTOR){0} - offset[i];
                column = rows;
                for (j = 0; j <= i; j++, column += N_VECTORS)
                    for (v = 0; v < N_VECTORS; v++)
                        z[v] += r0[j] * column[v];
                for (v = 0; v < N_VECTORS; v++)
                    q[v] += z[v] * z[v];
            }
            SPARSEMIX_NAME(store)(q, constants[k], n - first < ROWS ? n - first : ROWS, n_components,
                                  out + first * n_components + k);
        }
    }
}

/* R_k diagonal: z = r x - o is one multiply-add and, unlike the expanded square, does not cancel. */
TARGET static void SPARSEMIX_NAME(diagonal)(const REAL *x, ptrdiff_t n, ptrdiff_t d, const REAL *factors,
                                            const REAL *offsets, const REAL *constants, ptrdiff_t n_components,
                                            REAL *pack, REAL *out)
{
    ptrdiff_t k, first, j, v;
    SPARSEMIX_NAME(pack_rows)(x, 0, n, d, pack);
    for (first = 0; first < n; first += ROWS) {
        const ptrdiff_t rows = n - first < ROWS ? n - first : ROWS;
        for (k = 0; k < n_components; k++) {
            const REAL *factor = factors + k * d, *offset = offsets + k * d;
            const VECTOR *column = (const VECTOR *)(pack + first * d);
            VECTOR q[N_VECTORS];
            for (v = 0; v < N_VECTORS; v++)
                q[v] = (VECTOR){0};
            for (j = 0; j < d; j++, column += N_VECTORS)
                for (v = 0; v < N_VECTORS; v++) {
                    const VECTOR z = factor[j] * column[v] - offset[j];
                    q[v] += z * z;
                }
            SPARSEMIX_NAME(store)(q, constants[k], rows, n_components, out + first * n_components + k);
        }
    }
}

/* R_k = r_k I: offsets are the means; r_k^2 is applied once per row. */
TARGET static void SPARSEMIX_NAME(spherical)(const REAL *x, ptrdiff_t n, ptrdiff_t d, const REAL *factors,
                                             const REAL *offsets, const REAL *constants, ptrdiff_t n_components,
                                             REAL *pack, REAL *out)
{
    ptrdiff_t k, first, j, v;
    SPARSEMIX_NAME(pack_rows)(x, 0, n, d, pack);
    for (first = 0; first < n; first += ROWS) {
        const ptrdiff_t rows = n - first < ROWS ? n - first : ROWS;
        for (k = 0; k < n_components; k++) {
            const REAL precision = factors[k] * factors[k], *offset = offsets + k * d;
            const VECTOR *column = (const VECTOR *)(pack + first * d);
            VECTOR q[N_VECTORS];
            for (v = 0; v < N_VECTORS; v++)
                q[v] = (VECTOR){0};
            for (j = 0; j < d; j++, column += N_VECTORS)
                for (v = 0; v < N_VECTORS; v++) {
                    const VECTOR z = column[v] - offset[j];
                    q[v] += z * z;
                }
            for (v = 0; v < N_VECTORS; v++)
                q[v] *= precision;
            SPARSEMIX_NAME(store)(q, constants[k], rows, n_components, out + first * n_components + k);
        }
    }
}

/* out[i] += 0.5 |L x - o|^2 for the packed rows of one component, L (rank, d): 4 rows of L times one group, so that the
 * 4 x N_VECTORS sums stay in registers, and L in the cache. */
TARGET static void SPARSEMIX_NAME(project)(const REAL *pack, ptrdiff_t n, ptrdiff_t d, const REAL *loadings,
                                           ptrdiff_t rank, const REAL *offset, ptrdiff_t stride, REAL *out)
{
    ptrdiff_t first, i, j, m, v;
    for (first = 0; first < n; first += ROWS) {
        const ptrdiff_t rows = n - first < ROWS ? n - first : ROWS;
        const VECTOR *group = (const VECTOR *)(pack + first * d), *column;
        const REAL *r0 = loadings;
        VECTOR q[N_VECTORS];
        for (v = 0; v < N_VECTORS; v++)
            q[v] = (VECTOR){0};
        for (i = 0; i + 4 <= rank; i += 4, r0 += 4 * d) {
            const REAL *r1 = r0 + d, *r2 = r1 + d, *r3 = r2 + d;
            VECTOR z[4][N_VECTORS];
            for (v = 0; v < N_VECTORS; v++)
                for (m = 0; m < 4; m++)
                    z[m][v] = (VECTOR){0} - offset[i + m];
            for (j = 0, column = group; j < d; j++, column += N_VECTORS) {
                for (v = 0; v < N_VECTORS; v++)
                    z[0][v] += r0[j] * column[v];
                for (v = 0; v < N_VECTORS; v++)
                    z[1][v] += r1[j] * column[v];
                for (v = 0; v < N_VECTORS; v++)
                    z[2][v] += r2[j] * column[v];
                for (v = 0; v < N_VECTORS; v++)
                    z[3][v] += r3[j] * column[v];
            }
            for (v = 0; v < N_VECTORS; v++)
                q[v] += z[0][v] * z[0][v] + z[1][v] * z[1][v] + z[2][v] * z[2][v] + z[3][v] * z[3][v];
        }
        for (; i < rank; i++, r0 += d) {
            VECTOR z[N_VECTORS];
            for (v = 0; v < N_VECTORS; v++)
                z[v] = (VECTOR){0} - offset[i];
            for (j = 0, column = group; j < d; j++, column += N_VECTORS)
                for (v = 0; v < N_VECTORS; v++)
                    z[v] += r0[j] * column[v];
            for (v = 0; v < N_VECTORS; v++)
                q[v] += z[v] * z[v];
        }
        for (i = 0; i < rows; i++)
            out[(first + i) * stride] += (REAL)0.5 * ((const REAL *)q)[i];
    }
}

/* ``project`` for K components: of a tile of rows, out (n, K); or of pairs by component, out (n_pairs,). */
TARGET static void SPARSEMIX_NAME(projections)(const REAL *x, ptrdiff_t n, ptrdiff_t d, const REAL *loadings,
                                               ptrdiff_t rank, const REAL *offsets, ptrdiff_t n_components,
                                               const ptrdiff_t *starts, const int *rows, REAL *pack, REAL *out)
{
    ptrdiff_t k, p;
    if (!starts)
        SPARSEMIX_NAME(pack_rows)(x, 0, n, d, pack);
    for (k = 0; k < n_components; k++, loadings += rank * d, offsets += rank) {
        if (!starts)
            SPARSEMIX_NAME(project)(pack, n, d, loadings, rank, offsets, n_components, out + k);
        for (p = starts ? starts[k] : 0; starts && p < starts[k + 1]; p += ROWS) {
            const ptrdiff_t m = starts[k + 1] - p < ROWS ? starts[k + 1] - p : ROWS;
            SPARSEMIX_NAME(pack_rows)(x, rows + p, m, d, pack);
            SPARSEMIX_NAME(project)(pack, m, d, loadings, rank, offsets, 1, out + p);
        }
    }
}

#undef N_VECTORS
#undef VECTOR
#undef LANES
#undef ROWS
