"""Fixtures of several files."""

import signal

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
