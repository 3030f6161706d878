"""Fixtures of several files, and which cases of a test the suite and its quick part run."""

import signal
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest
from covering import FEW, axes_of, chosen_items

from sparsemix._kernels.vectors import _simd


@pytest.fixture
def ctrl_c():
    """Ctrl-C raises KeyboardInterrupt, also where the tests run in the background."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


BEST = _simd.instruction_set()


@pytest.fixture(
    params=[
        pytest.param(name, marks=[] if name == BEST else pytest.mark.slow) for name in _simd.INSTRUCTION_SETS
    ]
)
def instruction_set(request):
    """Each instruction set that the processor has."""
    before = _simd.instruction_set()
    try:
        _simd.use_instruction_set(request.param)
    except ValueError:
        pytest.skip(f"this processor has no {request.param}")
    yield request.param
    _simd.use_instruction_set(before)


# Tests over many cases that each file has shown so far.
PARTS = Counter()


def pytest_addoption(parser):
    parser.addoption("--all-cases", action="store_true", help="every combination of the parameters of every test")


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector, name):
    """Leave out the cases that the covering design does not need."""
    found = yield
    if not isinstance(found, list) or len(found) <= FEW or collector.config.getoption("--all-cases"):
        return found
    if any(f"::{name}[" in argument for argument in collector.config.args):
        return found
    PARTS[collector.nodeid] += 1
    return chosen_items(found, PARTS[collector.nodeid])


# So many cases are quick of each test over settings of estimators, and of each test in a file that takes seconds. Of
# other tests all cases are quick that have no mark.
QUICK_CASES = 4
TAKES_SECONDS = {
    "clusters/test_cluster_columns.py", "datasets/test_datasets_topics.py", "engine/test_cells.py",
    "fuzz/test_fuzz.py", "kernels/test_document_kernels.py", "kernels/test_sequential_kernels.py",
    "linear/test_linear_mixtures.py", "mixture/test_births.py",
    "mixture/test_candidates.py", "mixture/test_columns.py", "mixture/test_edge_cases.py",
    "mixture/test_groups.py", "mixture/test_learned_priors.py", "mixture/test_mixture_fits.py",
    "mixture/test_mixture_starts.py", "mixture/test_sparse_gaussian_mixture.py",
    "scale/test_block_readers.py", "scale/test_checkpoints.py", "scale/test_dask.py",
    "scale/test_fits_over_blocks.py", "skipgram/test_skip_gram_estimator.py",
}  # fmt: skip
TESTS = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(items):
    """Mark further cases as slow, which ``-m "not slow"`` leaves out."""
    for _, same in groupby(items, lambda item: item.nodeid.partition("[")[0]):
        same = [item for item in same if not item.get_closest_marker("slow")]
        if not same or not hasattr(same[0], "callspec"):
            continue
        if same[0].path.relative_to(TESTS).as_posix() not in TAKES_SECONDS and not axes_of(same[0])[0]:
            continue
        step = -(-len(same) // QUICK_CASES)
        for place, item in enumerate(same):
            if place % step:
                item.add_marker(pytest.mark.slow)
