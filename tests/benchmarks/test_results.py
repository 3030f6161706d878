"""Committed results: what a record must say, how tables are made of them, and that README shows what they say."""

import argparse
import importlib
import json
import re
import runpy
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import _results  # noqa: E402
import _tables  # noqa: E402
import readme  # noqa: E402
from _results import RecordError  # noqa: E402

# A directive on a page, its file of results and its indented lines.
DIRECTIVE = re.compile(r"^\.\. results:: (\S+)\n((?:[ ]+.*\n|\n)*)", re.MULTILINE)
EXTENSION = BENCHMARKS.parent / "doc" / "_extensions" / "results.py"  # needs Sphinx
MOST_ROWS = int(re.search(r"^MOST_ROWS = (\d+)", EXTENSION.read_text(encoding="utf-8"), re.MULTILINE)[1])
COLUMNS = ["estimator", "nats = {scores.nats:.2f}"]


def record(**fields):
    """A complete one."""
    return {
        "table": "topics", "command": "python benchmarks/topics.py", "corpus": "papers, 100 documents", "split": None,
        "estimator": "SparseLDA", "parameters": {"n_components": 5}, "prior": "defaults", "seed": 0, "seconds": 2.0,
        "clock": "processor", "scores": {"nats": -7.5, "npmi": 0.1}, "memory": 3e6,
        "machine": {"cpu": "one", "cores": 2}, "versions": {"python": "3.11"}, "commit": "abc", "date": "2026-01-31",
    } | fields  # fmt: skip


def shown(records, columns):
    """Cells of a table, row by row."""
    return _tables.make(records, columns).cells.to_numpy().tolist()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"colour": "red"}, "no field 'colour'"), ({"corpus": 3}, "corpus is 3"), ({"seconds": "2"}, "seconds is '2'"),
        ({"seed": True}, "seed is True"), ({"clock": "hour"}, "clock"), ({"date": "yesterday"}, "isoformat"),
        ({"scores": {"nats": float("nan")}}, "nats is nan"), ({"versions": {}}, "versions lack python"),
        ({"curve": [{"seconds": 1.0, "nats": "good"}]}, "nats is 'good'"), ({"machine": {"cpu": "one"}}, "cores"),
        ({"claim": dict.fromkeys(_results.CLAIM, "") | {"reproduced": "perhaps", "kind": "claim"}}, "claim"),
        ({"claim": dict.fromkeys(_results.CLAIM, "") | {"reproduced": "no", "kind": "other"}}, "claim"),
    ],
)  # fmt: skip
def test_wrong_records_are_named(fields, message):
    assert _results.validate(record()) == record()
    with pytest.raises(ValueError, match=message):
        _results.validate(record(**fields))
    for field in _results.FIELDS:
        with pytest.raises(RecordError, match=field):
            _results.validate({name: value for name, value in record().items() if name != field})


def test_the_last_of_the_same_measurement_is_kept_in_its_place(tmp_path):
    for fields in ({"estimator": "A"}, {"estimator": "B"}, {"estimator": "A", "seconds": 9.0, "commit": "later"},
                   {"estimator": "A", "parameters": {"n_components": 6}}):  # fmt: skip
        _results.write(record(**fields), tmp_path)
    kept = _results.read("topics", tmp_path)
    assert [(one["estimator"], one["seconds"]) for one in kept] == [("A", 9.0), ("B", 2.0), ("A", 2.0)]
    several = record(estimator="B", seed=[0, 1], seconds=[2.0, 4.0], scores={"nats": [-7.0, -8.0], "npmi": None})
    _results.write(several, tmp_path)
    kept = [one for one in _results.read("topics", tmp_path) if one["estimator"] == "B"]
    assert [(one["seed"], one["seconds"], one["scores"]["nats"]) for one in kept] == [(0, 2.0, -7.0), (1, 4.0, -8.0)]
    with pytest.raises(RecordError, match="2 seeds"):
        _results.expand(record(seed=[0, 1], seconds=[1.0]))
    (tmp_path / "topics.jsonl").write_text(f"{json.dumps(record())}\n{json.dumps(record(seed='one'))}\n", "utf-8")
    with pytest.raises(RecordError, match=r"topics\.jsonl, line 2: .*seed"):
        _results.read("topics", tmp_path)
    with pytest.raises(RecordError, match="no results of 'others'"):
        _results.read("others", tmp_path)


def test_recorders_complete_records_and_show_them(tmp_path, capsys):
    for quiet, clock in ((False, "wall"), (True, "quiet")):
        recorder = _results.Recorder(tmp_path, quiet)
        for seed, nats in enumerate((1.0, 2.0)):
            recorder.add("t", "c", "E", {"nats": nats}, clock="wall", seed=seed)
        assert {one["clock"] for one in _results.read("t", tmp_path)} == {clock}
    recorder.show()
    assert capsys.readouterr().out.split() == ["t", "label", "nats", "E", "1.5"]


def test_commands_say_nothing_of_this_machine(tmp_path):
    data = tmp_path / "docword.nips.txt"
    data.write_text("")
    words = ["/home/x/benchmarks/topics.py", "--data", str(data), "--record", str(tmp_path), "--quick", "--record",
             "--K", "5", f"--labels={data}", "--quiet-core", "--params", '{"a": 1}']  # fmt: skip
    assert _results.command(words) == (
        "python benchmarks/topics.py --data docword.nips.txt --quick --K 5 --labels=docword.nips.txt "
        """--params '{"a": 1}'"""
    )


def test_cells_are_means_and_deviations_over_seeds():
    records = [record(seed=seed, scores={"nats": nats}) for seed, nats in enumerate([-7.0, -8.0, -9.0])]
    columns = [*COLUMNS, "worst = {min scores.nats:.1f}", "MB = {memory:MB}"]
    assert shown(records, columns) == [["SparseLDA", "-8.00 ± 1.00", "-9.0", "3 ± 0"]]
    assert shown(records, ["label", "e = {error scores.nats:.3f}"]) == [["SparseLDA", "0.577"]]
    one = shown(records[:1], ["label", "nats = {mean scores.nats:.2f} ± {error scores.nats:.3f}"])
    assert one == [["SparseLDA", "-7.00"]]
    table = _tables.make(records, columns)
    assert table.notes[:2] == ["From ``python benchmarks/topics.py``.", "Means ± standard deviations over 3 seeds."]
    assert "   * - SparseLDA" in _tables.as_rst(table, "Topics")
    for other in ({"parameters": {"n_components": 9}}, {"corpus": "abstracts"}, {"prior": "0.1"}, {"split": "half"}):
        with pytest.raises(RecordError, match=f"mean over {next(iter(other))}"):
            _tables.make([record(), record(**other)], COLUMNS)


def test_conditions_and_groups_of_columns():
    records = [record(estimator=name, corpus=corpus, scores={"nats": len(name) + len(corpus)}, tuned_on=["eee"])
               for name in ("A", "BB") for corpus in ("c", "dd", "eee")]  # fmt: skip
    table = _tables.make(records, ["where corpus = c | eee", "across corpus", *COLUMNS])
    assert list(table.cells) == ["estimator", "c: nats", "eee: nats"]
    assert table.cells.to_numpy().tolist() == [["A †", "2.00", "4.00"], ["BB †", "3.00", "5.00"]]
    assert any(note.startswith("†") for note in table.notes)
    with pytest.raises(RecordError, match="no record with corpus = f"):
        _tables.make(records, ["where corpus = f", *COLUMNS])
    rows = shown([record(estimator=name, seed=i) for i, name in enumerate("ABA")], ["estimator", "seed", COLUMNS[1]])
    assert [row[:2] for row in rows] == [["A", "0"], ["A", "2"], ["B", "1"]]
    for columns, words in (([COLUMNS[1]], "names rows"), ([*COLUMNS, COLUMNS[1]], "two columns have one heading")):
        with pytest.raises(RecordError, match=words):
            _tables.make(records, columns)
    words = shown([record(label="tree", found="graph, path")], ["word = label", "nearest = found"])
    assert words == [["tree", "graph, path"]]


def test_best_of_the_curve_and_the_end_are_apart():
    curve = [{"seconds": 1.0, "nats": -8.0, "npmi": 0.1}, {"seconds": 2.0, "nats": -7.0, "npmi": 0.3},
             {"seconds": 4.0, "nats": -7.5, "npmi": 0.2}]  # fmt: skip
    columns = ["label", "end = {scores.nats:.1f}", "best = {best(nats).nats:.1f} ({best(nats).npmi:.1f})",
               "1.5 s = {at(1.5).nats:.1f}", "0.5 s = {at(0.5).nats:.1f}"]  # fmt: skip
    assert shown([record(curve=curve, label="L=8")], columns) == [["L=8", "-7.5", "-7.0 (0.3)", "-8.0", ""]]


def test_committed_results_keep_to_the_schema_and_are_not_there_twice():
    files = list(_results.FOLDER.rglob("*.jsonl"))
    assert files
    for path in files:
        records = _results.read_file(path)
        assert {one["table"] for one in records} == {path.stem}, path
        keys = [_results.identity(one) for one in records]
        assert len(keys) == len(set(keys)), path
        assert path.stat().st_size < 1_000_000, path


def test_pages_and_results_agree():
    """Each file of results has a table, and no column of a table is empty, as it would be with a wrong name."""
    pages = {str(path): path.read_text(encoding="utf-8") for path in BENCHMARKS.parent.glob("doc/**/*.rst")}
    asked = [(page, *found) for page, text in pages.items() for found in DIRECTIVE.findall(text)]
    for page, name, body in asked:
        table = _tables.make(_results.read(name), [line for line in body.splitlines() if line.strip()[:1] != ":"])
        cells = table.cells
        assert not [heading for heading in cells if not cells[heading].any()], (page, name)
        long = len(cells) > MOST_ROWS and len(cells.columns) > table.n_words
        assert long == (":plot:" in body), (page, name, body)
    curves = re.findall(r"^ *\.\. results-curves:: (\S+)", "\n".join(pages.values()), re.MULTILINE)
    kept, of_readme = ({path.stem for path in folder.glob("*.jsonl")} for folder in (_results.FOLDER, readme.KEPT))
    assert {name for _, name, _ in asked}.union(curves) - {f"readme/{name}" for name in of_readme} == kept


# -- README's table


def test_a_stale_readme_is_refused_and_renewed(tmp_path, monkeypatch):
    text = readme.README.read_text(encoding="utf-8")
    assert readme.written(text) == text
    block = readme.BLOCK.search(text).group(2)
    stale = tmp_path / "README.md"
    stale.write_text(text.replace(block, block.replace("1", "2")), encoding="utf-8")
    monkeypatch.setattr(readme, "PAGES", [stale])
    monkeypatch.setattr(readme, "draw", lambda check: None)  # noqa: ARG005
    monkeypatch.setattr(sys, "argv", ["readme.py", "--check"])
    with pytest.raises(SystemExit, match="run python benchmarks/readme"):
        readme.main()
    monkeypatch.setattr(sys, "argv", ["readme.py"])
    readme.main()
    assert stale.read_text(encoding="utf-8") == text


def test_pages_say_the_ratio_of_seconds_of_small_fits(tmp_path):
    for corpus, ours, theirs in (("a", 0.2, 0.1), ("b", 0.5, 0.1), ("c", 0.9, 0.1), ("digits, raw", 9.0, 0.1)):
        for estimator, seconds in (("SparseGaussianMixture", ours), ("GaussianMixture", theirs)):
            _results.write(record(table="mixture-defaults", corpus=corpus, estimator=estimator, seconds=seconds,
                                  parameters={"covariance_type": "full"}), tmp_path)  # fmt: skip
    text = "scikit-learn is 1.0 to\n1.5 times as fast (median 1.2), ours takes 1.0 to 1.5 times as long (median 1.2)"
    shown = readme.written(text, tmp_path)
    assert "2.6 to 8.2 times as fast (median 5.0)" in shown
    assert "2.6 to 8.2 times as long (median 5.0)" in shown
    assert "1." not in shown


CURVE = [{"seconds": 0.5, "nats": -9.0}, {"seconds": 1.5, "nats": -8.0}, {"seconds": 2.0, "nats": -7.5}]
ROW = {"task": "Papers", "results": "topics", "score": "nats", "given": ["n_components"],
       "packages": {"ours": {"Alpha": "A"},
                    "theirs": {"early": "early", "between": ["between", "slow"], "late": "late"}},
       "cell": "{scores.nats:.1f}, {mean seconds:.0f} s"}  # fmt: skip


def contest(monkeypatch, folder, **fields):
    """Records of one run: ours, and peers that end before it, meanwhile and after it, in several settings."""
    monkeypatch.setattr(readme, "ROWS", [ROW])
    monkeypatch.setattr(readme, "given_priors", lambda _label, prior, _k: {"alpha": 0.1} if prior == "5/K" else {})
    for seed in range(readme.SEEDS):
        _results.write(record(label="A", scores={"nats": -7.5}, curve=CURVE, seed=seed), folder)
        for label, prior, seconds, nats in [
            ("early", "own", 0.2, -9.5), ("early", "5/K", 0.2, -8.5), ("between", "own", 1.0, -8.5),
            ("slow", "own", 2.3, -7.0), ("late", "own", 2.5, -8.5),
        ]:  # fmt: skip
            given = {"n_components": 5, "budget": 2.5} if label == "late" else {"n_components": 5}
            _results.write(record(label=label, prior=prior, seconds=seconds, scores={"nats": nats + 0.1 * seed - 0.1},
                                  seed=seed, parameters=given, **fields), folder)  # fmt: skip


def test_a_cell_has_the_best_setting_that_takes_no_more_time(tmp_path, monkeypatch):
    contest(monkeypatch, tmp_path)
    cells, notes = readme.overview(tmp_path)
    assert cells.to_numpy().tolist() == [[
        "Papers", "nats", "Alpha: -7.5 ± 0.0, 2 s",
        "early (alpha=0.1): -8.5 ± 0.1, 0 s (sparsemix: in its first epoch); "
        "between: -8.5 ± 0.1, 1 s (sparsemix by then: -9.0); late (budget=2.5): -8.5 ± 0.1, 2 s (not at its end)",
    ]]  # fmt: skip
    assert "over 3 seeds" in notes[1]
    assert notes[-1].endswith("commit abc.")
    with pytest.raises(RecordError, match="no record with label D"):
        readme.best_group(_tables.frame([record()]), "D", ROW["cell"], None)


@pytest.mark.parametrize(
    "fields", [{"commit": "def"}, {"machine": {"cpu": "two", "cores": 2}}, {"versions": {"python": "3.12"}}]
)
def test_a_table_of_two_runs_is_refused(fields, tmp_path, monkeypatch):
    contest(monkeypatch, tmp_path, **fields)
    with pytest.raises(RecordError, match="would compare records with"):
        readme.overview(tmp_path)


def test_a_cell_of_too_few_seeds_is_refused(tmp_path, monkeypatch):
    contest(monkeypatch, tmp_path)
    _results.keep_lines("topics", lambda line: (line["label"], line["seed"]) != ("late", 2), tmp_path)
    with pytest.raises(RecordError, match=r"have \[2, 3\] seeds"):
        readme.overview(tmp_path)


@pytest.mark.parametrize(
    ("shallow", "code", "refused"), [("false\n", 0, False), ("false\n", 128, True), ("true\n", 128, False)]
)
def test_a_commit_that_the_history_lacks_is_refused(shallow, code, refused, monkeypatch):
    answers = iter([SimpleNamespace(stdout=shallow, returncode=0), SimpleNamespace(stdout="", returncode=code)])
    monkeypatch.setattr(readme.subprocess, "run", lambda *_, **__: next(answers))
    with pytest.raises(SystemExit, match="the history has no commit abc") if refused else nullcontext():
        readme.check_commit("abc")


def test_scores_that_move_by_more_than_seeds_do_have_changed():
    old = {"a": [-7.4, -7.5, -7.6], "b": [-7.5]}
    for new, moved in ((-7.75, []), (-7.85, ["a"])):
        assert list(readme.changes(old, {"a": [new]})) == moved
    for new, moved in ((-7.53, []), (-7.54, ["b"])):
        assert list(readme.changes(old, {"b": [new]})) == moved


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
    assert importlib.import_module("_topics_tasks").log_likelihood(theta, topics, test) == pytest.approx(np.log(0.05))


def test_claims_are_kept_and_shown(paper, tmp_path, capsys, monkeypatch):
    few = SimpleNamespace(data=sparse.csr_array(np.eye(60, dtype=np.float32)))  # the real ones are read for seconds
    monkeypatch.setattr("_topics_tasks.load_docstrings", lambda: few)
    sizes = {"documents": {"n": (50, 20)}, "words": {"n": (7, 3)}}
    one = paper.Paper("A paper", "", sizes, ["--record", str(tmp_path), "--only", "words"])

    def documents(_):
        raise AssertionError

    def words(one):
        one.claim(f"{one.size('n')} work", "yes", "1.5 nats", None, where="Table 1", corpus="docstrings", nats=1.5)

    one.run(documents, words)
    (kept,) = _results.read("papers", tmp_path)
    assert (kept["claim"]["reproduced"], kept["scores"]) == ("in part", {"nats": 1.5})
    assert kept["claim"]["kind"] == "claim"
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


# -- commands


class ParsedError(Exception):
    """Ends a program after its command line."""


COMMANDS = {line["command"] for path in _results.FOLDER.glob("**/*.jsonl") for line in _results.read_lines(path)}


@pytest.mark.parametrize("program", sorted({shlex.split(command)[1] for command in COMMANDS}))
def test_programs_know_the_options_of_committed_commands(program, monkeypatch):
    parse = argparse.ArgumentParser.parse_args

    def parse_args(parser, arguments=None, namespace=None):
        parse(parser, arguments, namespace)
        raise ParsedError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
    monkeypatch.syspath_prepend((BENCHMARKS.parent / program).parent)
    for _, name, *arguments in map(shlex.split, COMMANDS):
        if name == program:
            monkeypatch.setattr(sys, "argv", [name, *arguments])
            with pytest.raises(ParsedError):
                runpy.run_path(str(BENCHMARKS.parent / name), run_name="__main__")
