"""Fixtures of several files, and which parameters of a test the quick tests take."""

import signal
from itertools import groupby

import pytest

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


# Of each test so many of its parameters are quick, spread over all of them; the others are slow.
QUICK_PARAMETERS = 4


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(items):
    """Mark what ``-m "not slow"`` leaves out, beside what tests say of themselves."""
    for _, same in groupby(items, lambda item: item.nodeid.partition("[")[0]):
        same = [item for item in same if not item.get_closest_marker("slow")]
        step = -(-len(same) // QUICK_PARAMETERS)
        for place, item in enumerate(same):
            if place % max(1, step):
                item.add_marker(pytest.mark.slow)
