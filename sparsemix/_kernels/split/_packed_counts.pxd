"""C view of PackedCounts."""

from libc.stdint cimport int64_t, uint64_t

from sparsemix._kernels.documents._packed cimport start_of


cdef extern from "split/counts.h" nogil:
    enum:
        SPARSEMIX_GROUP
    # sparsemix_counts_double has the same layout, except for the pointed-to type
    ctypedef struct any_counts "sparsemix_counts_float":
        Py_ssize_t n_heads
        uint64_t* heads
        int64_t* starts
        int* capacity
        void* values
        int64_t* end


ctypedef fused counted:
    float
    double


cdef inline const void* point_to(counts, any_counts* out, const counted* like) except NULL:
    """Point ``out`` into the arrays of PackedCounts, which must outlive it; ``like`` gives the type."""
    dtype = "f4" if counted is float else "f8"
    if counts.values.dtype != dtype:
        raise ValueError(f"the packed counts are of {counts.values.dtype}, not of the dtype of the rest")
    out.n_heads = counts.heads.shape[1]
    out.heads, out.starts = <uint64_t*> start_of(counts.heads), <int64_t*> start_of(counts.starts)
    out.capacity, out.end = <int*> start_of(counts.capacity), <int64_t*> start_of(counts.end)
    out.values = start_of(counts.values)
    return out
