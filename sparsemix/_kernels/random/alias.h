/* Alias tables (Walker, in Vose's form): n columns of equal width, each shared by at most two entries. */
#ifndef SPARSEMIX_ALIAS_H
#define SPARSEMIX_ALIAS_H

#include <stddef.h>

#include "vectors/portable.h"

/* One uniform number u in [0, 1) gives the column and the coin: the fractional part of n u is uniform and
 * independent of the column. */
#define SPARSEMIX_ALIAS_DRAW(REAL)                                                                                     \
    static inline int sparsemix_alias_draw_##REAL(const REAL *prob, const int *alias, int n, double u)                 \
    {                                                                                                                  \
        const double x = u * n;                                                                                        \
        const int column = x < n ? (int)x : n - 1;                                                                     \
        return x - column < prob[column] ? column : alias[column];                                                     \
    }

/* Build the columns for non-negative weights with a positive finite sum. Each column below the average is filled up
 * from one above it; `stack` and `excess` have space for n. Columns left on a stack by round-off have average
 * height. Whether a column is below the average is unpredictable, so nothing branches on it. */
#define SPARSEMIX_ALIAS_BUILD(REAL)                                                                                    \
    static inline void sparsemix_alias_build_##REAL(const REAL *weights, int n, double total, REAL *prob, int *alias,  \
                                                    int *stack, double *excess)                                        \
    {                                                                                                                  \
        const double factor = n / total;                                                                               \
        int small = 0, large = n; /* the stack of small ones grows up, that of large ones down */                      \
        for (int i = 0; i < n; i++) {                                                                                  \
            excess[i] = weights[i] * factor;                                                                           \
            const int below = excess[i] < 1.0;                                                                         \
            stack[small] = stack[large - 1] = i;                                                                       \
            small += below;                                                                                            \
            large -= 1 - below;                                                                                        \
        }                                                                                                              \
        while (small > 0 && large < n) {                                                                               \
            const int i = stack[--small], j = stack[large];                                                            \
            const double left = excess[j] - (1.0 - excess[i]);                                                         \
            const int below = left < 1.0;                                                                              \
            prob[i] = (REAL)excess[i];                                                                                 \
            alias[i] = j;                                                                                              \
            excess[j] = left;                                                                                          \
            stack[small] = j;                                                                                          \
            small += below;                                                                                            \
            large += below;                                                                                            \
        }                                                                                                              \
        while (small > 0 || large < n) {                                                                               \
            const int i = small > 0 ? stack[--small] : stack[large++];                                                 \
            prob[i] = (REAL)1.0;                                                                                       \
            alias[i] = i;                                                                                              \
        }                                                                                                              \
    }

SPARSEMIX_ALIAS_DRAW(float)
SPARSEMIX_ALIAS_DRAW(double)
SPARSEMIX_ALIAS_BUILD(float)
SPARSEMIX_ALIAS_BUILD(double)

#define sparsemix_alias_draw(pointer, ...) SPARSEMIX_BY_REAL(sparsemix_alias_draw, pointer)(pointer, __VA_ARGS__)

#define sparsemix_alias_build(pointer, ...) SPARSEMIX_BY_REAL(sparsemix_alias_build, pointer)(pointer, __VA_ARGS__)

#endif
