"""Structure: imports point to lower layers, one module imports private parts of scikit-learn, recipes have no bases."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import sparsemix
from sparsemix._stats.families import GAUSSIANS

PACKAGE = Path(sparsemix.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py"))
SOURCES = sorted([*FILES, *PACKAGE.rglob("*.pyx"), *PACKAGE.rglob("*.pxd"), *PACKAGE.rglob("*.h")])

# Packages and the layer of each; every other module is in the top layer.
LAYERS = {
    "sparsemix._kernels": 0,
    "sparsemix._typing": 0,
    "sparsemix._version": 0,  # a constant that everyone may read
    "sparsemix._warnings": 0,
    "sparsemix._stats": 1,
    "sparsemix._rows": 2,
    "sparsemix._models": 3,
    "sparsemix._engine": 4,
    "sparsemix._heuristics": 5,
}
ESTIMATORS = 6
# Packages of the top layer, each of which may import those before it: a score knows nothing about the models.
PACKAGES = (
    "metrics", "datasets", "blocks", "mixture", "clusters", "topics", "skipgram", "texts", "plotting",
)  # fmt: skip
# Packages of the top layer that anyone could have written, and the private modules that they may import.
APPLICATIONS = ("plotting", "texts")
ROOT_OF_ALL = ("sparsemix._typing", "sparsemix._version", "sparsemix._warnings")
# Names of variables that hold models.
MODELS = {"model", "learner", "evidence_model", "plain", "one", "hard", "exact", "search"}
MOVED = {"_commands.py", "_report.py"}  # names in files of earlier versions
ROOT_MODULES = {
    "__init__.py", "__main__.py", "_compat.py", "_typing.py", "_version.py", "_warnings.py", "extend.py", *MOVED,
}  # fmt: skip
# Base classes of an estimator that are part of the package.
MOST_BASES = 3
# Arguments of a kernel.
MOST_ARGUMENTS = 16


def module_name(path):
    parts = ["sparsemix", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(module):
    """The layer of a module, which follows from the first package of its path."""
    return LAYERS.get(".".join(module.split(".")[:2]), ESTIMATORS)


def public_package(module):
    """The folder of the package that a module is in; None for those at its root, which may import all."""
    parts = module.split(".")
    return parts[1] if len(parts) > 2 or (PACKAGE / parts[-1]).is_dir() else None


def imports(path):
    """All imports of a file, wherever they stand: (module, name or None, line)."""
    module = module_name(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
                base = f"{parent}.{base}".rstrip(".")
            for alias in node.names:
                yield base, alias.name, node.lineno


def imported_module(base, name):
    """``from a import b`` is the module a.b where there is one, else the module a."""
    path = PACKAGE.joinpath(*base.split(".")[1:])
    if name is not None and ((path / f"{name}.py").exists() or (path / name / "__init__.py").exists()
                             or (path / f"{name}.pyx").exists()):  # fmt: skip
        return f"{base}.{name}"
    return base


def test_warnings_point_at_the_line_of_the_user():
    """A number of frames would depend on decorators and on who calls."""
    numbered = re.compile(r"warnings\.warn\(|stacklevel")
    assert [path.name for path in FILES if numbered.search(path.read_text(encoding="utf-8"))] == ["_warnings.py"]


def test_every_layer_has_modules():
    modules = {module_name(path) for path in FILES}
    assert {"sparsemix", "sparsemix.mixture", "sparsemix._compat", "sparsemix._estimator.base"} <= modules
    assert modules.issuperset(LAYERS)
    assert sorted({layer(module) for module in modules}) == [*range(ESTIMATORS + 1)]


def all_imports(package):
    """Imports of a package in all files: (file, module, name or None, "file:line")."""
    for path in FILES:
        for base, name, line in imports(path):
            if base.split(".")[0] == package:
                yield path, base, name, f"{path.relative_to(PACKAGE)}:{line}"


def test_imports_point_down():
    wrong = []
    for path, base, name, place in all_imports("sparsemix"):
        target = imported_module(base, name)
        if layer(target) > layer(module_name(path)):
            wrong.append(f"{place} imports {target} from a layer above")
    assert not wrong, "\n".join(wrong)


def test_scikit_learn_lives_on_the_top_layer():
    wrong = [
        f"{place} imports {base} below the estimators"
        for path, base, _, place in all_imports("sklearn")
        if layer(module_name(path)) < LAYERS["sparsemix._heuristics"]
    ]
    assert not wrong, "\n".join(wrong)


def test_only_one_module_imports_private_parts_of_scikit_learn():
    wrong = []
    for path, base, name, place in all_imports("sklearn"):
        parts = [*base.split("."), *([] if name is None else [name])]
        private = [part for part in parts if part.startswith("_") and not part.endswith("__")]
        if private and module_name(path) != "sparsemix._compat":
            wrong.append(f"{place} imports {'.'.join(parts)}; import it from sparsemix._compat")
    assert not wrong, "\n".join(wrong)


def test_packages_import_those_listed_before_them():
    wrong = []
    for path, base, name, place in all_imports("sparsemix"):
        here, target = public_package(module_name(path)), public_package(imported_module(base, name))
        if target not in PACKAGES or here is None:
            continue
        if here not in PACKAGES or PACKAGES.index(target) > PACKAGES.index(here):
            wrong.append(f"{place} imports {base}")
    assert not wrong, "\n".join(wrong)


def test_applications_import_public_names():
    """What they need, anyone who writes another application needs."""
    wrong = []
    for path, base, name, place in all_imports("sparsemix"):
        here, target = public_package(module_name(path)), imported_module(base, name)
        parts = [part for part in [*target.split("."), name or ""] if part.startswith("_") and part != "__version__"]
        if here in APPLICATIONS and public_package(target) != here and target not in ROOT_OF_ALL and parts:
            wrong.append(f"{place} imports {name or target} of {target}; what is missing belongs into sparsemix.extend")
    assert not wrong, "\n".join(wrong)


def test_applications_read_public_attributes():
    """Of all objects but their own."""
    wrong = []
    for path in (path for path in FILES if public_package(module_name(path)) in APPLICATIONS):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and re.match("_(?!_)", node.attr) and ast.unparse(node.value) != "self":
                wrong += [f"{path.relative_to(PACKAGE)}:{node.lineno} reads {ast.unparse(node)}"]
    # the seconds that the command gives a fit; what Python and another package name so
    known = ("_stop_after", "_asdict", "_getframe", "super()", "_decide")
    assert not [line for line in wrong if not any(name in line for name in known)]


def test_models_of_mixtures_are_not_written_into_from_outside():
    """Functions that need another model make one (``altered``), or call a method of the model."""
    wrong = []
    for path in (each for part in ("_heuristics", "_estimator", "mixture") for each in (PACKAGE / part).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in (each for one in targets for each in getattr(one, "elts", [one])):
                if isinstance(target, ast.Attribute) and ast.unparse(target.value).split(".")[-1] in MODELS:
                    wrong.append(f"{path.name}, line {node.lineno}: {ast.unparse(target)}")
    assert not wrong, "\n".join(wrong)


def test_the_root_shows_what_it_holds():
    assert {path.name for path in PACKAGE.glob("*.py")} == ROOT_MODULES


def test_recipes_have_no_bases():
    """A recipe is read from top to bottom; what two of them share are functions."""
    found = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Recipe"):
                bases = {ast.unparse(base) for base in node.bases}
                if "Protocol" not in bases:
                    assert not bases, f"{node.name} has the bases {bases}"
                    found.add(node.name)
    assert {"GaussianRecipe", "LinearRecipe"} <= found


def test_estimators_do_not_import_each_other():
    """An estimator's file may use its package's helpers, but no other file that defines an estimator."""
    defining = set()
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and any(
                isinstance(line, ast.AnnAssign) and line.target.id == "_parameter_constraints" for line in node.body
            ):
                defining.add(module_name(path))
    assert {"sparsemix.mixture._sparse_gaussian_mixture", "sparsemix.topics._variational.sparse_lda"} <= defining
    for path in FILES:
        module = module_name(path)
        if module in defining:
            others = {imported_module(base, name) for base, name, _ in imports(path)} & (defining - {module})
            assert not others, f"{module} imports the estimators of {others}"


def test_estimators_have_few_bases():
    """A reader of an estimator's method meets it in one of few classes."""
    bases = {
        name: [base.__name__ for base in cls.__mro__[1:] if base.__module__.startswith("sparsemix")]
        for name, cls in CLASSES.items() if hasattr(cls, "fit")
    }  # fmt: skip
    assert {"SparseGaussianMixture", "SparseSCVB0LDA"} <= set(bases)
    assert not {name: found for name, found in bases.items() if len(found) > MOST_BASES}


def test_kernels_import_nothing_of_the_package_but_kernels():
    for path in sorted([*(PACKAGE / "_kernels").rglob("*.pyx"), *(PACKAGE / "_kernels").rglob("*.pxd")]):
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[:1] in (["from"], ["import"], ["cimport"]) and words[1].split(".")[0] in ("sparsemix", "sklearn"):
                assert words[1].startswith("sparsemix._kernels"), f"{path.name}: {line}"


def test_kernels_take_few_arguments():
    """Arguments that travel together are objects, such as ``Entries`` of documents and ``Positions`` of words."""
    for path in (PACKAGE / "_kernels").rglob("*.pyx"):
        text = re.sub("#.*", "", path.read_text(encoding="utf-8"))
        for name, arguments in re.findall(r"^ *(?:def|cpdef|cdef) ([^(=\n]+)\((.*?)\)[^()\n]*:$", text, re.M | re.S):
            found = [part for part in re.sub(r"\[.*?\]", "", arguments).split(",") if part.strip()]
            assert len(found) <= MOST_ARGUMENTS, f"{path.name}: {name} takes {len(found)} arguments"


def test_only_likelihoods_compare_names_of_likelihoods():
    """Other modules ask a family for what it declares, so that a new one needs no branch elsewhere."""
    names, wrong = {*GAUSSIANS, "multinomial"}, []
    for path in FILES:
        if "_stats" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            values = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            values = [each for value in values for each in getattr(value, "elts", [value])]
            found = names & {value.value for value in values if isinstance(value, ast.Constant)}
            wrong += [f"{path.relative_to(PACKAGE)}:{node.lineno} compares with {name!r}" for name in sorted(found)]
    assert not wrong, "\n".join(wrong)


# -- what users see


def public_objects():
    """Everything in ``__all__`` of the public modules that has its own code."""
    found = {}
    for name in ["sparsemix", *(f"sparsemix.{info.name}" for info in pkgutil.iter_modules(sparsemix.__path__))]:
        if name.rpartition(".")[2].startswith("_"):
            continue
        module = importlib.import_module(name)
        assert module.__doc__, f"{name} says nothing of itself"
        for attribute in getattr(module, "__all__", []):
            value = getattr(module, attribute)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[value.__qualname__] = value
    return found


PUBLIC = public_objects()
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}


def sections(value):
    """Titles of the numpydoc sections of a docstring."""
    lines = [line.strip() for line in inspect.getdoc(value).splitlines()]
    return [title for title, rule in pairwise(lines) if rule and set(rule) == {"-"}]


def test_all_names_exist():
    assert "SparseGaussianMixture" in PUBLIC
    for name in ("sparsemix", *(f"sparsemix.{place}" for place in sparsemix.PLACES)):
        module = importlib.import_module(name)
        assert len(set(module.__all__)) == len(module.__all__)
        assert all(hasattr(module, attribute) for attribute in module.__all__)


SUBPACKAGES = """
import pkgutil, sys, sparsemix
early = sorted(name for name in sys.modules if name.partition(".")[0] in ("numpy", "scipy", "sklearn"))
early += [name for name in dir(sparsemix) if f"sparsemix.{name}" in sys.modules and name != "_version"]
assert not early, f"import sparsemix imports {early}, which takes time"
sparsemix.SparseGaussianMixture
assert "sparsemix.topics" not in sys.modules, "a mixture imports topic models, which takes time"
for info in pkgutil.iter_modules(sparsemix.__path__):
    if not info.name.startswith("_"):
        assert info.name in dir(sparsemix)
        assert getattr(sparsemix, info.name).__all__
assert not hasattr(sparsemix, "no_such_name")
"""


def test_subpackages_are_attributes_of_the_package():
    """In a new process: a subpackage that any test has imported is an attribute."""
    subprocess.run([sys.executable, "-c", SUBPACKAGES], check=True)


def test_checkers_see_the_names_that_are_imported_later():
    """The package lists them twice, since checkers read no strings."""
    tree = ast.parse(Path(sparsemix.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    seen = {(node.module, name.name) for node in imports for name in node.names if name.asname}
    names = {(f"sparsemix.{place}", name) for place, names in sparsemix.PLACES.items() for name in names}
    packages = {("sparsemix", place) for place in sparsemix.PLACES if not place.startswith("_")}
    assert seen == names | packages | {("sparsemix._version", "__version__")}
    assert all(isinstance(name, str) and hasattr(sparsemix, name) for name in sparsemix.__all__)


def test_public_objects_document_their_parameters():
    missing = []
    for name, value in PUBLIC.items():
        documented = sections(value) if value.__doc__ else []
        parameters = [p for p in inspect.signature(value).parameters if p != "self"]
        wanted = {"Parameters": bool(parameters), "Returns": inspect.isfunction(value), "Examples": True,
                  "Attributes": hasattr(value, "fit")}  # fmt: skip
        missing += [f"{name}: {title}" for title, is_wanted in wanted.items() if is_wanted and title not in documented]
        lines = inspect.getdoc(value).splitlines() if value.__doc__ else []
        named = {word for line in lines if ":" in line for word in line.split(":")[0].replace(" ", "").split(",")}
        missing += [f"{name}: {parameter}" for parameter in parameters if parameter not in named]
        missing += [] if value.__doc__ else [f"{name}: a docstring"]
    assert not missing, "\n".join(missing)


def test_public_methods_have_docstrings():
    assert not [
        f"{name}.{method_name}" for name, cls in CLASSES.items()
        for method_name, method in inspect.getmembers(cls, inspect.isfunction)
        if not method_name.startswith("_") and method.__module__.startswith("sparsemix") and not method.__doc__
    ]  # fmt: skip


# Modules whose examples use optional dependencies.
NEEDS = {
    "sparsemix.blocks._readers.parquet": ["pyarrow"],
    "sparsemix.blocks._readers.stores": ["h5py", "zarr"],
    "sparsemix.datasets._patches": ["PIL"],
    "sparsemix.plotting._curves": ["matplotlib"],
    "sparsemix.plotting._effects": ["formulaic", "matplotlib"],
    "sparsemix.plotting._eigenvectors": ["matplotlib"],
    "sparsemix.plotting._mixtures": ["matplotlib"],
    "sparsemix.plotting._topics": ["matplotlib"],
    "sparsemix.topics._covariates.effects": ["formulaic"],
    "sparsemix.topics._edit.cells": ["anndata"],
}
MODULES = [module_name(path) for path in FILES if path.name != "__main__.py"]
SLOW = {"sparsemix.datasets._docstrings"}  # reads the docstrings of several installed packages


WITH_EXAMPLES = [
    name for name, path in zip(MODULES, (path for path in FILES if path.name != "__main__.py"), strict=True)
    if ">>>" in path.read_text(encoding="utf-8")
]  # fmt: skip


@pytest.mark.parametrize(
    "module", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else []) for name in WITH_EXAMPLES]
)
def test_examples_in_docstrings_run(module):
    for package in NEEDS.get(module, ()):
        pytest.importorskip(package)
    results = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert results.attempted > 0, f"{module}: no example is found"
    assert results.failed == 0, f"{module}: an example in a docstring does not give what it says"


def test_examples_are_found():
    finder = doctest.DocTestFinder(recurse=False)
    assert not [
        name for name, value in PUBLIC.items() if not any(found.examples for found in finder.find(value, name))
    ]
