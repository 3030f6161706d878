"""Names of topics by a function: what it gets, and what becomes of its answers."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import LatentDirichletAllocation

from sparsemix.metrics import distinctive_words
from sparsemix.topics import name_topics

WORDS = ["river", "lake", "apple", "pear", "the"]
TEXTS = ["the river", "apples\nand  pears " * 9, "a lake and an apple"]


def model_of(components, shares):
    """A fitted model with given topics, whose documents have given shares."""
    return SimpleNamespace(components_=np.array(components, dtype=float), transform=lambda X: shares[: X.shape[0]])


@pytest.fixture
def model():
    shares = np.array([[0.9, 0.1], [0.0, 1.0], [0.5, 0.5]])
    return model_of([[5, 4, 0, 0, 9], [0, 0, 6, 3, 9]], shares)


def test_the_function_gets_distinctive_words_typical_texts_and_a_prompt(model):
    seen = []
    names = name_topics(
        model, lambda topic: seen.append(topic) or f' "Topic\n{topic.words[0]}" ', np.array(WORDS), np.ones((3, 5)),
        TEXTS, n_top_words=2, n_documents=2, n_characters=16,
    )  # fmt: skip
    assert names == ["Topic river", "Topic apple"]
    assert [topic.topic for topic in seen] == [0, 1]
    assert [topic.words for topic in seen] == [["river", "lake"], ["apple", "pear"]]  # not "the", the most frequent
    assert [topic.passages for topic in seen] == [
        ["the river", "a lake and an ap …"], ["apples and pears …", "a lake and an ap …"],
    ]  # fmt: skip
    for topic in seen:
        assert ", ".join(topic.words) in topic.prompt
        assert f"1. {topic.passages[0]}\n2. {topic.passages[1]}\n" in topic.prompt
    name_topics(model, lambda topic: seen.append(topic) or "a", WORDS)
    assert seen[-1].passages == []
    assert "documents with most" not in seen[-1].prompt


def test_models_of_other_packages_and_vectorizers():
    X = np.repeat([[5, 4, 0, 0, 1], [0, 0, 6, 3, 1]], 20, axis=0)
    lda = LatentDirichletAllocation(2, random_state=0).fit(X)
    vectorizer = SimpleNamespace(get_feature_names_out=lambda: np.array(WORDS, dtype=object))
    names = name_topics(lda, lambda topic: topic.passages[0], vectorizer, X, ["water"] * 20 + ["fruit"] * 20)
    first = distinctive_words(lda, 1).ravel()
    assert names == ["water" if v < 2 else "fruit" for v in first]


def test_topics_of_one_name_get_a_word_that_they_do_not_share():
    model = model_of([[9, 5, 0, 0, 0], [9, 0, 5, 0, 0], [0, 0, 0, 9, 1], [9, 5, 0, 0, 0]], None)
    given = ["Water", "water", "Fruit", "Other"]
    assert name_topics(model, lambda topic: given[topic.topic], WORDS, n_top_words=2) == [
        "Water (lake)", "water (apple)", "Fruit", "Other",
    ]  # fmt: skip
    same = name_topics(model, lambda _: "all", WORDS, n_top_words=2)
    assert same == ["all (0)", "all (apple)", "all (pear)", "all (3)"]  # topics 0 and 3 are equal


def test_failures_name_the_topic_and_wrong_input_is_refused(model):
    def fails(topic):
        if topic.topic == 1:
            raise OSError("no connection")
        return "a"

    with pytest.raises(RuntimeError, match=r"function failed for topic 1 \(OSError: no connection\)"):
        name_topics(model, fails, WORDS)
    X = np.ones((3, 5))
    for answer, arguments, message in (
        (" ' ", (WORDS,), 'function returned " \' " for topic 0; return a name'),
        (None, (WORDS,), "function returned None for topic 0"),
        ("a", (WORDS[:4],), "vocabulary has 4 words but topics have 5"),
        ("a", (WORDS, X), "X and texts belong together"),
        ("a", (WORDS, X, TEXTS[:2]), "texts has 2 entries but X has 3 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            name_topics(model, lambda _, answer=answer: answer, *arguments)
