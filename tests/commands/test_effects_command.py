"""``sparsemix topics --effect``: fields of records as covariates, the table and the printed effects, and errors."""

import csv
import json

import joblib
import numpy as np
import pytest

from sparsemix.__main__ import main
from sparsemix.texts._commands.effects import column
from sparsemix.topics import estimate_effect

pytest.importorskip("formulaic")
THEMES = np.array([["apple", "pear", "plum", "cherry"], ["court", "judge", "law", "jury"]])
OPTIONS = ["--topics", "2", "--n-jobs", "1", "--min-df", "1", "--max-df", "1.0", "--max-iter", "10", "--runs", "1"]


@pytest.fixture(scope="module")
def records():
    """Papers of the left are about fruit. One has no party, and one no day."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(80):
        share = 0.8 if i % 2 else 0.3
        words = [THEMES[int(rng.random() > share), rng.integers(4)] for _ in range(15)]
        party, day = ("left" if i % 2 else "right"), f"{1990 + i // 4}-07-01"
        found.append({"text": " ".join(words), "party": party, "day": day, "size": i % 7})
    found[5]["party"], found[8]["day"] = "", None
    return found


def run(path, formula, *options):
    main(["topics", str(path), "--effect", formula, "--output", str(path.parent / "out"), *OPTIONS, *options])
    with (path.parent / "out" / "effects.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def written(records, path):
    with path.open("w", newline="", encoding="utf-8") as file:
        if path.suffix == ".csv":
            table = csv.DictWriter(file, records[0])
            table.writeheader()
            table.writerows(records)
        else:
            file.writelines(json.dumps(record) + "\n" for record in records)
    return path


@pytest.mark.parametrize("name", ["papers.csv", "papers.jsonl"])
def test_effects_are_those_of_the_function(records, tmp_path, capsys, name):
    rows = run(written(records, tmp_path / name), "party + s(day, df=3) + size")
    out, known = capsys.readouterr().out, [record for i, record in enumerate(records) if i not in (5, 8)]
    assert "2 documents without day or party" in out
    pipeline = joblib.load(tmp_path / "out" / "model.joblib")
    table = {name: [record[name] for record in known] for name in ("party", "size")}
    table["day"] = [int(record["day"][:4]) for record in known]
    leap = np.array(table["day"]) % 4 == 0
    table["day"] += np.where(leap, 182 / 366, 181 / 365)
    X = pipeline[0].transform([record["text"] for record in known])
    effects = estimate_effect(pipeline[-1], X, table, "party + s(day, df=3) + size")
    assert [row["term"] for row in rows[:6]] == effects.terms
    for row, expected in zip(rows, effects.table().to_dict("records"), strict=True):
        assert int(row["topic"]) == expected["topic"]
        for number in ("estimate", "std", "low", "high"):
            assert float(row[number]) == pytest.approx(expected[number], rel=1e-5)
    strongest = out.partition("strongest effects")[2].splitlines()
    row = max((row for row in rows if row["term"] == "party[T.right]"), key=lambda row: float(row["low"]))
    fruitless = f"{int(row['topic']):5d}  {float(row['estimate']):+.3f} ("
    assert any(line.startswith(fruitless) and line.endswith("party: right less left") for line in strongest[1:3])
    assert "effects.csv" in strongest[-1]


def test_functions_of_formulaic_read_fields(records, tmp_path):
    terms = [row["term"] for row in run(written(records, tmp_path / "papers.csv"), "scale(size) + poly(day, 2)")]
    assert terms[:4] == ["Intercept", "scale(size)", "poly(day, 2)[1]", "poly(day, 2)[2]"]


def test_passages_of_a_document_are_one_document(records, tmp_path):
    rows = [float(row["std"]) for row in run(written(records, tmp_path / "whole.csv"), "party") if "T." in row["term"]]
    parts = run(written(records, tmp_path / "cut.csv"), "party", "--passages", "5", "--force")
    assert np.mean([float(row["std"]) for row in parts if "T." in row["term"]]) > 0.7 * np.mean(rows)


def test_a_merge_leaves_out_effects_of_merged_topics(records, tmp_path):
    path = written(records, tmp_path / "papers.csv")
    run(path, "party", "--topics", "3")
    (tmp_path / "names.csv").write_text("topic,name\n0,a\n1,a\n2,b\n")
    main(["report", str(tmp_path / "out"), "--names", str(tmp_path / "names.csv"), "--merge"])
    with (tmp_path / "out" / "effects.csv").open(newline="", encoding="utf-8") as file:
        assert [(row["topic"], row["name"]) for row in csv.DictReader(file)] == 2 * [("1", "b")]


def test_columns_are_numbers_dates_or_texts():
    values, missing = column(["2", " 3.5", "", "nan"], False, None)
    assert values[:2].tolist() == [2, 3.5]
    assert missing.tolist() == [False, False, True, True]
    days, missing = column(["2001-01-01", "31.12.2004", ""], False, None)
    assert days.astype("datetime64[D]").astype(str).tolist()[:2] == ["2001-01-01", "2004-12-31"]
    assert missing.tolist() == [False, False, True]
    days, missing = column(["20010101", "x"], True, None)
    assert str(days[0])[:10] == "2001-01-01"
    assert missing.tolist() == [False, True]
    assert column(["20010101", "20020101"], False, None)[0][0] == 20010101
    assert column(["3", "left", " "], False, None)[0].tolist() == ["3", "left", ""]


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("party +", [], "--effect: formula 'party +' cannot be read"),
        ("1", [], "--effect '1' names no field"),
        ("month", [], "line 1 has no field 'month' (it has 'text', 'party', 'day', 'size'); name another by --effect."),
        ("size + I(2 * size)", [], "--effect: the column 'I(2 * size)' of the formula is constant or a combination"),
        ("s(party)", [], "--effect: "),
        ("party", ["--estimator", "SkipGramTopicModel"], "--effect does not work with SkipGramTopicModel"),
        ("party", ["--format", "lines"], "--effect: no document has a field of the formula 'party'; give records"),
    ],
)
def test_errors_are_one_line_before_the_fit(records, tmp_path, capsys, formula, options, message):
    with pytest.raises(SystemExit) as caught:
        run(written(records, tmp_path / "papers.csv"), formula, *options)
    assert caught.value.code == 2
    told = capsys.readouterr()
    assert message in told.err
    assert told.err.count("\n") == 1
    assert "topics from" not in told.out
