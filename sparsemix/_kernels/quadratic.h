/* Gaussian log densities of a tile of rows under K components, constant[k] - 0.5 * |R_k x - o_k|^2.
 *
 * The loops live in quadratic_loops.h, which is included once for each (scalar type, instruction set). Rows stand in
 * the lanes of the vector registers, so a row's result does not depend on its neighbours or on its place in the tile.
 * Vector extensions (gcc, clang) rather than intrinsics: one text serves AVX-512, AVX2, SSE and NEON, and a compiler
 * that lacks them runs the same text with one lane. The instruction set is chosen once, at run time. */
#ifndef SPARSEMIX_QUADRATIC_H
#define SPARSEMIX_QUADRATIC_H

#include <stddef.h>

#if defined(__GNUC__)
#define SPARSEMIX_VECTORS 1
#define SPARSEMIX_BASELINE_BYTES 16
#else
#define SPARSEMIX_VECTORS 0
#define SPARSEMIX_BASELINE_BYTES 0
#endif

/* -O3 is not left to the flags of the build: the register blocks must be unrolled. gcc needs no -ffast-math here. */
#if defined(__GNUC__) && defined(__x86_64__)
#define SPARSEMIX_X86 1
#else
#define SPARSEMIX_X86 0
#endif

enum { SPARSEMIX_BASELINE = 0, SPARSEMIX_V3 = 1, SPARSEMIX_V4 = 2 };

/* The most rows that any variant takes into its registers at once; callers pad scratch by it. */
#define SPARSEMIX_MAX_ROWS 64

#define SPARSEMIX_PASTE_(name, type, isa) name##_##type##_##isa
#define SPARSEMIX_PASTE(name, type, isa) SPARSEMIX_PASTE_(name, type, isa)
#define SPARSEMIX_NAME(name) SPARSEMIX_PASTE(name, REAL, ISA)

/* baseline: whatever the compiler targets by default */
#define ISA baseline
#define TARGET
#define VECTOR_BYTES SPARSEMIX_BASELINE_BYTES
#define N_VECTORS 2
#define REAL float
#include "quadratic_loops.h"
#undef REAL
#define REAL double
#include "quadratic_loops.h"
#undef REAL
#undef ISA
#undef TARGET
#undef VECTOR_BYTES
#undef N_VECTORS

#if SPARSEMIX_X86
/* 4 x 3 accumulators, 3 rows of data and one broadcast fill the 16 registers of AVX2 exactly */
#define ISA v3
#define TARGET __attribute__((target("avx2,fma")))
#define VECTOR_BYTES 32
#define N_VECTORS 3
#define REAL float
#include "quadratic_loops.h"
#undef REAL
#define REAL double
#include "quadratic_loops.h"
#undef REAL
#undef ISA
#undef TARGET
#undef VECTOR_BYTES
#undef N_VECTORS

/* 4 x 4 accumulators: 16 multiply-adds for 8 loads, broadcasts folded into the multiply-add */
#define ISA v4
#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma,prefer-vector-width=512")))
#define VECTOR_BYTES 64
#define N_VECTORS 4
#define REAL float
#include "quadratic_loops.h"
#undef REAL
#define REAL double
#include "quadratic_loops.h"
#undef REAL
#undef ISA
#undef TARGET
#undef VECTOR_BYTES
#undef N_VECTORS
#endif

static int sparsemix_best_instruction_set(void)
{
#if SPARSEMIX_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512dq"))
        return SPARSEMIX_V4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return SPARSEMIX_V3;
#endif
    return SPARSEMIX_BASELINE;
}

/* Shapes of R_k, and of its factors: D (D + 1) / 2, D or 1 numbers a component. */
enum { SPARSEMIX_TRIANGULAR = 0, SPARSEMIX_DIAGONAL = 1, SPARSEMIX_SPHERICAL = 2 };

#define SPARSEMIX_SHAPES(real, isa)                                                                                    \
    if (shape == SPARSEMIX_TRIANGULAR)                                                                                 \
        triangular_##real##_##isa(x, n, d, factors, offsets, constants, k, pack, out);                                 \
    else if (shape == SPARSEMIX_DIAGONAL)                                                                              \
        diagonal_##real##_##isa(x, n, d, factors, offsets, constants, k, pack, out);                                   \
    else                                                                                                               \
        spherical_##real##_##isa(x, n, d, factors, offsets, constants, k, pack, out);

#if SPARSEMIX_X86
#define SPARSEMIX_DISPATCH(real)                                                                                       \
    if (isa == SPARSEMIX_V4) {                                                                                         \
        SPARSEMIX_SHAPES(real, v4)                                                                                     \
    } else if (isa == SPARSEMIX_V3) {                                                                                  \
        SPARSEMIX_SHAPES(real, v3)                                                                                     \
    } else {                                                                                                           \
        SPARSEMIX_SHAPES(real, baseline)                                                                               \
    }
#else
#define SPARSEMIX_DISPATCH(real) (void)isa; SPARSEMIX_SHAPES(real, baseline)
#endif

#define SPARSEMIX_ENTRY(real)                                                                                          \
    static void sparsemix_log_density_##real(int isa, int shape, const real *x, ptrdiff_t n, ptrdiff_t d,              \
                                             const real *factors, const real *offsets, const real *constants,          \
                                             ptrdiff_t k, real *pack, real *out)                                       \
    {                                                                                                                  \
        SPARSEMIX_DISPATCH(real)                                                                                       \
    }

SPARSEMIX_ENTRY(float)
SPARSEMIX_ENTRY(double)

#endif
