"""Samples at the cost of a document's own topics: against a plain twin, the conditional itself, and the posterior."""

from itertools import product

import numpy as np
import pytest
from reference_chains import child, draw_bits, row_key, uniform
from scipy import sparse, stats
from scipy.special import gammaln
from sparsemix._kernels.documents._entries import Entries
from sparsemix._kernels.vectors._simd import aligned_empty

from sparsemix._kernels.split import _split
from sparsemix._kernels.vectors import _simd
from sparsemix._stats.packed_counts import PackedCounts
from sparsemix._stats.word_rows import ByWord

BLOCK = 128
LANES = {"baseline": max(1, _simd.BASELINE_BYTES // 8), "x86-64-v3": 4, "x86-64-v4": 8}


class Problem:
    """A few documents, counts by word and topic, samples or a sparse start."""

    def __init__(self, n_components=5, n_documents=4, n_words=9, dtype=np.float64, seed=0, fractional=False):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(1, n_words + 1, n_documents)
        self.indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.indices = np.concatenate([np.sort(rng.choice(n_words, n, replace=False)) for n in lengths])
        self.indices = self.indices.astype(np.int32)
        self.counts = rng.integers(1, 4, len(self.indices)).astype(dtype)
        if fractional:
            self.counts = rng.uniform(0.1, 2.5, len(self.indices)).astype(dtype)
        self.table = rng.gamma(0.3, 4.0, (n_words, n_components)).astype(dtype)
        self.alpha = rng.uniform(0.02, 0.3, n_components)
        self.base, self.numbers, self.weights = 0.21, np.arange(10, 10 + n_documents), None
        self.own = None  # a token of each document, in the table
        self.inverse = 1.0 / (self.table.sum(axis=0) + 9 * self.base)
        self.start = None

    @property
    def n_words(self):
        return len(self.table)

    @property
    def order(self):
        return np.arange(len(self.indptr) - 2, -1, -1, dtype=np.int32)

    @property
    def phi(self):
        return (self.table.astype(np.float64) + self.base) * self.inverse

    def documents(self):
        return zip(self.indptr[:-1], self.indptr[1:], strict=True)

    def tokens(self):
        return np.array([self.counts[a:b].sum() for a, b in self.documents()])

    def fresh(self, dtype=np.int16):
        return np.full(_split.sample_starts(self.indptr, self.counts)[-1], -1, dtype=dtype)

    def with_start(self, seed=1, zeros=0.5):
        """Counts that are remembered of documents, some topics of each."""
        rng = np.random.default_rng(seed)
        n, n_components = len(self.indptr) - 1, self.table.shape[1]
        self.start = rng.gamma(0.7, size=(n, n_components)) * (rng.random((n, n_components)) > zeros)
        self.start[:, 0] += 0.1
        self.start *= (self.tokens() / self.start.sum(axis=1))[:, None]
        return self

    def sparse_start(self):
        if self.start is None:
            return None
        rows, topics = np.nonzero(self.start)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(self.start)))])
        return indptr.astype(np.int64), topics.astype(np.int32), self.start[rows, topics].astype(self.table.dtype)

    def run(self, n_sweeps, states, exclude=True, seed=5, visit=0, n_even=None, packed=None, least=0.0):
        """Sums by word (V, K), from sparse ones with ``n_even``; the states follow in place.

        With ``packed`` counts these are what is read; with ``least`` too the sums are what they have gained.
        """
        dtype = self.table.dtype
        n_components = self.table.shape[1]
        inverse, fixed = (_split.padded(x, dtype) for x in (self.inverse, self.inverse * self.alpha))
        blocks = np.empty((self.n_words, _split.n_blocks(n_components)), dtype=dtype)
        every = np.arange(self.n_words, dtype=np.int32)
        whole = self.table if packed is None else packed
        _split.sum_blocks(_split.Topics(whole, self.base, fixed), every, blocks)
        frozen = _split.Topics(whole, self.base, fixed, inverse, blocks)
        nnz, workspaces = len(self.indices), [_split.Workspace(n_components) for _ in range(2)]
        records, shares = np.empty((nnz, 3), dtype=np.int64), np.empty(nnz, dtype=dtype)
        _split.local_step(
            Entries(self.indptr, self.indices, self.counts), frozen, n_sweeps, exclude, self.numbers, seed, visit,
            self.sparse_start(), _split.sample_starts(self.indptr, self.counts), states, records, shares, self.order,
            workspaces, self.own,
        )  # fmt: skip
        by_word = ByWord.of(self.indices, self.n_words)
        starts, entries = by_word.starts, by_word.entries
        grouped = _split.Records(starts, entries, records, shares, self.weights)
        if least:
            before, gains, lengths = packed.toarray(), np.zeros(n_components), np.zeros(self.n_words, dtype=np.int64)
            packed.reserve(100_000)
            topics, values = np.empty(n_components, dtype=np.int32), np.empty(n_components, dtype=dtype)
            for first, last in ((0, 3), (3, self.n_words)):
                _split.sum_sparse(
                    grouped, frozen, every, first, last, n_even, seed, visit, lengths, topics, values, 2.0, least, gains
                )
            np.testing.assert_allclose(gains, (packed.toarray() - before).sum(axis=0), rtol=1e-10, atol=1e-12)
            return packed.toarray() - before
        if n_even is not None:
            lengths, topics = np.zeros(self.n_words, dtype=np.int64), np.empty(100_000, dtype=np.int32)
            values, parts = np.empty(100_000, dtype=dtype), []
            for first, last in ((0, 3), (3, self.n_words)):
                n = _split.sum_sparse(
                    grouped, frozen, every, first, last, n_even, seed, visit, lengths, topics, values
                )
                parts.append((values[:n].copy(), topics[:n].copy()))
            values, topics = (np.concatenate(part) for part in zip(*parts, strict=True))
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            return sparse.csr_array((values, topics, indptr), shape=(self.n_words, n_components))
        out, totals = np.zeros((self.n_words, n_components), dtype=dtype), np.zeros(n_components)
        row = aligned_empty(len(fixed), dtype)
        for first, last in ((0, 3), (3, self.n_words)):
            _split.sum_rows(grouped, frozen, every, first, last, row, out, totals)
        np.testing.assert_allclose(totals, out.sum(axis=0), rtol=1e-5)
        added, totals_of = self.table.copy(), np.zeros((3, n_components))
        memory = _split.padded(np.zeros(4 * len(fixed)), dtype).reshape(2, -1)
        bounds = np.array([0, 3, 3, self.n_words])
        _split.add_rows(grouped, _split.Topics(added, self.base, fixed), every, bounds, 0.3, totals_of, memory)
        assert not memory.any()
        assert (totals_of[1] == 0).all()
        totals_of = totals_of.sum(axis=0)
        rtol = 1e-10 if dtype == np.float64 else 1e-3  # of sums of 10^5 numbers in another order
        np.testing.assert_allclose(added, self.table + 0.3 * out, rtol=rtol)
        np.testing.assert_allclose(totals_of, totals, rtol=rtol)
        return out

    def run_groups(self, n_sweeps, states, alphas, groups, seed=5):
        """Sums by word of documents whose priors are rows ``alphas[groups]``; the states follow in place."""
        dtype, n_components = self.table.dtype, self.table.shape[1]
        fixed = _split.padded(self.inverse * alphas, dtype)
        frozen = _split.Topics(self.table, self.base, fixed, _split.padded(self.inverse, dtype), None, groups)
        nnz, workspaces = len(self.indices), [_split.Workspace(n_components)]
        records, shares = np.empty((nnz, 3), dtype=np.int64), np.empty(nnz, dtype=dtype)
        _split.local_step(
            Entries(self.indptr, self.indices, self.counts), frozen, n_sweeps, True, self.numbers, seed, 0,
            self.sparse_start(), _split.sample_starts(self.indptr, self.counts), states, records, shares, self.order,
            workspaces, self.own,
        )  # fmt: skip
        by_word = ByWord.of(self.indices, self.n_words)
        starts, entries = by_word.starts, by_word.entries
        of_entry = np.repeat(groups, np.diff(self.indptr))
        grouped = _split.Records(starts, entries, records, shares, self.weights, of_entry)
        every, totals = np.arange(self.n_words, dtype=np.int32), np.zeros(n_components)
        out = np.zeros((self.n_words, n_components), dtype=dtype)
        row = _split.padded(np.zeros(2 * fixed.shape[1]), dtype)
        _split.sum_rows(grouped, frozen, every, 0, self.n_words, row, out, totals)
        added, totals_of = self.table.copy(), np.zeros((1, n_components))
        memory = _split.padded(np.zeros(6 * fixed.shape[1]), dtype).reshape(2, -1)
        bounds = np.array([0, self.n_words])
        _split.add_rows(grouped, _split.Topics(added, self.base, fixed), every, bounds, 0.3, totals_of, memory)
        np.testing.assert_allclose(added, self.table + 0.3 * out, rtol=1e-10)
        np.testing.assert_allclose(totals_of[0], totals, rtol=1e-10)
        return out

    def phi_without_own(self, d, u, before, slots):
        """phi of type u of document d without a token, in parts at its old samples whose topics have slots."""
        phi = self.phi[self.indices[self.indptr[d] + u]].copy()
        if self.own is None or before[0] < 0:
            return phi
        part = self.own[d] * min(self.counts[self.indptr[d] + u], 1.0) / len(before)
        counts, totals = phi / self.inverse - self.base, 1.0 / self.inverse
        for k in set(before) & set(slots):
            taken = part * np.sum(before == k)
            left = (max(counts[k] - taken, 0.0) + self.base) / (totals[k] - min(taken, 0.5 * totals[k]))
            phi[k] = min(phi[k], left)
        return phi

    def twin(self, n_sweeps, states, exclude=True, seed=5, visit=0, lanes=8, weigh=None):
        """The same, one formula at a time; topics stand in the order in which the kernel comes upon them."""
        n_components, phi, alpha = self.table.shape[1], self.phi, self.alpha
        out, states, at = np.zeros((self.n_words, n_components)), states.copy(), 0
        for d, (first, last) in enumerate(self.documents()):
            counts = self.counts[first:last].astype(np.float64)
            sizes = np.minimum(np.ceil(counts), 32).astype(int)
            begins = at + np.concatenate([[0], np.cumsum(sizes)])[:-1]
            at += sizes.sum()
            fresh, start, first_states = states[begins[0]] < 0, None, states.copy()
            if fresh and self.start is not None:
                start = self.start[d]
                slots = list(np.flatnonzero(start))
            else:
                slots = list(dict.fromkeys(states[begins[0] : at])) if not fresh else []
            for sweep in range(n_sweeps):
                free = []
                if sweep > 0:
                    held = set(states[begins[0] : at])
                    free = [j for j in range(len(slots) - 1, -1, -1) if slots[j] not in held]
                    for j in free:
                        slots[j] = -1
                left = counts.sum()
                for u, (w, c, size, begin) in enumerate(
                    zip(self.indices[first:last], counts, sizes, begins, strict=True)
                ):
                    own = slice(begin, begin + size)
                    touched = np.ones(at - begins[0], dtype=bool)
                    if fresh and sweep == 0:
                        touched[begin - begins[0] :] = False
                    now = np.zeros(n_components)
                    shares = np.repeat(counts / sizes, sizes)
                    np.add.at(now, states[begins[0] : at][touched], shares[touched])
                    if not (fresh and sweep == 0):
                        if exclude:
                            np.add.at(now, states[own], -min(c, 1.0) / size)
                    elif start is not None:
                        now = now + start * left / counts.sum()
                    now = np.maximum(now, 0.0)
                    without = self.phi_without_own(d, u, first_states[own], slots)
                    weights = without * (now + alpha)
                    if weigh is not None:
                        weights = weigh(weights)
                    gamma = weights / weights.sum()
                    if sweep == n_sweeps - 1:
                        out[w] += c * gamma * (1.0 if self.weights is None else self.weights[first + u])
                    of_slots = np.array([0.0 if k < 0 else without[k] * now[k] for k in slots])
                    fixed, drawn = phi[w] * alpha, []
                    key = int(self.numbers[d]), visit, u, sweep
                    for s in range(size):
                        y = uniform(seed, *key, s) * (of_slots.sum() + fixed.sum())
                        for refused in range(21):
                            if y < of_slots.sum():
                                k = slots[np.searchsorted(np.cumsum(of_slots), y, side="right")]
                                break
                            k = fixed_draw(fixed, y - of_slots.sum(), lanes)
                            accept, again = later(seed, *key, 20 * s + refused)
                            if refused == 20 or accept < without[k] / phi[w, k]:
                                break
                            y = again * (of_slots.sum() + fixed.sum())
                        drawn.append(k)
                        if k not in slots:
                            if free:
                                slots[free.pop()] = k
                            else:
                                slots.append(k)
                    states[own] = drawn
                    left -= c
        return out, states


def later(seed, row, visit, u, sweep, part):
    """Two uniform numbers after a draw that was refused."""
    key = child(child(row_key(seed, row, visit), (u << 32) | sweep), part)
    return [(draw_bits(key, i) >> 11) * 2.0**-53 for i in (0, 1)]


def fixed_draw(weights, y, lanes):
    """The topic at y of the fixed part: block by block, lane by lane."""
    for begin in range(0, len(weights), BLOCK):
        block = weights[begin : begin + BLOCK]
        if y < block.sum() or begin + BLOCK >= len(weights):
            order = np.lexsort((np.arange(len(block)), np.arange(len(block)) % lanes))
            return begin + order[min(np.searchsorted(np.cumsum(block[order]), y, side="right"), len(block) - 1)]
        y -= block.sum()
    return None


@pytest.mark.parametrize("n_components", [1, 3, 21, 130, 300])
@pytest.mark.parametrize("exclude", [True, False])
@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("own", [None, 1.0, 0.01])
def test_samples_are_the_twins(instruction_set, n_components, exclude, fractional, start, own):
    """State by state over three visits of three sweeps, the first of documents without samples."""
    problem = Problem(n_components, n_words=12, fractional=fractional, seed=n_components)
    problem.own = None if own is None else own * np.array([1.0, 0.0, 0.3, 7.0])
    if start:
        problem.with_start()
    states = problem.fresh()
    for visit in range(3):
        expected, after = problem.twin(3, states, exclude, visit=visit, lanes=LANES[instruction_set])
        found = problem.run(3, states, exclude, visit=visit)
        np.testing.assert_array_equal(states, after)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
        assert found.sum() == pytest.approx(problem.counts.sum(), rel=1e-12)


@pytest.mark.parametrize("n_components", [3, 33, 300])
@pytest.mark.parametrize("start", [False, True])
def test_packed_counts_give_the_same_samples(instruction_set, n_components, start):  # noqa: ARG001
    problem = Problem(n_components, n_words=12, seed=n_components)
    problem.table[np.random.default_rng(0).random(problem.table.shape) < 0.7] = 0.0
    if start:
        problem.with_start()
    problem.own = np.array([1.0, 0.0, 0.3, 7.0])
    packed = PackedCounts.of(sparse.csr_array(problem.table))
    states = problem.fresh()
    for visit in range(3):
        others, again = states.copy(), states.copy()
        expected = problem.run(2, states, visit=visit, n_even=8).toarray()
        found = problem.run(2, others, visit=visit, n_even=8, packed=packed).toarray()
        np.testing.assert_array_equal(others, states)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
        gained = problem.run(2, again, visit=visit, n_even=8, packed=packed.copy(), least=1e-300)
        np.testing.assert_allclose(gained, 2.0 * expected, rtol=1e-9, atol=1e-11)


def test_documents_of_many_topics(instruction_set):
    """A document's slots grow beyond their capacity, come free and are used again."""
    problem = Problem(700, n_documents=2, n_words=150, seed=3)
    problem.alpha[:] = 1.0
    problem.weights = np.random.default_rng(0).uniform(0.5, 2.0, len(problem.indices))
    states, topics = problem.fresh(), []
    for visit in range(4):
        expected, after = problem.twin(2, states, visit=visit, lanes=LANES[instruction_set])
        found = problem.run(2, states, visit=visit)
        np.testing.assert_array_equal(states, after)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        topics.append(set(states))
    assert min(len(seen) for seen in topics) > 100
    assert len(set.union(*topics)) > 250


@pytest.mark.parametrize("n_components", [1, 5, 40, 200])
@pytest.mark.parametrize("start", [False, True])
def test_single_precision_leaves_the_expected_counts(instruction_set, n_components, start):  # noqa: ARG001
    """One sweep, whose conditionals follow from the samples before it."""
    problem = Problem(n_components, n_words=40, dtype=np.float32)
    if start:
        problem.with_start()
    states = problem.fresh()
    problem.run(2, states)
    expected, total = np.zeros(problem.table.shape), problem.counts.sum()
    before = states.copy()
    at = 0
    found = problem.run(1, states, visit=1)
    for first, last in problem.documents():
        sizes = np.ceil(problem.counts[first:last]).astype(int)
        begins = at + np.concatenate([[0], np.cumsum(sizes)])
        for u in range(last - first):
            now = np.bincount(np.r_[states[at : begins[u]], before[begins[u] : begins[-1]]], minlength=n_components)
            own = np.bincount(before[begins[u] : begins[u + 1]], minlength=n_components) / sizes[u]
            weights = problem.phi[problem.indices[first + u]] * (now - own + problem.alpha)
            expected[problem.indices[first + u]] += problem.counts[first + u] * weights / weights.sum()
        at = begins[-1]
    assert np.abs(found - expected).max() < 1e-6 * total
    np.testing.assert_allclose(found.sum(axis=1), expected.sum(axis=1), rtol=1e-5)


def copies(problem, n):
    """The first document n times, each with its own random numbers."""
    first, last = problem.indptr[:2]
    problem.indptr = np.arange(n + 1, dtype=np.int64) * (last - first)
    problem.indices, problem.counts = np.tile(problem.indices[first:last], n), np.tile(problem.counts[first:last], n)
    problem.numbers = np.arange(n)
    return problem


def whole_sweep(problem, states, n_sweeps, weigh=lambda w: w):
    """The distribution of all samples after some sweeps over one document, by enumeration."""
    n_components, n = problem.table.shape[1], len(states)
    every = list(product(range(n_components), repeat=n))
    at = {z: i for i, z in enumerate(every)}
    mass = np.zeros(len(every))
    mass[at[tuple(states)]] = 1.0
    for _ in range(n_sweeps):
        for i, w in enumerate(problem.indices):
            new = np.zeros(len(every))
            for z, p in zip(every, mass, strict=True):
                if p == 0.0:
                    continue
                now = np.bincount(z[:i] + z[i + 1 :], minlength=n_components)
                weights = weigh(problem.phi[w] * (now + problem.alpha))
                for k, q in enumerate(weights / weights.sum()):
                    new[at[(*z[:i], k, *z[i + 1 :])]] += p * q
            mass = new
    return mass


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_sweeps_have_the_distribution_of_gibbs_sampling(instruction_set, dtype):  # noqa: ARG001
    """Slots that come free and are used again, topics that enter late: all states of four tokens, by chi-square."""
    problem = Problem(4, n_documents=1, n_words=4, dtype=dtype, seed=8)
    problem.indptr, problem.indices = np.array([0, 4]), np.arange(4, dtype=np.int32)
    problem.counts, states, n = np.ones(4, dtype=dtype), np.array([0, 3, 3, 1], dtype=np.int32), 100_000
    seen = np.tile(states, n)
    copies(problem, n).run(2, seen)
    problem.indices = problem.indices[:4]
    codes = np.bincount(seen.reshape(n, 4) @ 4 ** np.arange(3, -1, -1), minlength=256)

    def p_value(expected):
        expected = n * expected
        order = np.argsort(-expected)
        large = order[: np.searchsorted(-expected[order], -5.0)]
        f_obs, f_exp = (np.r_[x[large], n - x[large].sum()] for x in (codes, expected))
        return stats.chisquare(f_obs, f_exp * f_obs.sum() / f_exp.sum()).pvalue

    assert p_value(whole_sweep(problem, states, 2)) > 1e-3
    wrong = [lambda w: w**1.1, lambda w: w + 0.03 * w.max(), lambda w: w * np.linspace(1.0, 1.15, 4)]
    for weigh in wrong:  # the test would notice
        assert p_value(whole_sweep(problem, states, 2, weigh)) < 1e-3
    assert p_value(whole_sweep(problem, states, 1)) < 1e-3


@pytest.mark.parametrize("exclude", [True, False])
def test_samples_follow_the_posterior_of_their_topics(exclude):
    """With topics fixed, the sweeps are a Gibbs sampler; it is one only if a token leaves itself out."""
    problem = Problem(3, n_documents=1, n_words=6, seed=4)
    problem.indptr, problem.indices = np.array([0, 4]), np.array([0, 2, 3, 5], dtype=np.int32)
    problem.counts, problem.alpha = np.ones(4), np.array([1.0, 0.6, 0.8])
    posterior, every = np.zeros(81), list(product(range(3), repeat=4))
    for i, z in enumerate(every):
        n = np.bincount(z, minlength=3)
        prior = np.prod([np.prod(problem.alpha[k] + np.arange(n[k])) for k in range(3)])
        posterior[i] = prior * np.prod([problem.phi[v, k] for v, k in zip(problem.indices, z, strict=True)])
    posterior /= posterior.sum()
    n = 50_000
    states = copies(problem, n).fresh()
    problem.run(30, states, exclude)
    seen = np.bincount(states.reshape(n, 4) @ 3 ** np.arange(3, -1, -1), minlength=81)
    distance = 0.5 * np.abs(seen / n - posterior).sum()
    assert distance < 0.02 if exclude else distance > 0.04


@pytest.mark.parametrize("own", [0.0, 1.0])
def test_expected_counts_are_the_mean_of_the_samples(own):
    """What a visit hands over is the expectation of what it draws: two tokens, over many visits."""
    problem = Problem(3, n_documents=1, n_words=4, seed=6)
    problem.own = np.full(50_000, own)
    problem.indptr, problem.indices = np.array([0, 2]), np.array([1, 3], dtype=np.int32)
    problem.counts, n = np.ones(2), 50_000
    states, drawn = np.tile(np.array([0, 2], dtype=np.int32), n), np.zeros((4, 3))
    expected = copies(problem, n).run(2, states)
    np.add.at(drawn, (problem.indices, states), 1)
    assert np.abs(expected - drawn).max() / n < 0.01
    assert np.ptp(drawn / n) > 0.3


@pytest.mark.parametrize("own", [None, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_sums_are_the_whole_ones_on_average(instruction_set, weighted, own):  # noqa: ARG001
    """Exact on a document's own topics, and for the rest of the same expectation and the same sum."""
    problem = Problem(300, n_documents=40, n_words=12, seed=2)
    problem.indptr, problem.indices = np.arange(41), np.arange(40, dtype=np.int32) % 12  # documents of one word
    problem.counts, problem.own = np.full(40, 3.0), own and np.full(40, own)
    if weighted:
        problem.weights = np.random.default_rng(0).uniform(0.5, 2.0, 40)
    states = np.repeat(np.arange(40, dtype=np.int32) % 7, 3)
    whole, mean, n = problem.run(1, states.copy()), np.zeros(problem.table.shape), 400
    for visit in range(n):
        drawn = problem.run(1, states.copy(), visit=visit, n_even=4)
        assert drawn.has_sorted_indices
        np.testing.assert_allclose(drawn.sum(axis=1), whole.sum(axis=1), rtol=1e-12)
        mean += drawn.toarray() / n
    assert drawn.nnz < whole.size / 4
    unit = whole.sum(axis=1).max() / 4  # of a draw, at most
    assert (np.abs(mean - whole) / np.sqrt(unit * whole / n + 1e-12)).max() < 5.0
    assert np.abs(mean - whole).sum() < 0.1 * whole.sum()
    assert np.abs(drawn.toarray() - whole).sum() > 0.3 * whole.sum()


@pytest.mark.parametrize(("n_components", "n_words"), [(20, 30), (700, 600)])
def test_documents_do_not_depend_on_each_other(n_components, n_words):
    """The records of the larger documents fill several blocks of memory."""

    def problem():
        out = Problem(n_components, n_words=n_words)
        out.alpha[:] = 1.0 if n_words > 30 else out.alpha
        return out

    whole = problem()
    states = whole.fresh()
    together = whole.run(2, states)
    alone, at = np.zeros(together.shape), 0
    for d, (first, last) in enumerate(whole.documents()):
        one = problem()
        one.indptr, one.numbers = np.array([0, last - first]), whole.numbers[d : d + 1]
        one.indices, one.counts = whole.indices[first:last], whole.counts[first:last]
        own = one.fresh()
        alone += one.run(2, own)
        np.testing.assert_array_equal(own, states[at : at + len(own)])
        at += len(own)
    np.testing.assert_allclose(alone, together, rtol=1e-12, atol=1e-14)


def test_documents_without_words():
    problem = Problem(4)
    problem.indptr = np.array([0, 0, 3, 3, 3], dtype=np.int64)
    problem.indices, problem.counts = problem.indices[:3], problem.counts[:3]
    states = problem.fresh()
    assert problem.run(2, states).sum() == pytest.approx(problem.counts.sum())
    assert (states >= 0).all()
    problem.indptr = np.zeros(5, dtype=np.int64)
    problem.indices, problem.counts = problem.indices[:0], problem.counts[:0]
    assert problem.run(2, problem.fresh()).sum() == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("limit", [1e20, 0.1])
@pytest.mark.parametrize("n_components", [1, 5, 100])
def test_fixed_parts_equal_the_twin(n_components, limit, dtype):
    rng = np.random.default_rng(0)
    inverse, alpha = rng.random(n_components) + 0.1, rng.gamma(1.0, size=n_components)
    products = 3.0 * inverse
    products = products * min(1.0, limit / (products.max() * max(1.0, alpha.max())))
    found = _split.fixed_parts(inverse, 3.0, alpha, limit, dtype)
    assert found.dtype == dtype
    for row, expected in zip(found, (products, products * alpha), strict=True):
        np.testing.assert_array_equal(row, _split.padded(expected, dtype))
        assert row.ctypes.data % 64 == 0
    with pytest.raises(ValueError, match="one number for each"):
        _split.fixed_parts(inverse, 3.0, alpha[1:], limit, dtype)


def test_a_type_of_many_tokens_has_a_bounded_number_of_samples():
    problem = Problem(4, n_documents=1)
    problem.counts = np.full(len(problem.counts), 1000.0)
    states = problem.fresh()
    assert len(states) == 32 * len(problem.counts)
    assert problem.run(2, states).sum() == pytest.approx(problem.counts.sum(), rel=1e-12)


def test_tiny_counts_keep_their_topics():
    """Documents of weights rather than tokens: nothing depends on their unit but the prior."""
    problem = Problem(30, n_words=20, fractional=True)
    problem.counts, problem.alpha = problem.counts * 1e-4, problem.alpha * 1e-4
    states = problem.fresh()
    for visit in range(3):
        expected, after = problem.twin(2, states, visit=visit, lanes=LANES[_simd.instruction_set()])
        found = problem.run(2, states, visit=visit)
        np.testing.assert_array_equal(states, after)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_order_in_which_documents_are_taken_changes_nothing(monkeypatch):
    problem = Problem(20, n_words=30)
    backward, forward = problem.fresh(), problem.fresh(np.int32)
    expected = problem.run(2, backward)
    monkeypatch.setattr(Problem, "order", np.arange(4, dtype=np.int32))
    np.testing.assert_array_equal(problem.run(2, forward), expected)
    np.testing.assert_array_equal(forward, backward)
    for order, message in (([0, 1, 2], "every document once"), ([0, 1, 2, 4], "from 0 to 3")):
        monkeypatch.setattr(Problem, "order", np.array(order, dtype=np.int32))
        with pytest.raises(ValueError, match=message):
            problem.run(2, problem.fresh())


def test_samples_of_very_many_topics_need_four_bytes():
    assert _split.state_dtype(1 << 15) == np.int16
    assert _split.state_dtype((1 << 15) + 1) == np.int32
    problem = Problem((1 << 15) + 1, n_documents=2, n_words=3)
    with pytest.raises(ValueError, match="need four bytes"):
        problem.run(1, problem.fresh())
    states = problem.fresh(np.int32)
    assert problem.run(1, states).sum() == pytest.approx(problem.counts.sum())


def test_wrong_shapes_are_refused():
    problem = Problem(4)
    with pytest.raises(ValueError, match="as many as the samples"):
        problem.run(2, problem.fresh()[:-1])
    with pytest.raises(ValueError, match="a state is no topic from 0 to 3"):
        problem.run(2, np.full_like(problem.fresh(), 4))
    problem.numbers = problem.numbers[:-1]
    with pytest.raises(ValueError, match="one for each document"):
        problem.run(2, problem.fresh())
    problem = Problem(4)
    problem.inverse = problem.inverse[:0]
    problem.alpha = problem.alpha[:0]
    with pytest.raises(ValueError, match="padded"):
        problem.run(2, problem.fresh())


def test_fixed_parts_have_whole_groups():
    """Whole groups are read, also where registers end before: what stood behind them would reach the sums."""
    n_components, rng = 40, np.random.default_rng(0)
    table = rng.random((3, n_components)).astype(np.float32)
    packed = PackedCounts.of(sparse.csr_array(table))
    words, blocks = np.arange(3, dtype=np.int32), np.empty((3, 1), dtype=np.float32)
    fixed = _split.padded(rng.random(n_components), np.float32)
    assert len(fixed) == 64
    _split.sum_blocks(_split.Topics(packed, 0.5, fixed), words, blocks)
    np.testing.assert_allclose(blocks[:, 0], (table + 0.5) @ fixed[:n_components], rtol=1e-5)
    with pytest.raises(ValueError, match="padded"):
        _split.Topics(packed, 0.5, fixed[:48])


def exact_counts(problem):
    """E[counts by word and topic] of the only document, by enumeration, under the counts of other documents."""
    n_words, n_components = problem.table.shape
    words = np.repeat(problem.indices, problem.counts.astype(int))
    totals, mass, out = 1.0 / problem.inverse, 0.0, np.zeros(problem.table.shape)
    for z in product(range(n_components), repeat=len(words)):
        m = np.zeros((n_words, n_components))
        np.add.at(m, (words, list(z)), 1)
        log_p = (gammaln(problem.table + problem.base + m) - gammaln(problem.table + problem.base)).sum()
        log_p -= (gammaln(totals + m.sum(axis=0)) - gammaln(totals)).sum()
        log_p += (gammaln(problem.alpha + m.sum(axis=0)) - gammaln(problem.alpha)).sum()
        mass += np.exp(log_p)
        out += np.exp(log_p) * m
    return out / mass


@pytest.mark.parametrize("repeats", [1, 2])
def test_fixed_point_is_nearer_to_collapsed_inference_without_own_tokens(repeats):
    """A document's mean counts are added to those of few other tokens, and it is visited again under the sum.

    Collapsed Gibbs sampling would give the counts by enumeration. Counts that a token finds its own part in are further
    away.
    """
    errors = {}
    for own in (0.0, 1.0):
        worst = []
        for seed in range(4):
            problem = Problem(2, n_documents=1, n_words=4, seed=seed)
            problem.indptr, problem.indices = np.array([0, 3]), np.arange(3, dtype=np.int32)
            problem.counts, problem.base = np.full(3, float(repeats)), 0.1
            problem.alpha = np.array([0.7, 0.4])
            others = np.random.default_rng(seed).gamma(0.7, 1.5, problem.table.shape)
            problem.table, problem.inverse = others, 1.0 / (others.sum(axis=0) + 0.4)
            expected = exact_counts(problem)
            problem.own, states, mean = np.array([own]), problem.fresh(), np.zeros(others.shape)
            for visit in range(3000):
                mean += (problem.run(2, states, visit=visit) - mean) / (1 + visit) ** 0.8
                problem.table = others + mean
                problem.inverse = 1.0 / (problem.table.sum(axis=0) + 0.4)
            worst.append(np.abs(mean - expected).max())
        errors[own] = np.array(worst)
    assert errors[1.0].mean() < 0.75 * errors[0.0].mean()
    assert (errors[1.0] < errors[0.0] + 0.01).all()


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("n_components", [5, 300])
@pytest.mark.parametrize("weighted", [False, True])
def test_documents_with_priors_of_groups_are_visited_as_alone(n_components, own, weighted):
    problem = Problem(n_components, n_documents=7, seed=3).with_start()
    rng = np.random.default_rng(4)
    alphas = rng.gamma(0.3, size=(3, n_components)) + 1e-3
    groups = np.array([2, 0, 1, 1, 2, 0, 1], dtype=np.int32)
    if own:
        problem.own = rng.random(7)
    weights = rng.random(7) + 0.5
    if weighted:
        problem.weights = np.repeat(weights, np.diff(problem.indptr))
    states = problem.fresh()
    found = [problem.run_groups(2, states, alphas, groups), problem.run_groups(2, states, alphas, groups)]
    expected = [np.zeros_like(found[0]) for _ in found]
    starts = _split.sample_starts(problem.indptr, problem.counts)
    for d, (a, b) in enumerate(problem.documents()):
        alone = Problem(n_components, n_documents=7, seed=3)
        alone.indptr, alone.indices, alone.counts = np.array([0, b - a]), problem.indices[a:b], problem.counts[a:b]
        alone.numbers, alone.alpha = problem.numbers[d : d + 1], alphas[groups[d]]
        alone.start, alone.own = problem.start[d : d + 1], None if problem.own is None else problem.own[d : d + 1]
        states_of = alone.fresh()
        for out in expected:
            out += alone.run(2, states_of) * (weights[d] if weighted else 1.0)
        np.testing.assert_array_equal(states[starts[d] : starts[d + 1]], states_of)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_groups_are_checked():
    problem = Problem()
    alphas = np.ones((2, 5))
    for wrong in (None, np.zeros(3, dtype=np.int32), np.array([0, 1, 2, 0], dtype=np.int32)):
        with pytest.raises(ValueError, match="groups must be"):
            problem.run_groups(1, problem.fresh(), alphas, wrong)
