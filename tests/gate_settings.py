"""What ``gate.py`` fits: the cases of the contract suite and further estimators, each in the ways it can learn.

A new estimator or parameter joins by its case in ``estimator_cases.py``, which is read from the revision that is run.
``FURTHER`` adds what those cases leave out: known labels, noise, background, missing values, covariates, documents set
aside, more than 100 components, rows enough for births.
"""

import inspect
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone

import sparsemix
from sparsemix import (
    CollapsedLDA,
    GibbsLDA,
    GibbsNGGPMixture,
    SkipGramTopicModel,
    SparseBernoulliMixture,
    SparseDMR,
    SparseGaussianMixture,
    SparseHDP,
    SparseLDA,
    SparseMultinomialMixture,
    SparseSCVB0LDA,
    SparseVonMisesFisherMixture,
    StreamingNGGPMixture,
    blocks,
)
from sparsemix.datasets import make_skip_gram, make_sparse_lda

sys.path.insert(0, str(Path(sparsemix.__file__).parents[1] / "tests"))

from estimator_cases import CASES

# -- ways to learn


def part_of(rows, about, selection):
    """Some rows with what is known about them; held-out rows stay whole."""
    n = rows.shape[0]
    per_row = {name: np.shape(value)[:1] == (n,) and name != "validation_data" for name, value in about.items()}
    return rows[selection], {name: value[selection] if per_row[name] else value for name, value in about.items()}


def thirds(rows):
    """Slices of three blocks, the first the largest."""
    n = rows.shape[0]
    return [slice(0, n // 2), slice(n // 2, 3 * n // 4), slice(3 * n // 4, n)]


def epochs(est, n):
    """The estimator, to make so many epochs."""
    return est.set_params(max_iter=n, **({"tol": 0.0} if "tol" in est.get_params() else {}))


def weights_of(rows):
    """A weight for each row, larger than the discount of any case."""
    return np.random.default_rng(1).uniform(0.8, 1.8, rows.shape[0])


def fit(est, rows, **about):
    """One fit."""
    return est.fit(rows, **about)


def weighted(est, rows, **about):
    """A fit with weights, some of them zero."""
    weight = weights_of(rows)
    weight[::17] = 0.0
    return est.fit(rows, **about, sample_weight=weight)


def single(est, rows, **about):
    """A fit of rows in single precision."""
    return est.fit(rows.astype(np.float32), **about)


def warm(est, rows, **about):
    """A fit that continues another."""
    return epochs(epochs(est, 2).fit(rows, **about), 3).set_params(warm_start=True).fit(rows, **about)


def resumed(est, rows, **about):
    """A fit that continues from a checkpoint."""
    folder = tempfile.mkdtemp()
    try:
        epochs(clone(est), 2).fit(rows, checkpoint=folder, **about)
        return epochs(est, 4).fit(rows, checkpoint=folder, **about)
    finally:
        shutil.rmtree(folder)


def stream(est, rows, **about):
    """Three blocks."""
    for part in thirds(rows):
        some, known = part_of(rows, about, part)
        est.partial_fit(some, **known)
    return est


def small_blocks(est, rows, **about):
    """A stream of many small blocks."""
    for start in range(0, min(rows.shape[0], 130), 13):
        some, known = part_of(rows, about, slice(start, start + 13))
        est.partial_fit(some, **known)
    return est


def weighted_stream(est, rows):
    """A stream with weights."""
    return stream(est, rows, sample_weight=weights_of(rows))


def total(est, rows, **about):
    """A stream of rows that come again."""
    return stream(est.set_params(total_samples=5000.0), rows, **about)


def half_life(est, rows, **about):
    """A stream that forgets."""
    if "half_life" in est.get_params():
        return stream(est.set_params(half_life=50.0), rows, **about)
    return stream(est.set_params(step_size=("half_life", 50.0)), rows, **about)


def fit_then_stream(est, rows, **about):
    """A stream that continues a fit."""
    first, *others = (part_of(rows, about, part) for part in thirds(rows))
    est.fit(first[0], **first[1])
    for some, known in others:
        est.partial_fit(some, **known)
    return est


def steps(est, rows):
    """Steps from statistics, after a fit."""
    epochs(est, 2).fit(rows)
    est.update_from_stats(est.expected_stats(rows[: rows.shape[0] // 2]), 0.5)
    return est.update_from_stats(est.expected_stats(rows), 1.0)


def over_blocks(est, rows, sample_weight=None, **about):
    """A fit over blocks."""
    parts = thirds(rows)
    weight = None if sample_weight is None else [sample_weight[part] for part in parts]
    return blocks.fit(est, [rows[part] for part in parts], sample_weight=weight, **about)


def weighted_blocks(est, rows):
    """A fit over blocks with weights."""
    return over_blocks(est, rows, weights_of(rows))


def warm_blocks(est, rows, **about):
    """A fit over blocks that continues another."""
    over_blocks(epochs(est, 2), rows, **about)
    return over_blocks(epochs(est, 3).set_params(warm_start=True), rows, **about)


def resumed_blocks(est, rows, **about):
    """A fit over blocks that continues from a checkpoint."""
    folder, parts = tempfile.mkdtemp(), [rows[part] for part in thirds(rows)]
    try:
        blocks.fit(epochs(clone(est), 2), parts, checkpoint=folder, **about)
        return blocks.fit(epochs(est, 4), parts, checkpoint=folder, **about)
    finally:
        shutil.rmtree(folder)


WAYS = {
    "fit": fit, "weights": weighted, "single": single, "warm": warm, "checkpoint": resumed, "stream": stream,
    "small-blocks": small_blocks, "stream-weights": weighted_stream, "total": total, "half-life": half_life,
    "fit-then-stream": fit_then_stream, "steps": steps, "blocks": over_blocks, "blocks-weights": weighted_blocks,
    "blocks-warm": warm_blocks, "blocks-checkpoint": resumed_blocks,
}  # fmt: skip
OF_STREAMS = {"stream", "small-blocks", "stream-weights", "total", "half-life", "fit-then-stream"}
OF_BLOCKS = {"blocks", "blocks-weights", "blocks-warm", "blocks-checkpoint"}


def package_of(est):
    """The package of the library that an estimator is in."""
    return type(est).__module__.split(".")[1]


def ways_of(est):
    """The ways in which an estimator can learn, by its methods and parameters."""
    params, taken = est.get_params(deep=False), inspect.signature(est.fit).parameters
    missing = set()
    if not hasattr(est, "partial_fit"):
        missing |= OF_STREAMS
    if not hasattr(est, "update_from_stats"):
        missing |= OF_BLOCKS | {"steps"}
    if "checkpoint" not in taken:
        missing |= {"checkpoint"}
    if package_of(est) not in ("mixture", "clusters"):
        missing |= {"half-life"}
    needs = {"total": {"total_samples"}, "half-life": {"step_size", "half_life"}, "warm": {"warm_start"},
             "blocks-warm": {"warm_start"}}  # fmt: skip
    missing |= {way for way, names in needs.items() if names.isdisjoint(params)}
    return tuple(way for way in WAYS if way not in missing)


# -- subjects


@dataclass(frozen=True)
class Subject:
    """An estimator with rows, what its fits are told about them, and the ways in which it learns."""

    name: str
    make: Callable
    rows: object
    about: dict = field(default_factory=dict)
    ways: tuple = ()


def subject(name, estimator, rows, ways=None, **about):
    """A subject in all ways in which it can learn, or in these."""
    name = f"{package_of(estimator)}/{re.sub(r'[^A-Za-z0-9]+', '-', name)}"
    return Subject(name, lambda: clone(estimator), rows, about, tuple(ways or ways_of(estimator)))


_rng = np.random.default_rng(7)
POINTS = np.vstack([_rng.normal(3.0 * _rng.normal(size=5), 0.5 + _rng.random(), (60, 5)) for _ in range(5)])
_rng.shuffle(POINTS)
N = len(POINTS)
INCOMPLETE = POINTS.copy()
INCOMPLETE[_rng.random(POINTS.shape) < 0.15] = np.nan
INCOMPLETE[np.isnan(INCOMPLETE).all(axis=1), 0] = 0.0
LABELS = np.full(N, -1)
LABELS[::3] = POINTS[::3, 0] > np.median(POINTS[:, 0])
NOISE = _rng.random(POINTS.shape) * 0.3
NOISE_MATRICES = np.einsum("nd,de->nde", NOISE, np.eye(5)) + 0.05
GROUPS = _rng.integers(0, 6, N)
DIRECTIONS = np.abs(_rng.normal(size=(N, 12))) * (1 + 4 * np.eye(12)[GROUPS])
SPARSE = sparse.csr_array(np.where(_rng.random(DIRECTIONS.shape) < 0.5, DIRECTIONS, 0.0) + 1e-3 * np.eye(12)[GROUPS])
COUNTS = _rng.poisson(1.5 * (1 + 3 * _rng.random((6, 30))[GROUPS] ** 4)).astype(float)
FLAGS = (_rng.random((N, 10)) < (0.15 + 0.7 * (_rng.random((6, 10)) > 0.5))[GROUPS]).astype(float)
UNKNOWN_FLAGS = np.where(_rng.random(FLAGS.shape) < 0.1, np.nan, FLAGS)
MANY = np.abs(_rng.normal(size=(1500, 8))) + 6 * np.eye(8)[_rng.integers(0, 8, 1500)] * _rng.random((1500, 1))
DOCUMENTS = make_sparse_lda(200, n_features=50, n_components=4, doc_length=25, random_state=3)[0]
HELD_OUT = make_sparse_lda(40, n_features=50, n_components=4, doc_length=25, random_state=3)[0][::-1]
COVARIATES = np.column_stack([_rng.integers(2, size=200), _rng.standard_normal(200)])
WORDS = make_skip_gram(120, n_features=40, n_components=4, doc_length=15, random_state=4)[0]


def mixture(cls, k, /, **params):
    """A mixture that makes some epochs."""
    return cls(k, **{"max_iter": 6, "random_state": 0} | params)


def gaussian(k=5, /, **params):
    """A Gaussian mixture that makes some epochs."""
    return mixture(SparseGaussianMixture, k, **params)


def further_mixtures():
    """Mixtures that the contract suite does not have."""
    several = ("fit", "stream", "checkpoint", "warm")
    with_births = (*several, "single", "fit-then-stream", "blocks", "steps")
    for inference in ("vb", "em"):
        def model(k=5, inference=inference, **params):
            return gaussian(k, inference=inference, **params)

        name = f"gaussian {inference}"
        yield subject(name, model(), POINTS)
        yield subject(f"{name} missing", model(), INCOMPLETE)
        yield subject(f"{name} missing labels", model(), INCOMPLETE, several, labels=LABELS)
        yield subject(f"{name} missing noise", model(), INCOMPLETE, several, noise_variance=NOISE)
        yield subject(f"{name} missing background", model(), INCOMPLETE, several, background=0.1)
        yield subject(f"{name} labels", model(), POINTS, (*several, "weights"), labels=LABELS)
        yield subject(f"{name} noise", model(), POINTS, (*several, "weights"), noise_variance=NOISE)
        yield subject(f"{name} noise matrices", model(), POINTS, several, noise_variance=NOISE_MATRICES)
        yield subject(f"{name} noise labels", model(), POINTS, several, noise_variance=NOISE, labels=LABELS)
        yield subject(f"{name} noise background", model(), POINTS, ("fit",), noise_variance=NOISE, background=True)
        yield subject(f"{name} background", model(), POINTS, (*several, "weights"), background=True)
        yield subject(f"{name} background labels", model(), POINTS, several, background=0.1, labels=LABELS)
        yield subject(f"{name} births", model(12), POINTS, several)
        yield subject(f"{name} candidates", model(12, candidates=5, n_nonzero=2), POINTS)
        for shape in ("diag", "tied", "low_rank"):
            yield subject(f"{name} {shape} missing", model(covariance_type=shape), INCOMPLETE, several)
    diag = gaussian(110, covariance_type="diag", max_iter=3)
    yield subject("gaussian 110", diag, MANY, ("fit", "stream", "checkpoint"))
    for name, cls, rows, also in (
        ("directions", SparseVonMisesFisherMixture, DIRECTIONS, SPARSE),
        ("words", SparseMultinomialMixture, COUNTS, sparse.csr_array(COUNTS)),
        ("flags", SparseBernoulliMixture, FLAGS, sparse.csr_array(FLAGS)),
    ):
        for inference in ("em", "vb"):
            yield subject(f"{name} {inference} many", mixture(cls, 12, inference=inference), rows, with_births)
        yield subject(f"{name} sparse", mixture(cls, 5, batch_size=100), also)
        yield subject(f"{name} lists", mixture(cls, 12, candidates=3, n_nonzero=2), also)
        yield subject(f"{name} threads", mixture(cls, 5, init_params="random_from_data", n_jobs=2), also, ("fit",))
        yield subject(f"{name} no epoch", mixture(cls, 5, max_iter=0), rows, ("fit",))
        shares = {"responsibilities": np.eye(5)[np.arange(N) % 5]}
        yield subject(f"{name} given", mixture(cls, 5, init_params=rows[:5] * 0.9 + 0.05), also, ("fit", "stream"))
        yield subject(f"{name} given shares", mixture(cls, 5, init_params=shares), also, ("fit",))
    many = mixture(SparseVonMisesFisherMixture, 120, max_iter=3)
    yield subject("directions 120", many, MANY, ("fit", "stream", "blocks"))
    yield subject("flags unknown", mixture(SparseBernoulliMixture, 4), UNKNOWN_FLAGS)
    yield subject("flags binarize", mixture(SparseBernoulliMixture, 4, binarize=1.0), DIRECTIONS, several)


def further_topics():
    """Topic models that the contract suite does not have."""
    short = {"max_iter": 4, "batch_size": 40, "random_state": 0}
    watched = ("fit", "weights", "checkpoint", "blocks", "blocks-checkpoint")
    for sampler in ("dense", "gibbs", "mhw"):
        model = SparseSCVB0LDA(4, sampler=sampler, **short)
        yield subject(f"scvb0 {sampler} held out", model, DOCUMENTS, (*watched, "warm"), validation_data=HELD_OUT)
        stopping = clone(model).set_params(early_stopping=True, max_iter=30)
        yield subject(f"scvb0 {sampler} stopping", stopping, DOCUMENTS, watched)
        yield subject(f"scvb0 {sampler} 110", clone(model).set_params(n_components=110), DOCUMENTS, ("fit", "stream"))
        yield subject(f"scvb0 {sampler} memoized", clone(model).set_params(learning_method="memoized"), DOCUMENTS)
    yield subject("scvb0", SparseSCVB0LDA(4, max_iter=5, random_state=0), DOCUMENTS)
    yield subject("scvb0 priors", SparseSCVB0LDA(
        4, doc_topic_prior="learned", topic_word_prior="learned", **short
    ), DOCUMENTS)  # fmt: skip
    yield subject("scvb0 mini-epochs", SparseSCVB0LDA(4, mini_epoch=(60, 2), **short), DOCUMENTS)
    yield subject("hdp", SparseHDP(12, **short), DOCUMENTS)
    yield subject("hdp held out", SparseHDP(12, **short), DOCUMENTS, watched, validation_data=HELD_OUT)
    dmr = SparseDMR(4, **short)
    yield subject("dmr covariates", dmr, DOCUMENTS, covariates=COVARIATES)
    held_out = {"covariates": COVARIATES, "validation_data": HELD_OUT}
    yield subject("dmr covariates held out", dmr, DOCUMENTS, watched, **held_out)
    lda = SparseLDA(4, **short)
    yield subject("lda", lda, DOCUMENTS)
    yield subject("lda 110", clone(lda).set_params(n_components=110), DOCUMENTS, ("fit", "stream"))
    yield subject("lda memory", clone(lda).set_params(warm_documents=100, n_restarts=1), DOCUMENTS)
    priors = clone(lda).set_params(doc_topic_prior="learned", topic_word_prior="learned")
    yield subject("lda priors", priors, DOCUMENTS)
    for inference in ("cvb0", "cvb", "gibbs"):
        yield subject(f"collapsed {inference}", CollapsedLDA(
            4, inference=inference, max_iter=6, random_state=0
        ), DOCUMENTS)  # fmt: skip
    chains = GibbsLDA(4, n_chains=2, max_iter=6, burn_in=3, thin=1, random_state=0)
    yield subject("chains two", chains, DOCUMENTS)
    for name, params in {"skip-gram": {}, "skip-gram mhw": {"sampler": "mhw"}, "skip-gram annealed": {
        "annealing": (5.0, 1.0, 0.5)}, "skip-gram mini-epochs": {"mini_epoch": (40, 2)}}.items():  # fmt: skip
        yield subject(name, SkipGramTopicModel(4, n_words=40, window=3, **short, **params), WORDS)


def further_clusters():
    """Mixtures of unknown size that the contract suite does not have."""
    for name, rows in (("numbers", POINTS), ("documents", DOCUMENTS.astype(float))):
        yield subject(f"stream {name}", StreamingNGGPMixture(random_state=0), rows)
        yield subject(f"stream {name} one pass", StreamingNGGPMixture(max_iter=1, random_state=0), rows)
        shards = StreamingNGGPMixture(n_shards=2, max_iter=1, random_state=0)
        yield subject(f"stream {name} shards", shards, rows, ("fit", "weights"))
        chains = GibbsNGGPMixture(n_chains=2, max_iter=6, burn_in=3, thin=1, random_state=0)
        yield subject(f"chains {name}", chains, rows)
    learned = GibbsNGGPMixture("diag", concentration_prior=(2.0, 0.5), discount=0.3, max_iter=5, random_state=0)
    yield subject("chains learned", learned, POINTS)
    limited = StreamingNGGPMixture("full", max_components=4, merge_every=20, n_nonzero=2, random_state=0)
    yield subject("stream limited", limited, POINTS)


SUBJECTS = [
    *(subject(f"case {case.name}", case.estimator, case.data.rows) for case in CASES),
    *further_mixtures(), *further_topics(), *further_clusters(),
]  # fmt: skip
