"""Streams whose groups change place: a span of rows is judged together, and the prior of means follows the clusters."""

import pickle

import numpy as np
import pytest
from cluster_cases import assert_same_bits, stream
from sklearn.metrics import adjusted_rand_score

from sparsemix import StreamingNGGPMixture
from sparsemix._models.clusters.gaussian_slots import GaussianSlots
from sparsemix._models.clusters.model import RowResponsibilities, StreamingModel
from sparsemix._models.clusters.state import ClusterState
from sparsemix._stats.families import GAUSSIANS
from sparsemix._stats.nggp import NGGP
from sparsemix.clusters import _spans, _stream


def moving(shift, n_features=2, size=1000, n_blocks=10, seed=1):
    """Blocks of five new groups each, whose place moves by ``shift`` a block."""
    rng = np.random.default_rng(seed)
    for number in range(n_blocks):
        centres = rng.uniform(-5.0, 5.0, (5, n_features)) + shift * number
        labels = rng.integers(0, 5, size)
        yield centres[labels] + 0.2 * rng.standard_normal((size, n_features)), labels


def one_stream(**sizes):
    rows, labels = zip(*moving(**sizes), strict=True)
    return np.concatenate(rows), np.concatenate(labels)


@pytest.mark.parametrize(("shift", "half_life"), [(3.0, None), (3.0, 500.0), (10.0, None)])
def test_every_block_of_a_moving_stream_is_found(shift, half_life):
    model, found = StreamingNGGPMixture(half_life=half_life), []
    for rows, labels in moving(shift):
        found.append(adjusted_rand_score(labels, model.partial_fit(rows).predict(rows)))
    assert min(found) > 0.75
    assert np.mean(found) > 0.9
    assert half_life is None or model.n_clusters_ < 30  # old ones fade


@pytest.mark.parametrize("likelihood", ["full", "diag", "spherical"])
@pytest.mark.parametrize("jump", [30.0, 1000.0])
@pytest.mark.parametrize("n_old", [1, 3])
def test_groups_are_found_after_a_jump_of_any_length(likelihood, jump, n_old):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 5000)
    labels[:2500] %= n_old
    rows = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])[labels] + rng.standard_normal((5000, 2))
    rows[2500:] += jump
    model = stream(StreamingNGGPMixture(likelihood), rows, 500)
    assert model.n_clusters_ == 3 + n_old
    assert adjusted_rand_score(labels[2500:], model.predict(rows[2500:])) > 0.99


@pytest.mark.parametrize("half_life", [20.0, 150.0, 5000.0])
@pytest.mark.parametrize("merge_every", [100, 1000])
def test_a_row_counts_half_after_the_half_life(half_life, merge_every):
    """Also where it is far below ``merge_every``: sums then shrink four times in it."""
    rng = np.random.default_rng(0)
    rows = 8.0 * rng.integers(0, 3, (4000, 2)) + rng.standard_normal((4000, 2))
    model, masses = StreamingNGGPMixture("diag", half_life=half_life, merge_every=merge_every), []
    for start in range(0, 4000, 50):
        masses.append(model.partial_fit(rows[start : start + 50]).counts_.sum())
    kept = 0.5 ** (np.arange(4000) / half_life)
    assert np.mean(masses[-20:]) == pytest.approx(kept.sum(), rel=0.15)
    assert model.n_clusters_ >= 5


@pytest.mark.parametrize("likelihood", ["full", "diag", "spherical"])
@pytest.mark.parametrize(
    "params", [{}, {"half_life": 700.0, "merge_every": 300}, {"merge_criterion": "responsibility"}]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_spans_do_not_depend_on_calls(likelihood, params, weighted):
    rows, _ = one_stream(shift=3.0, size=300, n_blocks=8)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(rows)) if weighted else None
    ends = []
    for first, size in ((1, 2400), (5, 97), (300, 128)):
        est = StreamingNGGPMixture(likelihood, **params)
        est.partial_fit(rows[:first], sample_weight=None if weight is None else weight[:first])
        est = pickle.loads(pickle.dumps(est))  # in the middle of a span
        ends.append(stream(est, rows[first:], size, None if weight is None else weight[first:]))
    assert_same_bits(*ends[:2], rows)
    assert_same_bits(*ends[1:], rows)


def test_a_failed_judgement_changes_nothing_and_stays_due(monkeypatch):
    rows, _ = one_stream(shift=3.0, n_blocks=2)
    whole, failed = stream(StreamingNGGPMixture(), rows, 400), []

    def fail(*arguments):
        failed.append(arguments)
        raise MemoryError

    est = stream(StreamingNGGPMixture(), rows[:1000], 400)
    with monkeypatch.context() as patch:
        patch.setattr(_spans, "searched", fail)
        with pytest.raises(MemoryError):
            est.partial_fit(rows[1000:])
    assert len(failed) == 1
    assert est.n_samples_seen_ == 1125
    assert_same_bits(whole, stream(est, rows[1125:], 400), rows)


def test_groups_that_stay_need_no_search(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, 5000)
    rows = rng.uniform(-9.0, 9.0, (6, 3))[labels] + rng.standard_normal((5000, 3)) * 0.5
    est = stream(StreamingNGGPMixture("full"), rows[:1000], 500)
    searches = []
    monkeypatch.setattr(_spans, "searched", lambda *a: searches.append(a) or pytest.fail("searched"))
    stream(est, rows[1000:], 500)
    assert not searches


@pytest.mark.parametrize("likelihood", ["full", "diag"])
@pytest.mark.parametrize("most", [1, 7])
def test_clusters_stay_within_the_allowed_number_and_hold_all_rows(likelihood, most):
    """With one cluster each search finds more than are allowed, and rows far apart leave no covariance."""
    rows, _ = one_stream(shift=3.0 if most > 1 else 500.0, n_blocks=4)
    model = StreamingNGGPMixture(likelihood, max_components=most)
    for start in range(0, len(rows), 200):
        assert model.partial_fit(rows[start : start + 200]).n_clusters_ <= most
        assert model.n_samples_seen_ == start + 200
        assert model.counts_.sum() == pytest.approx(start + 200)


def test_a_given_place_of_the_prior_stays():
    rows, _ = one_stream(shift=10.0, n_blocks=4)
    model = stream(StreamingNGGPMixture("diag", mean_prior=[1.0, 2.0]), rows, 500)
    sums = model._fitted.state.sums
    np.testing.assert_array_equal(sums.prior.mean[0] + sums.shift, [1.0, 2.0])
    followed = stream(StreamingNGGPMixture("diag"), rows, 500)._fitted.state.sums
    assert np.linalg.norm(followed.prior.mean[0] + followed.shift - rows.mean(axis=0)) < 10.0


# -- parts


def slots(likelihood, d):
    family = GAUSSIANS[likelihood](d)
    covariance = {"full": np.eye(d), "diag": np.ones(d), "spherical": np.float64(1.0)}[likelihood]
    kappa = np.full(d, 0.01) if likelihood == "diag" else 0.01
    return GaussianSlots(family, family.prior(None, kappa, np.ones(d), d + 4.0, (d + 2.0) * covariance))


@pytest.mark.parametrize("likelihood", ["full", "diag", "spherical"])
@pytest.mark.parametrize("place", [0.0, 1e6])
def test_a_cut_is_the_most_probable_one(likelihood, place):
    """Among the cuts of a small tree, all of which are tried; the place of rows and prior does not matter."""
    rng = np.random.default_rng(0)
    x = 6.0 * rng.integers(0, 3, (12, 1)) + rng.standard_normal((12, 2))
    sums, prior = slots(likelihood, 2), NGGP(0.5, 0.0, 1.0)
    log_u = prior.log_mode(12.0, 1.0)
    at_origin = _spans.labels(sums, x, lambda counts: prior.log_kappa(counts, log_u))

    def value(labels):
        own = slots(likelihood, 2)
        own.reserve(labels.max() + 1)
        state = ClusterState(own)
        state.reserve(labels.max() + 1)
        for number in range(labels.max() + 1):
            part = x[labels == number]
            stats = own.family.empty_stats(1, None)
            stats["count"], stats["mass"], stats["first"] = [len(part)], len(part), part.sum(axis=0)[None]
            stats["second"] = own.family.shape.squares(part).sum(axis=0)[None]
            state.sums.set_stats([number], stats)
            state.counts[number] = len(part)
        state.n_slots = labels.max() + 1
        return StreamingModel(prior, 0.5).joint(state, 12.0)

    best = value(at_origin)
    rivals = [np.zeros(12, dtype=int), np.arange(12), np.unique(x[:, 0] > 3.0, return_inverse=True)[1]]
    for merged in range(1, at_origin.max() + 1):
        rivals.append(np.unique(np.where(at_origin == merged, 0, at_origin), return_inverse=True)[1])
    assert best >= max(value(labels) for labels in rivals) - 1e-9
    sums = slots(likelihood, 2)
    sums._begin_from(_spans.replace(sums.prior, mean=sums.prior.mean + place))
    moved = _spans.labels(sums, x + place, lambda counts: prior.log_kappa(counts, log_u))
    np.testing.assert_array_equal(moved, at_origin)


def test_the_prior_follows_only_to_more_probable_clusters():
    rows, _ = one_stream(shift=3.0, n_blocks=3)
    model = stream(StreamingNGGPMixture("full"), rows, 500)
    state, guide = model._fitted.state.copy(), model._fitted.state.guide
    live = state.live(0.0)
    far = state.sums.copy()
    far.change_prior(_stream.replace(far.prior, mean=far.prior.mean - 1e3))
    state.sums, guide.mean = far, far.prior.mean[0].copy()
    before = far.evidence(live).sum()
    guide.follow(state, 0.0)
    after = state.sums.evidence(live).sum()
    assert after > before + 2.0 * np.log(len(live))
    assert np.abs(state.sums.prior.mean[0]).max() < 30.0
    guide.follow(state, 0.0)
    guide.follow(state, 0.0)
    assert state.sums.evidence(live).sum() >= after
    np.testing.assert_allclose(state.sums.stats(live)["first"], far.stats(live)["first"], rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_entropy_of_a_span_is_that_of_its_rows(weighted):
    weight = np.array([1.0, 2.0, 0.5]) if weighted else None
    part = RowResponsibilities(3)
    part.lengths[:], part.starts[:], part.n_used = [2, 1, 3], [0, 2, 3], 6
    part.values[:6] = q = np.array([0.25, 0.75, 1.0, 0.5, 0.25, 0.25])
    span = _spans.Span.since(ClusterState(slots("diag", 2))).add(np.zeros((3, 2)), weight, part)
    row = np.repeat(np.ones(3) if weight is None else weight, [2, 1, 3])
    assert span.entropy == pytest.approx(-(row * q * np.log(q)).sum(), rel=1e-12)


@pytest.mark.parametrize("likelihood", ["full", "diag"])
def test_the_prior_has_the_place_and_width_of_the_means(likelihood):
    """Kappa_0 is the expected variance within over that between clusters, for "diag" in each column."""
    d, n = 3, 400
    width = np.array([16.0, 32.0, 64.0]) if likelihood == "diag" else np.full(3, 16.0)
    means = 50.0 + width * np.random.default_rng(0).standard_normal((n, d))
    sums = slots(likelihood, d)
    state = ClusterState(sums)
    state.reserve(n)
    stats = sums.family.empty_stats(n, None)
    stats["count"], stats["mass"], stats["first"] = np.full(n, 50.0), 50.0 * n, 50.0 * means
    stats["second"] = 50.0 * (sums.family.shape.squares(means) + sums.family.shape.squares(np.eye(d)).sum(axis=0))
    sums.set_stats(np.arange(n), stats)
    state.used(n)
    state.counts[:n] = 50.0
    guide = _stream.Guide(StreamingNGGPMixture(), sums)
    guide.follow(state, 0.0)
    prior = state.sums.prior
    np.testing.assert_allclose(guide.mean, 50.0, atol=0.2 * width.max())
    np.testing.assert_array_equal(prior.mean[0], guide.mean)
    expected = guide.variances / width**2
    np.testing.assert_allclose(prior.mean_precision[0], expected if likelihood == "diag" else expected[0], rtol=0.3)
