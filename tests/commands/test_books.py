"""Books as documents of passages: the shares of chapters, books, periods and groups are those of their tokens."""

import csv
import itertools
import json

import joblib
import numpy as np
import pytest

from sparsemix.__main__ import main
from sparsemix.texts._commands.topics import split
from sparsemix.texts._reading.corpus import Fields, Words, read_corpus

THEMES = [["apple", "pear", "plum"], ["river", "lake", "ocean"], ["violin", "flute", "drum"]]


def book(seed, n_chapters):
    """Chapters of one theme each, of unequal lengths."""
    rng, chapters = np.random.default_rng(seed), []
    for n in range(n_chapters):
        words = rng.choice(THEMES[(seed + n) % 3], 900 + 300 * n).astype(object)
        words[8::9] = [f"{word}." for word in words[8::9]]
        chapters.append(f"Chapter {n + 1}\n\n{' '.join(words)}")
    return "\n\n".join(chapters)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A table of four books and the outputs of the command."""
    folder = tmp_path_factory.mktemp("shelf")
    rows = [(f"book {i}", 1900 + i // 2, "AB"[i % 2], book(i, 3 + i)) for i in range(4)]
    with (folder / "shelf.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("name", "year", "author", "text"), *rows])
    main(["topics", str(folder / "shelf.csv"), "--output", str(folder / "out"), "--topics", "3", "--max-df", "1.0",
          "--id", "name", "--date", "year", "--group", "author", "--held-out", "0.3", "--n-jobs", "1"])  # fmt: skip
    return folder


def table(folder, name):
    with (folder / "out" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def shares_of(rows):
    """Shares of the three topics in rows of a table, and their tokens."""
    shares = np.zeros((len(rows), 3))
    for row, share in zip(rows, shares, strict=True):
        for entry in row["topics"].split():
            topic, value = entry.split(":")
            share[int(topic)] = float(value)
    return shares, np.array([float(row["tokens"]) for row in rows])


def test_chapters_and_books_add_their_passages_up(shelf):
    corpus = read_corpus(shelf / "shelf.csv", words=Words(min_df=5), fields=Fields("text", "name", "year", "author"))
    shares = joblib.load(shelf / "out" / "model.joblib")["topics"].transform(corpus.counts)
    tokens = corpus.counts.sum(axis=1).A1
    passages = table(shelf, "passages")
    assert len(passages) == len(corpus.numbers) > 40
    np.testing.assert_allclose(shares_of(passages)[0], shares, atol=0.0101)
    chapters = [f"{n} {title}" for n, title in zip(corpus.numbers, corpus.texts.chapters, strict=True)]
    for name, keys in (("documents", corpus.numbers), ("chapters", chapters)):
        rows, (found, sizes) = table(shelf, name), shares_of(table(shelf, name))
        unique, first, member = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        assert len(rows) == len(unique)
        expected = np.array([tokens[member == key] @ shares[member == key] for key in order])
        np.testing.assert_array_equal(sizes, expected.sum(axis=1).round())
        np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), atol=0.0101)
    assert [row["chapter"] for row in table(shelf, "chapters")[:3]] == ["Chapter 1", "Chapter 2", "Chapter 3"]
    assert {row["chapter"] for row in passages[:3]} == {"Chapter 1"}
    positions = [[float(row["position"]) for row in passages if row["id"] == f"book {i}"] for i in range(4)]
    assert all(0 < one[0] < one[-1] < 1 and one == sorted(one) for one in positions)


def test_periods_and_groups_count_each_book_once(shelf):
    books = {row["number"]: row for row in table(shelf, "documents")}
    shares, _ = shares_of(list(books.values()))
    for name, column, field in (("over_time", "period", "date"), ("by_group", "group", "group")):
        for row in table(shelf, name):
            members = [i for i, one in enumerate(books.values()) if one[field] == row[column]]
            assert (int(row["documents"]), row["few_documents"]) == (len(members), "yes")
            mean = shares[members, int(row["topic"])].mean()
            assert float(row["mean_document_share"]) == pytest.approx(mean, abs=0.011)
    rows = table(shelf, "by_position")
    assert rows[0]["position"] == "0 to 10 %"
    assert sum(int(row["passages"]) for row in rows) == 3 * len(table(shelf, "passages"))
    page = (shelf / "out" / "report.html").read_text(encoding="utf-8")
    assert '["chapters","18 in 4 of 4 documents"]' in page
    assert '["whole documents","4"]' in page


def test_every_book_of_a_shelf_is_learned_from(shelf):
    held = {(row["id"], row["held_out"]) for row in table(shelf, "passages")}
    assert len(held) == 8
    assert {row["held_out"] for row in table(shelf, "documents")} == {"0"}


def test_held_out_passages_are_called_passages(shelf):
    facts = json.loads((shelf / "out" / "run.json").read_text(encoding="utf-8"))["facts"]
    assert facts["held out"].partition(",")[0].endswith(" passages")


def test_one_book_is_one_document(tmp_path, capsys):
    (tmp_path / "book.txt").write_text(book(0, 4), encoding="utf-8")
    options = ["--topics", "2", "--max-df", "1.0", "--runs", "1", "--n-jobs", "1", "--output", str(tmp_path / "out")]
    main(["topics", str(tmp_path / "book.txt"), "--format", "text", *options])
    assert "passages of 1 document, " in capsys.readouterr().out


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("sizes", [[1] * 50, [40], [30, 3, 3, 3], [30] * 120, [1, 9] * 60, [1, 1], [2000] + 99 * [1]])
def test_documents_are_split_whole(sizes, fraction):
    numbers = np.repeat(np.arange(len(sizes)) * 2, sizes)
    learned, held_out = split(numbers, fraction)
    assert sorted([*learned, *held_out]) == list(range(len(numbers)))
    assert len(learned) >= min(0.5, 1 - fraction) * len(numbers)
    assert (len(held_out) > 0) == (round(fraction * len(numbers)) > 0)
    assert len(sizes) < 100 or not set(numbers[learned]) & set(numbers[held_out])


@pytest.mark.parametrize("disk", [False, True])
@pytest.mark.parametrize(("n_books", "least"), [(4, 1), (9, 1), (19, 1), (20, 2), (60, 5)])
def test_a_name_in_one_book_is_no_word_of_a_shelf(tmp_path, monkeypatch, disk, n_books, least):
    """A word must be in several books if there are many, however often one book has it."""
    monkeypatch.setattr("sparsemix.texts._reading.corpus.LARGE", 0 if disk else 1 << 30)
    names = ["".join("abcdefghij"[int(digit)] for digit in f"{i:03d}") for i in range(n_books)]
    # book i has the names of itself and the books before it, so that name i is in n_books - i books
    books = [" ".join([*THEMES[i % 3] * 600, *names[: i + 1] * 30]) for i in range(n_books)]
    (tmp_path / "shelf").write_text("\n".join(books))
    words = Words(stop_words=None, min_df=5)
    corpus = read_corpus(tmp_path / "shelf", kind="lines", words=words, passages=10, scratch=lambda: str(tmp_path))
    assert (corpus.folder is not None) == disk
    assert {*corpus.feature_names} == {*itertools.chain(*THEMES), *names[: n_books - least + 1]}
    again = corpus.vectorizer.transform(corpus.texts.whole())
    assert (again != corpus.counts).nnz == 0
