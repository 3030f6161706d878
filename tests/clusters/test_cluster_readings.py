"""What the mixtures without a given number of clusters tell of rows: labels, responsibilities, densities, scores."""

from itertools import product

import numpy as np
import pytest
import reference_nggp as oracle
from cluster_cases import CLOUDS, GAUSSIANS, LIKELIHOODS, TEXTS, WEIGHTS, gibbs, rows_of, stream, streaming
from scipy.special import gammaln, logsumexp

from sparsemix._stats.nggp import NGGP

per_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)
MAKERS = {
    "ADF": lambda likelihood, **params: streaming(likelihood, **params),
    "EP": lambda likelihood, **params: streaming(likelihood, max_iter=4, **params),
    "Gibbs": gibbs,
}
per_maker = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)


@pytest.fixture(scope="module")
def fitted():
    return {
        (name, likelihood): make(likelihood, discount=0.3).fit(rows_of(likelihood))
        for name, make in MAKERS.items()
        for likelihood in LIKELIHOODS
    }


per_fit = pytest.mark.parametrize("name", MAKERS)

# -- responsibilities


def test_of_two_equal_clusters_the_older_one_is_chosen():
    rows = np.array([[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [9.0, 0.0, 0.0], [0.0, 9.0, 0.0]])
    est = streaming().partial_fit(rows)
    np.testing.assert_array_equal(est.cluster_ids_, [0, 1])
    between = np.array([[0.0, 0.0, 3.0]])
    np.testing.assert_array_equal(est.predict_proba(between), 0.5)
    assert est.predict(between) == 0


@per_likelihood
@pytest.mark.parametrize("n_nonzero", [None, 1, 2, 100])
def test_sparse_responsibilities_are_those_of_training(n_nonzero, likelihood):
    rows = rows_of(likelihood)
    est = streaming(likelihood, n_nonzero=n_nonzero).fit(rows)
    dense, kept = est.predict_proba(rows), est.predict_sparse_proba(rows)
    assert kept.shape == dense.shape
    np.testing.assert_allclose(kept.sum(axis=1), 1.0, rtol=1e-12)
    per_row = np.diff(kept.indptr)
    assert per_row.max() <= (n_nonzero or est.n_clusters_)
    assert per_row.min() >= 1
    assert kept.data.min() >= 1e-6
    wanted = np.where(dense < 1e-6, 0.0, dense)
    if n_nonzero is not None:
        for row in wanted:
            row[np.argsort(-row, kind="stable")[n_nonzero:]] = 0.0
    np.testing.assert_allclose(kept.toarray(), wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-12)


# -- weights of clusters


@pytest.mark.parametrize("rule", ["mode", "quadrature"])
@pytest.mark.parametrize("expected", ["recursion", "count"])
@pytest.mark.parametrize(("discount", "tilt"), [(0.0, 1.0), (0.5, 0.7), (0.3, 0.0)])
def test_weights_are_prior_probabilities_of_the_next_row(discount, tilt, expected, rule):
    prior = {"concentration": 1.3, "discount": discount, "tilt": tilt}
    est = streaming(u_rule=(rule, "count") if expected == "count" else rule, **prior).partial_fit(TEXTS)
    n, k = 146.0, est.expected_n_clusters_ if expected == "recursion" else est.n_clusters_
    new = np.exp(NGGP(**prior).log_new_weight(n, k, rule))
    total = (est.counts_ - discount).sum() + new
    np.testing.assert_allclose(est.weights_, (est.counts_ - discount) / total, rtol=1e-12)
    assert est.new_weight_ == pytest.approx(new / total, rel=1e-12)
    if discount == 0:
        assert est.new_weight_ == pytest.approx(1.3 / 147.3, rel=1e-12)
    elif rule == "mode":  # where a (u + tau)^sigma = sigma E[K] + n tau / u
        u = est.u_
        assert 1.3 * (u + tilt) ** discount == pytest.approx(discount * k + n * tilt / u, rel=1e-9)


def test_weights_of_whole_counts_are_exact():
    rows = 9 * np.eye(40)[[0, 0, 0, 0, 1, 1, 2]]
    est = streaming(concentration=1.3, discount=0.5, tilt=0.7, u_rule=("quadrature", "count"))
    est.partial_fit(rows)
    np.testing.assert_allclose(est.counts_, [4, 2, 1], atol=1e-5)
    # the fixture of METHODS' worked example
    wanted = oracle.predictive(NGGP(1.3, 0.5, 0.7), [4, 2, 1])
    np.testing.assert_allclose(np.append(est.weights_, est.new_weight_), wanted, atol=1e-5)
    np.testing.assert_allclose(wanted, [0.41194617, 0.17654836, 0.05884945, 0.35265601], atol=1e-8)


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_expected_clusters_are_those_of_the_responsibilities(discount):
    est = streaming(discount=discount, concentration=3.0, new_cluster_threshold=0.45).partial_fit(TEXTS)
    assert 1 < est.expected_n_clusters_ <= est.n_clusters_ + 1e-9
    sure = streaming(discount=discount).partial_fit(9 * np.eye(40)[[0, 1, 2, 0]])
    assert sure.expected_n_clusters_ == pytest.approx(3.0, abs=1e-4)


# -- densities


def dirichlet_multinomial(rows, counts, prior):
    """Log density of each row as a sequence, given counts of words in each cluster: (n, K)."""
    a = prior + counts
    return (
        (gammaln(a[None] + rows[:, None]) - gammaln(a)[None]).sum(axis=2)
        + gammaln(a.sum(axis=1))
        - gammaln(a.sum(axis=1)[None] + rows.sum(axis=1)[:, None])
    )


@pytest.mark.parametrize("max_iter", [1, 4])
@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_density_of_documents_written_out(discount, max_iter):
    est = streaming(discount=discount, word_prior=0.2, max_iter=max_iter).fit(TEXTS)
    statistics = est._fitted.state.sums.statistics(est._fitted.slots)
    new = np.random.default_rng(0).poisson(0.5, size=(40, 25)).astype(float)
    old = np.log(est.weights_) + dirichlet_multinomial(new, statistics, 0.2)
    first = np.log(est.new_weight_) + dirichlet_multinomial(new, np.zeros((1, 25)), 0.2)
    np.testing.assert_allclose(est.score_samples(new), logsumexp(np.hstack([old, first]), axis=1), rtol=1e-11)
    np.testing.assert_allclose(est.predict_proba(new), np.exp(old - logsumexp(old, axis=1, keepdims=True)), rtol=1e-9)
    np.testing.assert_allclose(
        est.means_, (statistics + 0.2) / (statistics + 0.2).sum(axis=1, keepdims=True), rtol=1e-12
    )


@per_maker
@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_densities_of_all_documents_of_a_length_sum_to_one(discount, maker):
    """Every sequence of words is one document."""
    rows = TEXTS[:, :4]
    est = maker("multinomial", discount=discount, word_prior=0.3).fit(rows)
    assert est.n_clusters_ > 1
    for length in (1, 2, 5):
        documents = np.array([np.bincount(words, minlength=4) for words in product(range(4), repeat=length)])
        assert logsumexp(est.score_samples(documents)) == pytest.approx(0.0, abs=1e-8)


@pytest.mark.slow
@per_maker
@pytest.mark.parametrize("discount", [0.0, 0.5])
@pytest.mark.parametrize("likelihood", GAUSSIANS)
def test_densities_of_rows_integrate_to_one(likelihood, discount, maker):
    """In one dimension: the tails are those of Student's t, so that x = c + sinh(t) takes them in."""
    covariance = {"diag": [0.5], "spherical": 0.5}.get(likelihood, [[0.5]])
    given = {"covariance_prior": covariance} | ({} if likelihood == "zero_mean" else {"mean_prior": [4.0]})
    rows = CLOUDS[:, :1].copy()
    if likelihood == "zero_mean":
        rows[::2] *= 0.01
    est = maker(likelihood, discount=discount, **given).fit(rows)
    assert est.n_clusters_ > 1
    t, step = np.linspace(-25, 25, 20_001, retstep=True)
    density = np.exp(est.score_samples((4.0 + np.sinh(t))[:, None]))
    assert density @ np.cosh(t) * step == pytest.approx(1.0, abs=1e-8)


def test_one_cluster_is_conjugate_updating():
    """If only one cluster is possible, the prequential sum is the log evidence of its documents."""
    rows = TEXTS[np.asarray(TEXTS.sum(axis=1)) > 0].toarray()
    est = streaming(concentration=1e-100, new_cluster_threshold=1.0, word_prior=0.3).fit(rows)
    assert est.n_clusters_ == 1
    evidence = float(dirichlet_multinomial(rows.sum(axis=0)[None], np.zeros((1, 25)), 0.3)[0, 0])
    assert est.history_[0]["log_predictive"] == pytest.approx(evidence, rel=1e-9)
    np.testing.assert_allclose(est.means_[0], (rows.sum(axis=0) + 0.3) / (rows.sum() + 7.5), rtol=1e-12)


@per_likelihood
def test_the_first_epoch_records_the_predictive_score_of_each_row(likelihood):
    rows = rows_of(likelihood)[2:60]
    est, total = streaming(likelihood), 0.0
    for row in range(rows.shape[0]):
        if row:
            total += est.score_samples(rows[[row]])[0]
        est.partial_fit(rows[[row]])
    first = streaming(likelihood).partial_fit(rows[:1])
    whole = streaming(likelihood, shuffle=False).fit(rows)
    new = first._fitted.state.sums.kernel(first._read(rows[:1]).read(slice(0, 1)), 1).scores(0, 1)[1][0]
    assert whole.history_[0]["log_predictive"] == pytest.approx(total + new, rel=1e-10)
    np.testing.assert_array_equal(whole.counts_, est.counts_)


# -- scores


@per_likelihood
@per_fit
def test_score_is_the_mean_density_of_rows(name, likelihood, fitted):
    est, rows = fitted[name, likelihood], rows_of(likelihood)
    density = est.score_samples(rows)
    assert density.dtype == np.float64
    assert isinstance(est.score(rows), float)
    assert est.score(rows) == pytest.approx(density.mean(), rel=1e-13)
    assert est.score(rows, sample_weight=WEIGHTS) == pytest.approx(density @ WEIGHTS / WEIGHTS.sum(), rel=1e-13)
    assert est.score(rows, sample_weight=3) == pytest.approx(density.mean(), rel=1e-13)
    with pytest.raises(ValueError, match="per='word'; it must be 'row'"):
        est.score(rows, per="word")
    with pytest.raises(ValueError, match=r"sample_weight has shape \(2,\), expected \(150,\)"):
        est.score(rows, sample_weight=[1.0, 1.0])
    if likelihood == "multinomial":
        lengths = np.asarray(rows.sum(axis=1)).ravel()
        assert est.score(rows, per="token") == pytest.approx(density.sum() / lengths.sum(), rel=1e-13)
        weighed = density @ WEIGHTS / (lengths @ WEIGHTS)
        assert est.score(rows, sample_weight=WEIGHTS, per="token") == pytest.approx(weighed, rel=1e-13)
        assert est.score(rows.toarray().astype(np.int32), per="token") == est.score(rows, per="token")
        with pytest.raises(ValueError, match="no document of X has a token, so there is no score per token"):
            est.score(np.zeros((2, 25)), per="token")
    else:
        with pytest.raises(ValueError, match=r"per='token'.*for likelihood='multinomial'"):
            est.score(rows, per="token")


def test_mean_and_covariance_of_one_cluster():
    """B / (nu - D - 1): the prior counts as nu_0 - D - 1 = 0 rows, with B_0."""
    est = streaming("full", mean_precision_prior=1e-6, degrees_of_freedom_prior=3.0, max_components=1).fit(CLOUDS)
    np.testing.assert_allclose(est.means_[0], CLOUDS.mean(axis=0), rtol=1e-6)
    scatter = 150 * np.cov(CLOUDS.T, bias=True) + 0.5 * np.eye(2)
    np.testing.assert_allclose(est.covariances_[0], scatter / 150, rtol=1e-4)


def test_a_stream_in_blocks_reads_as_a_whole():
    est, whole = stream(streaming("diag"), CLOUDS, 11), stream(streaming("diag"), CLOUDS)
    np.testing.assert_array_equal(est.score_samples(CLOUDS), whole.score_samples(CLOUDS))
