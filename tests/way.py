"""How far a reader of a fit must walk, in numbers that changes must not raise: ``way.txt``, which ``make lint`` checks.

    python tests/way.py            prints the table of this folder
    python tests/way.py --check    names the figures that are larger than in way.txt
    python tests/way.py --write    writes way.txt, after a change that lowers a figure or has to raise it

Of one fit, and of a stream of two blocks, in one thread:

- hooks: private methods that several classes of the estimator define;
- on the way: those of them that the fit enters;
- jumps: calls of the estimator to itself whose code is in another class, each pair of methods once;
- calls up: calls from a lower layer to a higher one (``LAYERS`` of ``test_architecture.py``), but for those of threads;
- up pairs: pairs of functions that make these calls;
- files, functions: those of the package that the fit enters, in any layer;
- bases: classes of the package that the estimator inherits from.

Code objects in angle brackets (lambdas, comprehensions) are no functions: versions of Python differ in them.
"""

import argparse
import ast
import gc
import re
import sys
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy import sparse
from test_architecture import FILES, PACKAGE, imported_module, imports, layer, module_name

import sparsemix

TABLE = Path(__file__).with_name("way.txt")
COLUMNS = ("hooks", "on the way", "jumps", "calls up", "up pairs", "files", "functions", "bases")
# Kinds of rows and components, whose conditions should be in few places.
KINDS = "noise", "background", "incomplete", "annotated"
# Calls from here are of functions that the caller of ``Workers`` gave: the reader of that caller has them at hand.
THREADS = f"{PACKAGE}/_rows/threads.py"
# Packages that should read what estimators publish.
READERS = "texts", "plotting", "topics._edit"
SAMPLERS = "dense_sampler.py", "gibbs_sampler.py", "walker_sampler.py", "samplers.py"
# The package may have so many more lines than the table says.
MORE_LINES = 1.01


def fits():
    """Estimators and their rows. Their numbers of epochs are fixed, so that last bits change no figure."""
    rng = np.random.default_rng(0)
    groups = np.arange(1500) % 5
    points = rng.normal(size=(1500, 6)) + 6.0 * groups[:, None]
    directions = np.abs(rng.normal(size=(1500, 6))) + 4.0 * np.eye(6)[groups]
    topics = rng.dirichlet(np.full(400, 0.1), 10)
    counts = sparse.csr_array(np.array([rng.multinomial(60, rng.dirichlet(np.full(10, 0.3)) @ topics)
                                        for _ in range(600)]))  # fmt: skip
    words = sparse.csr_array(1 + (10 * (np.arange(200) % 5)[:, None] + rng.integers(0, 10, (200, 20))))
    yield sparsemix.SparseGaussianMixture(5, max_iter=8, tol=0.0, random_state=0), points
    yield sparsemix.SparseVonMisesFisherMixture(5, max_iter=8, tol=0.0, random_state=0), directions
    yield sparsemix.SparseSCVB0LDA(10, max_iter=30, random_state=0), counts
    yield sparsemix.SparseLDA(10, max_iter=5, tol=0.0, random_state=0), counts
    yield sparsemix.SparseHDP(20, max_iter=5, random_state=0), counts
    yield sparsemix.SparseDMR(10, max_iter=5, random_state=0), counts
    yield sparsemix.SkipGramTopicModel(5, max_iter=5, random_state=0), words
    yield sparsemix.StreamingNGGPMixture("full", max_iter=2, tol=0.0, random_state=0), points[:600]


def learn(estimator, rows, method):
    """A fit, or a stream of two blocks."""
    if method == "fit":
        estimator.fit(rows)
    else:
        half = rows.shape[0] // 2
        estimator.partial_fit(rows[:half]).partial_fit(rows[half:])


# -- one fit


class Walk:
    """What a fit enters, seen by a profiler."""

    def __init__(self, estimator):
        self.estimator = estimator
        self.files, self.functions, self.methods, self.jumps, self.up = set(), set(), set(), set(), Counter()
        self.classes = [cls for cls in type(estimator).__mro__ if cls.__module__.startswith("sparsemix.")]
        self.root = f"{PACKAGE}/"

    def see(self, frame, event, _):
        """Note the entry of a function of the package."""
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<") or not code.co_filename.startswith(self.root):
            return
        self.files.add(code.co_filename)
        self.functions.add(function_of(frame))
        here = self.home(frame)
        if here is not None:
            self.methods.add(code.co_name)
        back = frame.f_back
        if back is None or not back.f_code.co_filename.startswith(self.root):
            return
        caller = back.f_code.co_filename
        if caller != THREADS and layer_of(caller) < layer_of(code.co_filename):
            self.up[function_of(back), function_of(frame)] += 1
        while back.f_code.co_name.startswith("<"):
            back = back.f_back
        there = self.home(back)
        if here is not None and there is not None and here is not there:
            self.jumps.add((function_of(back), function_of(frame)))

    def home(self, frame):
        """The class in which a method of the estimator is written; None for other functions."""
        code = frame.f_code
        if not code.co_argcount or frame.f_locals.get(code.co_varnames[0]) is not self.estimator:
            return None
        for cls in self.classes:
            found = vars(cls).get(code.co_name)
            found = getattr(found, "fget", None) or found
            while found is not None:
                if getattr(found, "__code__", None) is code:
                    return cls
                found = getattr(found, "__wrapped__", None)
        return None

    def figures(self):
        """The numbers by column."""
        hooks = overridden(self.classes)
        values = (len(hooks), len(hooks & self.methods), len(self.jumps), sum(self.up.values()), len(self.up),
                  len(self.files), len(self.functions), len(self.classes) - 1)  # fmt: skip
        return dict(zip(COLUMNS, values, strict=True))


def overridden(classes):
    """Names of private methods and properties that several classes define."""
    defined = Counter(name for cls in classes for name, value in vars(cls).items() if is_method(value))
    return {name for name, n in defined.items() if n > 1 and name.startswith("_") and not name.startswith("__")}


def is_method(value):
    """Whether an attribute of a class runs code when it is read or called."""
    return callable(value) or isinstance(value, (property, classmethod, staticmethod))


def function_of(frame):
    """What tells functions apart in every version of Python."""
    code = frame.f_code
    return code.co_filename, code.co_name, code.co_firstlineno


@cache
def layer_of(file):
    """The layer of a module."""
    return layer(module_name(Path(file)))


def walk(estimator, rows, method):
    """The walk of a fit. An equal one before has filled caches; the garbage collector runs no finalizers."""
    learn(type(estimator)(**estimator.get_params(deep=False)), rows, method)
    seen = Walk(estimator)
    gc.disable()
    sys.setprofile(seen.see)
    try:
        learn(estimator, rows, method)
    finally:
        sys.setprofile(None)
        gc.enable()
    return seen


# -- the package


def private_modules(reader):
    """Private modules of other packages that the modules of a package import."""
    own, found = f"sparsemix.{reader}", set()
    for path in FILES:
        if f"{module_name(path)}.".startswith(f"{own}."):
            found |= {imported_module(base, name) for base, name, _ in imports(path)}
    others = [module for module in found if module.startswith("sparsemix.") and not f"{module}.".startswith(f"{own}.")]
    return {module for module in others if "._" in module and module.count(".") > 1}


def attributes_of_models(names):
    """Attributes of a variable ``model`` in the files of these names."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in FILES if path.name in names]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return {node.attr for node in nodes if isinstance(node.value, ast.Name) and node.value.id == "model"}


def package_figures():
    """Numbers of the whole package."""
    texts = [path.read_text(encoding="utf-8") for path in FILES]
    out = {"lines of Python": sum(text.count("\n") for text in texts)}
    out |= {f"files that name {kind}": sum(bool(re.search(kind, text, re.I)) for text in texts) for kind in KINDS}
    out |= {f"private modules that {reader} imports": len(private_modules(reader)) for reader in READERS}
    out["attributes of models that visits of SCVB0 read"] = len(attributes_of_models(SAMPLERS))
    return out


# -- the table


def measured():
    """All figures by row and column; those of the package have no column."""
    table = {}
    for estimator, rows in fits():
        for method in ("fit", "partial_fit"):
            if hasattr(estimator, method):
                new = type(estimator)(**estimator.get_params(deep=False))
                table[f"{type(estimator).__name__}.{method}"] = walk(new, rows, method).figures()
    return table | {name: {"": value} for name, value in package_figures().items()}


def text_of(table):
    """The table as text."""
    walks = {name: row for name, row in table.items() if "" not in row}
    lines = [" " * 40 + "".join(f"{column:>12}" for column in COLUMNS)]
    lines += [f"{name:40}" + "".join(f"{row[column]:12}" for column in COLUMNS) for name, row in walks.items()]
    lines += [f"{name:50}  {row['']:12}" for name, row in table.items() if "" in row]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def read(text):
    """The table that a text holds."""
    header, *lines = text.splitlines()
    columns, table = re.split(r"\s{2,}", header.strip()), {}
    for line in lines:
        name, *values = re.split(r"\s{2,}", line)
        table[name] = dict(zip(columns if len(values) > 1 else [""], map(int, values), strict=True))
    return table


def worse(new, old):
    """What is larger than in the committed table, or not in it."""
    for name, row in new.items():
        for column, value in row.items():
            before = old.get(name, {}).get(column)
            what = f"{name}, {column}" if column else name
            if before is None:
                yield f"{what}: {value} is not in the table"
            elif value > before * (MORE_LINES if name.startswith("lines") else 1.0):
                yield f"{what}: {before} -> {value}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write way.txt")
    parser.add_argument("--check", action="store_true", help="fail if a figure is larger than in way.txt")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    table = measured()
    if given.write:
        TABLE.write_text(text_of(table), encoding="utf-8")
    elif given.check:
        found = list(worse(table, read(TABLE.read_text(encoding="utf-8"))))
        print("\n".join(found), end="\n" if found else "")
        return 1 if found else 0
    else:
        print(text_of(table), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
