"""Top-L selection in one row of weights, for kernels that compute their weights row by row."""

cdef extern from "<math.h>" nogil:
    double exp(double x)
    double log(double x)
    double INFINITY


cdef extern from "vectors/topl.h" nogil:
    bint any_at_least_float(const float* weights, float threshold)
    bint any_at_least_double(const double* weights, double threshold)
    float lower_bound_float(const float* weights, int n, int n_nonzero)
    double lower_bound_double(const double* weights, int n, int n_nonzero)


ctypedef fused real:
    float
    double


cdef enum:
    ROW_OK = 0
    ROW_NOT_FINITE = 1  # NaN or +inf among the weights
    ROW_EMPTY = 2       # every weight is -inf


cdef inline bint worse(real w, int i, real v, int j) noexcept nogil:
    """Whether (w, i) loses against (v, j): smaller weight, or equal weight and higher index."""
    return w < v or (w == v and i > j)


cdef inline void sift_down(real* heap, int* index, int n, int at) noexcept nogil:
    """Restore the heap with the worst entry on top below position ``at``."""
    cdef int child, i = index[at]
    cdef real w = heap[at]
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and worse(heap[child + 1], index[child + 1], heap[child], index[child]):
            child += 1
        if not worse(heap[child], index[child], w, i):
            break
        heap[at], index[at] = heap[child], index[child]
        at = child
    heap[at], index[at] = w, i


cdef inline bint any_at_least(const real* weights, real threshold) noexcept nogil:
    """Whether one of the next sixteen weights is at least the threshold or NaN."""
    if real is float:
        return any_at_least_float(weights, threshold)
    else:
        return any_at_least_double(weights, threshold)


cdef inline real lower_bound(const real* weights, int n_components, int n_nonzero) noexcept nogil:
    """A bound that at least L weights reach; on weights in random order, few others do."""
    if n_nonzero > 16 or n_components < 32:
        return -INFINITY
    if real is float:
        return lower_bound_float(weights, n_components, n_nonzero)
    else:
        return lower_bound_double(weights, n_components, n_nonzero)


cdef inline void sort_indices(
    const real* weights, int n_components, int n_nonzero, real worst, int* indices
) noexcept nogil:
    """Sort the indices of a finished heap in increasing order; the worst entry is first."""
    cdef int k, i, at, last = indices[0]
    if n_nonzero <= 32:
        for i in range(1, n_nonzero):
            k, at = indices[i], i
            while at > 0 and indices[at - 1] > k:
                indices[at] = indices[at - 1]
                at -= 1
            indices[at] = k
        return
    # Many: collect them again, as all above the worst weight and those equal to it up to its index.
    at = 0
    for k in range(n_components):
        if weights[k] > worst or (weights[k] == worst and k <= last):
            indices[at] = k
            at += 1


cdef inline int top_l(
    const real* weights,  # IN  (K,)
    int n_components,     # IN  K
    int n_nonzero,        # IN  L <= K
    real* heap,           # TMP (L,)
    int* indices,         # OUT (L,), increasing
) noexcept nogil:
    """Indices of the L largest weights, the lower index among equal ones; returns a row status.

    The few weights above a cheap lower bound pass through a heap of L entries with the worst on top.
    """
    cdef int k = 0, stop, i, count = 0
    cdef real threshold = lower_bound(weights, n_components, n_nonzero)
    while k < n_components:
        stop = min(k + 16, n_components)
        if k + 16 > n_components or any_at_least(weights + k, threshold):
            for k in range(k, stop):
                if weights[k] < threshold:
                    continue
                if not weights[k] < <real> INFINITY:
                    return ROW_NOT_FINITE
                if count < n_nonzero:
                    heap[count], indices[count] = weights[k], k
                    count += 1
                    if count == n_nonzero:
                        for i in range(n_nonzero // 2 - 1, -1, -1):
                            sift_down(heap, indices, n_nonzero, i)
                        threshold = heap[0]
                elif weights[k] > heap[0]:
                    heap[0], indices[0] = weights[k], k
                    sift_down(heap, indices, n_nonzero, 0)
                    threshold = heap[0]
        k = stop
    sort_indices(weights, n_components, n_nonzero, heap[0], indices)
    return ROW_OK


cdef inline int softmax(
    const real* weights,  # IN  (K,)
    const int* indices,   # IN  (L,)
    int n_nonzero,        # IN  L
    double* values,       # OUT (L,) sums to one
    double* log_z,        # OUT log of the sum of exp(weights) over the support
) noexcept nogil:
    """Responsibilities on a given support; returns a row status."""
    cdef int j
    cdef double largest = -INFINITY, total = 0.0
    for j in range(n_nonzero):
        if weights[indices[j]] > largest:
            largest = weights[indices[j]]
    if largest == -INFINITY:
        return ROW_EMPTY
    for j in range(n_nonzero):
        values[j] = exp(weights[indices[j]] - largest)
        total += values[j]
    for j in range(n_nonzero):
        values[j] /= total
    log_z[0] = largest + log(total)
    return ROW_OK
