"""Every estimator, method and option, small: what a process does whose kernels are built with sanitizers.

``make sanitize`` runs it, at every instruction set that the machine has; a report of the sanitizers ends the process.
The settings are those of the contract tests (``tests/estimator_cases.py``).

    PYTHONPATH=.:tests python tests/sanitize/every_setting.py [--only TEXT]
"""

import argparse
import contextlib
import faulthandler
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from estimator_cases import CASES
from fitted import readings, said
from plans import takes_blocks

from sparsemix import blocks, metrics
from sparsemix._kernels.vectors import _simd


def forms(rows):
    """The same rows as other arrays: single precision, 64-bit numbers of columns, columns first."""
    yield rows
    if isinstance(rows, np.ndarray):
        yield rows.astype(np.float32)
        yield np.asfortranarray(rows)
    else:
        wide = rows.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        yield wide
        yield rows.astype(np.float32)


def use(case):
    """Everything that can be asked of one setting."""
    rows = case.data.rows
    weight = None if case.rows_alone else np.random.default_rng(0).uniform(1.0, 2.0, rows.shape[0])
    for X in forms(rows):
        said(case.fitted(), X)
    est = case.make(n_jobs=2) if case.has("n_jobs") else case.make()
    est.fit(rows) if weight is None else est.fit(rows, sample_weight=weight)
    said(pickle.loads(pickle.dumps(est)), rows[:1])
    if case.has("warm_start") and not case.rows_alone:
        est.set_params(warm_start=True).fit(rows)
    if case.can("partial_fit"):
        stream = case.make().partial_fit(rows[:40])
        for start in range(40, rows.shape[0], 7):
            stream.partial_fit(rows[start : start + 7])
        said(stream, rows)
    if case.can("update_from_stats"):
        est.update_from_stats(est.expected_stats(rows))
    if takes_blocks(est):
        parts = [rows[:30], rows[30:]]
        with contextlib.suppress(ValueError):  # what blocks do not have, which it says
            readings(blocks.fit(case.make(), parts), rows)
    if case.data.kind == "counts" and hasattr(est, "components_"):
        metrics.document_completion(est, rows, random_state=0)
        metrics.topic_coherence(est, rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="text in the names of settings")
    only = parser.parse_args().only
    warnings.simplefilter("ignore")
    faulthandler.enable()
    levels = _simd.INSTRUCTION_SETS[: _simd.INSTRUCTION_SETS.index(_simd.instruction_set()) + 1]
    cases = [case for case in CASES if only in case.name]
    for level in levels:
        _simd.use_instruction_set(level)
        for case in cases:
            print(f"{level}: {case.name}", flush=True)
            use(case)
    print(f"{len(cases)} settings on {len(levels)} instruction sets: nothing was reported")


if __name__ == "__main__":
    main()
