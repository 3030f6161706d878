"""C view of a PackedTable."""

from libc.stdint cimport int64_t, uint64_t


cdef extern from "documents/packed.h" nogil:
    # sparsemix_packed_double has the same layout
    ctypedef struct any_packed "sparsemix_packed_float":
        Py_ssize_t n_heads
        const uint64_t* heads
        const int64_t* starts
        const void* values
        const void* rest
        const void* scale
        const void* inverse
    double sparsemix_entry(const void*, const void*, Py_ssize_t, Py_ssize_t)


ctypedef fused tabled:
    float
    double


cdef inline void* start_of(array) except NULL:
    return <void*> <size_t> array.ctypes.data


cdef inline const void* point_to(table, any_packed* out, const tabled* like) except NULL:
    """Point ``out`` into the arrays of a PackedTable, which must outlive it; ``like`` gives the type."""
    dtype = "f4" if tabled is float else "f8"
    if table.values.dtype != dtype:
        raise ValueError(f"the packed table is of {table.values.dtype}, not of the dtype of the counts")
    out.n_heads, out.heads = table.heads.shape[1], <const uint64_t*> start_of(table.heads)
    out.starts, out.values = <const int64_t*> start_of(table.starts), start_of(table.values)
    out.rest, out.scale = start_of(table.rest), start_of(table.scale)
    out.inverse = start_of(table.inverse)
    return out
