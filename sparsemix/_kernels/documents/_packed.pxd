"""A PackedTable as the loops in C see it."""

from libc.stdint cimport int64_t, uint64_t


cdef extern from "documents/packed.h" nogil:
    ctypedef struct sparsemix_packed_float:
        Py_ssize_t n_heads
        const uint64_t* heads
        const int64_t* starts
        const void* values
        const void* rest
        const void* scale
        const void* inverse
    ctypedef struct sparsemix_packed_double:
        Py_ssize_t n_heads
        const uint64_t* heads
        const int64_t* starts
        const void* values
        const void* rest
        const void* scale
        const void* inverse
    float sparsemix_entry_float(const sparsemix_packed_float*, Py_ssize_t, Py_ssize_t)
    double sparsemix_entry_double(const sparsemix_packed_double*, Py_ssize_t, Py_ssize_t)


ctypedef fused packed_table:
    sparsemix_packed_float
    sparsemix_packed_double


cdef inline const void* start_of(array) except NULL:
    return <const void*> <size_t> array.ctypes.data


cdef inline int point_to(table, packed_table* out) except -1:
    """Let ``out`` point into the arrays of a PackedTable, which has to outlive it."""
    dtype = "f4" if packed_table is sparsemix_packed_float else "f8"
    if table.values.dtype != dtype:
        raise ValueError(f"the packed table is of {table.values.dtype}, not of the dtype of the counts")
    out.n_heads, out.heads = table.heads.shape[1], <const uint64_t*> start_of(table.heads)
    out.starts, out.values = <const int64_t*> start_of(table.starts), start_of(table.values)
    out.rest, out.scale, out.inverse = start_of(table.rest), start_of(table.scale), start_of(table.inverse)
    return 0
