"""Priors of topics over words: arrays, and those that a WordPrior makes of words."""

import warnings

import numpy as np
import pytest
from fitted import records
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from topic_cases import X, texts

from sparsemix import CollapsedLDA, GibbsLDA, SparseLDA, SparseSCVB0LDA, blocks
from sparsemix.datasets import make_sparse_lda
from sparsemix.topics import WordPrior
from sparsemix.topics._word_prior import EXCLUDED

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
K, V = 5, 30
TOTALS = np.asarray(X.sum(axis=0), dtype=float).ravel()
ESTIMATORS = pytest.mark.parametrize("cls", [SparseSCVB0LDA, SparseLDA, CollapsedLDA, GibbsLDA])


def fitted(cls, prior, rows=X, n_components=K, **params):
    return cls(n_components, topic_word_prior=prior, max_iter=4, random_state=0, **params).fit(rows)


@ESTIMATORS
def test_equal_numbers_are_one_number_and_sparse_ones_are_added_to_the_default(cls):
    more = sparse.random_array((K, V), density=0.1, rng=np.random.default_rng(0)) * 20.0
    for one, other in [(0.3, np.full((K, V), 0.3)), (None, sparse.csr_array((K, V)))]:
        np.testing.assert_allclose(fitted(cls, one).components_, fitted(cls, other).components_, rtol=1e-6)
    one, other = fitted(cls, sparse.csr_array(more)), fitted(cls, more.toarray() + 0.01)
    np.testing.assert_allclose(one.components_, other.components_, rtol=1e-5)
    np.testing.assert_allclose(one.topic_word_prior_, more.toarray() + 0.01, rtol=1e-6)


def given():
    return WordPrior(
        [f"w{v}" for v in range(V)], seeds={"one": ["w3", "w4"], "two": ["w7"]}, exclude={"two": ["w3"], 4: ["w0"]},
        fixed=np.eye(1, V, 9), strength=0.4, word_prior=0.05,
    )  # fmt: skip


@ESTIMATORS
def test_the_prior_is_what_its_words_say(cls):
    want = np.full((K, V), 0.05)
    want[0, 9] += 1e3 * TOTALS.sum()
    want[1, [3, 4]] += np.minimum(0.4 * TOTALS.sum() / K / 2, 0.5 * TOTALS[[3, 4]])
    want[2, 7] += min(0.4 * TOTALS.sum() / K, 0.5 * TOTALS[7])
    assert len({*(want[1, [3, 4]] < 0.05 + 0.5 * TOTALS[[3, 4]])}) == 2  # one word has the limit
    want[2, 3] = want[4, 0] = 0.05 * EXCLUDED
    est = fitted(cls, given())
    np.testing.assert_allclose(est.topic_word_prior_, want, rtol=1e-5)
    assert est.topic_names_ == ["", "one", "two", "", ""]
    assert {row["topic"]: row["name"] for row in records(est.topic_table())}[1] == "one"
    counts = est.components_ - est.topic_word_prior_
    assert counts[2, 3] + counts[4, 0] < 1e-3 * TOTALS[[0, 3]].sum()
    assert est.topic_word_distribution_[0, 9] > 0.99
    np.testing.assert_allclose(est.topic_weights_, np.maximum(counts, 0.0).sum(axis=1) / TOTALS.sum(), atol=2e-3)


@ESTIMATORS
def test_seeds_lead_to_the_topics_that_they_are_from(cls):
    rows, topics, _ = make_sparse_lda(300, 200, 8, doc_length=80, doc_topic_prior=0.2, random_state=0)
    order = [5, 2, 7]
    seeds = {f"topic {k}": np.argsort(-topics[k])[:3].tolist() for k in order}
    est = cls(8, topic_word_prior=WordPrior(seeds=seeds, strength=0.05), max_iter=40, random_state=0).fit(rows)
    likeness = np.sqrt(est.topic_word_distribution_) @ np.sqrt(topics).T
    np.testing.assert_array_equal(likeness.argmax(axis=1)[:3], order)
    assert est.topic_names_[:3] == list(seeds)


@pytest.mark.parametrize("kind", [SparseSCVB0LDA, SparseLDA, CollapsedLDA, GibbsLDA])
def test_excluded_words_do_not_come_back(kind):
    """Not even frequent words whose documents have much of the topic, after many epochs."""
    rows = make_sparse_lda(400, 60, 4, doc_length=60, doc_topic_prior=0.1, random_state=0)[0]
    frequent = np.argsort(-np.asarray(rows.sum(axis=0)).ravel())[:15].tolist()
    prior = WordPrior(seeds={"one": [frequent[16 % 15]]}, exclude={1: frequent[:10], 2: frequent[5:]})
    est = kind(6, topic_word_prior=prior, max_iter=80, random_state=0).fit(rows)
    shares = est.topic_word_distribution_
    assert max(shares[1, frequent[:10]].sum(), shares[2, frequent[5:]].sum()) < 1e-4


def test_small_numbers_in_an_array_exclude_nothing():
    prior = np.full((K, V), 1e-9)
    prior[:, ::2] = 0.5
    for cls in (SparseLDA, SparseSCVB0LDA):
        est = fitted(cls, prior)
        assert (est.components_ - est.topic_word_prior_)[:, 1::2].sum() == pytest.approx(TOTALS[1::2].sum(), rel=0.05)


def test_a_clone_has_the_words_and_the_fixed_topics():
    old = fitted(SparseLDA, None, n_components=2)
    vectorizer = CountVectorizer(vocabulary=[f"w{v}" for v in range(V)])
    est = fitted(SparseLDA, WordPrior(vectorizer, seeds={"one": ["w3"]}, fixed=old))
    again = clone(est).fit(X)
    np.testing.assert_array_equal(again.components_, est.components_)


@pytest.mark.statistical
def test_a_short_first_block_of_a_stream_has_seeds_next_to_fixed_topics():
    rows, topics, _ = make_sparse_lda(600, 300, 12, doc_length=20, doc_topic_prior=0.1, random_state=2)
    seeds = {f"topic {k}": np.argsort(-topics[k])[:2].tolist() for k in (5, 2, 7)}
    own = []  # over eight seeds the median is .94; a topic in five shares its words
    for seed in range(4):
        old = SparseSCVB0LDA(6, max_iter=10, random_state=seed).fit(rows)
        prior = WordPrior(seeds=seeds, fixed=old, exclude={"topic 5": [int(np.argmin(topics[5]))]})
        est = SparseLDA(20, topic_word_prior=prior, random_state=seed)
        for part in np.array_split(np.arange(600), 4):
            est.partial_fit(rows[part])
        free = (est.components_ - est.topic_word_prior_)[6:]
        own += [free[k, words].sum() / free[:, words].sum() for k, words in enumerate(seeds.values())]
    assert np.median(own) > 0.7


def test_a_stream_of_known_length_has_the_prior_of_all_documents():
    est = SparseSCVB0LDA(K, topic_word_prior=WordPrior(seeds={"one": [3]}), total_samples=600, random_state=0)
    for _ in range(4):
        est.partial_fit(X)
    want = 10 * min(0.02 * TOTALS.sum() / K, 0.5 * TOTALS[3])
    assert est.topic_word_prior_[0, 3] == pytest.approx(0.01 + want, rel=1e-6)
    assert (est.components_ - est.topic_word_prior_).sum() == pytest.approx(10 * TOTALS.sum(), rel=1e-4)


def test_a_stream_of_unknown_length_has_that_of_the_documents_that_begin_it():
    est = SparseLDA(K, topic_word_prior=WordPrior(seeds={"one": [3]}), random_state=0)
    for part in np.array_split(np.arange(X.shape[0]), 6):
        est.partial_fit(X[part])
    share = (est.topic_word_prior_[0, 3] - 0.01) / min(0.02 * TOTALS.sum() / K, 0.5 * TOTALS[3])
    assert 0.3 < share < 1.01
    assert (est.components_ - est.topic_word_prior_).sum() == pytest.approx(TOTALS.sum(), rel=1e-3)


@pytest.mark.parametrize("cls", [SparseSCVB0LDA, SparseLDA])
def test_blocks_have_the_prior_of_all_rows(cls):
    est = cls(K, topic_word_prior=given(), max_iter=3, random_state=0)
    blocks.fit(est, [X[:25], X[25:]])
    np.testing.assert_allclose(est.topic_word_prior_, fitted(cls, given()).topic_word_prior_, rtol=1e-6)
    assert (est.components_ - est.topic_word_prior_).sum() == pytest.approx(TOTALS.sum(), rel=1e-3)


@pytest.mark.parametrize("cls", [SparseSCVB0LDA, SparseLDA])
def test_another_fit_may_have_another_prior(cls):
    """A warm start replaces the prior and keeps what was learned."""
    est = fitted(cls, WordPrior(seeds={"one": [3]}, strength=5.0), warm_start=True)
    est.set_params(topic_word_prior=0.02, max_iter=1).fit(X)
    assert est.topic_word_prior_ == 0.02
    assert (est.components_ - 0.02).sum() == pytest.approx(TOTALS.sum(), rel=1e-3)
    assert est.topic_names_ == [""] * K


def test_a_grid_searches_the_strength():
    vectorizer = CountVectorizer()
    rows = vectorizer.fit_transform(texts())
    prior = WordPrior(vectorizer, seeds={"kitchen": ["oven", "butter"]})
    search = GridSearchCV(SparseSCVB0LDA(2, topic_word_prior=prior, max_iter=2, random_state=0),
                          {"topic_word_prior__strength": [0.01, 0.03]}, cv=2)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(rows)
    found = search.best_estimator_
    assert found.topic_names_ == ["kitchen", ""]
    word = vectorizer.vocabulary_["oven"]
    share = search.best_params_["topic_word_prior__strength"]
    assert found.topic_word_prior_[0, word] == pytest.approx(0.01 + share * rows.sum() / 2 / 2, rel=1e-6)
    assert clone(prior).strength == 0.02


WRONG = {
    "shape": (np.ones((K, V - 1)), r"topic_word_prior has shape \(5, 29\), expected \(5, 30\): topics by words"),
    "zero": (np.zeros((K, V)), r"topic_word_prior is 0\.0; it must be from 1e-37"),
    "NaN": (np.full((K, V), np.nan), "topic_word_prior is nan"),
    "sparse negative": (sparse.csr_array(-np.eye(K, V)), r"topic_word_prior is -0\.99"),
    "too many topics": (WordPrior(seeds={str(k): [k] for k in range(6)}), "0 fixed and 6 seeded topics, and n_comp"),
    "strength": (WordPrior(seeds={"a": [0]}, strength=-1.0), "'strength' parameter of WordPrior"),
    "prior": (WordPrior(seeds={"a": [0]}, word_prior=0.0), "'word_prior' parameter of WordPrior"),
    "text": (WordPrior(seeds={"a": "court"}), r"seeds\['a'\] of topic_word_prior is the text 'court'"),
    "unknown words": (WordPrior(seeds={"a": ["court"]}), r"no word of seeds\['a'\]"),
    "unknown topic": (WordPrior(seeds={"a": [1]}, exclude={"b": [2]}), "exclude names the topic 'b'"),
    "vocabulary": (WordPrior(["w"], seeds={"a": ["w"]}), "vocabulary of topic_word_prior has 1 words"),
    "list": (WordPrior(seeds=[["w"]]), "'seeds' parameter of WordPrior"),
    "columns": (WordPrior({f"w{v}": v + (v == 3) for v in range(V)}, seeds={"a": ["w1"]}), "one word for each column"),
    "twice": (WordPrior(["w"] * V, seeds={"a": ["w"]}), "has 30 words, 1 of them different"),
    "fixed": (WordPrior(fixed=np.ones((2, V + 1))), "fixed has 31 words, the data 30"),
    "unfitted": (WordPrior(fixed=SparseLDA()), "call its fit first"),
}


@pytest.mark.parametrize("name", WRONG)
@ESTIMATORS
def test_wrong_priors_are_named(cls, name):
    prior, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        fitted(cls, prior)


def test_words_outside_the_vocabulary_are_named():
    with pytest.warns(UserWarning, match="'court', 'judge' of topic_word_prior are not in the vocabulary"):
        est = fitted(SparseLDA, WordPrior(seeds={"a": [3, "court", "judge"]}))
    assert est.topic_word_prior_[0, 3] > 1.0


@pytest.mark.parametrize(("word", "seed"), [("court", "Court"), ("NATO", "nato")])
def test_words_that_differ_from_the_vocabulary_in_capitals_are_named(word, seed):
    words = [word, *(f"w{v}" for v in range(V - 1))]
    hint = f"; capitals count, and the vocabulary has '{word}'$"
    with pytest.raises(ValueError, match=hint):
        fitted(SparseLDA, WordPrior(words, seeds={"a": [seed]}))
    with pytest.warns(UserWarning, match=hint):
        fitted(SparseLDA, WordPrior(words, seeds={"a": [seed, "w1"]}))


def test_very_many_topics_take_sparse_priors_only():
    est = SparseSCVB0LDA(2100, topic_word_prior=WordPrior(seeds={"a": [3]}, strength=0.5), max_iter=1, random_state=0)
    assert est.fit(X).topic_word_prior_[0, 3] == pytest.approx(0.01 + 0.5 * TOTALS.sum() / 2100, rel=1e-6)
    assert (est.components_ - est.topic_word_prior_).sum() == pytest.approx(TOTALS.sum(), rel=1e-2)
    with pytest.raises(ValueError, match="differs in most of its entries, which more than 2000 topics do not support"):
        est.set_params(topic_word_prior=given()).fit(X)
