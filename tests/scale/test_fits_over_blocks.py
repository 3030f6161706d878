"""One fit over blocks in this process: what it finds, that it learns as ``fit`` does, checkpoints, memory, errors."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from functools import cache
from itertools import pairwise
from pathlib import Path

import forms
import numpy as np
import pytest
from fitted import assert_same_bits, few_epochs
from killed import Killed, killed_after
from plans import without_hooks
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from topic_cases import LEARNED

import sparsemix
from sparsemix import (
    SparseBernoulliMixture,
    SparseGaussianMixture,
    SparseLDA,
    SparseMixedMixture,
    SparseMultinomialMixture,
    SparseSCVB0LDA,
    SparseVonMisesFisherMixture,
    blocks,
)
from sparsemix._engine.loop import Hook
from sparsemix._estimator import progress
from sparsemix._estimator.blockwise import LocalExecutor
from sparsemix.datasets import make_sparse_lda
from sparsemix.mixture._recipe import GaussianRecipe
from sparsemix.topics import _start

pytestmark = few_epochs
K, V, D = 4, 60, 3
COUNTS = sparse.csr_array(make_sparse_lda(400, n_features=V, n_components=K, doc_length=40, random_state=0)[0])
ROWS = np.random.default_rng(0).normal(size=(500, D)) + 4.0 * np.random.default_rng(1).integers(0, K, (500, 1))
FAR = np.vstack([ROWS[:K], 1000.0 + np.arange(16.0 * D).reshape(16, D)])  # means of which most have no rows
GIVEN = np.random.default_rng(2).gamma(1.0, size=(K, V)) + 0.1


def mixture(**params):
    defaults = {"n_components": K, "n_nonzero": 2, "max_iter": 4, "tol": 0.0, "random_state": 0}
    return SparseGaussianMixture(**(defaults | params))


def lda(**params):
    return SparseLDA(K, **({"n_nonzero": 2, "max_iter": 4, "tol": 0.0, "random_state": 0} | params))


def scvb0(**params):
    return SparseSCVB0LDA(K, **({"max_iter": 3, "random_state": 0} | params))


def directions(**params):
    defaults = {"n_components": K, "n_nonzero": 2, "max_iter": 4, "tol": 0.0, "random_state": 0}
    return SparseVonMisesFisherMixture(**(defaults | params))


def words(**params):
    return SparseMultinomialMixture(K, **({"n_nonzero": 2, "max_iter": 4, "tol": 0.0, "random_state": 0} | params))


def flags(**params):
    return SparseBernoulliMixture(K, **({"n_nonzero": 2, "max_iter": 4, "tol": 0.0, "random_state": 0} | params))


def mixed(**params):
    columns = [("diag", list(range(ROWS.shape[1]))), ("poisson", [ROWS.shape[1]])]
    defaults = {"columns": columns, "n_nonzero": 2, "max_iter": 4, "tol": 0.0, "random_state": 0}
    return SparseMixedMixture(K, **(defaults | params))


CASES = {
    "mixture batch": mixture(learning_method="batch"),
    "mixture memoized": mixture(batch_size=120),
    "mixture online": mixture(learning_method="online", batch_size=40),
    "mixture em": mixture(inference="em", covariance_type="diag"),
    "mixture lists": mixture(n_components=10, candidates=3, batch_size=200),
    "mixture lists starts": mixture(n_components=10, candidates=3, batch_size=200, n_init=2),
    "mixture sticks": mixture(weight_concentration_prior_type="dirichlet_process", covariance_type="spherical"),
    "mixture tied starts": mixture(covariance_type="tied", n_init=2, init_params="kmeans"),
    "mixture zero mean": mixture(covariance_type="zero_mean", learning_method="online"),
    "mixture low rank": mixture(covariance_type=("low_rank", 1), batch_size=120),
    "mixture tied spherical": mixture(covariance_type="tied_spherical", learning_method="batch"),
    "mixture means": mixture(init_params=ROWS[:K], learning_method="batch"),
    "mixture births": mixture(n_components=20, init_params=FAR),
    "mixture births lists": mixture(n_components=20, init_params=FAR, candidates=3, batch_size=100),
    "mixture births online": mixture(n_components=20, init_params=FAR, learning_method="online", batch_size=100),
    "lda batch": lda(learning_method="batch"),
    "lda memoized priors": lda(**LEARNED, batch_size=100),
    "lda online": lda(learning_method="online", batch_size=30),
    "lda dense cold": lda(n_nonzero=None, warm_documents=False, init_params="random"),
    "lda restarts": lda(n_restarts=1, init_params="bregman", learning_method="batch"),
    "scvb0": scvb0(),
    "scvb0 large steps": scvb0(batch_size=150),
    "scvb0 priors": scvb0(**LEARNED, batch_size=50),
    "scvb0 averaged": scvb0(batch_size=100, n_averaged_iter=2, max_iter=4),
    "scvb0 dense memoized": scvb0(sampler="dense", learning_method="memoized", init_params="em", batch_size=90),
    "scvb0 gibbs memoized": scvb0(learning_method="memoized", init_params=GIVEN, batch_size=90),
    "directions own": directions(concentration_type="own", learning_method="batch", inference="vb"),
    "directions memoized": directions(batch_size=120),
    "directions sparse": directions(n_components=10, candidates=3, batch_size=120, inference="vb"),
    "words memoized": words(batch_size=120),
    "words online lists": words(learning_method="online", batch_size=60, candidates=2, n_nonzero=1, inference="vb"),
    "flags memoized": flags(batch_size=120),
    "flags online lists": flags(learning_method="online", batch_size=60, candidates=2, inference="vb"),
    "mixed memoized": mixed(batch_size=120),
    "mixed online lists": mixed(learning_method="online", batch_size=60, candidates=2, inference="vb"),
    "scvb0 mhw": scvb0(sampler="mhw", init_params="uniform", batch_size=25, max_iter=8),
}


def rows_for(est):
    if isinstance(est, SparseBernoulliMixture):
        return (COUNTS > 0).astype(float)
    if isinstance(est, SparseMixedMixture):
        return np.column_stack([ROWS, np.arange(len(ROWS)) % 7])
    dense = isinstance(est, SparseVonMisesFisherMixture) and est.candidates != 3
    return ROWS if dense or isinstance(est, SparseGaussianMixture) else COUNTS


def cut(X):
    """Blocks of 0, 1 and many rows."""
    bounds = [0, 0, 1, 110, 230, 230, 350, X.shape[0]]
    return [X[a:b] for a, b in pairwise(bounds)]


@cache
def over_blocks(name):
    """A fit of a setting, which its tests read and do not change."""
    est = clone(CASES[name])
    assert blocks.fit(est, cut(rows_for(est))) is est
    return est


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_a_fit_over_blocks_is_as_good_as_one_over_rows(name):
    est, X = over_blocks(name), rows_for(CASES[name])
    whole = clone(est).fit(X)
    for attribute in ("n_samples_seen_", "n_features_in_", "n_iter_"):
        assert getattr(est, attribute) == getattr(whole, attribute)
    of_blocks, of_rows = [est.score(X)], [whole.score(X)]
    for seed in (1, 2):  # starts differ, so the best of three count
        other = clone(CASES[name]).set_params(random_state=seed)
        of_blocks.append(blocks.fit(clone(other), cut(X)).score(X))
        of_rows.append(other.fit(X).score(X))
    assert max(of_blocks) > max(of_rows) - 0.25
    assert len(est.history_) == est.n_iter_
    np.testing.assert_allclose(blocks.score(est, cut(X)), est.score(X), rtol=1e-9)
    assert set(vars(est)) == set(vars(whole)) - {"labels_"}  # no trace of blocks, and none of rows
    np.testing.assert_array_equal(est.n_features_in_, X.shape[1])


@pytest.mark.parametrize("name", ["mixture means", "lda batch given", "lda priors given"])
def test_batch_learning_over_blocks_is_that_over_rows(name):
    """From the same start, results agree but for the order of sums."""
    params = {"init_params": GIVEN, "learning_method": "batch"} | (LEARNED if "priors" in name else {})
    est = CASES[name] if name in CASES else lda(**params)
    X = rows_for(est)
    whole, over = clone(est).fit(X), blocks.fit(clone(est), cut(X))
    np.testing.assert_allclose(over.lower_bounds_, whole.lower_bounds_, rtol=2e-4)  # small counts go by block
    np.testing.assert_allclose(over.score(X), whole.score(X), rtol=1e-3)


def test_bounds_rise():
    names = "mixture batch", "mixture memoized", "lda batch", "mixture lists", "mixture low rank"
    names += "directions own", "words memoized"
    for name in names:
        est = blocks.fit(clone(CASES[name]).set_params(max_iter=8), cut(rows_for(CASES[name])))
        assert (np.diff(est.lower_bounds_) > -1e-6 * abs(est.lower_bound_)).all(), name


@pytest.mark.parametrize("name", ["mixture births", "mixture births lists", "mixture births online"])
def test_dead_components_are_born_again(name):
    """As in ``fit``: without births four components would live."""
    alive = (blocks.fit(clone(CASES[name]), cut(ROWS)).weights_ > 0.1 / 20).sum()
    assert alive >= (clone(CASES[name]).fit(ROWS).weights_ > 0.1 / 20).sum() - 1
    assert alive > K


@pytest.mark.parametrize("name", ["mixture births", "mixture births lists"])
def test_births_that_lower_the_bound_are_taken_back(name, births_never_gain):
    """The memory of rows is restored too; without lists, which are recomputed, an undone epoch leaves no trace."""
    est = clone(CASES[name]).set_params(degrees_of_freedom_prior=ROWS.shape[1] + 2)  # else learned in some epochs
    over = blocks.fit(clone(est).set_params(max_iter=5), cut(ROWS))
    assert births_never_gain == [2, 3, 5]
    assert np.diff(over.lower_bounds_).min() >= -1e-8 * np.abs(over.lower_bounds_).max()
    if "lists" not in name:
        with pytest.MonkeyPatch.context() as patch:
            without_hooks(patch, GaussianRecipe, Hook)
            without = blocks.fit(clone(est).set_params(max_iter=2), cut(ROWS))
        np.testing.assert_array_equal(over.means_, without.means_)


def test_births_look_for_the_components_of_all_rows():
    """Rows of the start have no lists; what a few random components led them to was cut in wrong places."""
    centres = np.stack(np.meshgrid(*[20.0 * np.arange(6)] * 3), axis=-1).reshape(-1, 3)
    X = make_blobs(3000, centers=centres, random_state=0)[0]
    params = {"n_components": len(centres), "n_nonzero": 1, "covariance_type": "spherical", "max_iter": 6}
    params |= {"init_params": "random_from_data", "learning_method": "batch"}
    lists, everything = (
        blocks.fit(mixture(candidates=candidates, **params), [X[:1000], X[1000:]]) for candidates in (3, "all")
    )
    assert lists.score(X) > everything.score(X) - 0.05  # half a nat was lost


def test_blocks_are_remembered_documents_too():
    """With one iteration a visit, warm documents continue, and cold ones repeat their first iteration."""
    est = lda(learning_method="batch", max_doc_update_iter=1, doc_update_tol=0.0, init_params=GIVEN, n_nonzero=None)
    bounds = [blocks.fit(clone(est).set_params(warm_documents=warm), cut(COUNTS)).lower_bounds_
              for warm in (True, False)]  # fmt: skip
    assert bounds[0][0] == bounds[1][0]  # nothing is remembered yet
    assert bounds[0][-1] > bounds[1][-1] + 100


@pytest.mark.parametrize("name", CASES)
def test_neither_threads_nor_checkpoints_change_a_bit(name, tmp_path, monkeypatch):
    X = rows_for(CASES[name])
    data = cut(X)
    whole, threaded = over_blocks(name), clone(CASES[name]).set_params(n_jobs=3)
    revive = killed_after(2, monkeypatch)
    with pytest.raises(Killed):
        blocks.fit(clone(threaded), data, checkpoint=tmp_path)
    revive()
    assert_same_bits(whole, blocks.fit(threaded, data, checkpoint=tmp_path, resume=True), X)


def test_weights_are_those_of_rows():
    weight = np.random.default_rng(3).integers(0, 3, len(ROWS)).astype(float)
    weight[110:230] = 0.0  # a whole block
    data = cut(ROWS)
    bounds = np.cumsum([len(block) for block in data])[:-1]
    est = mixture(init_params=ROWS[:K], learning_method="batch")
    over = blocks.fit(clone(est), data, sample_weight=np.split(weight, bounds))
    assert_same_bits(over, blocks.fit(clone(est), data, sample_weight=weight), ROWS)
    whole = clone(est).fit(ROWS, sample_weight=weight)
    np.testing.assert_allclose(over.lower_bound_, whole.lower_bound_, rtol=1e-7)
    np.testing.assert_allclose(over.means_, whole.means_, rtol=1e-5)
    assert over.n_samples_seen_ == whole.n_samples_seen_ == (weight > 0).sum()


@few_epochs
@pytest.mark.parametrize("method", ["batch", "memoized", "online"])
@pytest.mark.parametrize("make", [mixture, lda, directions, words])
def test_a_block_may_weigh_next_to_nothing(make, method):
    """Some rows of a fit may have almost no weight, and so may a block; their sum may not."""
    est = make(learning_method=method, random_state=0)
    X = COUNTS if make in (lda, words) else ROWS[:400]
    parts, weight = [X[:300], X[300:]], [np.ones(300), np.full(100, 1e-40)]
    blocks.fit(est, parts, sample_weight=weight)
    assert np.isfinite(est.score(X))
    with pytest.raises(ValueError, match=r"all weights together are 4e-38; they must be at least 1e-30: multiply"):
        blocks.fit(clone(est), parts, sample_weight=[np.full(len(w), 1e-40) for w in weight])


@pytest.mark.parametrize(("size", "n_iter"), [(100, 6), (None, 5)])
def test_starts_from_some_documents_take_as_many_epochs_as_in_a_fit(size, n_iter, monkeypatch):
    """The number of epochs follows from all documents, not only from those in memory."""
    if size is not None:
        monkeypatch.setattr(_start, "EM_SIZE", 0.0)
        monkeypatch.setattr(_start, "EM_LEAST_DOCUMENTS", size)
    est = lda(max_iter=1, init_params="em")
    fits = [lambda: blocks.fit(clone(est), cut(COUNTS)), lambda: clone(est).fit(COUNTS)]
    default = [fit() for fit in fits]
    for n, same in ((n_iter, True), (11 - n_iter, False)):
        monkeypatch.setattr(_start, "EM_PASSES", n)
        monkeypatch.setattr(_start, "EM_PASSES_OF_SUBSET", n)
        for est, fit in zip(default, fits, strict=True):
            assert np.array_equal(est.components_, fit().components_) == same


def test_steps_of_an_epoch():
    for steps, found in ((1, 1), (3, 3), (40, 40)):
        seen = []
        with pytest.MonkeyPatch.context() as patch:
            original = LocalExecutor.collect
            patch.setattr(LocalExecutor, "collect", lambda self, *args, o=original: seen.append(1) or o(self, *args))  # noqa: B023
            blocks.fit(lda(max_iter=2), cut(COUNTS), steps=steps)
        assert len(seen) == 2 * found


def test_a_step_reads_a_block_once():
    """Parts of a block follow each other."""
    read = []

    class Noted(blocks.Blocks):
        def __len__(self):
            return 5

        def _read(self, i):
            read.append(i)
            return COUNTS[80 * i : 80 * i + 80]

    blocks.fit(scvb0(batch_size=10, max_iter=3), Noted())
    assert len(read) < 5 * (3 + 3) + 5  # the first look, the sample, epochs
    with pytest.raises(IndexError):
        Noted()[5]


def test_last_epochs_are_averaged_with_nothing_remembered():
    """As in ``fit``: documents are cold in the first averaged epoch."""
    est = CASES["scvb0 averaged"]
    forgotten = []
    with pytest.MonkeyPatch.context() as patch:
        original = LocalExecutor.forget
        patch.setattr(LocalExecutor, "forget", lambda self: forgotten.append(self.n_visited) or original(self))
        averaged = blocks.fit(clone(est), cut(COUNTS))
    assert forgotten == [0, 800]  # in the beginning, and before the first averaged epoch
    plain = blocks.fit(clone(est).set_params(n_averaged_iter=0), cut(COUNTS))
    assert np.abs(averaged.components_ - plain.components_).max() > 0.1


def test_held_out_documents_end_a_fit_over_blocks(tmp_path, monkeypatch):
    """As in ``fit``: by the same documents, with the best topics kept, and from a checkpoint to the same bits."""
    held_out, learned = COUNTS[:50], cut(COUNTS[50:])
    est = scvb0(max_iter=300, batch_size=40)
    whole = clone(est).fit(COUNTS[50:], validation_data=held_out)
    over = blocks.fit(clone(est), learned, validation_data=held_out)
    for each in (whole, over):
        assert each.converged_
        assert each.n_iter_ < 300
        scores = {step["n_iter"]: step["score"] for step in each.history_ if "score" in step}
        assert max(scores.values()) - scores[each.best_iter_] < 0.05
        np.testing.assert_allclose(each.score(held_out), scores[each.best_iter_], atol=1e-6)
    assert abs(over.score(held_out) - whole.score(held_out)) < 0.05
    assert set(vars(over)) == set(vars(whole))
    revive = killed_after(2, monkeypatch)
    with pytest.raises(Killed):
        blocks.fit(clone(est), learned, validation_data=held_out, checkpoint=tmp_path)
    revive()
    with pytest.raises(ValueError, match="is of another fit: data was"):
        blocks.fit(clone(est), learned, validation_data=COUNTS[:40], checkpoint=tmp_path)
    resumed = blocks.fit(clone(est), learned, validation_data=held_out, checkpoint=tmp_path, resume=True)
    assert_same_bits(over, resumed, COUNTS)
    with pytest.raises(TypeError, match="SparseLDA does not use validation_data"):
        blocks.fit(lda(), learned, validation_data=held_out)


def test_one_block_and_one_matrix_are_data():
    whole = blocks.fit(lda(), [COUNTS])
    assert_same_bits(whole, blocks.fit(lda(), COUNTS), COUNTS)
    one = blocks.fit(SparseGaussianMixture(1, random_state=0), ROWS[:1])
    np.testing.assert_allclose(one.means_, ROWS[:1])


def test_warm_starts_continue():
    est = blocks.fit(lda(init_params="em", learning_method="batch", warm_start=True), cut(COUNTS))
    before = est.lower_bound_
    assert blocks.fit(est, cut(COUNTS)).lower_bound_ > before
    est = blocks.fit(mixture(learning_method="batch", warm_start=True), cut(ROWS))
    before = est.lower_bound_
    assert blocks.fit(est, cut(ROWS)).lower_bound_ > before - 1e-6 * abs(before)


def test_results_are_made_when_they_are_asked_for():
    est = blocks.fit(lda(), cut(COUNTS))
    parts = blocks.transform(est, cut(COUNTS))
    assert len(parts) == 7
    np.testing.assert_array_equal(np.concatenate(list(parts)), est.transform(COUNTS))
    est = blocks.fit(mixture(), cut(ROWS))
    assert blocks.transform(est, cut(ROWS))[3].shape == (120, K)
    parts = list(blocks.transform(est, [*cut(ROWS), ROWS[:0]]))
    np.testing.assert_array_equal(sparse.vstack(parts).toarray(), est.transform(ROWS).toarray())
    assert {type(part) for part in parts} == {type(est.transform(ROWS))}


# -- errors


def test_wrong_rows_are_named_by_block_and_row_and_nothing_is_lost():
    bad = ROWS.copy()
    bad[120, 1] = np.inf
    est = blocks.fit(mixture(), cut(ROWS))
    before = est.means_.copy()
    with pytest.raises(ValueError, match="block 3: Input X contains infinity in row 10, column 1"):
        blocks.fit(est, cut(bad))
    np.testing.assert_array_equal(est.means_, before)
    with pytest.raises(ValueError, match="block 3: X has 2 features, but SparseGaussianMixture is expecting 3"):
        blocks.fit(est, [ROWS[:5], ROWS[5:6], ROWS[:0], ROWS[:, :2]])
    counts = COUNTS.toarray().astype(float)
    counts[1, 2] = -1
    with pytest.raises(ValueError, match=r"block 2: Negative values.*row 0 of X"):
        blocks.fit(lda(), cut(counts))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "data has no blocks"),
        ([ROWS[:0]], "data has no rows"),
        ([COUNTS[:3] * 0], "no document of data has a token"),
    ],
)
def test_nothing_to_learn_from(data, message):
    with pytest.raises(ValueError, match=message):
        blocks.fit(lda(), data)


def test_whole_data_in_memory_or_on_disk_are_cut_into_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("sparsemix.blocks._readers.arrays.BLOCK_BYTES", 8 * 3 * 100)
    est = mixture()
    wanted = blocks.fit(clone(est), blocks.from_arrays(ROWS, rows=100))
    data = []
    if forms.PANDAS:
        import pandas as pd

        data.append(pd.DataFrame(ROWS))
    if forms.POLARS:
        import polars as pl

        data.append(pl.DataFrame(ROWS))
    if forms.ARROW:
        import pyarrow as pa

        data.append(pa.table({f"x{j}": ROWS[:, j] for j in range(3)}))
    for module in ("h5py", "zarr"):
        with contextlib.suppress(ImportError):
            package = __import__(module)
            if module == "h5py":
                file = package.File(tmp_path / "a.h5", "w")
                file["rows"] = ROWS
                data.append(file["rows"])
            else:
                data.append(package.array(ROWS, chunks=(64, 3)))
    for X in data:
        fitted = blocks.fit(clone(est), X)
        vars(fitted).pop("feature_names_in_", None)
        assert_same_bits(wanted, fitted, ROWS)


def test_what_is_a_file_names_its_reader(tmp_path):
    cases = {
        "cells.h5ad": r"data is the path 'cells\.h5ad'; read it with blocks\.from_h5ad",
        "a.csv": "read it with a reader of sparsemix.blocks",
    }
    for path, message in cases.items():
        for data in (path, [path, path], Path(path)):
            with pytest.raises(TypeError, match=message):
                blocks.fit(lda(), data)
    with pytest.raises(ValueError, match=r"data is a list of rows, and each would be a block; give numpy\.asarray"):
        blocks.fit(mixture(), ROWS.tolist())
    with contextlib.suppress(ImportError):
        import anndata

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cells = anndata.AnnData(sparse.csr_matrix(COUNTS.astype(np.float32)))
            with pytest.raises(TypeError, match=r"data is an AnnData object; give data\.X"):
                blocks.fit(lda(), cells)
            cells.write_h5ad(tmp_path / "cells.h5ad")
            backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
            with pytest.raises(TypeError, match=r"give blocks\.from_h5ad\(.*cells\.h5ad"):
                blocks.fit(lda(), [backed])
            with pytest.raises(TypeError, match=r"give data\.X"):
                blocks.fit(lda(), backed[:20])
            with pytest.raises(TypeError, match=r"give blocks\.from_h5ad\(path\) of its file, or data\.to_memory\(\)"):
                blocks.fit(lda(), backed.X)
    if forms.ARROW:
        import pyarrow as pa
        import pyarrow.dataset

        with pytest.raises(TypeError, match=r"data is a InMemoryDataset of pyarrow; give blocks\.from_parquet"):
            blocks.fit(lda(), pyarrow.dataset.dataset(pa.table({"a": [1]})))
    if forms.POLARS:
        with pytest.raises(TypeError, match=r"data is a LazyFrame, .*data\.collect"):
            blocks.fit(lda(), forms.polars_frame(COUNTS.toarray()).lazy())


@pytest.mark.filterwarnings("ignore")
def test_views_of_single_cells_are_matrices(tmp_path):
    """Sparse and dense, in memory and of a file."""
    anndata = pytest.importorskip("anndata")
    for name, make in (("sparse", sparse.csr_matrix), ("dense", sparse.csr_array.toarray)):
        cells = anndata.AnnData(make(sparse.csr_array(COUNTS.astype(np.float32))))
        cells.write_h5ad(tmp_path / f"{name}.h5ad")
        backed = anndata.read_h5ad(tmp_path / f"{name}.h5ad", backed="r")
        wanted = blocks.fit(lda(max_iter=1), sparse.csr_array(cells.X[:50])).components_
        for view in (cells[:50].X, backed[:50].X, [cells[:50].X]):
            np.testing.assert_allclose(blocks.fit(lda(max_iter=1), view).components_, wanted, rtol=1e-5)


class Clock:
    """Ten more seconds at every look."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        self.now += 10.0
        return self.now


@pytest.mark.parametrize("verbose", [0, 1])
def test_an_epoch_shows_its_rows_and_the_time_left(verbose, monkeypatch, capsys):
    """Steps of 4 blocks of 50 and 100 rows; the epoch itself has the last line."""
    data = [COUNTS[a:b] for a, b in pairwise([0, 50, 100, 200, 300, 400])]
    wanted = blocks.fit(lda(max_iter=2), data, steps=1).components_
    monkeypatch.setattr(progress, "time", Clock())
    capsys.readouterr()
    est = blocks.fit(lda(max_iter=2, verbose=verbose), data, steps=1)
    np.testing.assert_array_equal(est.components_, wanted)
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("start from")]
    if not verbose:
        assert not lines
        return
    rows, seconds = [50, 100, 200, 300], [20, 30, 40, 50]
    for epoch in (1, 2):
        expected = [
            f"SparseLDA epoch   {epoch}/2  {n} of 400 rows in {s} s, about {s * (400 - n) / n:.0f} s left in this epoch"
            for n, s in zip(rows, seconds, strict=True)
        ]
        assert lines[5 * epoch - 5 : 5 * epoch - 1] == expected
        assert lines[5 * epoch - 1].startswith(f"SparseLDA epoch   {epoch}/2  ")
    assert len(lines) == 10


def test_invalid_data_are_refused():
    with pytest.raises(TypeError, match="data is a int; give a sequence of blocks"):
        blocks.fit(lda(), 3)
    with pytest.raises(ValueError, match="fewer than n_components"):
        blocks.fit(mixture(n_components=30), [ROWS[:10], ROWS[:10]])
    for wrong in ([np.ones(3)], np.ones(3)):
        with pytest.raises(ValueError, match="sample_weight has"):
            blocks.fit(lda(), cut(COUNTS), sample_weight=wrong)
    for wrong in (np.ones(9), np.zeros(9), np.ones(0)):
        with pytest.raises(ValueError, match=rf"block 1: sample_weight has shape \({len(wrong)},\)"):
            blocks.fit(lda(), [COUNTS[:5], COUNTS[5:]], sample_weight=[np.ones(5), wrong])
    for name in ("steps", "checkpoint_every"):
        with pytest.raises(ValueError, match=f"{name} is 0"):
            blocks.fit(lda(), cut(COUNTS), **{name: 0})
    with contextlib.suppress(ImportError):
        import dask
        import distributed  # noqa: F401

        with pytest.raises(TypeError, match=r"data is one Delayed, .*; give a list of Delayed, one per block"):
            blocks.fit(lda(), dask.delayed(COUNTS))
        with pytest.raises(TypeError, match=r"client is the text 'tcp://a:1'; give a dask\.distributed\.Client"):
            blocks.fit(lda(), cut(COUNTS), client="tcp://a:1")
    with pytest.raises(ValueError, match="resume is 'yes'"):
        blocks.fit(lda(), cut(COUNTS), resume="yes")


@pytest.mark.parametrize(
    ("est", "instead"),
    [
        (sparsemix.CollapsedLDA(), "use SparseSCVB0LDA"),
        (sparsemix.GibbsLDA(), "use SparseSCVB0LDA"),
        (sparsemix.GibbsNGGPMixture(), "use StreamingNGGPMixture"),
        (sparsemix.StreamingNGGPMixture(), "use its partial_fit"),
        (sparsemix.SkipGramTopicModel(), "use its partial_fit"),
    ],
)
def test_what_needs_all_rows_at_once_is_refused(est, instead):
    with pytest.raises(TypeError, match=instead):
        blocks.fit(est, [COUNTS])


@pytest.mark.parametrize(
    ("est", "message"),
    [
        (scvb0(early_stopping=True), "early_stopping=True sets documents aside in memory"),
        (scvb0(mini_epoch=(40, 5)), "mini_epoch visits"),
        (mixture(init_params={"responsibilities": np.ones((500, K))}), "responsibilities.* has a row for every row"),
        (words(init_params={"responsibilities": np.ones((400, K))}), "responsibilities.* has a row for every row"),
        (lda(n_nonzero=0), "n_nonzero"),
    ],
)
def test_settings_that_blocks_cannot_have(est, message):
    with pytest.raises(ValueError, match=message):
        blocks.fit(est, cut(rows_for(est)))


def test_a_checkpoint_of_other_blocks_is_refused(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    blocks.fit(lda(), cut(COUNTS), checkpoint=one)
    with pytest.raises(ValueError, match="is of another fit: data was"):
        blocks.fit(lda(), [COUNTS], checkpoint=one)
    with pytest.raises(ValueError, match="is of another fit: steps was"):
        blocks.fit(lda(), cut(COUNTS), checkpoint=one, steps=3)
    est = blocks.fit(lda(), cut(COUNTS), checkpoint=two, checkpoint_every=2)
    assert sorted(path.name for path in two.glob("[0-9]*")) == ["000001", "000002"]
    assert_same_bits(est, blocks.fit(lda(), cut(COUNTS), checkpoint=one, resume=False), COUNTS)


# -- processes


def run(program, *arguments, **options):
    path = os.pathsep.join([os.path.dirname(os.path.dirname(sparsemix.__file__)), os.path.dirname(__file__)])
    environment = os.environ | {"PYTHONPATH": path}
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program), *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, **options)


FIT = """
import sys, zlib
import numpy as np
from scipy import sparse
from sparsemix import SparseLDA, blocks
X = sparse.csr_array(np.random.default_rng(0).poisson(0.1, (2000, 200)))
est = SparseLDA(10, n_nonzero=4, max_iter=20, tol=0.0, random_state=0)
blocks.fit(est, blocks.from_arrays(X, rows=500), checkpoint=None if sys.argv[1] == "-" else sys.argv[1])
print(zlib.crc32(est.components_.T.tobytes()), est.n_iter_, repr(est.lower_bound_))
"""


@pytest.mark.slow
def test_the_next_process_continues_from_a_killed_one(tmp_path):
    whole = run(FIT, "-")
    process = run(FIT, tmp_path)
    while not list(tmp_path.glob("0*")) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)  # just after the first checkpoint
    process.communicate()
    out, _ = run(FIT, tmp_path).communicate()
    expected, _ = whole.communicate()
    assert out == expected != ""


MEMORY = """
import resource, sys
import numpy as np
from sparsemix import SparseGaussianMixture, blocks
def anonymous():
    with open("/proc/self/status") as file:
        return max(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon"))
peak = 0
class Watched(blocks.Blocks):
    def __init__(self, data):
        self.data = data
    def __len__(self):
        return len(self.data)
    def _read(self, i):
        global peak
        peak = max(peak, anonymous())
        return np.array(self.data[i])  # as a reader of files that are not mapped
X = np.load(sys.argv[1], mmap_mode="r")
est = SparseGaussianMixture(8, covariance_type="diag", n_nonzero=2, max_iter=2, tol=0.0, random_state=0)
warm = anonymous()
blocks.fit(est, Watched(blocks.from_arrays(X, rows=20_000)))
print(max(peak, anonymous()) - warm, est.n_samples_seen_)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads Linux' account of memory")
@pytest.mark.slow
def test_memory_is_that_of_a_block_and_not_of_the_file(tmp_path):
    """A file of 102 MB, blocks of 5 MB: two of them, chunks, and what a fit has anyway."""
    rows = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float32, shape=(400_000, 64))
    for start in range(0, len(rows), 100_000):
        rows[start : start + 100_000] = np.random.default_rng(start).standard_normal((100_000, 64), dtype=np.float32)
    rows.flush()
    out, _ = run(MEMORY, tmp_path / "x.npy").communicate()
    used, n_seen = map(int, out.split())
    assert n_seen == 400_000
    assert used < 48 << 20


@pytest.mark.slow
def test_importing_the_package_imports_no_optional_one():
    program = """
    import sys
    import sparsemix, sparsemix.blocks
    print([name for name in ("dask", "distributed", "h5py", "zarr") if name in sys.modules])
    """
    assert run(program).communicate()[0].strip() == "[]"
