"""Threads over blocks of rows and ranges of components, single-threaded BLAS and OpenMP around them, and Ctrl-C."""

from _signal import SIGINT, getsignal, signal  # the module signal makes enums of handlers, which takes longer
from _thread import allocate_lock, start_new_thread
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import pairwise
from queue import SimpleQueue
from threading import Lock

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

from sparsemix._kernels.threads._pool import Pool
from sparsemix._kernels.threads._wake_signal import WakeSignal
from sparsemix._kernels.vectors import _simd

# Limits of the number of threads: more cost time to start, and threads that share a core gain nothing. Tests of many
# threads on few cores stay below the first.
FEW_THREADS, MOST_THREADS = 16, 256
# A new thread silent for this long could not start: the system lacks memory.
SECONDS_TO_START = 10.0
# Interval at which a waiting caller checks again, in case an exception arrived after it acquired the lock.
SECONDS_TO_WAIT = 0.05
# Seconds that a thread spins for work, or for the end of other threads, before it sleeps. A wake-up takes 0.1 to 0.2
# ms; the gap between two pieces of a small step is shorter.
LISTENING = 5e-4
# What a sleeping thread gets in place of work.
LISTEN = object()


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Delay Ctrl-C until the end of the context, so that the step completes and is kept.

    This covers Ctrl-C in the main thread only. Any other exception may interrupt a step, which must then undo itself.
    If the program has no Python handler, or ignores the signal, nothing changes.

    Returns
    -------
    waiting : context manager

    Examples
    --------
    >>> from sparsemix.extend import interrupts_wait
    >>> with interrupts_wait():
    ...     table = ["all", "or", "nothing"]
    """
    old, noted = getsignal(SIGINT), []

    def note(*arguments):
        noted.append(arguments)

    def give_back():
        if getsignal(SIGINT) is note:
            signal(SIGINT, old)

    try:
        try:
            if callable(old):
                with suppress(ValueError):  # not the main thread
                    signal(SIGINT, note)
            yield
        finally:
            give_back()
    finally:  # an exception may have arrived before the inner finally ran
        give_back()
        if noted:
            old(*noted[0])


@cache
def _controller(user_api=None):
    # By now the kernels are imported, and with them every BLAS they call.
    return ThreadpoolController() if user_api is None else _controller().select(user_api=user_api)


class OneThreadOfBlas:
    """BLAS on one thread while any context is open; the last exit restores the limit found at the first entry."""

    def __init__(self):
        self._lock = Lock()
        self._users = 0
        self._limit = None

    # On one line, so that no exception of a signal handler comes between the work and the release of the lock.
    def __enter__(self):
        with self._lock: self._begin()  # noqa: E701  # fmt: skip

    def __exit__(self, *exception):
        with self._lock: self._end(exception)  # noqa: E701  # fmt: skip

    def _begin(self):
        if self._users == 0:
            self._limit = _controller("blas").limit(limits=1)
        self._users += 1

    def _end(self, exception):
        self._users -= 1
        if self._users == 0:
            self._limit.__exit__(*exception)
            self._limit = None


_one_thread_of_blas = OneThreadOfBlas()  # BLAS limits are process-wide


class Workers:
    """Context of a fit: ``n_jobs`` threads including the caller's; BLAS and OpenMP always run on one thread.

    The last bits of a matrix product depend on the thread count of BLAS, so each runs on one thread. Parallel work is
    cut into pieces whose results do not depend on the cut. The BLAS limit is process-wide, the OpenMP limit is per
    thread.

    A step of a batch takes some milliseconds and consists of several pieces, so dispatch must be cheap: joblib
    polls every 10 ms; futures and their conditions cost 0.1 ms. Here each thread waits at its own queue, and a free
    thread takes the next piece. ``map`` shares out Python calls; each thread waits for the interpreter, which takes
    0.1 ms. ``share`` shares out the items of a compiled loop, which takes a microsecond. ``n_jobs`` has joblib's
    meaning, including ``parallel_config``; if the system grants fewer threads, those do all the work.
    """

    _limits = None

    def __init__(self, n_jobs=None):
        self.n_jobs = effective_n_jobs(n_jobs)
        if self.n_jobs > FEW_THREADS:  # to count the processors takes longer than to learn one row
            self.n_jobs = min(self.n_jobs, max(FEW_THREADS, cpu_count()), MOST_THREADS)
        self._helpers, self._job = [], None
        self._pool = Pool()

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
                self._helpers.append(Helper(self._pool))
        except (RuntimeError, MemoryError):  # the system grants no more threads
            self.n_jobs = 1 + len(self._helpers)

    def __exit__(self, *exception):
        try:
            for helper in self._helpers:
                helper.dismiss()
            for helper in self._helpers:
                helper.ended.acquire()
        finally:  # Ctrl-C may arrive while threads end
            self._helpers = []
            self._give_back()

    def _give_back(self):
        """Restore the limits once; uninterruptible, because Ctrl-C halfway would leave them set."""
        if self._limits is not None:
            with interrupts_wait():
                limits, self._limits = self._limits, None
                limits.close()

    __del__ = _give_back  # Ctrl-C may arrive before the first line of __exit__

    @contextmanager
    def meanwhile(self, job):
        """Inside this context, from the next ``map`` or ``share`` on, another thread runs ``job()``.

        So threads do not wait for work that only one can do. The job has ended after the context.
        """
        if self.n_jobs == 1:
            yield
            job()
            return
        work = self._job = Work([(job,)])
        with work.ending():
            try:
                yield
            finally:
                self._job = None
            work.run()  # if no other thread has begun it

    def map(self, function, spans):
        """Call ``function(start, stop)`` for every span, on several threads if available.

        If several calls fail, raises the error of the first span, as without threads.
        """
        spans = list(spans)
        if len(spans) < 2 or not self._helpers:
            self._begin_job()
            for span in spans:
                function(*span)
            return
        work = Work([(function, *span) for span in spans])
        self._begin_job()
        with work.ending():
            work.hand_to(self._helpers[: len(spans) - 1])
            work.run()

    def share(self, kernel):
        """Call ``kernel(pool)``: a compiled loop whose items all threads take in turn.

        The results of an item must not depend on its thread. Helpers take items without the interpreter.
        """
        self._begin_job()
        for helper in self._helpers:
            helper.rouse()
        kernel(self._pool if self._helpers else None)

    def _begin_job(self):
        """Hand out the job of ``meanwhile``, once."""
        work, self._job = self._job, None
        if work is not None:
            work.hand_to(self._helpers[:1])

    def split(self, function, n):
        """Call ``function(first, last)`` for about equal shares of n pieces, one per thread."""
        bounds = [i * n // self.n_jobs for i in range(self.n_jobs + 1)]
        self.map(function, [(first, last) for first, last in pairwise(bounds) if last > first])


class Work:
    """A queue of pieces for several threads: functions and their arguments."""

    def __init__(self, pieces):
        self.pieces = deque(enumerate(pieces))  # thread-safe without a lock, unlike an iterator
        self.ends = []
        self.errors = {}
        self.complete = True
        self.ended = WakeSignal()

    def hand_to(self, helpers):
        """Let some helpers take pieces."""
        for helper in helpers:
            end = End()
            self.ends.append(end)
            helper.inbox.put((self, end))
            helper.wake.notify()

    @contextmanager
    def ending(self):
        """At the end of this context no thread works on a piece, and the first error is raised."""
        try:
            yield
        except BaseException:  # leave no pieces for helpers that have not begun
            self.pieces.clear()
            raise
        finally:
            wait_for(self)
        if self.errors:
            raise self.errors[min(self.errors)]
        if not self.complete:
            raise MemoryError("a thread ran out of memory and could not report its error")

    def _take(self):
        """The next piece, or None."""
        try:
            return self.pieces.popleft()
        except IndexError:
            return None

    def run(self):
        """Take pieces until none is left or one has failed."""
        while not self.errors and (taken := self._take()) is not None:
            number, (function, *span) = taken
            try:
                function(*span)
            except BaseException as error:  # the caller raises it
                self.errors[number] = error


class Helper:
    """A thread that serves an inbox. All its locks exist beforehand: reporting an out-of-memory error allocates
    nothing, and no caller waits forever for a thread that could not start, as it may with ``threading``.
    """

    def __init__(self, pool):
        self.pool, self.is_asleep = pool, False
        self.inbox, self.wake = SimpleQueue(), WakeSignal()
        self.begun, self.ended = held_lock(), held_lock()
        start_new_thread(self._serve, ())
        if not self.begun.acquire(timeout=SECONDS_TO_START):
            self.dismiss()  # in case it starts later
            raise RuntimeError("a thread could not start")

    def dismiss(self):
        """Ask the thread to end after its work."""
        self.inbox.put(None)
        self.wake.notify()

    def rouse(self):
        """Let a thread that sleeps listen to the pool again."""
        if self.is_asleep:
            self.is_asleep = False
            self.inbox.put(LISTEN)
            self.wake.notify()

    def _serve(self):
        """The thread's main loop."""
        self.begun.release()
        try:
            while (errand := self._next()) is not None:
                if errand is LISTEN:
                    continue
                work, end = errand
                end.has_begun = True
                ended = work.ended
                try:
                    work.run()
                except BaseException:  # no memory to store an error
                    work.complete = False
                del errand, work  # hold no references while waiting
                end.come()
                ended.notify()
        finally:
            self.ended.release()

    def _next(self):
        """The next inbox entry; listens to the pool, and without items soon sleeps."""
        self.pool.listen(self.wake, LISTENING)
        self.is_asleep = self.inbox.empty()
        errand = self.inbox.get()
        self.is_asleep = False
        return errand


class End:
    """Signals that a thread has finished its work; an exception during ``wait`` does not lose the signal."""

    def __init__(self):
        self.has_begun = self.has_come = False
        self._lock = held_lock()

    def come(self):
        """Signal the end; allocates nothing."""
        self.has_come = True
        self._lock.release()

    def wait(self):
        """Return after the signal."""
        while not self.has_come:
            self._lock.acquire(timeout=SECONDS_TO_WAIT)


def wait_for(work):
    """Return or raise only when no thread is still working: the caller may then restore or read its output.

    No pieces are left, so that threads that have not begun will find none.
    """
    try:
        ends = [end for end in work.ends if end.has_begun]
        work.ended.wait(len(ends), LISTENING)
        for end in ends:
            end.wait()
    except BaseException:  # from a signal handler
        wait_for(work)
        raise


def held_lock():
    """A new lock, already acquired."""
    lock = allocate_lock()
    lock.acquire()
    return lock


def slow_blas():
    """A message if the BLAS uses narrower registers than the CPU has, else None.

    The OpenBLAS in the wheels of NumPy and SciPy treats an unknown CPU as an older model.
    """
    if _simd.instruction_set() != "x86-64-v4":
        return None
    for library in _controller().select(internal_api="openblas").info():
        if library["architecture"] in ("Haswell", "Zen", "Sandybridge", "Nehalem", "Prescott"):
            return (
                f"OpenBLAS {library['version']} treats this CPU as a {library['architecture']} and does not use "
                "AVX-512; set OPENBLAS_CORETYPE=SkylakeX in the environment for faster matrix products"
            )
    return None
