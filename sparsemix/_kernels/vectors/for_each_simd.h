/* Includes the file LOOPS once for each scalar type and instruction set: no include guard. The file sees REAL,
 * REAL_IS_DOUBLE (defined or not), ISA, LEVEL (0, 1, 2), TARGET (attributes of its functions) and VECTOR_BYTES, and
 * defines its own functions with SPARSEMIX_NAME. */

/* baseline: whatever the compiler targets by default */
#define ISA baseline
#define LEVEL 0
#define TARGET
#define VECTOR_BYTES SPARSEMIX_BASELINE_BYTES
#define REAL float
#include LOOPS
#undef REAL
#define REAL double
#define REAL_IS_DOUBLE
#include LOOPS
#undef REAL_IS_DOUBLE
#undef REAL
#undef ISA
#undef LEVEL
#undef TARGET
#undef VECTOR_BYTES

#if SPARSEMIX_X86
#define ISA v3
#define LEVEL 1
#define TARGET SPARSEMIX_TARGET("avx2,fma")
#define VECTOR_BYTES 32
#define REAL float
#include LOOPS
#undef REAL
#define REAL double
#define REAL_IS_DOUBLE
#include LOOPS
#undef REAL_IS_DOUBLE
#undef REAL
#undef ISA
#undef LEVEL
#undef TARGET
#undef VECTOR_BYTES

#define ISA v4
#define LEVEL 2
#define TARGET SPARSEMIX_TARGET("avx512f,avx512vl,avx512bw,avx512dq,fma")
#define VECTOR_BYTES 64
#define REAL float
#include LOOPS
#undef REAL
#define REAL double
#define REAL_IS_DOUBLE
#include LOOPS
#undef REAL_IS_DOUBLE
#undef REAL
#undef ISA
#undef LEVEL
#undef TARGET
#undef VECTOR_BYTES
#endif
