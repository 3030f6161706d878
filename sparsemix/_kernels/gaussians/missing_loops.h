/* The loops of missing.h for one REAL and one instruction set: no include guard, included several times. */

#if SPARSEMIX_VECTORS
#define LANES ((ptrdiff_t)(VECTOR_BYTES / sizeof(REAL)))
typedef REAL SPARSEMIX_NAME(missing_vector) SPARSEMIX_VECTOR(VECTOR_BYTES);
#else
#define LANES ((ptrdiff_t)1)
typedef REAL SPARSEMIX_NAME(missing_vector);
#endif
#define VECTOR SPARSEMIX_NAME(missing_vector)
#define WIDTH ((ptrdiff_t)(SPARSEMIX_BLOCK_BYTES / sizeof(REAL)))
#define N_VECTORS (SPARSEMIX_BLOCK_BYTES / (ptrdiff_t)sizeof(REAL) / LANES)
#define EACH_VECTOR for (v = 0; v < N_VECTORS; v++)

TARGET static void SPARSEMIX_NAME(observed_diagonal)(const REAL *x, ptrdiff_t n, ptrdiff_t d, const int *columns,
                                                     const int *sizes, const REAL *table, const REAL *constants,
                                                     ptrdiff_t n_components, REAL *out)
{
    ptrdiff_t first, row, at, v;
    for (first = 0; first < n_components; first += WIDTH) {
        const REAL *block = table + first * 3 * d; /* (D, 3, WIDTH): factors, offsets, logs */
        const ptrdiff_t lanes = n_components - first < WIDTH ? n_components - first : WIDTH;
        for (row = 0; row < n; row++) {
            const REAL *values = x + row * d;
            const int *list = columns + row * d;
            VECTOR sums[SPARSEMIX_BLOCK_BYTES / sizeof(REAL)];
            VECTOR done[SPARSEMIX_BLOCK_BYTES / sizeof(REAL)]; /* sums stay in registers: nothing points to them */
            const REAL *each = (const REAL *)done;
            EACH_VECTOR sums[v] = (VECTOR){0};
            for (at = 0; at < sizes[row]; at++) {
                const REAL value = values[list[at]];
                const VECTOR *of = (const VECTOR *)(block + (ptrdiff_t)list[at] * 3 * WIDTH);
                EACH_VECTOR {
                    const VECTOR z = of[v] * value - of[N_VECTORS + v];
                    sums[v] += z * z + of[2 * N_VECTORS + v];
                }
            }
            EACH_VECTOR done[v] = sums[v];
            for (v = 0; v < lanes; v++)
                out[row * n_components + first + v] = constants[first + v] - (REAL)0.5 * each[v];
        }
    }
}

#ifdef REAL_IS_DOUBLE

/* Add the logarithms of a product of pivots, and reset it. */
TARGET static void SPARSEMIX_NAME(add_logs)(VECTOR *product, VECTOR *logs)
{
    REAL *from = (REAL *)product, *to = (REAL *)logs;
    ptrdiff_t v;
    for (v = 0; v < WIDTH; v++) {
        to[v] += log(from[v]);
        from[v] = 1;
    }
}

/* (x - m)^T P (x - m), minimised over the missing values, is the square of the observed ones under their marginal; with
 * P_mm = L diag(pivots) L^T, L of unit diagonal, it is q - sum u_i^2 / pivots_i, where L u = P_mo (x_o - m_o). The
 * determinant of the marginal covariance is that of the covariance times that of P_mm. */
TARGET static void SPARSEMIX_NAME(observed_matrix)(const REAL *x, ptrdiff_t d, const int *order,
                                                   const ptrdiff_t *starts, ptrdiff_t n_groups, const int *columns,
                                                   const int *sizes, const REAL *table, const REAL *means,
                                                   const REAL *constants, ptrdiff_t n_components, REAL *scratch,
                                                   REAL *out)
{
    const REAL log_2pi = (REAL)1.8378770664093454836;
    VECTOR *y = (VECTOR *)scratch, *u = y + d * N_VECTORS, *inverse = u + d * N_VECTORS;
    VECTOR *lower = inverse + d * N_VECTORS;
    ptrdiff_t first, g, at, i, j, l, v;
    for (first = 0; first < n_components; first += WIDTH) {
        const VECTOR *block = (const VECTOR *)(table + first * d * d); /* (D, D, WIDTH) */
        const VECTOR *mean = (const VECTOR *)(means + 2 * first * d);  /* (D, 2, WIDTH): means, logs */
        const ptrdiff_t lanes = n_components - first < WIDTH ? n_components - first : WIDTH;
        for (g = 0; g < n_groups; g++) {
            const int *seen = columns + g * d, *lost = seen + sizes[g];
            const ptrdiff_t n_seen = sizes[g], n_lost = d - n_seen;
            VECTOR logs[SPARSEMIX_BLOCK_BYTES / sizeof(REAL)], product[SPARSEMIX_BLOCK_BYTES / sizeof(REAL)];
            const REAL *each_log = (const REAL *)logs;
            EACH_VECTOR logs[v] = (VECTOR){0};
            EACH_VECTOR product[v] = (VECTOR){0} + (REAL)1;
            for (i = 0; i < n_lost; i++) {
                const VECTOR *own = block + (ptrdiff_t)lost[i] * d * N_VECTORS;
                VECTOR *left = lower + i * d * N_VECTORS; /* row i of L times the pivots, while it is computed */
                for (j = 0; j <= i; j++) {
                    const VECTOR *above = lower + j * d * N_VECTORS;
                    VECTOR sums[SPARSEMIX_BLOCK_BYTES / sizeof(REAL)];
                    EACH_VECTOR sums[v] = own[lost[j] * N_VECTORS + v];
                    for (l = 0; l < j && j < i; l++)
                        EACH_VECTOR sums[v] -= left[l * N_VECTORS + v] * above[l * N_VECTORS + v];
                    for (l = 0; l < j && j == i; l++)
                        EACH_VECTOR sums[v] -= left[l * N_VECTORS + v] * left[l * N_VECTORS + v] * inverse[l * N_VECTORS + v];
                    if (j < i)
                        EACH_VECTOR left[j * N_VECTORS + v] = sums[v];
                    else
                        EACH_VECTOR {
                            inverse[i * N_VECTORS + v] = (REAL)1 / sums[v];
                            product[v] *= sums[v] / own[lost[i] * N_VECTORS + v];
                        }
                }
                for (j = 0; j < i; j++)
                    EACH_VECTOR left[j * N_VECTORS + v] *= inverse[j * N_VECTORS + v];
                if (i % SPARSEMIX_PIVOTS == SPARSEMIX_PIVOTS - 1)
                    SPARSEMIX_NAME(add_logs)(product, logs);
            }
            if (n_lost % SPARSEMIX_PIVOTS)
                SPARSEMIX_NAME(add_logs)(product, logs);
            for (i = 0; i < n_lost; i++)
                EACH_VECTOR logs[v] += mean[(2 * lost[i] + 1) * N_VECTORS + v];
            for (at = starts[g]; at < starts[g + 1]; at++) {
                const REAL *values = x + (ptrdiff_t)order[at] * d;
                REAL *target = out + (ptrdiff_t)order[at] * n_components + first;
                VECTOR q[SPARSEMIX_BLOCK_BYTES / sizeof(REAL)];
                VECTOR done[SPARSEMIX_BLOCK_BYTES / sizeof(REAL)];
                const REAL *each = (const REAL *)done;
                EACH_VECTOR q[v] = (VECTOR){0};
                for (i = 0; i < n_seen; i++) {
                    const VECTOR *own = block + (ptrdiff_t)seen[i] * d * N_VECTORS;
                    VECTOR sums[SPARSEMIX_BLOCK_BYTES / sizeof(REAL)];
                    EACH_VECTOR sums[v] = (VECTOR){0};
                    for (j = 0; j < i; j++)
                        EACH_VECTOR sums[v] += own[seen[j] * N_VECTORS + v] * y[j * N_VECTORS + v];
                    EACH_VECTOR {
                        const VECTOR z = values[seen[i]] - mean[2 * seen[i] * N_VECTORS + v];
                        y[i * N_VECTORS + v] = z;
                        q[v] += z * (own[seen[i] * N_VECTORS + v] * z + (REAL)2 * sums[v]);
                    }
                }
                for (i = 0; i < n_lost; i++) {
                    const VECTOR *own = block + (ptrdiff_t)lost[i] * d * N_VECTORS, *left = lower + i * d * N_VECTORS;
                    VECTOR sums[SPARSEMIX_BLOCK_BYTES / sizeof(REAL)];
                    EACH_VECTOR sums[v] = (VECTOR){0};
                    for (j = 0; j < n_seen; j++)
                        EACH_VECTOR sums[v] += own[seen[j] * N_VECTORS + v] * y[j * N_VECTORS + v];
                    for (j = 0; j < i; j++)
                        EACH_VECTOR sums[v] -= left[j * N_VECTORS + v] * u[j * N_VECTORS + v];
                    EACH_VECTOR {
                        u[i * N_VECTORS + v] = sums[v];
                        q[v] -= sums[v] * sums[v] * inverse[i * N_VECTORS + v];
                    }
                }
                EACH_VECTOR done[v] = q[v];
                for (v = 0; v < lanes; v++)
                    target[v] = constants[first + v]
                                - (REAL)0.5 * (each[v] + each_log[v] - (REAL)n_lost * log_2pi);
            }
        }
    }
}

#endif

#undef EACH_VECTOR
#undef N_VECTORS
#undef WIDTH
#undef VECTOR
#undef LANES
