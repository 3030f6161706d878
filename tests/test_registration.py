"""Every public name is in every list that a user or a general test reads; one test names all missing entries.

Estimators have most lists, metrics have tables of wrong input and of random cases, and every name is on the API page.
"""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import estimator_cases
import fuzz_estimators
import fuzz_functions
import test_architecture
import test_documentation
import test_fits_over_blocks
import test_mixture_metrics
import test_sklearn_checks
import test_topic_metrics
from plans import takes_blocks
from sklearn.base import RegressorMixin

import sparsemix
from sparsemix import MixtureRegressor, blocks, metrics

ROOT = Path(__file__).parents[1]
ESTIMATORS = [
    cls for name in sparsemix.__all__
    if inspect.isclass(cls := getattr(sparsemix, name)) and hasattr(cls, "fit") and hasattr(cls, "score")
    and not issubclass(cls, RegressorMixin)
]  # fmt: skip
# They wrap an estimator, whose settings are in the lists, and learn from X and y: tests/mixture has their contracts.
WRAPPERS = [MixtureRegressor]
CLASSES = {
    "CASES of tests/estimator_cases.py": estimator_cases.CLASSES,
    "SETTINGS of tests/estimators/test_sklearn_checks.py": [
        type(est) for est in [*(each[0] for each in test_sklearn_checks.SETTINGS), *test_sklearn_checks.WHOLE]
    ],
    "FAMILIES of tests/estimators/test_documentation.py": [
        cls for family in test_documentation.FAMILIES.values() for cls in family
    ],
    "CLASSES of tests/fuzz/fuzz_estimators.py": fuzz_estimators.CLASSES,
}
BY_BLOCKS = {
    "BY_BLOCKS of tests/fuzz/fuzz_estimators.py": fuzz_estimators.BY_BLOCKS,
    "CASES of tests/scale/test_fits_over_blocks.py": [type(each) for each in test_fits_over_blocks.CASES.values()],
}
PAGES = ["README.md", "CHANGELOG.md", "doc/api.rst", "doc/user_guide", "benchmarks/compare.py"]
METRICS = {name: getattr(metrics, name) for name in metrics.__all__}
# By parameter: tables of tests/metrics that try wrong input. A metric with none of these is in the last one.
WRONG_INPUT = {
    "topics": ("ON_TOPICS of tests/metrics/test_topic_metrics.py", test_topic_metrics.ON_TOPICS),
    "X": ("ON_COUNTS of tests/metrics/test_topic_metrics.py", test_topic_metrics.ON_COUNTS),
    "": ("ON_MIXTURES of tests/metrics/test_mixture_metrics.py", test_mixture_metrics.ON_MIXTURES),
}


def read(page):
    """Text of a file, or of all files of a folder."""
    path = ROOT / page
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.suffix in (".rst", ".py"))
    return "\n".join(each.read_text(encoding="utf-8") for each in files)


def test_every_estimator_is_in_every_list():
    assert len(ESTIMATORS) > 5
    missing = [f"{cls.__name__}: {name}" for name, listed in CLASSES.items() for cls in ESTIMATORS if cls not in listed]
    for cls in WRAPPERS:
        missing += [f"{cls.__name__}: {page}" for page in PAGES[:-1] if cls.__name__ not in read(page)]
    for cls in ESTIMATORS:
        missing += [f"{cls.__name__}: {page}" for page in PAGES if cls.__name__ not in read(page)]
        if cls in blocks_take():
            missing += [f"{cls.__name__}: {name}" for name, listed in BY_BLOCKS.items() if cls not in listed]
            missing += [] if cls.__name__ in blocks.fit.__doc__ else [f"{cls.__name__}: docstring of blocks.fit"]
    assert not missing, "add to\n" + "\n".join(missing)


def blocks_take():
    """The estimators that ``blocks.fit`` takes."""
    return [cls for cls in ESTIMATORS if takes_blocks(cls())]


def test_every_metric_is_in_every_list():
    missing, called = [], calls_in_tests("metrics")
    for name, metric in METRICS.items():
        tables = [WRONG_INPUT[each] for each in inspect.signature(metric).parameters if each in WRONG_INPUT]
        tables = [WRONG_INPUT[""]] if name in WRONG_INPUT[""][1] or not tables else tables
        tables.append(("METRICS of tests/fuzz/fuzz_functions.py", fuzz_functions.METRICS))
        missing += [f"{name}: {table}" for table, listed in tables if name not in listed]
        missing += [] if name in called else [f"{name}: a test in tests/metrics that calls it and knows its value"]
        missing += [] if re.search(rf"`{name}`", read("CHANGELOG.md")) else [f"{name}: CHANGELOG.md"]
        returns = inspect.getdoc(metric).partition("Returns\n")[2].partition("Raises\n")[0]
        if (re.search(r"\binf\b", returns) is None) == (name in fuzz_functions.MAY_BE_INFINITE):
            missing.append(f"{name}: inf in Returns and MAY_BE_INFINITE of tests/fuzz/fuzz_functions.py, or neither")
    assert not missing, "add to\n" + "\n".join(missing)


def calls_in_tests(folder):
    """Functions that the test functions of a folder call; tables outside of functions do not count."""
    found = set()
    for path in (ROOT / "tests" / folder).glob("test_*.py"):
        functions = [node for node in ast.parse(read(path)).body if isinstance(node, ast.FunctionDef)]
        calls = [node.func for function in functions for node in ast.walk(function) if isinstance(node, ast.Call)]
        found |= {call.id for call in calls if isinstance(call, ast.Name)}
    return found


def test_the_api_page_lists_every_public_name():
    listed, module = set(), None
    for line in read("doc/api.rst").splitlines():
        if line.startswith(".. currentmodule::"):
            module = import_module(line.split("::")[1].strip())
        elif found := re.fullmatch(r"   (\w+)", line):
            assert found[1] in module.__all__, f"{module.__name__} has no public {found[1]}"
            listed.add(getattr(module, found[1]))
    missing = [f"{value.__module__}: {name}" for name, value in test_architecture.PUBLIC.items() if value not in listed]
    assert not missing, "add to doc/api.rst\n" + "\n".join(missing)
