"""``sparsemix report --merge``: topics of one name in the model, and in the report and tables without the corpus."""

import csv
import json
from contextlib import contextmanager

import joblib
import numpy as np
import pytest
from fitted import records

from sparsemix import report
from sparsemix.__main__ import main
from sparsemix.texts._commands import names as _names
from sparsemix.topics import merge_topics

THEMES = [[f"{theme}{word}" for word in ("apple", "river", "flute", "court")] for theme in "abcdef"]
NAMES = "topic,name\n4,=water\n1,=water\n3,music\n5,music\n2,\n"
GROUPS, PLACES = [[1, 4], [3, 5]], [0, 1, 2, 3, 1, 3]


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def folder(tmp_path):
    """A run of six topics to mixtures of two of six themes, in passages with dates."""
    rng = np.random.default_rng(0)
    rows = [(2000 + i // 40, " ".join(rng.choice(THEMES[i % 6] + THEMES[i // 6 % 6], 40))) for i in range(120)]
    with (tmp_path / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("year", "text"), *rows])
    main(["topics", str(tmp_path / "texts.csv"), "--date", "year", "--n-components", "6", "--max-iter", "20",
          "--n-jobs", "1", "--output", str(tmp_path / "out"), "--n-top-words", "4", "--passages", "20",
          "--max-df", "1.0", "--runs", "2", "--quiet"])  # fmt: skip
    (tmp_path / "names.csv").write_text(NAMES)
    return tmp_path / "out"


def merge(folder):
    main(["report", str(folder), "--names", str(folder.parent / "names.csv"), "--merge"])


def shares_of(cell, n_topics, places=None):
    shares = np.zeros(n_topics)
    for entry in cell.split():
        k, share = entry.split(":")
        shares[int(k) if places is None else places[int(k)]] += float(share)
    return shares


def test_merged_topics_are_sums_in_the_model_and_all_tables(folder, capsys):
    before = {name: table(folder / name) for name in ("topics.csv", "documents.csv", "passages.csv", "over_time.csv")}
    old = joblib.load(folder / "model.joblib")
    capsys.readouterr()
    merge(folder)
    told = " ".join(capsys.readouterr().out.split())
    assert "the model has 4 topics instead of 6, with other numbers: save the names of the report again" in told
    new = joblib.load(folder / "model.joblib")
    assert new.topic_names_ == ["", "=water", "", "music"]
    texts = [row["text"] for row in table(folder.parent / "texts.csv")]
    sums = old.transform(texts) @ np.eye(4)[PLACES]
    np.testing.assert_allclose(new.transform(texts), sums, atol=2e-4)
    assert json.loads((folder / "run.json").read_text())["merged"] == [GROUPS]
    for name in ("documents.csv", "passages.csv"):
        for was, row in zip(before[name], table(folder / name), strict=True):
            shares = shares_of(was["topics"], 4, PLACES)
            np.testing.assert_allclose(shares_of(row["topics"], 4), shares, atol=1.1e-3)
            main_share = float(row["document_share"])
            assert main_share == max(shares_of(row["topics"], 4)) == shares_of(row["topics"], 4)[int(row["topic"])]
            assert row["name"] == {"1": "'=water", "3": "music"}.get(row["topic"], "")
            assert float(row["name_share"] or main_share) == main_share
            found = ("topic", "document_share", "topics", "name", "name_share")
            assert {**row, **dict.fromkeys(found)} == {**was, **dict.fromkeys(found)}
    rows = {int(row["topic"]): row for row in table(folder / "topics.csv")}
    for k, parts in enumerate([[0], [1, 4], [2], [3, 5]]):
        was = [row for row in before["topics.csv"] if int(row["topic"]) in parts]
        assert float(rows[k]["token_share"]) == pytest.approx(sum(float(row["token_share"]) for row in was), abs=2e-6)
        unknown = ("coherence", "found_again", "stability", "rising_words", "falling_words")
        if len(parts) == 1:
            assert {**rows[k], "topic": "", "repeats": ""} == {**was[0], "topic": "", "repeats": ""}
        else:
            assert {rows[k][column] for column in unknown} == {""}
    assert [rows[k]["name"] for k in range(4)] == ["", "'=water", "", "music"]
    means = {(row["period"], row["topic"]): float(row["mean_document_share"]) for row in before["over_time.csv"]}
    for row in table(folder / "over_time.csv"):
        parts = [k for k in range(6) if PLACES[k] == int(row["topic"])]
        wanted = sum(means[row["period"], str(k)] for k in parts)
        assert float(row["mean_document_share"]) == pytest.approx(wanted, rel=1e-3)


def test_the_page_is_that_of_a_report_on_the_merged_model(folder):
    """Except for what is unknown: documents that another report would choose, coherence, and changes of words."""
    old = joblib.load(folder / "model.joblib")
    words, texts = old[0].get_feature_names_out(), [row["text"] for row in table(folder.parent / "texts.csv")]
    X, dates = old[0].transform(texts), [row["year"] for row in table(folder.parent / "texts.csv")]
    page = report(old[-1], X, old[0], documents=texts, dates=dates, n_documents=200, n_top_words=3)
    smallest = [topic["id"] for topic in page.data["topics"][-2:]]  # their sum is the largest topic
    merged = merge_topics(old[-1], [smallest])
    places = [min(smallest) if k in smallest else k for k in range(6)]
    places = np.unique(places, return_inverse=True)[1].tolist()
    wanted = report(merged, X, old[0], documents=texts, dates=dates, n_documents=200, n_top_words=3)
    columns = [list(words).index(word) for word in page.data["words"]]
    found = type(page)(_names.merged_data(page.data, places, merged.components_, columns))
    assert [topic["id"] for topic in found.data["topics"]] == [topic["id"] for topic in wanted.data["topics"]]
    assert dict(found.data["facts"])["topics"] == "5"
    assert len(page.data["words"]) < len(words)
    assert found.data["tree"] == wanted.data["tree"]
    for ours, theirs in zip(records(found.table(3)), records(wanted.table(3)), strict=True):
        alike = ("topic", "words", "relevant_words") if ours["topic"] == min(smallest) else ("topic",)
        assert [ours[name] for name in alike] == [theirs[name] for name in alike]
        assert ours["token_share"] == pytest.approx(theirs["token_share"], abs=1e-4)
    for ours, theirs in zip(found.data["topics"], wanted.data["topics"], strict=True):
        np.testing.assert_allclose(ours["p"], theirs["p"], rtol=1e-3)
        np.testing.assert_allclose(ours["strata"], theirs["strata"], atol=1e-4)
        assert (ours["at"], ours["similar"]) == (theirs["at"], theirs["similar"])
        for (_, share), (_, best) in zip(ours["documents"], theirs["documents"], strict=False):
            assert share == pytest.approx(best, abs=0.02)
    by_name = {record["name"]: record for record in wanted.data["documents"]}
    marks = []
    for record in found.data["documents"]:
        same = by_name[record["name"]]
        np.testing.assert_allclose(sum(share for _, share in record["shares"]), 1, atol=0.05)
        assert record["text"] == same["text"]
        marks += [a == b for a, b in zip(record["topics"], same["topics"], strict=True)]
    assert np.mean(marks) > 0.95  # a sum may explain a word better than the likeliest part


class Full:
    """A file whose last bytes find no space."""

    def __init__(self, file):
        self.write = file.write

    def flush(self):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("wrong", ["no two", "no model of the page", "last file"])
def test_a_merge_that_fails_changes_no_file(folder, capsys, monkeypatch, wrong):
    if wrong == "no two":
        (folder.parent / "names.csv").write_text("topic,name\n0,a\n1,b\n")
    if wrong == "no model of the page":
        pipeline = joblib.load(folder / "model.joblib")
        pipeline.steps[-1] = "topics", merge_topics(pipeline[-1], [[0, 1]])
        joblib.dump(pipeline, folder / "model.joblib")
    replacing = _names.replacing

    @contextmanager
    def full(path, **options):
        with replacing(path, **options) as file:
            yield Full(file) if path.name == "over_time.csv" else file

    if wrong == "last file":
        monkeypatch.setattr(_names, "replacing", full)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        merge(folder)
    assert capsys.readouterr().err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_word_vectors_are_not_merged(folder, tmp_path, capsys):
    main(["topics", str(tmp_path / "texts.csv"), "--estimator", "SkipGramTopicModel", "--n-components", "6",
          "--max-iter", "1", "--n-jobs", "1", "--output", str(tmp_path / "vectors"), "--max-df", "1.0",
          "--quiet"])  # fmt: skip
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        merge(tmp_path / "vectors")
    assert "is a SkipGramTopicModel, whose topics cannot be changed" in capsys.readouterr().err
    assert folder.exists()
