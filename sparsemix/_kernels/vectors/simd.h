/* Instruction sets, chosen at run time; for_each_simd.h lists the sets that the vectorised loops are compiled for.
 *
 * Vector extensions (gcc, clang) rather than intrinsics: one source serves AVX-512, AVX2, SSE and NEON, and other
 * compilers build the same source with one lane. */
#ifndef SPARSEMIX_SIMD_H
#define SPARSEMIX_SIMD_H

#include <stddef.h>

#include "vectors/portable.h"

#if SPARSEMIX_EXTENSIONS
#define SPARSEMIX_VECTORS 1
#define SPARSEMIX_BASELINE_BYTES 16
#else
#define SPARSEMIX_VECTORS 0
#define SPARSEMIX_BASELINE_BYTES 0
#endif

#if SPARSEMIX_EXTENSIONS && defined(__x86_64__)
#define SPARSEMIX_X86 1
#include <immintrin.h>
#else
#define SPARSEMIX_X86 0
#endif

enum { SPARSEMIX_BASELINE = 0, SPARSEMIX_V3 = 1, SPARSEMIX_V4 = 2 };

#define SPARSEMIX_PASTE_(name, type, isa) name##_##type##_##isa
#define SPARSEMIX_PASTE(name, type, isa) SPARSEMIX_PASTE_(name, type, isa)
#define SPARSEMIX_NAME(name) SPARSEMIX_PASTE(name, REAL, ISA)

/* Arrays are padded to a multiple of this, which is a multiple of every vector's lanes. */
#define SPARSEMIX_PADDING 16

/* Calls the function compiled for an instruction set. */
#if SPARSEMIX_X86
#define SPARSEMIX_DISPATCH(isa, name, type, ...)                                                                       \
    do {                                                                                                               \
        if ((isa) == SPARSEMIX_V4)                                                                                     \
            name##_##type##_v4(__VA_ARGS__);                                                                           \
        else if ((isa) == SPARSEMIX_V3)                                                                                \
            name##_##type##_v3(__VA_ARGS__);                                                                           \
        else                                                                                                           \
            name##_##type##_baseline(__VA_ARGS__);                                                                     \
    } while (0)
#else
#define SPARSEMIX_DISPATCH(isa, name, type, ...)                                                                       \
    do {                                                                                                               \
        (void)(isa);                                                                                                   \
        name##_##type##_baseline(__VA_ARGS__);                                                                         \
    } while (0)
#endif

static inline int sparsemix_best_instruction_set(void)
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

#endif
