"""One measurement in its own process: pinned to cores, BLAS limited to them, nothing else in its memory.

The parent imports nothing large, because a child's peak of resident memory begins at that of its parent.
"""

import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class MeasurementError(RuntimeError):
    """A child took too long, or failed and has written its traceback to stderr."""


# Numbers of the cores that this process may use, before it is pinned.
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def pin(cores):
    """Keep this process on some cores, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def run(task, cores, n_threads=None, limit=None, **arguments):
    """What ``task`` ("module:function") returns for these arguments, computed in a fresh process on these cores.

    BLAS and OpenMP have ``n_threads``, by default as many as there are cores. A child that takes longer than
    ``limit`` seconds by the clock is ended.
    """
    request = json.dumps({"task": task, "cores": cores, "arguments": arguments})
    environment = os.environ | dict.fromkeys(THREADS, str(n_threads or len(cores)))
    try:
        child = subprocess.run(
            [sys.executable, str(Path(__file__).resolve())],
            input=request, stdout=subprocess.PIPE, text=True, env=environment, check=False, timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"{task} took longer than its limit of {limit:g} seconds") from None
    if child.returncode != 0:
        raise MeasurementError(f"{task} ended with code {child.returncode}")
    return json.loads(child.stdout.splitlines()[-1])


FAILED = []  # labels of measurements that failed


def attempt(label, task, cores, **arguments):
    """``run`` with its label on stderr; None where it failed, after a line with the reason."""
    print(label, "...", file=sys.stderr, flush=True)
    try:
        return run(task, cores, **arguments)
    except MeasurementError as error:
        print(f"{label} failed: {error}", flush=True)
        FAILED.append(label)
        return None


def spent(function):
    """What a function returns, and processor seconds."""
    begun = time.process_time()
    result = function()
    return result, time.process_time() - begun


def resident_bytes():
    """Memory that is resident now; its peak so far where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_resident_bytes()
    return pages * os.sysconf("SC_PAGE_SIZE")


def peak_resident_bytes():
    import resource  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def main():
    """The child: pin before anything starts threads, then import and run the task."""
    request = json.load(sys.stdin)
    pin(request["cores"])
    module, function = request["task"].split(":")
    result = getattr(importlib.import_module(module), function)(**request["arguments"])
    print(json.dumps(result))


if __name__ == "__main__":
    importlib.import_module("_measure").main()  # the module that tasks import, not a second one
