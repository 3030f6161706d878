"""documents.csv has a row for each document of the input, and warnings name what spoils topics."""

import csv
import json
from datetime import date, datetime

import numpy as np
import pytest
from scipy import sparse

from sparsemix.__main__ import main
from sparsemix.texts._reading.corpus import Words, read_corpus

FRUIT, MUSIC = "apple pear plum cherry apple plum", "violin flute drum guitar violin drum"


def run(tmp_path, path, *options):
    output = tmp_path / "out"
    main(["topics", str(path), "--output", str(output), "--max-iter", "2", "--n-components", "2", "--n-jobs", "1",
          "--force", *options])  # fmt: skip
    with (output / "documents.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file)), json.loads((output / "run.json").read_text())


def test_every_record_has_its_row_in_order(tmp_path):
    """Empty and unknown texts too, and copies, kept or dropped."""
    texts = [FRUIT, MUSIC, "", f"{FRUIT} pear", f"{MUSIC} flute", "12 34", FRUIT.upper(), f"{MUSIC} guitar", "", MUSIC]
    texts += [f"{text} {extra}" for text in (FRUIT, MUSIC) for extra in ("pear pear", "drum drum", "apple violin")]
    with (tmp_path / "table.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "text"), *((f"t{i}", text) for i, text in enumerate(texts))])
    for copies in ("keep", "drop"):
        rows, record = run(tmp_path, tmp_path / "table.csv", "--id", "id", "--copies", copies, "--max-df", "1.0",
                           "--min-df", "1", "--held-out", "0.2")  # fmt: skip
        assert [row["id"] for row in rows] == [f"t{i}" for i in range(len(texts))]
        assert [int(row["row"]) for row in rows] == [int(row["number"]) for row in rows] == [*range(1, len(texts) + 1)]
        assert {row["file"] for row in rows} == {"table.csv"}
        assert {i: row["copy_of"] for i, row in enumerate(rows) if row["copy_of"]} == {6: "1", 9: "2"}
        left_out = {i: row["left_out"] for i, row in enumerate(rows) if row["left_out"]}
        unknown = {2: "no text", 5: "no known word", 8: "no text"}
        assert left_out == (unknown if copies == "keep" else {**unknown, 6: "copy", 9: "copy"})
        assert all((row["topic"] == "") == (i in left_out) == (row["tokens"] == "0") for i, row in enumerate(rows))
        for row, text in zip(rows, texts, strict=True):
            assert row["left_out"] or int(row["tokens"]) == len(text.split())
        assert (record["input_documents"], record["documents"]) == (len(rows), len(rows) - len(left_out))


def test_places_in_files(tmp_path):
    """Files of a folder, lines of a file, records with null, files that cannot be read."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text(FRUIT)
    (folder / "b.jsonl").write_text(f'{{"text": "{MUSIC}"}}\n{{"text": null}}\n{{"text": "{FRUIT}"}}\n')
    (folder / "c.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    (folder / "d.txt").write_text("")
    corpus = read_corpus(folder, glob="*", words=Words(max_df=1.0))
    found = [(document.file, document.row, document.missing) for document in corpus.inputs]
    assert found == [
        ("a.txt", 1, ""), ("b.jsonl", 1, ""), ("b.jsonl", 2, "no text"), ("b.jsonl", 3, ""), ("c.png", 0, "not read"),
        ("d.txt", 1, "no text"),
    ]  # fmt: skip
    assert corpus.numbers.tolist() == [0, 1, 3]
    (tmp_path / "lines").write_text(f"{FRUIT}\n\n{MUSIC}\n")
    inputs = read_corpus(tmp_path / "lines", words=Words()).inputs
    assert [(document.row, document.file) for document in inputs] == [(1, "lines"), (3, "lines")]


def test_empty_cells_and_nulls_are_the_same(tmp_path):
    """They are no documents, so they do not change the shares of documents that --max-df compares."""
    texts = [FRUIT, None, MUSIC, None, f"{FRUIT} lemon", "  ", None, None]
    with (tmp_path / "table.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "text"), *((i, text or "") for i, text in enumerate(texts))])
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    words = Words(min_df=1, max_df=0.5)
    table, rows = (read_corpus(tmp_path / name, words=words) for name in ("table.csv", "rows.jsonl"))
    assert set(table.feature_names) == set(rows.feature_names) == {"violin", "flute", "drum", "guitar", "lemon"}
    assert (table.counts != rows.counts).nnz == 0
    assert [document.missing for document in table.inputs] == [document.missing for document in rows.inputs]


def test_passages_keep_empty_documents(tmp_path):
    (tmp_path / "table.csv").write_text(f"id,text\n1,{400 * FRUIT}\n2,\n3,{MUSIC}\n")
    corpus = read_corpus(tmp_path / "table.csv", words=Words(max_df=1.0), passages=300)
    assert {document.row for document in corpus.inputs} == {1, 2, 3}
    assert corpus.left_out == {"no text": 1}


def test_counts_keep_the_numbers_of_their_rows(tmp_path):
    X = sparse.csr_matrix(np.array([[1, 2, 0], [0, 0, 0], [0, 1, 3], [2, 0, 1]] * 5))
    sparse.save_npz(tmp_path / "counts.npz", X)
    (tmp_path / "words.txt").write_text("apple\npear\nplum\n")
    rows, _ = run(tmp_path, tmp_path / "counts.npz", "--vocabulary", str(tmp_path / "words.txt"))
    assert [row["number"] for row in rows] == [str(i) for i in range(1, 21)]
    assert [i for i, row in enumerate(rows) if row["left_out"]] == [1, 5, 9, 13, 17]


def test_mixed_languages_are_told(tmp_path):
    pytest.importorskip("py3langid")
    english = "the cat and the dog are in the house of this man"
    german = "der Hund und die Katze sind in dem Haus von mir"
    for name, n_german, told in (("mixed", 5, True), ("one", 1, False)):
        (tmp_path / name).write_text("\n".join([*10 * [english], *n_german * [german]]))
        found = [text for text in read_corpus(tmp_path / name, words=Words()).warnings if "several languages" in text]
        assert len(found) == told
        assert not told or "(en 10, de 5)" in found[0]


def test_short_texts_need_more_words_for_a_topic(tmp_path, capsys):
    rng = np.random.default_rng(0)
    words = [f"word{'abcdefghij'[k // 10]}{'abcdefghij'[k % 10]}" for k in range(60)]
    lines = [" ".join(rng.choice(words, 4)) for _ in range(800)]
    (tmp_path / "titles.txt").write_text("\n".join(lines))
    run(tmp_path, tmp_path / "titles.txt", "--n-components", "8")
    assert "which are short: they change with --random-state; give --n-components 3 or fewer" in capsys.readouterr().err


@pytest.mark.parametrize(("values", "written", "periods"), [
    ([1897, 1898], ["1897", "1898"], ["1897", "1898"]),
    ([datetime(1897, 1, 1), datetime(1898, 1, 1)], ["1897", "1898"], ["1897", "1898"]),
    ([datetime(1897, 1, 1), datetime(1897, 4, 1)], ["1897-01-01", "1897-04-01"], [f"1897-0{i}" for i in range(1, 5)]),
    ([date(1897, 1, 1), None], ["1897", ""], ["1897"]),
])  # fmt: skip
def test_years_and_days_of_a_table_are_written_alone(tmp_path, values, written, periods):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = [f"{text} {text}" for text in (FRUIT, MUSIC)]
    records = [{"text": texts[i % 2], "when": values[i % 2]} for i in range(20)]
    parquet.write_table(pyarrow.Table.from_pylist(records), tmp_path / "a.parquet")
    rows, _ = run(tmp_path, tmp_path / "a.parquet", "--date", "when", "--max-df", "1.0")
    assert [row["date"] for row in rows] == written * 10
    with (tmp_path / "out" / "over_time.csv").open(newline="") as file:
        assert list(dict.fromkeys(row["period"] for row in csv.DictReader(file))) == periods
    page = (tmp_path / "out" / "report.html").read_text()
    assert f'"about":["{written[0]}"]' in page
    assert "00:00" not in page
