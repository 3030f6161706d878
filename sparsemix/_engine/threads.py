"""Threads over blocks of rows and ranges of components, and the one limit on everybody else's."""

from _thread import allocate_lock, start_new_thread
from collections import deque
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import pairwise
from queue import SimpleQueue
from threading import Lock

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from sparsemix._engine.interrupts import interrupts_wait
from sparsemix._kernels.threads._wake_signal import WakeSignal
from sparsemix._kernels.vectors import _simd

# More threads than this cost more to start than they can bring.
MOST_THREADS = 256
# Of a thread that was started and says nothing: the system had no memory for it.
SECONDS_TO_START = 10.0
# After which a caller looks again whether a thread has ended, in case it acquired the lock and an exception came.
SECONDS_TO_WAIT = 0.05
# Seconds that a thread listens for work, or for the others' end, before it sleeps. To wake one takes 0.1 to 0.2 ms, and
# between two pieces of a small step less passes.
LISTENING = 5e-4


@cache
def _controller(user_api=None):
    # The kernels are imported by now, and with them every BLAS they call.
    return ThreadpoolController() if user_api is None else _controller().select(user_api=user_api)


class OneThreadOfBlas:
    """BLAS on one thread while anybody is inside; who leaves last gives back what the first one found."""

    def __init__(self):
        self._lock = Lock()
        self._users = 0
        self._limit = None

    def __enter__(self):
        with self._lock:
            if self._users == 0:
                self._limit = _controller("blas").limit(limits=1)
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
    always run on one, and what is done in parallel is cut into pieces whose results do not depend on the cut. The limit
    of BLAS is the process's, that of OpenMP each thread's own.

    A step of a minibatch takes some milliseconds and is several pieces of work, so what it costs to call threads
    matters: joblib's poll every 10 ms, futures and their conditions cost a tenth of a millisecond. Here a thread waits
    at a queue of its own, and whoever is free takes the next piece. ``n_jobs`` has joblib's meaning,
    ``parallel_config`` included; where the system gives fewer threads, those do the same work.
    """

    _limits = None

    def __init__(self, n_jobs=None):
        self.n_jobs = min(effective_n_jobs(n_jobs), MOST_THREADS)
        self._helpers, self._job = [], None

    def __enter__(self):
        try:
            with interrupts_wait():
                self._limits = ExitStack()
                self._limits.enter_context(_controller("openmp").limit(limits=1))
                self._limits.enter_context(_one_thread_of_blas)
            self._begin()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _begin(self):
        try:
            for _ in range(self.n_jobs - 1):
                self._helpers.append(Helper())
        except (RuntimeError, MemoryError):  # no more threads
            self.n_jobs = 1 + len(self._helpers)

    def __exit__(self, *exception):
        try:
            for helper in self._helpers:
                helper.dismiss()
            for helper in self._helpers:
                helper.ended.acquire()
        finally:  # Ctrl-C while threads end
            self._helpers = []
            self._give_back()

    def _give_back(self):
        """End the limits, once: Ctrl-C in the middle would leave them for good."""
        if self._limits is not None:
            with interrupts_wait():
                limits, self._limits = self._limits, None
                limits.close()

    __del__ = _give_back  # Ctrl-C may come before the first line of __exit__

    @contextmanager
    def beside(self, job):
        """Inside, one of the threads that share something out does ``job()`` before it takes a piece.

        So what one thread does alone keeps no other waiting. At the latest it is done at the end.
        """
        self._job = job
        try:
            yield
            if self._job is not None:
                self._job()
        finally:
            self._job = None

    def map(self, function, spans):
        """Call ``function(start, stop)`` for every span, in threads where there are several.

        Of several errors the one of the first span is raised, as it would be without threads.
        """
        spans = list(spans)
        if not self._helpers or len(spans) < 2:
            for span in spans:
                function(*span)
            return
        work, self._job = Work(function, spans, self._job), None
        helpers, given = self._helpers[: len(spans) - 1], 0
        ends = [End() for _ in helpers]
        try:
            for helper, end in zip(helpers, ends, strict=True):
                helper.inbox.put((work, end))
                given += 1
                helper.wake.notify()
            work.run()
        except BaseException:  # nothing is left for a helper that an exception kept from being counted
            work.pieces.clear()
            raise
        finally:
            wait_for(work, [end for number, end in enumerate(ends) if number < given or end.has_begun])
        if work.errors:
            raise work.errors[min(work.errors)]
        if not work.complete:
            raise MemoryError("a thread has had no memory to say what failed")

    def split(self, function, n):
        """Call ``function(first, last)`` for about equal shares of n pieces, one for each thread."""
        bounds = [i * n // self.n_jobs for i in range(self.n_jobs + 1)]
        self.map(function, [(first, last) for first, last in pairwise(bounds) if last > first])


class Work:
    """Spans that threads take one after the other, and what else there is to do.

    That is second, for whoever calls is first and would keep the interpreter from others with it.
    """

    def __init__(self, function, spans, job=None):
        pieces = [(function, *span) for span in spans]
        if job is not None:
            pieces.insert(1, (job,))
        self.pieces = deque(enumerate(pieces))  # from which threads take without a lock; from an iterator they may not
        self.errors = {}
        self.complete = True
        self.ended = WakeSignal()

    def _take(self):
        """The next piece, or None."""
        try:
            return self.pieces.popleft()
        except IndexError:
            return None

    def run(self):
        """Take pieces until there is none, or one has failed."""
        while not self.errors and (taken := self._take()) is not None:
            number, (function, *span) = taken
            try:
                function(*span)
            except BaseException as error:  # of a thread: the caller raises it
                self.errors[number] = error


class Helper:
    """A thread that serves at its inbox. It signals by locks that are there beforehand: nothing is allocated to say
    that there is no memory, and nobody waits for a thread that could not begin, as those of ``threading`` do.
    """

    def __init__(self):
        self.inbox, self.wake = SimpleQueue(), WakeSignal()
        self.begun, self.ended = held_lock(), held_lock()
        start_new_thread(self._serve, ())
        if not self.begun.acquire(timeout=SECONDS_TO_START):
            self.dismiss()  # should it come after all
            raise RuntimeError("a thread could not begin")

    def dismiss(self):
        """Let it end when its work is done."""
        self.inbox.put(None)
        self.wake.notify()

    def _serve(self):
        """The life of a thread."""
        self.begun.release()
        try:
            while (errand := self._next()) is not None:
                work, end = errand
                end.has_begun = True
                ended = work.ended
                try:
                    work.run()
                except BaseException:  # no memory to keep an error
                    work.complete = False
                del errand, work  # nothing of it is kept while waiting
                end.come()
                ended.notify()
        finally:
            self.ended.release()

    def _next(self):
        """What is in the inbox: soon, or else the thread sleeps until it is."""
        self.wake.rearm(LISTENING)
        return self.inbox.get()


class End:
    """That a thread has come to the end of its work, which one may wait for again after an exception."""

    def __init__(self):
        self.has_begun = self.has_come = False
        self._lock = held_lock()

    def come(self):
        """Nothing is allocated."""
        self.has_come = True
        self._lock.release()

    def wait(self):
        """Return when it has come."""
        while not self.has_come:
            self._lock.acquire(timeout=SECONDS_TO_WAIT)


def wait_for(work, ends):
    """Return or raise only when no thread works any more: what they write to may be put back or read afterwards."""
    try:
        work.ended.wait(len(ends), LISTENING)
        for end in ends:
            end.wait()
    except BaseException:  # of a signal handler
        wait_for(work, ends)
        raise


def held_lock():
    """A lock that waits for its release."""
    lock = allocate_lock()
    lock.acquire()
    return lock


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
