"""Fixtures of several files, and which cases of a test the suite and its quick part run."""

import gc
import os
import signal
import sys
from collections import Counter, defaultdict

import pytest
from costs import Recorder, function_of, quick_cases, seconds, turn_of_commit
from covering import FEW, chosen_items
from seeds import use_other_seeds
from skips import fail_unexpected_skip

from sparsemix._kernels.vectors import _simd

os.environ.setdefault("MPLBACKEND", "Agg")  # before a test imports matplotlib, which would open windows


@pytest.fixture(autouse=True)
def closed_figures():
    """pyplot keeps figures until they are closed, and warns of many."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


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
RECORDER = pytest.StashKey()


def pytest_addoption(parser):
    parser.addoption("--all-cases", action="store_true", help="every combination of the parameters of every test")
    parser.addoption("--other-seeds", type=int, default=0, metavar="N", help="other starts of all fits: tests/seeds.py")
    parser.addoption("--record-costs", metavar="FILE", help="write tests/costs.txt; seconds of each case go to FILE")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without the garbage collector, which visits thousands of cases again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


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


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(items):
    """Mark cases that cost too much for ``make test`` as slow, which ``-m "not slow"`` leaves out."""
    commit, functions = turn_of_commit(), defaultdict(list)
    for item in items:
        if not item.get_closest_marker("slow"):
            functions[function_of(item)].append(item)
    for turn, same in enumerate(functions.values(), start=commit):
        for item in set(same).difference(quick_cases(same, turn)):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    fail_unexpected_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    report = yield
    fail_unexpected_skip(report)
    return report


def pytest_configure(config):
    if config.getoption("--other-seeds"):
        use_other_seeds(config.getoption("--other-seeds"))
    if config.getoption("--record-costs"):
        config.stash[RECORDER] = Recorder(config.getoption("--record-costs"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    recorder = item.config.stash.get(RECORDER, None)
    before = seconds() if recorder else None
    done = yield
    if recorder:
        recorder.add(item, seconds() - before)
    return done


def pytest_sessionfinish(session):
    recorder = session.config.stash.get(RECORDER, None)
    if recorder:
        recorder.write()
