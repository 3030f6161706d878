"""Topics with covariates: next to the model without, slow twins, known truth, and every way to give covariates."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from plans import plans_of
from scipy import sparse
from scipy.special import psi
from seeds import one_of_three
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sparsemix import SparseDMR, SparseSCVB0LDA, blocks
from sparsemix._engine.inference import infer_doc_topic
from sparsemix._kernels.documents import _special
from sparsemix._models.topics.covariates.regression_model import RegressionModel
from sparsemix._models.topics.token_topics import TokenTopics
from sparsemix.topics import merge_topics
from sparsemix.topics._collapsed import plan
from sparsemix.topics._covariates import recipe
from sparsemix.topics._covariates.recipe import RegressionRecipe

K, V, N = 4, 60, 800
COEF = np.array([[1.5, 0.0], [-1.0, 0.5], [0.0, -0.8], [0.3, 0.4]])


def corpus(n=N, length=50, seed=0):
    """Documents of known topics, their covariates, and the topics."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(5).dirichlet(np.full(V, 0.1), K)
    covariates = np.column_stack([rng.integers(2, size=n), rng.standard_normal(n)])
    alpha = np.exp(-1.0 + covariates @ COEF.T)
    X = [rng.multinomial(length, rng.dirichlet(a) @ topics) for a in alpha]
    return sparse.csr_array(np.array(X)), covariates, topics


X, COVARIATES, TOPICS = corpus()
START = TOPICS + 1e-3


@pytest.fixture
def frozen(monkeypatch):
    """Coefficients stay at their first values."""
    monkeypatch.setattr(RegressionModel, "_learn_doc_topic_prior", lambda *_: None)
    monkeypatch.setattr(RegressionModel, "learn_prior_mass", lambda *_: None)
    monkeypatch.setattr(plan, "with_unseen", lambda _, made, *__: made)
    monkeypatch.setattr(SparseDMR, "_table_dtype", np.float64)
    monkeypatch.setattr(SparseSCVB0LDA, "_table_dtype", np.float64)


@pytest.mark.usefixtures("frozen")
@pytest.mark.parametrize("covariates", [None, COVARIATES])
def test_without_coefficients_it_is_the_model_with_one_prior(covariates):
    dmr = SparseDMR(K, max_iter=6, random_state=3).fit(X, covariates=covariates)
    plain = SparseSCVB0LDA(K, doc_topic_prior=0.1, max_iter=6, burn_in=2, random_state=3).fit(X)
    np.testing.assert_allclose(dmr.components_, plain.components_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(dmr.transform(X), plain.transform(X), rtol=1e-8)


def test_known_coefficients_are_found_and_help_to_predict():
    dmr = SparseDMR(K, init_params=START, random_state=0).fit(X, covariates=COVARIATES)
    assert np.abs(dmr.coef_ - COEF).max() < 0.5
    assert np.abs(dmr.coef_ - COEF).mean() < 0.15
    assert np.abs(dmr.intercept_ + 1.0).max() < 0.4
    test, known, _ = corpus(400, 12, seed=1)
    assert dmr.score(test, covariates=known) > dmr.score(test) + 0.005
    assert dmr.score(test, covariates=known) > dmr.score(test, covariates=known[::-1]) + 0.015
    np.testing.assert_allclose(dmr.prior_of(known), np.exp(dmr.intercept_ + known @ dmr.coef_.T), rtol=1e-9)
    np.testing.assert_allclose(dmr.prior_of(COVARIATES).mean(axis=0), dmr.doc_topic_prior_, rtol=1e-6)


def test_units_of_covariates_do_not_matter():
    fits = [
        SparseDMR(K, max_iter=5, random_state=0).fit(X, covariates=covariates)
        for covariates in (COVARIATES, COVARIATES * [1.0, 1000.0] + [0.0, 2000.0])
    ]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_ * [1.0, 1000.0], rtol=1e-5, atol=1e-7)


def tables_of(tokens, alpha):
    """Expected tables of documents, (n, K), from the topics of their tokens."""
    expected, d = np.zeros(alpha.shape), 0
    for part in tokens:
        for a, b in zip(part.indptr[:-1], part.indptr[1:], strict=True):
            n = np.bincount(part.topics[a:b], part.values[a:b].astype(float), K)
            expected[d] = np.where(n >= 1.0, alpha[d] * (psi(alpha[d] + n) - psi(alpha[d])), n)
            d += 1
    return expected


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**-530, 2.0**530, 2.0**900])
def test_squares_of_covariates_are_in_range(scale):
    plain = SparseDMR(K, max_iter=3, random_state=0).fit(X, covariates=COVARIATES)
    found = SparseDMR(K, max_iter=3, random_state=0).fit(X, covariates=[1, scale] * COVARIATES)
    np.testing.assert_array_equal(found.components_, plain.components_)
    np.testing.assert_array_equal([1, scale] * found.coef_, plain.coef_)


def test_sums_of_tables_equal_the_twin():
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 9, 5)
    indptr = np.append(0, np.cumsum(lengths))
    part = TokenTopics(indptr, rng.integers(K, size=indptr[-1]).astype(np.int32), rng.random(indptr[-1]) * 2)
    alpha, rows, groups = rng.gamma(1.0, size=(3, K)), rng.standard_normal((3, 2)), np.array([0, 2, 1, 1, 0], np.int32)
    weight, found = rng.random(5), np.ones((K, 2))
    given = part.indptr, part.topics, part.values, weight, alpha, rows
    _special.sum_tables(*given, groups, found)
    expected = (weight[:, None] * tables_of([part], alpha[groups])).T @ rows[groups]
    np.testing.assert_allclose(found, 1.0 + expected, rtol=1e-9)
    for wrong in (groups + np.int32(1), groups[1:]):
        with pytest.raises(ValueError, match="groups must be"):
            _special.sum_tables(*given, wrong, found)


def test_counts_of_a_visit_are_those_of_its_documents(monkeypatch):
    """Every document is counted once, with all of its tokens, however rows are batched."""
    made = plans_of(monkeypatch, RegressionRecipe)
    SparseDMR(K, max_iter=12, random_state=0, batch_size=37).fit(X, covariates=COVARIATES)
    model = made[0].model
    assert not model.sampled_unseen.keys() - model.sampled.keys()
    numbers = np.concatenate([numbers for numbers, _ in model.sampled.values()])
    np.testing.assert_array_equal(np.sort(numbers), np.arange(N))
    for of_chunk, found in model.sampled.values():
        np.testing.assert_array_equal(found.sum(axis=1), X.sum(axis=1)[of_chunk])


def two_topics(seed, n=200, length=40):
    """Documents of two topics without common words; coefficients are +1 and -1."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 1))
    shares = np.array([rng.dirichlet(alpha) for alpha in np.exp(-0.5 + x * [1.0, -1.0])])
    words = np.kron(np.eye(2), np.full(15, 1 / 15))
    return sparse.csr_array(np.array([rng.multinomial(length, share @ words) for share in shares])), x


def slopes(dmr):
    """Coefficients of the topics of ``two_topics``, in order, (2, P)."""
    return dmr.coef_[np.argsort(-dmr.components_[:, 0] / dmr.components_.sum(axis=1))]


def test_few_documents_give_known_coefficients():
    """Two standard errors of the regression on true topics are 0.4; five fits have the mean of the truth."""
    found = []
    for seed in range(5):
        counts, x = two_topics(seed)
        found.append(slopes(SparseDMR(2, random_state=seed).fit(counts, covariates=x))[:, 0])
    assert np.abs(np.array(found) - [1.0, -1.0]).max() < 0.5
    assert np.abs(np.mean(found, axis=0) - [1.0, -1.0]).max() < 0.2


@pytest.mark.parametrize("unit", [1e155, 1e-200, 1e-280])
@pytest.mark.parametrize("binary", [False, True])
def test_coefficients_have_any_unit(unit, binary):
    counts, x = two_topics(0)
    x = (x > 0.0).astype(float) if binary else x
    plain, other = (SparseDMR(2, random_state=0).fit(counts, covariates=x * by) for by in (1.0, unit))
    assert np.abs(plain.coef_).min() > 0.5
    np.testing.assert_allclose(other.coef_ * unit, plain.coef_, rtol=0.05)


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_units_whose_coefficients_are_no_floats_are_refused(unit):
    with pytest.raises(ValueError, match=r"column 1 of covariates has values from .* multiply the column by a power"):
        SparseDMR(2, max_iter=1).fit(X, covariates=COVARIATES * [1.0, unit])


def test_constant_covariates_have_coefficient_zero():
    counts, _ = two_topics(0)
    dmr = SparseDMR(2, max_iter=6, random_state=0).fit(counts, covariates=np.full((200, 1), 0.1))
    np.testing.assert_array_equal(dmr.coef_, 0.0)


def test_unsettled_coefficients_warn(monkeypatch):
    counts, x = two_topics(0)
    monkeypatch.setattr(RegressionModel, "drift", lambda _: (np.full((1, 2), 0.6), np.full((1, 2), 0.01)))
    with pytest.warns(ConvergenceWarning, match="coef_ still changed in the last of 6 epochs; set max_iter=12"):
        SparseDMR(2, max_iter=6, random_state=0).fit(counts, covariates=x)


def test_a_longer_fit_leaves_documents_out(tmp_path):
    """After a shorter one that averaged no whole epoch: documents that are left out then decide the mass."""
    counts, x = two_topics(0)
    shifts = [
        SparseDMR(2, max_iter=n, random_state=0).fit(counts, covariates=x, checkpoint=tmp_path)._fitted.model.shift
        for n in (1, 8)
    ]
    assert shifts[0] == 0.0
    assert shifts[1] != 0.0


def test_drift_compares_halves_of_the_averaged_updates():
    """A trend exceeds its error; noise around one value does not."""
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.standard_normal((8, 2, 3))
    noise[:, 1, 0] += 0.1 * np.arange(8)  # the first topic's coefficient rises
    model = SimpleNamespace(modes=list(noise), coefficients=noise[0])
    change, error = RegressionModel.drift(model)
    assert change.shape == error.shape == (1, 3)
    np.testing.assert_allclose(change[0], noise[4:, 1].mean(axis=0) - noise[:4, 1].mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(np.abs(change[0]) > 4.0 * error[0], [True, False, False])


def test_predictions_use_the_prior_of_each_document():
    dmr = SparseDMR(K, max_iter=3, random_state=0).fit(X, covariates=COVARIATES)
    theta, priors = dmr.transform(X[:7], covariates=COVARIATES[:7]), dmr.prior_of(COVARIATES[:7])
    for d in range(7):
        one = infer_doc_topic(X[[d]], dmr._fitted.table, priors[d], max_iter=100, tol=2e-2, linear=True)
        np.testing.assert_allclose(theta[d], one[0] / one.sum(), rtol=1e-6)
    again = clone(dmr).fit_transform(X, covariates=COVARIATES)
    np.testing.assert_array_equal(again[:7], theta)


def test_documents_of_weight_zero_have_no_covariates():
    weight = np.ones(N)
    weight[::3] = 0.0
    wild = np.where(weight[:, None] > 0, COVARIATES, 1e3)
    dmr = SparseDMR(K, max_iter=3, random_state=0)
    left = clone(dmr).fit(X, covariates=wild, sample_weight=weight)
    kept = clone(dmr).fit(X[weight > 0], covariates=COVARIATES[weight > 0], sample_weight=np.ones((weight > 0).sum()))
    np.testing.assert_array_equal(left.components_, kept.components_)
    np.testing.assert_array_equal(left.coef_, kept.coef_)


def test_threads_pickles_and_checkpoints_keep_the_bits(tmp_path):
    dmr = SparseDMR(K, max_iter=4, random_state=0)
    one = clone(dmr).fit(X, covariates=COVARIATES)
    two = clone(dmr).set_params(n_jobs=2).fit(X, covariates=COVARIATES)
    clone(dmr).set_params(max_iter=2, n_averaged_iter=0).fit(X, covariates=COVARIATES, checkpoint=tmp_path)
    resumed = clone(dmr).set_params(n_averaged_iter=0).fit(X, covariates=COVARIATES, checkpoint=tmp_path)
    straight = clone(dmr).set_params(n_averaged_iter=0).fit(X, covariates=COVARIATES)
    for found, expected in ((two, one), (pickle.loads(pickle.dumps(one)), one), (resumed, straight)):
        np.testing.assert_array_equal(found.components_, expected.components_)
        np.testing.assert_array_equal(found.coef_, expected.coef_)
        np.testing.assert_array_equal(
            found.transform(X, covariates=COVARIATES), expected.transform(X, covariates=COVARIATES)
        )
    with pytest.raises(ValueError, match="checkpoint"):
        clone(dmr).set_params(n_averaged_iter=0).fit(X, covariates=COVARIATES + 1.0, checkpoint=tmp_path)


def test_merged_topics_have_the_prior_of_their_sum_at_mean_covariates():
    dmr = SparseDMR(K, max_iter=3, random_state=0).fit(X, covariates=COVARIATES)
    merged = merge_topics(dmr, [[0, 2]])
    middle = COVARIATES.mean(axis=0, keepdims=True)
    old, new = dmr.prior_of(middle)[0], merged.prior_of(middle)[0]
    assert sorted(new) == pytest.approx(sorted([old[0] + old[2], old[1], old[3]]))
    assert merged.transform(X, covariates=COVARIATES).shape == (N, K - 1)


def test_data_frames_name_covariates():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(COVARIATES, columns=["left", "year"])
    dmr = SparseDMR(K, max_iter=2, random_state=0)
    named, plain = clone(dmr).fit(X, covariates=frame), clone(dmr).fit(X, covariates=COVARIATES)
    by_columns = clone(dmr).fit(X, covariates=np.asfortranarray(COVARIATES))
    assert list(named.covariate_names_in_) == ["left", "year"]
    assert not hasattr(plain, "covariate_names_in_")
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    np.testing.assert_array_equal(by_columns.coef_, plain.coef_)
    with pytest.raises(ValueError, match="covariates has the columns year, left, but the fit had left, year"):
        named.prior_of(frame[["year", "left"]])


WRONG = {
    "short": (COVARIATES[1:], "covariates has 799 rows, but X has 800"),
    "infinite": (np.where(np.arange(N)[:, None] == 5, np.inf, COVARIATES), "covariates has inf in row 5, column 0"),
    "three dimensions": (COVARIATES[None], "covariates has 3 dimensions"),
    "texts": (np.full((N, 1), "left"), "covariates"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_covariates_are_refused(name):
    given, message = WRONG[name]
    dmr = SparseDMR(K, max_iter=1, random_state=0).fit(X, covariates=COVARIATES)
    before = dmr.coef_.copy()
    with pytest.raises(ValueError, match=message):
        dmr.fit(X, covariates=given)
    np.testing.assert_array_equal(dmr.coef_, before)
    with pytest.raises(ValueError, match=message):
        dmr.transform(X, covariates=given)
    with pytest.raises(ValueError, match=message):
        dmr.score(X, covariates=given)


def test_streams_and_blocks_are_refused():
    dmr = SparseDMR(K, max_iter=1, random_state=0)
    with pytest.raises(AttributeError, match="call fit with all of them"):
        dmr.partial_fit(X)
    with pytest.raises(ValueError, match="fits documents in memory"):
        blocks.fit(dmr, [X, X])
    with pytest.raises(ValueError, match="3 columns, but the fit had 2"):
        dmr.fit(X, covariates=COVARIATES).prior_of(np.zeros((2, 3)))


@pytest.mark.statistical
def test_weights_are_copies_for_coefficients():
    """Up to noise; weights must not make updates of the coefficients rare."""
    start = {"init_params": START, "random_state": 0, "batch_size": 40}

    def succeeds(seed):
        one, heavy = (SparseDMR(K, **start | {"random_state": seed}).fit(X, covariates=COVARIATES, sample_weight=w)
                      for w in (None, np.full(N, 30.0)))  # fmt: skip
        return np.abs(heavy.coef_ - COEF).max() < 0.45 and np.abs(heavy.coef_ - one.coef_).max() < 0.3

    assert one_of_three(succeeds)
    few = np.where(np.arange(N) < 5, 1000.0, 1.0)  # few documents decide; coefficients keep the size of their prior
    uneven = SparseDMR(K, **start).fit(X, covariates=COVARIATES, sample_weight=few)
    assert np.abs(uneven.coef_).max() < 6.0
    assert np.abs(uneven.intercept_).max() < 8.0


def test_covariates_in_the_place_of_y_are_refused():
    dmr = SparseDMR(K, max_iter=1, random_state=0)
    with pytest.raises(ValueError, match="give covariates by their name"):
        dmr.fit(X, COVARIATES)
    with pytest.raises(ValueError, match="give covariates by their name"):
        dmr.fit(X, covariates=COVARIATES).score(X, COVARIATES)


def test_checkpoints_of_earlier_versions_lack_the_units(tmp_path, monkeypatch):
    """The rows have them; coefficients of another fit before do not lend theirs."""
    with monkeypatch.context() as patch:
        patch.setattr(recipe, "units", lambda _: {})
        SparseDMR(K, max_iter=6, random_state=0).fit(X, covariates=COVARIATES, checkpoint=tmp_path)
    whole = SparseDMR(K, max_iter=6, random_state=0).fit(X, covariates=COVARIATES)
    before = SparseDMR(K, max_iter=6, random_state=0).fit(X, covariates=1000.0 * COVARIATES + 7.0)
    for est in (SparseDMR(K, max_iter=6, random_state=0), before):
        est.fit(X, covariates=COVARIATES, checkpoint=tmp_path)
        np.testing.assert_array_equal(est.coef_, whole.coef_)
        np.testing.assert_array_equal(est.prior_of(COVARIATES[:3]), whole.prior_of(COVARIATES[:3]))
