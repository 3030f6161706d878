/* The normalized generalized gamma process prior of a row: the mode of log U and the weight of a new cluster, for n
 * rows in K clusters.
 *
 * Clusters have weights n_k - sigma; a new cluster has a (u + tau)^sigma at a value u of the auxiliary variable U.
 * The log density of v = log u is unimodal, and strictly concave if sigma K <= n:
 *
 *     log p(v) = n v - (n - sigma K) log(u + tau) - (a / sigma) (u + tau)^sigma + constant.
 *
 * With tau = 0, theta log u is added, and a u^sigma = theta + sigma K at the mode and in expectation.
 *
 * n and K are real numbers: masses of weighted rows, expected counts. */
#ifndef SPARSEMIX_NGGP_H
#define SPARSEMIX_NGGP_H

#include <math.h>

typedef struct {
    double a;     /* concentration, positive */
    double sigma; /* discount, in [0, 1) */
    double tau;   /* tilt, not negative, positive where sigma = 0 */
    double theta; /* u^theta multiplies the density of U: Pitman and Yor's process; 0 unless tau = 0 */
} sparsemix_nggp;

/* log(1 + e^x), and its derivative. */
static inline double sparsemix_softplus(double x, double *slope)
{
    const double e = exp(-fabs(x));
    *slope = (x > 0.0 ? 1.0 : e) / (1.0 + e);
    return (x > 0.0 ? x : 0.0) + log1p(e);
}

/* The w = log(u / tau) at which a tau^sigma (1 + e^w)^sigma = sigma K + n e^-w, for tau > 0: the root of
 *
 *     h(w) = log(a tau^sigma) + sigma log(1 + e^w) - log(n) + w - log(1 + e^(w - log(n / (sigma K)))).
 *
 * h increases, and |h''|, |h'''| <= h', so a step of Halley's method reduces an error e to less than e^3 / 2. It starts
 * where the root would be if each sum equalled its largest term, not at the previous row's root, so that the bits of a
 * stream do not depend on where it was cut. Two steps are typical, twelve the most observed; with sigma below 1e-7
 * rounding may hide the root. */
static inline double sparsemix_nggp_log_ratio(double n, double expected_k, const sparsemix_nggp *prior)
{
    const double sigma = prior->sigma, scale = log(prior->a) + sigma * log(prior->tau);
    const double log_n = log(n), log_k = log(sigma * expected_k), turn = log_n - log_k;
    double w = log_n - scale, step = 1.0;
    if (log_n > scale || log_k > scale)
        w = fmax((log_k - scale) / sigma, (log_n - scale) / (1.0 + sigma));
    for (int i = 0; i < 40 && fabs(step) > 1e-5; i++) {
        double s, t;
        const double first = sparsemix_softplus(w, &s), second = sparsemix_softplus(w - turn, &t);
        const double slope = sigma * s + (1.0 - t), curve = sigma * s * (1.0 - s) - t * (1.0 - t);
        const double newton = (scale - log_n + w + sigma * first - second) / slope;
        step = newton / fmax(0.5, 1.0 - 0.5 * newton * curve / slope);
        w -= step;
    }
    return w;
}

/* Mode of log U, where a (u + tau)^sigma = sigma K + n tau / u. Minus infinity before the first row. */
static inline double sparsemix_nggp_log_mode(double n, double expected_k, const sparsemix_nggp *prior)
{
    if (!(n > 0.0))
        return -INFINITY;
    if (prior->sigma == 0.0)
        return log(n) + log(prior->tau) - log(prior->a);
    if (prior->tau == 0.0)
        return log((prior->theta + prior->sigma * expected_k) / prior->a) / prior->sigma;
    return log(prior->tau) + sparsemix_nggp_log_ratio(n, expected_k, prior);
}

/* a E[u (u + tau)^(sigma - 1)] / E[u / (u + tau)] under the density of log U, divided by a (u^ + tau)^sigma, the
 * weight at the mode w. Uses the trapezium rule from the mode outwards, which converges exponentially. The step is
 * set by the width of the mode or of the bend of log(u + tau), which is about one; terms below 1e-16 end the sum. */
static inline double sparsemix_nggp_quadrature(double n, double expected_k, double weight, double sigma, double w)
{
    double s, slope, mass = 1.0, sum = 0.0;
    const double shift = sparsemix_softplus(w, &s), k = sigma * expected_k, rest = exp(-shift); /* 1 - s */
    const double width = 1.0 / sqrt(n * rest * (1.0 + sigma * s) + k * sigma * s * s);
    const double step = fmax(0.3 * fmin(width, 1.0), 1e-3 * width);
    for (int side = -1; side <= 1; side += 2) {
        for (int j = 1; j < 100000; j++) {
            /* increase of log(u + tau) over a distance d, and its lag behind d: computed directly, because n times the
             * rounding error of a difference would be visible */
            const double d = side * j * step, lag = log1p(rest * expm1(fmin(-d, 700.0)));
            const double rise = fabs(d) < 1.0 ? log1p(s * expm1(d)) : sparsemix_softplus(w + d, &slope) - shift;
            const double excess = expm1(sigma * rise);
            const double term = exp(k * rise - n * lag - weight / sigma * excess - lag);
            mass += term;
            sum += term * excess;
            if (term < 1e-16 * mass)
                break;
        }
    }
    return 1.0 + sum / mass;
}

/* Log weight of a new cluster, relative to weights n_k - sigma of existing clusters: at the mode of log U, or with
 * `quadrature` in expectation over U, which is exact for whole rows. Writes the mode. */
static inline double sparsemix_nggp_log_new(double n, double expected_k, const sparsemix_nggp *prior, int quadrature,
                                            double *log_u)
{
    const double sigma = prior->sigma, log_a = log(prior->a);
    *log_u = sparsemix_nggp_log_mode(n, expected_k, prior);
    if (!(n > 0.0) || sigma == 0.0) /* before the first row there is no other weight, so any value will do */
        return log_a;
    if (prior->tau == 0.0)
        return log(prior->theta + sigma * expected_k);
    double s;
    const double log_tau = log(prior->tau), w = *log_u - log_tau;
    const double log_weight = log_a + sigma * (log_tau + sparsemix_softplus(w, &s));
    if (!quadrature)
        return log_weight;
    return log_weight + log(sparsemix_nggp_quadrature(n, expected_k, exp(log_weight), sigma, w));
}

#endif
