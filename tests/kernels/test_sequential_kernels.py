"""Clusters of documents in slots, and the sweeps over rows that change them: the compiled loops against plain NumPy."""

import math
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
import reference_nggp as twin
from row_cases import read_only
from scipy import sparse
from scipy.special import entr
from sparsemix._kernels.clusters._clusters import SLOTS

from sparsemix._kernels.clusters import _multinomial, _rule, _sequential
from sparsemix._kernels.vectors import _simd
from sparsemix._models.clusters.multinomial_slots import MOST_PANELS, MultinomialSlots, rounded
from sparsemix._models.clusters.state import ClusterState

N_WORDS = 30
BETA = 0.3
COUNTS = [1, 2, 8, 9, 100, 0.3, 2.5]


def block(X):
    """Rows of a dense matrix as a kernel reads them."""
    X = sparse.csr_array(np.asarray(X, dtype=np.float64))
    arrays = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
    return SimpleNamespace(**dict(zip(["indptr", "indices", "counts"], read_only(*arrays), strict=True)))


def random_documents(n, n_words=N_WORDS, n_themes=12, length=15, seed=0, spread=0.2, shares=None):
    """Documents of themes; row 3 has no words."""
    rng = np.random.default_rng(seed)
    themes = rng.dirichlet(np.full(n_words, spread), size=n_themes)
    X = np.array([rng.multinomial(1 + rng.poisson(length), themes[k]) for k in rng.choice(n_themes, n, p=shares)])
    X[3 % n] = 0
    return X.astype(np.float64)


def random_slots(n_slots, counts, n_words=40, prior=0.3, scale=20.0, seed=0):
    """Slots with random statistics, two thirds of them zero, and documents with these counts; row 3 has no words."""
    rng = np.random.default_rng(seed)
    slots = MultinomialSlots(n_words, prior)
    for capacity in range(SLOTS, rounded(n_slots) + 1, SLOTS):  # in as many panels as there can be
        slots.take(np.arange(slots.capacity), capacity)
    S = rng.gamma(0.5, scale, size=(n_words, n_slots)) * (rng.random((n_words, n_slots)) < 0.3)
    slots.set_columns(np.arange(n_slots), slots.prior + S)
    slots.totals[:n_slots] += S.sum(axis=0)
    X = rng.choice(counts, size=(8, n_words)) * (rng.random((8, n_words)) < rng.random((8, 1)))
    X[3] = 0
    return slots, S.T, X


# -- scores


def assert_scores(slots, S, X, rtol=3e-14):
    scores, new = slots.kernel(block(X), len(S)).scores(0, len(X))
    assert scores.shape == (len(X), len(S))
    found = np.column_stack([scores, new])
    for row, x in zip(found, X, strict=True):
        expected, size = twin.log_dirichlet_multinomial(x, slots.prior, np.vstack([S, 0 * x]))
        assert (np.abs(row - expected) <= rtol * (1 + size)).all()
    return scores


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("n_slots", [1, 31, 32, 33, 100])
def test_scores_equal_the_twin(n_slots):
    """The words' priors add up to less and to more than 16, where totals are shifted before Stirling's series."""
    for prior in (0.3, 0.5):
        assert_scores(*random_slots(n_slots, COUNTS, prior=prior))


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("count", [*COUNTS, 7, 64, 65, 1e6])
def test_scores_of_each_count_equal_the_twin(count):
    assert_scores(*random_slots(3, [count], n_words=6))


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("prior", [1e-10, 1e-3, 5.0])
@pytest.mark.parametrize("scale", [0.01, 20.0, 1e7])
def test_scores_of_extreme_tables_equal_the_twin(prior, scale):
    """Factors of a product from 1e-10 to 1e8, up to forty words."""
    slots, S, X = random_slots(9, COUNTS, prior=prior, scale=scale)
    X[0] = 1.0
    assert_scores(slots, S, X)


@pytest.mark.usefixtures("instruction_set")
def test_differences_of_scores_are_exact_for_large_clusters():
    """Clusters of 1e9 tokens: log Gamma is 2e10 there, and a difference of two would be good to six digits."""
    rng = np.random.default_rng(0)
    slots, S, X = random_slots(20, COUNTS)
    S = np.floor(rng.dirichlet(np.full(40, 3.0)) * (1 + 1e-2 * rng.random((20, 40))) * 1e9)
    slots.set_columns(np.arange(20), slots.prior + S.T)
    slots.totals[:20] = slots.prior * 40 + S.sum(axis=1)
    scores = assert_scores(slots, S, X)
    for i in np.flatnonzero(X.any(axis=1)):
        expected, _ = twin.log_dirichlet_multinomial(X[i], slots.prior, S)
        gaps = expected[:, None] - expected
        np.testing.assert_allclose(scores[i][:, None] - scores[i], gaps, rtol=0, atol=1e-9 * np.abs(gaps).max())


@pytest.mark.parametrize("x", [1e-10, 1e-3, 0.3, 1.0, 15.9, 16.0, 1e4, 1e9])
def test_log_rising_equals_the_twin(x):
    for count in [0, 1e-3, 0.3, 1, 2.5, 8, 63.5, 64, 65, 1000, 1e6]:
        expected = twin.log_rising([x], count)[0]
        found = _multinomial.log_rising(*read_only(np.array([x])), count)[0]
        assert abs(found - expected) <= 1e-14 * (1 + abs(expected))


@pytest.mark.usefixtures("instruction_set")
def test_a_score_is_one_part_of_the_evidence():
    """Documents one after the other, in one slot: the log densities add up to the evidence of all."""
    X = random_documents(50, seed=1)
    slots = MultinomialSlots(N_WORDS, BETA)
    slots.take(np.arange(0), SLOTS)
    kernel, total = slots.kernel(block(X), 1), 0.0
    for i in range(len(X)):
        total += kernel.scores(i, i + 1)[0][0, 0]
        kernel.move_one(i, 0, 1.0)
    np.testing.assert_allclose(total, twin.log_evidence(X, BETA), rtol=1e-12)
    np.testing.assert_allclose(slots.evidence([0]), total, rtol=1e-12)


def test_a_document_without_words_says_nothing():
    slots, S, X = random_slots(5, COUNTS)
    kernel = slots.kernel(block(X), len(S))
    scores, new = kernel.scores(3, 4)
    np.testing.assert_allclose(scores, 0, atol=1e-15)
    np.testing.assert_allclose(new, 0, atol=1e-15)
    table = slots.table.copy()
    kernel.move_one(3, 2, 1.0)
    assert (slots.table == table).all()
    assert kernel.score_one_without(3, 2, 1.0) == 0.0


def test_larger_capacity_changes_nothing():
    """A panel more; the slots that were there stay where they are, and those that were left are as the prior is."""
    slots, S, X = random_slots(33, COUNTS)
    panels, before = list(slots.panels), slots.kernel(block(X), 33).scores(0, len(X))
    slots.set_columns([40], np.full((40, 1), 7.0))  # what a proposal has left
    slots.take(np.arange(33), 4 * SLOTS)
    assert [panel.width for panel in slots.panels] == [SLOTS, SLOTS, 2 * SLOTS]
    assert all(one is other for one, other in zip(panels, slots.panels, strict=False))
    np.testing.assert_array_equal(slots.columns(np.arange(33)).T, slots.prior + S)
    assert (slots.table[:, 33:] == slots.prior).all()
    assert (slots.totals[33:] == 40 * slots.prior).all()
    for found, wanted in zip(slots.kernel(block(X), 33).scores(0, len(X)), before, strict=True):
        np.testing.assert_array_equal(found, wanted)
    while len(slots.panels) > 1:  # one more than there may be makes them one
        slots.take(np.arange(slots.capacity), slots.capacity + SLOTS)
        assert len(slots.panels) <= MOST_PANELS
    np.testing.assert_array_equal(slots.columns(np.arange(33)).T, slots.prior + S)
    assert (slots.table[:, 33:] == slots.prior).all()
    slots.take(np.array([32, 3]), SLOTS)
    assert len(slots.panels) == 1
    np.testing.assert_array_equal(slots.columns([0, 1]).T, slots.prior + S[[32, 3]])


# -- one slot without a part of the row itself, and moves


@pytest.mark.parametrize("mass", [1.0, 0.25, 3.0])
@pytest.mark.parametrize("prior", [0.3, 1e-3])
def test_move_adds_the_statistics_of_a_row(mass, prior):
    slots, S, X = random_slots(33, COUNTS, prior=prior)
    kernel = slots.kernel(block(X), len(S))
    for i in range(len(X)):
        kernel.move_one(i, (5 * i) % 33, mass)
        S[(5 * i) % 33] += mass * X[i]
    np.testing.assert_allclose(slots.table[:, :33].T, slots.prior + S, rtol=1e-14)
    np.testing.assert_allclose(slots.totals[:33], 40 * prior + S.sum(axis=1), rtol=1e-13)
    assert (slots.table[:, 33:] == prior).all()
    assert (slots.totals[33:] == 40 * prior).all()


@pytest.mark.parametrize("mass", [1.0, 0.25])
def test_moves_there_and_back_restore_the_statistics(mass):
    slots, S, X = random_slots(33, COUNTS)
    table, totals = slots.table.copy(), slots.totals.copy()
    kernel = slots.kernel(block(X), len(S))
    for change in (mass, -mass):
        for i in range(len(X)):
            kernel.move_one(i, i, change)
    np.testing.assert_allclose(slots.table, table, rtol=1e-12)
    np.testing.assert_allclose(slots.totals, totals, rtol=1e-12)


@pytest.mark.parametrize("mass", [1.0, 0.25])
@pytest.mark.parametrize("prior", [0.3, 0.5])
def test_a_score_without_the_row_is_that_of_the_slot_before_it(mass, prior):
    slots, S, X = random_slots(33, COUNTS, prior=prior)
    kernel = slots.kernel(block(X), len(S))
    for i, x in enumerate(X):
        before = kernel.scores(i, i + 1)[0][0]
        kernel.move_one(i, 7, mass)
        found = kernel.score_one_without(i, 7, mass)
        kernel.move_one(i, 7, -mass)
        np.testing.assert_allclose(found, before[7], rtol=0, atol=1e-10)
        expected, size = twin.log_dirichlet_multinomial(x, prior, S[[7]])
        assert abs(found - expected[0]) <= 1e-12 * (1 + size[0])


def test_statistics_never_fall_below_the_prior():
    slots, _, X = random_slots(4, COUNTS)
    kernel = slots.kernel(block(X), 4)
    before, new = kernel.scores(0, len(X))
    for i in range(len(X)):
        np.testing.assert_allclose(kernel.score_one_without(i, 1, 1e9), new[i], rtol=1e-12)
        kernel.move_one(i, 1, -1e9)
    seen = X.any(axis=0)
    assert (slots.table[seen, 1] == slots.prior).all()
    assert slots.totals[1] == 40 * slots.prior
    assert (kernel.scores(0, len(X))[0][:, 2] == before[:, 2]).all()


# -- what kernels refuse


def arguments(**changes):
    x = block(random_documents(5))
    table = _simd.aligned_empty(N_WORDS * SLOTS, np.float64).reshape(N_WORDS, SLOTS)
    totals = _simd.aligned_empty(SLOTS, np.float64)
    codes = np.zeros(table.shape, dtype=np.uint8)
    table[...], totals[...] = BETA, BETA * N_WORDS
    given = {"indptr": x.indptr, "indices": x.indices, "counts": x.counts, "panels": [table], "codes": [codes],
             "coded": [np.zeros(1, dtype=np.int64)], "totals": totals, "prior": BETA, "n_features": N_WORDS,
             "n_slots": 3}  # fmt: skip
    return {**given, **changes}


def codes_of(width, n_words=N_WORDS):
    return [np.zeros((n_words, width), dtype=np.uint8)]


def unaligned(*shape):
    return _simd.aligned_empty(math.prod(shape) + 1, np.float64)[1:].reshape(shape)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"counts": np.ones(3)}, r"indices and counts must hold indptr\[-1\] entries"),
        ({"indptr": np.empty(0, dtype=np.int64)}, r"indices and counts must hold indptr\[-1\] entries"),
        ({"indptr": np.array([0, 1]), "indices": np.array([30], dtype=np.int32)}, "indices must be below the 30 rows"),
        ({"totals": _simd.aligned_empty(2 * SLOTS, np.float64)}, "totals must have as many slots as the panels"),
        (
            {"panels": [np.empty((N_WORDS, 20))], "codes": codes_of(20), "totals": np.empty(20)},
            "panels must have a row for each word, and a multiple of 32 slots",
        ),
        ({"n_slots": SLOTS + 1}, "n_slots must be 0 to 32"),
        ({"n_slots": -1}, "n_slots must be 0 to 32"),
        ({"panels": [unaligned(N_WORDS, SLOTS)]}, "panels must start on a cache line"),
        ({"totals": unaligned(SLOTS)}, "totals must .* start on a cache line"),
        ({"indices": np.zeros(500, dtype=np.int64)}, "dtype mismatch"),
        ({"indptr": np.zeros(6, dtype=np.int32)}, "dtype mismatch"),
        ({"counts": np.ones(500, dtype=np.float32)}, "dtype mismatch"),
        ({"panels": [read_only(np.full((N_WORDS, SLOTS), BETA))[0]]}, "read-only"),
        ({"panels": [np.full((SLOTS, N_WORDS), BETA).T]}, "not C-contiguous"),
        ({"panels": [np.full((31, SLOTS), BETA)], "codes": codes_of(SLOTS, 31)}, "a row for each word"),
        ({"panels": [_simd.aligned_empty(0, np.float64).reshape(N_WORDS, 0)] * 17}, "at most 16 panels"),
        ({"codes": []}, "there must be codes of every panel"),
        ({"coded": []}, "there must be codes of every panel"),
        ({"coded": [np.zeros(2, dtype=np.int64)]}, "whether they are one number each"),
        ({"codes": codes_of(SLOTS - 1)}, "codes must be of the shapes of the panels"),
        ({"codes": codes_of(SLOTS, N_WORDS + 1)}, "codes must be of the shapes of the panels"),
    ],
)
def test_clusters_refuse_arrays_that_do_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        _multinomial.MultinomialClusters(**arguments(**changes))


def test_clusters_refuse_rows_and_slots_that_are_not_there():
    kernel = _multinomial.MultinomialClusters(**arguments())
    for row, slot in [(-1, 0), (5, 0), (0, -1), (0, 3)]:
        with pytest.raises(ValueError, match="row and slot must be below 5 and 3"):
            kernel.move_one(row, slot, 1.0)
        with pytest.raises(ValueError, match="row and slot must be below 5 and 3"):
            kernel.score_one_without(row, slot, 1.0)
    for first, last in [(-1, 2), (3, 2), (0, 6)]:
        with pytest.raises(ValueError, match="first and last must be rows of the block"):
            kernel.scores(first, last)


# -- sweeps


class Sweeps:
    """Clusters that learn from rows, with all responsibilities, dense and in the end of one width."""

    def __init__(self, n_words=N_WORDS, capacity=SLOTS, **settings):
        self.state = ClusterState(MultinomialSlots(n_words, BETA))
        self.state._resize(np.arange(0), capacity)
        self.twin = twin.Rule(**settings)
        self.sums = np.zeros(2)
        self.Q = np.zeros((0, 0))

    def rule(self):
        return self.state.rule(**vars(self.twin))

    def kernel(self, X):
        return self.state.sums.kernel(block(X), self.state.n_slots)

    def run(self, sweep, X, weight, *given):
        """A sweep over rows; more slots where they run out. Returns responsibilities, (n, n_slots)."""
        arrays = rows_of(len(X), 400 * len(X))
        out, first = _rule.Responsibilities(*arrays), 0
        while first < len(X):
            clusters = self.kernel(X)
            first = sweep(clusters, self.rule(), weight, first, *given, out, self.sums if given else self.sums[:1])
            assert first >= 0
            self.state.used(clusters.n_slots)
            if first < len(X):
                self.state.grow()
        return dense(arrays, self.state.n_slots)

    def stream(self, X, weight=None):
        Q = self.run(_sequential.stream, X, weight)
        self.Q = np.vstack([twin.widened(self.Q, Q.shape[1]), Q])
        return self

    def revisit(self, X, weight=None):
        self.Q = self.run(_sequential.revisit, X, weight, _rule.Responsibilities(*sparse_rows(self.Q)))
        return self

    def assert_holds(self, X, Q, weight=None, atol=1e-9):
        """The state is that of rows with these responsibilities, nothing else."""
        weight = np.ones(len(X)) if weight is None else weight
        state, sums, n = self.state, self.state.sums, self.state.n_slots
        assert n == Q.shape[1]
        counts, words = twin.statistics(X, Q, weight)
        np.testing.assert_allclose(state.counts[:n], counts, rtol=0, atol=atol)
        np.testing.assert_allclose(state.sums.table[:, :n].T, BETA + words, rtol=0, atol=atol * 100)
        np.testing.assert_allclose(
            state.sums.totals[:n], BETA * X.shape[1] + words.sum(axis=1), rtol=0, atol=atol * 100
        )
        usable = np.maximum(counts - self.twin.discount, 0).sum()
        np.testing.assert_allclose(state.totals[[0, 2]], [counts.sum(), usable], rtol=1e-10, atol=atol)
        assert (state.counts[n:] == 0).all()
        assert (sums.table[:, n:] == BETA).all()


def rows_of(n, size):
    return (np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int32),
            np.full(size, -1, dtype=np.int32), np.full(size, np.nan))  # fmt: skip


def dense(arrays, n_slots):
    starts, lengths, slots, values = arrays
    Q = np.zeros((len(starts), n_slots))
    for i, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        entries = slice(start, start + length)
        assert (np.diff(slots[entries]) > 0).all()
        Q[i, slots[entries]] = values[entries]
    return Q


def sparse_rows(Q):
    Q = sparse.csr_array(Q)
    return Q.indptr[:-1].astype(np.int64), np.diff(Q.indptr).astype(np.int32), Q.indices.astype(np.int32), Q.data


def random_weight(n, seed=0):
    return np.random.default_rng(seed).choice([0.2, 0.5, 1.0, 1.5, 3.0], size=n)


PRIORS = {
    "dirichlet": {"concentration": 0.7},
    "dirichlet, tilted": {"concentration": 3.0, "tilt": 5.0},
    "stable 0.5": {"discount": 0.5, "tilt": 0.0, "threshold": 0.501},
    "pitman-yor": {"concentration": 1.3, "discount": 0.5, "tilt": 0.0, "theta": 1.3, "threshold": 0.501},
    "inverse gaussian": {"concentration": 2.0, "discount": 0.5, "threshold": 0.501},
    "stable 0.7": {"discount": 0.7, "tilt": 0.0, "threshold": 0.701},
    "generalized gamma 0.7": {"concentration": 0.3, "discount": 0.7, "tilt": 1.0, "threshold": 0.701},
}
RULES = {
    "default": {},
    "low threshold": {"threshold": 0.0},
    "high threshold": {"threshold": 0.95},
    "one responsibility": {"n_nonzero": 1},
    "two responsibilities": {"n_nonzero": 2},
    "quadrature": {"quadrature": True},
    "number of clusters": {"recursion": False},
    "three clusters": {"max_components": 3},
}


CASES = [
    pytest.param({**prior, **rule}, weighted, id=f"{name}, {other}{', weighted' if weighted else ''}")
    for name, prior in PRIORS.items()
    for other, rule in RULES.items()
    for weighted in (False, True)
    if not weighted or name in ("dirichlet", "inverse gaussian")
]


# -- assumed density filtering


@pytest.mark.parametrize(("settings", "weighted"), CASES)
def test_stream_equals_the_twin(settings, weighted):
    X = random_documents(200)
    weight = random_weight(200) if weighted else None
    run = Sweeps(**settings).stream(X, weight)
    Q, densities = twin.stream(X, BETA, run.twin, weight)
    assert run.Q.shape == Q.shape
    np.testing.assert_allclose(run.Q, Q, rtol=0, atol=1e-9)
    assert ((run.Q > 0) == (Q > 0)).all()
    np.testing.assert_allclose(run.sums[0], densities.sum() if weight is None else weight @ densities, rtol=1e-11)
    run.assert_holds(X, Q, weight)
    np.testing.assert_allclose(run.state.absent[: Q.shape[1]], np.prod(1 - Q, axis=0), atol=1e-9)


@pytest.mark.parametrize("prior", PRIORS)
def test_expected_number_of_clusters_by_recursion_equals_the_product_formula(prior):
    """The responsibilities are those of the kernel, soft and many."""
    X = random_documents(200, length=4, seed=2)
    run = Sweeps(**PRIORS[prior]).stream(X)
    assert np.count_nonzero((run.Q > 0.1) & (run.Q < 0.9)) > 20
    np.testing.assert_allclose(run.state.totals[1], twin.expected_clusters(run.Q), rtol=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
def test_mass_of_clusters_is_that_of_the_rows(prior):
    X, weight = random_documents(300, seed=3), random_weight(300)
    run = Sweeps(**PRIORS[prior]).stream(X)
    np.testing.assert_allclose(run.state.counts.sum(), 299, rtol=1e-12)
    np.testing.assert_allclose(run.state.mass, 299, rtol=1e-12)
    run = Sweeps(**PRIORS[prior]).stream(X, weight)
    np.testing.assert_allclose(run.state.counts.sum(), np.delete(weight, 3).sum(), rtol=1e-12)


@pytest.mark.parametrize("settings", [PRIORS["dirichlet"], {**PRIORS["inverse gaussian"], "quadrature": True}])
def test_responsibilities_recorded_rebuild_the_state(settings):
    """Expectation propagation starts from the responsibilities that the first epoch records."""
    X = random_documents(200, seed=4)
    run = Sweeps(**settings).stream(X)
    run.assert_holds(X, run.Q, atol=1e-11)
    before = run.state.copy()
    run.state.recount(run.twin.discount)
    np.testing.assert_allclose(run.state.totals, before.totals, rtol=1e-12)


def test_hard_data_are_assigned_as_by_sequential_maximum_a_posteriori():
    """Themes without a common word; a Dirichlet process, and each row to the best cluster at once."""
    rng = np.random.default_rng(5)
    themes = np.kron(np.eye(10), np.full(6, 1 / 6))
    z = rng.integers(10, size=150)
    X = np.array([rng.multinomial(100, themes[k]) for k in z]).astype(np.float64)
    run = Sweeps(n_words=60, concentration=0.5, threshold=1e-4).stream(X)
    labels, members = np.full(150, -1), np.zeros(0)
    for i, x in enumerate(X):
        words = np.array([X[:i][labels[:i] == k].sum(axis=0) for k in range(len(members))] + [0 * x])
        scores = twin.log_dirichlet_multinomial(x, BETA, words)[0]
        labels[i] = np.argmax(np.log(np.append(members, 0.5)) + scores)
        members = np.bincount(labels[: i + 1])
    assert len(members) == 10
    assert (run.Q[np.arange(150), labels] == 1.0).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_one_cluster_gives_the_evidence(weighted):
    """Nothing opens a second cluster, and the prior has no weight left."""
    X = random_documents(100, seed=6)
    run = Sweeps(concentration=1e-200, threshold=1.0).stream(X)
    assert run.state.n_slots == 1
    np.testing.assert_allclose(run.sums[0], twin.log_evidence(X, BETA), rtol=1e-12)
    run = Sweeps(concentration=0.5, threshold=1.0).stream(X, random_weight(100) if weighted else None)
    assert run.state.n_slots == 1
    assert (run.Q[:3] == 1.0).all()


@pytest.mark.parametrize("settings", [PRIORS["dirichlet"], PRIORS["generalized gamma 0.7"]])
@pytest.mark.parametrize("recursion", [False, True])
def test_the_bits_of_a_stream_do_not_depend_on_its_cuts(settings, recursion):
    """Nor on when there were too few slots: 200 themes fill more than the 32 at the start."""
    X, weight = random_documents(400, n_themes=200, length=30, seed=7, spread=0.05), random_weight(400)
    settings = {**settings, "recursion": recursion}
    whole = Sweeps(**settings).stream(X, weight)
    assert whole.state.n_slots > 2 * SLOTS
    for size, capacity in [(1, SLOTS), (7, SLOTS), (400, 10 * SLOTS)]:
        run = Sweeps(capacity=capacity, **settings)
        for first in range(0, 400, size):
            run.stream(X[first : first + size], weight[first : first + size])
        assert (run.Q == whole.Q).all()
        n = run.state.n_slots
        assert (run.state.totals == whole.state.totals).all()
        for name in ("counts", "absent", "ids"):
            assert (getattr(run.state, name)[:n] == getattr(whole.state, name)[:n]).all()
        assert (run.state.sums.table[:, :n] == whole.state.sums.table[:, :n]).all()


def test_a_stream_stops_where_there_is_no_space_for_responsibilities():
    X = random_documents(60, length=4, seed=8)
    whole = Sweeps().stream(X)
    run = Sweeps(capacity=4 * SLOTS)
    clusters, rule, first, parts = run.kernel(X), run.rule(), 0, []
    while first < len(X):
        arrays = rows_of(len(X), 80)
        out = _rule.Responsibilities(*arrays)
        stop = _sequential.stream(clusters, rule, None, first, out, run.sums[:1])
        assert stop > first
        assert out.n_used == arrays[1][first:stop].sum()
        assert (arrays[1][stop:] == -1).all()
        parts.append(dense([arrays[0][first:stop], arrays[1][first:stop], *arrays[2:]], whole.Q.shape[1]))
        first = stop
    assert len(parts) > 3
    assert (np.vstack(parts) == whole.Q).all()
    assert run.sums[0] == whole.sums[0]


def test_a_stream_need_not_record():
    X = random_documents(60, seed=9)
    whole, run = Sweeps().stream(X), Sweeps()
    assert _sequential.stream(run.kernel(X), run.rule(), None, 0, None, run.sums[:1]) == 60
    assert (run.state.totals == whole.state.totals).all()
    assert (run.state.sums.table == whole.state.sums.table).all()


def test_clusters_without_weight_when_no_more_may_open():
    """Light rows and a large discount: n_k < sigma. Each row goes where it fits best."""
    X, weight = random_documents(30, seed=10), np.full(30, 0.05)
    settings = {"discount": 0.7, "threshold": 0.701, "max_components": 2}
    run = Sweeps(**settings).stream(X, weight)
    Q, _ = twin.stream(X, BETA, run.twin, weight)
    np.testing.assert_allclose(run.Q, Q, atol=1e-9)
    assert run.state.n_slots == 2
    assert set(np.unique(run.Q[:14])) == {0.0, 1.0}


# -- expectation propagation


@pytest.mark.parametrize(("settings", "weighted"), CASES)
def test_revisit_equals_the_twin(settings, weighted):
    """Two epochs after the epoch of a stream."""
    X = random_documents(60, seed=12)
    weight = random_weight(60) if weighted else None
    run = Sweeps(**settings).stream(X, weight)
    for _ in range(2):
        old, run.sums[...] = run.Q, 0.0
        run.revisit(X, weight)
        Q, densities = twin.revisit(X, old, BETA, run.twin, weight)
        assert run.Q.shape == Q.shape
        np.testing.assert_allclose(run.Q, Q, rtol=0, atol=1e-8)
        w = np.ones(60) if weight is None else weight
        np.testing.assert_allclose(run.sums[0], w @ densities, rtol=1e-10)
        changes = np.abs(Q - twin.widened(old, Q.shape[1])).sum(axis=1)
        np.testing.assert_allclose(run.sums[1], w @ changes, rtol=1e-8, atol=1e-8)
        run.assert_holds(X, run.Q, weight)


@pytest.mark.parametrize("prior", ["dirichlet", "inverse gaussian"])
def test_at_a_fixed_point_nothing_changes(prior):
    """Themes with common words, responsibilities between zero and one."""
    X = random_documents(60, n_themes=3, length=6, spread=1.0, seed=13)
    run = Sweeps(**PRIORS[prior]).stream(X)
    run.twin.threshold = 1.0
    for _ in range(1000):
        run.sums[...] = 0.0
        run.revisit(X)
        if run.sums[1] < 1e-13:
            break
    assert np.count_nonzero((run.Q > 0.01) & (run.Q < 0.99)) > 10
    before, Q = run.state.copy(), run.Q
    run.revisit(X)
    np.testing.assert_allclose(run.Q, Q, atol=1e-10)
    np.testing.assert_allclose(run.state.counts, before.counts, atol=1e-10)
    np.testing.assert_allclose(run.state.sums.table, before.sums.table, atol=1e-10)


def test_a_row_alone_in_its_cluster_stays_there():
    """Otherwise every epoch would move it to a new slot, and nothing would ever converge."""
    X = np.kron(np.eye(6), np.full(5, 4.0))
    run = Sweeps(concentration=0.5).stream(X)
    assert run.state.n_slots == 6
    table = run.state.sums.table.copy()
    run.sums[...] = 0.0
    run.revisit(X)
    assert run.state.n_slots == 6
    assert run.sums[1] == 0.0
    assert (run.state.sums.table == table).all()


def test_a_row_alone_in_its_cluster_may_keep_it_when_no_more_may_open():
    X = np.kron(np.eye(6), np.full(5, 4.0))
    run = Sweeps(concentration=0.5, max_components=6).stream(X)
    run.revisit(X)
    assert (np.eye(6) == run.Q).all()


def test_shares_that_left_nothing_in_the_counts_are_no_clusters():
    """A row of almost no weight leaves; the number of clusters with rows must not count its clusters."""
    X = np.kron(np.eye(6), np.full(5, 4.0))
    run = Sweeps(concentration=0.5, discount=1e-6, tilt=1.0, recursion=False).stream(X)
    run.state.counts[:5] = 0.0
    run.Q = np.array([[0.2, 0.2, 0.2, 0.2, 0.2, 0.0]])
    run.sums[...] = 0.0
    run.revisit(X[:1], np.array([1e-10]))
    assert np.isfinite(run.sums).all()
    assert np.isfinite(run.state.totals).all()


def test_rows_that_are_in_no_cluster_yet_are_added():
    """Half of the rows have no responsibilities: their mass is not taken from the clusters."""
    X = random_documents(80, seed=14)
    run = Sweeps(**PRIORS["inverse gaussian"]).stream(X[:40])
    old = np.vstack([run.Q, np.zeros_like(run.Q)])
    run.Q = old
    run.revisit(X)
    Q, _ = twin.revisit(X, old, BETA, run.twin)
    np.testing.assert_allclose(run.Q, Q, atol=1e-9)
    run.assert_holds(X, Q)


def test_the_bits_of_an_epoch_do_not_depend_on_its_cuts():
    X, weight = random_documents(200, n_themes=40, length=3, seed=15), random_weight(200)
    whole = Sweeps(**PRIORS["dirichlet"]).stream(X, weight)
    first = whole.Q
    whole.revisit(X, weight)
    for size in (1, 7):
        run = Sweeps(**PRIORS["dirichlet"]).stream(X, weight)
        parts = []
        for at in range(0, 200, size):
            rows = slice(at, at + size)
            run.Q = first[rows]
            parts.append(run.revisit(X[rows], weight[rows]).Q)
        n = run.state.n_slots
        assert (np.vstack([twin.widened(Q, n) for Q in parts]) == whole.Q).all()
        assert (run.state.totals == whole.state.totals).all()
        assert (run.state.sums.table[:, :n] == whole.state.sums.table[:, :n]).all()


# -- Gibbs sampling


class Chain:
    """Labels of rows, and the clusters that they make."""

    def __init__(self, X, labels=None, weight=None, seed=1, capacity=SLOTS, **settings):
        self.X, self.weight, self.seed = X, weight, seed
        self.run = Sweeps(n_words=X.shape[1], capacity=capacity, **settings)
        self.twin, self.state = self.run.twin, self.run.state
        self.labels = np.full(len(X), -1, dtype=np.int32)
        self.changes = np.zeros(1)
        if labels is not None:
            self.labels[...] = labels
            self.state.used(max(labels) + 1)
            self.state.members[: max(labels) + 1] = np.bincount(self.labels[self.labels >= 0])
            own = np.arange(len(X)), (self.labels >= 0).astype(np.int32), self.labels, np.ones(len(X))
            _sequential.add_up(self.run.kernel(X), self.run.rule(), weight, _rule.Responsibilities(*own))

    def log_new(self, log_u):
        a, sigma, tau = self.twin.concentration, self.twin.discount, self.twin.tilt
        return math.log(a) + sigma * (np.logaddexp(log_u, math.log(tau)) if tau else log_u)

    def sweep(self, log_u, number=0, rows=slice(None)):
        """Draw the labels of some rows."""
        X, labels, first = self.X[rows], self.labels[rows], 0
        weight = None if self.weight is None else self.weight[rows]
        start = range(len(self.X))[rows][0]
        while first < len(X):
            clusters = self.run.kernel(X)
            first = _sequential.draw(
                clusters, self.run.rule(), weight, first, labels, self.state.members, self.log_new(log_u),
                self.seed, start, number, self.changes,
            )  # fmt: skip
            assert first >= 0
            self.state.used(clusters.n_slots)
            if first < len(X):
                self.state.grow()
        return self

    def conditional(self, row, log_u):
        """As the kernel has it."""
        own = self.labels[row]
        w, alone = 1.0 if self.weight is None else self.weight[row], own >= 0 and self.state.members[own] == 1
        return _sequential.conditional(
            self.run.kernel(self.X), self.run.rule(), w, row, own, alone, self.log_new(log_u)
        )

    def assert_whole(self):
        """Members, counts and words are those of the labels."""
        n = self.state.n_slots
        assert (self.labels < n).all()
        Q = (self.labels[:, None] == np.arange(n)).astype(np.float64)
        assert (self.state.members[:n] == Q.sum(axis=0)).all()
        assert (self.state.members[n:] == 0).all()
        self.run.assert_holds(self.X, Q, self.weight)


def random_labels(n, n_clusters, seed=0):
    """All clusters have rows, the last has one; row 3 says nothing."""
    labels = np.random.default_rng(seed).integers(n_clusters - 1, size=n)
    labels[n - n_clusters :] = np.arange(n_clusters)
    labels[3] = -1
    return labels


GIBBS = {
    "dirichlet": {"concentration": 2.0},
    "stable 0.5": {"discount": 0.5, "tilt": 0.0},
    "pitman-yor": {"concentration": 1.3, "discount": 0.5, "tilt": 0.0, "theta": 1.3},
    "generalized gamma 0.7": {"concentration": 0.3, "discount": 0.7, "tilt": 2.0},
    "six clusters": {"concentration": 3.0, "discount": 0.5, "max_components": 6},
    "seven clusters": {"concentration": 3.0, "discount": 0.5, "max_components": 7},
}


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("prior", GIBBS)
def test_conditionals_are_ratios_of_joint_densities(prior):
    """Rows in clusters of many, alone, and in none yet; there is a free slot."""
    X, labels = random_documents(25, seed=16), random_labels(25, 7)
    labels[labels == 3] = 2  # no rows
    chain = Chain(X, labels, **GIBBS[prior])
    assert chain.state.n_slots == 7
    for row in np.flatnonzero(X.any(axis=1)):
        expected = twin.conditional(X, labels, row, 7, BETA, chain.twin, 0.8)
        np.testing.assert_allclose(chain.conditional(row, 0.8), expected, rtol=5e-12, atol=1e-15)
        assert chain.conditional(row, 0.8)[3] == 0.0


def test_a_row_that_has_no_cluster_yet_sees_all_others():
    X = random_documents(25, seed=17)
    chain = Chain(X[:24], random_labels(24, 5), **GIBBS["generalized gamma 0.7"])
    chain.X, chain.labels = X, np.append(chain.labels, np.int32(-1))
    expected = twin.conditional(X, chain.labels, 24, 5, BETA, chain.twin, 0.8)
    np.testing.assert_allclose(chain.conditional(24, 0.8), expected, rtol=5e-12, atol=1e-15)


def test_weight_of_a_row_is_in_the_counts_and_not_in_its_density():
    X, labels, weight = random_documents(25, seed=18), random_labels(25, 5), random_weight(25)
    chain = Chain(X, labels, weight, **GIBBS["dirichlet"])
    for row in np.flatnonzero(X.any(axis=1)):
        others = np.delete(np.arange(25), row)
        Q = (labels[:, None] == np.arange(5)).astype(np.float64)
        counts, words = twin.statistics(X[others], Q[others], weight[others])
        with np.errstate(divide="ignore"):
            joint = np.log(np.append(counts, chain.twin.concentration))
        joint += twin.log_predictive(X[row], BETA, np.vstack([words, 0 * X[row]]))
        p = np.exp(joint - joint.max())
        np.testing.assert_allclose(chain.conditional(row, 0.8), p / p.sum(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("prior", GIBBS)
def test_draws_equal_the_twin_row_by_row(prior):
    """Each label is where the row's random number falls; a new cluster takes the first free slot, or the row's own."""
    X = random_documents(40, length=1, seed=19)
    chain = Chain(X, None, **GIBBS[prior])
    opened = closed = 0
    for number in range(3):
        for row in np.flatnonzero(X.any(axis=1)):
            labels, n, members = chain.labels.copy(), chain.state.n_slots, chain.state.members.copy()
            p = twin.conditional(X, labels, row, n, BETA, chain.twin, 0.8)
            k = twin.choice(p, chain.seed, int(row), number)
            if k == n:
                alone = labels[row] >= 0 and members[labels[row]] == 1
                k = labels[row] if alone else np.flatnonzero(members == 0)[0]
            chain.sweep(0.8, number, slice(row, row + 1))
            assert chain.labels[row] == k
            assert (np.delete(chain.labels, row) == np.delete(labels, row)).all()
            opened += k < n and members[k] == 0
            closed += labels[row] >= 0 and chain.state.members[labels[row]] == 0
        chain.assert_whole()
    assert closed > 0
    assert opened > 0 or chain.twin.max_components


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prior", GIBBS)
def test_members_labels_and_counts_stay_consistent(prior, weighted):
    X = random_documents(150, length=3, seed=20)
    chain = Chain(X, None, random_weight(150) if weighted else None, **GIBBS[prior])
    for number in range(10):
        before = chain.labels.copy()
        chain.changes[...] = 0.0
        chain.sweep(1.5, number).assert_whole()
        assert chain.changes[0] == np.count_nonzero(before != chain.labels)
    assert chain.labels[3] == -1
    assert (chain.labels[np.arange(150) != 3] >= 0).all()


@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_draws_keep_to_the_largest_number_of_clusters(n_clusters):
    X = random_documents(100, seed=21)
    chain = Chain(X, None, concentration=50.0, max_components=n_clusters)
    for number in range(4):
        chain.sweep(0.0, number).assert_whole()
        assert np.count_nonzero(chain.state.members) == n_clusters
        assert chain.state.n_slots == n_clusters


def test_slots_of_clusters_that_die_are_used_again():
    """Short documents and a weight that is large for new clusters: they come and go in every sweep."""
    X = random_documents(30, length=1, seed=22)
    chain = Chain(X, None, concentration=5.0)
    seen = set()
    for number in range(300):
        chain.sweep(0.0, number)
        seen.add(tuple(np.flatnonzero(chain.state.members == 0)[:1]))
    chain.assert_whole()
    assert chain.state.n_slots <= 29
    assert len(seen) > 3


@pytest.mark.parametrize("prior", ["dirichlet", "generalized gamma 0.7"])
def test_the_bits_of_a_chain_do_not_depend_on_its_cuts(prior):
    """Nor on when there were too few slots."""
    X = random_documents(200, n_themes=100, length=20, spread=0.05, seed=23)
    settings = {**GIBBS[prior], "concentration": 4.0}
    whole = Chain(X, None, **settings)
    for number in range(4):
        whole.sweep(1.0, number)
    assert whole.state.n_slots > SLOTS
    for size, capacity in [(1, SLOTS), (7, SLOTS), (200, 10 * SLOTS)]:
        chain = Chain(X, None, capacity=capacity, **settings)
        for number in range(4):
            for first in range(0, 200, size):
                chain.sweep(1.0, number, slice(first, first + size))
        n = chain.state.n_slots
        assert (chain.labels == whole.labels).all()
        assert (chain.state.counts[:n] == whole.state.counts[:n]).all()
        assert (chain.state.sums.table[:, :n] == whole.state.sums.table[:, :n]).all()


def test_other_seeds_rows_and_sweeps_draw_other_labels():
    X = np.ones((40, 4))
    first = Chain(X, None, concentration=20.0).sweep(0.0)
    same = Chain(X, None, concentration=20.0).sweep(0.0)
    assert (first.labels == same.labels).all()
    assert (first.labels != Chain(X, None, concentration=20.0, seed=2).sweep(0.0).labels).any()
    assert (first.labels != Chain(X, None, concentration=20.0).sweep(0.0, number=1).labels).any()


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["dirichlet", "stable 0.5", "generalized gamma 0.7", "two clusters"])
def test_a_long_chain_visits_partitions_as_often_as_they_are_probable(prior):
    """The fifteen partitions of four documents, u drawn from its density once a sweep."""
    settings = {**GIBBS, "two clusters": {"discount": 0.5, "max_components": 2}}[prior]
    rng = np.random.default_rng(24)
    X = np.array([[3, 1, 0], [2, 0, 0], [0, 1, 2], [1, 1, 1]], dtype=np.float64)
    expected = twin.posterior(X, BETA, twin.Rule(**settings))
    chain, grids = Chain(X, [0, 0, 0, 0], **settings), {}
    seen = dict.fromkeys(expected, 0)
    clusters, rule = chain.run.kernel(X), chain.run.rule()
    n_sweeps = 30_000
    for number in range(n_sweeps):
        n_clusters = np.count_nonzero(chain.state.members)
        if n_clusters not in grids:
            v, p = chain.twin.nodes(4, n_clusters)
            grids[n_clusters] = v, np.cumsum(p)
        v, p = grids[n_clusters]
        log_new = chain.log_new(v[np.searchsorted(p, rng.random() * p[-1])])
        stop = _sequential.draw(
            clusters, rule, None, 0, chain.labels, chain.state.members, log_new, 5, 0, number, chain.changes
        )
        assert stop == 4
        order = dict(zip(chain.labels[::-1].tolist(), range(3, -1, -1), strict=True))  # first row of each cluster
        ranks = {slot: rank for rank, slot in enumerate(sorted(order, key=order.get))}
        seen[tuple(ranks[slot] for slot in chain.labels.tolist())] += 1
    distance = 0.5 * sum(abs(seen[labels] / n_sweeps - p) for labels, p in expected.items())
    assert distance < 0.03
    assert len(expected) == (15 if prior != "two clusters" else 8)


# -- what surrounds the sweeps


def random_responsibilities(n, n_slots, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    Q = rng.dirichlet(np.full(n_slots, 0.1), size=n)
    Q[Q < 0.05] = 0.0
    Q[2] = 0.0
    Q /= np.maximum(Q.sum(axis=1, keepdims=True), 1e-300)
    return Q, random_weight(n) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_added_by_their_responsibilities(weighted):
    X = random_documents(50, seed=25)
    Q, weight = random_responsibilities(50, 6, weighted=weighted)
    Q[3] = 0.0
    run = Sweeps(discount=0.5)
    run.state.used(6)
    _sequential.add_up(run.kernel(X), run.rule(), weight, _rule.Responsibilities(*sparse_rows(Q)))
    run.assert_holds(X, Q, weight)
    np.testing.assert_allclose(run.state.absent[:6], np.prod(1 - Q, axis=0), rtol=1e-12)
    np.testing.assert_allclose(run.state.totals[1], twin.expected_clusters(Q), rtol=1e-12)


def test_slots_are_renamed_joined_and_dropped():
    """Slots 1 and 4 become one, 2 goes; a row that has nothing left is empty, all other rows sum to one."""
    Q, _ = random_responsibilities(200, 6)
    index = np.array([3, 1, -1, 0, 1, 2], dtype=np.int32)
    arrays = [np.array(a) for a in sparse_rows(Q)]
    _sequential.rename(_rule.Responsibilities(*arrays), *read_only(index))
    expected = np.zeros((200, 4))
    np.add.at(expected.T, index[index >= 0], Q[:, index >= 0].T)
    totals = expected.sum(axis=1, keepdims=True)
    assert (totals[:, 0] == 0.0).sum() > 1
    np.testing.assert_allclose(dense(arrays, 4), expected / np.where(totals > 0, totals, 1.0), rtol=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_overlaps_are_sums_of_the_smaller_responsibilities(weighted):
    Q, weight = random_responsibilities(50, 6, weighted=weighted)
    overlap = np.full((SLOTS, SLOTS), 0.5)
    _sequential.add_overlap(_rule.Responsibilities(*sparse_rows(Q)), weight, overlap)
    smaller = np.minimum(Q[:, :, None], Q[:, None, :])
    expected = np.triu(np.einsum("i,ikl->kl", np.ones(50) if weight is None else weight, smaller), 1)
    np.testing.assert_allclose(overlap[:6, :6] - 0.5, expected, rtol=1e-12)
    assert (overlap[6:] == 0.5).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_entropies_are_what_two_clusters_as_one_would_lose(weighted):
    """Entropy of each row's responsibilities, less that with the two added; rows have none of some clusters."""
    Q, weight = random_responsibilities(50, 6, weighted=weighted)
    assert (Q == 0.0).any()
    entropy = np.full((SLOTS, SLOTS), 0.5)
    _sequential.add_entropy(_rule.Responsibilities(*sparse_rows(Q)), weight, entropy)
    assert (np.tril(entropy) == np.tril(np.full_like(entropy, 0.5))).all()
    weight = np.ones(50) if weight is None else weight
    for k, other in combinations(range(6), 2):
        joined = np.delete(Q, other, axis=1)
        joined[:, k] += Q[:, other]
        lost = weight @ (entr(Q).sum(axis=1) - entr(joined).sum(axis=1))
        assert entropy[k, other] - 0.5 == pytest.approx(lost, rel=1e-10, abs=1e-12)


# -- rows and arrays that sweeps refuse


class Call:
    """Arguments of each sweep over twenty rows, of which the first ten are in three clusters."""

    def __init__(self, X):
        run = Sweeps()
        run.state.used(3)
        self.labels = np.append(np.arange(10) % 3, np.full(10, -1)).astype(np.int32)
        self.X, self.run, self.state = X, run, run.state
        self.state.members[:3] = np.bincount(self.labels[:10])
        Q = (self.labels[:, None] == np.arange(3)).astype(np.float64)
        rows = X[:10]
        _sequential.add_up(run.kernel(rows), run.rule(), None, _rule.Responsibilities(*sparse_rows(Q[:10])))
        self.given = {"clusters": run.kernel(X), "rule": run.rule(), "weight": None, "first": 0, "sums": np.zeros(1)}
        self.old, self.out = _rule.Responsibilities(*sparse_rows(Q)), _rule.Responsibilities(*rows_of(20, 800))

    def __call__(self, sweep, **changes):
        given = {**self.given, "out": self.out}
        if sweep == "revisit":
            given |= {"old": self.old, "sums": np.zeros(2)}
        elif sweep == "draw":
            del given["out"]
            given |= {"labels": self.labels, "members": self.state.members, "log_new": 0.0, "seed": 1, "first_row": 0,
                      "number": 0}  # fmt: skip
        return getattr(_sequential, sweep)(**{**given, **changes})


SWEEPS = ["stream", "revisit", "draw"]


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_row_without_finite_scores_stops_a_sweep_and_changes_nothing(sweep, value):
    X = random_documents(20, seed=26)
    broken = X.copy()
    broken[12, np.flatnonzero(X[12])[0]] = value
    call, whole = Call(broken), Call(X[:12])
    whole.labels, whole.old = whole.labels[:12], _rule.Responsibilities(*[a[:12] for a in sparse_rows(np.eye(20))])
    whole = Call(X)
    assert call(sweep) == -1 - 12
    assert np.isfinite(call.state.sums.table).all()
    assert np.isfinite(call.state.totals).all()
    whole.given["clusters"] = whole.run.kernel(X)
    assert whole(sweep, first=12) >= 0


@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_cluster_without_finite_scores_stops_a_sweep(sweep):
    call = Call(random_documents(20, length=60, seed=27))
    call.state.sums.totals[1] = np.nan
    assert call(sweep) == -1


WRONG = [
    ("capacity", {"rule": lambda: Sweeps(capacity=3 * SLOTS).rule()}, "rule and clusters must have the same capacity"),
    ("weight", {"weight": lambda: np.ones(19)}, r"weight must be \(n,\)"),
    ("first", {"first": lambda: 21}, "first must be 0 to 20"),
    ("first", {"first": lambda: -1}, "first must be 0 to 20"),
    ("sums", {"sums": lambda: np.zeros(3)}, r"sums \(1,\)|sums must be \([12],\)"),
    ("sums", {"sums": lambda: read_only(np.zeros(2))[0]}, "read-only"),
]


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize(("name", "changes", "message"), WRONG)
def test_sweeps_refuse_arrays_that_do_not_fit(sweep, name, changes, message):  # noqa: ARG001
    call = Call(random_documents(20, seed=28))
    with pytest.raises(ValueError, match=message):
        call(sweep, **{key: make() for key, make in changes.items()})


def test_sweeps_refuse_responsibilities_and_labels_that_do_not_fit():
    call = Call(random_documents(20, seed=29))
    for sweep, name in [("stream", "out"), ("revisit", "out"), ("revisit", "old")]:
        with pytest.raises(ValueError, match=r"responsibilities must be of \(n,\) rows"):
            call(sweep, **{name: _rule.Responsibilities(*rows_of(19, 800))})
    for name in ("old", "out"):
        with pytest.raises(TypeError):
            call("revisit", **{name: None})
    for changes in ({"labels": call.labels[:19]}, {"members": np.zeros(3, dtype=np.int64)}):
        with pytest.raises(ValueError, match=r"labels must be \(n,\), members as long as counts"):
            call("draw", **changes)
    with pytest.raises(ValueError, match="labels must be below 3"):
        call("draw", labels=np.full(20, 3, dtype=np.int32))
    with pytest.raises(ValueError, match="mismatch"):
        call("draw", labels=call.labels.astype(np.int64))
    with pytest.raises(ValueError, match=r"responsibilities must be of \(n,\) rows"):
        _sequential.add_up(call.given["clusters"], call.given["rule"], None, _rule.Responsibilities(*rows_of(3, 10)))
    for row, own in [(20, 0), (0, 3), (0, -2)]:
        with pytest.raises(ValueError, match="row and own must be a row and a slot"):
            _sequential.conditional(call.given["clusters"], call.given["rule"], 1.0, row, own, False, 0.0)


def test_rules_and_responsibilities_refuse_arrays_that_do_not_fit():
    prior = {"concentration": 1.0, "discount": 0.0, "tilt": 1.0, "threshold": 0.01}
    for counts, absent, sums, n_slots in [(32, 31, 4, 3), (32, 32, 3, 3), (32, 32, 4, 33), (32, 32, 4, -1)]:
        with pytest.raises(ValueError, match="absent must be as long as counts"):
            _rule.Rule(np.zeros(counts), np.ones(absent), np.zeros(sums), n_slots, **prior)
    starts, lengths, slots, values = rows_of(3, 10)
    for arrays in [(starts[:2], lengths, slots, values), (starts, lengths, slots[:9], values)]:
        with pytest.raises(ValueError, match="starts and lengths must have one entry a row"):
            _rule.Responsibilities(*arrays)
    with pytest.raises(ValueError, match="starts and lengths must have one entry a row"):
        _rule.Responsibilities(starts, lengths, slots, values, 11)
