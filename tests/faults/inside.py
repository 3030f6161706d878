"""What happens inside a process of ``faults.py``: one setting under one kind of fault."""

import collections
import ctypes
import gc
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
from functools import partial
from pathlib import Path

import numpy as np
from estimator_cases import CASES
from fitted import READERS, assert_same, assert_unchanged, said, snapshot
from threadpoolctl import threadpool_info

# Whose allocations fail, of so many bytes and more. Without memory for small things NumPy was seen to end the process;
# without any for the iterator of a fancy index it returns an error and no exception.
SOURCES = {b"_multiarray_umath": 1000, b"sparsemix/_kernels": 1}
OUTCOMES = "done", "refused"
OF_NUMPY = "without exception set", "without setting an exception"


def calls_of(case):
    """Names of what is called of a fitted estimator, and the calls."""
    rows = case.data.rows
    yield "fit", lambda est: est.fit(rows)
    if case.can("partial_fit"):
        yield "partial_fit", lambda est: est.partial_fit(rows[:30])
    if case.can("update_from_stats"):
        yield "update_from_stats", lambda est: est.update_from_stats(est.expected_stats(rows))
    yield "readings", lambda est: said(est, rows)


def allocations(case, n_points):
    """Some allocations of NumPy and of the kernels fail, one at a time: MemoryError, and the model is as it was."""
    library = ctypes.PyDLL(None)  # holds the lock of Python: nothing else allocates meanwhile
    library.fail_at.argtypes, library.fail_no_more.restype = [ctypes.c_long], ctypes.c_long
    counts = collections.Counter()
    for _, call in calls_of(case):
        call(case.fitted())  # what is imported on first use
    for name, least in SOURCES.items():
        library.fail_from(name, ctypes.c_size_t(least))
    library.tell_where()
    est = case.fitted()
    before = snapshot(est, case.data.rows)
    for name, call in calls_of(case):
        whole = case.fitted()
        library.fail_at(0)
        call(whole)
        n_calls = library.fail_no_more()
        after = None if name == "fit" else said(whole, case.data.rows)
        rng = random.Random(f"{case.name} {name}")
        for n in sorted(rng.sample(range(1, n_calls + 1), min(n_points, n_calls))):
            task = partial(refused, library, n, call, est, before, after, case)
            counts[in_a_child(task)] += 1
    return counts


def refused(library, n, call, est, before, after, case):
    """One call of which the n-th allocation fails: what came of it."""
    library.fail_at(n)
    try:
        outcome = outcome_of(lambda: call(est))
    finally:
        library.fail_no_more()
    if outcome == "done":  # the caller has an alternative
        return outcome
    as_before_or(est, before, after, case)
    return outcome


def outcome_of(call):
    """Whether a call was done, or refused memory, which NumPy sometimes says in other words."""
    try:
        call()
    except MemoryError:
        return "refused"
    except SystemError as error:
        if not any(text in str(error) for text in OF_NUMPY):
            raise
        return "refused"
    return "done"


def in_a_child(task):
    """What a task returns in a copy of this process; or that it ended in the code of another library.

    What ends in Python or the C library with our code directly above is ours: it has passed on what was refused.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        child = os.fork()
        if child == 0:
            os.dup2(log.fileno(), 2)
            code = 1
            try:
                code = 2 + OUTCOMES.index(task())
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code >= 2:
            return OUTCOMES[code - 2]
        log.seek(0)
        said = log.read()
        where = re.search(r"^signal \d+ in (.*) called by (.*)", said, flags=re.MULTILINE)
        if where and "sparsemix/_kernels" not in where[0]:
            return f"ended in {Path(where[1]).name.partition('.')[0]}"
        raise AssertionError(f"{code}: {said}")


def as_before_or(est, before, after, case):
    """Whether nothing has changed; else it has the whole step, or of a fit what was completed, in finite numbers.

    Mixtures that grow have no steps: they have learned the rows before the refused one, and continue there.
    """
    rows = case.data.rows
    try:
        assert_unchanged(est, before, rows)
    except AssertionError:
        now = said(est, rows)
        if after is not None:
            n_rows, n_whole = (said_.get("n_samples_seen_") for said_ in (now, after))
            if n_rows != n_whole and type(est).__name__ == "StreamingNGGPMixture":
                first = before[1]["n_samples_seen_"]
                now = said(est.partial_fit(rows[n_rows - first : n_whole - first]), rows)
            assert_same(now, after)
        assert all(np.isfinite(value).all() for name, value in now.items() if name in READERS), "not finite"
        return False
    return True


def interrupts(case, n_points):
    """Ctrl-C at random moments: a stream has the whole step or nothing of it; fits have completed epochs."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng, rows, blas = random.Random(case.name), case.data.rows, blas_threads()
    n_interrupted = n_done = 0
    for name, call in calls_of(case):
        if name == "readings":
            continue
        whole, started = case.fitted(), time.perf_counter()
        call(whole)
        seconds, after = time.perf_counter() - started, said(whole, rows)
        for _ in range(n_points):
            est = case.fitted()
            before = snapshot(est, rows)
            timer = threading.Timer(rng.uniform(0.0, 1.1 * seconds), signal.raise_signal, [signal.SIGINT])
            try:
                timer.start()
                call(est)
                timer.join()  # the interrupt comes here at the latest
                n_done += 1
            except KeyboardInterrupt:
                n_interrupted += 1
            timer.cancel()
            timer.join()
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "the handler has changed"
            assert blas_threads() == blas, "BLAS has another number of threads"
            as_before_or(est, before, None if name == "fit" else after, case)
    return {"interrupted": n_interrupted, "done": n_done}


def blas_threads():
    return [library["num_threads"] for library in threadpool_info()]


def memory(case, n_points):
    """Less and less address space is left: MemoryError, or a fit that needs no more."""
    ctypes.PyDLL(None).tell_where()
    est, rows = case.fitted(), case.data.rows  # libraries have their buffers
    for _, call in calls_of(case):
        call(case.fitted())
    np.ones((300, 300)) @ np.ones((300, 300))
    many = np.tile(rows, (60, 1)) if isinstance(rows, np.ndarray) else many_times(rows, 60)
    before = snapshot(est, rows)
    counts = collections.Counter()
    for n_bytes in np.geomspace(1e8, 1e5, n_points):
        counts[in_a_child(partial(fit_within, int(n_bytes), case, many, est, before))] += 1
    return counts


def fit_within(n_bytes, case, many, est, before):
    """A fit for which so many bytes are left: what came of it."""
    import resource

    gc.collect()
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + n_bytes, resource.RLIM_INFINITY))
    try:
        outcome = outcome_of(lambda: est.fit(many))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    as_before_or(est, before, None, case)
    return outcome


def many_times(rows, n):
    from scipy import sparse

    return sparse.csr_array(sparse.vstack([rows] * n, format="csr"))


def address_space():
    """Bytes of address space that this process has."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * 4096


if __name__ == "__main__":
    kind, name, n_points = sys.argv[1:]
    if kind == "command":
        from of_the_command import command

        counts = command(int(n_points))
    else:
        (case,) = [case for case in CASES if case.name == name]
        counts = {"allocations": allocations, "interrupts": interrupts, "memory": memory}[kind](case, int(n_points))
    for name, n in counts.items():
        print("count", name, n)
