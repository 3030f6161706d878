"""The instruction set of the vectorised loops, chosen once at run time: the best that the CPU supports, or the one that
``SPARSEMIX_SIMD`` in the environment names."""

import os

import numpy as np

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uintptr_t


cdef extern from "vectors/simd.h" nogil:
    int sparsemix_best_instruction_set()
    int SPARSEMIX_BASELINE_BYTES


INSTRUCTION_SETS = ("baseline", "x86-64-v3", "x86-64-v4")
# Vector size of "baseline"; 0 if the compiler has no vector extensions.
BASELINE_BYTES = SPARSEMIX_BASELINE_BYTES
cdef int best = sparsemix_best_instruction_set()
cdef int chosen = best


cdef int instruction_level() noexcept nogil:
    """Index of the instruction set in use."""
    return chosen


def instruction_set():
    """Name of the instruction set in use."""
    return INSTRUCTION_SETS[chosen]


def use_instruction_set(name=None):
    """Use a narrower instruction set than the best one (None)."""
    global chosen
    if name is not None and name not in INSTRUCTION_SETS:
        raise ValueError(f"there is no instruction set {name!r}; give one of {', '.join(INSTRUCTION_SETS)}")
    level = best if name is None else INSTRUCTION_SETS.index(name)
    if level > best:
        raise ValueError(f"this processor has no {name}; the best is {INSTRUCTION_SETS[best]}")
    chosen = level


try:
    use_instruction_set(os.environ.get("SPARSEMIX_SIMD") or None)
except ValueError as error:
    raise ImportError(f"SPARSEMIX_SIMD in the environment: {error}") from None


def aligned_empty(size, dtype):
    """Uninitialised memory for whole vectors, aligned to a cache line."""
    cdef Py_buffer memory  # ``raw.ctypes`` would take several times as long
    cdef Py_ssize_t itemsize = np.dtype(dtype).itemsize, start
    raw = np.empty(size + 64 // itemsize, dtype=dtype)
    PyObject_GetBuffer(raw, &memory, PyBUF_SIMPLE)
    start = <Py_ssize_t> ((64 - <uintptr_t> memory.buf % 64) % 64) // itemsize
    PyBuffer_Release(&memory)
    return raw[start:start + size]
