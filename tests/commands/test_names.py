"""``sparsemix report``: names of topics in the page, the table and the model; and tables of periods and groups."""

import csv

import joblib
import numpy as np
import pytest

from sparsemix.__main__ import main
from sparsemix.texts._commands import names as _names
from sparsemix.texts._commands.names import read_report


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    themes = [["apple", "pear", "plum", "cherry"], ["guitar", "violin", "flute", "drum"]]
    rows = [(2000 + i // 20, f"g{i % 2}", " ".join(rng.choice(themes[i % 2], 12))) for i in range(60)]
    with (tmp_path / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("year", "group", "text"), *rows])
    main(["topics", str(tmp_path / "texts.csv"), "--date", "year", "--group", "group", "--n-components", "2",
          "--max-iter", "20", "--n-jobs", "1", "--output", str(tmp_path / "out"), "--n-top-words", "4"])  # fmt: skip
    return tmp_path / "out"


def test_shares_of_periods_and_groups(folder):
    """Groups have a topic each; periods are alike. Shares are the means of documents.csv."""
    documents = table(folder / "documents.csv")
    for name, column, n in (("over_time.csv", "period", 3), ("by_group.csv", "group", 2)):
        rows = table(folder / name)
        assert len(rows) == 2 * n
        for row in rows:
            key = "date" if column == "period" else "group"
            own = [document for document in documents if document[key] == row[column]]
            assert int(row["documents"]) == len(own)
            shares = [dict(p.split(":") for p in document["topics"].split()).get(row["topic"], 0) for document in own]
            mean = np.mean([float(share) for share in shares])
            assert float(row["mean_document_share"]) == pytest.approx(mean, abs=0.02)
    by_group = [float(row["mean_document_share"]) for row in table(folder / "by_group.csv")]
    assert sorted(by_group)[-2] > 0.8
    assert {"rising_words", "falling_words"} <= set(table(folder / "topics.csv")[0])


def test_names_go_to_page_table_and_model(folder, tmp_path, capsys):
    names = tmp_path / "names.csv"
    before = table(folder / "topics.csv")
    names.write_text("topic,name\n0,=fruit\n1,=fruit\n")
    main(["report", str(folder), "--names", str(names)])
    assert "1 topics are shown in" in capsys.readouterr().out
    assert read_report(folder / "report.html").data["names"] == {0: "=fruit", 1: "=fruit"}
    assert [row.pop("name") for row in table(folder / "topics.csv")] == ["'=fruit"] * 2  # no formula of a spreadsheet
    assert joblib.load(folder / "model.joblib").topic_names_ == ["=fruit", "=fruit"]
    assert joblib.load(folder / "model.joblib").transform(["apple"]).shape == (1, 2)
    names.write_text("topic,name\n1,\n")
    main(["report", str(folder), "--names", str(names)])
    assert table(folder / "topics.csv") == before
    assert read_report(folder / "report.html").data["names"] == {}


def test_wrong_names_change_nothing(folder, tmp_path, capsys):
    names = tmp_path / "names.csv"
    names.write_text("topic,name\n7,a\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for arguments in ([str(folder), "--names", str(names)], [str(folder), "--names", str(tmp_path / "no.csv")],
                      [str(tmp_path), "--names", str(names)]):  # fmt: skip
        with pytest.raises(SystemExit) as caught:
            main(["report", *arguments])
        assert caught.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_names_go_to_documents_periods_and_groups(folder, tmp_path):
    """The tables are those of the topics, with shares of one name added. An empty table of names undoes it."""
    names, tables = tmp_path / "names.csv", ("documents.csv", "over_time.csv", "by_group.csv", "topics.csv")
    before = {name: table(folder / name) for name in tables}
    names.write_text("topic;name\r\n0;Obst\r\n")
    main(["report", str(folder), "--names", str(names)])
    for old, new in zip(before["documents.csv"], table(folder / "documents.csv"), strict=True):
        assert (new["name"], new["name_share"] != "") == (("Obst", True) if old["topic"] == "0" else ("", False))
        assert {**new, "name": "", "name_share": ""} == old
    for name in ("over_time.csv", "by_group.csv"):
        for old, new in zip(before[name], table(folder / name), strict=True):
            assert new == old | {"name": "Obst" if old["topic"] == "0" else ""}
    names.write_text("topic;name\r\n0;=all\r\n1;=all\r\n")
    main(["report", str(folder), "--names", str(names)])
    for row in table(folder / "documents.csv"):
        assert (row["name"], float(row["name_share"])) == ("'=all", pytest.approx(1, abs=0.01))
    for name in ("over_time.csv", "by_group.csv"):
        rows = table(folder / name)
        assert len(rows) == len(before[name]) / 2
        assert {(len(row["topic"].split()), row["name"]) for row in rows} == {(2, "'=all")}
        assert {row["more_frequent_words"] for row in rows} == {""}
        assert all(float(row["mean_document_share"]) == pytest.approx(1, abs=1e-3) for row in rows)
    names.write_text("topic,name\n")
    main(["report", str(folder), "--names", str(names)])
    assert {name: table(folder / name) for name in tables} == before


def test_small_groups_are_marked(tmp_path):
    rows = [("big", "apple pear plum")] * 40 + [("small", "lake ocean brook")] * 19 + [("just", "lake brook")] * 20
    with (tmp_path / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("group", "text"), *rows])
    main(["topics", str(tmp_path / "texts.csv"), "--group", "group", "--n-components", "2", "--max-iter", "2",
          "--max-df", "1.0", "--output", str(tmp_path / "out")])  # fmt: skip
    found = {row["group"]: row["few_documents"] for row in table(tmp_path / "out" / "by_group.csv")}
    assert found == {"big": "", "small": "yes", "just": ""}
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count(" of 19 documents only") == 2
    assert " of 20 documents only" not in page


def test_a_name_that_cannot_be_written_changes_no_file(folder, tmp_path, monkeypatch):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (tmp_path / "names.csv").write_text("topic,name\n0,fruit\n")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_names, "renamed_documents", full)
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(folder), "--names", str(tmp_path / "names.csv")])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
