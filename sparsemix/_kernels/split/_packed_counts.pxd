"""C view of PackedCounts."""

from libc.stdint cimport int64_t, uint64_t


cdef extern from "split/counts.h" nogil:
    enum:
        SPARSEMIX_GROUP
    ctypedef struct sparsemix_counts_float:
        Py_ssize_t n_heads
        uint64_t* heads
        int64_t* starts
        int* capacity
        float* values
        int64_t* end
    ctypedef struct sparsemix_counts_double:
        Py_ssize_t n_heads
        uint64_t* heads
        int64_t* starts
        int* capacity
        double* values
        int64_t* end


ctypedef fused counted:
    float
    double


cdef union any_counts:
    sparsemix_counts_float of_float
    sparsemix_counts_double of_double


cdef inline void* start_of(array) except NULL:
    return <void*> <size_t> array.ctypes.data


cdef inline const void* point_to(counts, any_counts* out, const counted* like) except NULL:
    """Point ``out`` into the arrays of PackedCounts, which must outlive it; ``like`` gives the type."""
    dtype = "f4" if counted is float else "f8"
    if counts.values.dtype != dtype:
        raise ValueError(f"the packed counts are of {counts.values.dtype}, not of the dtype of the rest")
    # Both union members have the same layout, except for the pointed-to type.
    out.of_float.n_heads = counts.heads.shape[1]
    out.of_float.heads, out.of_float.starts = <uint64_t*> start_of(counts.heads), <int64_t*> start_of(counts.starts)
    out.of_float.capacity, out.of_float.end = <int*> start_of(counts.capacity), <int64_t*> start_of(counts.end)
    if counted is float:
        out.of_float.values = <float*> start_of(counts.values)
    else:
        out.of_double.values = <double*> start_of(counts.values)
    return out
