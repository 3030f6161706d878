/* Expected logarithms of word proportions from sums by component and word: the loop lives in word_logs_loops.h. */
#ifndef SPARSEMIX_WORD_LOGS_H
#define SPARSEMIX_WORD_LOGS_H

#include <stdint.h>
#include <string.h>

#include "vectors/simd.h"

#define LOOPS "documents/word_logs_loops.h"
#include "vectors/for_each_simd.h"
#undef LOOPS

#define SPARSEMIX_WORD_LOGS(REAL)                                                                                      \
    static void sparsemix_word_logs_##REAL(int isa, const double *sums, ptrdiff_t n, double prior, int digamma,        \
                                           double total, REAL *out)                                                    \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(isa, word_logs, REAL, sums, n, prior, digamma, total, out);                                 \
    }

SPARSEMIX_WORD_LOGS(float)
SPARSEMIX_WORD_LOGS(double)

#endif
