"""Gaussian clusters that change row by row: scores and moves against posteriors computed again from statistics."""

import pickle

import joblib
import numpy as np
import pytest
import reference
from scipy.integrate import quad
from scipy.stats import multivariate_t, norm, t
from sparsemix._kernels.clusters._gaussian_clusters import MEAN, GaussianClusters

from sparsemix._models.clusters.gaussian_slots import GaussianSlots
from sparsemix._stats import symmetric
from sparsemix._stats.families import GAUSSIANS, Gaussians, bhattacharyya, cholesky
from sparsemix._stats.families._overlap import marginal_bounds

STRUCTURES = ["full", "zero_mean", "diag", "spherical"]
WITH_MEANS = ["full", "diag", "spherical"]
SIZES = [1, 2, 3, 4, 5, 8, 13, 20]


def spread_matrix(rng, d):
    a = rng.normal(size=(d, d))
    return a @ a.T + np.eye(d)


class Case:
    """Slots of a family, rows, and masses of the rows in each slot."""

    def __init__(self, structure, d=3, n_rows=40, n_slots=5, seed=0, kappa=0.7, shift=None):
        rng = self.rng = np.random.default_rng(seed)
        self.structure, self.d, self.n_slots = structure, d, n_slots
        scale = spread_matrix(rng, d)
        scale = {"diag": np.diag(scale).copy(), "spherical": scale[0, 0]}.get(structure, scale)
        self.family = GAUSSIANS[structure](d)
        self.prior = self.family.prior(
            None, mean_precision=kappa, mean=rng.normal(size=d), dof=d + 1.5, covariance=scale
        )
        self.x = rng.normal(size=(n_rows, d)) @ np.linalg.cholesky(spread_matrix(rng, d)).T + rng.normal(size=d)
        self.masses = rng.uniform(size=(n_rows, n_slots)) * (rng.uniform(size=(n_rows, n_slots)) < 0.5)
        self.masses[:2] = 1.0
        self.slots = GaussianSlots(self.family, self.prior, n_slots + 2, shift)

    def kernel(self, x=None, n_slots=None):
        x = np.ascontiguousarray(self.x if x is None else x, dtype=np.float64)
        return self.slots.kernel(x, self.n_slots if n_slots is None else n_slots)

    def feed(self, masses=None):
        """All rows, one after the other; some are moved forth, back by a part, and forth again."""
        kernel = self.kernel()
        for (row, slot), mass in np.ndenumerate(self.masses if masses is None else masses):
            if mass:
                kernel.move_one(row, slot, 1.5 * mass)
                kernel.move_one(row, slot, -0.5 * mass)
        return kernel

    def stats(self, masses=None, x=None):
        masses = self.masses if masses is None else masses
        sums = reference.statistics(self.structure, self.x if x is None else x, masses)
        return reference.fill(self.family.empty_stats(masses.shape[1]), sums)

    def posterior(self, masses=None):
        return self.family.posterior(self.prior, self.stats(masses))


@pytest.fixture(params=STRUCTURES)
def structure(request):
    return request.param


# -- the slots' own arithmetic, matrix by matrix


def twin_posterior(case, masses):
    """kappa, nu, m and B (or b) of one cluster, from sums over rows about the origin."""
    d, prior = case.d, case.prior
    count, first = masses.sum(), masses @ case.x
    outer = (masses[:, None] * case.x).T @ case.x
    if case.structure == "zero_mean":
        return np.inf, prior.dof[0] + count, np.zeros(d), symmetric.unpack(prior.scale[0]) + outer
    kappa0, m0 = prior.mean_precision[0], prior.mean[0]
    kappa = kappa0 + count
    m = (kappa0 * m0 + first) / kappa
    scatter = outer + kappa0 * np.outer(m0, m0) - kappa * np.outer(m, m)
    if case.structure == "full":
        return kappa, prior.dof[0] + count, m, symmetric.unpack(prior.scale[0]) + scatter
    if case.structure == "diag":
        return kappa, prior.dof[0] + count, m, prior.scale[0] + np.diag(scatter)
    return kappa, prior.dof[0] + d * count, m, prior.scale[0, 0] + np.trace(scatter)


def twin_score(case, masses, row):
    """The log density of a Student-t (METHODS of each structure), taken from scipy."""
    kappa, nu, m, scale = twin_posterior(case, masses)
    spread = 1.0 + 1.0 / kappa
    if case.structure == "diag":
        return t(nu, m, np.sqrt(scale * spread / nu)).logpdf(row).sum()
    if case.structure == "spherical":
        return multivariate_t(m, scale * spread / nu * np.eye(case.d), nu).logpdf(row)
    dof = nu - case.d + 1
    return multivariate_t(m, scale * spread / dof, dof).logpdf(row)


@pytest.mark.parametrize("d", SIZES)
def test_scores_equal_a_slow_twin(structure, d, instruction_set):  # noqa: ARG001
    case = Case(structure, d)
    scores, new = case.feed().scores(0, 6)
    for n, row in enumerate(case.x[:6]):
        np.testing.assert_allclose(new[n], twin_score(case, np.zeros(len(case.x)), row), rtol=1e-10)
        for k in range(case.n_slots):
            np.testing.assert_allclose(scores[n, k], twin_score(case, case.masses[:, k], row), rtol=1e-10)


@pytest.mark.parametrize("d", [31, 32, 37, 64])
@pytest.mark.parametrize("structure", ["full", "zero_mean"])
def test_clusters_without_a_share_are_skipped_exactly(structure, d, instruction_set):  # noqa: ARG001
    n = 12
    case = Case(structure, d, n_rows=8 * n, n_slots=n)
    clusters = np.arange(8 * n) % n
    case.x = case.x * 3.0 ** (clusters[:, None] % 4) + 9.0 * case.rng.normal(size=(n, d))[clusters]
    kernel = case.feed(np.eye(n)[clusters])
    log_prior = np.log(case.rng.uniform(size=n))
    log_prior[3] = -np.inf
    scores = kernel.scores(0, 2 * n)[0]
    weights = log_prior + scores
    n_kept = []
    for row, own in enumerate(weights):
        for known in (-np.inf, own.max() + 20.0):
            found = kernel.likely_scores(row, log_prior, known)
            kept, needed = found > -np.inf, own >= max(own.max(), known) - 30.0 - np.log(n)
            np.testing.assert_array_equal(found[kept], scores[row, kept])
            assert kept[needed].all()
            if known > own.max() and d >= 32:
                np.testing.assert_array_equal(kept, needed)
            n_kept.append(kept.sum())
    assert np.mean(n_kept) == n if d < 32 else 0 < np.mean(n_kept) < 0.7 * n


def test_without_weights_all_clusters_are_scored():
    case = Case("full", 40)
    kernel = case.feed()
    found = kernel.likely_scores(0, np.full(case.n_slots, -np.inf), -np.inf)
    np.testing.assert_array_equal(found, kernel.scores(0, 1)[0][0])


@pytest.mark.parametrize("d", [1, 3, 20, 33])
def test_scores_equal_the_family_s_predictions(structure, d):
    case = Case(structure, d, n_rows=60)
    scores, new = case.feed().scores(0, 60)
    expected = case.family.log_predictive(case.posterior(), case.x)
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(new, case.family.log_predictive(case.prior, case.x)[:, 0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 7, 20])
@pytest.mark.parametrize("mass", [1e-6, 0.3, 1.0, 2.5])
def test_score_without_a_row_is_that_of_the_other_rows(structure, d, mass, instruction_set):  # noqa: ARG001
    """Also for masses above one: rows may have weights."""
    case = Case(structure, d)
    case.masses[3] = mass
    kernel = case.feed()
    without = case.masses.copy()
    without[3] = 0.0
    expected = case.family.log_predictive(case.posterior(without), case.x[3:4])[0]
    before = case.slots.table.copy()
    found = [kernel.score_one_without(3, k, mass) for k in range(case.n_slots)]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(case.slots.table, before)


def test_score_without_part_of_a_row(structure):
    case = Case(structure)
    kernel, rest = case.feed(), case.masses.copy()
    rest[0] = 0.75
    expected = case.family.log_predictive(case.posterior(rest), case.x[:1])[0]
    found = [kernel.score_one_without(0, k, 0.25) for k in range(case.n_slots)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    untouched = [kernel.score_one_without(0, k, 0.0) for k in range(case.n_slots)]
    np.testing.assert_allclose(untouched, kernel.scores(0, 1)[0][0], rtol=1e-12)


@pytest.mark.parametrize("kappa", [1e-4, 0.7, 50.0])
@pytest.mark.parametrize("apart", [1.0, 100.0])
def test_score_without_one_of_two_rows(structure, kappa, apart):
    """With one other row and a weak prior, most of B is what the row itself has added."""
    case = Case(structure, n_rows=2, n_slots=1, kappa=kappa)
    case.x[1] = case.x[0] + apart
    kernel = case.feed()
    expected = case.family.log_predictive(case.posterior(np.array([[1.0], [0.0]])), case.x[1:])[0, 0]
    np.testing.assert_allclose(kernel.score_one_without(1, 0, 1.0), expected, rtol=1e-8)


def test_a_row_alone_in_its_slot_leaves_the_prior(structure):
    case = Case(structure)
    kernel = case.kernel()
    kernel.move_one(0, 1, 0.3)
    kernel.move_one(0, 1, 0.7)
    _, new = kernel.scores(0, 1)
    assert kernel.score_one_without(0, 1, 1.0) == new[0]
    kernel.move_one(0, 1, -0.4)
    kernel.move_one(0, 1, -0.6)
    np.testing.assert_array_equal(case.slots.table[1], case.slots.prior_slot)


@pytest.mark.parametrize("d", SIZES)
def test_moves_forth_and_back_restore_a_slot(structure, d, instruction_set):  # noqa: ARG001
    case = Case(structure, d, n_slots=1)
    kernel = case.feed()
    before = case.slots.table.copy()
    far = case.kernel(10.0 * case.x)
    for change in (1.0, 0.25, 3.0, 1e-6):
        for row in range(10):
            far.move_one(row, 0, change)
        for row in (3, 1, 0, 2, 9, 8, 4, 5, 7, 6):
            far.move_one(row, 0, -change)
    np.testing.assert_allclose(case.slots.table, before, rtol=1e-10, atol=1e-10)
    assert kernel.n_clipped == far.n_clipped == 0


def test_what_is_cached_follows_from_the_rest(structure):
    case = Case(structure, 7)
    kernel, before = case.feed(), case.slots.table.copy()
    kernel.refresh(np.arange(case.n_slots))
    np.testing.assert_array_equal(case.slots.table, before)


# -- many rows, far rows, rows that were never there


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 16])
def test_many_moves_keep_the_posterior(structure, d):
    """A hundred thousand moves of a sampler: rows leave and come back; the statistics stay those of the rows."""
    case = Case(structure, d, n_rows=200, n_slots=2)
    kernel, rng = case.kernel(), case.rng
    labels = rng.integers(2, size=200)
    for row, label in enumerate(labels):
        kernel.move_one(row, label, 1.0)
    for row in rng.integers(200, size=50_000):
        kernel.move_one(row, labels[row], -1.0)
        labels[row] = rng.integers(2)
        kernel.move_one(row, labels[row], 1.0)
    post, exact = case.slots.posterior([0, 1]), case.posterior(np.eye(2)[labels])
    np.testing.assert_allclose(post.mean, exact.mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(post.scale, exact.scale, rtol=1e-8, atol=1e-8 * abs(exact.scale).max())
    np.testing.assert_allclose(kernel.scores(0, 200)[0], case.family.log_predictive(exact, case.x), rtol=1e-8)
    assert kernel.n_clipped == 0


@pytest.mark.parametrize("structure", WITH_MEANS)
@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_rows_far_from_the_origin_lose_no_digits(structure, offset):
    """Scores do not depend on where the origin is; sums about it would have lost ten digits."""
    near, far = Case(structure), Case(structure)
    near.x = np.round(near.x * 2**10) / 2**10  # sums with the offset are exact
    far.x = near.x + offset
    mean = np.round(near.prior.mean * 2**10) / 2**10
    for case, at in ((near, 0.0), (far, offset)):
        arguments = {"mean_precision": 0.7, "dof": 5.5, "mean": (mean + at)[0]}
        covariance = {"diag": [1.0, 2.0, 0.5], "spherical": 1.5}.get(structure, np.diag([1.0, 2.0, 0.5]))
        case.slots = GaussianSlots(case.family, case.family.prior(None, covariance=covariance, **arguments), 7)
    np.testing.assert_allclose(far.feed().scores(0, 40)[0], near.feed().scores(0, 40)[0], rtol=1e-16 * offset * 100)


def test_predictions_after_very_many_rows(structure):
    """The limit is a normal density; the terms of the constant are of the order of n log n."""
    case = Case(structure, n_slots=1)
    gaussians = case.family.maximum_likelihood(case.stats(np.ones((40, 1))), 0.0)
    case.slots.set_stats([0], case.family.stats_of(gaussians, np.array([1e9])))
    covariance = reference.dense_covariances(
        structure, case.family.unpack_covariances(gaussians.covariances), 1, case.d
    )
    expected = reference.log_densities(case.x, gaussians.means, covariance)
    np.testing.assert_allclose(case.kernel().scores(0, 40)[0], expected, rtol=1e-6)


def test_ratios_near_one_lose_nothing(structure):
    """A growth of the order of 1 / n is multiplied by n: differences of scores, since constants cancel in them."""
    case = Case(structure, d=130, n_rows=200, n_slots=1)
    gaussians = case.family.maximum_likelihood(case.stats(np.ones((200, 1))), 0.1)
    stats = case.family.stats_of(gaussians, np.array([1e10]))
    case.slots.set_stats([0], stats)
    scores = case.kernel().scores(0, 200)[0]
    expected = case.family.log_predictive(case.family.posterior(case.prior, stats), case.x)
    np.testing.assert_allclose(scores - scores[0], expected - expected[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("far", [1e4, 1e5, 1e6, 1e7, 1e9])
@pytest.mark.parametrize("seed", range(3))
def test_an_outlier_that_leaves_takes_its_spread_with_it(structure, far, seed):
    """What remains is round-off of the outlier's spread; what falls below zero is clipped and counted."""
    case = Case(structure, d=20, n_slots=1, seed=seed)
    case.feed()
    before = case.slots.posterior([0]).scale[0]
    kernel = case.kernel(far * case.x)
    kernel.move_one(0, 0, 1.0)
    kernel.move_one(0, 0, -1.0)
    after = case.slots.posterior([0]).scale[0]
    assert kernel.n_clipped == (far >= 1e7) or far == 1e6
    assert abs(after - before).max() <= (1e-10 if kernel.n_clipped else 1e-14) * far**2 * before.max()
    assert np.isfinite(kernel.scores(0, 40)[0]).all()


@pytest.mark.parametrize("d", [3, 70, 300])
@pytest.mark.parametrize("far", [1e3, 1e30])
def test_a_row_far_out_in_every_dimension(structure, d, far, instruction_set):  # noqa: ARG001
    """Products of many large ratios are beyond the range of a double, their logarithms are not."""
    case = Case(structure, d, n_rows=3, n_slots=1)
    case.x[2] = far
    case.masses[2] = 0.0
    expected = case.family.log_predictive(case.posterior(), case.x)
    kernel = case.feed()
    np.testing.assert_allclose(kernel.scores(0, 3)[0], expected, rtol=1e-9)
    kernel.move_one(2, 0, 1.0)
    if far < 1e6:  # beyond it, its round-off hides the remaining rows
        np.testing.assert_allclose(kernel.score_one_without(2, 0, 1.0), expected[2, 0], rtol=1e-6)
    assert np.isfinite(kernel.score_one_without(2, 0, 1.0))
    assert np.isfinite(kernel.score_one_without(2, 0, 0.5))


@pytest.mark.parametrize("d", [1, 2, 6, 20])
def test_taking_away_what_was_never_there_is_noticed(structure, d, instruction_set):  # noqa: ARG001
    case = Case(structure, d)
    case.feed()
    before = case.slots.copy()
    kernel = case.kernel(1e4 * case.x)
    for slot in range(case.n_slots):
        kernel.move_one(slot, slot, -0.5)
    assert kernel.n_clipped == case.n_slots
    scores, _ = case.kernel().scores(0, 5)
    assert np.isfinite(scores).all()
    after, slots = case.slots.posterior(np.arange(5)), before.posterior(np.arange(5))
    assert (abs(after.scale) <= 1.001 * abs(slots.scale).max(axis=1, keepdims=True)).all()
    case.slots.set_stats(np.arange(5), before.stats(np.arange(5)))  # a recount mends it
    np.testing.assert_allclose(case.slots.table, before.table, rtol=1e-10, atol=1e-10)


def dense(case):
    return reference.dense_covariances(
        case.structure, case.slots.covariances(np.arange(case.n_slots)), case.n_slots, case.d
    )


# -- what the densities are


def test_predictions_in_sequence_add_up_to_the_evidence(structure):
    case = Case(structure, n_slots=1)
    kernel, total = case.kernel(), 0.0
    for row in range(len(case.x)):
        total += kernel.scores(row, row + 1)[0][0, 0]
        kernel.move_one(row, 0, 1.0)
    base = -0.5 * case.x.size * np.log(2.0 * np.pi)
    np.testing.assert_allclose(case.slots.evidence([0])[0] + base, total, rtol=1e-9)
    stats = case.stats(np.ones((40, 1)))
    exact = case.family.evidence(case.prior, case.family.posterior(case.prior, stats), stats)
    np.testing.assert_allclose(total, exact, rtol=1e-9)


def test_densities_integrate_to_one(structure):
    case = Case(structure, d=1)
    case.feed()
    for k in range(2):

        def density(value, k=k):
            return np.exp(case.kernel([[value]]).scores(0, 1)[0][0, k])

        def density_without(value):
            x = np.array([[value]])
            case.kernel(x).move_one(0, 0, 0.8)
            score = case.kernel(x).score_one_without(0, 0, 0.8)
            case.kernel(x).move_one(0, 0, -0.8)
            return np.exp(score)

        np.testing.assert_allclose(quad(density, -np.inf, np.inf, epsabs=1e-10)[0], 1.0, rtol=1e-8)
    np.testing.assert_allclose(quad(density_without, -np.inf, np.inf, epsabs=1e-10)[0], 1.0, rtol=1e-8)


def test_structures_agree_in_one_dimension():
    found = {}
    for name in WITH_MEANS:
        case = Case(name, d=1)
        one = {"full": np.eye(1), "diag": np.ones(1), "spherical": 1.0}[name]
        case.prior = case.family.prior(None, mean_precision=0.7, mean=np.zeros(1), dof=2.5, covariance=one)
        case.slots = GaussianSlots(case.family, case.prior, 7)
        kernel = case.feed()
        without = [kernel.score_one_without(0, k, 1.0) for k in range(5)]
        found[name] = [*kernel.scores(0, 40), without, case.slots.evidence(range(5)), case.slots.similarity(range(5))]
    for name in ("diag", "spherical"):
        for mine, full in zip(found[name], found["full"], strict=True):
            np.testing.assert_allclose(mine, full, rtol=1e-10)


@pytest.mark.parametrize("d", [2, 9, 20])
def test_columns_may_have_own_mean_precisions(d, instruction_set):  # noqa: ARG001
    """Then a diagonal cluster is the product of clusters of one column each."""
    rng = np.random.default_rng(d)
    kappas, variances, mean = np.geomspace(1e-3, 50.0, d), rng.uniform(0.5, 2.0, d), rng.normal(size=d)
    x, masses = rng.normal(size=(30, d)), rng.uniform(0.1, 1.0, size=30)

    def slots_of(columns):
        family = GAUSSIANS["diag"](len(columns))
        kappa = kappas[columns] if len(columns) > 1 else kappas[columns[0]]
        prior = family.prior(None, kappa, mean[columns], 4.0, variances[columns])
        slots, rows = GaussianSlots(family, prior, 3), np.ascontiguousarray(x[:, columns])
        kernel = slots.kernel(rows, 2)
        for row, mass in enumerate(masses):
            kernel.move_one(row, row % 2, 1.5 * mass)
            kernel.move_one(row, row % 2, -0.5 * mass)
        return slots, kernel

    whole, kernel = slots_of(np.arange(d))
    alone = [slots_of(np.array([j])) for j in range(d)]
    for row in range(4):
        without = sum(one.score_one_without(row, row % 2, masses[row]) for _, one in alone)
        assert kernel.score_one_without(row, row % 2, masses[row]) == pytest.approx(without, rel=1e-9)
    for of_whole, *parts in zip(kernel.scores(0, 30), *(one.scores(0, 30) for _, one in alone), strict=True):
        np.testing.assert_allclose(of_whole, sum(parts), rtol=1e-9)
    np.testing.assert_allclose(whole.evidence([0, 1]), sum(slots.evidence([0, 1]) for slots, _ in alone), rtol=1e-9)
    np.testing.assert_allclose(
        whole.union_gains(0, [1]), sum(slots.union_gains(0, [1]) for slots, _ in alone), rtol=1e-8, atol=1e-8
    )
    predicted = whole.family.log_predictive(whole.posterior([0, 1]), x)
    np.testing.assert_allclose(kernel.scores(0, 30)[0][:, :2], predicted, rtol=1e-9)
    again = GaussianSlots(whole.family, whole.prior, 3)
    again.set_stats([0, 1], whole.stats([0, 1]))
    np.testing.assert_allclose(again.table, whole.table, rtol=1e-9, atol=1e-12)


def test_diagonal_scatter_makes_full_and_diag_differ_by_their_priors_alone():
    """Rows on the axes: B is diagonal, and the quadratic forms of one dimension are the same."""
    rows = np.concatenate([np.eye(3), -np.eye(3)])
    factors = {}
    for name in ("full", "diag"):
        family = GAUSSIANS[name](3)
        covariance = np.eye(3) if name == "full" else np.ones(3)
        prior = family.prior(None, mean_precision=1.0, mean=np.zeros(3), dof=5.0, covariance=covariance)
        slots = GaussianSlots(family, prior, 1)
        kernel = slots.kernel(rows, 1)
        for row in (0, 3, 1, 4, 2, 5):
            kernel.move_one(row, 0, 1.0)
        factors[name] = slots.posterior([0]).scale[0]
    full = symmetric.unpack(factors["full"])
    np.testing.assert_allclose(np.diag(full), factors["diag"], rtol=1e-12)


# -- the slots


def test_statistics_of_slots(structure):
    case = Case(structure, 4)
    case.feed()
    stats, exact = case.slots.stats(np.arange(5)), case.stats()
    for name in ("count", "second", *(["first"] if structure != "zero_mean" else [])):
        np.testing.assert_allclose(stats[name], exact[name], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(stats["mass"], case.masses.sum(), rtol=1e-12)
    np.testing.assert_allclose(case.slots.stats([6])["second"], 0.0, atol=1e-12)


def test_slots_from_statistics_are_those_fed_with_rows(structure):
    case, other = Case(structure, 4), Case(structure, 4)
    case.feed()
    other.slots.set_stats([4, 2, 0, 1, 3], other.stats().take([4, 2, 0, 1, 3]))
    np.testing.assert_allclose(other.slots.table, case.slots.table, rtol=1e-10, atol=1e-10)
    post, exact = other.slots.posterior(np.arange(5)), other.posterior()
    np.testing.assert_allclose(post.mean, exact.mean, rtol=1e-12)
    np.testing.assert_allclose(post.scale, exact.scale, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(post.dof, exact.dof, rtol=1e-14)


def test_statistics_of_another_shift_are_refused():
    case = Case("diag", shift=np.ones(3))
    with pytest.raises(ValueError, match="different shifts"):
        case.slots.set_stats([0], case.stats().take([0]))


def test_merged_slots_hold_the_rows_of_both(structure):
    case = Case(structure)
    case.feed()
    pooled = case.stats(case.masses[:, [1, 3]].sum(axis=1)[:, None])
    evidence = case.slots.merged_evidence(1, [0, 3])
    case.slots.merge(1, 3)
    exact = case.family.posterior(case.prior, pooled)
    post = case.slots.posterior([1, 3])
    np.testing.assert_allclose(post.mean[0], exact.mean[0], rtol=1e-10)
    np.testing.assert_allclose(post.scale[0], exact.scale[0], rtol=1e-10)
    np.testing.assert_array_equal(case.slots.table[3], case.slots.prior_slot)
    np.testing.assert_allclose(case.slots.evidence([1])[0], evidence[1], rtol=1e-10)
    alone = case.family.log_normalizer(exact) - case.family.log_normalizer(case.prior)
    np.testing.assert_allclose(evidence[1], alone, rtol=1e-10)


def test_faded_slots_hold_a_part_of_their_rows(structure):
    """Slots with little mass too; a slot without rows keeps the prior."""
    case = Case(structure)
    masses = case.masses * [1.0, 0.02, 0.0, 1.0, 1.0]
    assert 0.0 < masses[:, 1].sum() < 1.0
    case.feed(masses)
    case.slots.fade([0, 1, 2], 0.25)
    exact = case.family.posterior(case.prior, case.stats(masses * [0.25, 0.25, 1.0, 1.0, 1.0]))
    post = case.slots.posterior(np.arange(5))
    np.testing.assert_allclose(post.mean, exact.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(post.scale, exact.scale, rtol=1e-9, atol=1e-12)


def test_evidence_prefers_to_merge_what_belongs_together(structure):
    case = Case(structure, n_rows=60, n_slots=3)
    case.x[40:] = 8.0 * case.x[40:] + (0.0 if structure == "zero_mean" else 30.0)
    case.feed(np.eye(3)[np.repeat([0, 1, 2], 20)])
    gain = case.slots.merged_evidence(0, [1, 2]) - case.slots.evidence([1, 2]) - case.slots.evidence([0])
    assert gain[0] > 0 > gain[1]


def test_evidence_of_empty_slots_is_nothing(structure):
    case = Case(structure)
    np.testing.assert_allclose(case.slots.evidence([0, 6]), 0.0, atol=1e-12)


@pytest.mark.parametrize("d", [1, 4])
def test_similarity_is_the_bhattacharyya_coefficient(structure, d):
    case = Case(structure, d)
    case.feed()
    found = case.slots.similarity(np.arange(5))
    means, covariances = case.slots.means(np.arange(5)), dense(case)
    for k in range(5):
        for m in range(5):
            middle = 0.5 * (covariances[k] + covariances[m])
            apart = means[k] - means[m]
            distance = apart @ np.linalg.solve(middle, apart) / 8
            dets = [np.linalg.slogdet(c)[1] for c in (middle, covariances[k], covariances[m])]
            expected = np.exp(-distance - 0.5 * (dets[0] - 0.5 * (dets[1] + dets[2])))
            np.testing.assert_allclose(found[k, m], expected, rtol=1e-10)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(case.slots.similarity([3], [0, 4, 3]), found[[3]][:, [0, 4, 3]])


@pytest.mark.parametrize("least", [0.5, 0.9])
def test_small_similarities_may_be_left_out_and_no_others(structure, least):
    case = Case(structure, 6, n_slots=12)
    case.x[20:] *= 5.0
    case.masses[:20, ::2] = case.masses[20:, 1::2] = 0.0
    case.feed()
    exact = case.slots.similarity(np.arange(12))
    found = case.slots.similarity(np.arange(12), least=least)
    np.testing.assert_allclose(found[exact >= least], exact[exact >= least], rtol=1e-12)
    assert (found[exact < least] < least).all()
    if structure in ("full", "zero_mean"):
        assert (found[exact < least] == 0).any()


def test_similarity_is_an_integral():
    gaussians = Gaussians("spherical", np.array([[0.0], [1.5]]), np.array([1.0, 3.0]))
    a, b = norm(0.0, 1.0), norm(1.5, np.sqrt(3.0))
    expected, _ = quad(lambda v: np.sqrt(a.pdf(v) * b.pdf(v)), -np.inf, np.inf)
    np.testing.assert_allclose(bhattacharyya(gaussians, gaussians), [[1.0, expected], [expected, 1.0]], rtol=1e-8)


@pytest.mark.parametrize("unit", [1e-140, 1.0, 1e100])
def test_marginals_separate_gaussians_in_any_units(unit):
    """In one dimension the bound is the coefficient."""
    means, variances = np.array([[0.0], [1.5]]), np.array([1.0, 3.0])
    expected = bhattacharyya(*2 * [Gaussians("spherical", means, variances)])
    means, variances = unit * means, unit**2 * variances[:, None]
    for k in range(2):
        found = marginal_bounds(means[k], variances[k], means, variances)
        np.testing.assert_allclose(found, expected[k], rtol=1e-12)


@pytest.mark.parametrize("shift", [None, np.array([10.0, 20.0, -5.0])])
def test_published_parameters_are_the_family_s(structure, shift):
    case = Case(structure, shift=shift)
    case.feed()
    estimate = case.family.point_estimate(case.posterior())
    means = estimate.means if shift is None else estimate.means + shift
    np.testing.assert_allclose(case.slots.means(np.arange(5)), means, rtol=1e-10)
    covariances = case.family.unpack_covariances(estimate.covariances)
    np.testing.assert_allclose(case.slots.covariances(np.arange(5)), covariances, rtol=1e-10, atol=1e-12)


def test_slots_come_and_go(structure):
    case = Case(structure)
    case.feed()
    table, slots = case.slots.table.copy(), case.slots
    twin = slots.copy()
    assert not np.shares_memory(twin.table, slots.table)
    assert not np.shares_memory(twin.prior_slot, slots.prior_slot)
    slots.reserve(20)
    assert slots.capacity == 20
    np.testing.assert_array_equal(slots.table[:7], table)
    np.testing.assert_array_equal(slots.table[7:], np.tile(slots.prior_slot, (13, 1)))
    slots.reserve(5)
    assert slots.capacity == 20
    slots.take([3, 0])
    np.testing.assert_array_equal(slots.table[:2], table[[3, 0]])
    np.testing.assert_array_equal(slots.table[2:], np.tile(slots.prior_slot, (18, 1)))
    slots.clear([0])
    np.testing.assert_array_equal(slots.table[:2], [slots.prior_slot, table[0]])
    slots.clear()
    np.testing.assert_array_equal(slots.table, np.tile(slots.prior_slot, (20, 1)))
    np.testing.assert_array_equal(twin.table, table)
    again = pickle.loads(pickle.dumps(twin))
    np.testing.assert_array_equal(again.table, table)
    scores = twin.kernel(case.x, 5).scores(0, 40)
    for mine, theirs in zip(again.kernel(case.x, 5).scores(0, 40), scores, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_slots_from_a_memory_mapped_file(tmp_path):
    case = Case("full")
    case.feed()
    joblib.dump(case.slots, tmp_path / "slots")
    again = joblib.load(tmp_path / "slots", mmap_mode="r")
    again.kernel(case.x, 5).move_one(0, 0, 1.0)
    case.kernel().move_one(0, 0, 1.0)
    np.testing.assert_array_equal(again.table, case.slots.table)


def test_results_do_not_depend_on_blocks(structure):
    whole, cut = Case(structure), Case(structure)
    kernel = whole.kernel()
    for row in range(40):
        kernel.move_one(row, row % 5, 1.0)
        block = cut.x[row - row % 7 : row - row % 7 + 7].copy()
        cut.kernel(block).move_one(row % 7, row % 5, 1.0)
    np.testing.assert_array_equal(whole.slots.table, cut.slots.table)


def test_tied_gaussians_are_refused():
    family = GAUSSIANS["tied"](2)
    prior = family.prior(None, mean_precision=1.0, mean=np.zeros(2), dof=4.0, covariance=np.eye(2))
    with pytest.raises(ValueError, match="depend on each other"):
        GaussianSlots(family, prior, 3)


# -- arguments of the kernel


def test_kernel_takes_read_only_rows_and_checks_shapes():
    x, table, prior = np.zeros((4, 2)), np.zeros((3, MEAN + 4)), np.ones(MEAN + 4)
    x.flags.writeable = False
    arguments = {"structure": "diag", "mean_precision": 1.0, "dof": 3.0, "n_slots": 3}
    kernel = GaussianClusters(x, table, prior, **arguments)
    assert (kernel.n_rows, kernel.n_slots, kernel.capacity) == (4, 3, 3)
    with pytest.raises(ValueError, match="are 7 numbers"):
        GaussianClusters(x, np.zeros((3, 6)), prior, **arguments)
    with pytest.raises(ValueError, match="are 8 numbers"):
        GaussianClusters(x, table, prior, **arguments | {"structure": "full"})
    with pytest.raises(ValueError, match="n_slots must be 0 to 3"):
        GaussianClusters(x, table, prior, **arguments | {"n_slots": 4})
    with pytest.raises(ValueError, match="columns"):
        GaussianClusters(np.zeros((4, 0)), table, prior, **arguments)
    with pytest.raises(KeyError):
        GaussianClusters(x, table, prior, **arguments | {"structure": "tied"})
    with pytest.raises(ValueError, match="slots must be 0 to 2"):
        kernel.refresh(np.array([3]))
    with pytest.raises(ValueError, match="row and slot"):
        kernel.move_one(4, 0, 1.0)


def test_factors_of_matrices_that_are_not_positive_definite():
    rng = np.random.default_rng(0)
    good = symmetric.pack(np.array([spread_matrix(rng, 3), spread_matrix(rng, 3)]))
    np.testing.assert_allclose(symmetric.pack_product(cholesky(good)), good, rtol=1e-12)
    singular = symmetric.pack(np.ones((1, 3, 3)))
    with pytest.warns(RuntimeWarning, match="component 1 is not positive definite"):
        factors = cholesky(np.concatenate([good[:1], singular, good[1:]]))
    np.testing.assert_allclose(symmetric.pack_product(factors[1:2]), singular, rtol=2e-6)
    np.testing.assert_array_equal(factors[[0, 2]], cholesky(good))
    with pytest.warns(RuntimeWarning), pytest.raises(ValueError, match="component 0 is not positive definite"):
        cholesky(-good)
