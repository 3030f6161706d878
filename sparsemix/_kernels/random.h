/* Random numbers from counters: a number is a function of a key and a counter, so it does not depend on what was drawn
 * before, and any part of a chain can be drawn again. The finaliser is that of splitmix64 (Steele, Lea, Flood 2014). */
#ifndef SPARSEMIX_RANDOM_H
#define SPARSEMIX_RANDOM_H

#include <stdint.h>

/* 64 random bits; keys are themselves made by this function, from the seed and the row. */
static inline uint64_t sparsemix_random(uint64_t key, uint64_t counter)
{
    uint64_t x = key + (counter + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* A number in [0, 1), of 53 bits. */
static inline double sparsemix_uniform(uint64_t key, uint64_t counter)
{
    return (double)(sparsemix_random(key, counter) >> 11) * (1.0 / 9007199254740992.0);
}

#endif
