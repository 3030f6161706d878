/* log Gamma and its derivatives at positive numbers: upward recurrence, then Stirling's series. */
#ifndef SPARSEMIX_SPECIAL_H
#define SPARSEMIX_SPECIAL_H

#include <math.h>

#define SPARSEMIX_SHIFT_BELOW 12.0

/* Tail of Stirling's series of log Gamma at y >= 12, excluding (y - 1/2) log y - y + log(2 pi) / 2. */
static inline double sparsemix_stirling_tail(double y)
{
    const double r = 1.0 / y, r2 = r * r;
    return r * (1.0 / 12 - r2 * (1.0 / 360 - r2 * (1.0 / 1260 - r2 * (1.0 / 1680 - r2 * (1.0 / 1188)))));
}

static inline double sparsemix_log_gamma(double x)
{
    double product = 1.0;
    while (x < SPARSEMIX_SHIFT_BELOW) {
        product *= x;
        x += 1.0;
    }
    return (x - 0.5) * log(x) - x + 0.91893853320467274178 + sparsemix_stirling_tail(x) - log(product);
}

/* log Gamma(x + c) - log Gamma(x) for x > 0, c >= 0. */
static inline double sparsemix_log_rising(double x, double c)
{
    double product = 1.0;
    if (c <= 64.0 && c == (int)c) {
        double sum = 0.0;
        int r;
        for (r = 0; r < (int)c; r++) {
            product *= x + r;
            if (product > 1e200 || product < 1e-200) {
                sum += log(product);
                product = 1.0;
            }
        }
        return sum + log(product);
    }
    while (x < 16.0) { /* shift both Gammas up by one */
        product *= (x + c) / x;
        x += 1.0;
    }
    return (x - 0.5) * log1p(c / x) + c * (log(x + c) - 1.0) + sparsemix_stirling_tail(x + c)
           - sparsemix_stirling_tail(x) - log(product);
}

static inline double sparsemix_digamma(double x)
{
    double sum = 0.0, r2;
    while (x < SPARSEMIX_SHIFT_BELOW) {
        sum += 1.0 / x;
        x += 1.0;
    }
    r2 = 1.0 / (x * x);
    return log(x) - 0.5 / x
           - r2 * (1.0 / 12 - r2 * (1.0 / 120 - r2 * (1.0 / 252 - r2 * (1.0 / 240 - r2 * (1.0 / 132))))) - sum;
}

static inline double sparsemix_trigamma(double x)
{
    double sum = 0.0, r, r2;
    while (x < SPARSEMIX_SHIFT_BELOW) {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    r = 1.0 / x;
    r2 = r * r;
    return sum + r + 0.5 * r2
           + r * r2 * (1.0 / 6 - r2 * (1.0 / 30 - r2 * (1.0 / 42 - r2 * (1.0 / 30 - r2 * (5.0 / 66)))));
}

#endif
