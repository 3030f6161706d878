"""Fits that continue from a checkpoint have the bits of uninterrupted fits, and never use files of other fits."""

import errno
import json
import pickle
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from estimator_cases import over, with_methods
from fitted import assert_same_bits, few_epochs
from killed import Killed, killed_after

from sparsemix import (
    SkipGramTopicModel,
    SparseDMR,
    SparseGaussianMixture,
    SparseHDP,
    SparseLDA,
    SparseSCVB0LDA,
    blocks,
    report,
)
from sparsemix._estimator import checkpoints as folders
from sparsemix._estimator.encoding import MOVED, Decoder, Encoder, named
from sparsemix._estimator.progress import identity
from sparsemix.datasets import make_skip_gram
from sparsemix.mixture._recipe import GaussianRecipe
from sparsemix.topics._variational.recipe import VariationalRecipe

pytestmark = few_epochs
ADDITIVE = with_methods("update_from_stats")
K, V = 5, 40
X = np.random.default_rng(0).poisson(0.4, (150, V))
ROWS = np.random.default_rng(0).normal(size=(400, 3)) + 4 * np.random.default_rng(1).integers(0, 3, (400, 1))


def killed_and_resumed(make, rows, folder, n, monkeypatch):
    revive = killed_after(n, monkeypatch)
    with pytest.raises(Killed):
        make().fit(rows, checkpoint=folder)
    revive()
    return make().fit(rows, checkpoint=folder)


@over(ADDITIVE)
def test_fits_of_the_default_number_of_epochs_continue(case, tmp_path, monkeypatch):
    """The default may be None, which the data replace."""
    rows, params = case.data.rows, {"max_iter": type(case.estimator)().max_iter}
    params |= {"tol": 1e-2} if case.has("tol") else {}
    again = killed_and_resumed(lambda: case.make(**params), rows, tmp_path, 1, monkeypatch)
    assert_same_bits(case.make(**params).fit(rows), again, rows)
    assert_same_bits(again, case.make(**params).fit(rows, checkpoint=tmp_path), rows)


@over(ADDITIVE)
def test_a_fit_continues_to_the_same_bits(case, tmp_path, monkeypatch):
    rows = case.data.rows
    whole = case.with_epochs(4).fit(rows)
    assert_same_bits(whole, case.with_epochs(4).fit(rows, checkpoint=tmp_path / "never killed"), rows)
    for n in (1, 3):
        again = killed_and_resumed(lambda: case.with_epochs(4), rows, tmp_path / str(n), n, monkeypatch)
        assert_same_bits(whole, again, rows)
        assert again.n_iter_ == len(again.history_) == 4
        assert again.n_samples_seen_ == whole.n_samples_seen_


def test_fits_of_word_sequences_continue_too(tmp_path, monkeypatch):
    words = make_skip_gram(30, n_features=12, n_components=3, doc_length=8, random_state=0)[0]
    for sampler in ("dense", "mhw"):

        def make(sampler=sampler):
            return SkipGramTopicModel(3, sampler=sampler, random_state=0, max_iter=4)

        again = killed_and_resumed(make, words, tmp_path / sampler, 2, monkeypatch)
        np.testing.assert_array_equal(make().fit(words).components_, again.components_)
    with pytest.raises(ValueError, match="has no checkpoints"):
        SkipGramTopicModel(3, inference="gibbs").fit(words, checkpoint=tmp_path / "gibbs")


SETTINGS = {
    "old tables": SparseSCVB0LDA(K, sampler="mhw", init_params="bregman", batch_size=10, max_iter=5),
    "early stopping": SparseSCVB0LDA(K, early_stopping=True, max_iter=12),
    "starts": SparseGaussianMixture(3, n_init=3, max_iter=4, tol=0.0),
    "sticks": SparseGaussianMixture(6, weight_concentration_prior_type="dirichlet_process", max_iter=5, tol=0.0),
    "lists": SparseGaussianMixture(12, candidates=3, n_nonzero=2, max_iter=5, tol=0.0, batch_size=100),
    "tied": SparseGaussianMixture(3, covariance_type="tied", inference="em", max_iter=5, tol=0.0),
    "loadings": SparseGaussianMixture(12, covariance_type=("low_rank", 2), candidates=3, max_iter=5, tol=0.0),
    "packed": SparseLDA(430, n_nonzero=2, init_params="random", max_iter=4, tol=0.0),
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_every_kind_of_state_is_kept(name, n, tmp_path, monkeypatch):
    def make():
        return pickle.loads(pickle.dumps(SETTINGS[name])).set_params(random_state=np.random.RandomState(3))

    rows = ROWS if isinstance(SETTINGS[name], SparseGaussianMixture) else X
    whole, again = make().fit(rows), killed_and_resumed(make, rows, tmp_path, n, monkeypatch)
    assert_same_bits(whole, again, rows)
    assert getattr(whole, "best_iter_", None) == getattr(again, "best_iter_", None)


def test_a_fit_that_has_ended_is_read_back_and_may_continue(tmp_path, monkeypatch):
    def make(**params):
        params = {"max_iter": 3, "tol": 0.0, "random_state": 0} | params
        return SparseLDA(K, n_nonzero=2, **params)

    whole = make().fit(X, checkpoint=tmp_path)
    monkeypatch.setattr(VariationalRecipe, "plan", None)  # neither a start nor an epoch
    assert_same_bits(whole, make(n_jobs=2).fit(X, checkpoint=tmp_path), X)
    more = make(max_iter=6).fit(X, checkpoint=tmp_path)
    assert more.n_iter_ == 6
    assert more.lower_bound_ > whole.lower_bound_
    monkeypatch.undo()
    assert_same_bits(make(max_iter=6).fit(X), more, X)
    with pytest.raises(ValueError, match=r"max_iter is 5, but the fit .* has 6 epochs; raise max_iter to at least 6"):
        make(max_iter=5).fit(X, checkpoint=tmp_path)


def test_a_fit_that_has_ended_is_read_back_with_dense_output(tmp_path, monkeypatch):
    mixture = SparseGaussianMixture(K, max_iter=2, random_state=0).fit(ROWS, checkpoint=tmp_path)
    monkeypatch.setattr(GaussianRecipe, "plan", None)  # neither a start nor an epoch
    dense = SparseGaussianMixture(K, max_iter=2, dense_output=True, random_state=0).fit(ROWS, checkpoint=tmp_path)
    np.testing.assert_array_equal(dense.transform(ROWS), mixture.transform(ROWS).toarray())


@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize(("ended", "more"), [(1, 5), (3, 8), (3, 4)])
def test_longer_fits_learn_the_prior_that_shorter_ones_did_not(ended, more, in_blocks, tmp_path):
    """A longer fit leaves documents out from the beginning, and thus after the shorter fit only."""

    def fit(max_iter):
        est = SparseSCVB0LDA(K, max_iter=max_iter, random_state=0)
        return blocks.fit(est, [X[:60], X[60:]], checkpoint=tmp_path) if in_blocks else est.fit(X, checkpoint=tmp_path)

    assert fit(ended).n_iter_ == ended
    learned = fit(more)
    assert learned.n_iter_ == more
    assert (learned._fitted.model.prior_mass is not None) == (more >= 5 and not in_blocks)


@pytest.mark.parametrize("make", [SparseSCVB0LDA, SparseHDP, SparseDMR])
@pytest.mark.parametrize(("ended", "more"), [(1, 5), (3, 30), (4, 9), (9, 30), (10, 30), (11, 12)])
def test_held_out_documents_allow_more_epochs(make, ended, more, tmp_path):
    """The last epoch of the shorter fit has scores that the longer one may lack, and ends the shorter one alone."""

    def fit(max_iter, **checkpoint):
        est = make(K, max_iter=max_iter, random_state=0, n_averaged_iter=0)  # those of the longer fit come later
        return est.fit(X[20:], validation_data=X[:20], **checkpoint)

    short = fit(ended, checkpoint=tmp_path)
    assert_same_bits(short, fit(ended, checkpoint=tmp_path), X)
    whole, again = fit(more), fit(more, checkpoint=tmp_path)
    assert again.n_iter_ == whole.n_iter_ > ended
    assert_same_bits(whole, again, X)
    assert_same_bits(again, fit(more, checkpoint=tmp_path), X)


def test_two_checkpoints_are_kept(tmp_path):
    SparseLDA(K, max_iter=5, tol=0.0, random_state=0).fit(X, checkpoint=tmp_path)
    assert sorted(path.name for path in tmp_path.glob("[0-9]*")) == ["000004", "000005"]
    assert sorted(path.name for path in (tmp_path / "000005").iterdir()) == ["arrays.bin", "meta.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_nonzero": 3}, "parameter n_nonzero was '2' and is '3'"),
        ({"random_state": 1}, "parameter random_state"),
        ({"init_params": np.ones((K, V))}, "parameter init_params was"),
    ],
)
def test_another_fits_checkpoint_is_refused(change, message, tmp_path):
    est = SparseLDA(K, n_nonzero=2, max_iter=2, random_state=0).fit(X, checkpoint=tmp_path)
    before = est.components_.copy()
    with pytest.raises(ValueError, match=message):
        est.set_params(**change).fit(X, checkpoint=tmp_path)
    np.testing.assert_array_equal(est.components_, before)


def test_parameters_that_are_not_numbers_are_distinguished():
    none, true = (identity(SparseGaussianMixture(3, covariance_prior=[value]), []) for value in (None, True))
    assert none == identity(SparseGaussianMixture(3, covariance_prior=[None]), [])
    assert [name for name in none if none[name] != true[name]] == ["parameter covariance_prior"]


def test_other_data_and_another_class_are_refused(tmp_path):
    est = SparseLDA(K, max_iter=2, random_state=0).fit(X, checkpoint=tmp_path)
    for call in ({"X": X + 1}, {"X": X, "sample_weight": np.full(len(X), 2.0)}, {"X": X[:-1]}):
        with pytest.raises(ValueError, match="is of another fit: data was"):
            est.fit(**call, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="is of another fit: estimator was 'SparseLDA' and is 'SparseSCVB0LDA'"):
        SparseSCVB0LDA(K, random_state=0).fit(X, checkpoint=tmp_path)


def test_another_format_or_instruction_set_is_refused(tmp_path, monkeypatch):
    est = SparseLDA(K, max_iter=2, random_state=0).fit(X, checkpoint=tmp_path)
    monkeypatch.setattr(folders, "FORMAT", 2)
    with pytest.raises(ValueError, match="has format 1 of sparsemix"):
        est.fit(X, checkpoint=tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr("sparsemix._estimator.progress._simd.instruction_set", lambda: "abacus")
    with pytest.raises(ValueError, match=r"instruction set was .* and is 'abacus'"):
        est.fit(X, checkpoint=tmp_path)


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["meta.json", "arrays.bin"])
@pytest.mark.parametrize("spoil", [cut, flip, lambda path: path.unlink()])
def test_torn_checkpoints_are_named_and_the_one_before_is_taken(name, spoil, tmp_path):
    est = SparseLDA(K, max_iter=4, tol=0.0, random_state=0)
    whole = est.fit(X, checkpoint=tmp_path).components_.copy()
    spoil(tmp_path / "000004" / name)
    with pytest.warns(UserWarning, match=r"000004 (is incomplete|is damaged|cannot be read).*the one before is used"):
        est.fit(X, checkpoint=tmp_path)
    np.testing.assert_array_equal(est.components_, whole)


def test_without_a_complete_checkpoint_no_fit_starts(tmp_path):
    est = SparseLDA(K, max_iter=2, random_state=0).fit(X, checkpoint=tmp_path)
    for number in ("000001", "000002"):
        cut(tmp_path / number / "arrays.bin")
    message = "000001 is incomplete.*and there is no earlier checkpoint; give another folder"
    with pytest.warns(UserWarning, match="000002 is incomplete"), pytest.raises(ValueError, match=message):
        est.fit(X, checkpoint=tmp_path)


@pytest.mark.parametrize("text", ["{}", "[]", '{"format": 1}'])
def test_descriptions_that_no_fit_wrote_are_torn(text, tmp_path):
    est = SparseLDA(K, max_iter=2, tol=0.0, random_state=0)
    whole = est.fit(X, checkpoint=tmp_path).components_.copy()
    (tmp_path / "000002" / "meta.json").write_text(f"{zlib.crc32(text.encode()):08x}\n{text}")
    with pytest.warns(UserWarning, match=r"000002 is damaged: meta\.json .*; the one before is used"):
        est.fit(X, checkpoint=tmp_path)
    np.testing.assert_array_equal(est.components_, whole)


def test_foreign_folders_are_refused(tmp_path):
    est = SparseLDA(K, max_iter=1, random_state=0)
    (tmp_path / "thesis.tex").write_text("all of it")
    with pytest.raises(ValueError, match=r"'thesis.tex', which is not a checkpoint; give an empty folder"):
        est.fit(X, checkpoint=tmp_path)
    with pytest.raises(NotADirectoryError, match="is a file; give a folder"):
        est.fit(X, checkpoint=tmp_path / "thesis.tex")
    assert (tmp_path / "thesis.tex").read_text() == "all of it"
    (tmp_path / "thesis.tex").rename(tmp_path / "000001")  # a file is no checkpoint, whatever its name
    with pytest.raises(ValueError, match=r"checkpoint='.*' holds '000001', which is not a checkpoint"):
        est.fit(X, checkpoint=tmp_path)
    (tmp_path / "000001").unlink()
    for name in (".DS_Store", ".directory", "Thumbs.db", "desktop.ini"):  # of operating systems
        (tmp_path / name).touch()
    (tmp_path / "lost+found").mkdir()
    est.fit(X, checkpoint=tmp_path)
    assert (tmp_path / ".DS_Store").exists()


def test_a_full_disk_is_named_and_nothing_learned_is_lost(tmp_path, monkeypatch):
    original, calls = folders.CheckpointFolder._write, []

    def write(self, folder, state):
        calls.append(folder)
        original(self, folder, state)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folders.CheckpointFolder, "_write", write)
    est = SparseLDA(K, max_iter=5, tol=0.0, random_state=0)
    with pytest.raises(OSError, match=r"checkpoint 3 could not be written to .*No space left.*free space"):
        est.fit(X, checkpoint=tmp_path)
    assert est.n_iter_ == 3
    assert sorted(path.name for path in tmp_path.glob("[0-9]*")) == ["000001", "000002"]
    monkeypatch.undo()
    again = SparseLDA(K, max_iter=5, tol=0.0, random_state=0)
    assert_same_bits(again.fit(X), again.fit(X, checkpoint=tmp_path), X)


def test_what_a_dead_process_was_writing_is_swept(tmp_path):
    est = SparseLDA(K, max_iter=2, random_state=0)
    whole = est.fit(X, checkpoint=tmp_path).components_.copy()
    shutil.copytree(tmp_path / "000002", tmp_path / ".writing-000003")
    cut(tmp_path / ".writing-000003" / "meta.json")
    np.testing.assert_array_equal(est.fit(X, checkpoint=tmp_path).components_, whole)
    assert not (tmp_path / ".writing-000003").exists()


def test_resume_may_be_insisted_on_or_declined(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no checkpoint in"):
        folders.CheckpointFolder(tmp_path, {}, resume=True).__enter__()
    with folders.CheckpointFolder(tmp_path, {}) as folder:
        folder.save(1, {"a": 1})
    for resume, state in ((True, {"a": 1}), (False, None)):
        with folders.CheckpointFolder(tmp_path, {}, resume=resume) as folder:
            assert folder.load() == state


# -- places


@pytest.mark.parametrize("make", [str, Path])
def test_addresses_are_refused_and_homes_are_expanded(make, tmp_path, monkeypatch):
    """Wherever the package writes to a path that a caller gives."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    est = SparseLDA(K, max_iter=1, random_state=0).fit(X)
    names = [str(v) for v in range(X.shape[1])]
    vectors = SkipGramTopicModel(2, max_iter=1, random_state=0).fit([[0, 1, 0, 1, 2, 1]] * 9)
    doors = {
        "checkpoint": lambda path: SparseLDA(K, max_iter=1, random_state=0).fit(X, checkpoint=path),
        "blocks": lambda path: blocks.fit(SparseLDA(K, max_iter=1, random_state=0), [X], checkpoint=path),
        "shuffle": lambda path: blocks.shuffle([X], path),
        "report": report(est, X, names).save,
        "vectors": lambda path: vectors.save_word_vectors(path, ["a", "b", "c"]),
    }
    for name, write in doors.items():
        for scheme in ("s3", "memory"):
            with pytest.raises(ValueError, match=f"='{scheme}:/.*' is an address, .*; give a local path"):
                write(make(f"{scheme}://bucket/{name}"))
        write(make(f"~/{name}"))
        assert (tmp_path / "home" / name).exists()
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


HOLDER = """
import sys, time
from sparsemix._estimator.checkpoints import CheckpointFolder
with CheckpointFolder(sys.argv[1], {}):
    print("held", flush=True)
    time.sleep(60)
"""


def test_two_processes_do_not_share_a_folder_and_a_killed_one_leaves_it(tmp_path):
    est = SparseLDA(K, max_iter=1, random_state=0)
    fits = [lambda: est.fit(X, checkpoint=tmp_path),
            lambda: blocks.fit(est, [X], checkpoint=tmp_path, resume=False)]  # fmt: skip
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        for fit in fits:
            with pytest.raises(RuntimeError, match=rf"are in use by process {holder.pid} on .*; give each fit its own"):
                fit()
        holder.kill()
    for fit in fits:
        fit()
        fit()


# -- encoding


def round_trip(value):
    kept = []
    code = Encoder(lambda array: kept.append(array.copy(order="K")) or len(kept) - 1).encode(value)
    return Decoder(kept.__getitem__).decode(json.loads(json.dumps(code)))


def test_values_come_back_as_they_were():
    rng = np.random.default_rng(3)
    rng.random(5)
    shared = np.arange(6.0).reshape(2, 3)
    value = {
        "numbers": [1, 2**80, 0.1, float("inf"), True, None, "text", np.float32(0.1), np.int64(3)],
        "tuple": (1, (2, 3)),
        (1, 2): {3: shared},
        "arrays": [shared, np.asfortranarray(shared), np.zeros(()), np.empty((0, 3), dtype=np.int16), shared[:, ::2]],
        "dtype": np.dtype("float32"),
        "rng": rng,
    }
    again = round_trip(value)
    assert again["numbers"] == value["numbers"]
    assert [type(x) for x in again["numbers"]] == [type(x) for x in value["numbers"]]
    assert again["tuple"] == value["tuple"]
    assert again[1, 2][3] is again["arrays"][0]  # what was shared is shared
    for new, old in zip(again["arrays"], value["arrays"], strict=True):
        np.testing.assert_array_equal(new, old)
        assert (new.dtype, new.shape) == (old.dtype, old.shape)
    assert again["arrays"][1].flags.f_contiguous
    assert again["dtype"] == value["dtype"]
    np.testing.assert_array_equal(again["rng"].random(9), rng.random(9))


@pytest.mark.parametrize("name", MOVED)
def test_files_name_classes_by_the_module_they_were_in(name):
    value = Decoder().decode({"number": 0, "object": name, "state": {"dict": [[], {}]}})
    assert named(type(value)) == MOVED[name] + ":" + name.partition(":")[2] != name


def test_foreign_code_is_neither_written_nor_run():
    with pytest.raises(TypeError, match="is not part of sparsemix; a checkpoint cannot store it"):
        round_trip(shutil.rmtree)
    with pytest.raises(TypeError, match="is not part of sparsemix"):
        round_trip(lambda: 0)
    with pytest.raises(ValueError, match="os:system is not part of sparsemix"):
        Decoder().decode({"function": "os:system"})
    with pytest.raises(ValueError, match="is not part of sparsemix"):
        Decoder().decode({"number": 0, "object": "subprocess:Popen", "state": {"dict": [[], {}]}})
    with pytest.raises(ValueError, match=r"holds '.*:ArrayBlocks', an unknown type"):
        Decoder(only_state=True).decode({"object": "sparsemix.blocks._readers.arrays:ArrayBlocks", "state": 0})
    for code in ({"function": "sparsemix._estimator.checkpoints:read"}, {"method": [{"number": 0, "array": 0}, "sum"]}):
        with pytest.raises(ValueError, match=r"the saved state holds .*; it is damaged or from another version"):
            Decoder(only_state=True).decode(code)
