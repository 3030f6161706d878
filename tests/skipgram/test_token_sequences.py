"""TokenSequences: CountVectorizer's vocabulary and counts, with the order of words kept."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sparsemix import SkipGramTopicModel, TokenSequences

TEXTS = [
    "The bank of the river was green",
    "",
    "a bank lends money to another bank, and the bank earns",
    "the money is green; the river is not",
    "Über",
]
SETTINGS = [
    {},
    {"stop_words": "english"},
    {"min_df": 2},
    {"max_df": 2},
    {"max_features": 3},
    {"vocabulary": ["bank", "river", "money"]},
    {"lowercase": False},
    {"strip_accents": "unicode"},
    {"analyzer": str.split},
    {"tokenizer": str.split, "token_pattern": None},
]


def counts_of(X, n_words):
    documents = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return sparse.csr_array((np.ones(X.nnz), (documents, X.data - 1)), shape=(X.shape[0], n_words)).toarray()


@pytest.mark.parametrize("params", SETTINGS, ids=[",".join(params) for params in SETTINGS])
@pytest.mark.parametrize("gaps", ["close", "keep"])
def test_words_and_counts_are_those_of_count_vectorizer(params, gaps):
    counter, sequences = CountVectorizer(**params), TokenSequences(gaps=gaps, **params)
    counts, X = counter.fit_transform(TEXTS), sequences.fit_transform(TEXTS)
    np.testing.assert_array_equal(sequences.get_feature_names_out(), counter.get_feature_names_out())
    np.testing.assert_array_equal(counts_of(X, counts.shape[1]), counts.toarray())
    assert X.dtype == np.int32
    assert X.has_sorted_indices
    for again in (sequences.transform(TEXTS), sequences.fit(TEXTS).transform(iter(TEXTS))):
        np.testing.assert_array_equal(again.toarray(), X.toarray())
    np.testing.assert_array_equal(sequences.fit_transform(text for text in TEXTS).toarray(), X.toarray())
    words = sequences.inverse_transform(X)
    analyze = CountVectorizer(**(params | {"stop_words": None, "vocabulary": None})).build_analyzer()
    for document, text in zip(words, TEXTS, strict=True):
        assert list(document) == [word for word in analyze(text) if word in sequences.vocabulary_]


def test_gaps():
    for gaps, expected in (("close", [[1, 2, 1]]), ("keep", [[0, 1, 0, 0, 2, 1]])):
        sequences = TokenSequences(gaps=gaps, vocabulary=["cat", "dog"])
        np.testing.assert_array_equal(sequences.transform(["the cat and the dog cat bye"]).toarray(), expected)


def test_stop_words_that_the_tokenizer_cuts_are_named():
    for method in ("fit", "fit_transform"):
        with pytest.warns(UserWarning, match="stop_words may be inconsistent"):
            getattr(TokenSequences(stop_words=["don't"]), method)(TEXTS)


def test_new_texts_have_their_own_width():
    sequences = TokenSequences().fit(TEXTS)
    assert sequences.transform(["bank"]).shape == (1, 1)
    assert sequences.transform(["unknown", ""]).shape == (2, 1)
    assert sequences.transform([]).shape == (0, 1)
    assert sequences.transform(["bank " * 100]).shape == (1, 100)


def test_errors_say_what_to_do():
    with pytest.raises(NotFittedError):
        TokenSequences().transform(TEXTS)
    with pytest.raises(NotFittedError):
        TokenSequences().get_feature_names_out()
    with pytest.raises(ValueError, match="string object"):
        TokenSequences().fit(TEXTS).transform("one text")
    with pytest.raises(ValueError, match="empty vocabulary"):
        TokenSequences().fit(["", ""])
    with pytest.raises(ValueError, match="gaps"):
        TokenSequences(gaps="leave").fit(TEXTS)


def test_copies():
    sequences = TokenSequences(min_df=2, gaps="keep").fit(TEXTS)
    for other in (pickle.loads(pickle.dumps(sequences)), clone(sequences).fit(TEXTS)):
        np.testing.assert_array_equal(other.transform(TEXTS).toarray(), sequences.transform(TEXTS).toarray())


def test_pipelines_and_grid_searches():
    texts = [" ".join(np.random.default_rng(i).choice([f"w{i % 3}{j}" for j in range(8)], size=15)) for i in range(40)]
    pipeline = make_pipeline(TokenSequences(), SkipGramTopicModel(2, max_iter=2, n_words=24, random_state=0))
    search = GridSearchCV(pipeline, {"skipgramtopicmodel__n_components": [1, 3]}, cv=2).fit(texts)
    assert search.best_params_ == {"skipgramtopicmodel__n_components": 3}
    assert search.best_estimator_.transform(texts).shape == (40, 3)


def test_word_counts_give_a_warning():
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in rng.zipf(1.3, 40) if i < 500) for _ in range(50)]
    counts = CountVectorizer().fit_transform(texts)
    model = SkipGramTopicModel(2, max_iter=1, random_state=0)
    for given in (counts, counts.toarray()):
        with pytest.warns(UserWarning, match="looks like word counts.*TokenSequences"):
            model.fit(given)
    sequences = TokenSequences().fit(texts).transform(texts)
    gaps = sparse.csr_array(sequences.toarray() * (rng.random(sequences.shape) < 0.3))  # words that are unknown
    same = sparse.csr_array(np.ones((5, 30), dtype=np.int32))  # one word, in every place
    for given in (sequences, gaps, same):
        model.fit(given)
