"""Fits of CollapsedLDA by every method: whole counts, exact tables, warm starts, convergence, interrupted sweeps."""

import warnings

import numpy as np
import pytest
from fitted import assert_same, assert_same_bits, assert_unchanged, said, snapshot
from interruptions import fail_at
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from topic_cases import LEARNED, K, N, V, X, assert_valid, spoilt, spoilt_csr

from sparsemix import CollapsedLDA
from sparsemix._models.topics.sweep_models import GibbsModel, SecondOrderModel, ZeroOrderModel
from sparsemix._rows import documents as documents_module
from sparsemix.datasets import make_sparse_lda

# Fits of a few sweeps: the tests check that they are valid, not that they converge.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

METHODS = {"cvb0": ZeroOrderModel, "cvb": SecondOrderModel, "gibbs": GibbsModel}
per_method = pytest.mark.parametrize("method", METHODS)
OBJECTIVE = {"cvb0": "change", "cvb": "lower_bound", "cvb_exact": "lower_bound", "gibbs": "log_joint"}


def lda(method="cvb0", n_components=K, **params):
    return CollapsedLDA(n_components, inference=method, **({"max_iter": 3, "tol": 0.0, "random_state": 0} | params))


# -- wrong input


@pytest.mark.parametrize("rows", [spoilt(1.5), spoilt_csr(1.5), sparse.csc_array(spoilt_csr(1.5))],
                         ids=["dense", "CSR", "CSC"])  # fmt: skip
def test_gibbs_refuses_counts_that_are_not_whole(rows):
    weight = np.ones(N)
    weight[:20] = 0.0  # the row is the caller's
    fitted = lda("gibbs").fit(X)
    before = snapshot(fitted, X)
    for est in (lda("gibbs"), fitted):
        with pytest.raises(ValueError, match=r'row 41 of X has the count 1\.5.*whole numbers.*round.*inference="cvb0"'):
            est.fit(rows, sample_weight=weight)
    assert_unchanged(fitted, before, X)
    for method in ("cvb0", "cvb"):
        assert_valid(lda(method).fit(rows), rows)
    assert np.isfinite(fitted.transform(rows)).all()  # new documents may have any weights


# -- counts in every form


def test_tables_of_many_tokens_are_exact(monkeypatch):
    """Single precision counts to 2**24; where there are more tokens, or weights are parts, tables are double."""
    assert lda("gibbs").fit(X).components_.dtype == np.float32
    assert lda("gibbs").fit(X, sample_weight=np.full(N, 2.0)).components_.dtype == np.float32
    assert lda("gibbs").fit(X, sample_weight=np.full(N, 0.1)).components_.dtype == np.float64
    assert lda("cvb0").fit(X, sample_weight=np.full(N, 0.1)).components_.dtype == np.float32
    one = lda("gibbs").fit(X)
    monkeypatch.setattr("sparsemix.topics._assemble.EXACT", 100)
    many = lda("gibbs").fit(X)
    assert many.components_.dtype == np.float64
    np.testing.assert_allclose(many.components_, one.components_, rtol=1e-6)


@per_method
def test_words_that_never_occur_stay_at_the_prior(method):
    rows = np.hstack([X.toarray(), np.zeros((N, 2), dtype=int)])
    est = lda(method, topic_word_prior=0.05).fit(rows)
    np.testing.assert_allclose(est.components_[:, -2:], 0.05, rtol=1e-6)


# -- the same bits


@per_method
@pytest.mark.parametrize("learned", [False, True])
def test_fit_gives_the_same_bits_twice_whatever_the_chunks(method, learned, monkeypatch):
    many = make_sparse_lda(1400, n_features=V, n_components=K, doc_length=20, random_state=2)[0]
    weight = np.random.default_rng(0).uniform(0.0, 2.0, 1400)
    params = {**(LEARNED if learned else {}), "max_iter": 12}
    one, again = (lda(method, **params).fit(many, sample_weight=weight) for _ in range(2))
    assert_same_bits(one, again, many)
    assert [r[OBJECTIVE[method]] for r in one.history_] == [r[OBJECTIVE[method]] for r in again.history_]
    monkeypatch.setattr(documents_module, "CHUNK_BYTES", 1 << 15)
    chunked = lda(method, **params).fit(many, sample_weight=weight)
    np.testing.assert_allclose(chunked.components_, one.components_, rtol=1e-2, atol=1e-2)
    other = lda(method, random_state=1, **params).fit(many, sample_weight=weight)
    assert not np.allclose(other.components_, one.components_, rtol=1e-2, atol=1e-2)


# -- fits again


@per_method
def test_warm_start_continues(method):
    params = {"burn_in": 0, "thin": 6} if method == "gibbs" else {}
    straight = lda(method, max_iter=6, **params).fit(X)
    params = {"burn_in": 0, "thin": 3} if method == "gibbs" else {}
    resumed = lda(method, max_iter=3, warm_start=True, **params).fit(X)
    resumed.fit(X)
    np.testing.assert_allclose(resumed.components_, straight.components_, rtol=1e-3, atol=1e-3)
    one, two = (est.history_[-1][OBJECTIVE[method]] for est in (resumed, straight))
    assert one == pytest.approx(two, rel=1e-3)
    cold = lda(method, max_iter=3, **params).fit(X).fit(X)  # without warm_start, all again
    assert not np.allclose(cold.components_, straight.components_, rtol=1e-3, atol=1e-3)


@per_method
def test_warm_start_with_other_documents_or_method_continues_from_the_topics(method):
    many = sparse.csr_array(make_sparse_lda(300, n_features=V, n_components=K, doc_length=50, random_state=2)[0])
    est = lda(method, max_iter=60, warm_start=True, topic_word_prior=0.1).fit(many)
    score, other = est.score(many), many[::-1]
    cold = lda(method, max_iter=2).fit(other).score(many)
    for name in (method, *METHODS):
        est.set_params(max_iter=2, inference=name).fit(other)
        assert est.score(many) > cold + 0.8 * (score - cold)
        assert_valid(est, other)
    for rows in (many[:200], sparse.vstack([many, many], format="csr"), 2 * many, many):
        assert_valid(est.fit(rows), rows)


def test_warm_start_continues_from_learned_priors():
    est = lda(warm_start=True, **LEARNED, max_iter=14).fit(X)
    prior = est.doc_topic_prior_
    est.set_params(max_iter=0).fit(X)
    np.testing.assert_array_equal(est.doc_topic_prior_, prior)


@pytest.mark.parametrize(("method", "tol"), [("cvb0", 0.1), ("cvb", 0.03), ("cvb0", None), ("cvb", None)])
def test_convergence_is_reported_and_its_absence_warned_of(method, tol):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = lda(method, max_iter=2000, tol=tol).fit(X)
    assert est.converged_
    assert 12 <= est.n_iter_ < 2000  # in the first sweeps topics are nearly alike and change little
    limit = {"cvb0": 5e-3, "cvb": 1e-3}[method] if tol is None else tol
    if method == "cvb":
        gain = np.diff(est.lower_bounds_)[10:] / X.sum()
        settled = (gain >= 0) & (gain < limit)
    else:
        changes = np.array([record["change_per_token"] for record in est.history_])
        settled = ((changes[1:] < limit) & (changes[1:] <= changes[:-1]))[10:]
    assert settled[-1]
    assert not settled[:-1].any()
    with pytest.warns(ConvergenceWarning, match="max_iter=2 sweeps"):
        assert not est.set_params(max_iter=2, tol=1e-9).fit(X).converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not est.set_params(tol=0.0).fit(X).converged_  # as many sweeps as asked for
        assert not est.set_params(inference="gibbs", tol=1.0).fit(X).converged_  # a chain has none
    assert est.n_iter_ == 2


# -- interrupts


@per_method
def test_warm_start_drops_interrupted_state_of_rows(method, monkeypatch):
    est = lda(method, warm_start=True, max_iter=5).fit(X)
    before = said(est, X)
    with monkeypatch.context() as patch:
        fail_at(patch, METHODS[method], "global_step", 1)
        with pytest.raises(KeyboardInterrupt):
            est.fit(X)
    assert_same(before, said(est, X))
    with monkeypatch.context() as patch:
        original = METHODS[method].sweep

        def half(self, *args):
            original(self, *args)
            raise KeyboardInterrupt

        patch.setattr(METHODS[method], "sweep", half)
        with pytest.raises(KeyboardInterrupt):
            est.fit(X)
    assert not est._row_state.whole
    est.fit(X)
    assert est._row_state.whole
    assert_valid(est, X)
