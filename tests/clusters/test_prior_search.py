"""The search for a prior: trees, empirical Bayes, units without clusters, and the best cut."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, ward
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, multigammaln
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

from sparsemix import StreamingNGGPMixture
from sparsemix._heuristics.clusters import automatic, estimates
from sparsemix._heuristics.clusters import search as searches
from sparsemix._heuristics.clusters.automatic import automatic_prior, correlation_gain, lumpy
from sparsemix._heuristics.clusters.estimates import PSEUDO
from sparsemix._heuristics.clusters.independent import USUAL, Independent
from sparsemix._heuristics.clusters.matrices import Matrices, gammas
from sparsemix._heuristics.clusters.metrics import factors, least_kurtosis, negentropy, neighbours, shrunk
from sparsemix._heuristics.clusters.rounding import Rounding, on_grid
from sparsemix._heuristics.clusters.search import alone, best_cuts, directions, search
from sparsemix._heuristics.clusters.tree import Groups, Tree
from sparsemix._models.clusters.gaussian_slots import GaussianSlots
from sparsemix._models.clusters.model import RowResponsibilities, StreamingModel
from sparsemix._models.clusters.state import ClusterState
from sparsemix._rows.blocks import Rows
from sparsemix._stats import symmetric
from sparsemix._stats.families import GAUSSIANS
from sparsemix._stats.nggp import NGGP
from sparsemix.clusters._stepped_rows import SteppedRows

STRUCTURES = ["full", "diag", "spherical"]


def prior_of(structure, n_features, **given):
    if structure == "full":
        return Matrices(n_features, given)
    return Independent(n_features, given, shared=structure == "spherical")


def clouds(n=120, d=3, k=4, seed=0):
    """Standardised rows with labels."""
    x, labels = make_blobs(n, n_features=d, centers=k, random_state=seed)
    return (x - x.mean(axis=0)) / x.std(axis=0), labels


def sums_of(structure, x, labels):
    """Statistics of the groups as the families have them."""
    family = GAUSSIANS[structure](x.shape[1])
    stats = family.empty_stats(labels.max() + 1)
    for k in range(labels.max() + 1):
        own = x[labels == k]
        stats["count"][k], stats["first"][k] = len(own), own.sum(axis=0)
        stats["second"][k] = family.shape.squares(own).sum(axis=0)
    return family, stats


# -- trees


@pytest.mark.parametrize("matrices", [False, True])
@pytest.mark.parametrize("n_leaves", [1, 2, 7, 40])
def test_nodes_have_the_statistics_of_their_rows(n_leaves, matrices):
    x, _ = clouds(40)
    tree = Tree(x, x, n_leaves, matrices)
    cuts = ward(x)
    for n_groups in {1, min(3, n_leaves), n_leaves}:
        nodes = tree.level(n_groups)
        labels = tree.labels(nodes)
        expected = fcluster(cuts, n_groups, "maxclust")
        assert len(np.unique(labels)) == len({*zip(labels, expected, strict=True)}) == n_groups
        groups = tree.nodes.take(nodes)
        for k in range(n_groups):
            own = x[labels == k]
            mean = own.mean(axis=0)
            scatter = (own - mean).T @ (own - mean)
            assert groups.count[k] == len(own)
            np.testing.assert_allclose(groups.mean[k], mean, atol=1e-12)
            np.testing.assert_allclose(groups.scatter[k], scatter if matrices else np.diag(scatter), atol=1e-12)


def cuts_of(tree, node, n):
    """All cuts below a node, each as a set of nodes."""
    if node < n:
        return [[node]]
    first, second = tree.pairs[node - n]
    return [[node]] + [a + b for a in cuts_of(tree, first, n) for b in cuts_of(tree, second, n)]


def test_the_best_cut_is_the_best_of_all():
    x, _ = clouds(10)
    tree = Tree(x, x, 10)
    for seed in range(20):
        values = np.random.default_rng(seed).normal(size=19)
        every = cuts_of(tree, 18, 10)
        best = max(every, key=lambda nodes: values[nodes].sum())
        assert len(every) > 20
        np.testing.assert_array_equal(tree.best(values), np.sort(best))


# -- empirical Bayes


@pytest.mark.parametrize("structure", STRUCTURES)
def test_evidence_is_that_of_the_family(structure):
    x, labels = clouds()
    groups = Groups.of(x, labels, structure == "full")
    found = prior_of(structure, 3).begin(groups).fit(groups, 3)
    family, stats = sums_of(structure, x, labels)
    prior = family.prior(None, **found.arguments())
    evidence = family.log_normalizers(family.posterior(prior, stats)) - family.log_normalizers(prior)
    expected = evidence - 0.5 * 3 * groups.count * np.log(2.0 * np.pi)
    np.testing.assert_allclose(found.evidence(groups), expected, rtol=1e-9)


def total(found, groups):
    """Log evidence and hyperprior, which a step may not lower."""
    pseudo = 0.0
    if isinstance(found, Independent):  # one more cluster at the usual degrees of freedom
        (nu,), (kappa,) = found.nu, found.kappa
        half = 0.5 * nu
        log_precision = digamma(USUAL / 2) - np.log(USUAL / 2)
        pseudo = found.b.size * (half * np.log(half) - gammaln(half) + half * (log_precision - 1.0))
        kappa = kappa[:1] if found.shared else kappa
        pseudo += (0.5 * np.log(kappa) - 0.5 * PSEUDO * kappa).sum()
    return found.evidence(groups).sum() + pseudo


@pytest.mark.parametrize("structure", ["diag", "spherical"])
def test_every_step_raises_the_evidence(structure):
    for seed in range(5):
        x, labels = clouds(60, seed=seed)
        groups = Groups.of(x, labels, False)
        found = prior_of(structure, 3).begin(groups)
        values = [total(found, groups)] + [total(found.fit(groups, 1), groups) for _ in range(20)]
        assert all(after > before - 1e-3 for before, after in pairwise(values))  # nu to a thousandth
        assert values[-1] > values[0]


@pytest.mark.parametrize("structure", ["diag", "spherical"])
def test_steps_end_where_the_evidence_is_flat(structure):
    x, labels = clouds(20)
    groups = Groups.of(x, labels, False)
    found = prior_of(structure, 3).begin(groups).fit(groups, 100)

    def value(name, change):
        one = found.copy()
        setattr(one, name, getattr(one, name) + change if name == "m" else getattr(one, name) * np.exp(change))
        return total(one, groups)

    for name in ("m", "kappa", "b", "nu"):
        assert value(name, 1e-3) - value(name, -1e-3) == pytest.approx(0.0, abs=2e-6), name


def test_the_search_for_matrices_is_as_good_as_a_grid():
    x, labels = clouds(200)
    groups = Groups.of(x, labels, True)
    found = Matrices(3, {}).begin(groups).fit(groups, 1)

    def value(scale, kappa, nu):
        one = found.copy()
        one.scale, one.kappa, one.nu = (np.atleast_1d(own) for own in (scale, kappa, nu))
        return float(one.evidence(groups).sum() + np.sum(0.5 * np.log(kappa) - 0.125 * kappa))

    best = value(found.scale, found.kappa, found.nu)
    hyperprior = 0.5 * np.log(found.kappa[0]) - 0.125 * found.kappa[0]
    assert best == pytest.approx(found.log_evidence[0] + hyperprior)
    for kappa in found.kappas:
        for nu in found.dofs:
            for factor in (0.5, 0.5**0.5, 1.0, 2.0**0.5, 2.0):  # the best of all at its scale, and than nearby ones
                assert value(found.scale * factor, kappa, nu) <= best + 1e-9
    for scale in 2.0 ** np.arange(-2, 10):
        for kappa in 10.0 ** np.arange(-4.0, 2.0):
            for nu in 2.0 ** np.arange(10):
                assert value(scale, kappa, nu) < best + 0.5


def test_ratios_of_gamma_functions_are_those_of_scipy():
    table = gammas(4, (0.5, 2.0), 32)
    for nu, column in zip((0.5, 2.0), table.T, strict=True):
        half = 0.5 * (nu + 3.0)
        expected = multigammaln(half + 0.5 * np.arange(33), 4) - multigammaln(half, 4)
        np.testing.assert_allclose(column, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("given", [{}, {"mean_precision": 0.3}, {"dof": 17.0}, {"mean": np.ones(3)}])
def test_partitions_are_fitted_at_once_as_one_by_one(structure, given):
    x, _ = clouds(80)
    nodes = Tree(x, x, 20, structure == "full").nodes
    several = [nodes.take(np.arange(first, 38, step)) for first, step in ((0, 1), (3, 5), (30, 7), (37, 1))]
    groups = Groups.join(several)
    together = prior_of(structure, 3, **given).begin(groups).fit(groups, 4)
    parts = np.split(together.evidence(groups), groups.starts[1:])
    for i, (one, values) in enumerate(zip(several, parts, strict=True)):
        alone = prior_of(structure, 3, **given).begin(one).fit(one, 4)
        np.testing.assert_allclose(values, alone.evidence(one), rtol=1e-9)
        assert together.log_evidence[i] == pytest.approx(values.sum(), rel=1e-9)
        assert together.log_hyperprior(groups)[i] == pytest.approx(alone.log_hyperprior(one)[0], rel=1e-9)
        for key, value in alone.arguments().items():
            np.testing.assert_allclose(together.take([i]).arguments()[key], value, rtol=1e-9)
    np.testing.assert_array_equal(groups.cuts([1, 3]).count, np.concatenate([several[1].count, several[3].count]))
    joined = type(together).join([together.take([i]) for i in (2, 0)])
    np.testing.assert_array_equal(joined.m, together.m[[2, 0]])


def root_of_dof(terms, n_terms):
    """Slow twin: the degrees of freedom by bisection."""
    mean = (terms + digamma(USUAL / 2) - np.log(USUAL / 2)) / (n_terms + 1)

    def slope(nu):
        return np.log(nu / 2) - digamma(nu / 2) + mean

    if slope(512.0) > 0.0:
        return 512.0
    return 0.5 if slope(0.5) < 0.0 else brentq(slope, 0.5, 512.0, xtol=1e-12)


def test_degrees_of_freedom_are_roots():
    terms = -np.concatenate([np.geomspace(1e-6, 300.0, 200), [0.0, -1.0]])
    groups = Groups(np.ones(3 * 202), np.zeros((3 * 202, 1)), np.zeros((3 * 202, 1)), 3 * np.arange(202))
    found = Independent(1, {}).begin(groups)._dof(groups, terms)
    np.testing.assert_allclose(found, [root_of_dof(one, 3) for one in terms], rtol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_estimates_are_those_of_the_clusters(structure):
    rng = np.random.default_rng(0)
    means, variance = rng.normal(scale=3.0, size=(60, 4)), 0.25
    labels = np.repeat(np.arange(60), 30)
    x = means[labels] + np.sqrt(variance) * rng.normal(size=(1800, 4))
    groups = Groups.of(x, labels, structure == "full")
    arguments = prior_of(structure, 4).begin(groups).fit(groups, 30).arguments()
    np.testing.assert_allclose(arguments["mean"], means.mean(axis=0), atol=0.3)
    np.testing.assert_allclose(arguments["mean_precision"], variance / 9.0, rtol=0.5)
    family = GAUSSIANS[structure](4)
    expected = family.point_estimate(family.prior(None, **arguments)).covariances
    variances = family.shape.variances(expected, 4)
    np.testing.assert_allclose(variances, variance, rtol=0.1)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("name", ["mean", "mean_precision", "dof", "covariance"])
def test_given_values_stay(structure, name):
    x, labels = clouds()
    groups = Groups.of(x, labels, structure == "full")
    given = {"dof": 17.0} if name == "covariance" else {}
    given[name] = {
        "mean": np.array([0.1, 0.2, 0.3]), "mean_precision": 0.3, "dof": 17.0,
        "covariance": {"full": np.diag([1.0, 2, 3]), "diag": np.array([1.0, 2, 3]), "spherical": 2.0}[structure],
    }[name]  # fmt: skip
    arguments = prior_of(structure, 3, **given).begin(groups).fit(groups, 4).arguments()
    for key, value in given.items():
        np.testing.assert_allclose(arguments[key], value)


# -- units without clusters


def test_shrinkage_keeps_variances_and_tiny_directions():
    covariance = np.array([[4.0, 3.9999], [3.9999, 4.0]])
    found = shrunk(covariance, 50)
    np.testing.assert_allclose(np.diag(found), 4.0)
    assert 1.0 > found[0, 1] / 4.0 > 0.999
    rng = np.random.default_rng(0)
    noise = np.cov(rng.normal(size=(40, 20)).T)
    off = ~np.eye(20, dtype=bool)
    assert np.abs(shrunk(noise, 39)[off]).mean() < 0.9 * np.abs(noise[off]).mean()


@pytest.mark.parametrize("matrices", [False, True])
def test_neighbours_show_which_columns_separate_clusters(matrices):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 10))
    x[:, :2] += 12.0 * rng.normal(size=(4, 2))[rng.integers(4, size=400)]
    within = neighbours(x / x.std(axis=0), matrices)
    found = (np.diag(within) if matrices else within) * x.var(axis=0)
    np.testing.assert_allclose(np.log(found / np.median(found)), 0.0, atol=0.8)
    assert (np.log(x.var(axis=0)[:2]) > 3.0).all()


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_a_direction_of_groups_is_the_first(groups):
    rng = np.random.default_rng(groups)
    turn = np.linalg.qr(rng.normal(size=(15, 15)))[0]
    x = rng.normal(size=(800, 15))
    x[:, 0] = rng.integers(groups, size=800) + 0.05 * x[:, 0]
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    basis = least_kurtosis(x @ turn)
    np.testing.assert_allclose(basis.T @ basis, np.eye(15), atol=1e-8)
    assert abs(basis[:, 0] @ turn[0]) > 0.95
    within = directions(x @ turn)
    assert turn[0] @ within @ turn[0] < 0.05
    assert np.linalg.eigvalsh(within)[1] > 0.5


def test_negentropy_of_known_distributions():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=4000), rng.uniform(size=4000), rng.integers(2, size=4000)])
    x[:, 2] += 0.01 * rng.normal(size=4000)
    gain = negentropy(x)
    width = 0.5 * np.log(2.0 * np.pi * np.e)
    np.testing.assert_allclose(gain[:2], [0.0, width - 0.5 * np.log(12.0)], atol=0.06)  # with the bias of gaps
    np.testing.assert_allclose(gain[2], np.log(0.5 / 0.01) - np.log(2.0), atol=0.15)
    np.testing.assert_array_equal(negentropy(x[:2]), 0.0)


def test_columns_alone_have_the_width_of_their_clusters():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    x[:, 0] = rng.integers(3, size=400) + 0.1 * x[:, 0]
    x /= x.std(axis=0)
    within = alone(x).var(axis=0)
    assert within[0] == pytest.approx(0.01 / (2.0 / 3.0 + 0.01), rel=0.3)
    assert within[1] == pytest.approx(1.0)


def test_matrices_that_round_off_made_indefinite_have_factors():
    direction = np.array([1.0, 1.0, 0.5])
    low = factors(np.stack([np.outer(direction, direction) - 1e-17 * np.eye(3), np.eye(3)]))
    np.testing.assert_allclose(low @ np.swapaxes(low, 1, 2), [np.outer(direction, direction), np.eye(3)], atol=1e-9)


# -- the search


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_score_is_a_log_joint_density_with_penalties(structure):
    x, _ = clouds(200)
    finalists = search(GAUSSIANS[structure](3), {}, x, gammaln)
    found = finalists[0]
    assert all(first.score >= second.score for first, second in pairwise(finalists))
    assert len({len(one.nodes) for one in finalists}) == len(finalists) > 1
    groups = Groups.of(x, found.labels, structure == "full")
    again = found.prior.evidence(groups).sum() + gammaln(groups.count).sum() + found.prior.log_hyperprior(groups)[0]
    assert found.score == pytest.approx(again, rel=1e-9)
    ((one, *_),) = best_cuts([Tree(x, x, 1, structure == "full")], prior_of(structure, 3), gammaln)
    assert len(one.nodes) == 1
    assert found.score > one.score


@pytest.mark.parametrize("n_features", [2, 30])
def test_hopeless_cuts_are_no_answers(n_features, monkeypatch):
    x, _ = make_blobs(400, n_features=n_features, centers=6, random_state=0)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    found = [(one.score, one.labels.tolist()) for one in search(GAUSSIANS["full"](n_features), {}, x, gammaln)]
    monkeypatch.setattr(estimates, "HOPELESS", 1e9)
    slow = [(one.score, one.labels.tolist()) for one in search(GAUSSIANS["full"](n_features), {}, x, gammaln)]
    assert [one for _, one in found] == [one for _, one in slow]
    np.testing.assert_allclose([one for one, _ in found], [one for one, _ in slow], rtol=1e-9)


def test_hopeless_structures_and_finalists_are_no_answers(monkeypatch):
    """Rows without correlations need one tree of matrices, and the same cut wins if all finalists get all visits."""
    x, _ = make_blobs(500, n_features=3, centers=8, random_state=0)
    monkeypatch.setattr(searches, "directions", lambda _: pytest.fail("one start is enough"))
    fits = [StreamingNGGPMixture(max_iter=1, random_state=0).fit(x)]
    monkeypatch.undo()
    monkeypatch.setattr(automatic, "search", lambda *args: search(*args[:4]))
    monkeypatch.setattr(automatic, "GAINS", 1e9)
    fits.append(StreamingNGGPMixture(max_iter=1, random_state=0).fit(x))
    assert fits[0].labels_.tolist() == fits[1].labels_.tolist()


def test_trees_of_columns_have_the_cuts_of_each():
    x, _ = clouds(200)
    trees = [Tree(one, one, 50) for one in (x[:, j : j + 1] for j in range(3))]
    for tree, cuts in zip(trees, best_cuts(trees, Independent(1, {}), gammaln), strict=True):
        (own,) = best_cuts([tree], Independent(1, {}), gammaln)
        assert [one.nodes.tolist() for one in own] == [one.nodes.tolist() for one in cuts]
        np.testing.assert_allclose([one.score for one in own], [one.score for one in cuts], rtol=1e-9)
    assert best_cuts([], Independent(1, {}), gammaln) == []


def test_clusters_that_touch_are_separated():
    """Rows between them belong to both; cut in two, each cluster is too narrow on that side."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(1000) % 2)
    x = rng.normal(size=(1000, 2)) + np.column_stack([3.2 * labels, np.zeros(1000)])
    assert StreamingNGGPMixture("diag", random_state=0).fit(x).n_clusters_ == 2


def test_the_bound_of_a_partition_is_its_log_joint():
    x, labels = clouds(120)
    family = GAUSSIANS["full"](3)
    prior = family.prior(None, mean=np.zeros(3), mean_precision=0.1, dof=6.0, covariance=0.2 * np.eye(3))
    state, part = ClusterState(GaussianSlots(family, prior)), RowResponsibilities(120)
    model = StreamingModel(NGGP(1.0, 0.0, 1.0), 0.5, record=True)
    model.divide(x, None, state, labels.astype(np.intc), part)
    model.revisit(x, None, part, state, 0)
    part.values[: part.n_used] = 1.0  # of a partition there is no entropy
    slots = state.live(0.0)
    log_u = model.prior.log_mode(120.0, 1.0)
    expected = model.prior.log_kappa(state.counts[slots], log_u).sum() + state.sums.evidence(slots).sum()
    assert model.bound(part, state) == pytest.approx(expected)
    part.values[0] = 0.5
    assert model.bound(part, state) == pytest.approx(expected + 0.5 * np.log(2.0))


PROBLEMS = {
    "one informative column": lambda rng, y: (
        np.column_stack([8.0 * y, np.zeros((len(y), 19))]) + rng.normal(size=(len(y), 20))
    ),
    "direction of least variance": lambda rng, y: (
        (np.column_stack([30.0 * y, np.zeros((len(y), 9))]) + rng.normal(size=(len(y), 10)))
        * np.geomspace(0.01, 1.0, 10) @ np.linalg.qr(rng.normal(size=(10, 10)))[0]
    ),
    "all columns": lambda rng, y: 8.0 * rng.normal(size=(3, 6))[y] + rng.normal(size=(len(y), 6)),
}  # fmt: skip


@pytest.mark.parametrize("way", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("n", [300, 1200])
def test_clusters_are_found_in_few_columns_and_directions(name, n, way):
    rng = np.random.default_rng(n)
    labels = rng.permutation(np.arange(n) % 3)
    est = getattr(StreamingNGGPMixture(), way)(PROBLEMS[name](rng, labels))
    assert est.n_clusters_ == 3
    np.testing.assert_allclose(np.sort(est.counts_), n / 3, rtol=0.02)


def test_many_groups_in_a_lattice_are_found():
    rng = np.random.default_rng(0)
    points = np.stack(np.meshgrid(*[np.arange(3)] * 4), axis=-1).reshape(-1, 4)
    labels = np.repeat(np.arange(81), 20)
    est = StreamingNGGPMixture(random_state=0).fit(points[labels] + 0.02 * rng.normal(size=(1620, 4)))
    assert est.n_clusters_ == 81


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_given_covariance_leaves_the_rest_to_the_rows(structure):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(600) % 3)
    x = 250.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[labels] + rng.normal(size=(600, 2))
    covariance = {"full": np.eye(2), "diag": np.ones(2), "spherical": 1.0}[structure]
    est = StreamingNGGPMixture(structure, covariance_prior=covariance, random_state=0).fit(x)
    assert est.n_clusters_ == 3
    assert est._fitted.state.sums.prior.mean_precision.max() < 1e-3
    given = est._fitted.state.sums.prior.scale[0]
    np.testing.assert_allclose(given, np.ravel(symmetric.pack(covariance) if structure == "full" else covariance))


def automatic_of(structures, x, weight=None, **given):
    rows = Rows(x, weight)
    return automatic_prior(structures, lambda _: {"mean_precision": None, "dof": None} | given, rows, np.arange(len(x)),
                           lambda part: (part, part.var(axis=0)), NGGP(1.0, 0.0, 1.0), 0.5)  # fmt: skip


@pytest.mark.parametrize("structure", [*STRUCTURES, "zero_mean"])
def test_the_prior_has_the_units_of_the_rows(structure):
    x, _ = clouds(200)
    units = np.full(3, 8.0) if structure == "spherical" else np.array([8.0, 2.0**-20, 1.0])
    first, second = automatic_of([structure], x), automatic_of([structure], x * units)
    variances = [one.family.shape.variances(one.prior.scale, 3) for one in (first, second)]
    np.testing.assert_allclose(variances[1].ravel(), (variances[0] * units**2).ravel()[: variances[1].size], rtol=1e-6)
    np.testing.assert_allclose(first.prior.dof, second.prior.dof, rtol=1e-6)
    if structure != "zero_mean":
        np.testing.assert_array_equal(first.labels, second.labels)
        np.testing.assert_allclose(first.prior.mean * units, second.prior.mean, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(first.prior.mean_precision, second.prior.mean_precision, rtol=1e-6)


@pytest.mark.parametrize("structure", ["full", "diag"])
def test_constant_columns_take_no_part(structure):
    x, _ = clouds(200)
    wide = np.column_stack([np.full(200, 3.0), x, np.zeros(200)])
    first, second = automatic_of([structure], x), automatic_of([structure], wide)
    np.testing.assert_array_equal(first.labels, second.labels)
    assert np.isfinite(second.prior.scale).all()


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_wrong_value_does_not_set_the_scale(structure):
    x, labels = make_blobs(500, n_features=3, centers=4, random_state=1)
    x[7, 1] = 1e9
    est = StreamingNGGPMixture(structure, random_state=0).fit(x)
    kept = np.arange(500) != 7
    assert len({*zip(labels[kept], est.labels_[kept], strict=True)}) == 4
    assert est.n_clusters_ <= 6


def test_more_rows_are_read_if_clusters_are_small(monkeypatch):
    seen = []
    original = automatic._Sample.__init__

    def count(self, rows, selection, *rest):
        seen.append(len(selection))
        original(self, rows, selection, *rest)

    monkeypatch.setattr(automatic._Sample, "__init__", count)
    rng = np.random.default_rng(0)
    for n_groups, expected in ((5, [1000]), (100, [1000, 2000])):
        seen.clear()
        centres = rng.normal(scale=50.0, size=(n_groups, 4))
        automatic_of(["diag"], centres[np.arange(3000) % n_groups] + rng.normal(size=(3000, 4)))
        assert seen == expected


def test_correlations_of_any_sign_count_and_chance_does_not():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 300)
    plain = rng.normal(size=(600, 4))
    shared, opposite = plain.copy(), plain.copy()
    shared[:, 1] += shared[:, 0]
    opposite[:, 1] += np.where(labels, 1.0, -1.0) * opposite[:, 0]
    for x, wanted in ((plain, False), (shared, True), (opposite, True)):
        gain, least = correlation_gain(Groups.of(x, labels, True), np.bincount(labels))
        assert (gain > least) == wanted
    few = Groups.of(plain[:4], np.zeros(4, dtype=int), True)
    assert correlation_gain(few, np.array([4])) == (0.0, np.inf)


def test_correlations_gain_what_the_likelihood_gains():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3))
    x -= x.mean(axis=0)
    gain, least = correlation_gain(Groups.of(x, np.zeros(500, dtype=int), True), np.array([500]))
    covariance = np.cov(x.T)
    log_ratio = -0.5 * 499 * (np.linalg.slogdet(covariance)[1] - np.log(np.diag(covariance)).sum())
    assert gain == pytest.approx(log_ratio, rel=1e-6)
    assert least == pytest.approx(0.5 * 3 * np.log(499))


# -- rounding


def test_steps_are_gaps_between_values():
    rng = np.random.default_rng(0)
    x = np.column_stack([
        0.1 * rng.integers(0, 40, 500), rng.normal(size=500), np.ones(500), rng.random(500) < 0.1,
        np.log1p(rng.poisson(5.0, 500)),
    ])  # fmt: skip
    steps = Rounding(x)
    widths = steps.widths(x)
    assert steps.columns.tolist() == [0, 3, 4]
    np.testing.assert_allclose(widths[:, 0], 0.1)
    assert (widths[:, 1:3] == 0.0).all()
    np.testing.assert_array_equal(widths[:, 3], 1.0)
    counts = np.round(np.expm1(x[:, 4]))
    inner = (counts > counts.min()) & (counts < counts.max() - 3)
    np.testing.assert_allclose(widths[inner, 4], np.log1p(counts + 1)[inner] - np.log1p(counts)[inner], rtol=1e-9)
    assert lumpy(x).tolist() == [False, False, True, True, False]


def test_columns_that_are_functions_of_others_have_tiny_steps():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    steps = Rounding(np.column_stack([x, x[:, 0] + x[:, 1]]))
    assert steps.columns.tolist() == [0, 1, 3]
    assert (steps.least[[0, 1, 3]] < 1e-3).all()


def test_rows_are_the_same_whenever_they_are_read():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.integers(5, size=50), rng.normal(size=50), 0.5 * rng.integers(5, size=50)])
    steps = Rounding(x)
    rows = SteppedRows(Rows(x), steps)
    whole = rows.read(slice(0, 50))
    assert (np.abs(whole - x) <= [0.5, 0.0, 0.25]).all()
    assert (whole[:, 1] == x[:, 1]).all()
    assert len(np.unique(whole[:, 0])) == 50
    order = np.random.default_rng(1).permutation(50)
    np.testing.assert_array_equal(rows.read(order), whole[order])
    np.testing.assert_array_equal(SteppedRows(Rows(x[20:]), steps, 20).read(slice(0, 30)), whole[20:])
    scales = np.array([2.0, 0.5, 1.0])
    np.testing.assert_allclose(SteppedRows(Rows(x), steps, scales=scales).read(order) * scales, whole[order])


def test_equal_values_make_no_clusters():
    """Two groups by size, in whole numbers, and columns of few values, whose densities must not become infinite."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=600)
    rows = np.c_[8.0 * labels[:, None] + rng.normal(size=(600, 3)).round(1), rng.integers(3, size=(600, 4))]
    found = StreamingNGGPMixture("full", random_state=0).fit(rows + 0.5)
    assert len({*zip(labels, found.labels_, strict=True)}) == found.n_clusters_ == 2


def test_streams_of_stepped_columns_do_not_depend_on_how_they_are_cut():
    rows = load_iris().data[np.random.default_rng(0).permutation(150)]
    first = StreamingNGGPMixture("full").partial_fit(rows[:80])
    twin = StreamingNGGPMixture("full").partial_fit(rows[:80]).partial_fit(rows[80:])
    for start in range(80, 150, 7):
        first.partial_fit(rows[start : min(start + 7, 150)])
    np.testing.assert_array_equal(first.means_, twin.means_)
    np.testing.assert_array_equal(first.covariances_, twin.covariances_)


@pytest.mark.parametrize("way", ["fit", "partial_fit"])
def test_more_clusters_than_allowed_are_not_begun(way):
    x, _ = make_blobs(300, n_features=3, centers=6, random_state=0)
    est = getattr(StreamingNGGPMixture("diag", max_components=3), way)(x)
    assert est.n_clusters_ <= 3


COUNTS = np.array([[2, 9, 30], [9, 40, 5], [30, 2, 90]])
REPEATED = {
    "twice": lambda x, y, rng: (np.tile(x, (2, 1)), np.tile(y, 2), None),  # noqa: ARG005
    "bootstrap": lambda x, y, rng: (lambda i: (x[i], y[i], None))(rng.integers(len(x), size=1500)),
    "one group often": lambda x, y, rng: (lambda i: (x[i], y[i], None))(np.repeat(np.arange(len(x)), 1 + 9 * (y == 0))),  # noqa: ARG005
    "weights": lambda x, y, rng: (x, y, rng.integers(1, 11, len(x))),
    "one large weight": lambda x, y, rng: (x, y, np.full(len(x), 100.0)),  # noqa: ARG005
    "log of counts": lambda x, y, rng: (np.log1p(rng.poisson(COUNTS[y % 3])), y % 3, None),  # noqa: ARG005
}  # fmt: skip


@pytest.mark.parametrize("way", ["fit", "partial_fit"])
@pytest.mark.parametrize("likelihood", ["auto", "full", "diag"])
@pytest.mark.parametrize("name", REPEATED)
def test_rows_that_are_repeated_or_heavy_are_no_clusters(name, likelihood, way):
    x, y = make_blobs(200, 4, centers=4, cluster_std=0.5, random_state=0)
    rows, labels, weight = REPEATED[name](x, y, np.random.default_rng(0))
    order = np.random.default_rng(1).permutation(len(rows))
    est = StreamingNGGPMixture(likelihood, random_state=0)
    getattr(est, way)(rows[order], sample_weight=None if weight is None else weight[order])
    assert adjusted_rand_score(labels, est.predict(rows)) > 0.9
    assert est.n_clusters_ <= 6


def test_a_few_rows_may_be_two_groups():
    rows = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [9.0, 9.0], [9.1, 9.0], [9.0, 9.1]])
    assert StreamingNGGPMixture("diag", random_state=0).fit(rows).n_clusters_ == 2


def test_many_correlated_columns_give_a_warning():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 3)) @ rng.normal(size=(3, 101)) + 0.5 * rng.normal(size=(1000, 101))
    with pytest.warns(UserWarning, match=r"'diag' for more than 100 columns.*correlated.*PCA"):
        StreamingNGGPMixture(max_iter=1, random_state=0).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        StreamingNGGPMixture(max_iter=1, random_state=0).fit(rng.normal(size=(1000, 101)))
        StreamingNGGPMixture("diag", max_iter=1, random_state=0).fit(rows)


def test_one_column_of_many_correlated_ones_separates_groups():
    rng = np.random.default_rng(0)
    rows = 0.7 * rng.normal(size=(800, 1)) + rng.normal(size=(800, 60))
    rows[:, 0] += 10.0 * (np.arange(800) % 2)
    assert StreamingNGGPMixture(random_state=0).fit(rows).n_clusters_ == 2


ROUNDED = {
    "one column": lambda y, rng: np.round(rng.normal(0.0, 2.0, (len(y), 1)) + 10.0 * y[:, None]),
    "counts": lambda y, rng: rng.poisson(np.where(y, 5, 30))[:, None].astype(float),
    "answers": lambda y, rng: np.clip(np.round(rng.normal(0.0, 0.6, (len(y), 2)) + 2.0 + 2.2 * y[:, None]), 1, 5),
    "two values": lambda y, rng: 20.0 * y[:, None],  # noqa: ARG005
}


@pytest.mark.parametrize("way", ["fit", "partial_fit"])
@pytest.mark.parametrize("likelihood", ["auto", "full", "diag"])
@pytest.mark.parametrize("name", ROUNDED)
def test_how_often_rounded_rows_occur_counts(name, likelihood, way):
    """Nearly all values occur between the groups, some of them seldom."""
    labels = np.random.default_rng(1).permutation(np.arange(500) % 2)
    rows = ROUNDED[name](labels, np.random.default_rng(0))
    est = getattr(StreamingNGGPMixture(likelihood, random_state=0), way)(rows)
    assert adjusted_rand_score(labels, est.predict(rows)) > 0.9
    assert est.n_clusters_ <= 3


def test_grids_are_distinguished_from_copies():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2))
    assert on_grid(np.tile(x.round(1)[:20], (5, 1)))
    assert not on_grid(np.tile(x, (5, 1)))
    assert not on_grid(np.column_stack([x[:, 0].round(), x[:, 1]]))
    assert not on_grid(np.log1p(rng.poisson(5.0, (100, 1))))
