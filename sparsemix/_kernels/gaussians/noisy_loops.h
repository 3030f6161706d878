/* The loops of noisy.h for one REAL and one instruction set: no include guard, included several times. */

#ifdef REAL_IS_DOUBLE

#if SPARSEMIX_VECTORS
#define LANES ((ptrdiff_t)(VECTOR_BYTES / sizeof(REAL)))
typedef REAL SPARSEMIX_NAME(noisy_vector) SPARSEMIX_VECTOR(VECTOR_BYTES);
#else
#define LANES ((ptrdiff_t)1)
typedef REAL SPARSEMIX_NAME(noisy_vector);
#endif
#define VECTOR SPARSEMIX_NAME(noisy_vector)
#define WIDTH ((ptrdiff_t)(SPARSEMIX_BLOCK_BYTES / sizeof(REAL)))
#define N_VECTORS (SPARSEMIX_BLOCK_BYTES / (ptrdiff_t)sizeof(REAL) / LANES)
#define EACH_VECTOR for (v = 0; v < N_VECTORS; v++)
#define LANE_MEMORY SPARSEMIX_BLOCK_BYTES / sizeof(REAL)

/* T = C + S = L diag(pivots) L^T, L of unit diagonal; z = L^-1 (x - m). */
TARGET static void SPARSEMIX_NAME(noisy_matrix)(const REAL *x, ptrdiff_t n, ptrdiff_t d, ptrdiff_t width,
                                                const REAL *table, const REAL *means, const REAL *constants,
                                                ptrdiff_t n_components, int *columns, REAL *scratch, REAL *out)
{
    const REAL log_2pi = (REAL)1.8378770664093454836;
    const int packed = width != d;
    VECTOR *z = (VECTOR *)scratch, *inverse = z + d * N_VECTORS, *lower = inverse + d * N_VECTORS;
    ptrdiff_t first, row, i, j, l, v;
    for (first = 0; first < n_components; first += WIDTH) {
        const VECTOR *block = (const VECTOR *)(table + first * d * d); /* (D, D, WIDTH) */
        const VECTOR *mean = (const VECTOR *)(means + 2 * first * d);  /* (D, 2, WIDTH): means, logs of variances */
        const ptrdiff_t lanes = n_components - first < WIDTH ? n_components - first : WIDTH;
        for (row = 0; row < n; row++) {
            const REAL *values = x + row * (d + width), *noise = values + d;
            VECTOR q[LANE_MEMORY], logs[LANE_MEMORY], product[LANE_MEMORY], sums[LANE_MEMORY], done[LANE_MEMORY];
            REAL *of_product = (REAL *)product, *of_logs = (REAL *)logs, *each = (REAL *)done;
            ptrdiff_t n_seen = 0, every = SPARSEMIX_PIVOTS;
            for (j = 0; j < d; j++)
                if (values[j] == values[j])
                    columns[n_seen++] = (int)j;
            EACH_VECTOR {
                q[v] = logs[v] = (VECTOR){0};
                product[v] = (VECTOR){0} + (REAL)1;
            }
            for (i = 0; i < n_seen; i++) {
                const VECTOR *own = block + (ptrdiff_t)columns[i] * d * N_VECTORS;
                const REAL variance = SPARSEMIX_NOISE(noise, packed, columns[i], columns[i]);
                const REAL *ratios = (const REAL *)(own + columns[i] * N_VECTORS);
                VECTOR *left = lower + i * d * N_VECTORS; /* row i of L times the pivots, while it is computed */
                for (j = 0; j < i; j++) {
                    const VECTOR *above = lower + j * d * N_VECTORS;
                    const REAL shared = SPARSEMIX_NOISE(noise, packed, columns[i], columns[j]);
                    EACH_VECTOR sums[v] = own[columns[j] * N_VECTORS + v] + shared;
                    for (l = 0; l < j; l++)
                        EACH_VECTOR sums[v] -= left[l * N_VECTORS + v] * above[l * N_VECTORS + v];
                    EACH_VECTOR left[j * N_VECTORS + v] = sums[v];
                }
                EACH_VECTOR {
                    done[v] = own[columns[i] * N_VECTORS + v] + variance;
                    sums[v] = values[columns[i]] - mean[2 * columns[i] * N_VECTORS + v];
                }
                for (l = 0; l < i; l++)
                    EACH_VECTOR {
                        const VECTOR unit = left[l * N_VECTORS + v] * inverse[l * N_VECTORS + v];
                        done[v] -= left[l * N_VECTORS + v] * unit;
                        sums[v] -= unit * z[l * N_VECTORS + v];
                        left[l * N_VECTORS + v] = unit;
                    }
                for (v = 0; v < WIDTH; v++) {
                    const REAL least = (REAL)SPARSEMIX_LEAST_PIVOT * (ratios[v] + variance);
                    each[v] = each[v] > least ? each[v] : least;
                    every = variance > (REAL)SPARSEMIX_LARGE * ratios[v] ? 1 : every;
                }
                EACH_VECTOR {
                    z[i * N_VECTORS + v] = sums[v];
                    inverse[i * N_VECTORS + v] = (REAL)1 / done[v];
                    q[v] += sums[v] * sums[v] * inverse[i * N_VECTORS + v];
                    product[v] *= done[v] / own[columns[i] * N_VECTORS + v];
                    logs[v] += mean[(2 * columns[i] + 1) * N_VECTORS + v];
                }
                if (i % SPARSEMIX_PIVOTS == SPARSEMIX_PIVOTS - 1 || i == n_seen - 1 || every == 1)
                    for (v = 0; v < WIDTH; v++) {
                        of_logs[v] += log(of_product[v]);
                        of_product[v] = 1;
                    }
            }
            EACH_VECTOR done[v] = q[v] + logs[v];
            for (v = 0; v < lanes; v++)
                out[row * n_components + first + v] =
                    constants[first + v] - (REAL)0.5 * (each[v] + (REAL)n_seen * log_2pi);
        }
    }
}

#undef LANE_MEMORY
#undef EACH_VECTOR
#undef N_VECTORS
#undef WIDTH
#undef VECTOR
#undef LANES

#endif
