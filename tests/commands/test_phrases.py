"""Phrases by their strength, and forms of a word counted as one."""

import sys

import joblib
import numpy as np
import pytest

from sparsemix.__main__ import main
from sparsemix.texts._reading.corpus import Words, read_corpus
from sparsemix.texts._reading.words.tokens import LEAST_STRENGTH, Tokenizer, forms_of, phrases_of

PATTERN = r"[^\W\d_]{3,}"


def test_words_of_phrases_are_joined_where_they_are_adjacent():
    tokenizer = Tokenizer(PATTERN, {"machines": "machine"}, {"machine_learning": 5, "learning_rate": 5})
    text = "machine learning rate, machines  learning; machine-learning\nmachine\nlearning machine. learning machine"
    phrase = "machine_learning"
    assert tokenizer(text) == [phrase, "rate", phrase, phrase, phrase, "machine", "learning", "machine"]
    assert Tokenizer(PATTERN)(text)[:3] == ["machine", "learning", "rate"]
    assert Tokenizer(r"<(\w+)>", {}, {"ab_cd": 1})("<ab> <cd> <ab>-<x>") == ["ab_cd", "ab", "x"]


def test_phrases_are_found_among_random_words():
    rng = np.random.default_rng(0)
    words = [f"word{letter}" for letter in "abcdefghijklmnopqrst"]
    texts = [" ".join("new york" if rng.random() < 0.05 else rng.choice(words) for _ in range(50)) for _ in range(200)]
    assert list(phrases_of(texts, Tokenizer(PATTERN), set())) == ["new_york"]
    assert phrases_of(texts, Tokenizer(PATTERN), {"york"}) == {}
    assert phrases_of([text.replace("new york", "new. york") for text in texts], Tokenizer(PATTERN), set()) == {}
    assert phrases_of(["one two"], Tokenizer(PATTERN), set()) == {}


def test_phrases_have_a_least_strength_and_number():
    """Of 1,000 words, "aaa" and "bbb" occur 5 + n times, 5 of them adjacent: n = 36 gives a strength just below 0.4."""
    for n in range(30, 45):
        texts = 5 * ["aaa bbb"] + n * ["aaa", "bbb"] + (1000 - 10 - 2 * n) * ["ccc"]
        strength = np.log(5 * 1000 / (5 + n) ** 2) / np.log(1000 / 5)
        assert phrases_of(texts, Tokenizer(PATTERN), set()) == ({"aaa_bbb": 5} if strength >= LEAST_STRENGTH else {})
    assert phrases_of(4 * ["aaa bbb"] + 99 * ["ccc"], Tokenizer(PATTERN), set()) == {}


def test_forms_become_the_most_frequent_form(monkeypatch):
    pytest.importorskip("simplemma")
    counts = {"topics": 5, "topic": 9, "dogs": 7, "dog": 2, "using": 3, "used": 1, "the": 99}
    assert forms_of(counts, "en", {"the"}) == {"topics": "topic", "dog": "dogs", "used": "using"}
    with pytest.raises(ValueError, match="needs texts in a language that is recognised"):
        forms_of(counts, "", set())
    with pytest.raises(ValueError, match="knows no forms of the words of th "):
        forms_of(counts, "th", set())
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(ValueError, match=r"needs simplemma: pip install 'sparsemix\[texts\]'"):
        forms_of(counts, "en", set())


@pytest.mark.parametrize("estimator", ["SparseSCVB0LDA", "SkipGramTopicModel"])
def test_the_saved_pipeline_joins_phrases_in_new_texts(tmp_path, estimator):
    rng = np.random.default_rng(0)
    words = [f"word{letter}" for letter in "abcdefghij"]
    texts = [" ".join("New York" if rng.random() < 0.1 else rng.choice(words) for _ in range(30)) for _ in range(60)]
    (tmp_path / "a.txt").write_text("\n".join(texts))
    output = tmp_path / "out"
    command = ["topics", str(tmp_path / "a.txt"), "--phrases", "--max-df", "1.0", "--estimator", estimator]
    main([*command, "--max-iter", "2", "--output", str(output)])
    assert "new_york" in (output / "topics.csv").read_text()
    pipeline = joblib.load(output / "model.joblib")
    vectorizer = pipeline[0]
    (row,) = vectorizer.inverse_transform(vectorizer.transform(["in new york"]))
    assert row.tolist() == ["new_york"]
    corpus = read_corpus(tmp_path / "a.txt", words=Words(phrases=True))
    assert corpus.facts["phrases"] == "1 (new_york, ...)"
    assert not {"new", "york"} & set(corpus.feature_names)
