/* Counter-based random numbers: the bits of a draw depend on its purpose, not on the number of earlier draws.
 *
 * A key hashes the seed, then the global row, the visit, and the type with the sweep. A draw is the hash of its key and
 * its own number. So results do not depend on tiles or threads. */
#ifndef SPARSEMIX_RANDOM_H
#define SPARSEMIX_RANDOM_H

#include <stdint.h>

#define SPARSEMIX_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* A bijection in which each bit of x flips about half of the output bits (the finaliser of splitmix64). */
static inline uint64_t sparsemix_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The key of one part under a parent key; adjacent parts get unrelated keys. */
static inline uint64_t sparsemix_key(uint64_t key, uint64_t part)
{
    return sparsemix_mix(key ^ sparsemix_mix(part + SPARSEMIX_GOLDEN));
}

static inline uint64_t sparsemix_document_key(uint64_t seed, int64_t row, int64_t visit)
{
    /* mixed twice, so that swapping seed and row changes the key */
    const uint64_t key = sparsemix_mix(sparsemix_mix(seed + SPARSEMIX_GOLDEN));
    return sparsemix_key(sparsemix_key(key, (uint64_t)row), (uint64_t)visit);
}

static inline uint64_t sparsemix_type_key(uint64_t document_key, int64_t type, int64_t sweep)
{
    return sparsemix_key(document_key, ((uint64_t)type << 32) | (uint32_t)sweep);
}

static inline uint64_t sparsemix_bits(uint64_t key, uint64_t draw)
{
    return sparsemix_mix(key + SPARSEMIX_GOLDEN * (draw + 1));
}

/* Uniform in [0, 1), with all mantissa bits of the type. */
static inline double sparsemix_uniform(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1.0p-53;
}

static inline float sparsemix_uniform_float(uint64_t bits)
{
    return (float)(bits >> 40) * 0x1.0p-24f;
}

/* A uniform integer below n, by the upper half of a product; its bias is at most n / 2^32. */
static inline uint32_t sparsemix_below(uint64_t bits, uint32_t n)
{
    return (uint32_t)(((bits >> 32) * n) >> 32);
}

#endif
