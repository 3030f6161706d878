"""Calls from several threads of one process at once.

On every interpreter they interleave, which finds what is not whole between two calls of NumPy or of a kernel. Only one
without a global lock runs them at the same time, and then what Python's own statements share is tried too.
"""

import sys
import threading

N_CALLERS = 4
# Seconds between switches of threads where there is a global lock: a tenth of a millisecond, in the place of five.
SWITCH = 1e-4


def at_once(*calls):
    """What each call gives; they begin at once, in their own threads, and an error of one is raised."""
    results, errors, barrier = [None] * len(calls), [], threading.Barrier(len(calls))

    def run(i):
        try:
            barrier.wait()
            results[i] = calls[i]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
    return results


def several(call):
    """The same call from several threads."""
    return at_once(*[call] * N_CALLERS)
