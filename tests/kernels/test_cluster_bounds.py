"""Bounds from codes of clusters of documents: never below the density, close to it; what matters is weighed."""

import pickle

import numpy as np
import pytest
import reference_nggp as twin
from callers import N_CALLERS, at_once
from test_sequential_kernels import SLOTS, Sweeps, block, random_slots, random_weight

from sparsemix._kernels.clusters import _multinomial, _sequential
from sparsemix._models.clusters.multinomial_slots import MultinomialSlots

N_CLUSTERS = 200
LEFT_OUT = 30.0


def encoded(sums, prior):
    codes = np.empty(sums.shape, dtype=np.uint8)
    _multinomial.encode(sums, prior, codes)
    return codes


def long_documents(n_themes, per_theme, n_words=300, length=90, spread=0.1, seed=0):
    """Documents of as many themes, those of a theme scattered."""
    rng = np.random.default_rng(seed)
    themes = rng.dirichlet(np.full(n_words, spread), size=n_themes)
    X = np.array([rng.multinomial(length, themes[k % n_themes]) for k in range(n_themes * per_theme)])
    return X[rng.permutation(len(X))].astype(np.float64)


def random_prior(n, seed=1):
    return np.log(np.random.default_rng(seed).gamma(0.3, 100.0, size=n) + 1e-9)


# -- codes


@pytest.mark.parametrize("prior", [1e-6, 0.005, 1.0, 3.7])
def test_a_code_is_the_logarithm_rounded_up(prior):
    rng = np.random.default_rng(0)
    ratios = np.concatenate([2.0 ** rng.uniform(0, 30, 20_000), 2.0 ** np.arange(30), 1.0 + 2.0 ** -np.arange(1.0, 50)])
    sums = (prior * np.sort(ratios))[None]
    codes, exact = encoded(sums, prior)[0].astype(float), 8 * np.log2(sums[0] / prior)
    assert (codes >= exact - 1e-9).all()
    assert (codes <= exact + 1.8).all()
    assert (np.diff(codes) >= 0).all()
    assert encoded(np.array([[prior, 0.5 * prior]]), prior).tolist() == [[0, 0]]
    assert encoded(np.array([[prior * 2.0**31, prior * 1e300]]), prior).tolist() == [[248, 248]]


def test_codes_fit_the_sums():
    with pytest.raises(ValueError, match="codes must be of the shape of the sums"):
        _multinomial.encode(np.ones((2, 3)), 1.0, np.empty((3, 2), dtype=np.uint8))


def asked(slots):
    """The same slots after a document has made them compute their codes."""
    one = block(np.ones((1, slots.n_features)))
    slots.kernel(one, slots.capacity).bounds_of(0, np.zeros(slots.capacity))
    return slots


def assert_codes(slots):
    for panel in slots.panels:
        assert panel.coded[0]
        np.testing.assert_array_equal(panel.codes, encoded(panel.sums, slots.prior))


def test_codes_are_those_of_the_sums_whatever_happens_to_these():
    slots, S, X = random_slots(N_CLUSTERS, [1, 2, 9, 0.3])
    assert not any(panel.coded[0] for panel in slots.panels)
    assert_codes(asked(slots))
    kernel = slots.kernel(block(X), len(S))
    for i in range(len(X)):
        for slot, change in [(i, 1.0), (40 + i, -1.0), (80 + i, 0.37), (120 + i, -1e9)]:
            kernel.move_one(i, slot, change)
    slots.merge(3, 150)
    slots.fade(np.arange(0, N_CLUSTERS, 3), 0.3)
    slots.add_since(np.arange(5), random_slots(N_CLUSTERS, [1], seed=1)[0], slots.copy())
    slots.put(np.array([7, 9]), random_slots(N_CLUSTERS, [1], seed=2)[0], np.array([1, 100]))
    assert_codes(slots)
    for other in (slots.copy(), pickle.loads(pickle.dumps(slots))):
        assert_codes(asked(other))
    slots.take(np.arange(N_CLUSTERS), slots.capacity + SLOTS)
    assert_codes(asked(slots))
    slots.take(np.array([190, 3, 55]), SLOTS)
    assert_codes(asked(slots))
    slots.clear()
    assert_codes(slots)


def test_codes_are_made_once_for_readers_that_ask_at_once():
    slots, S, X = random_slots(N_CLUSTERS, [1, 2, 9])
    weights = random_prior(len(S))
    expected = slots.copy().kernel(block(X), len(S)).scores(0, len(X), weights)
    for _ in range(20):
        new = slots.copy()
        kernels = [new.kernel(block(X), len(S)) for _ in range(N_CALLERS)]
        for scores in at_once(*[lambda kernel=kernel: kernel.scores(0, len(X), weights) for kernel in kernels]):
            np.testing.assert_array_equal(scores[0], expected[0])
            np.testing.assert_array_equal(scores[1], expected[1])
        assert_codes(new)


def test_short_documents_make_no_codes():
    slots, S, X = random_slots(N_CLUSTERS, [1, 2])
    X[:, 20:] = 0.0
    kernel = slots.kernel(block(X), len(S))
    kernel.scores(0, len(X), np.zeros(len(S)))
    kernel.move_one(0, 5, 1.0)
    assert not any(panel.coded[0] for panel in slots.panels)


# -- bounds


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("prior", [1e-5, 0.01, 0.3, 5.0])
@pytest.mark.parametrize("counts", [[1], [1, 2, 3], [1, 5, 8, 9, 30], [1, 0.25, 2.75, 4000]])
def test_a_bound_is_at_least_the_density(prior, counts):
    slots, S, X = random_slots(N_CLUSTERS, counts, prior=prior, scale=40.0)
    X[:, 0] += np.ceil(X.sum(axis=1)) - X.sum(axis=1)  # whole documents, as bounds ask
    kernel, log_prior = slots.kernel(block(X), len(S)), random_prior(len(S))
    for i in np.flatnonzero(X.any(axis=1)):
        exact = log_prior + kernel.scores(i, i + 1)[0][0]
        slack = kernel.bounds_of(i, log_prior) - exact
        assert slack.min() >= -1e-9 * np.abs(exact).max()


@pytest.mark.usefixtures("instruction_set")
def test_bounds_are_close():
    """A tenth of a nat for each word, half as much again for each copy; the totals are those of many words."""
    slots, S, X = random_slots(N_CLUSTERS, [1, 1, 2], n_words=400, prior=0.01)
    kernel, log_prior = slots.kernel(block(X), len(S)), random_prior(len(S))
    for i in np.flatnonzero(X.any(axis=1)):
        slack = kernel.bounds_of(i, log_prior) - log_prior - kernel.scores(i, i + 1)[0][0]
        rest = X[i].sum() ** 2 / (12 * slots.totals[: len(S)])  # of the mean of a logarithm's ends, about
        assert (slack < 0.1 * np.count_nonzero(X[i]) + 0.5 * (X[i] - 1).clip(0).sum() + 2 * rest + 1).all()


def test_bounds_do_not_depend_on_panels():
    slots, S, X = random_slots(N_CLUSTERS, [1, 2, 9])
    log_prior = random_prior(len(S))
    parts = [slots.kernel(block(X), len(S)).bounds_of(i, log_prior) for i in range(3)]
    slots.take(np.arange(len(S))[::-1].copy(), slots.capacity)
    slots.take(np.arange(len(S))[::-1].copy(), slots.capacity + 4 * SLOTS)
    assert len(slots.panels) == 1
    whole = [slots.kernel(block(X), len(S)).bounds_of(i, log_prior) for i in range(3)]
    np.testing.assert_array_equal(whole, parts)


# -- what is left out


def separate_slots(prior=0.01, n_words=300, seed=0):
    """Clusters of themes of their own, some of them alike, and documents of these."""
    X = long_documents(N_CLUSTERS, 6, n_words, seed=seed)
    slots = MultinomialSlots(n_words, prior)
    slots.take(np.arange(0), 256)
    kernel = slots.kernel(block(X), N_CLUSTERS)
    for i in range(len(X)):
        kernel.move_one(i, i % N_CLUSTERS if i % 3 else i % 5, 1.0)
    return slots, X[:50]


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("seed", range(3))
def test_only_what_has_no_share_is_left_out(seed):
    slots, X = separate_slots(seed=seed)
    kernel, log_prior = slots.kernel(block(X), N_CLUSTERS), random_prior(N_CLUSTERS, seed)
    log_prior[[2, 77, 199]] = -np.inf
    scores, n_left, n_known = kernel.scores(0, len(X))[0], [], []
    for i in range(len(X)):
        found, weights = kernel.scores(i, i + 1, log_prior)[0][0], log_prior + scores[i]
        left = found > -np.inf
        np.testing.assert_array_equal(found[left], scores[i, left])
        assert left[weights >= weights.max() - LEFT_OUT - np.log(N_CLUSTERS)].all()
        n_left.append(left.sum())
        known = kernel.likely_scores(i, log_prior, weights.max() + 40.0) > -np.inf
        assert left[known].all()
        n_known.append(known.sum())
    assert np.mean(n_known) < np.mean(n_left) < 0.3 * N_CLUSTERS


def test_what_is_left_out_does_not_depend_on_neighbours():
    slots, X = separate_slots()
    log_prior = random_prior(N_CLUSTERS)
    before = np.array([slots.kernel(block(X), N_CLUSTERS).scores(i, i + 1, log_prior)[0][0] for i in range(len(X))])
    order = np.random.default_rng(0).permutation(N_CLUSTERS)
    slots.take(order, 256)
    after = [slots.kernel(block(X), N_CLUSTERS).scores(i, i + 1, log_prior[order])[0][0] for i in range(len(X))]
    np.testing.assert_array_equal(after, before[:, order])
    assert np.isinf(before).any()


def test_clusters_too_large_for_codes_are_always_weighed():
    slots, X = separate_slots(prior=1e-6)
    kernel, log_prior = slots.kernel(block(X), N_CLUSTERS), np.zeros(N_CLUSTERS)
    before = [kernel.scores(i, i + 1, log_prior)[0][0] for i in range(len(X))]
    theme = np.flatnonzero(X[0])
    sums = np.full((300, 1), slots.prior)
    sums[theme] = 1e9
    slots.set_columns([150], sums)
    slots.totals[150] = sums.sum()
    kernel = slots.kernel(block(X), N_CLUSTERS)
    scores = kernel.scores(0, len(X))[0]
    for i in range(len(X)):
        found = kernel.scores(i, i + 1, log_prior)[0][0]
        assert found[150] == scores[i, 150]
        left = found > -np.inf
        assert left[scores[i] >= scores[i].max() - LEFT_OUT - np.log(N_CLUSTERS)].all()
    first = kernel.scores(0, 1, log_prior)[0][0] > -np.inf
    assert first.sum() < (before[0] > -np.inf).sum()  # it is by far the best there, and its density is known


def test_all_are_weighed_where_a_bound_is_not_worth_it():
    slots, X = separate_slots()
    few = X.copy()
    few[:, 23:] = 0.0
    broken = X.copy()
    broken[:, 0] += 0.5
    for rows, n_slots in [(few, N_CLUSTERS), (broken, N_CLUSTERS), (X, 100)]:
        kernel = slots.kernel(block(rows), n_slots)
        found = kernel.scores(1, 2, np.zeros(n_slots))[0][0]
        np.testing.assert_array_equal(found, kernel.scores(1, 2)[0][0])


def test_without_prior_weights_all_are_weighed():
    """The one that explains a row best is looked for among them."""
    slots, X = separate_slots()
    kernel = slots.kernel(block(X), N_CLUSTERS)
    found = kernel.scores(0, 1, np.full(N_CLUSTERS, -np.inf))[0][0]
    np.testing.assert_array_equal(found, kernel.scores(0, 1)[0][0])


def test_log_prior_has_a_number_for_each_slot():
    slots, X = separate_slots()
    with pytest.raises(ValueError, match="log_prior must be"):
        slots.kernel(block(X), N_CLUSTERS).scores(0, 1, np.zeros(3))


# -- sweeps


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_sweeps_over_many_clusters_equal_the_twin(discount, weighted):
    """Long documents in more clusters than bounds ask for."""
    X = long_documents(150, 3, n_words=120)
    weight = random_weight(len(X)) if weighted else None
    run = Sweeps(120, discount=discount, concentration=5.0, threshold=max(0.5, discount) + 0.01).stream(X, weight)
    Q, densities = twin.stream(X, 0.3, run.twin, weight)
    assert run.Q.shape == Q.shape
    assert run.state.n_slots > 128
    np.testing.assert_allclose(run.Q, Q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.sums[0], densities.sum() if weight is None else weight @ densities, rtol=1e-11)
    again, _ = twin.revisit(X, Q, 0.3, run.twin, weight)
    run.revisit(X, weight)
    np.testing.assert_allclose(run.Q, again, rtol=0, atol=1e-9)


def test_conditionals_of_sampling_equal_those_of_all_clusters():
    X = long_documents(150, 4, n_words=200)
    run = Sweeps(200, concentration=50.0).stream(X)
    assert run.state.n_slots > 128
    kernel, rule, scores = run.kernel(X), run.rule(), run.kernel(X).scores(0, len(X))[0]
    for i in range(0, len(X), 7):
        own = int(run.Q[i].argmax())
        found = _sequential.conditional(kernel, rule, 1.0, i, own, False, np.log(50.0))
        weights = np.log(run.state.counts[: run.state.n_slots]) + scores[i]
        weights[own] = np.log(run.state.counts[own] - 1.0) + kernel.score_one_without(i, own, 1.0)
        new = np.log(50.0) + kernel.scores(i, i + 1)[1][0]
        all_weights = np.append(weights, new)
        expected = np.exp(all_weights - all_weights.max())
        np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-10, atol=1e-12)
