"""Whether another seed finds the topics of a run again, and advice on the number of topics."""

import csv
import itertools
import json
import re
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from sparsemix.__main__ import main
from sparsemix.metrics import distinctive_words
from sparsemix.texts._commands import topics as _topics_command
from sparsemix.texts._commands.quality import Again


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_fit_in_another_order_finds_all_topics_again_and_a_random_one_does_not():
    rng = np.random.default_rng(0)
    components, others = rng.dirichlet(np.full(300, 0.05), 6), rng.dirichlet(np.full(300, 0.05), 6)
    model, same, random = (
        SimpleNamespace(components_=rows) for rows in (components, components[rng.permutation(6)], others)
    )
    found = Again(model, [same, same, random], 10)
    assert found.found.tolist() == 6 * [2]
    assert str(found) == "6 of 6 topics by most of 3 runs, with half of their 10 main words"
    assert found.of(2) == "2/3"
    likeness = np.sqrt(components) @ np.sqrt(others).T
    matched = likeness[linear_sum_assignment(-likeness)]
    np.testing.assert_allclose(found.stability, (2 + matched) / 3, rtol=1e-6)
    assert str(Again(model, [random, random, same], 10)).startswith("0 of 6 topics by most of 3 runs")


@pytest.fixture(scope="module")
def titles(tmp_path_factory):
    """Titles of two clear themes, and titles of random words."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("titles")
    themes = [["apple", "pear", "plum", "cherry"], ["river", "lake", "ocean", "brook"]]
    (folder / "clear.txt").write_text("".join(" ".join(rng.choice(themes[i % 2], 8)) + "\n" for i in range(200)))
    words = [f"{a}{b}{c}" for a, b, c in itertools.product("klmnp", "aeiou", "rstvw")]
    (folder / "noise.txt").write_text("".join(" ".join(rng.choice(words, 6)) + "\n" for i in range(200)))
    return folder


def test_the_command_says_whether_topics_are_found_again(titles, tmp_path, capsys):
    for name, n, least, most in (("clear", "2", 2, 2), ("noise", "8", 0, 4)):
        main(["topics", str(titles / f"{name}.txt"), "--output", str(tmp_path / name), "--n-components", n,
              "--n-top-words", "4", "--n-jobs", "1", "--stop-words", "en"])  # fmt: skip
        (line,) = re.findall(r"found by runs of other seeds +(.*)", capsys.readouterr().out)
        assert line in (tmp_path / name / "report.html").read_text(encoding="utf-8")
        n_found, n_topics = map(int, re.match(r"(\d+) of (\d+) topics", line).groups())
        column = [int(row["found_again"].split("/")[0]) for row in table(tmp_path / name / "topics.csv")]
        assert (n_topics, n_found) == (len(column), sum(count >= 2 for count in column))
        assert not isinstance(joblib.load(tmp_path / name / "model.joblib")[-1].init_params, np.ndarray)
        assert least <= n_found <= most


def in_page(folder):
    """The topics of the page of a run, in order."""
    data = re.search(r'id="data">(.*?)</script>', (folder / "report.html").read_text(encoding="utf-8"))[1]
    return [topic["id"] for topic in json.loads(data)["topics"]]


@pytest.mark.parametrize("n_runs", [1, 3])
def test_a_topic_that_no_other_seed_finds_does_not_come_first(titles, tmp_path, capsys, n_runs):
    """Of two clear themes and much noise: the order is by size times support, in the page, the table and the list."""
    texts = "".join((titles / f"{name}.txt").read_text() for name in ("noise", "clear"))
    (tmp_path / "all.txt").write_text(texts)
    main(["topics", str(tmp_path / "all.txt"), "--output", str(tmp_path / "out"), "--n-components", "6",
          "--n-top-words", "4", "--n-jobs", "1", "--runs", str(n_runs), "--stop-words", "en"])  # fmt: skip
    rows = table(tmp_path / "out" / "topics.csv")
    sizes = np.array([float(row["token_share"]) for row in rows])
    found = np.array([int((row["found_again"] or "1").split("/")[0]) for row in rows])
    order = [int(row["topic"]) for row in rows]
    assert (np.diff(sizes * found) <= 1e-6).all()
    assert (np.diff(sizes[found == 0]) <= 1e-6).all()
    assert n_runs == 1 or (found[0] and (np.diff(sizes) > 1e-6).any())
    assert order == in_page(tmp_path / "out")
    printed = capsys.readouterr().out
    assert order == [int(k) for k in re.findall(r"^ +(\d+) +[\d.]+% ", printed, re.MULTILINE)]
    assert ("in the order of tokens times the share of runs that find them" in printed) == (n_runs > 1)
    model = joblib.load(tmp_path / "out" / "model.joblib")[-1]
    first = distinctive_words(model, 4)[order[0]]
    names = joblib.load(tmp_path / "out" / "model.joblib")[0].get_feature_names_out()
    assert rows[0]["words"].split() == names[first].tolist()  # numbers are those of the model


@pytest.mark.parametrize("options", [["--seconds", "60"], ["--checkpoint", "CHECKPOINT"]])
def test_long_fits_are_not_repeated(titles, tmp_path, capsys, options):
    options = [str(tmp_path / option) if option.isupper() else option for option in options]
    main(["topics", str(titles / "clear.txt"), "--output", str(tmp_path / "out"), "--n-components", "2",
          "--max-iter", "3", *options])  # fmt: skip
    printed = capsys.readouterr().out
    assert re.search(r"found by runs of other seeds +not measured \(one run with --checkpoint, .*\); --runs 3", printed)
    assert {row["found_again"] + row["stability"] for row in table(tmp_path / "out" / "topics.csv")} == {""}


@pytest.mark.parametrize("at", [1, 2, 4])
def test_an_interrupt_of_any_run_keeps_the_topics(titles, tmp_path, capsys, monkeypatch, at):
    """An interrupt of a fit ends the comparison too, so that the next one ends the command."""
    calls, cls = [], _topics_command.sparsemix.SparseSCVB0LDA
    whole = cls.fit

    def fit(self, *arguments, **options):
        calls.append(self)
        whole(self, *arguments, **options)
        if len(calls) == at:
            raise KeyboardInterrupt
        return self

    monkeypatch.setattr(cls, "fit", fit)
    main(["topics", str(titles / "clear.txt"), "--output", str(tmp_path / "out"), "--n-components", "2",
          "--max-iter", "3"])  # fmt: skip
    assert len(calls) == at
    said = capsys.readouterr()
    assert "found by runs of other seeds     not measured (" in said.out
    assert "interrupted: " in said.err
    assert len(table(tmp_path / "out" / "topics.csv")) == 2


def test_one_run_advises_one_number_of_topics(titles, tmp_path, capsys):
    """Too many topics for the words, topics that repeat others, and topics that overlap, in one run."""
    main(["topics", str(titles / "clear.txt"), "--output", str(tmp_path / "out"), "--n-components", "40",
          "--max-iter", "5", "--n-top-words", "4", "--n-jobs", "1"])  # fmt: skip
    said = capsys.readouterr()
    assert "are too many for" in said.err
    assert re.search(r"warning +\d+ of 40 topics repeat others or the corpus", said.out)
    assert set(re.findall(r"--n-components (\d+)", said.out + said.err)) == {"2"}
