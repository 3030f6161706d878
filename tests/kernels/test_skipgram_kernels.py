"""Positions and their contexts: the compiled loops against plain NumPy and exact laws."""

import numpy as np
import pytest
import reference_skipgram as twin
from scipy.special import logsumexp
from sparsemix._kernels.collapsed._mhw import WordTables

from sparsemix._kernels.skipgram import _positions, _walk

DTYPES = [np.float32, np.float64]
V, K = 8, 5


def rtol_of(dtype):
    return 1e-10 if dtype == np.float64 else 2e-4


class Setting:
    """Some documents with topics, counts, and the tables of logarithms that follow from them."""

    def __init__(self, seed=0, dtype=np.float64, window=3, n_components=K, n_words=V, gaps=True, longest=12):
        rng = self.rng = np.random.default_rng(seed)
        self.dtype, self.window, self.n_components, self.n_words = dtype, window, n_components, n_words
        self.documents = twin.random_documents(rng, n_words=n_words, longest=longest, gaps=gaps)
        self.positions = twin.contexts(self.documents, window)
        self.indptr, self.places, self.words = self.block = twin.block(self.documents)
        self.topics = rng.integers(n_components, size=len(self.words)).astype(np.int32)
        self.alpha, self.beta = rng.uniform(0.1, 0.6, size=n_components), 0.3
        self.inputs, self.counts = twin.counts(self.positions, self.topics, n_words, n_components)
        self.numbers = np.arange(len(self.documents)) + 50

    @property
    def kernel_block(self):
        return _positions.Positions(*self.block, self.window)

    @property
    def priors(self):
        return _positions.Priors(self.alpha, self.beta)

    def tables(self):
        """input_table, table, totals, and their logarithms."""
        dtype, every = self.dtype, np.arange(self.n_words, dtype=np.int32)
        inputs, counts = self.inputs.astype(dtype), self.counts.astype(dtype)
        totals = self.counts.sum(axis=0)
        input_logs = _positions.log_table(self.n_words, self.n_components, dtype)
        context_logs = _positions.log_table(self.n_words, self.n_components, dtype)
        _positions.log_rows(inputs, every, None, 1.0, self.alpha, input_logs)
        _positions.log_rows(counts, every, None, 1.0, np.full(self.n_components, self.beta), context_logs)
        total_logs = _positions.total_rows(totals, self.n_words * self.beta, self.window, dtype)
        return inputs, counts, totals, input_logs, context_logs, total_logs

    def sweep(self, tables, number, conditional=None, topics=None):
        topics = self.topics if topics is None else topics
        return _positions.sweep(self.kernel_block, self.priors, 7, 0, number, topics, *tables, conditional)

    def walk(self, word_tables, tables, sweep, n_samples=3, temperature=1.0, visit=0, states=None, topics=None):
        tally = np.zeros(3, dtype=np.int64)
        topics = self.topics if topics is None else topics
        inputs, counts, totals = tables[:3]
        if sweep:
            _walk.sweep(
                self.kernel_block, self.numbers, word_tables, self.priors, temperature, 3, visit, n_samples, inputs,
                counts, totals, topics, tally,
            )  # fmt: skip
            return tally
        _walk.walk(
            self.kernel_block, self.numbers, word_tables, self.priors, temperature, 3, visit, n_samples, inputs,
            counts, totals, topics, states, tally,
        )  # fmt: skip
        return tally

    def word_tables(self, counts, totals):
        tables = WordTables(self.n_words, self.n_components, counts.dtype)
        inverse = 1.0 / (totals + self.n_words * self.beta)
        tables.clear(np.ones(self.n_components), inverse, self.beta)
        tables.build(np.arange(self.n_words, dtype=np.int32), counts, 1.0)
        return tables


# -- contexts


@pytest.mark.parametrize("window", [1, 2, 5, 40])
@pytest.mark.parametrize("gaps", [False, True])
def test_pairs_are_those_of_the_contexts(window, gaps):
    s = Setting(window=window, gaps=gaps)
    starts = np.empty(V + 1, dtype=np.int64)
    n = _positions.pairs(s.kernel_block, starts, None)
    centres = np.empty(n, dtype=np.int32)
    assert _positions.pairs(s.kernel_block, starts, centres) == n == sum(len(around) for _, around in s.positions)
    for v in range(V):
        wanted = [i for i, (_, around) in enumerate(s.positions) for word in around if word == v]
        assert list(centres[starts[v] : starts[v + 1]]) == wanted


def test_counts_of_topics():
    s = Setting()
    inputs, counts = np.zeros((2, V, K))
    _positions.add_up(s.kernel_block, s.topics, counts, inputs)
    np.testing.assert_array_equal(inputs, s.inputs)
    np.testing.assert_array_equal(counts, s.counts)
    usable = sum(bool(around) for _, around in s.positions)
    assert inputs.sum() == usable
    assert counts.sum() == sum(len(around) for _, around in s.positions)


# -- the conditional


def test_conditional_is_the_ratio_of_joints():
    """On a text of seven tokens, window 2, and whatever the order of the context."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        documents = [[(p, int(w)) for p, w in enumerate(rng.integers(3, size=7))]]
        positions = twin.contexts(documents, 2)
        topics = rng.integers(K, size=7)
        alpha, beta = rng.uniform(0.1, 1.0, K), 0.2
        i = int(rng.integers(7))
        joints = []
        for k in range(K):
            topics[i] = k
            joints.append(twin.log_joint(*twin.counts(positions, topics, 3, K), alpha, beta))
        word, around = positions[i]
        inputs, words = twin.counts([*positions[:i], (0, []), *positions[i + 1 :]], topics, 3, K)
        p = twin.softmax(twin.log_conditional(word, around, inputs, words, alpha, beta))
        np.testing.assert_allclose(p, twin.softmax(np.array(joints)), rtol=1e-12)
        for order in (around[::-1], sorted(around)):
            np.testing.assert_allclose(
                twin.softmax(twin.log_conditional(word, order, inputs, words, alpha, beta)), p, rtol=1e-12
            )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_components", [1, 5, 16, 37])
@pytest.mark.parametrize("known", [True, False])
def test_conditional_of_a_sweep(dtype, n_components, known, instruction_set):  # noqa: ARG001
    repeated = 0
    for seed in range(5):
        s = Setting(seed, dtype, n_components=n_components, n_words=3, gaps=False)
        i = next(i for i, (_, around) in enumerate(s.positions) if around)
        word, around = s.positions[i]
        repeated += len(set(around)) < len(around)  # in one context, where each time counts the ones before
        without = [*s.positions[:i], (0, []), *s.positions[i + 1 :]]
        left = twin.counts(without, s.topics, 3, n_components)
        if not known:
            s.topics[i] = -1
            s.inputs, s.counts = left
        p = np.empty(n_components)
        assert s.sweep(s.tables(), 0, p) == 0
        wanted = twin.softmax(twin.log_conditional(word, around, *left, s.alpha, s.beta))
        np.testing.assert_allclose(p, wanted, rtol=rtol_of(dtype))
    assert repeated > 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("window", [1, 3, 30])
def test_sweeps_keep_counts_and_logarithms(dtype, window, instruction_set):  # noqa: ARG001
    s = Setting(1, dtype, window=window, longest=25)
    tables, moved = s.tables(), 0
    for number in range(20):
        moved += s.sweep(tables, number)
    assert moved > 0
    s.inputs, s.counts = twin.counts(s.positions, s.topics, V, K)
    for mine, wanted in zip(tables, s.tables(), strict=True):
        np.testing.assert_allclose(mine[..., :K], wanted[..., :K], rtol=rtol_of(dtype), atol=rtol_of(dtype))


def enumerated(kind, n_sweeps=40_000):
    """Frequencies of the states of a tiny text, and their probabilities."""
    n_components = 2
    documents = [[(0, 0), (1, 1), (2, 0)], [(0, 2), (1, 0)]]  # a context with a word twice, which another has too
    s = Setting(n_components=n_components, n_words=3, window=1)
    s.documents, s.positions, s.block = documents, twin.contexts(documents, 1), twin.block(documents)
    s.alpha, s.beta, s.numbers = np.array([0.4, 0.7]), 0.5, np.arange(2)
    s.topics = np.zeros(5, dtype=np.int32)
    s.inputs, s.counts = twin.counts(s.positions, s.topics, 3, n_components)
    tables, seen = s.tables(), {}
    word_tables = s.word_tables(tables[1], tables[2])  # never computed again: proposals are stale
    for number in range(n_sweeps):
        if kind == "gibbs":
            s.sweep(tables, number)
        else:
            s.walk(word_tables, tables, True, n_samples=2, visit=number)
        state = tuple(int(k) for k in s.topics)
        seen[state] = seen.get(state, 0) + 1
    states, p = twin.posterior(s.positions, 3, n_components, s.alpha, s.beta)
    return np.array([seen.get(state, 0) for state in states]) / n_sweeps, p


@pytest.mark.parametrize("kind", ["gibbs", "mhw"])
def test_stationary_distribution_by_enumeration(kind):
    frequencies, p = enumerated(kind)
    assert 0.5 * np.abs(frequencies - p).sum() < 0.02


# -- positions under frozen tables


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_components", [1, 5, 37])
@pytest.mark.parametrize("temperature", [1.0, 3.0, 1e-5, 1e30, 1e300])
def test_positions_under_frozen_counts(dtype, n_components, temperature, instruction_set):  # noqa: ARG001
    s = Setting(2, dtype, n_components=n_components)
    _, counts, _, *logs = s.tables()
    n_tokens, m = len(s.words), 64
    topics, log_sums = np.empty((n_tokens, m), dtype=np.int32), np.empty(n_tokens)
    resp, sizes = np.empty((n_tokens, n_components), dtype=dtype), np.empty(n_tokens, dtype=np.int32)
    slots = np.arange(V, dtype=np.int32)
    _positions.positions(
        s.kernel_block, slots, *logs, counts, s.priors, temperature, n_components, s.numbers, 5, 2, topics, log_sums,
        resp, sizes,
    )  # fmt: skip
    assert list(sizes) == [len(around) for _, around in s.positions]
    for i, (word, around) in enumerate(s.positions):
        logs_i = twin.log_conditional(word, around, s.inputs, s.counts, s.alpha, s.beta)
        p = twin.softmax(logs_i / temperature)
        if temperature > 1e-3:  # else a difference in the last bits is one in everything
            np.testing.assert_allclose(resp[i], p, rtol=rtol_of(dtype), atol=1e-30)
            assert (np.abs(np.bincount(topics[i], minlength=n_components) / m - p) < 1.0 / m + 1e-3).all()
            if temperature == 1.0:
                assert log_sums[i] == pytest.approx(logsumexp(logs_i), rel=1e-4)
        else:
            assert resp[i].max() > 0.99
            assert logs_i[resp[i].argmax()] == pytest.approx(logs_i.max(), abs=1e-4)
    assert np.isfinite(resp).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_samples_of_chains_have_the_mean_of_the_responsibilities(dtype):
    s = Setting(4, dtype)
    tables = s.tables()
    word_tables = s.word_tables((tables[1] * 0.5).astype(dtype), tables[2])  # stale
    n_tokens, n_samples = len(s.words), 20_000
    states, topics = np.empty((n_tokens, n_samples), dtype=np.int32), np.full(n_tokens, -1, dtype=np.int32)
    tally = s.walk(word_tables, tables, False, n_samples, states=states, topics=topics)
    live = [i for i, (_, around) in enumerate(s.positions) if around]
    assert tally[0] == n_samples * len(live)
    assert 0 < tally[1] <= tally[0]
    for i in live:
        word, around = s.positions[i]
        p = twin.softmax(twin.log_conditional(word, around, s.inputs, s.counts, s.alpha, s.beta))
        assert 0.5 * np.abs(np.bincount(states[i], minlength=K) / n_samples - p).sum() < 0.05
    np.testing.assert_array_equal(topics[live], states[live, -1])
    np.testing.assert_array_equal(tables[1], s.counts)


def test_chain_leaves_its_target_invariant():
    """A kernel for each expert, from the acceptance alone, at any temperature and for any stale tables."""
    rng = np.random.default_rng(0)
    for temperature in (1.0, 0.3, 2.0):
        log_pi, q = rng.normal(size=K), rng.dirichlet(np.ones(K), size=4)
        target = twin.softmax(log_pi / temperature)
        for correct in (True, False):
            kernel = np.zeros((K, K))
            for e in q:
                density = e if correct else np.roll(e, 1)
                move = np.array([
                    [e[new] * _walk.acceptance(log_pi[new], log_pi[old], density[new], density[old], temperature)
                     for new in range(K)] for old in range(K)
                ])  # fmt: skip
                np.fill_diagonal(move, 0.0)
                np.fill_diagonal(move, 1.0 - move.sum(axis=1))
                kernel += move / len(q)
            error = np.abs(target @ kernel - target).max()
            assert error < 1e-12 if correct else error > 1e-3


def test_cold_chains_only_climb():
    """As T goes to 0 a move must improve the target; nothing overflows at 1e-5."""
    assert _walk.acceptance(-10.0, -10.5, 0.1, 0.9, 1e-5) == 1.0
    assert _walk.acceptance(-10.5, -10.0, 0.9, 0.1, 1e-5) == 0.0
    assert 0.0 < _walk.acceptance(-10.0, -10.0, 0.2, 0.1, 1e-5) < 1.0
    s = Setting(5)
    tables = s.tables()
    word_tables = s.word_tables(tables[1], tables[2])
    before = s.topics.copy()
    s.walk(word_tables, tables, False, 50, 1e-5)
    for i, (word, around) in enumerate(s.positions):
        logs = twin.log_conditional(word, around, s.inputs, s.counts, s.alpha, s.beta)
        assert logs[s.topics[i]] >= logs[before[i]]


def test_walking_sweeps_keep_counts():
    s = Setting(6)
    tables = s.tables()
    word_tables = s.word_tables(tables[1], tables[2])
    moved = sum(s.walk(word_tables, tables, True, visit=visit)[2] for visit in range(10))
    assert moved > 0
    inputs, counts = twin.counts(s.positions, s.topics, V, K)
    np.testing.assert_array_equal(tables[0], inputs)
    np.testing.assert_array_equal(tables[1], counts)
    np.testing.assert_allclose(tables[2], counts.sum(axis=0))


def test_documents_do_not_depend_on_each_other():
    s = Setting(7)
    tables = s.tables()
    word_tables = s.word_tables(tables[1], tables[2])
    whole, parts = np.full((2, len(s.words)), -1, dtype=np.int32)
    s.walk(word_tables, tables, False, topics=whole)
    (indptr, places, words), numbers = s.block, s.numbers
    for d in range(len(numbers)):
        a, b = indptr[d], indptr[d + 1]
        s.block, s.numbers = (np.array([0, b - a]), places[a:b], words[a:b]), numbers[d : d + 1]
        s.walk(word_tables, tables, False, topics=parts[a:b])
    np.testing.assert_array_equal(whole, parts)


def test_wrong_arguments_are_refused():
    s = Setting()
    tables = s.tables()
    s.topics[0] = K
    with pytest.raises(ValueError, match="topics must be"):
        s.sweep(tables, 0)
    s.topics[0] = 0
    s.places[1:] = 3
    with pytest.raises(ValueError, match="increase"):
        s.sweep(tables, 0)
    s = Setting()
    word_tables = WordTables(V, K, np.float64)
    word_tables.clear(np.ones(K), np.ones(K), 0.1)
    with pytest.raises(ValueError, match="no table"):
        s.walk(word_tables, s.tables(), False)
