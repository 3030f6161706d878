"""Thousands of components are sought in groups: the same fits, and a count of the pairs that are weighed."""

import pickle

import numpy as np
import pytest
import reference
from mixture_cases import assert_same_bits, fitted_arrays
from sklearn.datasets import make_blobs

from sparsemix import SparseGaussianMixture
from sparsemix._heuristics.mixture import repairs as _repairs
from sparsemix._models.mixture import candidates as _candidates
from sparsemix._models.mixture import groups as _groups
from sparsemix._models.mixture.candidates import CandidateSearch, PairTable, nearest
from sparsemix._models.mixture.groups import Groups, groups_of, halved
from sparsemix._stats.families import GAUSSIANS, Gaussians
from sparsemix._stats.responsibilities import SparseResponsibilities

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
WITH_MEANS = [name for name in GAUSSIANS if name not in {"zero_mean", "low_rank"}]


def spread(n_components, n_features, structure="diag", seed=0):
    """Components at places of their own, whose sizes differ."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(-10.0, 10.0, size=(n_components, n_features))
    shapes = rng.uniform(0.2, 0.6, size=(n_components, n_features, 1)) * np.eye(n_features)
    covariances = [reference.one_covariance(structure, shape @ shape.T) for shape in shapes]
    covariances = covariances[0] if reference.is_tied(structure) else np.array(covariances)
    return Gaussians(structure, means, GAUSSIANS[structure](n_features).pack_covariances(covariances))


@pytest.fixture
def many(monkeypatch):
    """A hundred components are many."""
    monkeypatch.setattr(_groups, "MANY", 100)


def rows(n=3000, seed=0):
    return make_blobs(n, 3, centers=150, center_box=(-20, 20), random_state=seed)[0]


def mixture(**params):
    defaults = {"n_components": 150, "covariance_type": "diag", "candidates": 4, "max_iter": 10, "random_state": 0}
    return SparseGaussianMixture(**(defaults | params))


@pytest.mark.parametrize(("n", "n_groups"), [(150, 16), (101, 7), (40, 64)])
def test_halves_are_even(n, n_groups):
    order, starts = halved(np.random.default_rng(0).standard_normal((n, 4)), n_groups)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    sizes = np.diff(starts)
    assert sizes.sum() == n
    assert np.ptp(sizes) <= 1
    assert len(sizes) == 2 ** round(np.log2(n_groups))


def test_groups_have_the_moments_of_their_members():
    gaussians = spread(150, 3)
    groups = Groups(gaussians.means, gaussians.covariances)
    for g, (mean, variance) in enumerate(zip(groups.means, groups.variances, strict=True)):
        members = groups.of(g)
        np.testing.assert_allclose(mean, gaussians.means[members].mean(axis=0))
        within, between = gaussians.covariances[members].mean(axis=0), gaussians.means[members].var(axis=0)
        np.testing.assert_allclose(variance, within + between)


@pytest.mark.parametrize("structure", WITH_MEANS)
def test_variances_of_any_structure(structure):
    gaussians = spread(5, 3, structure)
    dense = reference.dense_covariances(
        structure, GAUSSIANS[structure](3).unpack_covariances(gaussians.covariances), 5, 3
    )
    np.testing.assert_allclose(gaussians.variances(), np.diagonal(dense, axis1=1, axis2=2))


@pytest.mark.usefixtures("many")
def test_components_that_do_not_lie_apart_are_looked_at_together():
    gaussians = spread(200, 3)
    assert groups_of(gaussians) is not None
    assert groups_of(gaussians.take(np.arange(99))) is None
    near = Gaussians("diag", 0.01 * gaussians.means, gaussians.covariances)
    assert groups_of(near) is None


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("structure", WITH_MEANS)
def test_neighbours_in_groups_are_the_neighbours(structure):
    gaussians = spread(400, 3, structure)
    table = gaussians.table(np.zeros(400), np.float64)
    found = CandidateSearch(4, 0).updated(gaussians, table)
    assert found.groups is not None
    expected = nearest(gaussians, table, found.neighbours.shape[1])
    same = [len(set(mine) & set(theirs)) for mine, theirs in zip(found.neighbours, expected, strict=True)]
    assert np.mean(same) > 0.9 * expected.shape[1]
    assert all(k in mine for k, mine in enumerate(found.neighbours))


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("structure", WITH_MEANS)
def test_rows_look_at_a_part_of_all_and_find_the_best(structure, monkeypatch):
    n_components = 1600
    gaussians, seen = spread(n_components, 3, structure), []
    weights_of = PairTable.weights
    monkeypatch.setattr(PairTable, "weights", lambda self, x, s, r: seen.append(len(r)) or weights_of(self, x, s, r))
    table = gaussians.table(np.zeros(n_components), np.float64)
    search = CandidateSearch(4, 0, all_first=True).updated(gaussians, table)
    search.prepare(table)
    rng = np.random.default_rng(2)
    x = gaussians.means[rng.integers(n_components, size=2000)] + 0.5 * rng.standard_normal((2000, 3))
    resp = SparseResponsibilities.empty(len(x), 2)
    search.local_step(x, resp, np.arange(len(x)), _candidates.CandidateLists(len(x), 4))
    weights = table.weights(x, np.empty((len(x), n_components)))
    found = np.take_along_axis(weights, resp.indices.astype(np.intp), axis=1)
    assert (weights.max(axis=1) - found.max(axis=1)).mean() < 0.01
    members = _groups.BEST * search.groups.largest
    assert sum(seen) <= len(x) * (members + 2 * 4 * (_candidates.NEIGHBOURS + 1))
    assert members < 0.25 * n_components


@pytest.mark.parametrize("covariance_type", ["full", "diag", "tied", "tied_spherical"])
@pytest.mark.slow
def test_fits_in_groups_are_as_good(covariance_type, monkeypatch):
    X = rows()
    whole = mixture(covariance_type=covariance_type).fit(X)
    monkeypatch.setattr(_groups, "MANY", 100)
    parted = mixture(covariance_type=covariance_type).fit(X)
    assert parted._fitted.model.search.groups is not None
    assert parted.score(X) > whole.score(X) - 0.01
    assert (np.diff(parted.lower_bounds_[1:]) > -1e-9).all()


@pytest.mark.usefixtures("many")
def test_the_same_bits_with_threads():
    X = rows()
    fits = [mixture(n_jobs=n_jobs, max_iter=3).fit(X) for n_jobs in (1, 2)]
    assert_same_bits(*(fitted_arrays(fit, X) for fit in fits))


@pytest.mark.usefixtures("many")
def test_streams_look_into_groups():
    X = rows(6000)
    looked, best = [], Groups.best
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Groups, "best", lambda self, *args: looked.append(1) or best(self, *args))
        est = mixture()
        for part in np.array_split(X, 3):
            est.partial_fit(part)
    dense = mixture(candidates="all")
    for part in np.array_split(X, 3):
        dense.partial_fit(part)
    assert looked
    assert est.score(X) > dense.score(X) - 0.05


@pytest.mark.usefixtures("many")
def test_checkpoints_and_pickles_keep_groups(tmp_path):
    X = rows()
    whole = mixture(max_iter=3).fit(X)
    mixture(max_iter=2).fit(X, checkpoint=tmp_path / "fit")
    assert_same_bits(fitted_arrays(mixture(max_iter=3).fit(X, checkpoint=tmp_path / "fit"), X), fitted_arrays(whole, X))
    stream = mixture().partial_fit(X[:1500])
    other = pickle.loads(pickle.dumps(stream))
    assert_same_bits(*(fitted_arrays(each.partial_fit(X[1500:]), X) for each in (stream, other)))


@pytest.mark.usefixtures("many")
def test_a_look_that_missed_much_is_made_again_at_all(monkeypatch):
    looks, look = [], CandidateSearch._all
    monkeypatch.setattr(_repairs, "MISSED", -1.0)  # always
    monkeypatch.setattr(CandidateSearch, "_all", lambda self, *a: looks.append(len(self.neighbours)) or look(self, *a))
    fit = mixture(max_iter=6).fit(rows())
    assert 150 in looks
    assert not fit._fitted.model.search.by_groups
    assert fit._fitted.model.search.groups is None


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("missed", [-1.0, 1e9])
def test_streams_try_all_where_groups_miss_much(missed, monkeypatch):
    monkeypatch.setattr(_repairs, "MISSED", missed)
    X = rows()
    stream = mixture().partial_fit(X[:1500]).partial_fit(X[1500:])
    assert (stream._fitted.model.search.groups is None) == (missed < 0.0)
    assert stream._fitted.model.search.by_groups == (missed > 0.0)
