"""Types of the public interface: complete for every class and function, and the same objects as without them."""

import importlib
import inspect
import pkgutil
import re
import types
import typing
from pathlib import Path

import numpy as np
import pytest
import typed_program

import sparsemix
from sparsemix import _typing

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


def public_calls():
    """Name to function, for functions and for methods of classes."""
    methods = inspect.isfunction, inspect.ismethod
    for cls in CLASSES:
        for name, method in inspect.getmembers(cls, lambda member: any(kind(member) for kind in methods)):
            if name == "__init__" or not name.startswith("_"):
                yield f"{cls.__name__}.{name}", method
    yield from FUNCTIONS.items()


def annotations(function):
    """Name to the text of an annotation, as ``help`` shows it."""
    signature = inspect.signature(function)
    of = {name: p.annotation for name, p in signature.parameters.items()} | {"return": signature.return_annotation}
    return {name: inspect.formatannotation(each) for name, each in of.items() if each is not signature.empty}


def parts(annotation):
    """Number of types of a union without None, also below other types."""
    of = [each for each in typing.get_args(annotation) if each is not type(None)]
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return max([len(of) * union, *map(parts, of)])


def test_help_shows_short_names_of_types():
    shown = {(name, each): text for name, call in public_calls() for each, text in annotations(call).items()}
    private = re.compile(r"numpy\._|scipy\.\w+\._|_typing\.(?!BlocksLike)|random\.mtrand")
    assert {where: text for where, text in shown.items() if len(text) > 100 or private.search(text)} == {}
    assert str(inspect.signature(sparsemix.SparseSCVB0LDA.fit)) == (
        "(self, X: RowsLike, y: object = None, sample_weight: Weights = None, "
        "validation_data: Optional[RowsLike] = None, checkpoint: Folder = None) -> Self"
    ).replace("Optional[RowsLike]", str(_typing.RowsLike | None).removeprefix("typing."))


def test_types_of_public_calls_can_be_read():
    for name, call in public_calls():
        hints = typing.get_type_hints(inspect.unwrap(call))
        assert max(map(parts, hints.values()), default=0) <= 3, name


def test_a_short_name_holds_its_type():
    assert _typing.Seed.__value__ == int | np.random.RandomState | None
    assert (str | _typing.Array) == typing.Union[str, _typing.Array]  # noqa: UP007
