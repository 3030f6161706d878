"""The dense collapsed step against a plain twin, and what its sweeps keep."""

from itertools import product

import numpy as np
import pytest
from reference_chains import uniform
from sparsemix._kernels.documents._docstep import Room
from sparsemix._kernels.vectors._simd import aligned_empty

from sparsemix._engine.schedules import learning_rates
from sparsemix._kernels.collapsed import _scvb
from sparsemix._kernels.vectors import _simd

EXCLUDE = ("none", "document", "both")


class Problem:
    """A few documents, counts by word and topic, and a start."""

    def __init__(self, n_components=5, n_documents=4, n_words=9, dtype=np.float64, seed=0, fractional=False):
        rng = np.random.default_rng(seed)
        self.lengths = rng.integers(1, n_words + 1, n_documents)
        self.indptr = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        self.indices = np.concatenate([np.sort(rng.choice(n_words, n, replace=False)) for n in self.lengths]).astype(
            np.int32
        )
        self.counts = rng.integers(1, 4, len(self.indices)).astype(dtype)
        if fractional:
            self.counts = rng.uniform(0.1, 2.5, len(self.indices)).astype(dtype)
        self.table = rng.gamma(0.5, 4.0, (n_words, n_components)).astype(dtype)
        self.alpha = rng.uniform(0.05, 0.5, n_components).astype(dtype)
        self.doc_topic = rng.gamma(0.7, 1.0, (n_documents, n_components)).astype(dtype)
        tokens = [self.counts[a:b].sum() for a, b in zip(self.indptr, self.indptr[1:], strict=False)]
        self.doc_topic *= (np.array(tokens) / self.doc_topic.sum(axis=1))[:, None]
        self.tokens = np.array(tokens)
        self.factor, self.offset, self.prior = 0.7, 0.2, 0.03
        totals = self.factor * self.table.sum(axis=0) + n_words * (self.offset + self.prior)
        self.inverse = (self.factor / totals).astype(dtype)

    def run(self, n_sweeps=2, exclude="document", rates=None, states=None, seed=0, visit=0):
        dtype = self.table.dtype
        n, n_components = self.doc_topic.shape
        width = -(-n_components // _scvb.PADDING) * _scvb.PADDING
        resp = aligned_empty(len(self.indices) * width, dtype).reshape(-1, width)
        doc_topic, total = self.doc_topic.copy(), np.empty((n, n_components), dtype=dtype)
        _scvb.local_step(
            self.indptr, self.indices, self.counts, self.table, self.factor, self.offset, self.prior, self.inverse,
            self.alpha, n_sweeps, _scvb.EXCLUDE[exclude], rates, np.arange(10, 10 + n), seed, visit, states, doc_topic,
            resp, total, Room(dtype),
        )  # fmt: skip
        return doc_topic, resp[:, :n_components], total

    def sampling_twin(self, n_sweeps, exclude, states, seed, visit, lanes):
        """The same with one sample for each token, chosen lane by lane as the registers hold the topics."""
        n_components = self.doc_topic.shape[1]
        order = np.lexsort((np.arange(n_components), np.arange(n_components) % lanes))
        resp, states, at = np.zeros((len(self.indices), n_components)), states.copy(), 0
        doc_topic = np.zeros(self.doc_topic.shape)
        for d, (first, last) in enumerate(zip(self.indptr, self.indptr[1:], strict=False)):
            sizes = np.ceil(self.counts[first:last]).astype(int)
            begins = at + np.concatenate([[0], np.cumsum(sizes)])
            at, fresh = begins[-1], states[begins[0]] < 0
            now = self.doc_topic[d].copy() if fresh else np.zeros(n_components)
            for e, size, begin in zip(range(first, last), sizes, begins, strict=False):
                if not fresh:
                    np.add.at(now, states[begin : begin + size], self.counts[e] / size)
            for sweep in range(n_sweeps):
                for u, e in enumerate(range(first, last)):
                    c, own = self.counts[e], slice(begins[u], begins[u] + sizes[u])
                    old = np.zeros(n_components)
                    if not fresh or sweep > 0:
                        np.add.at(old, states[own], 1.0 / sizes[u])
                    left_out = min(c, 1.0) * old if exclude == "document" else 0.0
                    topic = self.factor * self.table[self.indices[e]] + self.offset + self.prior
                    resp[e] = topic * self.inverse * (now - left_out + self.alpha)
                    resp[e] /= resp[e].sum()
                    sums = np.cumsum(resp[e][order])
                    draws = [uniform(seed, 10 + d, visit, u, sweep, s) for s in range(sizes[u])]
                    states[own] = order[np.searchsorted(sums, np.array(draws) * sums[-1], side="right")]
                    new = np.zeros(n_components)
                    np.add.at(new, states[own], 1.0 / sizes[u])
                    going = c / self.tokens[d] * self.doc_topic[d] if fresh and sweep == 0 else c * old
                    now = now + c * new - going
            doc_topic[d] = now
        return doc_topic, resp, states

    def twin(self, n_sweeps=2, exclude="document", rates=None):
        """The same, one entry and one formula at a time."""
        n_components = self.doc_topic.shape[1]
        resp = np.zeros((len(self.indices), n_components))
        doc_topic, total = np.array(self.doc_topic, dtype=np.float64), np.zeros(self.doc_topic.shape)
        by_word, by_topic = self.factor * self.table + self.offset, self.factor / self.inverse
        for d, (first, last) in enumerate(zip(self.indptr, self.indptr[1:], strict=False)):
            now, length = doc_topic[d].copy(), self.counts[first:last].sum()
            seen = 0.0
            for sweep in range(n_sweeps):
                for e in range(first, last):
                    c, v = float(self.counts[e]), self.indices[e]
                    own = min(c, 1.0) * resp[e] if sweep > 0 else np.zeros(n_components)
                    of_document = np.maximum(now - (own if exclude != "none" else 0.0), 0.0)
                    of_topic = own if exclude == "both" else 0.0
                    weights = np.maximum(by_word[v] - of_topic, 0.0) + self.prior
                    if exclude == "both":  # the background counts as part of what stays
                        weights = np.maximum(by_word[v] + self.prior - own, self.prior)
                    left = np.maximum(by_topic - of_topic, len(by_word) * self.prior)
                    weights = weights / left * (of_document + self.alpha)
                    gamma = weights / weights.sum()
                    if rates is None:
                        old = c * resp[e] if sweep > 0 else c / length * doc_topic[d]
                        now = now + c * gamma - old
                    else:
                        keep = (1.0 - rates[int(seen)]) ** c
                        now = keep * now + (1.0 - keep) * length * gamma
                    resp[e] = gamma
                    seen += c
                now = np.maximum(now, 0.0) if rates is None else now
            doc_topic[d] = now
            total[d] = self.counts[first:last] @ resp[first:last]
        return doc_topic, resp, total


@pytest.mark.parametrize("instruction_set", _simd.INSTRUCTION_SETS)
@pytest.mark.parametrize("n_components", [1, 3, 16, 21, 40])
@pytest.mark.parametrize("exclude", EXCLUDE)
@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_exact_sums_are_the_twins(instruction_set, n_components, exclude, fractional, dtype):
    problem = Problem(n_components, dtype=dtype, fractional=fractional)
    try:
        _simd.use_instruction_set(instruction_set)
    except ValueError as error:
        pytest.skip(str(error))
    try:
        found = problem.run(3, exclude)
    finally:
        _simd.use_instruction_set()
    tolerance = {"rtol": 1e-10, "atol": 1e-12} if dtype == np.float64 else {"rtol": 1e-3, "atol": 1e-4}
    for ours, expected in zip(found, problem.twin(3, exclude), strict=True):
        np.testing.assert_allclose(ours, expected, **tolerance)


@pytest.mark.parametrize("n_components", [1, 3, 21, 40])
@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_steps_are_the_twins(n_components, fractional, dtype):
    problem = Problem(n_components, dtype=dtype, fractional=fractional)
    rates = learning_rates(100, 0.9, 1.0)
    tolerance = {"rtol": 1e-10, "atol": 1e-12} if dtype == np.float64 else {"rtol": 1e-3, "atol": 1e-4}
    for ours, expected in zip(problem.run(2, "none", rates), problem.twin(2, "none", rates), strict=True):
        np.testing.assert_allclose(ours, expected, **tolerance)


@pytest.mark.parametrize("exclude", EXCLUDE)
def test_topics_with_less_than_a_token_keep_their_prior(exclude):
    """A document that the topics have not learned from leaves no more than there is."""
    problem = Problem(7)
    problem.table *= 0.01
    problem.offset = 0.0
    totals = problem.factor * problem.table.sum(axis=0) + len(problem.table) * problem.prior
    assert (totals < 1).any()
    problem.inverse = problem.factor / totals
    found = problem.run(3, exclude)
    assert (found[1] >= 0).all()
    for ours, expected in zip(found, problem.twin(3, exclude), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("exclude", EXCLUDE)
def test_counts_of_a_document_are_its_tokens(exclude):
    problem = Problem(7)
    doc_topic, resp, total = problem.run(4, exclude)
    np.testing.assert_allclose(resp.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(doc_topic.sum(axis=1), problem.tokens, rtol=1e-12)
    np.testing.assert_allclose(doc_topic, total, atol=1e-12)


def test_steps_keep_the_number_of_tokens():
    problem = Problem(7)
    doc_topic, _, _ = problem.run(3, "none", learning_rates(100, 0.9, 10.0))
    np.testing.assert_allclose(doc_topic.sum(axis=1), problem.tokens, rtol=1e-12)


def test_a_clump_is_as_many_updates_with_the_same_responsibilities():
    """Several steps of size rho with gamma held fixed are one step of size 1 - (1 - rho)^m."""
    problem = Problem(6, n_documents=1)
    rho = np.full(200, 0.17)
    doc_topic, resp, _ = problem.run(1, "none", rho)
    now = problem.doc_topic[0].copy()
    for e, c in enumerate(problem.counts):
        for _ in range(int(c)):
            now = (1.0 - 0.17) * now + 0.17 * problem.tokens[0] * resp[e]
    np.testing.assert_allclose(doc_topic[0], now, rtol=1e-12)


def test_steps_of_size_zero_and_one():
    problem = Problem(6)
    still, _, _ = problem.run(2, "none", np.zeros(3))
    np.testing.assert_array_equal(still, problem.doc_topic)
    replaced, resp, _ = problem.run(2, "none", np.ones(3))
    last = resp[problem.indptr[1:] - 1]
    np.testing.assert_allclose(replaced, problem.tokens[:, None] * last, rtol=1e-12)


def test_many_sweeps_end_at_the_fixed_point_of_cvb0():
    """There N_jk is the sum of c gamma, and each gamma is the conditional without its own token."""
    problem = Problem(5, seed=3)
    doc_topic, resp, _ = problem.run(500, "document")
    for d, (first, last) in enumerate(zip(problem.indptr, problem.indptr[1:], strict=False)):
        for e in range(first, last):
            topic = problem.factor * problem.table[problem.indices[e]] + problem.offset + problem.prior
            weights = topic * problem.inverse * (doc_topic[d] - min(problem.counts[e], 1.0) * resp[e] + problem.alpha)
            np.testing.assert_allclose(resp[e], weights / weights.sum(), rtol=1e-8)


def test_documents_do_not_depend_on_each_other():
    problem = Problem(8)
    together, resp, _ = problem.run()
    for d in range(len(problem.lengths)):
        alone = Problem(8)
        first, last = problem.indptr[d], problem.indptr[d + 1]
        alone.indptr = np.array([0, last - first], dtype=np.int64)
        alone.indices, alone.counts = problem.indices[first:last], problem.counts[first:last]
        alone.doc_topic = problem.doc_topic[d : d + 1]
        doc_topic, own, _ = alone.run()
        np.testing.assert_array_equal(doc_topic[0], together[d])
        np.testing.assert_array_equal(own, resp[first:last])


def test_documents_without_words():
    problem = Problem(4)
    problem.indptr = np.zeros(5, dtype=np.int64)
    problem.indices, problem.counts = problem.indices[:0], problem.counts[:0]
    doc_topic, resp, total = problem.run()
    assert not doc_topic.any()
    assert not total.any()
    assert len(resp) == 0


def test_wrong_shapes_are_refused():
    problem = Problem(4)
    problem.alpha = problem.alpha[:3]
    with pytest.raises(ValueError, match="inverse and alpha"):
        problem.run()
    problem = Problem(4)
    problem.counts = problem.counts[:-1]
    with pytest.raises(ValueError, match="indptr"):
        problem.run()
    problem = Problem(4)
    with pytest.raises(ValueError, match="exact sums only"):
        problem.run(2, "document", np.ones(3))


LANES = {"baseline": 2, "x86-64-v3": 4, "x86-64-v4": 8}


@pytest.mark.parametrize("instruction_set", _simd.INSTRUCTION_SETS)
@pytest.mark.parametrize("n_components", [1, 3, 21, 40])
@pytest.mark.parametrize("exclude", ["none", "document"])
@pytest.mark.parametrize("fractional", [False, True])
def test_samples_are_the_twins(instruction_set, n_components, exclude, fractional):
    """State by state over two visits, the first of documents without samples."""
    problem = Problem(n_components, fractional=fractional)
    states = np.full(_scvb.n_samples(problem.counts), -1, dtype=np.int32)
    assert len(states) == np.ceil(problem.counts).sum()
    try:
        _simd.use_instruction_set(instruction_set)
    except ValueError as error:
        pytest.skip(str(error))
    try:
        for visit in range(2):
            expected = problem.sampling_twin(3, exclude, states, 5, visit, LANES[instruction_set])
            doc_topic, resp, total = problem.run(3, exclude, None, states, 5, visit)
            np.testing.assert_array_equal(states, expected[2])
            np.testing.assert_allclose(doc_topic, expected[0], atol=1e-12)
            np.testing.assert_allclose(resp, expected[1], atol=1e-12)
            np.testing.assert_allclose(doc_topic.sum(axis=1), problem.tokens, rtol=1e-12)
            for d, (a, b) in enumerate(zip(problem.indptr, problem.indptr[1:], strict=False)):
                np.testing.assert_allclose(total[d], problem.counts[a:b] @ resp[a:b], atol=1e-12)
    finally:
        _simd.use_instruction_set()


@pytest.mark.parametrize("exclude", ["document", "none"])
def test_samples_follow_the_posterior_of_their_topics(exclude):
    """With topics fixed, the sweeps are a Gibbs sampler; it is one only if a token leaves itself out."""
    problem = Problem(2, n_documents=1, seed=4)
    problem.indptr, problem.indices = np.array([0, 4]), np.array([0, 2, 3, 5], dtype=np.int32)
    problem.counts, problem.tokens, problem.alpha = np.ones(4), np.array([4.0]), np.ones(2)
    phi = (problem.factor * problem.table + problem.offset + problem.prior) * problem.inverse
    posterior = np.zeros(16)
    for i, z in enumerate(product(range(2), repeat=4)):
        n = np.bincount(z, minlength=2)
        prior = np.prod([np.prod(problem.alpha[k] + np.arange(n[k])) for k in range(2)])
        posterior[i] = prior * np.prod([phi[v, k] for v, k in zip(problem.indices, z, strict=True)])
    posterior /= posterior.sum()
    states, seen = np.full(4, -1, dtype=np.int32), np.zeros(16)
    for visit in range(20_000):
        problem.run(1, exclude, None, states, 3, visit)
        seen[int("".join(map(str, states)), 2)] += 1
    distance = 0.5 * np.abs(seen / seen.sum() - posterior).sum()
    assert distance < 0.012 if exclude == "document" else distance > 0.02


def test_a_type_of_many_tokens_has_a_bounded_number_of_samples():
    problem = Problem(4, n_documents=1)
    problem.counts = np.full(len(problem.counts), 1000.0)
    problem.tokens = np.array([problem.counts.sum()])
    states = np.full(_scvb.n_samples(problem.counts), -1, dtype=np.int32)
    assert len(states) == 32 * len(problem.counts)
    doc_topic, _, _ = problem.run(2, "document", None, states)
    np.testing.assert_allclose(doc_topic.sum(), problem.tokens[0], rtol=1e-12)


def test_samples_are_refused_where_they_have_no_meaning():
    problem = Problem(4)
    states = np.full(_scvb.n_samples(problem.counts), -1, dtype=np.int32)
    with pytest.raises(ValueError, match="exact sums"):
        problem.run(2, "both", None, states)
    with pytest.raises(ValueError, match="exact sums"):
        problem.run(2, "none", np.ones(3), states)
    with pytest.raises(ValueError, match="as many as the samples"):
        problem.run(2, "document", None, states[:-1])
