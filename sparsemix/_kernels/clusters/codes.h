/* A one-byte code of a number x = beta + S_wk: 8 log2(x / beta), rounded up. Codes are integers, so their sums do not
 * depend on order or machine. */
#ifndef SPARSEMIX_CODES_H
#define SPARSEMIX_CODES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* One code in nats. */
#define SPARSEMIX_CODE (0.69314718055994530942 / 8.0)
/* Marks a missing bound. */
#define SPARSEMIX_NO_BOUND 1e300
/* Largest x / beta that a code can represent. */
#define SPARSEMIX_LARGEST_RATIO 1073741824.0

/* The code of x: from x / beta, the exponent and 8 log2 of the mantissa rounded up to sixteenths. */
static inline uint8_t sparsemix_code(double x, double prior)
{
    static const uint8_t of_mantissa[16] = {1, 2, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7, 8, 8, 8};
    uint64_t bits;
    double ratio;
    int exponent;
    if (!(x > prior)) /* the common case */
        return 0;
    ratio = x / prior;
    memcpy(&bits, &ratio, sizeof bits);
    exponent = (int)(bits >> 52) - 1023;
    return exponent > 30 ? 248 : (uint8_t)(8 * exponent + of_mantissa[bits >> 48 & 15]);
}

/* Copies of a word with separate bounds; further copies use the last of these. */
#define SPARSEMIX_COPIES 8

typedef struct {
    uint8_t from[SPARSEMIX_COPIES]; /* 8 log2(r / beta), rounded down: the code from which x is at least r */
} sparsemix_copies;

static inline void sparsemix_set_copies(sparsemix_copies *copies, double prior)
{
    int r;
    copies->from[0] = 0;
    for (r = 1; r < SPARSEMIX_COPIES; r++) {
        const double code = floor(8.0 * log2(r / prior) - 1e-9);
        copies->from[r] = code < 0.0 ? 0 : code > 255.0 ? 255 : (uint8_t)code;
    }
}

#endif
