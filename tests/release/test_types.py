"""Types of the public interface: complete for every estimator, and the same objects as without them."""

import inspect
from pathlib import Path

import pytest
import typed_program

import sparsemix

CLASSES = [getattr(sparsemix, name) for name in sparsemix.__all__ if inspect.isclass(getattr(sparsemix, name))]
FUNCTIONS = [getattr(sparsemix, name) for name in sparsemix.__all__ if inspect.isfunction(getattr(sparsemix, name))]


def untyped(function):
    """Parameters of a function without a type, and "return" if its result has none."""
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    missing = [p.name for p in parameters if p.annotation is p.empty]
    return missing + ["return"] * (signature.return_annotation is signature.empty)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_public_methods_are_typed(cls):
    methods = inspect.getmembers(cls, lambda member: inspect.isfunction(member) or inspect.ismethod(member))
    public = [(name, method) for name, method in methods if name == "__init__" or not name.startswith("_")]
    own = {name: method for name, method in public if inspect.unwrap(method).__module__.startswith("sparsemix")}
    assert own
    assert {name: missing for name, method in own.items() if (missing := untyped(method))} == {}


def test_public_functions_are_typed():
    assert FUNCTIONS
    assert {function.__name__: missing for function in FUNCTIONS if (missing := untyped(function))} == {}


def test_checkers_read_the_types():
    assert (Path(sparsemix.__file__).parent / "py.typed").exists()


def test_the_typed_program_runs():
    typed_program.main()
