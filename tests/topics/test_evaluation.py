"""Evaluation while a fit continues: what the history says is true, the best topics stay, nothing else changes."""

import numpy as np
import pytest
from sklearn.base import clone

from sparsemix import SparseSCVB0LDA
from sparsemix.datasets import make_sparse_lda
from sparsemix.metrics import document_completion, topic_coherence


@pytest.fixture(scope="module")
def corpus():
    made = make_sparse_lda(600, 200, 8, random_state=0)
    X = made[0] if isinstance(made, tuple) else made.data
    return X[:400], X[400:500], X[500:]


def lda(**parameters):
    return SparseSCVB0LDA(8, max_iter=6, random_state=0).set_params(**parameters)


def test_without_stopping_nothing_changes(corpus):
    X, held_out, _ = corpus
    plain, watched = lda().fit(X), lda(early_stopping=False).fit(X, validation_data=held_out)
    np.testing.assert_array_equal(plain.components_, watched.components_)
    assert all("score" in record for record in watched.history_)
    assert "score" not in plain.history_[-1]
    assert watched.converged_ is False
    assert not hasattr(watched, "best_iter_")
    assert not hasattr(watched, "_validation_data")


def test_the_history_holds_the_scores_of_its_epochs(corpus):
    X, held_out, _ = corpus
    model = lda(early_stopping=False).fit(X, validation_data=held_out)
    assert model.history_[-1]["score"] == pytest.approx(document_completion(model, held_out), abs=1e-6)
    assert model.history_[-1]["coherence"] == pytest.approx(topic_coherence(model, X).mean(), abs=1e-12)


def test_a_part_is_set_aside_only_on_request(corpus):
    X, held_out, _ = corpus
    assert lda().fit(X).n_samples_seen_ == lda().fit(X, validation_data=held_out).n_samples_seen_ == 400
    model = lda(early_stopping=True).fit(X)
    assert model.n_samples_seen_ == 360
    weight = np.ones(400)
    weight[::2] = 2.0
    assert lda(early_stopping=True).fit(X, sample_weight=weight).n_samples_seen_ == 360
    dense = lda(early_stopping=True).fit(X.toarray())
    assert dense.n_samples_seen_ == 360
    with pytest.raises(ValueError, match="give validation_data"):
        lda(early_stopping=True).fit(X[:4])


def test_it_ends_when_nothing_is_gained_and_keeps_the_best(corpus, capsys):
    X, held_out, _ = corpus
    model = lda(max_iter=60, verbose=1).fit(X, validation_data=held_out)
    assert model.converged_ is True
    assert model.n_iter_ < 60
    assert model.stop_reason_ in capsys.readouterr().out
    score = model.history_[model.best_iter_ - 1]["score"]
    assert document_completion(model, held_out) == pytest.approx(score, abs=1e-5)
    assert score > max(record.get("score", -np.inf) for record in model.history_) - 0.07
    assert model.partial_fit(X[:50]).n_samples_seen_ == 450


def test_a_given_number_of_epochs_also_keeps_the_best(corpus):
    """Few documents, which late epochs overfit."""
    X, held_out, _ = corpus
    X = X[:12]
    model = lda(max_iter=8, n_averaged_iter=0).fit(X, validation_data=held_out)
    records = {record["n_iter"]: record for record in model.history_}
    assert len(records) == 8
    enough = 0.95 * max(record["separation"] for record in records.values())
    separated = [n for n in records if records[n]["separation"] >= enough]
    best = max(records[n]["score"] for n in range(min(separated), 9))
    assert best - records[model.best_iter_]["score"] <= 0.005
    assert document_completion(model, held_out) == pytest.approx(records[model.best_iter_]["score"], abs=1e-5)
    same = lda(max_iter=model.best_iter_, n_averaged_iter=0).fit(X)
    np.testing.assert_allclose(model.components_, same.components_, rtol=1e-5)


def test_the_same_bits_for_any_number_of_threads(corpus):
    X, _, _ = corpus
    one, two = (lda(early_stopping=True, n_jobs=n).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)
    assert [r.get("score") for r in one.history_] == [r.get("score") for r in two.history_]


def test_a_failing_evaluation_leaves_the_model(corpus):
    X, held_out, _ = corpus
    model = lda(early_stopping=False).fit(X, validation_data=held_out)
    before = model.components_.copy()
    bad = held_out.copy()
    bad.data = bad.data.astype(float)
    bad.data[0] = np.nan
    with pytest.raises(ValueError, match="row 0"):
        model.fit(X, validation_data=bad)
    with pytest.raises(ValueError, match="features"):
        model.fit(X, validation_data=held_out[:, :-1])
    np.testing.assert_array_equal(model.components_, before)
    assert clone(model).early_stopping is False


def test_verbose_prints_the_score(corpus, capsys):
    X, held_out, _ = corpus
    lda(early_stopping=False, verbose=1).fit(X, validation_data=held_out)
    assert capsys.readouterr().out.count("held-out score -") == 6


def test_held_out_documents_that_cannot_be_scored_are_refused_before_the_fit():
    single = np.eye(6)[np.arange(24) % 6]
    est = SparseSCVB0LDA(2, early_stopping=True, random_state=0)
    with pytest.raises(ValueError, match=r"no document that is held out .* two distinct words; give validation_data"):
        est.fit(single)
    assert not hasattr(est, "_fitted")
