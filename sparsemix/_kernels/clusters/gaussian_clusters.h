/* Student-t predictive densities of a row in Gaussian clusters, and conjugate updates by one row; the loops are in
 * gaussian_clusters_loops.h.
 *
 * With d = x - m, everything depends on how log |B| grows when f d d^T is added to B: the density of a row has f =
 * kappa / (kappa + 1), and removing the row's own part has f < 0. So scoring a row without its own part changes no
 * cluster. */
#ifndef SPARSEMIX_GAUSSIAN_CLUSTERS_H
#define SPARSEMIX_GAUSSIAN_CLUSTERS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "vectors/simd.h"
#include "vectors/special.h"

/* Form of B: a matrix, with or without a mean; D numbers; or one number. */
enum { SPARSEMIX_FULL, SPARSEMIX_ZERO_MEAN, SPARSEMIX_DIAG, SPARSEMIX_SPHERICAL };

/* Layout of a slot: n, log |B|, terms of the density that do not depend on the row; then m (D); then the scale: the
 * packed lower Cholesky factor of B, or b. */
enum { SPARSEMIX_COUNT, SPARSEMIX_LOG_DET, SPARSEMIX_CONSTANT, SPARSEMIX_MEAN };

/* Smaller counts are round-off of zero. */
#define SPARSEMIX_NOTHING 1e-9
/* Removing a row keeps at least this share of |B|; below it there is only round-off. */
#define SPARSEMIX_LEAST 1e-12
#define SPARSEMIX_LOG_PI 1.14472988584940017414

typedef struct {
    int isa, structure;
    ptrdiff_t n_features;
    ptrdiff_t width;   /* of a slot */
    double kappa, nu;  /* of the prior */
    const double *kappas; /* (D,) kappa of each column; for diagonal B only */
    double row_dof;    /* increase of nu per row */
    double *work;      /* (D,) in whole vectors, on a cache line, zero-padded */
    double *rotations; /* (4 D,) */
} sparsemix_gaussians;

#define LOOPS "clusters/gaussian_clusters_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

static inline int sparsemix_has_matrix(const sparsemix_gaussians *g)
{
    return g->structure == SPARSEMIX_FULL || g->structure == SPARSEMIX_ZERO_MEAN;
}

static inline const double *sparsemix_scale(const sparsemix_gaussians *g, const double *slot)
{
    return slot + SPARSEMIX_MEAN + g->n_features;
}

/* Columns whose ratios are multiplied before a logarithm is taken. */
#define SPARSEMIX_RATIOS 8

/* sum_j log((kappa_j + n + 1) / (kappa_j + n)), for diagonal B. */
static inline double sparsemix_spread(const sparsemix_gaussians *g, double count)
{
    double total = 0.0;
    ptrdiff_t first, j;
    for (first = 0; first < g->n_features; first += SPARSEMIX_RATIOS) {
        const ptrdiff_t last = g->n_features - first < SPARSEMIX_RATIOS ? g->n_features : first + SPARSEMIX_RATIOS;
        double excess = 0.0; /* the product of the ratios minus one, which loses no digits if they are near one */
        for (j = first; j < last; j++) {
            const double one = 1.0 / (g->kappas[j] + count);
            excess += one + excess * one;
        }
        total += log1p(excess);
    }
    return total;
}

/* The part of the log density that does not depend on the row, for a count and a log |B|. */
static inline double sparsemix_gaussian_constant(const sparsemix_gaussians *g, double count, double log_det)
{
    const double d = (double)g->n_features, nu = g->nu + g->row_dof * count;
    double rise, spread = 0.0;
    if (g->structure == SPARSEMIX_DIAG)
        rise = d * sparsemix_log_rising(0.5 * nu, 0.5);
    else
        rise = sparsemix_log_rising(sparsemix_has_matrix(g) ? 0.5 * (nu - d + 1.0) : 0.5 * nu, 0.5 * d);
    if (g->structure == SPARSEMIX_DIAG)
        spread = sparsemix_spread(g, count);
    else if (g->structure != SPARSEMIX_ZERO_MEAN)
        spread = d * log1p(1.0 / (g->kappa + count));
    return rise - 0.5 * (d * SPARSEMIX_LOG_PI + spread + log_det);
}

/* Recompute log |B| and the constant of a slot. Writes only if they change, since reading threads share the prior's
 * slot. */
static void sparsemix_refresh(const sparsemix_gaussians *g, double *slot)
{
    const double *scale = sparsemix_scale(g, slot);
    double log_det = 0.0, constant;
    ptrdiff_t i;
    if (g->structure == SPARSEMIX_SPHERICAL)
        log_det = (double)g->n_features * log(scale[0]);
    else if (g->structure == SPARSEMIX_DIAG)
        for (i = 0; i < g->n_features; i++)
            log_det += log(scale[i]);
    else
        for (i = 0; i < g->n_features; scale += i + 1, i++)
            log_det += 2.0 * log(scale[i]);
    constant = sparsemix_gaussian_constant(g, slot[SPARSEMIX_COUNT], log_det);
    if (slot[SPARSEMIX_LOG_DET] != log_det || slot[SPARSEMIX_CONSTANT] != constant) {
        slot[SPARSEMIX_LOG_DET] = log_det;
        slot[SPARSEMIX_CONSTANT] = constant;
    }
}

/* d^T B^-1 d, or less but above ``limit``; not for diagonal B, which has D of them, computed by ``sparsemix_growth``. */
static inline double sparsemix_limited_distance(const sparsemix_gaussians *g, const double *slot, const double *x,
                                                double limit)
{
    const double *mean = slot + SPARSEMIX_MEAN, *scale = sparsemix_scale(g, slot);
    double distance = 0.0;
    if (sparsemix_has_matrix(g))
        SPARSEMIX_DISPATCH(g->isa, whitened_square, double, x, mean, scale, g->n_features, limit, g->work,
                           &distance);
    else if (g->structure == SPARSEMIX_SPHERICAL) {
        SPARSEMIX_DISPATCH(g->isa, square, double, x, mean, g->n_features, &distance);
        distance /= scale[0];
    }
    return distance;
}

static inline double sparsemix_distance(const sparsemix_gaussians *g, const double *slot, const double *x)
{
    return sparsemix_limited_distance(g, slot, x, INFINITY);
}

/* log |B + f d d^T| - log |B| with f = mass kappa / (kappa + mass), where kappa includes the rows; f = mass if means
 * are zero. For a spherical B, that of one dimension, b + f |d|^2. */
static inline double sparsemix_growth(const sparsemix_gaussians *g, const double *slot, const double *x,
                                      double distance, double mass)
{
    const double count = slot[SPARSEMIX_COUNT], kappa = g->kappa + count;
    double growth = 0.0, f = mass;
    if (g->structure == SPARSEMIX_DIAG) {
        SPARSEMIX_DISPATCH(g->isa, diagonal_growth, double, x, slot + SPARSEMIX_MEAN, sparsemix_scale(g, slot),
                           g->kappas, count, g->n_features, mass, &growth);
        return growth;
    }
    if (g->structure != SPARSEMIX_ZERO_MEAN)
        f *= kappa / (kappa + mass);
    return log1p(f * distance > SPARSEMIX_LEAST - 1.0 ? f * distance : SPARSEMIX_LEAST - 1.0);
}

/* Exponent of the density of a row in a cluster of ``count`` rows. */
static inline double sparsemix_power(const sparsemix_gaussians *g, double count)
{
    return 0.5 * (g->nu + g->row_dof * (count + 1.0));
}

/* Log predictive density of a row in one slot. */
static inline double sparsemix_gaussian_score(const sparsemix_gaussians *g, const double *slot, const double *x)
{
    const double growth = sparsemix_growth(g, slot, x, sparsemix_distance(g, slot, x), 1.0);
    return slot[SPARSEMIX_CONSTANT] - sparsemix_power(g, slot[SPARSEMIX_COUNT]) * growth;
}

/* Upper bound of the score from the first ``n`` columns: their squares are part of the distance. */
static inline double sparsemix_gaussian_bound(const sparsemix_gaussians *g, const double *slot, const double *x,
                                              ptrdiff_t n)
{
    double distance;
    SPARSEMIX_DISPATCH(g->isa, whitened_square, double, x, slot + SPARSEMIX_MEAN, sparsemix_scale(g, slot), n, INFINITY,
                       g->work, &distance);
    return slot[SPARSEMIX_CONSTANT]
           - sparsemix_power(g, slot[SPARSEMIX_COUNT]) * sparsemix_growth(g, slot, x, distance, 1.0);
}

/* The score, or minus infinity if it is less than ``least``; matrices only. */
static inline double sparsemix_gaussian_score_from(const sparsemix_gaussians *g, const double *slot, const double *x,
                                                   double least)
{
    const double kappa = g->kappa + slot[SPARSEMIX_COUNT], power = sparsemix_power(g, slot[SPARSEMIX_COUNT]);
    const double f = g->structure == SPARSEMIX_ZERO_MEAN ? 1.0 : kappa / (kappa + 1.0);
    const double limit = expm1((slot[SPARSEMIX_CONSTANT] - least) / power) / f;
    const double distance = sparsemix_limited_distance(g, slot, x, limit);
    return distance > limit ? -INFINITY
                            : slot[SPARSEMIX_CONSTANT] - power * sparsemix_growth(g, slot, x, distance, 1.0);
}

/* The score without ``mass`` times the row's own statistics. With q = mass, B- = B - q kappa / (kappa - q) d d^T and
 * the mean moves too; adding the row to B- gives the matrix B + kappa (1 - q) / (kappa - q + 1) d d^T. */
static inline double sparsemix_gaussian_score_without(const sparsemix_gaussians *g, const double *prior,
                                                      const double *slot, const double *x, double mass)
{
    const double rest = slot[SPARSEMIX_COUNT] - mass;
    double distance, shrunk, grown;
    if (!(rest > SPARSEMIX_NOTHING))
        return sparsemix_gaussian_score(g, prior, x);
    distance = sparsemix_distance(g, slot, x);
    shrunk = sparsemix_growth(g, slot, x, distance, -mass);
    grown = sparsemix_growth(g, slot, x, distance, 1.0 - mass);
    return sparsemix_gaussian_constant(
               g, rest, slot[SPARSEMIX_LOG_DET] + (g->structure == SPARSEMIX_SPHERICAL ? g->row_dof : 1.0) * shrunk)
           - sparsemix_power(g, rest) * (grown - shrunk);
}

/* f if B + f d d^T keeps the least share of |B|; else the f that does, and sets the flag ``clipped``. */
static inline double sparsemix_bearable(double f, double distance, int *clipped)
{
    if (f * distance >= SPARSEMIX_LEAST - 1.0)
        return f;
    *clipped = 1;
    return (SPARSEMIX_LEAST - 1.0) / distance;
}

/* Add ``change`` times the row's statistics to a slot. Returns 1 if less was removed from B than requested, because
 * only round-off would have remained. */
static inline int sparsemix_gaussian_move(const sparsemix_gaussians *g, const double *prior, double *slot,
                                          const double *x, double change)
{
    const double count = slot[SPARSEMIX_COUNT] + change, kappa = g->kappa + slot[SPARSEMIX_COUNT];
    double *mean = slot + SPARSEMIX_MEAN, *scale = mean + g->n_features, *z = g->work;
    double step = 0.0, f = change, square = 0.0;
    ptrdiff_t i;
    int clipped = 0;
    if (!(count > SPARSEMIX_NOTHING)) {
        memcpy(slot, prior, (size_t)g->width * sizeof(double));
        return 0;
    }
    if (g->structure != SPARSEMIX_ZERO_MEAN) {
        step = change / (kappa + change);
        f = step * kappa;
    }
    if (f < 0.0 && g->structure != SPARSEMIX_DIAG)
        f = sparsemix_bearable(f, sparsemix_distance(g, slot, x), &clipped);
    for (i = 0; i < g->n_features; i++) {
        z[i] = x[i] - mean[i];
        if (g->structure == SPARSEMIX_DIAG)
            step = change / (g->kappas[i] + count);
        mean[i] += step * z[i];
        square += z[i] * z[i];
    }
    if (sparsemix_has_matrix(g))
        SPARSEMIX_DISPATCH(g->isa, update_factor, double, z, g->n_features, f, g->rotations, scale);
    else if (g->structure == SPARSEMIX_SPHERICAL)
        scale[0] += f * square;
    else
        for (i = 0; i < g->n_features; i++) {
            f = change * (g->kappas[i] + slot[SPARSEMIX_COUNT]) / (g->kappas[i] + count);
            scale[i] += sparsemix_bearable(f, z[i] * z[i] / scale[i], &clipped) * z[i] * z[i];
        }
    slot[SPARSEMIX_COUNT] = count;
    sparsemix_refresh(g, slot);
    return clipped;
}

#endif
