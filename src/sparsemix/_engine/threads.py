"""Threads over blocks of rows and ranges of components, and the one limit on everybody else's."""

from functools import cache
from itertools import pairwise
from queue import SimpleQueue
from threading import Lock, Thread

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
    """Context of a fit: ``n_jobs`` threads, the caller's among them, and BLAS and OpenMP on one whatever ``n_jobs`` is.

    The last bits of a matrix product, and of scikit-learn's k-means, change with the number of their threads, so they
    always run on one, and what is done in parallel is cut into pieces whose results do not depend on the cut.

    A step of a minibatch takes some milliseconds and is several pieces of work, so what it costs to call threads
    matters: joblib's poll every 10 ms, futures and their conditions cost a tenth of a millisecond. Here a thread waits
    at a queue of its own, and whoever is free takes the next piece. ``n_jobs`` has joblib's meaning,
    ``parallel_config`` included.
    """

    def __init__(self, n_jobs=None):
        self.n_jobs = min(effective_n_jobs(n_jobs), MOST_THREADS)
        self._threads, self._inboxes = [], []

    def __enter__(self):
        _one_thread_of_blas.__enter__()
        for _ in range(self.n_jobs - 1):
            self._inboxes.append(SimpleQueue())
            self._threads.append(Thread(target=serve, args=(self._inboxes[-1],), daemon=True))
            self._threads[-1].start()
        return self

    def __exit__(self, *exception):
        try:
            for inbox in self._inboxes:
                inbox.put(None)
            for thread in self._threads:
                thread.join()
        finally:  # Ctrl-C while threads end
            self._threads, self._inboxes = [], []
            _one_thread_of_blas.__exit__(*exception)

    def map(self, function, spans):
        """Call ``function(start, stop)`` for every span, in threads where there are several.

        Of several errors the one of the first span is raised, as it would be without threads.
        """
        spans = list(spans)
        if not self._threads or len(spans) < 2:
            for span in spans:
                function(*span)
            return
        work = Work(function, spans)
        helpers = self._inboxes[: len(spans) - 1]
        for inbox in helpers:
            inbox.put(work)
        try:
            work.run()
        finally:
            for _ in helpers:
                work.done.get()
        if work.errors:
            raise work.errors[min(work.errors)]

    def split(self, function, n):
        """Call ``function(first, last)`` for about equal shares of n pieces, one for each thread."""
        bounds = [i * n // self.n_jobs for i in range(self.n_jobs + 1)]
        self.map(function, [(first, last) for first, last in pairwise(bounds) if last > first])


class Work:
    """Spans that threads take one after the other."""

    def __init__(self, function, spans):
        self.function = function
        self.spans = enumerate(spans)  # the interpreter takes from it one at a time
        self.errors = {}
        self.done = SimpleQueue()

    def run(self):
        """Take spans until there is none, or one has failed."""
        while not self.errors and (taken := next(self.spans, None)) is not None:
            number, span = taken
            try:
                self.function(*span)
            except BaseException as error:  # of a thread: the caller raises it
                self.errors[number] = error


def serve(inbox):
    """The life of a thread."""
    while (work := inbox.get()) is not None:
        work.run()
        work.done.put(True)
        del work  # nothing of it is kept while waiting


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
