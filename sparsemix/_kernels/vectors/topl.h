/* The vectorised parts of top-L selection. They are separate functions, because compilers vectorise such loops only if
 * the function contains nothing else. */
#ifndef SPARSEMIX_TOPL_H
#define SPARSEMIX_TOPL_H

#define SPARSEMIX_TOPL(real)                                                                                           \
    /* Whether any of sixteen weights is at least the threshold, or NaN. */                                            \
    static inline int any_at_least_##real(const real *weights, real threshold)                                         \
    {                                                                                                                  \
        int i, none = 1;                                                                                               \
        for (i = 0; i < 16; i++)                                                                                       \
            none &= weights[i] < threshold;                                                                            \
        return !none;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    /* A lower bound of the n_nonzero-th largest weight (n_nonzero <= 16 <= n): that rank among the maxima of every   \
     * sixteenth weight. On weights in random order few entries reach it. */                                          \
    static inline real lower_bound_##real(const real *weights, int n, int n_nonzero)                                   \
    {                                                                                                                  \
        real lanes[16], bound = 0;                                                                                     \
        int rank[16], i, j;                                                                                            \
        for (i = 0; i < 16; i++) {                                                                                     \
            lanes[i] = weights[i];                                                                                     \
            rank[i] = 0;                                                                                               \
        }                                                                                                              \
        for (j = 16; j + 16 <= n; j += 16)                                                                             \
            for (i = 0; i < 16; i++)                                                                                   \
                lanes[i] = weights[j + i] > lanes[i] ? weights[j + i] : lanes[i];                                      \
        for (j = 0; j < 16; j++)                                                                                       \
            for (i = 0; i < 16; i++)                                                                                   \
                rank[i] += (lanes[j] > lanes[i]) | ((lanes[j] == lanes[i]) & (j < i));                                 \
        for (i = 0; i < 16; i++)                                                                                       \
            if (rank[i] == n_nonzero - 1)                                                                              \
                bound = lanes[i];                                                                                      \
        return bound;                                                                                                  \
    }

SPARSEMIX_TOPL(float)
SPARSEMIX_TOPL(double)

#endif
