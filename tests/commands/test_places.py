"""Where in a book, and in which books of a shelf, the command finds topics: its tables, and the data of its report."""

import csv
import json
import re

import numpy as np
import pytest

from sparsemix.__main__ import main

THEMES = [["apple", "pear", "plum", "cherry"], ["river", "lake", "ocean", "brook"]]


def prose(theme, n_words, seed=0):
    words = np.random.default_rng(seed).choice(THEMES[theme], n_words)
    return " ".join(" ".join(words[i : i + 10]) + "." for i in range(0, n_words, 10))


def chapter(number, theme, n_words=400):
    return f"Chapter {number}\n\n{prose(theme, n_words, number)}"


BOOKS = {
    "four chapters": ("Fruit and water.", [(1, 0), (2, 1), (3, 1), (4, 0)]),
    "two parts": ("", [(1, 0), (2, 1), (3, 1), (1, 1), (2, 0), (3, 0)]),
    "many chapters": ("", [(n, n % 2) for n in range(1, 63)]),
}


@pytest.fixture
def run(tmp_path, capsys):
    def command(path, *options):
        main(["topics", str(path), "--output", str(tmp_path / "out"), "--max-df", "1.0", "--min-df", "1",
              "--n-components", "2", "--passages", "100", "--n-jobs", "1", "--max-iter", "20", *options])  # fmt: skip
        capsys.readouterr()
        found = re.search(r'id="data">(.*?)</script>', (tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
        return tmp_path / "out", json.loads(found[1])

    return command


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path, book):
    start, chapters = BOOKS[book]
    n_words = 800
    path.write_text("\n\n".join([start, *(chapter(n, theme, n_words) for n, theme in chapters)]))
    return path


@pytest.mark.parametrize("book", ["four chapters", "two parts"])
def test_a_book_has_shares_by_chapter(run, tmp_path, book):
    """Chapters in their order, each once, with the shares of chapters.csv."""
    out, data = run(write(tmp_path / "book.txt", book), "--format", "text")
    assert not (out / "by_position.csv").exists()
    (stratum,) = data["strata"]
    rows, chapters = table(out / "by_chapter.csv"), table(out / "chapters.csv")
    assert list(rows[0])[:5] == ["chapter", "passages", "topic", "name", "share"]
    titles = [row["chapter"] or "before the first chapter" for row in chapters]
    bins = stratum["bins"]
    assert len(bins) == len(chapters) == len(BOOKS[book][1]) + (book == "four chapters")
    assert [label.partition(" (")[0] for label in bins] == titles
    assert len(set(bins)) == len(bins)
    if book == "two parts":
        assert bins[3:] == ["Chapter 1 (2)", "Chapter 2 (2)", "Chapter 3 (2)"]
    shares = {(row["chapter"], row["topic"]): float(row["share"]) for row in rows}
    for label, row in zip(bins, chapters, strict=True):
        assert shares[label, row["topic"]] == pytest.approx(float(row["document_share"]), abs=1e-3)
    (out / "names.csv").write_text("topic,name\n0,fruit\n")
    main(["report", str(out), "--names", str(out / "names.csv")])
    assert {row["name"] for row in table(out / "by_chapter.csv")} == {"", "fruit"}


@pytest.mark.parametrize("book", ["no chapters", "many chapters"])
def test_a_book_without_chapters_or_with_very_many_has_shares_by_position(run, tmp_path, book):
    path = tmp_path / "book.txt"
    if book in BOOKS:
        write(path, book)
    else:
        path.write_text(prose(0, 1000) + prose(1, 1000))
    out, _ = run(path, "--format", "text")
    rows = table(out / "by_position.csv")
    assert list(rows[0])[:5] == ["position", "passages", "topic", "name", "mean_share"]  # no mean of few documents
    assert len(rows) == 20
    assert not (out / "by_chapter.csv").exists()


@pytest.mark.parametrize("n_books", [3, 31])
@pytest.mark.parametrize("group", [None, "folder"])
def test_a_shelf_has_shares_by_document(run, tmp_path, n_books, group):
    """Of at most thirty documents, without groups; documents of one name have their numbers."""
    for i in range(n_books):
        folder = tmp_path / "shelf" / f"part {i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"book {i:02d}.txt").write_text(prose(i % 2, 400, i))
    out, data = run(tmp_path / "shelf", *(["--group", group] if group else []))
    kinds = [stratum["kind"] for stratum in data["strata"]]
    first = "group" if group else "document"
    assert re.match(r"\d+ passages", dict(data["facts"])["held out"])
    assert kinds == ([] if group is None and n_books > 30 else [first]) + ["position"]
    for kind in ("group", "document"):
        assert (out / f"by_{kind}.csv").exists() == (kind in kinds)
    if "document" in kinds:
        rows = table(out / "by_document.csv")
        assert list(rows[0])[:5] == ["document", "passages", "topic", "name", "share"]
        documents = {row["id"]: row for row in table(out / "documents.csv")}
        assert data["strata"][0]["bins"] == list(documents)
        for row in rows:
            expected = dict(pair.split(":") for pair in documents[row["document"]]["topics"].split())
            assert float(row["share"]) == pytest.approx(float(expected.get(row["topic"], 0)), abs=0.011)


def test_documents_of_one_name_are_told_apart(run, tmp_path):
    (tmp_path / "a.csv").write_text("id,text\n" + "".join(f"same,{prose(i % 2, 400, i)}\n" for i in range(3)))
    _, data = run(tmp_path / "a.csv", "--id", "id")
    assert data["strata"][0]["bins"] == ["1: same", "2: same", "3: same"]


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_the_report_has_the_runs_that_find_a_topic(run, tmp_path, runs):
    (tmp_path / "a.txt").write_text("\n".join(prose(i % 2, 20, i) for i in range(100)))
    out, data = run(tmp_path / "a.txt", "--format", "lines", "--passages", "0", "--runs", str(runs))
    found, stability = ({str(topic["id"]): topic[name] for topic in data["topics"]} for name in ("found", "stability"))
    for row in table(out / "topics.csv"):
        shown = found[row["topic"]]
        assert row["found_again"] == ("" if runs == 1 else f"{shown[0]}/{shown[1]}")
        assert (shown is None) == (runs == 1)
        assert row["stability"] == ("" if runs == 1 else str(stability[row["topic"]]))
