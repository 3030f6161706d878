from libc.stdint cimport int64_t, uint64_t

from sparsemix._kernels.split._packed_counts cimport any_counts


cdef extern from "split/split.h" nogil:
    enum:
        SPARSEMIX_GROUP
        SPARSEMIX_SPLIT_BLOCK
        SPARSEMIX_SPLIT_OK
        SPARSEMIX_SPLIT_NO_TOPIC
    ctypedef struct sparsemix_split_settings:
        Py_ssize_t n_components, n_blocks, width
        int n_sweeps, exclude
        uint64_t seed
        int64_t visit
        double base
    ctypedef struct sparsemix_split_groups:
        const int* of_entry
        Py_ssize_t width
        void* memory
    ctypedef struct sparsemix_split_record:
        int64_t values, topics, n
    ctypedef struct sparsemix_split_work:
        int* slot
    ctypedef struct sparsemix_states:
        void* values
        int wide
    int sparsemix_split_samples(double)
    void sparsemix_split_free(sparsemix_split_work*)
    int sparsemix_split_documents(
        int, const sparsemix_split_settings*, Py_ssize_t, const int64_t*, const int*, const void*, const int64_t*,
        const void*, const void*, const void*, const void*, const void*, const int64_t*, const int*, const void*,
        sparsemix_split_work*, const int64_t*, sparsemix_states, sparsemix_split_record*, void*, const int*, int64_t*,
        const double*, const int*)
    void sparsemix_split_blocks(
        int, const void*, Py_ssize_t, Py_ssize_t, double, const void*, const int*, Py_ssize_t, Py_ssize_t, void*)
    void sparsemix_split_packed_blocks(
        int, const void*, Py_ssize_t, Py_ssize_t, double, const void*, void*, const int*, Py_ssize_t, Py_ssize_t, void*)
    void sparsemix_split_rows(
        int, const int64_t*, const int*, const sparsemix_split_record*, const void*, const void*, const void*, double,
        const void*, sparsemix_split_groups, Py_ssize_t, const int*, Py_ssize_t, Py_ssize_t, void*, void*, double*)
    void sparsemix_split_add_rows(
        int, const int64_t*, const int*, const sparsemix_split_record*, const void*, const void*, void*, double,
        const void*, sparsemix_split_groups, Py_ssize_t, const int*, Py_ssize_t, Py_ssize_t, double, void*, void*,
        double*)
    int64_t sparsemix_split_sparse_rows(
        int, const sparsemix_split_settings*, const int64_t*, const int*, const sparsemix_split_record*, void*,
        const void*, const void*, const void*, const void*, const void*, const int*, Py_ssize_t, Py_ssize_t, int, void*,
        uint64_t*, int64_t*, int*, void*, double, double, double*)


# Arguments of items, which threads take in turn.

cdef struct blocks_task:
    int level, is_double
    any_counts packed
    const void* whole
    const void* fixed
    void* background
    void* blocks
    const int* words
    Py_ssize_t n_components, n_blocks, n_words
    double base


cdef struct visit_task:
    int level, is_double
    sparsemix_split_settings s
    Py_ssize_t n
    const int64_t* indptr
    const int* indices
    const void* counts
    const int64_t* numbers
    const void* whole
    any_counts packed
    const void* inverse
    const void* fixed
    const void* blocks
    const int64_t* start_indptr
    const int* start_topics
    const void* start_values
    const int64_t* seats  # addresses of the workspaces
    const int64_t* state_indptr
    sparsemix_states states
    sparsemix_split_record* records
    void* shares
    const int* order
    const double* own
    const int* groups
    int64_t n_taken, n_without_topic, n_without_memory


cdef struct rows_task:
    int level, is_double
    const int64_t* starts
    const int* entries
    const sparsemix_split_record* records
    const void* shares
    const void* weight
    void* table
    const void* fixed
    sparsemix_split_groups groups
    double base, factor
    Py_ssize_t n_components, width, n_groups
    const int* words
    const int64_t* bounds
    void* memory  # two rows for each seat, three with groups
    double* totals
    int64_t n_taken
