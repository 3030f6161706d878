/* The loops of gaussian_clusters.h for one REAL and one instruction set: no include guard, included several times.
 * Double only, because results depend on differences of scores. */

#include "vectors/vector_math.h"
#include "vectors/vector_rows.h"

#if defined(REAL_IS_DOUBLE)

/* Rows of a factor processed together, so that their dependency chains overlap. */
#define TOGETHER 4
/* Vectors of factors multiplied before a logarithm is taken. */
#define FACTORS 8

/* |L^-1 (x - m)|^2 by forward substitution; ``z`` has space for D numbers in whole vectors. The squares only add up, so
 * a sum above ``limit`` needs no more of them. */
TARGET static void SPARSEMIX_NAME(whitened_square)(const double *x, const double *mean, const double *factor,
                                                   ptrdiff_t d, double limit, double *z, double *out)
{
    const double *row[TOGETHER];
    double total = 0.0;
    ptrdiff_t i, j;
    int m, l;
    for (i = 0; i < d; i++)
        z[i] = x[i] - mean[i];
    for (i = 0; i < d && !(total > limit); i += TOGETHER) {
        const int rows = d - i < TOGETHER ? (int)(d - i) : TOGETHER;
        VECTOR sum[TOGETHER];
        for (m = 0; m < TOGETHER; m++) {
            row[m] = factor; /* surplus rows repeat the last one, and their sums are not used */
            factor += m + 1 < rows ? i + m + 1 : 0;
            sum[m] = FILL(0);
        }
        for (j = 0; j + LANES <= i; j += LANES)
            for (m = 0; m < TOGETHER; m++)
                sum[m] += *(const SPARSEMIX_NAME(unaligned) *)(row[m] + j) * *(const VECTOR *)(z + j);
        if (j < i)
            for (m = 0; m < TOGETHER; m++)
                sum[m] += SPARSEMIX_NAME(load)(row[m] + j, i - j) * *(const VECTOR *)(z + j);
        for (m = 0; m < rows; m++) {
            double value = z[i + m] - SPARSEMIX_NAME(lane_sum)(sum[m]);
            for (l = 0; l < m; l++)
                value -= row[m][i + l] * z[i + l];
            value *= 1.0 / row[m][i + m]; /* the division is not on the dependency chain of value */
            z[i + m] = value;
            total += value * value;
        }
        factor += i + rows;
    }
    *out = total;
}

/* |x - m|^2 */
TARGET static void SPARSEMIX_NAME(square)(const double *x, const double *mean, ptrdiff_t d, double *out)
{
    VECTOR sum = FILL(0);
    ptrdiff_t j;
    for (j = 0; j < d; j += LANES) {
        const VECTOR z = SPARSEMIX_NAME(load)(x + j, d - j) - SPARSEMIX_NAME(load)(mean + j, d - j);
        sum += z * z;
    }
    *out = SPARSEMIX_NAME(lane_sum)(sum);
}

/* sum_j log((b_j + f_j (x_j - m_j)^2) / b_j), f_j = mass kappa_j / (kappa_j + mass), where kappa_j includes the count;
 * for mass < 0, minus the sum for the inverse ratios, which are above one.
 * A product 1 + e of factors 1 + y is stored as e, so that factors near one lose no digits; factors whose product
 * overflows are taken one by one. */
TARGET static void SPARSEMIX_NAME(diagonal_growth)(const double *x, const double *mean, const double *scale,
                                                   const double *kappas, double count, ptrdiff_t d, double mass,
                                                   double *out)
{
    const double size = mass < 0 ? -mass : mass, below = mass < 0 ? mass : 0.0;
    double total = 0.0, lanes[VECTOR_BYTES / sizeof(double) + 1];
    ptrdiff_t first, j;
    for (first = 0; first < d; first += FACTORS * LANES) {
        const ptrdiff_t last = d - first < FACTORS * LANES ? d : first + FACTORS * LANES;
        VECTOR excess = FILL(0);
        double e = 0.0;
        for (j = first; j < last; j += LANES) {
            const VECTOR kappa = SPARSEMIX_NAME(load)(kappas + j, d - j) + count;
            const VECTOR b = SPARSEMIX_NAME(load)(scale + j, d - j) * (kappa + mass);
            const VECTOR z = SPARSEMIX_NAME(load)(x + j, d - j) - SPARSEMIX_NAME(load)(mean + j, d - j);
            const VECTOR rest = LARGER(b + z * z * kappa * below, b * SPARSEMIX_LEAST);
            const VECTOR y = z * z * kappa * size / CHOOSE(MASK(b > FILL(0)), rest, FILL(1));
            excess += y + excess * y;
        }
        memcpy(lanes, &excess, sizeof excess);
        for (j = 0; j < LANES; j++)
            e += lanes[j] + e * lanes[j];
        if (e < INFINITY) {
            total += log1p(e);
            continue;
        }
        for (j = first; j < last; j++) {
            const double z = x[j] - mean[j], kappa = kappas[j] + count, b = scale[j] * (kappa + mass);
            const double rest = b + z * z * kappa * below, least = b * SPARSEMIX_LEAST;
            total += log1p(z * z * kappa * size / (rest > least ? rest : least));
        }
    }
    *out = mass < 0 ? -total : total;
}

/* A plane rotation, or a hyperbolic one (``down``), of a column of the factor and the vector: entry' = a entry + b
 * v. The second half of a hyperbolic rotation uses the new entry, which minimises errors (Bojanczyk, Brent, van
 * Dooren & de Hoog 1987). */
typedef struct {
    double a, b, cosine, sine;
} SPARSEMIX_NAME(rotation);

TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(rotate)(SPARSEMIX_NAME(rotation) r,
                                                                              double *entry, double *v, const int down)
{
    const double turned = r.a * *entry + r.b * *v;
    *v = down ? r.cosine * *v - r.sine * turned : r.a * *v - r.b * *entry;
    *entry = turned;
}

/* ``rows`` rows of the factor from row i on: apply all earlier rotations, then compute and apply their own. */
TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(update_rows)(
    double *factor, const double *z, ptrdiff_t i, SPARSEMIX_NAME(rotation) *rotations, const int rows, const int down)
{
    double *row[TOGETHER], v[TOGETHER];
    ptrdiff_t k;
    int m;
    for (m = 0; m < rows; m++) {
        row[m] = factor;
        factor += i + m + 1;
        v[m] = z[i + m];
    }
    for (k = 0; k < i; k++) {
        const SPARSEMIX_NAME(rotation) r = rotations[k];
        for (m = 0; m < rows; m++)
            SPARSEMIX_NAME(rotate)(r, row[m] + k, v + m, down);
    }
    for (m = 0; m < rows; m++) {
        SPARSEMIX_NAME(rotation) *own = rotations + i + m;
        double *diagonal = row[m] + i + m;
        for (k = i; k < i + m; k++)
            SPARSEMIX_NAME(rotate)(rotations[k], row[m] + k, v + m, down);
        if (down) {
            own->sine = v[m] / *diagonal;
            own->cosine = 1.0 - own->sine * own->sine;
            own->cosine = sqrt(own->cosine > SPARSEMIX_LEAST ? own->cosine : SPARSEMIX_LEAST);
            own->a = 1.0 / own->cosine;
            own->b = -own->sine * own->a;
            *diagonal *= own->cosine;
        } else {
            const double root = sqrt(*diagonal * *diagonal + v[m] * v[m]);
            own->a = *diagonal / root;
            own->b = v[m] / root;
            *diagonal = root;
        }
    }
}

TARGET SPARSEMIX_INLINE void SPARSEMIX_NAME(update_all_rows)(
    double *factor, const double *z, ptrdiff_t d, SPARSEMIX_NAME(rotation) *rotations, const int down)
{
    ptrdiff_t i;
    for (i = 0; i + TOGETHER <= d; i += TOGETHER) {
        SPARSEMIX_NAME(update_rows)(factor, z, i, rotations, TOGETHER, down);
        factor += TOGETHER * i + TOGETHER * (TOGETHER + 1) / 2;
    }
    for (; i < d; factor += i + 1, i++)
        SPARSEMIX_NAME(update_rows)(factor, z, i, rotations, 1, down);
}

/* Update the Cholesky factor of B to that of B + f z z^T (Golub & Van Loan, Matrix Computations, 4th edition, 6.5.4);
 * overwrites z. */
TARGET static void SPARSEMIX_NAME(update_factor)(double *z, ptrdiff_t d, double f, double *work, double *factor)
{
    const double size = sqrt(f < 0 ? -f : f);
    SPARSEMIX_NAME(rotation) *rotations = (SPARSEMIX_NAME(rotation) *)work;
    ptrdiff_t i;
    for (i = 0; i < d; i++)
        z[i] *= size;
    if (f < 0)
        SPARSEMIX_NAME(update_all_rows)(factor, z, d, rotations, 1);
    else
        SPARSEMIX_NAME(update_all_rows)(factor, z, d, rotations, 0);
}

#undef TOGETHER
#undef FACTORS

#endif

#include "vectors/vector_math_end.h"
