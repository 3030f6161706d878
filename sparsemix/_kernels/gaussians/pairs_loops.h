/* The loops of pairs.h for one REAL and one instruction set: no include guard, included several times. */

#include "vectors/vector_math.h"

#include "vectors/vector_rows.h"

/* Rows and output blocks per step: their sums fill the registers, and a loaded column of R_k serves all rows. */
#if LEVEL == 2 && !defined(REAL_IS_DOUBLE)
#define ROWS 8
#define BLOCKS 2
#elif LEVEL >= 1
#define ROWS 4
#define BLOCKS 1
#else
#define ROWS 2
#define BLOCKS 1
#endif
#define PARTS (SPARSEMIX_PAIR_BLOCK / LANES)
#define AT(p) (*(const VECTOR *)(p))

/* |R x - o|^2 of some rows, R by columns as in sparsemix_column_size. The lanes hold outputs. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(triangular_rows)(const REAL **rows, ptrdiff_t d,
                                                                                     const REAL *columns,
                                                                                     const REAL *offset, REAL *out)
{
    const ptrdiff_t padded = (d + SPARSEMIX_PAIR_BLOCK - 1) / SPARSEMIX_PAIR_BLOCK * SPARSEMIX_PAIR_BLOCK;
    VECTOR squares[ROWS];
    ptrdiff_t first, i, j, r, v;
    for (r = 0; r < ROWS; r++)
        squares[r] = FILL(0);
    for (first = 0; first < padded; first += BLOCKS * SPARSEMIX_PAIR_BLOCK) {
        const int whole = first + BLOCKS * SPARSEMIX_PAIR_BLOCK <= padded;
        VECTOR z[BLOCKS * PARTS][ROWS];
        const REAL *column = columns; /* of feature j, from the row of the block that holds its diagonal */
        ptrdiff_t height = padded;    /* of a column of features j */
        for (v = 0; v < BLOCKS * PARTS; v++)
            for (r = 0; r < ROWS; r++)
                z[v][r] = FILL(0);
        for (v = 0; v < (whole ? BLOCKS * PARTS : PARTS); v++)
            for (r = 0; r < ROWS; r++)
                z[v][r] -= AT(offset + first + v * LANES);
        for (i = 0; i < first + BLOCKS * SPARSEMIX_PAIR_BLOCK && i < padded; i += SPARSEMIX_PAIR_BLOCK) {
            const ptrdiff_t stop = i + SPARSEMIX_PAIR_BLOCK < d ? i + SPARSEMIX_PAIR_BLOCK : d;
            const ptrdiff_t below = first - i; /* rows of R from the top of these columns to the current block */
            if (below >= 0 && whole) {
                for (j = i; j < stop; j++, column += height)
                    for (r = 0; r < ROWS; r++)
                        for (v = 0; v < BLOCKS * PARTS; v++)
                            z[v][r] += AT(column + below + v * LANES) * rows[r][j];
            } else if (below >= 0) {
                for (j = i; j < stop; j++, column += height)
                    for (r = 0; r < ROWS; r++)
                        for (v = 0; v < PARTS; v++)
                            z[v][r] += AT(column + below + v * LANES) * rows[r][j];
            } else if (whole) { /* columns of the second block, absent from the first */
                for (j = i; j < stop; j++, column += height)
                    for (r = 0; r < ROWS; r++)
                        for (v = 0; v < PARTS; v++)
                            z[(BLOCKS - 1) * PARTS + v][r] += AT(column + v * LANES) * rows[r][j];
            }
            height -= SPARSEMIX_PAIR_BLOCK;
        }
        for (v = 0; v < BLOCKS * PARTS; v++)
            for (r = 0; r < ROWS; r++)
                squares[r] += z[v][r] * z[v][r];
    }
    for (r = 0; r < ROWS; r++)
        out[r] = SPARSEMIX_NAME(lane_sum)(squares[r]);
}

/* triangular_rows for a diagonal R (``step`` 1) or a multiple of the identity (0: factor and o as in quadratic.h). */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(axis_rows)(const REAL **rows, ptrdiff_t d,
                                                                               const REAL *factor, const REAL *offset,
                                                                               const int diagonal, REAL *out)
{
    VECTOR squares[ROWS];
    ptrdiff_t j, r;
    for (r = 0; r < ROWS; r++)
        squares[r] = FILL(0);
    for (j = 0; j < d; j += LANES) {
        const VECTOR o = SPARSEMIX_NAME(load)(offset + j, d - j);
        const VECTOR f = SPARSEMIX_NAME(load)(diagonal ? factor + j : offset + j, d - j);
        for (r = 0; r < ROWS; r++) {
            const VECTOR x = SPARSEMIX_NAME(load)(rows[r] + j, d - j);
            VECTOR z = x - o;
            if (diagonal)
                z = f * x - o;
            squares[r] += z * z;
        }
    }
    for (r = 0; r < ROWS; r++)
        out[r] = SPARSEMIX_NAME(lane_sum)(squares[r]) * (diagonal ? (REAL)1 : factor[0] * factor[0]);
}

/* out[p] = constants[k] - 0.5 |R_k x - o_k|^2 for the pairs p of each component k with their rows. */
TARGET static void SPARSEMIX_NAME(pairs)(const sparsemix_pairs *s, const REAL *x, const REAL *factors,
                                         const REAL *offsets, const REAL *constants, REAL *out)
{
    const REAL *rows[ROWS];
    REAL squares[ROWS];
    ptrdiff_t k, p, r, j;
    for (k = 0; k < s->n_components; k++) {
        const REAL *factor = factors + k * s->factor_size, *offset = offsets + k * s->offset_size;
        for (p = s->starts[k]; p < s->starts[k + 1]; p += ROWS) {
            const ptrdiff_t n = s->starts[k + 1] - p < ROWS ? s->starts[k + 1] - p : ROWS;
            for (r = 0; r < ROWS; r++)
                rows[r] = x + (ptrdiff_t)s->rows[p + (r < n ? r : 0)] * s->n_features;
            for (r = p + ROWS; r < p + 2 * ROWS && r < s->starts[s->n_components]; r++)
                for (j = 0; j < s->n_features && j < 256; j += (ptrdiff_t)(64 / sizeof(REAL)))
                    sparsemix_prefetch(x + (ptrdiff_t)s->rows[r] * s->n_features + j);
            if (s->shape == SPARSEMIX_PAIRS_TRIANGULAR)
                SPARSEMIX_NAME(triangular_rows)(rows, s->n_features, factor, offset, squares);
            else if (s->shape == SPARSEMIX_PAIRS_DIAGONAL)
                SPARSEMIX_NAME(axis_rows)(rows, s->n_features, factor, offset, 1, squares);
            else
                SPARSEMIX_NAME(axis_rows)(rows, s->n_features, factor, offset, 0, squares);
            for (r = 0; r < n; r++)
                out[p + r] = constants[k] - (REAL)0.5 * squares[r];
        }
    }
}

#undef ROWS
#undef BLOCKS
#undef PARTS
#undef AT
#include "vectors/vector_math_end.h"
