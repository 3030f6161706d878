"""Committed results: what a record must say, how tables are made of them, and that README shows what they say."""

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import _results  # noqa: E402
import _tables  # noqa: E402
import readme  # noqa: E402
from _results import RecordError  # noqa: E402


def record(**fields):
    """A complete one."""
    return {
        "table": "topics", "command": "python benchmarks/topics.py", "corpus": "papers, 100 documents", "split": None,
        "estimator": "SparseLDA", "parameters": {"n_components": 5}, "prior": "defaults", "seed": 0, "seconds": 2.0,
        "clock": "processor", "scores": {"nats": -7.5, "npmi": 0.1}, "memory": 3e6,
        "machine": {"cpu": "one", "cores": 2}, "versions": {"python": "3.11"}, "commit": "abc", "date": "2026-01-31",
    } | fields  # fmt: skip


# A directive on a page, its file of results and its indented lines.
DIRECTIVE = re.compile(r"^\.\. results:: (\S+)\n((?:[ ]+.*\n|\n)*)", re.MULTILINE)

COLUMNS = ["estimator", "nats = {scores.nats:.2f}"]


# -- the schema


def test_a_complete_record_is_right():
    assert _results.validate(record()) == record()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"colour": "red"}, "no field"),
        ({"corpus": 3}, "corpus is 3"),
        ({"seconds": "2"}, "seconds is '2'"),
        ({"seed": True}, "seed is True"),
        ({"clock": "hour"}, "clock is 'hour'"),
        ({"scores": {"nats": float("nan")}}, "nats is nan"),
        ({"scores": {"nats": "good"}}, "nats is 'good'"),
        ({"curve": [{"seconds": 1.0, "nats": "good"}]}, "nats is 'good'"),
        ({"machine": {"cpu": "one"}}, "cpu and cores"),
        ({"versions": {}}, "versions have python"),
        ({"date": "yesterday"}, "Invalid isoformat"),
        ({"claim": {"text": "faster"}}, "a claim has"),
        ({"claim": dict.fromkeys(_results.CLAIM, "") | {"reproduced": "perhaps"}}, "reproduced is"),
    ],
)
def test_wrong_records_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        _results.validate(record(**fields))


@pytest.mark.parametrize("field", _results.FIELDS)
def test_missing_fields_are_named(field):
    part = record()
    del part[field]
    with pytest.raises(RecordError, match=field):
        _results.validate(part)


def test_a_line_of_several_seeds_is_a_record_for_each():
    line = record(seed=[0, 1], seconds=[2.0, 4.0], scores={"nats": [-7.0, -8.0], "npmi": None})
    assert _results.expand(line) == [
        record(seed=0, seconds=2.0, scores={"nats": -7.0, "npmi": None}),
        record(seed=1, seconds=4.0, scores={"nats": -8.0, "npmi": None}),
    ]
    with pytest.raises(RecordError, match="2 seeds"):
        _results.expand(record(seed=[0, 1], seconds=[1.0]))


def test_the_last_of_the_same_measurement_is_kept_in_its_place(tmp_path):
    _results.write(record(estimator="A"), tmp_path)
    _results.write(record(estimator="B"), tmp_path)
    _results.write(record(estimator="A", seconds=9.0, commit="later"), tmp_path)
    _results.write(record(estimator="A", parameters={"n_components": 6}), tmp_path)
    kept = _results.read("topics", tmp_path)
    assert [(one["estimator"], one["seconds"]) for one in kept] == [("A", 9.0), ("B", 2.0), ("A", 2.0)]
    _results.write(record(estimator="B", seed=[0, 1]), tmp_path)
    assert [one["seed"] for one in _results.read("topics", tmp_path)] == [0, 0, 1, 0]


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "topics.jsonl"
    path.write_text(json.dumps(record()) + "\n" + json.dumps(record(seed="one")) + "\n", encoding="utf-8")
    with pytest.raises(RecordError, match=r"topics\.jsonl, line 2: .*seed"):
        _results.read("topics", tmp_path)
    with pytest.raises(RecordError, match="no results of 'others'"):
        _results.read("others", tmp_path)


def test_recorders_complete_records_and_know_of_quiet_cores(tmp_path):
    for quiet, clock in ((False, "wall"), (True, "quiet")):
        recorder = _results.Recorder(tmp_path, quiet)
        recorder.add("t", "c", "E", {"nats": 1.0}, clock="wall")
        assert [one["clock"] for one in _results.read("t", tmp_path)] == [clock]
    assert _results.Recorder(None).add("t", "c", "E", {})[0]["clock"] == "processor"


def test_commands_say_nothing_of_this_machine(tmp_path):
    data = tmp_path / "docword.nips.txt"
    data.write_text("")
    words = ["/home/x/benchmarks/topics.py", "--data", str(data), "--record", str(tmp_path), "--quick", "--record",
             "--K", "5", f"--labels={data}", "--quiet-core", "--params", '{"a": 1}']  # fmt: skip
    assert _results.command(words) == (
        "python benchmarks/topics.py --data docword.nips.txt --quick --K 5 --labels=docword.nips.txt "
        """--params '{"a": 1}'"""
    )


# -- tables


def test_cells_are_means_and_deviations_over_seeds():
    records = [record(seed=seed, scores={"nats": nats}) for seed, nats in enumerate([-7.0, -8.0, -9.0])]
    columns = [*COLUMNS, "worst = {min scores.nats:.1f}", "MB = {memory:MB}", "ms = {median seconds:ms}",
               "us = {median seconds:us}"]  # fmt: skip
    table = _tables.make(records, columns)
    assert table.header == ["estimator", "nats", "worst", "MB", "ms", "us"]
    assert table.rows == [["SparseLDA", "-8.00 ± 1.00", "-9.0", "3 ± 0", "2000", "2000000.00"]]
    assert any("3 seeds" in note for note in table.notes)
    assert table.notes[0] == "From ``python benchmarks/topics.py``."


@pytest.mark.parametrize("other", [{"parameters": {"n_components": 9}}, {"corpus": "abstracts"}, {"prior": "0.1"},
                                   {"split": "half"}])  # fmt: skip
def test_no_cell_is_a_mean_over_other_things_than_seeds(other):
    with pytest.raises(RecordError, match=f"mean over {next(iter(other))}"):
        _tables.make([record(), record(**other)], COLUMNS)


def test_conditions_and_values_that_stand_beside_each_other():
    records = [record(estimator=name, corpus=corpus, scores={"nats": len(name) + len(corpus)})
               for name in ("A", "BB") for corpus in ("c", "dd", "eee")]  # fmt: skip
    table = _tables.make(records, ["where corpus = c | eee", "across corpus", *COLUMNS])
    assert table.header == ["estimator", "c: nats", "eee: nats"]
    assert table.rows == [["A", "2.00", "4.00"], ["BB", "3.00", "5.00"]]
    with pytest.raises(RecordError, match="no record"):
        _tables.make(records, ["where corpus = f", *COLUMNS])


def test_best_of_the_curve_and_the_end_are_apart():
    curve = [{"seconds": 1.0, "nats": -8.0, "npmi": 0.1}, {"seconds": 2.0, "nats": -7.0, "npmi": 0.3},
             {"seconds": 4.0, "nats": -7.5, "npmi": 0.2}]  # fmt: skip
    best = "best = {best(nats).nats:.1f} ({best(nats).npmi:.1f})"
    columns = ["label", "end = {scores.nats:.1f}", best, "at s = {best(nats).seconds:.0f}",
               "1.5 s = {at(1.5).nats:.1f}", "0.5 s = {at(0.5).nats:.1f}"]  # fmt: skip
    table = _tables.make([record(curve=curve, label="L=8")], columns)
    assert table.rows == [["L=8", "-7.5", "-7.0 (0.3)", "2", "-8.0", ""]]


def test_results_on_corpora_that_parameters_were_chosen_on_are_marked():
    table = _tables.make([record(tuned_on=["papers"]), record(estimator="B", tuned_on=["tweets"])], COLUMNS)
    assert [row[0] for row in table.rows] == ["SparseLDA †", "B"]
    assert any(note.startswith("†") for note in table.notes)


def test_a_table_in_both_markups():
    table = _tables.make([record(), record(estimator="B", scores={"nats": -1.0})], ["name = estimator", COLUMNS[1]])
    text = "\n".join(_tables.as_rst(table, "Topics"))
    head = ".. list-table:: Topics\n   :header-rows: 1\n   :class: results\n\n"
    assert text.startswith(head + "   * - name\n     - nats\n   * - SparseLDA\n")
    lines = _tables.as_markdown(table)
    assert lines[:4] == ["| name | nats |", "|---|---|", "| SparseLDA | -7.50 |", "| B | -1.00 |"]
    assert not any("python benchmarks" in line for line in lines)


TASK = """\
Papers
results = topics
where corpus = papers, 100 documents
score = nats
cell = {mean scores.nats:.1f}, {mean seconds:.0f} s
ours = A as Alpha
theirs = B | C
"""


def test_a_comparison_shows_the_best_label_and_prior_of_each_package(tmp_path):
    measured = [("A", "own", 0, -7.0), ("A", "own", 1, -8.0), ("B", "own", 0, -6.0), ("B", "5/K", 0, -5.0),
                ("C", "own", 0, -9.0)]  # fmt: skip
    for label, prior, seed, nats in measured:
        _results.write(record(label=label, prior=prior, seed=seed, scores={"nats": nats}, seconds=2.0 + seed), tmp_path)
    _results.write(record(label="A", corpus="abstracts", scores={"nats": 0.0}), tmp_path)
    other = (
        TASK.replace("Papers", "Abstracts").replace("papers, 100 documents", "abstracts").replace("theirs = B | C", "")
    )
    table = _tables.compare(TASK + "\n" + other, tmp_path)
    assert table.header == ["task", "score", "ours", "theirs"]
    assert table.rows == [
        ["Papers", "nats", "Alpha: -7.5, 2 s", "B: -5.0, 2 s"],
        ["Abstracts", "nats", "Alpha: 0.0, 2 s", ""],
    ]
    with pytest.raises(RecordError, match="no record with label D"):
        _tables.compare(TASK.replace("A as Alpha", "D"), tmp_path)


def test_a_cell_has_the_own_score_of_the_time_when_another_fit_was_over(tmp_path):
    curve = [{"seconds": 0.5, "nats": -9.0}, {"seconds": 1.5, "nats": -8.0}, {"seconds": 2.0, "nats": -7.5}]
    _results.write(record(label="A", seconds=2.0, scores={"nats": -7.5}, curve=curve), tmp_path)
    for label, seconds in [("early", 0.2), ("between", 1.0), ("late", 2.5)]:
        _results.write(record(label=label, seconds=seconds, scores={"nats": -8.5}), tmp_path)
    task = TASK.replace("theirs = B | C", "theirs = early + between + late")
    cell = _tables.compare(task, tmp_path).rows[0][3]
    assert cell == (
        "early: -8.5, 0 s (sparsemix: in its first epoch); between: -8.5, 1 s (sparsemix by then: -9.0); "
        "late: -8.5, 2 s"
    )


def test_rows_of_one_first_cell_stand_together():
    records = [record(estimator=name, seed=seed) for seed, name in enumerate("ABA")]
    table = _tables.make(records, ["name = estimator", "seed", COLUMNS[1]])
    assert [row[:2] for row in table.rows] == [["A", "0"], ["A", "2"], ["B", "1"]]


def test_a_table_of_claims_has_no_numbers():
    claim = {"text": "it works", "published": "yes", "ours": "no", "reproduced": "no", "why": "small"}
    table = _tables.make([record(claim=claim)], ["claim = claim.text", "reproduced = claim.reproduced"])
    assert (table.header, table.rows) == (["claim", "reproduced"], [["it works", "no"]])


def test_a_table_of_words_that_were_found_has_no_numbers():
    table = _tables.make([record(label="tree", found="graph, path")], ["word = label", "nearest = found"])
    assert (table.header, table.rows) == (["word", "nearest"], [["tree", "graph, path"]])


# -- what is committed


def test_committed_results_keep_to_the_schema_and_are_not_there_twice():
    files = list(_results.FOLDER.rglob("*.jsonl"))
    assert files
    for path in files:
        records = _results.read_file(path)
        assert {one["table"] for one in records} == {path.stem}, path
        keys = [_results.identity(one) for one in records]
        assert len(keys) == len(set(keys)), path
        assert path.stat().st_size < 1_000_000, path


def test_pages_ask_for_tables_that_the_results_make():
    # The site's build says so too, but is not part of the tests; a cell that is empty in every row has a wrong name.
    asked = [(path.name, *found) for path in BENCHMARKS.parent.glob("doc/**/*.rst")
             for found in DIRECTIVE.findall(path.read_text(encoding="utf-8"))]  # fmt: skip
    assert asked
    for page, name, body in asked:
        lines = [line for line in body.splitlines() if not line.strip().startswith(":")]
        table = _tables.make(_results.read(name), lines)
        empty = [head for head, *cells in zip(table.header, *table.rows, strict=True) if not any(cells)]
        assert not empty, (page, name, empty)


def test_readme_shows_what_the_results_say():
    text = readme.README.read_text(encoding="utf-8")
    assert readme.written(text) == text
    assert readme.BLOCK.search(text)


def test_a_stale_readme_is_told(tmp_path, monkeypatch):
    stale = tmp_path / "README.md"
    text = readme.README.read_text(encoding="utf-8")
    shown = readme.BLOCK.search(text).group(2)
    stale.write_text(text.replace(shown, shown.replace("1", "2")), encoding="utf-8")
    monkeypatch.setattr(readme, "README", stale)
    monkeypatch.setattr(sys, "argv", ["readme.py", "--check"])
    with pytest.raises(SystemExit, match="run python benchmarks/readme"):
        readme.main()
    monkeypatch.setattr(sys, "argv", ["readme.py"])
    readme.main()
    assert stale.read_text(encoding="utf-8") == text


# -- scripts of papers


@pytest.fixture
def paper(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(_results.__file__).parent / "papers"))
    return importlib.import_module("_paper")


def test_tokens_are_shared_out_between_two_halves_of_the_same_documents(paper):
    X = sparse.csr_matrix(np.random.default_rng(0).poisson(2.0, (30, 20)).astype(float))
    train, test = paper.split_tokens(X, 0.1)
    np.testing.assert_array_equal((train + test).toarray(), X.toarray())
    assert min(train.data) > 0
    assert 0.05 < test.sum() / X.sum() < 0.15
    topics, theta = np.full((2, 20), 0.05), np.full((30, 2), 0.5)
    assert paper.log_likelihood(theta, topics, test) == pytest.approx(np.log(0.05))


def test_claims_are_kept_and_shown(paper, tmp_path, capsys):
    sizes = {"documents": {"n": (50, 20)}, "words": {"n": (7, 3)}}
    one = paper.Paper("A paper", "", sizes, ["--record", str(tmp_path), "--only", "words"])

    def documents(_):
        raise AssertionError

    def words(one):
        one.claim(f"{one.size('n')} work", "yes", "1.5 nats", None, where="Table 1", corpus="docstrings", nats=1.5)

    one.run(documents, words)
    (kept,) = _results.read("papers", tmp_path)
    assert (kept["claim"]["reproduced"], kept["scores"]) == ("in part", {"nats": 1.5})
    assert kept["parameters"] == {"section": "words", "n": 7} == paper.parameters_of(sizes, "words")
    assert "Table 1" in capsys.readouterr().out
    assert paper.Paper("A paper", "", sizes, ["--quick"]).counts("kos", 50)[0] == "docstrings, 50 documents"


def test_a_whole_run_removes_claims_that_are_no_longer_made(paper, tmp_path):
    for text in ("old", "new"):
        one = paper.Paper("A paper", "", {"words": {}}, ["--record", str(tmp_path)])

        def words(one, text=text):
            one.claim(text, "yes", "yes", True, where="Table 1", corpus="docstrings")

        one.run(words)
    assert [kept["label"] for kept in _results.read("papers", tmp_path)] == ["new"]


def test_committed_claims_have_the_sizes_of_their_scripts(paper):
    scripts = [importlib.import_module(path.stem) for path in Path(paper.__file__).parent.glob("[!_]*.py")]
    by_key = {script.NAME: script.SIZES for script in scripts}
    rows = _results.read("papers")
    assert {row["estimator"] for row in rows} == set(by_key)
    for row in rows:
        made = paper.parameters_of(by_key[row["estimator"]], row["parameters"]["section"])
        assert row["parameters"] == json.loads(json.dumps(made)), row["label"]
    for key, sections in by_key.items():
        assert {row["parameters"]["section"] for row in rows if row["estimator"] == key} == set(sections), key


def test_a_gain_within_two_standard_errors_is_undecided(paper):
    assert [paper.judge(gain, 1.0) for gain in (3.0, 1.9, -1.9, -3.0)] == [True, "undecided", "undecided", False]
