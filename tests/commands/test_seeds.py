"""``sparsemix topics --seeds``: files of seed words, their columns, and the names of topics in all outputs."""

import csv
import json
import sys

import joblib
import numpy as np
import pytest

from sparsemix import SparseSCVB0LDA
from sparsemix.__main__ import main
from sparsemix.texts._commands import seeds as seeds_of
from sparsemix.texts._commands.names import read_report
from sparsemix.texts._commands.seeds import Columns, columns_of
from sparsemix.texts._reading.corpus import Words, read_corpus
from sparsemix.texts._reading.words import tokens as _tokens
from sparsemix.topics import WordPrior

THEMES = [["apple", "pear", "plum", "cherry"], ["guitar", "violin", "flute", "drum"], ["court", "judge", "law", "jury"]]
OPTIONS = ["--n-jobs", "1", "--min-df", "1", "--max-df", "1.0", "--n-top-words", "4"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    path.write_text("\n".join(" ".join(rng.choice(THEMES[i % 3], 12)) for i in range(60)))
    return path


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


FILES = {
    "row a topic.csv": 'Topic;words\njustice;"Court, judge ; xyzzy"\n;\nmusic;drum flute\n',
    "row a word.csv": "topic,words\njustice,Court\njustice,judge\nmusic,drum\njustice,xyzzy\nmusic,flute\n",
    "cells.csv": "topic,words,,\njustice,Court,judge,xyzzy\nmusic,drum,flute\n",
    "more cells than headings.csv": "topic,words\njustice,Court,judge,xyzzy\nmusic,drum,flute\n",
    "bom.csv": "\ufefftopic\twords\njustice\tCourt judge xyzzy\nmusic\tdrum flute\n",
    "list.json": '{"justice": ["Court", "judge", "xyzzy"], "music": ["drum", "flute"]}',
    "list.yaml": "justice: [Court, judge, xyzzy]\nmusic:\n  - drum\n  - flute\n",
}


@pytest.mark.parametrize("name", FILES)
def test_seeds_guide_topics_that_keep_numbers_and_names(texts, tmp_path, capsys, name):
    """The prior is 0.01, and half of the occurrences for seeds; three seeds and their consensus keep the order."""
    if name.endswith("yaml"):
        pytest.importorskip("yaml")
    seeds, out = tmp_path / name, tmp_path / "out"
    seeds.write_text(FILES[name], encoding="utf-8")
    runs = "3" if name == "list.json" else "1"
    main(["topics", str(texts), "--seeds", str(seeds), "--seed-strength", "0.5", "--output", str(out), *OPTIONS,
          "--max-iter", "10", "--runs", runs, "--held-out", "0"])  # fmt: skip
    told = capsys.readouterr()
    assert told.err.count("\n") == 1
    assert told.err.endswith("that are not in the vocabulary have no effect: xyzzy\n")
    pipeline = joblib.load(out / "model.joblib")
    model, words = pipeline[-1], pipeline[0].get_feature_names_out().tolist()
    n_topics = len(model.components_)
    assert n_topics == 4  # so few texts have three topics by default; seeded ones leave two free
    assert pipeline.topic_names_ == model.topic_names_ == ["justice", "music"] + [""] * (n_topics - 2)
    prior, corpus = np.full((n_topics, len(words)), 0.01), texts.read_text().split()
    for k, seeded in enumerate([["court", "judge"], ["drum", "flute"]]):
        for word in seeded:
            prior[k, words.index(word)] += 0.5 * corpus.count(word)
    np.testing.assert_allclose(model.topic_word_prior_, prior, rtol=1e-6)
    rows = {row["topic"]: row for row in table(out / "topics.csv")}
    assert [rows[k]["name"] for k in "0123"] == ["justice", "music", "", ""]
    assert set(rows["0"]["words"].split()) == set(THEMES[2])
    assert set(rows["1"]["words"].split()) >= {"drum", "flute"}
    page = read_report(out / "report.html")
    assert page.data["names"] == {0: "justice", 1: "music"}
    names = {"0": "justice", "1": "music"}
    for row in table(out / "documents.csv"):
        assert row["name"] == names.get(row["topic"], "")
        assert bool(row["name_share"]) == bool(row["name"])
    record = json.loads((out / "run.json").read_text())["estimator"]["SparseSCVB0LDA"]["topic_word_prior"]
    assert record == {"seeds": {"justice": ["court", "judge"], "music": ["drum", "flute"]}, "strength": 0.5}


@pytest.mark.parametrize(
    ("text", "seeds", "columns", "missing"),
    [
        ("gericht ärzte straße", "GERICHT A\u0308RZTE Straße oder", ["gericht", "ärzte", "straße"], ["oder"]),
        ("insan hukuk ışık", "İNSAN HUKUK ışık", ["insan", "hukuk", "ışık"], []),
        ("محكمة قاض عدل", "مَحْكَمَة", ["محكمة"], []),
        ("machine learning of rules", "Machine Learning rule", ["machine_learning", "rules"], []),
        ("machine learning of rules", "machine_learning", ["machine_learning"], []),
        ("machine learning of rules", "rules of of_rules the", ["rules"], ["of", "the"]),
    ],
)
def test_seeds_are_spelled_as_the_words_of_texts(tmp_path, monkeypatch, text, seeds, columns, missing):
    """Case, accents, vowel marks, merged forms and phrases are those of the corpus; stop words have no column."""
    monkeypatch.setattr(_tokens, "forms_of", lambda *_: {"rule": "rules"})
    rng = np.random.default_rng(0)
    more = [" ".join(rng.choice(["unu", "duo", "tri", "kvar"], 8)) for _ in range(40)]
    (tmp_path / "texts.txt").write_text("\n".join([text] * 10 + more), encoding="utf-8")
    words = Words(merge_forms=True, phrases=text.startswith("machine"), stop_words="english")
    corpus = read_corpus(tmp_path / "texts.txt", words=words)
    assert columns_of([seeds], Columns(corpus)) == (columns, missing)


def test_words_of_given_counts_are_found_as_they_are_written(tmp_path):
    """Words of a vocabulary with capitals, and such that no text would be split into."""
    np.savetxt(tmp_path / "docword.a.txt", [[1, 1, 2], [1, 2, 3], [2, 3, 1]], fmt="%d", header="2\n3\n3", comments="")
    (tmp_path / "vocab.txt").write_text("Bank\nbank\nnew york\n")
    corpus = read_corpus(tmp_path / "docword.a.txt", words=Words(vocabulary=str(tmp_path / "vocab.txt")))
    found = columns_of(["Bank New_York new_york bank", "new york", "york"], Columns(corpus))
    assert found == (["Bank", "new york", "bank"], ["york"])


@pytest.mark.parametrize(
    ("name", "content", "more", "told"),
    [
        ("a.csv", "topic,words\nfruit,apple\nother,nothing none\n", [], "is in the vocabulary (nothing, none); give"),
        ("a.csv", "topic,words\nfruit,apple\nother,\n", [], "no word of topic 'other' is in the vocabulary"),
        ("a.csv", "topic,word\nfruit,apple\n", [], "no column 'words'; its first line must be: topic,words"),
        ("a.csv", "topic,words\nfruit,apple\n,pear\n", [], "line 3 has words without a topic"),
        ("a.csv", "topic,words\n", [], "has no topic; map each name"),
        ("a.json", "{", [], "cannot be read"),
        ("a.json", '["apple"]', [], "is no mapping of names to lists"),
        ("a.json", '{"fruit": "apple"}', [], "is no mapping of names to lists"),
        ("a.json", '{"fruit": ["apple", true]}', [], "topic 'fruit' has True, which is no word; put words in quotes"),
        ("a.json", '{"a": ["apple"], "b": ["pear"]}', ["--n-components", "1"], "2 seeded topics, and n_comp"),
        ("a.json", '{"a": ["apple"]}', ["--estimator", "SkipGramTopicModel"], "does not work with SkipGramTopicModel"),
        ("a.yml", "fruit: [apple", [], "pip install pyyaml"),
        ("none.csv", None, [], "No such file"),
    ],
)
def test_wrong_seeds_are_refused_in_one_line(texts, tmp_path, capsys, monkeypatch, name, content, more, told):
    if content is not None:
        (tmp_path / name).write_text(content)
    monkeypatch.setitem(sys.modules, "yaml", None)
    files = ["--seeds", str(tmp_path / name), "--output", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as caught:
        main(["topics", str(texts), *files, *OPTIONS, *more])
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_name_that_no_word_of_its_topic_supports_is_told(monkeypatch):
    X = np.array([[9, 8, 7, 1, 0], [0, 1, 6, 9, 8]] * 20)
    words = ["court", "judge", "law", "drum", "flute"]
    prior = WordPrior(words, seeds={"law": ["court"], "music": ["drum"]}, strength=0.1)
    model = SparseSCVB0LDA(2, topic_word_prior=prior, max_iter=20, random_state=0).fit(X)
    monkeypatch.setattr(seeds_of, "LISTED", 2)
    assert seeds_of.told_of_seeds(model, words) == ""
    prior.seeds["law"] = ["flute"]
    assert seeds_of.told_of_seeds(model, words).startswith("the topics named 'law' have none of their words among")
    assert seeds_of.told_of_seeds(SparseSCVB0LDA(2, max_iter=1).fit(X), words) == ""
