/* Metropolis-Hastings chains over the topics of words, with proposals from Walker's alias tables; the loops are in
 * chain_loops.h. */
#ifndef SPARSEMIX_CHAIN_H
#define SPARSEMIX_CHAIN_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "random/alias.h"
#include "collapsed/own_token.h"
#include "random/random.h"
#include "vectors/portable.h"

/* Shorter table rows, in bytes, are not prefetched. */
#define SPARSEMIX_SHORT_ROW 2048

/* If the lazy factor of a document's counts falls below this, it is applied to the values. */
#define SPARSEMIX_SMALLEST_FACTOR 1e-100

/* Settings shared by the documents of a call. */
typedef struct {
    ptrdiff_t n_components;         /* K */
    int n_samples, n_sweeps;        /* S; the last sweep is the one that counts */
    int n_even;                     /* topics of a word that the sums by word get, drawn evenly; 0: the samples */
    int check;                      /* the tables are stale: proposals may be rejected */
    int exclude;                    /* SPARSEMIX_EXCLUDE_...; exact sums only */
    uint64_t seed;
    int64_t visit;
    const double *rho;              /* (n_rho,) step by tokens seen in the visit; NULL for exact sums */
    int64_t n_rho;
    double sparsity, share;         /* tau; returned counts are at least this share of a document's tokens */
    double scale, offset, prior;    /* counts are scale G_wk + offset, plus the prior beta */
    const double *inverse, *alpha;  /* (K,) 1 / (N_k + V beta), and the prior of the documents' topics */
} sparsemix_chain_settings;

/* Frozen proposals: q_w(k) = a part on the non-zeros of a word's row + a part shared by all words. */
typedef struct {
    int n_components;
    const int64_t *begin;           /* (V,) start of a word's entries */
    const int *length;              /* (V,) how many there are, -1 without a table */
    const double *total;            /* (V,) sum of the part of the word's own */
    const int *topics, *alias;      /* topics increasing; aliases are positions in the row */
    const void *prob, *density;     /* of the type of the tables, as the next two */
    const void *shared_prob, *shared_density; /* (K,) */
    const int *shared_alias;        /* (K,) */
    double shared_total;
} sparsemix_word_tables;

/* Counts of one document. Each topic has a slot, in order of arrival. */
typedef struct {
    int n;            /* slots in use */
    int *topic;       /* (K,) topic of each slot */
    int *slot;        /* (K,) slot of each topic, or -1; all -1 between documents */
    double *value;    /* (K,) N_k = scale value + fade start */
    double *start;    /* (K,) recalled counts of exact sums, which fade in the first sweep */
    double *inverse;  /* (K,) settings' inverse of each slot's topic */
    double *own;      /* (K,) excluded from the word's counts; zero between types */
    double *factor;   /* (K,) f_k of the current type */
    double *prefix;   /* (K,) sums of N_k f_k */
    int *before;      /* (S,) the type's topics in the sweep before */
    double scale, fade, length;
} sparsemix_counts;

/* pi(k), and the proposal density of k, up to factors. */
typedef struct {
    double target, density;
} sparsemix_point;

/* Acceptance of an independence chain's move from old to new; target: pi(k), density: of the proposal, both up to a
 * factor. It uses both parts of the proposal, since either can propose any topic ([IF19] Eq. 7). */
static inline double sparsemix_acceptance(double target_new, double target_old, double density_new, double density_old)
{
    return target_new * density_old / (target_old * density_new);
}

/* First position, excluding the last, whose prefix sum exceeds u; else the last. */
static inline int sparsemix_search(const double *prefix, int n, double u)
{
    int first = 0;
    while (n > 1) {
        const int half = n / 2;
        first = prefix[first + half - 1] <= u ? first + half : first;
        n -= half;
    }
    return first;
}

/* Position that k would have among n increasing topics if they were spread evenly. */
static inline int sparsemix_guess(int n, int k, int n_components)
{
    return (int)((double)n / n_components * k);
}

/* Position of k among increasing topics, or -1. A galloping search from the guess: evenly spread topics cost one or two
 * cache lines, and no row costs more than twice a plain bisection. */
static inline int sparsemix_find(const int *topics, int n, int k, int n_components)
{
    int low = sparsemix_guess(n, k, n_components), high = low, step = 4;
    if (n == 0)
        return -1;
    if (topics[low] <= k) {
        for (high = low + step; high < n && topics[high] <= k; high += step) {
            low = high;
            step *= 2;
        }
        high = high < n ? high : n;
    } else {
        for (low = high - step; low > 0 && topics[low] > k; low -= step) {
            high = low;
            step *= 2;
        }
        low = low > 0 ? low : 0;
    }
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        low = topics[middle] <= k ? middle : low;
        high = topics[middle] <= k ? high : middle;
    }
    return topics[low] == k ? low : -1;
}

static inline int sparsemix_slot(sparsemix_counts *c, const sparsemix_chain_settings *s, int k)
{
    if (c->slot[k] < 0) {
        c->slot[k] = c->n;
        c->topic[c->n] = k;
        c->value[c->n] = c->start[c->n] = c->own[c->n] = 0.0;
        c->inverse[c->n] = s->inverse[k];
        c->n++;
    }
    return c->slot[k];
}

static inline double sparsemix_count(const sparsemix_counts *c, int j)
{
    return c->scale * c->value[j] + c->fade * c->start[j];
}

/* Remove topics with fewer tokens; keeps the order of the remaining ones. */
static inline void sparsemix_drop_below(sparsemix_counts *c, double limit)
{
    int kept = 0;
    for (int j = 0; j < c->n; j++) {
        const int k = c->topic[j];
        if (sparsemix_count(c, j) < limit) {
            c->slot[k] = -1;
            continue;
        }
        c->topic[kept] = k;
        c->slot[k] = kept;
        c->value[kept] = c->value[j];
        c->start[kept] = c->start[j];
        c->inverse[kept] = c->inverse[j];
        c->own[kept] = c->own[j];
        kept++;
    }
    c->n = kept;
}

static inline void sparsemix_clear(sparsemix_counts *c)
{
    for (int j = 0; j < c->n; j++)
        c->slot[c->topic[j]] = -1;
    c->n = 0;
}

/* N <- (1 - rho)^m N + (1 - (1 - rho)^m) C gamma for a clump of m tokens ([IF19] Eq. 9). */
static inline void sparsemix_step(sparsemix_counts *c, const sparsemix_chain_settings *s, double rho, double m,
                                  const int *topics)
{
    const double kept = m == 1.0 ? 1.0 - rho : pow(1.0 - rho, m);
    if (kept <= 0.0) {
        sparsemix_clear(c);
        c->scale = 1.0;
    } else
        c->scale *= kept;
    if (c->scale < SPARSEMIX_SMALLEST_FACTOR) {
        for (int j = 0; j < c->n; j++)
            c->value[j] *= c->scale;
        c->scale = 1.0;
    }
    const double added = (1.0 - kept) * c->length / (s->n_samples * c->scale);
    for (int d = 0; d < s->n_samples; d++)
        c->value[sparsemix_slot(c, s, topics[d])] += added;
}

/* Exact sums store values in units of 1 / S, which are integers if the counts are. */
static inline void sparsemix_take(sparsemix_counts *c, const sparsemix_chain_settings *s, double amount,
                                  const int *topics)
{
    for (int d = 0; d < s->n_samples; d++) {
        double *value = c->value + sparsemix_slot(c, s, topics[d]);
        *value = *value > amount ? *value - amount : 0.0;
    }
}

static inline void sparsemix_own(sparsemix_counts *c, const sparsemix_chain_settings *s, double amount,
                                 const int *topics)
{
    for (int d = 0; d < s->n_samples; d++)
        c->own[sparsemix_slot(c, s, topics[d])] += amount;
}

#define REAL float
#include "collapsed/chain_loops.h"
#undef REAL
#define REAL double
#include "collapsed/chain_loops.h"
#undef REAL

#define sparsemix_sample_documents(a0, a1, a2, pointer, ...)                                                           \
    SPARSEMIX_BY_REAL(sparsemix_sample_documents, pointer)(a0, a1, a2, pointer, __VA_ARGS__)

#endif
