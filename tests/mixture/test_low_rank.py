"""Mixtures of factor analysers: densities, sums and bounds against brute force, SciPy and scikit-learn."""

import pickle

import numpy as np
import pytest
import reference
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.decomposition import FactorAnalysis
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, KFold

from sparsemix import SparseGaussianMixture
from sparsemix._models.mixture.candidates import PairTable
from sparsemix._models.mixture.model import Groups
from sparsemix._rows.blocks import Rows
from sparsemix._rows.threads import Workers
from sparsemix._stats.families import GAUSSIANS, FactorAnalysers, Gaussians
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix.mixture._assemble import assemble
from sparsemix.mixture._loadings import principal, sums

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
K, D, Q = 3, 6, 2


def analysers(seed=0, n_components=K, d=D, rank=Q, noise=1.0):
    rng = np.random.default_rng(seed)
    means, loadings = rng.normal(size=(n_components, d)), rng.normal(size=(n_components, rank, d))
    return FactorAnalysers(
        means=means, covariances=noise * rng.uniform(0.3, 2.0, size=(n_components, d)), loadings=loadings
    )


def rows(n=400, d=D, rank=Q, n_components=K, seed=1, spread=4.0):
    """Rows of a mixture of factor analysers, and their components."""
    rng, g = np.random.default_rng(seed), analysers(2, n_components, d, rank, 0.2)
    labels = rng.integers(n_components, size=n)
    z = rng.normal(size=(n, rank))
    noise = np.sqrt(g.covariances[labels]) * rng.normal(size=(n, d))
    return spread * g.means[labels] + np.einsum("nq,nqd->nd", z, g.loadings[labels]) + noise, labels


def fit(X, n_components=K, rank=Q, **params):
    kind = "low_rank" if rank is None else ("low_rank", rank)
    params = {"covariance_type": kind, "random_state": 0, "tol": 0.0, "max_iter": 30} | params
    return SparseGaussianMixture(n_components, **params).fit(X)


# -- densities


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_density_is_that_of_the_dense_covariance(dtype):
    g, weights = analysers(), np.array([0.2, 0.5, 0.3])
    est = SparseGaussianMixture.from_parameters(
        weights, g.means, (g.loadings, g.covariances), covariance_type="low_rank"
    )
    x = (3.0 * np.random.default_rng(3).normal(size=(50, D))).astype(dtype)
    covariances = [w.T @ w + np.diag(v) for w, v in zip(g.loadings, g.covariances, strict=True)]
    np.testing.assert_allclose(est.covariances_, covariances, rtol=1e-12)
    np.testing.assert_allclose(est.precisions_, np.linalg.inv(covariances), rtol=1e-9, atol=1e-12)
    roots = est.precisions_cholesky_
    np.testing.assert_allclose(roots @ np.swapaxes(roots, 1, 2), est.precisions_, rtol=1e-9, atol=1e-12)
    parts = [multivariate_normal(m, c).logpdf(x) for m, c in zip(g.means, covariances, strict=True)]
    expected = logsumexp(np.array(parts).T + np.log(weights), axis=1)
    np.testing.assert_allclose(est.score_samples(x), expected, rtol=1e-4 if dtype is np.float32 else 1e-11)


def test_diagonals_are_those_of_the_dense_matrices():
    g = analysers()
    precisions = np.linalg.inv(g.dense())
    np.testing.assert_allclose(g.precision_diagonals(), np.diagonal(precisions, axis1=1, axis2=2), rtol=1e-10)
    np.testing.assert_allclose(g.variances(), np.diagonal(g.dense(), axis1=1, axis2=2), rtol=1e-12)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_free_parameters_are_the_dimension_of_the_covariances(rank):
    """The rank of the derivative of W^T W + diag(noise), and a mean."""
    w = np.random.default_rng(0).normal(size=(rank, D))
    moves = [np.outer(row, w[q]) for q in range(rank) for row in np.eye(D)]
    slopes = [m + m.T for m in moves] + [np.diag(row) for row in np.eye(D)]
    dimension = np.linalg.matrix_rank(np.reshape(slopes, (-1, D * D)))
    assert GAUSSIANS["low_rank"](D, rank).n_parameters(K) == K * (D + dimension)


@pytest.mark.parametrize("noise", [1e-4, 1e-8])
def test_single_precision_keeps_its_digits_where_noise_is_nearly_nothing(noise):
    g = analysers(noise=noise, d=20, rank=5)
    rng = np.random.default_rng(4)
    x = g.means[0] + rng.normal(size=(30, 5)) @ g.loadings[0] + np.sqrt(g.covariances[0]) * rng.normal(size=(30, 20))
    x = x.astype(np.float32)
    exact = g.table(np.zeros(K), np.float64).weights(x.astype(np.float64), np.empty((30, K)))[:, 0]
    found = g.table(np.zeros(K), np.float32).weights(x, np.empty((30, K), dtype=np.float32))[:, 0]
    np.testing.assert_allclose(found, exact, rtol=2e-3 if noise > 1e-6 else 1e-1)


def test_pairs_have_the_weights_of_tiles():
    g, x = analysers(), rows(60)[0]
    table = g.table(np.zeros(K), np.float64)
    starts, chosen = np.array([0, 60, 60, 90], dtype=np.intp), np.r_[0:60, 10:40].astype(np.intc)
    pairs = PairTable(table).weights(table.rows(x), starts, chosen)
    weights = table.weights(x, np.empty((60, K)))
    np.testing.assert_allclose(pairs, np.r_[weights[:, 0], weights[10:40, 2]], rtol=1e-12)


# -- sums and bounds


def conditional(g, k, x):
    """Mean and covariance of the factors given a row, from the joint Gaussian of both."""
    w = g.loadings[k]
    gain = w @ np.linalg.inv(g.dense()[k])
    return (x - g.means[k]) @ gain.T, np.eye(len(w)) - gain @ w.T


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_rows_and_their_factors(weighted):
    x, rng = rows(80)[0], np.random.default_rng(5)
    g, resp = analysers(), reference.random_responsibilities(rng, 80, K, 2)
    weight = rng.uniform(0.5, 2.0, size=80) if weighted else None
    family = GAUSSIANS["low_rank"](D, Q).under(g)
    stats = family.empty_stats(K)
    sparse = reference_entries(resp)
    family.accumulate(stats, x, Groups.of(sparse, weight, K), 0, K)
    r = resp * reference.weight_column(resp, weight)
    for k in range(K):
        z, covariance = conditional(g, k, x)
        n = r[:, k].sum()
        expected = {
            "first": r[:, k] @ x, "second": r[:, k] @ x**2, "factor_first": r[:, k] @ z,
            "factor_second": (r[:, k, None] * z).T @ z + n * covariance, "cross": (r[:, k, None] * z).T @ x,
            "factor_entropy": 0.5 * n * (np.linalg.slogdet(covariance)[1] + Q),
        }  # fmt: skip
        for name, value in expected.items():
            np.testing.assert_allclose(stats[name][k], value, rtol=1e-9, atol=1e-10, err_msg=name)


def reference_entries(resp):
    """Sparse responsibilities of a dense matrix."""
    out = SparseResponsibilities.empty(len(resp), resp.shape[1])
    out.indices[:], out.values[:] = np.arange(resp.shape[1]), resp
    return out


def test_start_of_one_component_is_probabilistic_principal_components():
    """W W^T = U (eigenvalues - noise) U^T of the correlations, noise the mean of the rest (Tipping and Bishop)."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, Q)) @ (3.0 * rng.standard_normal((Q, D))) + rng.standard_normal((20_000, D))
    x *= 10.0 ** np.arange(D)
    with Workers(1) as workers:
        params = SparseGaussianMixture(1, covariance_type=("low_rank", Q))
        model = assemble(params, Rows(x), workers)[1]
        everyone = SparseResponsibilities.from_labels(np.zeros(len(x), dtype=np.int32))
        means, variances = x.mean(axis=0)[None], x.var(axis=0)[None]

        def sums_of(family):
            return sums(model, family, Rows(x, None), everyone, workers)

        found = principal(model, Gaussians("diag", means, variances), sums_of, rng)
    values, vectors = np.linalg.eigh(np.corrcoef(x.T))
    noise = values[:-Q].mean()
    units = np.sqrt(np.outer(variances, variances))
    wanted = (vectors[:, -Q:] * (values[-Q:] - noise)) @ vectors[:, -Q:].T
    np.testing.assert_allclose(found.loadings[0].T @ found.loadings[0] / units, wanted, atol=0.02)  # some power steps
    np.testing.assert_allclose(found.covariances, variances * (1.0 - np.diag(wanted)), rtol=0.1)


def test_factors_of_no_loadings_have_their_prior():
    """Then q(z) = p(z), so that factors add nothing to a bound."""
    x, rng = rows(80)[0], np.random.default_rng(5)
    family = GAUSSIANS["low_rank"](D, 3)
    stats, resp = family.empty_stats(K), reference.random_responsibilities(rng, 80, K, 2)
    family.accumulate(stats, x, Groups.of(reference_entries(resp), None, K), 0, K)
    assert stats["factor_second"].any()
    np.testing.assert_allclose(family.factor_terms(stats), 0.0, atol=1e-9)
    empty = family.maximum_likelihood(family.empty_stats(K), 0.1)  # nothing came before
    np.testing.assert_array_equal(empty.covariances, 1.0)
    assert not empty.means.any()
    assert not empty.loadings.any()


def test_statistics_have_the_documented_size():
    spec, shared = GAUSSIANS["low_rank"](D, Q).spec()
    numbers = 1 + sum(int(np.prod(shape)) for shape in spec.values())  # count
    assert numbers == 2 * D + Q * D + Q**2 + Q + 2
    assert not shared


@pytest.mark.parametrize("n_nonzero", [1, 2, None])
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("inference", ["vb", "em"])
def test_bound_never_falls(inference, learning_method, n_nonzero):
    X = rows(300, spread=1.0)[0]
    est = fit(
        X, inference=inference, learning_method=learning_method, n_nonzero=n_nonzero, batch_size=60, candidates="all"
    )
    bounds = np.array(est.lower_bounds_)
    assert bounds[-1] > bounds[0]
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds).max()


@pytest.mark.parametrize("inference", ["vb", "em"])
def test_bound_never_falls_with_a_variance_floor_and_candidates(inference):
    X = rows(300, n_components=6, spread=1.0)[0]
    est = fit(X, 12, inference=inference, reg_covar=0.2, candidates=5)
    bounds = np.array(est.lower_bounds_)
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds).max()


def test_bound_of_maximum_likelihood_is_the_log_likelihood_in_the_end():
    X = rows(400)[0]
    est = fit(X, inference="em", n_nonzero=None, learning_method="batch", max_iter=300, reg_covar=0.0)
    np.testing.assert_allclose(est.lower_bound_, est.score_samples(X).sum(), rtol=1e-5)


# -- against scikit-learn


def test_one_component_is_factor_analysis():
    X = rows(500, n_components=1)[0]
    theirs = FactorAnalysis(Q, tol=1e-9, max_iter=5000).fit(X)
    ours = fit(X, 1, inference="em", max_iter=2000, tol=1e-10, reg_covar=0.0)
    np.testing.assert_allclose(ours.score(X), theirs.score(X), rtol=1e-5)
    np.testing.assert_allclose(ours.covariances_[0], theirs.get_covariance(), rtol=0.02, atol=0.02)


def test_all_but_one_direction_is_a_full_covariance():
    X, labels = rows(600)
    low = fit(X, rank=D + 3, inference="em", max_iter=300)
    full = SparseGaussianMixture(K, inference="em", random_state=0).fit(X)
    assert low.loadings_.shape == (K, D - 1, D)
    assert abs(low.score(X) - full.score(X)) < 0.01
    np.testing.assert_allclose(np.sort(low.weights_), np.sort(np.bincount(labels) / 600), atol=0.01)


def test_a_few_directions_are_better_than_none_and_need_fewer_rows_than_all():
    X, held = rows(300, d=30, rank=3)[0], rows(2000, d=30, rank=3, seed=9)[0]
    scores = {kind: SparseGaussianMixture(K, covariance_type=kind, random_state=0).fit(X).score(held)
              for kind in ("full", "diag", "tied")}  # fmt: skip
    scores["low_rank"] = fit(X, rank=3).score(held)
    assert scores["low_rank"] == max(scores.values())
    assert scores["low_rank"] > scores["diag"] + 3.0


# -- units, draws, streams, what is refused


def test_units_of_columns_do_not_matter():
    X = rows(400)[0]
    units = 10.0 ** np.arange(-3, 3)
    labels = rows(400)[1]
    start = {"responsibilities": np.eye(K)[labels] * 0.9 + 0.1 / K}
    plain, other = (fit(x, init_params=start, max_iter=10, learning_method="batch") for x in (X, X * units))
    np.testing.assert_allclose(other.score(X * units), plain.score(X) - np.log(units).sum(), rtol=1e-6)
    np.testing.assert_allclose(other.noise_variance_, plain.noise_variance_ * units**2, rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [-15, 15])
def test_rows_of_any_size_have_the_same_clusters(dtype, power):
    X, labels = rows(300, spread=8.0)
    scale = 10.0 ** (power if dtype is np.float32 else 4 * power)
    est = fit((scale * X).astype(dtype), max_iter=10)
    assert adjusted_rand_score(labels, est.predict((scale * X).astype(dtype))) > 0.99
    assert np.isfinite(est.score((scale * X).astype(dtype)))


def test_components_of_fewer_rows_than_loadings():
    X = rows(12)[0]
    est = fit(X, 4, rank=5, max_iter=20)
    bounds = np.array(est.lower_bounds_)
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds).max()
    assert np.isfinite(est.score_samples(rows(50)[0])).all()


@pytest.mark.parametrize(("n", "n_components", "rank"), [(30, 3, 2), (300, 3, 5), (300, 60, 1)])
def test_default_rank_leaves_rows_to_each_loading(n, n_components, rank):
    est = fit(rows(n)[0], n_components, rank=None, max_iter=1)
    assert est.loadings_.shape == (n_components, rank, D)


def test_rows_that_are_drawn_have_the_covariances():
    g = analysers(n_components=1)
    est = SparseGaussianMixture.from_parameters(
        [1.0], g.means, (g.loadings, g.covariances), covariance_type="low_rank", random_state=0
    )
    X, _ = est.sample(200_000)
    np.testing.assert_allclose(np.cov(X.T), g.dense()[0], atol=0.06)


def test_a_stream_learns_loadings_from_its_first_block_on():
    X, held = rows(2000)[0], rows(1000, seed=8)[0]
    est = SparseGaussianMixture(K, covariance_type=("low_rank", Q), random_state=0)
    for block in np.array_split(X, 8):
        est.partial_fit(block)
    assert est.score(held) > fit(X).score(held) - 0.12


def test_warm_start_keeps_the_rank():
    X = rows(200)[0]
    est = fit(X, max_iter=3, warm_start=True)
    with pytest.raises(ValueError, match=rf"set covariance_type=\('low_rank', {Q}\), or"):
        est.set_params(covariance_type=("low_rank", 1)).fit(X)
    before = est.set_params(covariance_type="low_rank", max_iter=1).score(X)
    assert est.fit(X).score(X) > before - 0.01
    assert est.loadings_.shape[1] == Q
    full = fit(X, rank=D + 3, max_iter=1, warm_start=True)  # of which D - 1 loadings are in use
    full.fit(X)
    with pytest.raises(ValueError, match=rf"set covariance_type=\('low_rank', {D - 1}\), or"):
        full.set_params(covariance_type=("low_rank", 1)).fit(X)


def test_ranks_are_parameters_of_scikit_learn():
    """Copies, texts, files and searches over ranks and names."""
    X = rows(200, rank=2)[0]
    kinds = ["diag", ("low_rank", 1), ("low_rank", np.int64(2)), "low_rank"]
    plain = SparseGaussianMixture(K, max_iter=2, tol=0.0, random_state=0)
    search = GridSearchCV(plain, {"covariance_type": kinds}, cv=2, error_score="raise").fit(X)
    assert [each["covariance_type"] for each in search.cv_results_["params"]] == kinds
    for kind in kinds:
        held = [fit(X[part], rank=None, covariance_type=kind, max_iter=2).score(X[rest])
                for part, rest in KFold(2).split(X)]  # fmt: skip
        np.testing.assert_allclose(search.cv_results_["mean_test_score"][kinds.index(kind)], np.mean(held), rtol=1e-6)
    est = fit(X, rank=2, max_iter=2)
    assert "covariance_type=('low_rank', 2)" in repr(est)
    assert clone(est).covariance_type == pickle.loads(pickle.dumps(est)).covariance_type == ("low_rank", 2)
    found = est.density_parameters()
    assert found["covariance_type"] == "low_rank"
    for kind in ("low_rank", ("low_rank", 2)):
        same = SparseGaussianMixture.from_parameters(**(found | {"covariance_type": kind}))
        assert same.covariance_type == ("low_rank", 2)
        np.testing.assert_allclose(same.score_samples(X), est.score_samples(X), rtol=1e-6)
    with pytest.raises(ValueError, match="has loadings of rank 2; give covariance_type='low_rank'"):
        SparseGaussianMixture.from_parameters(**(found | {"covariance_type": ("low_rank", 1)}))


@pytest.mark.parametrize(
    ("covariances", "message"),
    [
        (np.ones((K, D)), "are a pair; give loadings of shape"),
        ((np.ones((K, D, D)), np.ones((K, D))), "give n_features - 1 at most"),
        ((np.ones((K + 1, Q, D)), np.ones((K, D))), r"covariances\[0\] has shape"),
        ((np.ones((K, Q, D)), np.zeros((K, D))), "must be positive"),
    ],
)
def test_invalid_loadings_are_refused(covariances, message):
    with pytest.raises(ValueError, match=message):
        SparseGaussianMixture.from_parameters(
            np.full(K, 1 / K), np.zeros((K, D)), covariances, covariance_type="low_rank"
        )


def test_other_types_have_no_loadings():
    est = SparseGaussianMixture(2, covariance_type="diag", random_state=0).fit(rows(100)[0])
    with pytest.raises(AttributeError, match="'diag' has no attribute 'loadings_'"):
        est.loadings_  # noqa: B018


def test_precisions_of_little_noise():
    """Round-off hides the noise in these covariances. Expected: the formula of Woodbury in extended precision."""
    rng = np.random.default_rng(0)
    for noise, rtol in ((1.0, 1e-10), (1e-6, 1e-8), (1e-17, 1e-5)):
        loadings, variances = rng.normal(size=(2, 1, 4)), noise * rng.uniform(1.0, 2.0, size=(2, 4))
        factors = FactorAnalysers(means=np.zeros((2, 4)), covariances=variances, loadings=loadings).precision_factors()
        assert (np.tril(factors, -1) == 0.0).all()
        assert (np.diagonal(factors, axis1=1, axis2=2) > 0.0).all()
        w, v = loadings[:, 0].astype(np.longdouble), variances.astype(np.longdouble)
        scaled = w / v
        inner = (1.0 + (w * scaled).sum(axis=1))[:, None, None]
        expected = np.eye(4) / v[:, None] - scaled[:, :, None] * scaled[:, None] / inner
        np.testing.assert_allclose(factors @ np.swapaxes(factors, 1, 2), expected.astype(float), rtol=rtol)
