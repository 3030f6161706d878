"""PackedCounts as the loops in C see them."""

from libc.stdint cimport int64_t, uint64_t


cdef extern from "split/counts.h" nogil:
    enum:
        SPARSEMIX_GROUP
    ctypedef struct sparsemix_counts_float:
        Py_ssize_t n_heads
        uint64_t* heads
        int64_t* starts
        int* room
        float* values
        int64_t* end
    ctypedef struct sparsemix_counts_double:
        Py_ssize_t n_heads
        uint64_t* heads
        int64_t* starts
        int* room
        double* values
        int64_t* end


ctypedef fused packed_counts:
    sparsemix_counts_float
    sparsemix_counts_double


cdef inline void* start_of(array) except NULL:
    return <void*> <size_t> array.ctypes.data


cdef inline int point_to(counts, packed_counts* out) except -1:
    """Let ``out`` point into the arrays of PackedCounts, which have to outlive it."""
    dtype = "f4" if packed_counts is sparsemix_counts_float else "f8"
    if counts.values.dtype != dtype:
        raise ValueError(f"the packed counts are of {counts.values.dtype}, not of the dtype of the rest")
    out.n_heads = counts.heads.shape[1]
    out.heads, out.starts = <uint64_t*> start_of(counts.heads), <int64_t*> start_of(counts.starts)
    out.room, out.end = <int*> start_of(counts.room), <int64_t*> start_of(counts.end)
    if packed_counts is sparsemix_counts_float:
        out.values = <float*> start_of(counts.values)
    else:
        out.values = <double*> start_of(counts.values)
    return 0
