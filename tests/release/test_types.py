"""Types of the public interface: complete for every class and function, and the same objects as without them."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
import typed_program

import sparsemix

PACKAGES = [info.name for info in pkgutil.iter_modules(sparsemix.__path__) if not info.name.startswith("_")]
MODULES = [sparsemix, *(importlib.import_module(f"sparsemix.{name}") for name in PACKAGES)]
PUBLIC = {f"{module.__name__}.{name}": getattr(module, name) for module in MODULES for name in module.__all__}
CLASSES = {value for value in PUBLIC.values() if inspect.isclass(value)}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}


def untyped(function):
    """Parameters of a function without a type, and "return" if its result has none."""
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    missing = [p.name for p in parameters if p.annotation is p.empty]
    return missing + ["return"] * (signature.return_annotation is signature.empty)


@pytest.mark.parametrize("cls", sorted(CLASSES, key=str), ids=lambda cls: cls.__name__)
def test_public_methods_are_typed(cls):
    methods = inspect.getmembers(cls, lambda member: inspect.isfunction(member) or inspect.ismethod(member))
    public = [(name, method) for name, method in methods if name == "__init__" or not name.startswith("_")]
    own = {name: method for name, method in public if inspect.unwrap(method).__module__.startswith("sparsemix")}
    assert own
    assert {name: missing for name, method in own.items() if (missing := untyped(method))} == {}


def test_public_functions_are_typed():
    assert FUNCTIONS
    assert {name: missing for name, function in FUNCTIONS.items() if (missing := untyped(function))} == {}


def test_checkers_read_the_types():
    assert (Path(sparsemix.__file__).parent / "py.typed").exists()


def test_the_typed_program_runs():
    typed_program.main()
