/* Compiler-specific spellings: the only header that names extensions of gcc and clang. Everything else is C11.
 * SPARSEMIX_PLAIN_C selects the fallback branch even with gcc or clang, to test it. */
#ifndef SPARSEMIX_PORTABLE_H
#define SPARSEMIX_PORTABLE_H

#include <stdint.h>

/* Calls the float or double variant of a function, by the type that pointer points to. Macros with the function's name
 * without its type suffix use it; Cython declares them with void* where the variants differ. */
#define SPARSEMIX_BY_REAL(name, pointer) _Generic(*(pointer), float: name##_float, double: name##_double)

#if defined(__GNUC__) && !defined(SPARSEMIX_PLAIN_C)

#define SPARSEMIX_EXTENSIONS 1
#define SPARSEMIX_INLINE static inline __attribute__((always_inline))
#define SPARSEMIX_CACHE_LINE __attribute__((aligned(64)))
#define SPARSEMIX_TARGET(sets) __attribute__((target(sets)))
/* A vector of REAL numbers that may alias an array; aligned to whole vectors, or unaligned. */
#define SPARSEMIX_VECTOR(bytes) __attribute__((vector_size(bytes), may_alias))
#define SPARSEMIX_VECTOR_ANYWHERE(bytes, type) __attribute__((vector_size(bytes), aligned(sizeof(type)), may_alias))
#define sparsemix_convert_vector(x, type) __builtin_convertvector(x, type)
#define sparsemix_prefetch(address) __builtin_prefetch(address)
/* An empty statement on a vector: keeps the compiler from fusing its computation with its use. */
#define sparsemix_keep_apart(vector) __asm__("" : "+v"(vector))
#define sparsemix_prefetch_to_write(address) __builtin_prefetch(address, 1)

SPARSEMIX_INLINE int sparsemix_count_bits(uint64_t x)
{
    return __builtin_popcountll(x);
}

/* Position of the lowest set bit of a non-zero number. */
SPARSEMIX_INLINE int sparsemix_lowest_bit(uint64_t x)
{
    return __builtin_ctzll(x);
}

#else

#define SPARSEMIX_EXTENSIONS 0
#if defined(_MSC_VER)
#define SPARSEMIX_INLINE static __forceinline
#define SPARSEMIX_CACHE_LINE __declspec(align(64))
#else
#define SPARSEMIX_INLINE static inline
#define SPARSEMIX_CACHE_LINE
#endif
#define sparsemix_prefetch(address) ((void)(address))
#define sparsemix_keep_apart(vector) ((void)(vector))
#define sparsemix_prefetch_to_write(address) ((void)(address))

SPARSEMIX_INLINE int sparsemix_count_bits(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (int)(x * 0x0101010101010101u >> 56);
}

SPARSEMIX_INLINE int sparsemix_lowest_bit(uint64_t x)
{
    return sparsemix_count_bits((x & (~x + 1)) - 1);
}

#endif

/* Atomics on an int64_t for sharing work between threads: fetch-and-add, load, and a pause between two loads. A thread
 * that loads a value sees all writes made before it was added. */
#if defined(_MSC_VER)
#include <intrin.h>
#define sparsemix_fetch_add(next, n) _InterlockedExchangeAdd64((volatile __int64 *)(next), n)
#define sparsemix_load(number) (*(const volatile __int64 *)(number))
#define sparsemix_pause() YieldProcessor()
#else
#define sparsemix_fetch_add(next, n) __atomic_fetch_add(next, n, __ATOMIC_ACQ_REL)
#define sparsemix_load(number) __atomic_load_n(number, __ATOMIC_ACQUIRE)
#if SPARSEMIX_EXTENSIONS && (defined(__x86_64__) || defined(__i386__))
#define sparsemix_pause() __builtin_ia32_pause()
#elif SPARSEMIX_EXTENSIONS && defined(__aarch64__)
#define sparsemix_pause() __asm__ volatile("yield")
#else
#define sparsemix_pause() ((void)0)
#endif
#endif

#endif
