"""Frozen proposals of words and the chains of documents: the compiled loops against plain NumPy and exact laws."""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import reference_chains as twin
from scipy import sparse
from scipy.special import gammaln
from sparsemix._kernels.documents._entries import Entries
from test_alias import chi_square

from sparsemix._kernels.collapsed import _mhw

DTYPES = [np.float32, np.float64]
K = 30


def rtol_of(dtype):
    return 1e-12 if dtype == np.float64 else 1e-6


class Setting:
    """Topics as they were when the proposals were made (``then``) and as they are (``now``), and documents.

    Document 3 is empty. With ``fresh``, nothing has changed since.
    """

    def __init__(self, seed=0, dtype=np.float64, n_words=40, n_components=K, n_documents=12, offset=0.0, fresh=False):
        self.rng = rng = np.random.default_rng(seed)
        self.dtype, self.fresh = dtype, fresh
        table = rng.gamma(1.0, 5.0, size=(n_words, n_components)) * (rng.random((n_words, n_components)) < 0.3)
        alpha = rng.uniform(0.05, 0.3, size=n_components)
        self.then = self.topics(table, 0.7, offset, alpha)
        table = table * (rng.random(table.shape) < 0.7) + 4.0 * (rng.random(table.shape) < 0.1)
        self.now = self.then if fresh else self.topics(table, 0.5, 0.9 * offset, alpha)
        lengths = rng.integers(1, 12, size=n_documents)
        lengths[3 % n_documents] = 0
        self.documents = sparse.csr_array(
            (
                rng.integers(1, 4, size=lengths.sum()).astype(dtype),
                np.concatenate([rng.permutation(n_words)[:n] for n in lengths]).astype(np.int32),
                np.concatenate([[0], np.cumsum(lengths)]),
            ),
            shape=(n_documents, n_words),
        )
        self.numbers = np.arange(n_documents) + 100
        self.start = None
        self.states = np.full(lengths.sum(), -1, dtype=np.int32)

    @property
    def entries(self):
        x = self.documents
        return Entries(x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data.astype(self.dtype))

    def topics(self, table, scale, offset, alpha, prior=0.01):
        table = np.ascontiguousarray(table, dtype=self.dtype)
        totals = scale * table.sum(axis=0, dtype=np.float64) + len(table) * (offset + prior)
        return twin.Topics(table, scale, offset, prior, 1.0 / totals, alpha)

    def warm(self, n_topics=4):
        """Recalled counts of each document, and states of chains, some of them none."""
        n, n_components = self.documents.shape[0], len(self.now.alpha)
        lengths = np.minimum(np.diff(self.documents.indptr), n_topics)
        topics = [self.rng.permutation(n_components)[:m].astype(np.int32) for m in lengths]
        shares = [self.rng.dirichlet(np.ones(m)) if m else np.empty(0) for m in lengths]
        totals = self.documents.sum(axis=1)
        self.start = (
            np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate(topics),
            np.concatenate([totals[d] * shares[d] for d in range(n)]).astype(self.dtype),
        )
        self.states = self.rng.integers(-1, n_components, size=self.documents.nnz).astype(np.int32)
        return self

    def tables(self, workers=None, smallest=0.0):
        out = _mhw.WordTables(*self.then.table.shape, self.dtype)
        out.clear(self.then.alpha, self.then.inverse, self.then.offset + self.then.prior)
        words = np.arange(len(self.then.table), dtype=np.int32)
        out.build(words, self.then.table, self.then.scale, workers=workers, smallest=smallest)
        return out

    def take(self, rows):
        """Some of the documents."""
        out = object.__new__(Setting)
        vars(out).update(vars(self))
        out.documents, out.numbers = self.documents[rows], self.numbers[rows]
        entries = [np.arange(self.documents.indptr[d], self.documents.indptr[d + 1]) for d in rows]
        out.states = self.states[np.concatenate(entries)] if entries else self.states[:0]
        if self.start is not None:
            shape = self.documents.shape[0], len(self.now.alpha)
            start = sparse.csr_array((self.start[2], self.start[1], self.start[0]), shape=shape)[rows]
            out.start = start.indptr.astype(np.int64), start.indices, start.data
        return out


class Result:
    """Arrays that ``sample_documents`` leaves, and the counts of documents dense, (n, K)."""

    def __init__(self, n_entries, n, n_samples, capacity, dtype):
        self.topics = np.full((n_entries, n_samples), -7, dtype=np.int32)
        self.values = np.full((n_entries, n_samples), np.nan, dtype=dtype)
        self.indptr, self.tally = np.full(n + 1, -1, dtype=np.int64), np.full((n, 3), -1, dtype=np.int64)
        self.out_topics, self.out_values = np.full(capacity, -7, dtype=np.int32), np.full(capacity, np.nan, dtype=dtype)

    def order(self, d):
        return self.out_topics[self.indptr[d] : self.indptr[d + 1]].tolist()

    def counts(self, n_components):
        used = self.indptr[-1]
        arrays = self.out_values[:used], self.out_topics[:used], self.indptr
        return sparse.csr_array(arrays, shape=(len(self.indptr) - 1, n_components)).toarray()

    def arrays(self):
        used = self.indptr[-1]
        return [self.topics, self.values, self.states, self.tally, self.out_topics[:used], self.out_values[:used]]


def sample(setting, settings, tables=None, scratch=None, n_even=0):
    s, now, x = settings, setting.now, setting.documents
    indptr, n_components = x.indptr.astype(np.int64), len(now.alpha)
    start = None
    if setting.start is not None:
        start = tuple(a.astype(t) for a, t in zip(setting.start, (np.int64, np.int32, setting.dtype), strict=True))
    capacity = _mhw.max_entries(indptr, start, n_components, s.n_samples, s.n_sweeps)
    out = Result(x.nnz, x.shape[0], s.n_samples, capacity, setting.dtype)
    out.states = setting.states.copy()
    out.even = np.full((x.nnz, n_even), -7, dtype=np.int32) if n_even else None
    kernel_settings = _mhw.Settings(
        now.scale, now.offset, now.prior, now.inverse, now.alpha, s.seed, s.visit, s.n_samples, s.n_sweeps, s.rho,
        s.sparsity, s.exclude, s.share, not s.check,
    )  # fmt: skip
    _mhw.sample_documents(
        setting.entries, setting.numbers, start, now.table, kernel_settings, tables or setting.tables(), out.states,
        out.topics, out.values, out.indptr, out.out_topics, out.out_values, out.tally,
        scratch or _mhw.ChainWorkspace(n_components, s.n_samples), out.even,
    )  # fmt: skip
    return out


def twin_document(setting, d, settings, proposals):
    x, start = setting.documents, setting.start
    entries = slice(x.indptr[d], x.indptr[d + 1])
    pairs = []
    if start is not None:
        own = slice(start[0][d], start[0][d + 1])
        pairs = list(zip(start[1][own].tolist(), start[2][own].tolist(), strict=True))
    types = x.indices[entries], x.data[entries]
    return twin.sample_document(
        *types, int(setting.numbers[d]), pairs, setting.now, proposals, setting.states[entries].tolist(), settings
    )


STEPS = 1.0 / (2.0 + np.arange(60)) ** 0.8
MODES = {
    "steps": {"rho": STEPS, "sparsity": 0.2},
    "steps of one": {"rho": np.array([1.0, 0.5, 0.25]), "sparsity": 0.0},
    "sums": {"exclude": "none"},
    "document": {"exclude": "document"},
    "both": {"exclude": "both"},
}


# -- proposals


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [0.0, 0.3])
@pytest.mark.parametrize("n_components", [1, 2, 15, 16, 17, 64, 100, 1030])
def test_densities_are_alpha_times_the_topics_of_a_word(n_components, offset, dtype):
    setting = Setting(1, dtype, n_words=20, n_components=n_components, offset=offset)
    then, tables = setting.then, setting.tables()
    for word in range(20):
        expected = then.alpha * then.factors(word)
        np.testing.assert_allclose(tables.density(word, range(n_components)), expected, rtol=10 * rtol_of(dtype))
        np.testing.assert_allclose(tables.sums()[word], expected.sum(), rtol=10 * rtol_of(dtype))


def without_the_shared_part(tables, word, u):
    return tables.draw(word, u * tables.total[word] / tables.sums()[word])


@pytest.mark.parametrize("draw", [_mhw.WordTables.draw, without_the_shared_part])
@pytest.mark.parametrize("dtype", DTYPES)
def test_draws_follow_the_density(draw, dtype):
    setting = Setting(2, dtype, offset=0.3)
    tables, u = setting.tables(), np.random.default_rng(0).random(100_000)
    right = []
    for word in range(4):
        p = tables.density(word, range(K)) / tables.sums()[word]
        right.append(chi_square(np.bincount(draw(tables, word, u), minlength=K), len(u) * p))
    assert all(right) if draw is _mhw.WordTables.draw else not any(right)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("topics", ["spread", "first", "last", "two ends"])
def test_densities_wherever_a_rows_topics_stand(topics, dtype):
    n_components = 2000
    where = {
        "spread": np.arange(3, n_components, 7),
        "first": np.arange(50),
        "last": np.arange(n_components - 50, n_components),
        "two ends": np.array([0, n_components - 1]),
    }[topics]
    table = np.zeros((3, n_components), dtype=dtype)
    table[1, where] = 1 + np.arange(len(where))
    tables = _mhw.WordTables(3, n_components, dtype)
    tables.clear(np.ones(n_components), np.ones(n_components), 0.5)
    tables.build(np.arange(3, dtype=np.int32), table, 2.0)
    np.testing.assert_allclose(tables.density(1, range(n_components)), 2.0 * table[1] + 0.5, rtol=rtol_of(dtype))
    assert list(tables.length) == [0, len(where), 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_components", [5, 16, 63, 64, 65, 1024, 2100])
def test_tables_have_the_topics_of_their_rows(n_components, dtype):
    rng = np.random.default_rng(n_components)
    table = sparse.random_array((300, n_components), density=0.05, rng=rng, dtype=dtype).toarray()
    table[7], table[8], table[9] = 0.0, 1.0, -0.0
    tables = _mhw.WordTables(300, n_components, dtype)
    tables.clear(np.ones(n_components), np.ones(n_components), 0.1)
    tables.build(np.arange(300, dtype=np.int32), table, 1.0)
    rows, topics = np.nonzero(table)
    np.testing.assert_array_equal(tables.pool[0][: tables.used], topics)
    np.testing.assert_array_equal(tables.pool[1][: tables.used], table[rows, topics])
    np.testing.assert_array_equal(tables.length, np.count_nonzero(table, axis=1))


class Threads:
    """The part of the engine's workers that tables use."""

    def __init__(self, n):
        self.n = n

    def split(self, function, n):
        bounds = [i * n // self.n for i in range(self.n + 1)]
        with ThreadPoolExecutor(self.n) as pool:
            for future in [pool.submit(function, a, b) for a, b in itertools.pairwise(bounds) if b > a]:
                future.result()


def test_tables_are_the_same_for_any_number_of_threads():
    setting = Setting(3)
    one, three = setting.tables(), setting.tables(Threads(3))
    assert one.used == three.used
    arrays = ([tables.length, tables.begin, tables.total, *tables.pool] for tables in (one, three))
    for a, b in zip(*arrays, strict=True):
        np.testing.assert_array_equal(a[: one.used], b[: one.used])


def test_tables_of_many_words_are_built_in_parts_of_exact_size(monkeypatch):
    rng = np.random.default_rng(0)
    table = rng.gamma(0.2, size=(300, 20)) * (rng.random((300, 20)) < 0.3)

    def built():
        tables = _mhw.WordTables(300, 20, np.float64)
        tables.clear(np.ones(20), np.ones(20), 0.1)
        for words in (np.arange(0, 300, 7), np.arange(300)):  # some are there before
            tables.build(words.astype(np.int32), table, 2.0, smallest=0.01)
        return tables

    whole = built()
    monkeypatch.setattr(_mhw, "AT_ONCE", 64)
    parts = built()
    assert len(parts.pool[0]) == parts.used == whole.used == (table > 0.005).sum()
    for one, other in zip(parts.pool, whole.pool, strict=True):
        np.testing.assert_array_equal(one, other[: whole.used])
    for name in ("begin", "length", "total"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_a_class_keeps_its_snapshot_and_the_next_one_forgets_it():
    setting = Setting(4)
    then, now, early = setting.then, setting.now, np.array([5, 2, 5], dtype=np.int32)
    tables = _mhw.WordTables(*then.table.shape, np.float64)
    tables.clear(then.alpha, then.inverse, then.offset + then.prior)
    tables.build(early, then.table, then.scale)
    assert list(np.flatnonzero(tables.length >= 0)) == [2, 5]
    tables.build(np.arange(40, dtype=np.int32), now.table, now.scale)  # words that come later, and those no more
    weight = then.alpha * then.inverse
    for word, topics in ((5, then), (6, now)):
        np.testing.assert_allclose(
            tables.density(word, range(K)), weight * (topics.scale * topics.table[word] + then.prior), rtol=1e-12
        )
    assert tables.nbytes == tables.used * 24
    tables.clear(now.alpha, now.inverse, now.prior)
    assert (tables.length == -1).all()
    tables.build(early, now.table, now.scale)
    np.testing.assert_allclose(tables.density(5, range(K)), now.alpha * now.factors(5), rtol=1e-12)


# -- acceptance


def kernel_matrix(target, sparse_part, frozen, accept):
    """(K, K) transition probabilities of the independence chain that proposes from p + q."""
    proposal = (sparse_part + frozen) / (sparse_part + frozen).sum()
    n = len(target)
    matrix = np.zeros((n, n))
    for old, new in itertools.permutations(range(n), 2):
        matrix[old, new] = proposal[new] * accept(old, new)
    matrix[np.diag_indices(n)] = 1.0 - matrix.sum(axis=1)
    return matrix


def random_parts(n_components, stale, seed):
    """Target f (N + alpha), sparse part N f, and dense part alpha f, frozen at another f when stale."""
    rng = np.random.default_rng(seed)
    alpha, factor = rng.gamma(0.5, size=n_components) + 0.01, rng.gamma(0.5, size=n_components) + 1e-3
    count = rng.gamma(0.5, size=n_components) * (rng.random(n_components) < 0.5)
    old = rng.gamma(0.5, size=n_components) + 1e-3 if stale else factor
    return factor * (count + alpha), count * factor, alpha * old


def our_ratio(target, p, q):
    return lambda old, new: _mhw.acceptance(target[new], target[old], p[new] + q[new], p[old] + q[old])


def parts_weighted_again(target, p, q):
    density = p * p.sum() + q * q.sum()
    return lambda old, new: min(1.0, target[new] / target[old] * density[old] / density[new])


def frozen_part_dropped(target, p, q):  # noqa: ARG001
    density = p + 1e-300
    return lambda old, new: min(1.0, target[new] / target[old] * density[old] / density[new])


def always(target, p, q):  # noqa: ARG001
    return lambda old, new: 1.0  # noqa: ARG005


@pytest.mark.parametrize("rule", [our_ratio, parts_weighted_again, frozen_part_dropped, always])
@pytest.mark.parametrize("n_components", [2, 5, 8])
def test_the_target_is_stationary_and_wrong_ratios_are_found(n_components, rule):
    errors = []
    for seed in range(20):
        target, p, q = random_parts(n_components, True, seed)
        pi = target / target.sum()
        matrix = kernel_matrix(target, p, q, rule(target, p, q))
        errors.append(np.abs(pi @ matrix - pi).max())
    assert max(errors) < 1e-12 if rule is our_ratio else max(errors) > 0.01


def test_fresh_proposals_are_always_accepted():
    for seed in range(20):
        target, p, q = random_parts(8, False, seed)
        accept = our_ratio(target, p, q)
        ratios = [accept(old, new) for old in range(8) for new in range(8)]
        np.testing.assert_allclose(ratios, 1.0, rtol=1e-12)


# -- chains against the twin


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("start", ["nothing", "recalled"])
@pytest.mark.parametrize("mode", MODES)
def test_chains_equal_the_twin_state_by_state(mode, start, fresh):
    setting = Setting(5, offset=0.2, fresh=fresh)
    if start == "recalled":
        setting.warm()
    settings = twin.Settings(11, 2, 5, 3, share=0.02, check=not fresh or mode == "both", **MODES[mode])
    ours, proposals = sample(setting, replace(settings, check=not fresh)), twin.Proposals(setting.then)
    for d in range(setting.documents.shape[0]):
        entries = slice(setting.documents.indptr[d], setting.documents.indptr[d + 1])
        drawn, counts, states, tally, _ = twin_document(setting, d, settings, proposals)
        assert ours.topics[entries].tolist() == drawn
        assert ours.states[entries].tolist() == states
        assert ours.tally[d].tolist() == tally.tolist()
        assert ours.order(d) == [k for k in counts.order if counts[k] > 0]
        values = ours.out_values[ours.indptr[d] : ours.indptr[d + 1]]
        np.testing.assert_allclose(values, [counts[k] for k in counts.order if counts[k] > 0], rtol=1e-10)
    np.testing.assert_array_equal(ours.values, np.repeat(setting.documents.data[:, None] / 5, 5, axis=1))


@pytest.mark.parametrize("mode", MODES)
def test_float32_tables_give_the_same_chains_nearly_everywhere(mode):
    single, double = Setting(6, np.float32).warm(), Setting(6, np.float64).warm()
    for name in ("then", "now"):
        topics = getattr(single, name)
        setattr(double, name, replace(topics, table=topics.table.astype(np.float64)))
    double.start = single.start[0], single.start[1], single.start[2].astype(np.float64)
    settings = twin.Settings(3, 0, 4, 3, **MODES[mode])
    one, other = sample(single, settings), sample(double, settings)
    assert (one.topics != other.topics).mean() < 0.05
    assert one.out_values.dtype == np.float32


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_documents_do_not_depend_on_the_others(mode, fresh):
    setting = Setting(7, fresh=fresh).warm()
    settings = twin.Settings(1, 4, 3, 2, check=not fresh, **MODES[mode])
    together, scratch = sample(setting, settings), _mhw.ChainWorkspace(K, 3)
    parts = [sample(setting.take(rows), settings, scratch=scratch) for rows in ([0], [1, 2, 3], list(range(4, 12)))]
    for whole, pieces in zip(together.arrays(), zip(*(part.arrays() for part in parts), strict=True), strict=True):
        np.testing.assert_array_equal(whole, np.concatenate(pieces))
    order = setting.rng.permutation(12)
    np.testing.assert_array_equal(sample(setting.take(order), settings).counts(K), together.counts(K)[order])


def test_seeds_visits_and_rows_change_the_draws():
    setting = Setting(8)
    base = twin.Settings(1, 1, 5, 2, rho=STEPS)
    one = sample(setting, base).topics
    assert (one == sample(setting, base).topics).all()
    for other in (replace(base, seed=2), replace(base, visit=2)):
        assert (one != sample(setting, other).topics).mean() > 0.2
    setting.numbers = setting.numbers + 1
    assert (one != sample(setting, base).topics).mean() > 0.2


# -- counts of documents


def averaged(setting, result):
    """gamma of each entry, (nnz, K)."""
    gamma = np.zeros((setting.documents.nnz, len(setting.now.alpha)))
    for d in range(result.topics.shape[1]):
        gamma[np.arange(len(gamma)), result.topics[:, d]] += 1.0 / result.topics.shape[1]
    return gamma


@pytest.mark.parametrize("mode", ["sums", "document", "both"])
@pytest.mark.parametrize("n_sweeps", [1, 2, 5])
def test_exact_sums_are_the_sums_of_the_last_responsibilities(n_sweeps, mode):
    setting = Setting(9).warm()
    setting.documents.data[::3] = 0.37  # counts below one are left out as far as they go
    result = sample(setting, twin.Settings(0, 0, 4, n_sweeps, **MODES[mode]))
    gamma = averaged(setting, result) * setting.documents.data[:, None]
    expected = np.add.reduceat(np.vstack([gamma, np.zeros(K)]), setting.documents.indptr[:-1], axis=0)
    expected[np.diff(setting.documents.indptr) == 0] = 0
    np.testing.assert_allclose(result.counts(K), expected, rtol=1e-12, atol=1e-12)


def test_recalled_counts_fade_in_the_first_sweep():
    setting = Setting(10).warm()
    proposals = twin.Proposals(setting.then)
    for d in range(12):
        history = twin_document(setting, d, twin.Settings(n_sweeps=2, exclude="document"), proposals)[-1]
        tokens = setting.documents.data[setting.documents.indptr[d] : setting.documents.indptr[d + 1]].sum()
        np.testing.assert_allclose([counts.sum() for counts, _ in history], tokens, rtol=1e-12)


def test_steps_keep_the_number_of_tokens():
    setting = Setting(11).warm()
    for settings in (twin.Settings(n_sweeps=4, rho=STEPS), twin.Settings(n_sweeps=1, rho=STEPS)):
        np.testing.assert_allclose(
            sample(setting, settings).counts(K).sum(axis=1), setting.documents.sum(axis=1), rtol=1e-12
        )


def test_a_clump_is_as_many_updates_with_one_gamma():
    setting = Setting(12, n_documents=40).take(range(4, 40)).warm()
    setting.documents = sparse.csr_array(np.eye(36, 40) * np.arange(2, 38)[:, None])  # one type a document
    setting.states, setting.start = setting.states[:36].copy(), None
    first = sample(setting, twin.Settings(n_sweeps=2, n_samples=5, rho=np.array([0.2])))
    second = sample(setting, twin.Settings(n_sweeps=1, n_samples=5, rho=np.array([0.2])))
    for d in range(36):
        tokens, before = d + 2, second.counts(K)[d]
        gamma = averaged(setting, first)[d]
        for _ in range(tokens):
            before = 0.8 * before + 0.2 * tokens * gamma
        np.testing.assert_allclose(first.counts(K)[d], before, rtol=1e-10, atol=1e-12)


def test_no_step_leaves_everything_and_a_whole_step_replaces():
    setting = Setting(13).warm()
    start = sparse.csr_array((setting.start[2], setting.start[1], setting.start[0]), shape=(12, K)).toarray()
    none = sample(setting, twin.Settings(n_sweeps=3, rho=np.zeros(1)))
    np.testing.assert_array_equal(none.counts(K), start)
    whole = sample(setting, twin.Settings(n_sweeps=2, rho=np.ones(1)))
    gamma, x = averaged(setting, whole), setting.documents
    for d in np.flatnonzero(np.diff(x.indptr)):
        np.testing.assert_allclose(whole.counts(K)[d], x[[d]].sum() * gamma[x.indptr[d + 1] - 1], rtol=1e-12)


def test_sparsification_drops_what_is_below_tau_rho_tokens():
    tau = 0.5
    setting = Setting(14).warm()
    for d in range(12):
        one, tokens = setting.take([d]), setting.documents[[d]].sum()
        rho = np.append(np.full(int(tokens), 0.15), 0.0)  # the last sweep changes nothing, so its start can be seen
        if tokens > 0:
            kept = sample(one, twin.Settings(n_sweeps=2, rho=rho, sparsity=tau)).counts(K)[0]
            every = sample(one, twin.Settings(n_sweeps=2, rho=rho)).counts(K)[0]
            np.testing.assert_array_equal(kept, np.where(every < tau * 0.15 * tokens, 0.0, every))
            assert (kept[kept > 0] >= tau * 0.15 * tokens).all()


def test_small_entries_are_not_handed_back_and_do_not_change_the_chains():
    setting = Setting(15).warm()
    settings = twin.Settings(n_sweeps=3, rho=STEPS)
    every, large = sample(setting, settings), sample(setting, replace(settings, share=0.1))
    lowest = 0.1 * setting.documents.sum(axis=1)[:, None]
    np.testing.assert_array_equal(large.counts(K), np.where(every.counts(K) < lowest, 0.0, every.counts(K)))
    np.testing.assert_array_equal(large.topics, every.topics)
    assert 0 < large.indptr[-1] < every.indptr[-1]


def test_lazy_factors_fold_before_they_vanish():
    setting = Setting(16).warm()
    result = sample(setting, twin.Settings(n_sweeps=60, rho=np.array([0.999])))
    np.testing.assert_allclose(result.counts(K).sum(axis=1), setting.documents.sum(axis=1), rtol=1e-9)
    assert (result.counts(K) >= 0).all()


# -- laws


def replications(n, fresh, seed=17):
    """Many copies of a document of one type, with the same recalled counts."""
    setting = Setting(seed, n_documents=1, n_components=8, fresh=fresh)
    setting.numbers = np.arange(n)
    setting.documents = sparse.csr_array(
        (np.full(n, 2.0), np.full(n, 5, dtype=np.int32), np.arange(n + 1)), shape=(n, 40)
    )
    topics, values = np.array([1, 4, 6], dtype=np.int32), np.array([1.0, 0.4, 0.6])
    setting.start = 3 * np.arange(n + 1), np.tile(topics, n), np.tile(values, n)
    setting.states = np.full(n, -1, dtype=np.int32)
    target = setting.now.factors(5) * (setting.now.alpha + np.bincount(topics, values, minlength=8))
    return setting, target / target.sum()


def test_the_mean_of_fresh_draws_is_the_responsibility():
    setting, gamma = replications(40_000, True)
    settings = twin.Settings(n_samples=3, n_sweeps=1, rho=np.array([0.1]), check=False)
    found = averaged(setting, sample(setting, settings))
    error = np.sqrt(gamma * (1 - gamma) / (3 * len(found)))
    assert (np.abs(found.mean(axis=0) - gamma) < 4 * error).all()
    assert sample(setting, settings).tally[:, 2].sum() == 3 * len(found)


@pytest.mark.parametrize("n_even", [1, 4, 16])
def test_even_topics_represent_equal_parts_of_the_responsibilities(n_even):
    """Their mean is gamma, their spread that of rounding rather than of chance, and the chain is what it was."""
    setting, gamma = replications(20_000, True)
    settings = twin.Settings(n_samples=2, n_sweeps=1, rho=np.array([0.1]), check=False)
    result = sample(setting, settings, n_even=n_even)
    np.testing.assert_array_equal(result.topics, sample(setting, settings).topics)
    shares = np.stack([(result.even == k).mean(axis=1) for k in range(8)], axis=1)
    error = np.sqrt(gamma * (1 - gamma) / (n_even * len(shares)))
    assert (np.abs(shares.mean(axis=0) - gamma) < 4 * error).all()
    if n_even > 1:
        assert shares.var(axis=0).sum() < 0.8 * (gamma * (1 - gamma)).sum() / n_even


def test_even_topics_of_old_tables_are_steps_of_the_chain():
    """In equilibrium their mean is that of the chain; without the acceptance check it is not."""
    setting, gamma = replications(3_000, False)
    found = {}
    for check in (True, False):
        settings = twin.Settings(n_samples=300, n_sweeps=1, rho=np.array([0.1]), check=check)
        even = sample(setting, settings, n_even=8).even
        found[check] = np.abs(np.bincount(even.ravel(), minlength=8) / even.size - gamma).max()
    assert found[True] < 0.02 < found[False]


def test_small_counts_are_proposed_by_what_all_words_share():
    """Tables without them still leave the responsibilities as they are, since proposals are checked."""
    setting, gamma = replications(2_000, True)
    counts = np.sort(setting.then.scale * setting.then.table[5])
    tables = setting.tables(smallest=0.5 * (counts[-2] + counts[-3]))
    assert tables.length[5] == 2 < setting.tables().length[5]
    settings = twin.Settings(n_samples=300, n_sweeps=1, rho=np.array([0.1]), check=True)
    result = sample(setting, settings, tables)
    last = np.bincount(result.topics[:, 200::8].ravel(), minlength=8)
    np.testing.assert_allclose(last / last.sum(), gamma, atol=0.02)


@pytest.mark.parametrize("check", [True, False])
def test_stale_draws_converge_when_they_are_checked(check):
    """Two hundred steps forget the first draw; proposals that are taken unchecked never do."""
    setting, gamma = replications(400, False)
    settings = twin.Settings(n_samples=600, n_sweeps=1, rho=np.array([0.1]), check=check)
    result = sample(setting, settings)
    last = np.bincount(result.topics[:, 200::8].ravel(), minlength=8)
    assert (np.abs(last / last.sum() - gamma) < 4 * np.sqrt(gamma * (1 - gamma) * 2 / last.sum())).all() == check


def dense_scvb0(setting, d, start, rho, n_sweeps):
    """One visit with exact responsibilities; returns counts, and gamma of each type in the last sweep."""
    x, now, counts, seen, tokens = setting.documents, setting.now, start.copy(), 0, setting.documents[[d]].sum()
    for _ in range(n_sweeps):
        last = []
        for e in range(x.indptr[d], x.indptr[d + 1]):
            gamma = now.factors(x.indices[e]) * (counts + now.alpha)
            gamma /= gamma.sum()
            kept = (1 - rho[min(int(seen), len(rho) - 1)]) ** x.data[e]
            counts = kept * counts + (1 - kept) * tokens * gamma
            seen += x.data[e]
            last.append(gamma)
    return counts, np.array(last)


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [True, False])
def test_many_samples_approach_dense_scvb0(fresh):
    setting = Setting(18, fresh=True).warm()
    if not fresh:
        changed = setting.rng.uniform(0.3, 3.0, size=setting.now.table.shape)
        setting.then = replace(setting.now, table=setting.now.table * changed)
    start = sparse.csr_array((setting.start[2], setting.start[1], setting.start[0]), shape=(12, K)).toarray()
    sizes, errors = [200, 800, 3200], []
    for n_samples in sizes:
        squares = []
        for seed in range(10):
            settings = twin.Settings(seed, 0, n_samples, 2, rho=STEPS, check=not fresh)
            counts = sample(setting, settings).counts(K)
            for d in np.flatnonzero(np.diff(setting.documents.indptr)):
                squares.append(np.sum((counts[d] - dense_scvb0(setting, d, start[d], STEPS, 2)[0]) ** 2))
        errors.append(np.sqrt(np.mean(squares)))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.6 < slope < -0.4
    assert errors[-1] < 0.05 * np.sqrt(np.mean(setting.documents.sum(axis=1) ** 2))


PHI = np.array([[0.5, 0.1], [0.3, 0.1], [0.15, 0.3], [0.05, 0.5]])
ALPHA = np.array([0.4, 0.7])
PATHS = np.array(list(itertools.product(range(2), repeat=4)))


def exact_posterior():
    """p(z | w) of the document 0, 1, 2, 3 with fixed topics, by enumeration."""
    logs = [
        sum(math.log(PHI[i, k]) for i, k in enumerate(path)) + gammaln(ALPHA + np.bincount(path, minlength=2)).sum()
        for path in PATHS
    ]
    p = np.exp(np.array(logs) - max(logs))
    return p / p.sum()


def long_run(n, fresh):
    """Copies of that document; stale proposals favour the wrong topic."""
    setting = Setting(19, n_documents=1)
    scale = 1000.0
    setting.now = twin.Topics(scale * PHI, 1.0, 0.0, 1e-9, np.full(2, 1 / scale), ALPHA)
    old = twin.Topics(scale * PHI[::-1].copy(), 1.0, 0.0, 50.0, np.full(2, 1 / scale), ALPHA)
    setting.then = setting.now if fresh else old
    setting.documents = sparse.csr_array(np.ones((n, 4)))
    setting.documents.indices = setting.documents.indices.astype(np.int32)
    setting.numbers, setting.states = np.arange(n), np.full(4 * n, -1, dtype=np.int32)
    return setting


def distance(paths):
    frequencies = np.bincount(paths @ [8, 4, 2, 1], minlength=16) / len(paths)
    return 0.5 * np.abs(frequencies - exact_posterior()).sum()


@pytest.mark.slow
@pytest.mark.parametrize("exclude", ["document", "none"])
@pytest.mark.parametrize("fresh", [True, False])
def test_sweeps_without_the_own_token_sample_the_exact_posterior(fresh, exclude):
    """With S = 1 and single tokens, sweeps are a collapsed Gibbs sampler; including the own token, they are not."""
    setting = long_run(50_000, fresh)
    settings = twin.Settings(n_samples=1, n_sweeps=40, exclude=exclude, check=not fresh)
    found = distance(sample(setting, settings).topics.reshape(-1, 4))
    assert found < 0.02 if exclude == "document" else found > 0.04


def without_the_frozen_part(target_new, target_old, density_new, density_old):  # noqa: ARG001
    return target_new / target_old


def broken_alias(proposals, word, y):
    """The coin is the uniform that chose the column."""
    rows = proposals.rows[word]
    if y >= proposals.totals[word]:
        return twin.Proposals.draw(proposals, word, y)
    prob, alias = proposals.tables[word]
    u = y / proposals.totals[word]
    column = min(int(u * len(prob)), len(prob) - 1)
    return int(rows[column if u < prob[column] else alias[column]])


@pytest.mark.slow
@pytest.mark.parametrize("broken", [{}, {"acceptance": without_the_frozen_part}, {"draw": broken_alias}])
def test_a_broken_ratio_or_draw_leaves_the_exact_posterior(broken):
    setting = long_run(1, False)
    settings = twin.Settings(n_samples=1, n_sweeps=8000, exclude="document", **broken)
    history = twin_document(setting, 0, settings, twin.Proposals(setting.then))[-1]
    paths = np.array([drawn[0] for _, drawn in history]).reshape(-1, 4)
    assert distance(paths) > 0.06 if broken else distance(paths) < 0.04


# -- edges


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_one_topic(mode, dtype):
    setting = Setting(20, dtype, n_components=1)
    result = sample(setting, twin.Settings(n_samples=2, n_sweeps=3, **MODES[mode]))
    assert (result.topics == 0).all()
    assert (result.states == 0).all()
    if setting.documents.nnz and "steps" not in mode:
        np.testing.assert_allclose(result.counts(1)[:, 0], setting.documents.sum(axis=1), rtol=1e-6)


def test_no_documents_and_empty_ones():
    setting = Setting(21).warm()
    for rows in ([], [3], [3, 3]):
        part = setting.take(np.array(rows, dtype=int))
        result = sample(part, twin.Settings(rho=STEPS))
        assert (result.indptr == 0).all()
        assert (result.tally == 0).all()


@pytest.mark.parametrize("mode", MODES)
def test_tiny_and_fractional_counts(mode):
    setting = Setting(22).warm()
    setting.documents.data[...] = 10.0 ** setting.rng.uniform(-14, 2, size=setting.documents.nnz)
    settings = twin.Settings(5, 0, 3, 4, **MODES[mode])
    ours, proposals = sample(setting, settings), twin.Proposals(setting.then)
    assert np.isfinite(ours.out_values[: ours.indptr[-1]]).all()
    for d in range(12):
        entries = slice(setting.documents.indptr[d], setting.documents.indptr[d + 1])
        assert ours.topics[entries].tolist() == twin_document(setting, d, settings, proposals)[0]


def test_the_size_for_counts_suffices_and_less_is_refused():
    setting = Setting(23, n_components=200).warm()
    settings = twin.Settings(n_sweeps=3, rho=STEPS)
    result = sample(setting, settings)
    assert 0 < result.indptr[-1] <= len(result.out_topics)
    now = setting.now
    kernel_settings = _mhw.Settings(
        now.scale, now.offset, now.prior, now.inverse, now.alpha, 0, 0, 5, 3, STEPS, 0.0, "none", 0.0
    )
    with pytest.raises(ValueError, match="the size that ``max_entries`` returns"):
        _mhw.sample_documents(
            setting.entries, setting.numbers, None, now.table, kernel_settings, setting.tables(), result.states,
            result.topics, result.values, result.indptr, result.out_topics[:3], result.out_values[:3], result.tally,
            _mhw.ChainWorkspace(200, 5),
        )  # fmt: skip


def test_arrays_that_are_only_read_may_be_read_only():
    setting = Setting(24).warm()
    tables = setting.tables()
    for array in (
        setting.now.table, setting.now.inverse, setting.now.alpha, setting.numbers, tables.begin, tables.length,
        tables.total, tables.shared_prob, tables.shared_density, tables.shared_alias, *tables.pool,
    ):  # fmt: skip
        array.flags.writeable = False
    sample(setting, twin.Settings(rho=STEPS), tables)


def test_scratch_is_clean_after_an_error():
    setting = Setting(25)
    scratch, settings = _mhw.ChainWorkspace(K, 5), twin.Settings(rho=STEPS)
    tables = setting.tables()
    tables.length[setting.documents.indices[-1]] = -1
    with pytest.raises(ValueError, match=f"word {setting.documents.indices[-1]} has no table"):
        sample(setting, settings, tables, scratch)
    assert (scratch.slots == -1).all()
    fresh, used = sample(setting, settings), sample(setting, settings, scratch=scratch)
    for one, other in zip(fresh.arrays(), used.arrays(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 0}, "at least 1"),
        ({"n_sweeps": 0}, "at least 1"),
        ({"rho": np.empty(0)}, "rho must not be empty"),
        ({"rho": STEPS, "exclude": "both"}, "steps exclude nothing"),
        ({"exclude": "word"}, "exclude must be one of"),
    ],
)
def test_settings_that_make_no_sense(change, message):
    with pytest.raises(ValueError, match=message):
        sample(Setting(26), replace(twin.Settings(), **change))


def test_tables_of_another_kind_are_refused():
    setting = Setting(27)
    with pytest.raises(ValueError, match="the table's shape and dtype"):
        sample(setting, twin.Settings(), Setting(27, np.float32).tables())
    with pytest.raises(ValueError, match="scratch must be"):
        sample(setting, twin.Settings(), scratch=_mhw.ChainWorkspace(K, 2))
    with pytest.raises(ValueError, match="weight must be"):
        _mhw.WordTables(40, K, np.float64).build(np.zeros(1, dtype=np.int32), np.ones((40, 3)), 1.0)
