"""Collapsed inference, kernel by kernel: sweeps of CVB0, CVB and Gibbs sampling against plain NumPy and exact sums."""

import numpy as np
import pytest
import reference_collapsed as reference
from scipy.special import gammaln
from sparsemix._kernels.documents._entries import Entries

from sparsemix._kernels.collapsed import _cvb, _gibbs
from sparsemix._kernels.vectors import _simd

DTYPES = [np.float32, np.float64]
ORDERS = [False, True]
SIZES = [1, 2, 5, 16, 17, 35]


class State:
    """Random documents with responsibilities and the sums that belong to them; document 2 is empty."""

    def __init__(
        self, n_components=5, n_words=12, n_documents=9, dtype=np.float64, seed=0, weighted=False, whole=False
    ):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(1, n_words + 1, size=n_documents)
        lengths[2 % n_documents] = 0
        self.n_words, self.dtype = n_words, dtype
        self.indptr = np.concatenate([[0], np.cumsum(lengths)])
        self.indices = np.concatenate([rng.permutation(n_words)[:n] for n in lengths]).astype(np.int32)
        counts = rng.integers(1, 4, size=len(self.indices)).astype(dtype)
        self.counts = counts if whole else np.where(rng.uniform(size=len(counts)) < 0.3, counts / 4, counts)
        self.counts = self.counts.astype(dtype)
        self.weight = rng.choice([0.25, 0.5, 1.0, 2.0, 3.5], size=n_documents) if weighted else None
        self.alpha = rng.uniform(0.05, 0.5, size=n_components).astype(dtype)
        self.beta = 0.125
        self.set(rng.dirichlet(np.full(n_components, 0.3), size=len(self.indices)))

    def set(self, gamma):
        self.gamma = np.array(gamma, dtype=self.dtype, order="C")
        self.recount()

    def recount(self):
        means, variances = np.zeros((2, self.n_words, self.gamma.shape[1]))
        _cvb.add_up(self.entries, self.gamma, means, variances)
        self.means, self.totals = means.astype(self.dtype), means.sum(axis=0)
        self.variances, self.spreads = variances.astype(self.dtype), variances.sum(axis=0)

    @property
    def entries(self):
        return Entries(self.indptr, self.indices, self.counts, self.weight)

    @property
    def corpus(self):
        return self.indptr, self.indices, self.counts.astype(np.float64)

    def sweep(self, second_order=False):
        self.doc_topic = np.full((len(self.indptr) - 1, self.gamma.shape[1]), np.nan, dtype=self.dtype)
        self.sums = np.zeros(3)
        second = (self.variances, self.spreads) if second_order else (None, None)
        _cvb.sweep(self.entries, self.alpha, self.beta, self.gamma, self.means, self.totals, *second, self.doc_topic,
                   self.sums)  # fmt: skip
        return self


def entry(words, counts, gamma, *, n_words, alpha, beta=0.1, others=None):
    """A single document with these responsibilities in a corpus whose other documents have the counts ``others``."""
    state = object.__new__(State)
    state.n_words, state.dtype, state.weight = n_words, np.float64, None
    state.indptr = np.array([0, len(words)])
    state.indices, state.counts = np.array(words, dtype=np.int32), np.array(counts, dtype=np.float64)
    state.alpha, state.beta = np.asarray(alpha, dtype=np.float64), beta
    state.set(gamma)
    if others is not None:
        state.means += others
        state.totals += others.sum(axis=0)
    return state


# -- CVB0 and CVB


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("second_order", ORDERS)
@pytest.mark.parametrize("n_components", SIZES)
@pytest.mark.usefixtures("instruction_set")
def test_sweeps_equal_plain_numpy(n_components, second_order, weighted, dtype):
    state = State(n_components, dtype=dtype, weighted=weighted, seed=n_components)
    gamma, means = state.gamma.astype(np.float64), state.means.astype(np.float64)
    variances = state.variances.astype(np.float64) if second_order else None
    close = {"rtol": 1e-10, "atol": 1e-12} if dtype == np.float64 else {"rtol": 1e-3, "atol": 1e-4}
    for _ in range(3):
        want = reference.cvb_sweep(
            state.corpus, state.alpha.astype(np.float64), state.beta, gamma, means, variances, state.weight
        )
        state.sweep(second_order)
        np.testing.assert_allclose(state.gamma, gamma, **close)
        np.testing.assert_allclose(state.means, means, **close)
        np.testing.assert_allclose(state.totals, means.sum(axis=0), **close)
        np.testing.assert_allclose(state.doc_topic, want[0], **close)
        np.testing.assert_allclose(state.sums[0], want[1], **close)
        if second_order:
            np.testing.assert_allclose(state.variances, variances, **close)
            np.testing.assert_allclose(state.spreads, variances.sum(axis=0), **close)
            np.testing.assert_allclose(state.sums[1], want[2], **close)
        else:
            np.testing.assert_array_equal(state.sums[1:], 0.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("second_order", ORDERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_stay_those_of_the_responsibilities(weighted, second_order, dtype):
    state = State(7, dtype=dtype, weighted=weighted)
    for _ in range(20):
        state.sweep(second_order)
    moved = [array.astype(np.float64) for array in (state.means, state.totals, state.variances, state.spreads)]
    state.recount()
    counted = [state.means, state.totals, state.variances, state.spreads]
    tol = 1e-8 if dtype == np.float64 else 1e-3
    for a, b in list(zip(moved, counted, strict=True))[: 4 if second_order else 2]:
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol)
    np.testing.assert_allclose(state.gamma.sum(axis=1), 1.0, rtol=1e-5)
    lengths = [state.counts[a:b].sum() for a, b in zip(state.indptr[:-1], state.indptr[1:], strict=True)]
    np.testing.assert_allclose(state.doc_topic.sum(axis=1), lengths, rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_add_up_equals_plain_numpy(weighted):
    state = State(6, weighted=weighted)
    means, variances = reference.fields(state.corpus, state.gamma, state.n_words, state.weight)
    np.testing.assert_allclose(state.means, means, rtol=1e-12)
    np.testing.assert_allclose(state.variances, variances, rtol=1e-12)


@pytest.mark.parametrize("second_order", ORDERS)
def test_token_does_not_see_itself(second_order):
    """A corpus of one token: nothing is left when it leaves, so its topics are those of the prior."""
    alpha = np.array([0.1, 0.2, 0.7])
    for count in (1.0, 0.25):
        state = entry([1], [count], [[0.98, 0.01, 0.01]], n_words=4, alpha=alpha).sweep(second_order)
        np.testing.assert_allclose(state.gamma[0], alpha, rtol=1e-12)
    state = entry([1], [2.0], [[0.98, 0.01, 0.01]], n_words=4, alpha=alpha).sweep(second_order)
    assert state.gamma[0, 0] > 0.3  # of two copies one is left


@pytest.mark.parametrize("second_order", ORDERS)
@pytest.mark.parametrize("count", [2, 5])
def test_clump_is_its_copies(count, second_order):
    """One entry with a count, or as many entries of one token: the same sums, and the same first update."""
    rng = np.random.default_rng(count)
    words, others = [0, 2, 3], rng.gamma(1.0, size=(4, 6))
    gamma = rng.dirichlet(np.ones(6), size=3)
    options = {"n_words": 4, "alpha": rng.uniform(0.1, 1.0, size=6), "others": others}
    clumped = entry(words, [count, 1, 2], gamma, **options)
    copies = entry([0] * count + [2, 3, 3], np.ones(count + 3), np.vstack([gamma[[0] * count], gamma[[1, 2, 2]]]),
                   **options)  # fmt: skip
    for name in ("means", "variances", "totals", "spreads"):
        np.testing.assert_allclose(getattr(clumped, name), getattr(copies, name), rtol=1e-12)
    np.testing.assert_allclose(clumped.sweep(second_order).gamma[0], copies.sweep(second_order).gamma[0], rtol=1e-12)
    # and the clump's new responsibilities moved all copies
    np.testing.assert_allclose(clumped.doc_topic.sum(), count + 3, rtol=1e-12)


def test_without_variances_cvb_is_cvb0():
    """Where all responsibilities are 0 or 1 there are no variances, up to the first update."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        state = State(6, seed=seed, n_documents=5)
        hard = np.eye(6)[rng.integers(6, size=len(state.indices))]
        for d in range(5):
            first = slice(state.indptr[d], state.indptr[d] + 1)
            one, two = (
                entry(state.indices[first], state.counts[first], hard[first], n_words=12, alpha=state.alpha,
                      others=state.means).sweep(second_order)
                for second_order in ORDERS
            )  # fmt: skip
            np.testing.assert_allclose(one.gamma, two.gamma, rtol=1e-12)
            np.testing.assert_allclose(one.means, two.means, rtol=1e-12)


@pytest.mark.parametrize(("alpha", "largest"), [(1.0, 0.005), (0.1, 0.02)])
def test_second_order_expectation_of_the_logarithm(alpha, largest):
    """A topic of a document with uninformative words: log weights are E[log(alpha + n)] ([TNW07] Eq. 17)."""
    rng = np.random.default_rng(3)
    for n in (10, 14, 40):
        for _ in range(30):
            p = rng.beta(0.5, 0.5, size=n)
            p[0], p[1] = 0.7, 0.6  # no topic without tokens
            gamma = np.column_stack([p, 1 - p])
            state = entry(np.arange(n + 1), np.ones(n + 1), np.vstack([[0.5, 0.5], gamma]), n_words=n + 1,
                          alpha=[alpha, alpha], beta=1e9).sweep(True)  # fmt: skip
            got = np.log(state.gamma[0, 0] / state.gamma[0, 1])
            exact = [reference.exact_expectation(np.log, q, alpha) for q in (p, 1 - p)]
            assert abs(got - (exact[0] - exact[1])) < 2 * largest
            if alpha == 1.0:  # the first order is worse
                assert abs(got - (exact[0] - exact[1])) < 0.02
    zero = entry(np.arange(11), np.ones(11), np.full((11, 2), 0.5), n_words=11, alpha=[alpha, 3.0], beta=1e9)
    plain = np.log(zero.sweep(False).gamma[0])
    half = np.full(10, 0.5)
    exact = [reference.exact_expectation(np.log, half, a) for a in (alpha, 3.0)]
    assert abs(plain[0] - plain[1] - (exact[0] - exact[1])) > 0.015


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("second_order", ORDERS)
@pytest.mark.usefixtures("instruction_set")
def test_types_without_responsibilities_are_read_from_the_beginning(second_order, dtype):
    """Rows of zeros contribute nothing and have nothing to take away: the first sweep over given topics."""
    state = State(5, dtype=dtype)
    state.gamma[...] = 0.0
    topics = np.random.default_rng(1).gamma(1.0, size=state.means.shape)
    state.means[...], state.totals[...] = topics, topics.sum(axis=0)
    state.variances[...], state.spreads[...] = 0.0, 0.0
    gamma, means = np.zeros(state.gamma.shape), topics.copy()
    variances = np.zeros(means.shape) if second_order else None
    reference.cvb_sweep(state.corpus, state.alpha.astype(np.float64), state.beta, gamma, means, variances)
    state.sweep(second_order)
    np.testing.assert_allclose(state.gamma, gamma, rtol=1e-9 if dtype == np.float64 else 1e-3, atol=1e-5)
    np.testing.assert_allclose(state.gamma.sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("second_order", ORDERS)
@pytest.mark.parametrize("prior", [1e-2, 1e-6, 1e-12])
@pytest.mark.usefixtures("instruction_set")
def test_tiny_priors_give_distributions(prior, second_order, dtype):
    state = State(9, dtype=dtype, seed=4)
    state.alpha[...], state.beta = prior, prior
    for _ in range(5):
        state.sweep(second_order)
    assert np.isfinite(state.gamma).all()
    np.testing.assert_allclose(state.gamma.sum(axis=1), 1.0, rtol=1e-4)
    assert (state.means >= 0).all()
    assert np.isfinite(state.sums).all()


@pytest.mark.parametrize("second_order", ORDERS)
def test_blocks_follow_one_another(second_order):
    whole, parts = State(6, weighted=True), State(6, weighted=True)
    whole.sweep(second_order)
    gamma, sums = parts.gamma, np.zeros(3)
    second = (parts.variances, parts.spreads) if second_order else (None, None)
    for a, b in ((0, 3), (3, 4), (4, 9)):
        first, last = parts.indptr[a], parts.indptr[b]
        some = parts.indptr[a : b + 1] - first, parts.indices[first:last], parts.counts[first:last], parts.weight[a:b]
        _cvb.sweep(Entries(*some), parts.alpha, parts.beta, gamma[first:last], parts.means, parts.totals, *second,
                   None, sums)  # fmt: skip
    np.testing.assert_array_equal(parts.gamma, whole.gamma)
    np.testing.assert_array_equal(parts.means, whole.means)
    np.testing.assert_allclose(sums, whole.sums, rtol=1e-12)


def test_document_part_of_the_bound():
    for weighted in (False, True):
        state = State(4, weighted=weighted).sweep(True)
        want = 0.0
        for d, n in enumerate(state.doc_topic):
            mine = slice(state.indptr[d], state.indptr[d + 1])
            g, c, w = state.gamma[mine], state.counts[mine], state.weight[d] if weighted else 1.0
            spread = c @ (g * (1 - g))
            each = [reference.expected_log_gamma(*row) for row in zip(n, spread, state.alpha, strict=True)]
            total = state.alpha.sum()
            want += w * (sum(each) + gammaln(total) - gammaln(total + c.sum()))
        assert state.sums[2] == pytest.approx(want, rel=1e-9)


def test_expected_log_gamma_is_nearly_exact():
    """Exact for one token and for tokens that are alike; within a tenth of a nat elsewhere, for every prior."""
    rng = np.random.default_rng(0)

    def both(p, prior):
        means, variances = np.array([[p.sum()]]), np.array([[(p * (1 - p)).sum()]])
        got = _cvb.expected_log_gamma_sum(means, variances, prior)
        assert got == pytest.approx(reference.expected_log_gamma(p.sum(), variances[0, 0], prior), rel=1e-9, abs=1e-12)
        return got, reference.exact_expectation(gammaln, p, prior) - gammaln(prior)

    for prior in (0.01, 0.1, 1.0):
        for p in (1e-6, 0.3, 1.0 - 1e-13, 1.0):
            got, exact = both(np.array([p]), prior)
            assert got == pytest.approx(exact, rel=1e-6, abs=1e-8)
        for n in (2, 5, 30):
            for _ in range(20):
                got, exact = both(rng.beta(0.5, 0.5, size=n) * rng.choice([0.01, 1.0]), prior)
                assert abs(got - exact) < 0.3
    assert _cvb.expected_log_gamma_sum(np.zeros((2, 3)), np.zeros((2, 3)), 0.1) == 0.0


@pytest.mark.parametrize("change", ["alpha", "totals", "means", "gamma", "counts", "indices", "weight", "spreads"])
def test_wrong_shapes_are_refused(change):
    state = State(5, weighted=True)
    if change == "indices":
        state.indices[0] = state.n_words
    else:
        setattr(state, change, np.ascontiguousarray(getattr(state, change)[..., :-1]))
    with pytest.raises(ValueError, match="must"):
        state.sweep(second_order=True)


def test_what_is_read_may_be_read_only():
    state = State(5, weighted=True)
    for array in (state.indptr, state.indices, state.counts, state.weight, state.alpha):
        array.flags.writeable = False
    state.sweep(True)
    state.gamma.flags.writeable = False
    state.recount()


# -- Gibbs


class Chain(State):
    """Documents of whole tokens with a topic each."""

    def __init__(self, n_components=5, dtype=np.float64, seed=0, weighted=False, **options):
        super().__init__(n_components, dtype=dtype, seed=seed, weighted=weighted, whole=True, **options)
        n_tokens = int(self.counts.sum())
        self.topics = np.random.default_rng(seed).integers(n_components, size=n_tokens, dtype=np.int32)
        self.table = np.zeros((self.n_words, n_components))
        _gibbs.add_up(self.entries, self.topics, self.table)
        self.totals, self.table = self.table.sum(axis=0), self.table.astype(dtype)

    def draw(self, seed=7, number=0, first_row=0):
        self.doc_topic = np.full((len(self.indptr) - 1, self.table.shape[1]), np.nan, dtype=self.dtype)
        self.sums = np.zeros(2)
        _gibbs.sweep(self.entries, self.alpha, self.beta, seed, first_row, number, self.topics, self.table, self.totals,
                     self.doc_topic, self.sums)  # fmt: skip
        return self

    def documents(self):
        tokens = [np.repeat(self.indices[a:b], self.counts[a:b].astype(int))
                  for a, b in zip(self.indptr[:-1], self.indptr[1:], strict=True)]  # fmt: skip
        return [list(map(int, row)) for row in tokens]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_components", SIZES)
@pytest.mark.usefixtures("instruction_set")
def test_draws_equal_plain_numpy(n_components, weighted, dtype):
    chain = Chain(n_components, dtype=dtype, weighted=weighted, seed=n_components)
    topics, table = chain.topics.copy(), chain.table.astype(np.float64)
    for number in range(4):
        moved = reference.gibbs_sweep(
            chain.corpus, chain.alpha.astype(np.float64), chain.beta, topics, table, 7, 3, number, chain.weight
        )
        chain.draw(number=number, first_row=3)
        np.testing.assert_array_equal(chain.topics, topics)
        np.testing.assert_allclose(chain.table, table, atol=1e-12)
        np.testing.assert_allclose(chain.totals, table.sum(axis=0), atol=1e-12)
        assert chain.sums[0] == pytest.approx(moved)
    documents = np.repeat(np.arange(9), [len(row) for row in chain.documents()])
    want = np.zeros(chain.doc_topic.shape)
    np.add.at(want, (documents, topics), 1.0)
    np.testing.assert_array_equal(chain.doc_topic, want)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.usefixtures("instruction_set")
def test_tokens_without_a_topic_are_in_no_count(weighted):
    chain = Chain(6, weighted=weighted)
    chain.topics[...] = -1
    topics = np.random.default_rng(1).gamma(1.0, size=chain.table.shape)
    chain.table[...], chain.totals[...] = topics, topics.sum(axis=0)
    z = chain.topics.copy()
    reference.gibbs_sweep(chain.corpus, chain.alpha, chain.beta, z, topics, 7, 0, 0, chain.weight)
    chain.draw()
    np.testing.assert_array_equal(chain.topics, z)
    assert (chain.topics >= 0).all()


@pytest.mark.parametrize("n_components", SIZES)
@pytest.mark.usefixtures("instruction_set")
def test_conditional_is_a_ratio_of_joint_probabilities(n_components):
    chain = Chain(n_components, n_documents=4, n_words=6, seed=n_components)
    documents, position = chain.documents(), 0
    for row in documents:
        own = np.bincount(chain.topics[position : position + len(row)], minlength=n_components).astype(float)
        for at, word in enumerate(row):
            old = chain.topics[position + at]
            got = _gibbs.conditional(own, chain.alpha, chain.table, chain.totals, chain.beta, word, old, 1.0)
            logs = []
            for k in range(n_components):
                z = chain.topics.copy()
                z[position + at] = k
                logs.append(reference.log_joint(documents, z, chain.alpha, chain.beta, chain.n_words))
            want = np.exp(np.array(logs) - max(logs))
            np.testing.assert_allclose(got, want / want.sum(), rtol=1e-10, atol=1e-12)
        position += len(row)




def tiny_chain(words=3, n_components=2):
    chain = object.__new__(Chain)
    chain.n_words, chain.dtype, chain.weight = words, np.float64, None
    chain.indptr = np.array([0, 2, 5])
    chain.indices, chain.counts = np.array([0, 1, 0, 1, 2], dtype=np.int32), np.array([1.0, 2, 1, 1, 1])
    chain.alpha, chain.beta = np.full(n_components, 0.5), 0.3
    chain.topics, chain.table = np.zeros(6, dtype=np.int32), np.zeros((words, n_components))
    _gibbs.add_up(Entries(chain.indptr, chain.indices, chain.counts), chain.topics, chain.table)
    chain.totals = chain.table.sum(axis=0)
    return chain


def distance(states, probabilities):
    """Total variation between visited states and all states with their probabilities."""
    return np.abs(np.bincount(states, minlength=len(probabilities)) / len(states) - probabilities).sum() / 2


@pytest.mark.slow
def test_long_chain_visits_states_as_often_as_they_are_probable():
    chain, powers = tiny_chain(), 2 ** np.arange(5, -1, -1)
    probabilities, _ = reference.posterior([[0, 1, 1], [0, 1, 2]], chain.alpha, 0.3, 3)
    states = np.empty(40_000, dtype=int)
    for number in range(len(states)):
        states[number] = chain.draw(seed=11, number=number).topics @ powers
    assert distance(states, probabilities) < 0.02
    np.testing.assert_array_equal(chain.table.sum(), 6)


@pytest.mark.parametrize("weighted", [False, True])
def test_log_probability_of_the_topics(weighted):
    chain = Chain(5, weighted=weighted).draw()
    alpha, weight = chain.alpha, chain.weight if weighted else np.ones(9)
    each = gammaln(alpha + chain.doc_topic).sum(axis=1) - gammaln(alpha).sum()
    each += gammaln(alpha.sum()) - gammaln(alpha.sum() + chain.doc_topic.sum(axis=1))
    assert chain.sums[1] == pytest.approx(weight @ each, rel=1e-12)


def test_every_topic_is_drawn_as_often_as_it_should():
    """A thousand documents of one token in a corpus that is fixed: frequencies against the conditional."""
    rng = np.random.default_rng(0)
    n, n_components = 20_000, 21
    table = rng.gamma(0.5, size=(1, n_components)) * 1e6  # one token more or less does not matter
    alpha = rng.uniform(0.1, 1.0, size=n_components)
    topics, sums = np.full(n, -1, dtype=np.int32), np.zeros(2)
    want = alpha * (0.1 + table[0]) / (0.1 + table[0].copy())
    totals = table[0].copy()
    entries = Entries(np.arange(n + 1), np.zeros(n, np.int32), np.ones(n))
    _gibbs.sweep(entries, alpha, 0.1, 3, 0, 0, topics, table, totals,
                 None, sums)  # fmt: skip
    want /= want.sum()
    got = np.bincount(topics, minlength=n_components)
    assert ((got - n * want) ** 2 / (n * want)).sum() < 20 + 4 * np.sqrt(2 * 20)


def test_random_numbers_differ_by_seed_row_sweep_and_token():
    numbers = {
        reference.uniform(s, r, w, t) for s in range(90, 94) for r in range(4) for w in range(4) for t in range(4)
    }
    assert len(numbers) == 256
    chain, other = Chain(8).draw(seed=1), Chain(8).draw(seed=2)
    assert not np.array_equal(chain.topics, other.topics)
    later = Chain(8).draw(seed=1, number=1)
    assert not np.array_equal(chain.topics, later.topics)
    moved = Chain(8).draw(seed=1, first_row=1)
    assert not np.array_equal(chain.topics, moved.topics)


def test_all_instruction_sets_draw_the_same_topics():
    found = []
    before = _simd.instruction_set()
    try:
        for name in _simd.INSTRUCTION_SETS[: _simd.INSTRUCTION_SETS.index(before) + 1]:
            _simd.use_instruction_set(name)
            chain = Chain(35, seed=2, dtype=np.float32)
            for number in range(30):
                chain.draw(number=number)
            found.append(chain.topics)
    finally:
        _simd.use_instruction_set(before)
    for other in found:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("change", ["alpha", "totals", "topics", "counts", "indices", "weight", "large topic"])
def test_wrong_shapes_of_a_chain_are_refused(change):
    chain = Chain(5, weighted=True)
    if change == "indices":
        chain.indices[0] = chain.n_words
    elif change == "large topic":
        chain.topics[0] = 5
    else:
        setattr(chain, change, getattr(chain, change)[:-1])
    with pytest.raises(ValueError, match="must"):
        chain.draw()
