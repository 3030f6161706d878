"""Mixtures whose rows look at short lists of candidates: bounds, bits, streams, and what is exact all the same."""

import copy

import numpy as np
import pytest
import reference
from mixture_cases import assert_same_bits, fitted_arrays
from plans import plans_of, without_hooks
from seeds import one_of_three

from sparsemix import SparseGaussianMixture
from sparsemix._engine.loop import respond
from sparsemix._estimator.input import checks
from sparsemix._heuristics.mixture.births import Births
from sparsemix._heuristics.mixture.repairs import Repairs, missed, repaired_lists
from sparsemix._models.mixture import candidates as _candidates
from sparsemix._models.mixture import model as _model
from sparsemix._models.mixture.candidates import CandidateLists, CandidateSearch, nearest
from sparsemix._rows import blocks
from sparsemix._rows.blocks import Rows
from sparsemix._rows.threads import Workers
from sparsemix._stats.families import GAUSSIANS, Gaussians
from sparsemix._stats.responsibilities import SparseResponsibilities
from sparsemix.datasets import make_patch_mixture
from sparsemix.mixture import _plan
from sparsemix.mixture._recipe import GaussianRecipe

# Most fits here make a fixed number of epochs, so that two fits can be compared; they do not converge.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FAMILIES = list(GAUSSIANS)
K, D = 24, 3


def rows_of(covariance_type, n=900, dtype=np.float64, seed=0):
    """Rows of twelve overlapping clusters, which "zero_mean" tells apart by their covariances."""
    return rows_and_labels(covariance_type, n, dtype, seed)[0]


def rows_and_labels(covariance_type, n=900, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(12, size=n)
    shapes = rng.standard_normal((12, D, D)) * 0.4 + np.eye(D)
    x = np.einsum("nij,nj->ni", shapes[labels], rng.standard_normal((n, D)))
    if covariance_type == "zero_mean":
        x *= 2.0 ** labels[:, None]
    else:
        x += 5.0 * rng.standard_normal((12, D))[labels]
    return x.astype(dtype), labels


def nearly(covariance_type, labels, seed=3):
    """Responsibilities for the twelve clusters, some of them wrong: EM stays away from singular covariances."""
    wrong = np.random.default_rng(seed).uniform(size=len(labels)) < 0.2
    others = np.random.default_rng(seed).permutation(labels)
    if covariance_type == "zero_mean":  # one row of a much wider cluster would make it as wide
        others = np.minimum(labels + 1, 11)
    return np.eye(12)[np.where(wrong, others, labels)]


def mixture(covariance_type="full", **params):
    """Ten epochs under lists of three candidates, unless given otherwise."""
    defaults = {
        "n_components": K,
        "n_nonzero": 2,
        "candidates": 3,
        "learning_method": "batch",
        "max_iter": 10,
        "tol": 0.0,
    }
    defaults |= {"init_params": "random_from_data", "random_state": 0}
    return SparseGaussianMixture(covariance_type=covariance_type, **(defaults | params))


@pytest.fixture
def few_looks(monkeypatch):
    """A row looks at so few components that lists matter among 24 of them."""
    for name, value in {"NEIGHBOURS": 3, "RANDOM": 1, "FIRST": 4, "AGAIN": 4}.items():
        monkeypatch.setattr(_candidates, name, value)


@pytest.fixture
def small_tiles(monkeypatch):
    """Many tiles and chunks for a thousand rows."""
    monkeypatch.setattr(_model, "TILE", 128)
    monkeypatch.setattr(blocks, "CHUNK_BYTES", 1 << 14)


def assert_never_falls(bounds, slack=1e-8):
    bounds = np.asarray(bounds)
    assert np.diff(bounds).min() >= -slack * np.abs(bounds).max()


# -- bounds


@pytest.mark.usefixtures("few_looks")
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("inference", ["vb", "em", "dirichlet_process"])
@pytest.mark.parametrize(("n_nonzero", "candidates"), [(1, 1), (2, 2), (2, 5)])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_lower_bounds_never_fall(covariance_type, n_nonzero, candidates, inference, learning_method):
    sticks = inference == "dirichlet_process"
    params = {"inference": "vb", "weight_concentration_prior_type": inference} if sticks else {"inference": inference}
    params |= {"learning_method": learning_method, "batch_size": 500, "reg_covar": 0.0, "max_iter": 15}
    X, labels = rows_and_labels(covariance_type, n=1800)
    if inference == "em":
        params |= {"n_components": 12, "init_params": {"responsibilities": nearly(covariance_type, labels)}}
    est = mixture(covariance_type, n_nonzero=n_nonzero, candidates=candidates, **params).fit(X)
    assert est._fitted.model.search.size == candidates
    assert est.lower_bounds_[-1] > est.lower_bounds_[0]
    # the bound is a difference of sums of this size, whose round-off is far below 1e-8 of it
    assert_never_falls(est.lower_bounds_)


@pytest.mark.usefixtures("few_looks")
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_lower_bounds_of_float32_rows_hardly_fall(covariance_type, learning_method):
    params = {"learning_method": learning_method, "batch_size": 250, "max_iter": 20}
    est = mixture(covariance_type, **params).fit(rows_of(covariance_type, dtype=np.float32))
    # weights carry 1e-6 of their size, so that a support may be chosen which is worse by so much
    assert_never_falls(est.lower_bounds_, slack=1e-6)


@pytest.mark.usefixtures("few_looks")
def test_lower_bound_of_weighted_rows_never_falls():
    weight = np.random.default_rng(1).uniform(0.0, 3.0, 900) * (np.arange(900) % 5 > 0)
    est = mixture(max_iter=20).fit(rows_of("full"), sample_weight=weight)
    assert_never_falls(est.lower_bounds_)


@pytest.mark.usefixtures("few_looks")
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_warm_start_continues_from_its_last_bound(covariance_type, learning_method):
    X = rows_of(covariance_type)
    est = mixture(covariance_type, learning_method=learning_method, batch_size=250, warm_start=True).fit(X)
    before, score = est.lower_bound_, est.score(X)
    bounds = est.fit(X).lower_bounds_
    assert_never_falls([before, *bounds])
    assert bounds[0] > before
    assert est.score(X) > score - 0.05  # the bound rises; densities of point estimates may differ a little


@pytest.mark.usefixtures("few_looks")
@pytest.mark.parametrize("given", ["responsibilities", "parameters"])
def test_given_components_are_looked_at_by_all_rows_first(given):
    X = rows_of("full")
    fit = mixture(candidates="all").fit(X)
    params = {"init_params": {"responsibilities": fit.predict_proba(X)}}
    if given == "parameters":
        params = {"init_params": {"weights": fit.weights_, "means": fit.means_, "precisions": fit.precisions_}}
    lists, dense = (mixture(candidates=c, max_iter=1, **params).fit(X) for c in (3, "all"))
    # the same supports, weights by another order of the same sums
    np.testing.assert_allclose(lists.means_, dense.means_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(lists.lower_bound_, dense.lower_bound_, rtol=1e-10)


# -- lists that hold enough are the dense mixture


@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("inference", ["vb", "em", "dirichlet_process"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_candidates_that_cover_everything_give_the_dense_fit(covariance_type, inference, learning_method, monkeypatch):
    monkeypatch.setattr(_candidates, "NEIGHBOURS", K)  # all are neighbours of any
    sticks = inference == "dirichlet_process"
    params = {"inference": "vb", "weight_concentration_prior_type": inference} if sticks else {"inference": inference}
    params |= {"learning_method": learning_method, "batch_size": 250, "max_iter": 5, "reg_covar": 1e-3}
    X = rows_of(covariance_type)
    # the first look, at 64 random components of 24, may miss some; a given start is looked at whole
    params["init_params"] = {"responsibilities": np.random.default_rng(2).dirichlet(np.full(K, 0.1), len(X))}
    dense, lists = (mixture(covariance_type, candidates=c, **params).fit(X) for c in ("all", K - 1))
    assert lists._fitted.model.search is not None
    np.testing.assert_array_equal(
        lists.predict_sparse_proba(X).indices, dense.predict_sparse_proba(X).indices
    )  # the same supports
    close = 1e-3 if sticks else 1e-7  # the last digits of almost equal counts decide the order of their sticks
    for name in ("weights_", "means_", "covariances_"):  # weights differ in the last digits, over five epochs
        np.testing.assert_allclose(getattr(lists, name), getattr(dense, name), rtol=close, atol=1e-8, err_msg=name)
    np.testing.assert_allclose(lists.lower_bounds_, dense.lower_bounds_, rtol=1e-6 if sticks else 1e-10)


@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_look_at_all_is_the_dense_local_step(covariance_type):
    X = rows_of(covariance_type)
    model = mixture(covariance_type, candidates=5, n_nonzero=3).fit(X)._fitted.model
    rows = Rows(X, shift=model.shift).read(slice(0, len(X)))
    found, dense = (SparseResponsibilities.empty(len(X), 3) for _ in range(2))
    memory = CandidateLists(len(X), 5)
    model.search.all_first = True
    model.prepare(rows, None)
    model.local_step(rows, found, None, np.arange(len(X)), memory)
    exact = copy.copy(model)
    exact.search = None
    exact.local_step(rows, dense, np.empty((len(X), K)))
    np.testing.assert_array_equal(found.indices, dense.indices)
    np.testing.assert_allclose(found.values, dense.values, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.log_z, dense.log_z, rtol=1e-10, atol=1e-10)
    assert all(set(support) <= set(kept) for support, kept in zip(found.indices, memory.lists, strict=True))
    assert (memory.visits == 1).all()


@pytest.mark.parametrize(
    ("n_nonzero", "candidates"), [(2, "all"), (2, K), (2, K + 1), (2, "auto"), (None, 5), (K, 1), (K + 3, 5)]
)
def test_lists_as_long_as_all_components_are_none(n_nonzero, candidates):
    X = rows_of("full")
    dense = mixture(n_nonzero=n_nonzero, candidates="all").fit(X)
    est = mixture(n_nonzero=n_nonzero, candidates=candidates).fit(X)
    assert est._fitted.model.search is None
    assert_same_bits(fitted_arrays(est, X), fitted_arrays(dense, X))


def test_lists_are_at_least_as_long_as_the_responsibilities():
    est = mixture(n_nonzero=7, candidates=2).fit(rows_of("full"))
    assert est._fitted.model.search.size == 7
    assert_never_falls(est.lower_bounds_)


@pytest.mark.parametrize(
    ("n_components", "n_nonzero", "size"),
    [(99, 4, None), (100, 4, 4), (100, 25, 25), (100, 26, None), (100, None, None)],
)
def test_auto_is_lists_from_a_hundred_components_on(n_components, n_nonzero, size):
    est = SparseGaussianMixture(n_components, n_nonzero=n_nonzero, candidates="auto")
    search = _plan.search_of(est._params, np.random.default_rng(0), 1000)
    assert (None if search is None else search.size) == size
    assert _plan.search_of(est._params, np.random.default_rng(0), 1000, stored=False) is None


def test_auto_is_exact_in_streams():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 2))
    params = {"n_nonzero": 2, "covariance_type": "diag", "max_iter": 2, "random_state": 0}
    auto, dense = (SparseGaussianMixture(110, candidates=c, **params).partial_fit(X[:400]) for c in ("auto", "all"))
    assert_same_bits(fitted_arrays(auto.partial_fit(X[400:]), X), fitted_arrays(dense.partial_fit(X[400:]), X))
    fit = SparseGaussianMixture(110, candidates="auto", **params).fit(X)
    expected = fit.predict_sparse_proba(X).toarray().sum(axis=0)
    np.testing.assert_allclose(fit.expected_stats(X)["count"], expected, rtol=1e-10, atol=1e-10)


# -- neighbours


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("structure", ["full", "tied", "diag", "tied_diag", "spherical", "tied_spherical"])
def test_neighbours_have_the_highest_expected_weights(structure, dtype, monkeypatch):
    """E_k[log pi_l + log N(x | l)] in closed form, matrix by matrix."""
    monkeypatch.setattr(_candidates, "UNPACKED", 7 * 30)  # a few at once
    rng = np.random.default_rng(4)
    n_components, d = 30, 4
    means = rng.standard_normal((n_components, d))
    matrices = np.array([a @ a.T / d + 0.3 * np.eye(d) for a in rng.standard_normal((n_components, d, d))])
    covariances = [reference.one_covariance(structure, m) for m in matrices]
    covariances = covariances[0] if reference.is_tied(structure) else np.array(covariances)
    packed = GAUSSIANS[structure](d).pack_covariances(covariances)
    matrices = reference.dense_covariances(structure, covariances, n_components, d)
    log_weights, extra = rng.standard_normal(n_components), rng.standard_normal(n_components)
    gaussians = Gaussians(structure, means, packed, extra)
    expected = np.empty((n_components, n_components))
    for k in range(n_components):
        for l in range(n_components):  # noqa: E741
            gap, inverse = means[k] - means[l], np.linalg.inv(matrices[l])
            square = np.trace(inverse @ matrices[k]) + gap @ inverse @ gap
            log_det = np.linalg.slogdet(matrices[l])[1]
            expected[k, l] = log_weights[l] + extra[l] - 0.5 * (square + log_det + d * np.log(2 * np.pi))
    np.fill_diagonal(expected, np.inf)
    found = nearest(gaussians, gaussians.table(log_weights, dtype), 6)
    assert found.dtype == np.intc
    for k in range(n_components):
        best = np.sort(expected[k])[::-1]
        assert k in found[k]
        assert len(set(found[k])) == 6
        # in single precision: those at the edge may change places
        assert (expected[k, found[k]] >= best[5] - 1e-3).all()


@pytest.mark.parametrize(("dtype", "unit", "scale"), [
    (np.float32, 1e-16, 1e-16), (np.float32, 1e16, 1e16), (np.float32, 1e15, 1e-8),
    (np.float64, 1e-60, 1e-60), (np.float64, 1e60, 1e60), (np.float64, 1e20, 1.0), (np.float64, 1e60, 1e-9),
])  # fmt: skip
@pytest.mark.parametrize("structure", ["full", "tied", "diag", "tied_diag", "spherical", "tied_spherical"])
def test_neighbours_of_any_unit_and_distance(structure, dtype, unit, scale):
    """Unit spheres in other units, and so far apart that single precision cannot hold what they expect."""
    means = np.random.default_rng(4).standard_normal((30, 4))
    covariances = scale**2 * np.eye(4)
    covariances = reference.one_covariance(structure, covariances)
    if not reference.is_tied(structure):
        covariances = np.array([covariances] * 30)
    gaussians = Gaussians(structure, unit * means, GAUSSIANS[structure](4).pack_covariances(covariances))
    found = nearest(gaussians, gaussians.table(np.zeros(30), dtype), 6)
    distances = ((means[:, None] - means) ** 2).sum(axis=2)
    for k in range(30):
        assert k in found[k]
        assert (distances[k, found[k]] <= np.sort(distances[k])[5] + 1e-3).all()


@pytest.mark.parametrize("covariance_type", [f for f in FAMILIES if f != "low_rank"])  # which leaves a part out
def test_expected_weights_are_means_over_rows_drawn(covariance_type):
    """The weights that rows of a component have on average, from rows of it."""
    est = mixture(covariance_type, inference="em", reg_covar=1e-2).fit(rows_of(covariance_type))
    model = est._fitted.model
    gaussians, n = model.gaussians, 100_000
    moments, natural, constants = _candidates.expected_weights(gaussians, model.table)
    for k in np.argsort(est.weights_)[-3:]:
        covariance = reference.dense_covariances(covariance_type, est.covariances_, K, D)[k]
        x = np.random.default_rng(k).multivariate_normal(gaussians.means[k], covariance, n)
        live = np.isfinite(constants)  # components with rows
        weights = model.table.weights(x, np.empty((n, K)))[:, live]
        errors = 5 * weights.std(axis=0) / np.sqrt(n)  # five standard errors of a mean
        found = (natural @ moments[k] + constants)[live]
        assert (np.abs(found - weights.mean(axis=0)) <= errors + 1e-5 * np.abs(found)).all()


def test_expected_weights_of_low_rank_are_those_of_the_means_less_the_diagonals():
    est = mixture("low_rank", inference="em", reg_covar=1e-2).fit(rows_of("low_rank"))
    gaussians, table = est._fitted.model.gaussians, est._fitted.model.table
    found = _candidates.expected_about_means(gaussians, table)(2, 5)
    weights = table.weights(gaussians.means.astype(table.dtype), np.empty((K, K), dtype=table.dtype))[2:5]
    spread = np.array([np.diag(est.covariances_[k]) for k in range(2, 5)])
    precision = np.array([np.diag(np.linalg.inv(est.covariances_[k])) for k in range(K)])
    live = np.isfinite(weights[0])
    np.testing.assert_allclose(found[:, live], (weights - 0.5 * spread @ precision.T)[:, live], rtol=1e-3)


def test_empty_components_are_not_neighbours():
    X = rows_of("diag")
    est = mixture("diag", inference="em").fit(X)
    counts = est._fitted.stats["count"].copy()
    counts[[3, 8]] = 0.0
    with np.errstate(divide="ignore"):
        table = est._fitted.model.gaussians.table(np.log(counts), np.float64)
    found = nearest(est._fitted.model.gaussians, table, 5)
    for k in range(K):
        assert not set(found[k]) & ({3, 8} - {k})


def test_neighbours_are_recomputed_every_so_often(monkeypatch):
    made = []
    monkeypatch.setattr(_candidates, "nearest", lambda *args: made.append(1) or nearest(*args))
    est = mixture(max_iter=0).fit(rows_of("full"))
    gaussians, table = est._fitted.expected, est._fitted.model.table
    search, steps = CandidateSearch(3, 0, every=5), []
    made.clear()
    for step in range(1, 21):
        search = search.updated(gaussians, table)
        if made:
            steps.append(step)
            made.clear()
    assert steps == [1, 2, 4, 5, 8, 10, 15, 16, 20]


# -- the same bits


@pytest.mark.usefixtures("few_looks", "small_tiles")
@pytest.mark.parametrize("learning_method", ["batch", "memoized", "online"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_number_of_threads_changes_no_bit(covariance_type, learning_method):
    X = rows_of(covariance_type)
    params = {"learning_method": learning_method, "batch_size": 400, "max_iter": 4}
    one, other = (mixture(covariance_type, n_jobs=n, **params).fit(X) for n in (1, 3))
    assert_same_bits(fitted_arrays(one, X), fitted_arrays(other, X))


@pytest.mark.usefixtures("few_looks", "small_tiles")
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_number_of_threads_changes_no_bit_of_a_stream(covariance_type):
    X = rows_of(covariance_type)
    one, other = (mixture(covariance_type, n_jobs=n).partial_fit(X[:500]).partial_fit(X[500:]) for n in (1, 3))
    assert_same_bits(fitted_arrays(one, X), fitted_arrays(other, X))


@pytest.mark.usefixtures("few_looks")
def test_each_row_looks_at_its_own_random_components(monkeypatch):
    """Tiles of other sizes are the same fit: what is drawn follows from a row's number."""
    X = rows_of("full")
    first = fitted_arrays(mixture().fit(X), X)
    for tile in (128, 300):
        monkeypatch.setattr(_model, "TILE", tile)
        monkeypatch.setattr(blocks, "CHUNK_BYTES", 1 << 24)
        assert_same_bits(first, fitted_arrays(mixture().fit(X), X))


# -- readings are exact


@pytest.mark.usefixtures("few_looks")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_readings_look_at_all_components(covariance_type, inference, dtype):
    X = rows_of(covariance_type, dtype=dtype)
    est = mixture(covariance_type, inference=inference, max_iter=3).fit(X)
    exact = copy.deepcopy(est)
    exact._fitted.model.search = None
    for name in ("predict", "predict_proba", "score_samples", "score", "bic"):
        np.testing.assert_array_equal(getattr(est, name)(X), getattr(exact, name)(X), err_msg=name)
    kept, dense = est.predict_sparse_proba(X), exact.predict_sparse_proba(X)
    np.testing.assert_array_equal(kept.indices, dense.indices)
    np.testing.assert_array_equal(kept.data, dense.data)
    best = np.argsort(-est.predict_proba(X), axis=1, kind="stable")[:, :1]
    assert (kept.indices.reshape(-1, 2) == best).any(axis=1).mean() > 0.999  # equals in float32 apart


# -- learning without a bound


@pytest.mark.statistical
@pytest.mark.parametrize("covariance_type", FAMILIES)
@pytest.mark.slow
def test_online_epochs_learn(covariance_type):
    X = rows_of(covariance_type, n=1500)
    params = {"learning_method": "online", "batch_size": 150}

    def succeeds(seed):
        start, est = (mixture(covariance_type, max_iter=n, random_state=seed, **params).fit(X) for n in (0, 20))
        dense = mixture(covariance_type, candidates="all", max_iter=20, random_state=seed, **params).fit(X)
        model = est._fitted.model
        updates = 0 if model.learned_prior is None else 5  # after epochs 1, 2, 4, 8, 16
        assert 201 + updates <= model.search.n_steps <= 201 + updates + 10  # births add some
        assert est.score(X) > start.score(X) + 0.1
        return est.score(X) > dense.score(X) - 0.1

    assert one_of_three(succeeds)  # two noisy paths, mostly to neighbouring optima


@pytest.mark.parametrize("total_samples", [None, 3000])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_streams_learn(covariance_type, total_samples):
    X = rows_of(covariance_type, n=3000)
    est, dense = (mixture(covariance_type, candidates=c, total_samples=total_samples) for c in (3, "all"))
    for block in np.array_split(X[:2500], 5):
        est.partial_fit(block)
        dense.partial_fit(block)
    assert est._fitted.model.search is not None
    single = SparseGaussianMixture(covariance_type=covariance_type).fit(X)
    assert est.score(X[2500:]) > single.score(X[2500:]) + 0.1
    assert est.score(X[2500:]) > dense.score(X[2500:]) - 0.05


def test_rows_seen_once_try_all_components():
    X = np.random.default_rng(0).standard_normal((3000, 3)) ** 3
    params = {"covariance_type": "diag", "candidates": 4, "init_params": "random_from_data", "max_iter": 3}
    est = SparseGaussianMixture(100, random_state=0, **params).fit(X[:2000])
    model, fresh = est._fitted.model, X[2000:]
    rows = Rows(fresh, shift=model.shift).read(slice(0, len(fresh)))
    found = SparseResponsibilities.empty(len(fresh), 4)
    model.prepare(rows, None)
    model.local_step(rows, found, None, np.arange(len(fresh)), None)
    np.testing.assert_array_equal(found.to_csr(100).toarray(), est.transform(fresh).toarray())


# -- memory


def test_lists_are_four_bytes_an_entry():
    memory = CandidateLists(1000, 5)
    assert memory.lists.shape == (1000, 5)
    assert memory.lists.nbytes == 20_000
    assert memory.visits.nbytes == 1000


def test_model_of_a_fit_holds_no_lists(monkeypatch):
    made = []
    original = CandidateLists.__init__
    monkeypatch.setattr(
        CandidateLists, "__init__", lambda self, *a, **k: (made.append(self), original(self, *a, **k))[1]
    )
    est = mixture().fit(rows_of("full"))
    assert (made[0].lists[:, 0] >= 0).all()
    assert (made[0].visits == 10).all()
    shapes = [np.shape(value) for value in vars(est._fitted.model.search).values()]
    assert all(900 not in shape for shape in shapes)


# -- repairs


@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
def test_lists_that_miss_much_are_repaired(learning_method, monkeypatch):
    monkeypatch.setattr("sparsemix.mixture._plan.CandidateSearch", lambda *of, **_: CandidateSearch(*of))
    X, labels = rows_and_labels("full", n=1800)
    start = {"responsibilities": np.eye(K)[labels % K]}
    params = {"learning_method": learning_method, "batch_size": 500, "init_params": start}
    params |= {"n_nonzero": 1, "candidates": 1, "max_iter": 12}
    for name in ("NEIGHBOURS", "RANDOM", "FIRST", "AGAIN"):
        monkeypatch.setattr(_candidates, name, 1)
    est = mixture(**params).fit(X)
    assert "repaired" in est.history_[3]
    assert_never_falls(est.lower_bounds_)
    without_hooks(monkeypatch, GaussianRecipe, Repairs)  # nothing is repaired
    assert est.lower_bound_ > mixture(**params).fit(X).lower_bound_


def test_repair_sees_what_lists_miss():
    X = rows_of("full")
    est = mixture(max_iter=5)
    with pytest.MonkeyPatch.context() as patch:
        plans = plans_of(patch, GaussianRecipe)
        est.fit(X)
    model, rows = plans[0].model, plans[0].rows
    everything = np.arange(len(X))
    with Workers(1) as workers:
        intact = missed(model, rows, everything, workers)
        assert -1e-12 < intact < 0.05  # round-off
        assert not repaired_lists(1, model, rows, workers)
        kept = rows.memory.lists.copy()
        lists = SparseResponsibilities.empty(len(X), 2)
        model.search.prepare(model.table)
        model.search.local_step(rows.read(slice(0, len(X))), lists, everything, copy.deepcopy(rows.memory))
        dense = copy.copy(model)
        dense.search = None
        exact = respond(dense, Rows(X, None, model.shift), slice(0, len(X)), workers)[0]
        assert (exact.log_z >= lists.log_z - 1e-9).all()  # no look finds more than the one at all of them
        np.testing.assert_array_equal(rows.memory.lists, kept)


# -- rows that find nothing


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("covariance_type", FAMILIES)
def test_rows_that_find_empty_components_alone_look_at_all(covariance_type, stream, monkeypatch):
    """EM in which two of 24 components have rows, so that most looks at one or two find none of them."""
    for name, value in {
        "NEIGHBOURS": 1,
        "RANDOM": 1,
        "FIRST": 1,
        "AGAIN": 1,
        "MOST_PAIRS": 100 * K,
        "MOST_WEIGHTS": 100 * K,
    }.items():
        monkeypatch.setattr(_candidates, name, value)
    X = rows_of(covariance_type)
    resp = np.zeros((len(X), K))
    resp[:, [5, 17]] = np.random.default_rng(0).dirichlet([1.0, 1.0], len(X))
    params = {"inference": "em", "reg_covar": 1e-3, "init_params": {"responsibilities": resp}, "n_nonzero": 1}
    lists, dense = (mixture(covariance_type, candidates=c, **params) for c in (1, "all"))
    looks, look = [], CandidateSearch._all
    monkeypatch.setattr(CandidateSearch, "_all", lambda self, *a: looks.append(len(self.neighbours)) or look(self, *a))
    without_hooks(monkeypatch, GaussianRecipe, Births)  # nothing is born
    original = _plan.search_of  # which does not know that the components were given
    monkeypatch.setattr(_plan, "search_of", lambda *args, **_: original(*args))
    for est in (lists, dense):
        if stream:
            est.partial_fit(X).partial_fit(X)
        else:
            est.fit(X)
    assert K in looks
    assert (np.delete(lists.weights_, [5, 17]) == 0).all()
    if stream:  # where a row of a tile finds nothing all of them look at everything, and there is one tile
        np.testing.assert_allclose(lists.means_, dense.means_, rtol=1e-8, atol=1e-8)
    else:
        assert_never_falls(lists.lower_bounds_, slack=1e-6)  # reg_covar takes a little away


def test_row_that_nothing_explains_is_named(monkeypatch):
    monkeypatch.setattr(checks, "largest_value", lambda dtype: np.inf)  # noqa: ARG005
    X = rows_of("diag").astype(np.float32)
    est = mixture("diag").fit(X)
    X[[70, 300]] = 1e30  # squares overflow
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=r"weight of row 70 is -inf"):
        est.expected_stats(X)


# -- settings


@pytest.mark.usefixtures("few_looks")
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
def test_interrupted_fit_leaves_the_last_step(learning_method, ctrl_c, monkeypatch):  # noqa: ARG001
    X = rows_of("full")
    without_hooks(monkeypatch, GaussianRecipe, Births)  # rows are visited in epochs alone
    params = {"learning_method": learning_method, "batch_size": 300, "warm_start": True}
    whole = mixture(max_iter=2, **params).fit(X)
    est = mixture(**params)
    with monkeypatch.context() as patch:
        patch.setattr(_model.MixtureModel, "local_step", interrupting(_model.MixtureModel.local_step, X))
        with pytest.raises(KeyboardInterrupt):
            est.fit(X)
    assert_same_bits(fitted_arrays(est, X)[:-1], fitted_arrays(whole, X)[:-1])
    assert est.fit(X).lower_bounds_[-1] > whole.lower_bounds_[-1]


def interrupting(local_step, X):
    """A local step that is interrupted when two epochs are over."""
    seen = []

    def step(self, x, *args):
        seen.append(len(x))
        if sum(seen) > 2 * len(X):
            raise KeyboardInterrupt
        return local_step(self, x, *args)

    return step


def test_trial_steps_of_starts_leave_no_lists_behind():
    est = mixture(n_init=3, max_iter=5).fit(rows_of("full"))
    assert_never_falls(est.lower_bounds_)


@pytest.mark.usefixtures("few_looks")
def test_rows_begin_with_all_components(monkeypatch):
    looks, look = [], CandidateSearch._all
    monkeypatch.setattr(CandidateSearch, "_all", lambda self, x, *a: looks.append(len(x)) or look(self, x, *a))
    X = rows_of("full")
    est = mixture(max_iter=3).fit(X)
    assert looks == [len(X)]  # one tile, at its first visit
    first = mixture(max_iter=1).fit(X)
    dense = mixture(candidates="all", max_iter=1).fit(X)
    np.testing.assert_allclose(first.means_, dense.means_, rtol=1e-10, atol=1e-10)
    assert_never_falls(est.lower_bounds_)


@pytest.mark.slow
@pytest.mark.parametrize("learning_method", ["batch", "memoized"])
@pytest.mark.parametrize("seed", range(3))
def test_converged_lists_score_like_the_dense_fit(seed, learning_method):
    X, _, _ = make_patch_mixture(9000, n_features=8, n_components=60, rank=2, random_state=seed)
    params = {"covariance_type": "zero_mean", "learning_method": learning_method, "max_iter": 200, "random_state": seed}
    dense, lists = (SparseGaussianMixture(120, candidates=c, **params).fit(X[:6000]) for c in ("all", 4))
    assert lists.converged_
    # they may end in neighbouring optima, up to a tenth of a nat apart, as seeds of one fit are
    assert lists.score(X[6000:]) > dense.score(X[6000:]) - 0.1
    assert lists.lower_bound_ > dense.lower_bound_ - 0.1 * 6000
