"""Pages of classes move rare parameters into a section of their own, and lose none."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest
from estimator_cases import CLASSES

from sparsemix import MixtureRegressor

PATH = Path(__file__).parents[2] / "doc" / "_extensions" / "everyday.py"


@pytest.fixture
def everyday():
    spec = importlib.util.spec_from_file_location("everyday", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def section(lines, title):
    """Names of the entries of a section, in order."""
    text = "\n".join(lines)
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text, re.DOTALL | re.MULTILINE)
    return re.findall(r"^(\w+) :", found.group(1), re.MULTILINE) if found else []


@pytest.mark.parametrize("cls", CLASSES)
def test_everyday_parameters_come_first_and_none_is_lost(everyday, cls):
    lines = inspect.getdoc(cls).split("\n")
    by_hand = section(lines, "Other Parameters")
    documented = section(lines, "Parameters")
    everyday.fold_parameters(None, "class", "", cls, None, lines)
    common, rare = section(lines, "Parameters"), section(lines, "Other Parameters")
    assert sorted(common + rare) == sorted(documented + by_hand) == sorted(cls().get_params(deep=False))
    assert len(common) <= everyday.MOST
    if not by_hand:
        assert common == [name for name in documented if name in everyday.PARAMETERS or not rare]


def test_the_lists_name_what_exists(everyday):
    assert {"n_components", "random_state"} <= everyday.PARAMETERS
    assert {name for cls in CLASSES for name in cls().get_params(deep=False)} >= everyday.PARAMETERS
    assert set(everyday.METHODS) <= {name for cls in [*CLASSES, MixtureRegressor] for name in dir(cls)}
