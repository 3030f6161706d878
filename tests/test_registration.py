"""Every public estimator is in every list that a user or a general test reads; one test names all missing entries."""

import inspect
from pathlib import Path

import estimator_cases
import fuzz_estimators
import test_documentation
import test_fits_over_blocks
import test_sklearn_checks

import sparsemix
from sparsemix import blocks

ROOT = Path(__file__).parents[1]
ESTIMATORS = [
    cls for name in sparsemix.__all__
    if inspect.isclass(cls := getattr(sparsemix, name)) and hasattr(cls, "fit") and hasattr(cls, "score")
]  # fmt: skip
CLASSES = {
    "CASES of tests/estimator_cases.py": estimator_cases.CLASSES,
    "SETTINGS of tests/estimators/test_sklearn_checks.py": [type(each[0]) for each in test_sklearn_checks.SETTINGS],
    "FAMILIES of tests/estimators/test_documentation.py": [
        cls for family in test_documentation.FAMILIES.values() for cls in family
    ],
    "CLASSES of tests/fuzz/fuzz_estimators.py": fuzz_estimators.CLASSES,
}
BY_BLOCKS = {
    "BY_BLOCKS of tests/fuzz/fuzz_estimators.py": fuzz_estimators.BY_BLOCKS,
    "CASES of tests/scale/test_fits_over_blocks.py": [type(each) for each in test_fits_over_blocks.CASES.values()],
}
PAGES = ["README.md", "CHANGELOG.md", "doc/api.rst", "doc/user_guide", "benchmarks/compare.py", "benchmarks/asv_suite"]
# Clusters that grow have no benchmark of each commit; benchmarks/clusters.py measures them.
EXCEPT = {("StreamingNGGPMixture", "benchmarks/asv_suite"), ("GibbsNGGPMixture", "benchmarks/asv_suite")}


def read(page):
    """Text of a file, or of all files of a folder."""
    path = ROOT / page
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.suffix in (".rst", ".py"))
    return "\n".join(each.read_text(encoding="utf-8") for each in files)


def test_every_estimator_is_in_every_list():
    assert len(ESTIMATORS) > 5
    missing = [f"{cls.__name__}: {name}" for name, listed in CLASSES.items() for cls in ESTIMATORS if cls not in listed]
    for cls in ESTIMATORS:
        unnamed = {page for page in PAGES if cls.__name__ not in read(page)}
        missing += [f"{cls.__name__}: {page}" for page in PAGES if page in unnamed - excepted(cls)]
        if cls in blocks_take():
            missing += [f"{cls.__name__}: {name}" for name, listed in BY_BLOCKS.items() if cls not in listed]
            missing += [] if cls.__name__ in blocks.fit.__doc__ else [f"{cls.__name__}: docstring of blocks.fit"]
    assert not missing, "add to\n" + "\n".join(missing)


def blocks_take():
    """The estimators that ``blocks.fit`` takes."""
    return [cls for cls in ESTIMATORS if hasattr(cls, "_refuse_blocks")]


def excepted(cls):
    """Pages that need not name a class."""
    return {page for name, page in EXCEPT if name == cls.__name__}
