"""What all topic estimators say: tables of words, held-out scores, empty documents, arrays that do not fit."""

import numpy as np
import pytest
import realistic_tables
from estimator_cases import FIRST, over, with_parameters
from fitted import assert_never_fitted, assert_unchanged, few_epochs, records, snapshot
from scipy import sparse
from scipy.special import psi
from topic_cases import GIVEN, K, N, V, X

from sparsemix import SparseLDA, report
from sparsemix.metrics import document_completion
from sparsemix.topics._evaluation import unigram_completion

pytestmark = few_epochs
TOPICS = with_parameters("doc_topic_prior")
ONE_A_CLASS = [case for case in FIRST if case in TOPICS]
PRIOR = [0.1, 0.2, 0.3, 0.4, 1.0]


@over(ONE_A_CLASS)
def test_topic_table_names_words_and_sorts_topics(case, capsys):
    pd = pytest.importorskip("pandas")
    est = case.fitted()
    rows = records(est.topic_table(n_top_words=4))
    assert sorted(row["topic"] for row in rows) == list(range(K))
    weights = [row["token_share"] for row in rows]
    assert weights == sorted(est.topic_weights_, reverse=True)
    for row in rows:
        phi = est.components_[row["topic"]].astype(float) / est.components_[row["topic"]].sum(dtype=float)
        mean = est.components_.sum(axis=0, dtype=float) / est.components_.sum(dtype=float)
        order = np.argsort(-phi * np.log(phi / mean), kind="stable")[:4]
        assert row["words"] == [f"column {v}" for v in order]  # without names, the columns' numbers, and it says so
    names = [f"word{v}" for v in range(V)]
    for row in records(est.topic_table(n_top_words=4, order="probable")):
        order = np.argsort(-est.components_[row["topic"]], kind="stable")[:4]
        assert row["words"] == [f"column {v}" for v in order]
    est.print_topics(names, n_top_words=4, order="probable")
    probable = [row["words"] for row in records(est.topic_table(names, 4, order="probable"))]
    assert [line.split()[-4:] for line in capsys.readouterr().out.splitlines()] == probable
    with pytest.raises(ValueError, match='order must be "distinctive" or "probable", got 3'):
        est.topic_table(order=3)
    named = records(est.topic_table(feature_names=np.array(names), n_top_words=4))
    assert [row["words"] for row in named] == [[f"word{v.split()[1]}" for v in row["words"]] for row in rows]
    framed = case.make().fit(pd.DataFrame(X.toarray(), columns=names))
    assert records(framed.topic_table())[0]["words"][0].startswith("word")
    assert records(framed.topic_table(feature_names=[n.upper() for n in names]))[0]["words"][0].startswith("WORD")
    assert len(records(est.topic_table())[0]["words"]) == 10
    assert len(records(est.topic_table(n_top_words=V + 5))[0]["words"]) == V  # there are no more
    name = ["name"] if any(est.topic_names_) else []
    assert list(pd.DataFrame(rows).columns) == ["topic", *name, "token_share", "words"]


@over(ONE_A_CLASS)
def test_reports_list_the_words_of_topic_table(case):
    est, names = case.fitted(), [f"word{v}" for v in range(V)]
    for n in (3, 10, V):
        words = {row["topic"]: row["words"] for row in records(est.topic_table(names, n))}
        for row in records(report(est, X, names).table(n)):
            assert len(row["words"]) >= 3
            assert row["words"] == words[row["topic"]][: len(row["words"])]


@over(ONE_A_CLASS)
@pytest.mark.parametrize("names", [["a"] * (V - 1), ["a"] * (V + 1), [["a"] * V]])
def test_topic_table_refuses_other_numbers_of_names(case, names):
    with pytest.raises(ValueError, match=rf"feature_names has shape .*expected \({V},\)"):
        case.fitted().topic_table(feature_names=names)


@over(ONE_A_CLASS)
def test_default_priors_are_those_of_all_estimators(case):
    """Or scores would not compare."""
    for n_components, alpha in ((1, 0.1), (50, 0.1), (51, 5 / 51), (200, 0.025)):
        est = type(case.estimator)(n_components, init_params="random", max_iter=1).fit(X)
        np.testing.assert_array_equal(est.doc_topic_prior_, np.full(n_components, alpha))
        assert est.topic_word_prior_ == 0.01


@over(TOPICS)
def test_score_is_document_completion(case):
    est = case.make(doc_topic_prior=PRIOR).fit(X[:45])
    new = X[45:]
    score = est.score(new)
    assert isinstance(score, float)
    assert score == document_completion(est, new) == est.score(new.toarray())
    assert est.perplexity(new) == np.exp(-score)
    assert 1 < est.perplexity(new) < 2 * V
    order = np.random.default_rng(0).permutation(new.shape[0])
    assert est.score(new[order]) == pytest.approx(score, rel=1e-12)  # a sum in another order
    if case.has("n_jobs"):
        assert est.set_params(n_jobs=2).score(new) == score


@over([case for case in TOPICS if not hasattr(case.estimator, "sampler")])
def test_score_is_that_of_components_and_prior(case):
    """Variational inference of documents needs nothing else."""
    est = case.make(doc_topic_prior=PRIOR).fit(X[:45])
    completion = document_completion(np.array(est.components_), X[45:], doc_topic_prior=est.doc_topic_prior_)
    assert est.score(X[45:]) == completion


def test_transform_is_a_fixed_point_under_the_expected_logarithms_of_topics():
    """Topics of a few tokens, so that E[log phi] is not the logarithm of a mean."""
    est = SparseLDA(K, init_params=GIVEN, doc_topic_prior=PRIOR, max_doc_update_iter=10_000, max_iter=2)
    counts = X[:6].astype(np.float64)
    theta = est.fit(counts).transform(counts, normalize=False)
    topics = est.components_.astype(np.float64)
    assert topics.sum(axis=1).min() < 20.0
    word = np.exp(psi(topics) - psi(topics.sum(axis=1, keepdims=True))).T
    for document, found in zip(counts.toarray(), theta, strict=True):
        resp = np.exp(psi(found)) * word
        resp /= resp.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found, PRIOR + document @ resp, atol=0.03)  # TRANSFORM_TOL is 0.02


@over(ONE_A_CLASS)
def test_empty_document_has_the_mean_of_the_prior(case):
    for prior in (None, 0.7, PRIOR):
        est = case.fitted(doc_topic_prior=prior)
        rows = sparse.vstack([X[:3], sparse.csr_array((1, V)), X[3:5]], format="csr")
        theta, mean = est.transform(rows), est.doc_topic_prior_ / est.doc_topic_prior_.sum()
        np.testing.assert_allclose(theta[3], mean, rtol=1e-12)
        np.testing.assert_array_equal(np.delete(theta, 3, axis=0), est.transform(X[:5]))
        np.testing.assert_allclose(est.transform(np.zeros((2, V))), np.tile(mean, (2, 1)), rtol=1e-12)


@over([case for case in TOPICS if case.same_as_repeated])
def test_empty_documents_change_no_topic(case):
    holes = sparse.vstack([sparse.csr_array((2, V), dtype=np.int64), X[:30], sparse.csr_array((1, V), dtype=np.int64),
                           X[30:], sparse.csr_array((4, V), dtype=np.int64)], format="csr")  # fmt: skip
    params = case.same_as_repeated | {"doc_topic_prior": None, "topic_word_prior": None}
    plain, est = (case.make(**params).fit(rows) for rows in (X, holes))
    np.testing.assert_allclose(est.components_, plain.components_, rtol=1e-5)
    stats = est._fitted.stats
    assert float(stats["documents" if "documents" in stats else "mass"]) == N + 7
    if hasattr(est, "lower_bounds_"):
        assert est.lower_bounds_ == pytest.approx(plain.lower_bounds_, rel=1e-7)


BAD_ARRAYS = {
    "short prior": ({"doc_topic_prior": [0.1] * 4}, r"doc_topic_prior has shape \(4,\), expected a number or \(5,\)"),
    "long prior": ({"doc_topic_prior": [0.1] * 6}, r"doc_topic_prior has shape \(6,\), expected a number or \(5,\)"),
    "square prior": ({"doc_topic_prior": [[0.1] * 5]}, r"doc_topic_prior has shape \(1, 5\)"),
    "negative prior": ({"doc_topic_prior": [0.1] * 4 + [-1.0]}, "doc_topic_prior must be positive and finite"),
    "zero prior": ({"doc_topic_prior": [0.1] * 4 + [0.0]}, "doc_topic_prior must be positive and finite"),
    "NaN prior": ({"doc_topic_prior": [0.1] * 4 + [np.nan]}, "doc_topic_prior must be positive and finite"),
    "infinite prior": ({"doc_topic_prior": [0.1] * 4 + [np.inf]}, "doc_topic_prior must be positive and finite"),
    "few topics": ({"init_params": GIVEN[:4]}, rf"init_params has shape \(4, {V}\), expected \(5, {V}\): topics by"),
    "few words": ({"init_params": GIVEN[:, 1:]}, rf"init_params has shape \(5, {V - 1}\), expected \(5, {V}\)"),
    "words by topics": ({"init_params": GIVEN.T}, rf"init_params has shape \({V}, 5\), expected \(5, {V}\)"),
    "flat topics": ({"init_params": GIVEN.ravel()}, "Expected 2D array"),
    "negative topics": ({"init_params": GIVEN - 1.0}, "init_params must not be negative"),
    "empty topic": ({"init_params": np.vstack([GIVEN[:4], np.zeros((1, V))])}, "every topic needs a word"),
    "NaN topics": ({"init_params": np.where(GIVEN > 2, np.nan, GIVEN)}, "init_params contains NaN"),
    "infinite topics": ({"init_params": np.where(GIVEN > 2, np.inf, GIVEN)}, "init_params contains infinity"),
}


@over(ONE_A_CLASS)
def test_given_topics_may_have_any_total(case):
    whole = case.make(init_params=GIVEN, random_state=0).fit(X)
    for factor in (2.0**-900, 2.0**900):
        again = case.make(init_params=factor * GIVEN, random_state=0).fit(X)
        np.testing.assert_array_equal(again.components_, whole.components_)


@over([case for case in TOPICS if not case.learns_priors])
def test_wrong_array_is_named_and_changes_nothing(case):
    fitted = case.fitted()
    before, valid = snapshot(fitted, X), fitted.get_params(deep=False)
    for params, message in BAD_ARRAYS.values():
        new = case.make(**params)
        with pytest.raises(ValueError, match=message):
            new.fit(X)
        if case.can("partial_fit"):
            with pytest.raises(ValueError, match=message):
                new.partial_fit(X)
        assert_never_fitted(new)
        with pytest.raises(ValueError, match=message):
            fitted.set_params(**params).fit(X)
        fitted.set_params(**valid)
    assert_unchanged(fitted, before, X)


def test_topics_that_predict_worse_than_word_frequencies_are_named():
    """Documents of five words are too short for variational inference, unless it begins with good topics."""
    corpus = realistic_tables.corpora()["titles of five words"].train
    with pytest.warns(UserWarning, match="the topics predict hidden words worse .* use SparseSCVB0LDA"):
        SparseLDA(50, init_params="em", random_state=2).fit(corpus)
    SparseLDA(50, random_state=2).fit(corpus)  # a warning would be an error


def test_completion_under_word_frequencies():
    """That of a single topic, which is these frequencies."""
    X = sparse.csr_array(np.random.default_rng(0).poisson(0.5, size=(40, 12)))
    one = np.asarray(X.sum(axis=0), dtype=float)[None]
    np.testing.assert_allclose(unigram_completion(X, X), document_completion(one, X), rtol=1e-6)
