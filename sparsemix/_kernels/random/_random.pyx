"""Counter-based random numbers of the samplers, keyed by seed, row, visit, type, sweep and draw."""

import numpy as np

from libc.stdint cimport int64_t, uint32_t, uint64_t


cdef extern from "random/random.h" nogil:
    uint64_t sparsemix_document_key(uint64_t seed, int64_t row, int64_t visit)
    uint64_t sparsemix_type_key(uint64_t document_key, int64_t type, int64_t sweep)
    uint64_t sparsemix_bits(uint64_t key, uint64_t draw)
    double sparsemix_uniform(uint64_t bits)
    float sparsemix_uniform_float(uint64_t bits)
    uint32_t sparsemix_below(uint64_t bits, uint32_t n)


def bits(uint64_t seed, rows=0, visits=0, types=0, sweeps=0, draws=0):
    """64 random bits for each key, uint64; integers or arrays of them that broadcast."""
    keys = np.broadcast_arrays(rows, visits, types, sweeps, draws)
    shape = keys[0].shape
    cdef const int64_t[:, ::1] key_parts = np.array(keys, dtype=np.int64).reshape(5, -1)
    out = np.empty(key_parts.shape[1], dtype=np.uint64)
    cdef uint64_t[::1] target = out
    cdef Py_ssize_t i
    cdef uint64_t key
    with nogil:
        for i in range(key_parts.shape[1]):
            key = sparsemix_document_key(seed, key_parts[0, i], key_parts[1, i])
            key = sparsemix_type_key(key, key_parts[2, i], key_parts[3, i])
            target[i] = sparsemix_bits(key, <uint64_t> key_parts[4, i])
    return out.reshape(shape)


def uniform(const uint64_t[::1] random_bits, dtype=np.float64):
    """Numbers in [0, 1) from bits, float64 or float32."""
    out = np.empty(random_bits.shape[0], dtype=dtype)
    cdef double[::1] doubles
    cdef float[::1] floats
    cdef Py_ssize_t i
    if out.dtype == np.float32:
        floats = out
        for i in range(random_bits.shape[0]):
            floats[i] = sparsemix_uniform_float(random_bits[i])
    else:
        doubles = out
        for i in range(random_bits.shape[0]):
            doubles[i] = sparsemix_uniform(random_bits[i])
    return out


def below(const uint64_t[::1] random_bits, uint32_t n):
    """Integers in 0, ..., n - 1 from bits, int64."""
    out = np.empty(random_bits.shape[0], dtype=np.int64)
    cdef int64_t[::1] target = out
    cdef Py_ssize_t i
    for i in range(random_bits.shape[0]):
        target[i] = sparsemix_below(random_bits[i], n)
    return out
