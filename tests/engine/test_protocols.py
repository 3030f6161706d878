"""Everybody that the engine works with fulfils its protocol: the same names, calls that go through, all attributes."""

import importlib
import inspect
import pkgutil
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import sparsemix
from sparsemix import (
    CollapsedLDA,
    GibbsNGGPMixture,
    SkipGramTopicModel,
    SparseGaussianMixture,
    SparseLDA,
    SparseSCVB0LDA,
)
from sparsemix import StreamingNGGPMixture as Streaming
from sparsemix._engine import protocols
from sparsemix._engine.schedules import Batch, Memoized, MiniEpochs, Stochastic
from sparsemix._rows.blocks import Rows
from sparsemix._rows.documents import Documents
from sparsemix._rows.sequences import Sequences
from sparsemix._stats.families import GAUSSIANS
from sparsemix.datasets import make_skip_gram

# What a class has to define to be taken for one that wants to fulfil a protocol.
MARKS = {
    protocols.Model: {"local_step", "global_step"},
    protocols.SequentialModel: {"sweep", "recount"},
    protocols.Sampler: {"visit", "accumulate"},
    protocols.Schedule: {"batches", "absorb"},
    protocols.Rows: {"buffer", "load"},
    protocols.Family: {"posterior", "item_divergences"},
    protocols.Fitted: {"keep", "table"},
}


def classes():
    """Every class that the package defines."""
    for info in pkgutil.walk_packages(sparsemix.__path__, "sparsemix."):
        if info.name.endswith("__main__") or "_kernels" in info.name:
            continue
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:  # a package of an extra, which the tests of wheels do without
            if str(error.name).startswith("sparsemix"):
                raise
            continue
        for value in vars(module).values():
            if inspect.isclass(value) and value.__module__ == info.name and info.name != protocols.__name__:
                yield value


FULFILLED = [
    (protocol, value)
    for value in classes()
    for protocol, marks in MARKS.items()
    if all(hasattr(value, name) for name in marks)
]


def methods(protocol):
    return {name: value for name, value in inspect.getmembers(protocol, inspect.isfunction)
            if not name.startswith("_") or name == "__len__"}  # fmt: skip


def disagreements(wanted, found):
    """Why a call with the signature of ``wanted`` would fail for ``found``; None if it would not."""
    theirs = list(inspect.signature(found).parameters.values())
    for place, parameter in enumerate(inspect.signature(wanted).parameters.values()):
        if place >= len(theirs):
            return f"has no argument {parameter.name}"
        other = theirs[place]
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and other.name != parameter.name:
            return f"calls {parameter.name} {other.name}"
        if parameter.default is not parameter.empty and other.default is other.empty:
            return f"needs {parameter.name}"
    n = len(inspect.signature(wanted).parameters)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [p.name for p in theirs[n:] if p.default is p.empty and p.kind not in variadic]
    return f"needs {needed}" if needed else None


def test_every_protocol_has_implementations():
    assert {protocol for protocol, _ in FULFILLED} == set(MARKS)
    names = {value.__name__ for _, value in FULFILLED}
    assert {"VariationalMixture", "TopicModel", "WalkerSampler", "Documents", "Memoized", "FullGaussian"} <= names


def test_methods_can_be_called_as_the_protocol_says():
    wrong = []
    for protocol, value in FULFILLED:
        for name, wanted in methods(protocol).items():
            problem = disagreements(wanted, getattr(value, name)) if hasattr(value, name) else "is missing"
            wrong += [f"{value.__name__}.{name} {problem}"] if problem else []
    assert not wrong, "\n".join(wrong)


RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
COUNTS = RNG.poisson(1.0, (60, 12)) + 1


def values():
    """One object of each class, with its protocol."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return list(made())


def made():
    schedules = [
        Batch(9),
        Memoized(9, 3, RNG),
        Stochastic(9, 3, RNG, 0.6, 1.0, 9.0),
        MiniEpochs(9, 3, RNG, 0.6, 1.0, 9.0),
    ]
    yield from ((protocols.Schedule, value) for value in schedules)
    yield from ((protocols.Family, family(3)) for family in GAUSSIANS.values())
    yield from ((protocols.Rows, value) for value in (Rows(X), Documents(COUNTS)))
    for inference in ("vb", "em"):
        fitted = SparseGaussianMixture(3, inference=inference, random_state=0, max_iter=2).fit(X)._fitted
        yield from ((protocols.Model, fitted.model), (protocols.Fitted, fitted))
    fitted = SparseLDA(3, random_state=0, max_iter=2).fit(COUNTS)._fitted
    yield from ((protocols.Model, fitted.model), (protocols.Fitted, fitted))
    for sampler in ("dense", "gibbs", "mhw"):
        fitted = SparseSCVB0LDA(3, sampler=sampler, random_state=0, max_iter=2).fit(COUNTS)._fitted
        yield from ((protocols.Model, fitted.model), (protocols.Fitted, fitted))
        yield protocols.Sampler, fitted.model.later_sampler
    words = make_skip_gram(20, n_features=12, n_components=3, doc_length=8, random_state=0)[0]
    yield protocols.Rows, Sequences(words, 12)
    for sampler in ("dense", "mhw"):
        fitted = SkipGramTopicModel(3, sampler=sampler, random_state=0, max_iter=2).fit(words)._fitted
        yield from ((protocols.Model, fitted.model), (protocols.Fitted, fitted))
        yield protocols.Sampler, fitted.model.sampler
    for inference in ("gibbs", "mhw"):
        fitted = SkipGramTopicModel(3, inference=inference, random_state=0, max_iter=2).fit(words)._fitted
        yield protocols.SequentialModel, fitted.model
    for method in ("cvb0", "cvb", "gibbs"):
        fitted = CollapsedLDA(3, inference=method, random_state=0, max_iter=2).fit(COUNTS)._fitted
        yield protocols.SequentialModel, fitted.model


@pytest.mark.parametrize(
    ("protocol", "value"), [pytest.param(*pair, id=f"{pair[0].__name__}-{type(pair[1]).__name__}") for pair in values()]
)
def test_attributes_are_there(protocol, value):
    assert isinstance(value, protocol)


@pytest.mark.parametrize(("estimator", "settings"), [(Streaming, {"max_iter": 2}), (GibbsNGGPMixture, {"max_iter": 2})])
def test_models_of_clusters_have_all_attributes(estimator, settings, monkeypatch):
    """These models exist only during a fit."""
    seen, module = [], importlib.import_module(estimator.__module__)
    original = module.run
    monkeypatch.setattr(module, "run", lambda model, *args: seen.append(model) or original(model, *args))
    estimator(random_state=0, **settings).fit(COUNTS)
    assert seen
    assert all(isinstance(model, protocols.SequentialModel) for model in seen)
