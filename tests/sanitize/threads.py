"""Every setting that takes threads, in two of them: what a process does whose kernels watch for data races.

``make sanitize`` runs it under gcc's sanitizer of threads, at the best instruction set of the machine; a report is
printed, and makes the exit status 66. Python's own lock, joblib's pool and NumPy are seen through the locks of the
system, and nothing of them had to be suppressed.

    PYTHONPATH=.:tests python tests/sanitize/threads.py [--only TEXT]
"""

import argparse
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from estimator_cases import CASES
from fitted import readings

REPEATS = 20  # of the rows: several chunks and tiles for each thread


def use(case):
    """A fit in two threads, a step of a stream, and readings that two threads of the caller's ask for at once."""
    rows = case.data.rows
    if not case.rows_alone:
        rows = np.tile(rows, (REPEATS, 1)) if isinstance(rows, np.ndarray) else sparse.vstack([rows] * REPEATS, "csr")
    est = case.make(n_jobs=2).fit(rows)
    callers = [threading.Thread(target=readings, args=(est, rows)) for _ in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    if case.can("partial_fit"):
        est.partial_fit(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="text in the names of settings")
    only = parser.parse_args().only
    warnings.simplefilter("ignore")
    cases = [case for case in CASES if case.has("n_jobs") and only in case.name]
    for case in cases:
        print(case.name, flush=True)
        use(case)
    print(f"{len(cases)} settings in two threads")


if __name__ == "__main__":
    main()
