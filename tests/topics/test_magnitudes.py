"""Numbers at the ends of what single precision holds: finite results, or one sentence that names the row."""

import numpy as np
import pytest
from scipy import sparse
from topic_cases import LEARNED

from sparsemix import CollapsedLDA, SparseLDA, SparseMultinomialMixture, SparseSCVB0LDA
from sparsemix._models.topics import gibbs_sampler
from sparsemix._models.topics.gibbs_sampler import DENSE_SUMS
from sparsemix.metrics import document_completion, split_by_token

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

X = np.random.default_rng(0).poisson(1.0, (40, 12)) + 1.0
ESTIMATORS = [SparseLDA, SparseSCVB0LDA, CollapsedLDA]


def with_count(count, row=7):
    out = X.copy()
    out[row, 5] = count
    return out


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_counts_beyond_single_precision_are_refused(estimator, form):
    with pytest.raises(ValueError, match=r"count 1e\+38 in row 7; .* 1e\+17: multiply or divide"):
        estimator(3).fit(form(with_count(1e38)))
    weights = np.ones(40)
    weights[3] = 1e149
    with pytest.raises(ValueError, match=r"sample_weight of row 3 is 1e\+149; .* divide"):
        estimator(3).fit(form(X), sample_weight=weights)


@pytest.mark.filterwarnings("ignore:sample_weight has the sum")
@pytest.mark.parametrize("weight", [1e15, 1e-29])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_extreme_weights_give_finite_results(estimator, weight):
    est = estimator(3, max_iter=3, random_state=0).fit(X, sample_weight=np.full(40, weight))
    assert np.isfinite(est.components_).all()
    assert np.isfinite(est.transform(X)).all()
    assert np.isfinite(est.score(X))


@pytest.mark.parametrize("prior", [{"topic_word_prior": 1e-30}, {"doc_topic_prior": 1e-30}])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_small_priors_give_finite_results(estimator, prior):
    est = estimator(3, max_iter=3, random_state=0, **prior).fit(X)
    assert np.isfinite(est.components_).all()
    assert np.isfinite(est.transform(X)).all()


@pytest.mark.parametrize("prior", [1e-45, 1e18, 1e39, 1e300])
@pytest.mark.parametrize("name", ["topic_word_prior", "doc_topic_prior"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_priors_beyond_single_precision_are_refused(estimator, name, prior):
    with pytest.raises(ValueError, match=rf"{name} .* from 1e-37 to 1e\+17"):
        estimator(3, **{name: prior}).fit(X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_largest_priors_give_finite_results(estimator):
    est = estimator(3, max_iter=3, random_state=0, topic_word_prior=1e17, doc_topic_prior=1e17).fit(X)
    assert np.isfinite(est.components_).all()
    assert np.isfinite(est.transform(X)).all()


@pytest.mark.parametrize("estimator", [*ESTIMATORS, SparseMultinomialMixture])
def test_counts_that_are_read_are_those_that_could_be_learned(estimator):
    est = estimator(3, max_iter=2, random_state=0).fit(X)
    for call in ("transform", "predict_proba", "score", "partial_fit"):
        if hasattr(est, call):
            with pytest.raises(ValueError, match=r"count 1e\+39 in row 7; .* 1e\+17: multiply or divide"):
                getattr(est, call)(with_count(1e39))
    with pytest.raises(ValueError, match=r"count 1e\+39 in row 7; .* 1e\+17: multiply or divide"):
        estimator(3).fit(sparse.csr_array(with_count(1e39)))


@pytest.mark.parametrize("settings", [(SparseLDA, {}), (CollapsedLDA, {}), (CollapsedLDA, {"inference": "cvb"})])
def test_priors_are_learned_with_one_huge_count(settings):
    estimator, method = settings
    est = estimator(3, **LEARNED, max_iter=30, random_state=0, **method).fit(with_count(1e9))
    assert np.isfinite(est.doc_topic_prior_).all()
    assert np.isfinite(est.topic_word_prior_)
    assert np.isfinite(est.components_).all()


def test_lists_of_tokens_are_bounded():
    with pytest.raises(ValueError, match=r"count 1000000000.0 in row 7.*cvb0"):
        CollapsedLDA(3, inference="gibbs").fit(with_count(1e9))
    for call in (split_by_token, lambda data: document_completion(np.ones((2, 12)), data, split="token")):
        with pytest.raises(ValueError, match=r"count 100000000.0 in row 7.*by type"):
            call(with_count(1e8))


@pytest.mark.parametrize("sampler", ["gibbs", "dense", "mhw"])
@pytest.mark.parametrize("n_components", [4, DENSE_SUMS + 1])
@pytest.mark.parametrize("count", [1e12, 1e16])
def test_huge_counts_are_sampled_in_little_time(sampler, n_components, count):
    """Numbers of draws and of tokens seen that are beyond integers; a list of them would fill the memory."""
    data = with_count(count)
    params = {"sampler": sampler, "init_params": "uniform", "learning_method": "online"}
    est = SparseSCVB0LDA(n_components, max_iter=2, random_state=0, **params).fit(data)
    assert np.isfinite(est.components_).all()
    np.testing.assert_allclose(est._fitted.stats["count"].sum(), data.sum(), rtol=1e-3)


@pytest.mark.parametrize("n_components", [4, DENSE_SUMS + 1])
@pytest.mark.filterwarnings("ignore:sample_weight has the sum")
def test_documents_that_weigh_far_less_than_their_prior(n_components):
    est = SparseSCVB0LDA(n_components, doc_topic_prior=1e15, topic_word_prior=1e-30, sampler="gibbs", random_state=0)
    est.partial_fit(X, sample_weight=np.full(40, 1e-29))
    np.testing.assert_allclose(est.transform(X), 1.0 / n_components, rtol=1e-6)
    assert np.isfinite(est.components_).all()


def test_units_of_the_fixed_part_do_not_matter(monkeypatch):
    params = {"sampler": "gibbs", "max_iter": 3, "random_state": 0}
    expected = SparseSCVB0LDA(4, **params).fit(X).components_
    monkeypatch.setattr(gibbs_sampler, "LARGEST_FIXED", 2.0**-40)
    np.testing.assert_allclose(SparseSCVB0LDA(4, **params).fit(X).components_, expected, rtol=1e-4)


@pytest.mark.parametrize("estimator", [SparseLDA, SparseSCVB0LDA, SparseMultinomialMixture])
@pytest.mark.filterwarnings("ignore:sample_weight has the sum")
def test_a_stream_may_weigh_far_more_than_the_fit_before(estimator):
    est = estimator(3, max_iter=2, total_samples=1e17, random_state=0).fit(X, sample_weight=np.full(40, 1e-29))
    est.partial_fit(X, sample_weight=np.full(40, 1e9))
    assert np.isfinite(est.score(X))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.filterwarnings("ignore:X has the sum")
def test_counts_and_weights_below_single_precision_are_refused(estimator):
    with pytest.raises(ValueError, match=r"count .*e-40 in row .*: multiply or divide all counts"):
        estimator(3).fit(1e-40 * X)
    with pytest.raises(ValueError, match=r"sample_weight of row 0 is 1e-40; .*: multiply or divide"):
        estimator(3).fit(X, sample_weight=np.full(40, 1e-40))


def test_cvb_has_a_bound_with_huge_counts():
    est = CollapsedLDA(3, inference="cvb", max_iter=3, random_state=0).fit(with_count(1e17))
    assert np.isfinite(est.lower_bound_)
