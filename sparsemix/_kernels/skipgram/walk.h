/* Metropolis-Hastings-Walker chains over the topics of positions; the loops are in walk_loops.h. */
#ifndef SPARSEMIX_WALK_H
#define SPARSEMIX_WALK_H

#include <math.h>
#include <stdint.h>

#include "collapsed/chain.h"
#include "skipgram/context.h"

/* Settings shared by all positions of a call. */
typedef struct {
    ptrdiff_t n_components; /* K */
    int window, n_samples;  /* S proposals of a position */
    int parts, part;        /* visits positions whose number in their document is ``part`` modulo ``parts`` */
    double inverse_temperature;
    double scale, base;     /* counts of context words plus beta are scale G + base */
    double total_prior;     /* V beta */
    uint64_t seed;
    int64_t visit;
    const double *factors;  /* (V,) counts of input words are factors[w] times their table; or NULL */
    const double *alpha;    /* (K,) */
    double *totals;         /* (K,) N_k */
} sparsemix_walk_settings;

/* Log acceptance probability of a proposal; the temperature applies to the target only. */
static inline double sparsemix_log_acceptance(double log_target_new, double log_target_old, double density_new,
                                              double density_old, double inverse_temperature)
{
    return inverse_temperature * (log_target_new - log_target_old) + log(density_old / density_new);
}

#define REAL float
#include "skipgram/walk_loops.h"
#undef REAL
#define REAL double
#include "skipgram/walk_loops.h"
#undef REAL

#define sparsemix_walk(a0, a1, a2, a3, a4, a5, a6, pointer, ...)                                                       \
    SPARSEMIX_BY_REAL(sparsemix_walk, pointer)(a0, a1, a2, a3, a4, a5, a6, pointer, __VA_ARGS__)

#endif
