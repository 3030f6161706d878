"""Threads over blocks of rows and ranges of components, and the one limit on everybody else's."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from threading import Lock

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from sparsemix._kernels.vectors import _simd

# More threads than this cost more to start than they can bring.
MOST_THREADS = 256


@cache
def _controller():
    # The kernels are imported by now, and with them every BLAS they call.
    return ThreadpoolController()


class OneThreadOfBlas:
    """BLAS and OpenMP on one thread while anybody is inside; who leaves last gives back what the first one found."""

    def __init__(self):
        self._lock = Lock()
        self._users = 0
        self._limit = None

    def __enter__(self):
        with self._lock:
            if self._users == 0:
                self._limit = _controller().limit(limits=1)
                self._limit.__enter__()
            self._users += 1

    def __exit__(self, *exception):
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.__exit__(*exception)
                self._limit = None


_one_thread_of_blas = OneThreadOfBlas()  # the libraries are of the process, and so is their limit


class Workers:
    """Context of a fit: one pool of ``n_jobs`` threads, and BLAS and OpenMP on one thread whatever ``n_jobs`` is.

    The last bits of a matrix product, and of scikit-learn's k-means, change with the number of their threads, so they
    always run on one, and what is done in parallel is cut into pieces whose results do not depend on the cut.

    The pool is the standard library's: joblib's threads cost 10 ms a call, more than a minibatch takes. ``n_jobs`` has
    joblib's meaning, ``parallel_config`` included.
    """

    def __init__(self, n_jobs=None):
        self.n_jobs = min(effective_n_jobs(n_jobs), MOST_THREADS)
        self._pool = None

    def __enter__(self):
        _one_thread_of_blas.__enter__()
        if self.n_jobs > 1:
            self._pool = ThreadPoolExecutor(self.n_jobs)
        return self

    def __exit__(self, *exception):
        try:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)
        finally:  # Ctrl-C while threads end
            self._pool = None
            _one_thread_of_blas.__exit__(*exception)

    def map(self, function, spans):
        """Call ``function(start, stop)`` for every span, in threads where there are several."""
        spans = list(spans)
        if self._pool is None or len(spans) < 2:
            for span in spans:
                function(*span)
        else:
            for future in [self._pool.submit(function, *span) for span in spans]:
                future.result()

    def split(self, function, n):
        """Call ``function(first, last)`` for about equal shares of n pieces, one for each thread."""
        bounds = [i * n // self.n_jobs for i in range(self.n_jobs + 1)]
        self.map(function, [(first, last) for first, last in pairwise(bounds) if last > first])


def slow_blas():
    """A sentence for users whose BLAS runs on narrower registers than the processor has, else None.

    The OpenBLAS inside the wheels of NumPy and SciPy takes a processor that it does not know for an older one.
    """
    if _simd.instruction_set() != "x86-64-v4":
        return None
    for library in _controller().select(internal_api="openblas").info():
        if library["architecture"] in ("Haswell", "Zen", "Sandybridge", "Nehalem", "Prescott"):
            return (
                f"OpenBLAS {library['version']} takes this processor for a {library['architecture']} and leaves its "
                "AVX-512 units idle; OPENBLAS_CORETYPE=SkylakeX in the environment makes its matrix products faster"
            )
    return None
