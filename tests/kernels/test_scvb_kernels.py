"""The dense collapsed step against a plain twin, and what its sweeps keep."""

import numpy as np
import pytest
from sparsemix._kernels.documents._entries import Entries
from sparsemix._kernels.vectors._simd import aligned_empty

from sparsemix._kernels.collapsed import _scvb
from sparsemix._rows.rates import learning_rates

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

    def run(self, n_sweeps=2, exclude="document", rates=None):
        dtype = self.table.dtype
        n, n_components = self.doc_topic.shape
        order = np.arange(n, dtype=np.int32)[::-1].copy()
        width = -(-n_components // _scvb.PADDING) * _scvb.PADDING
        resp = aligned_empty(len(self.indices) * width, dtype).reshape(-1, width)
        doc_topic, memory = self.doc_topic.copy(), _scvb.memory_of(2, n_components, dtype)
        _scvb.local_step(
            Entries(self.indptr, self.indices, self.counts), self.table, self.factor, self.offset, self.prior,
            self.inverse, self.alpha, n_sweeps, _scvb.EXCLUDE[exclude], rates, doc_topic, resp, order, memory,
        )  # fmt: skip
        return doc_topic, resp[:, :n_components]

    def twin(self, n_sweeps=2, exclude="document", rates=None):
        """The same, one entry and one formula at a time."""
        n_components = self.doc_topic.shape[1]
        resp = np.zeros((len(self.indices), n_components))
        doc_topic = np.array(self.doc_topic, dtype=np.float64)
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
        return doc_topic, resp


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("n_components", [1, 3, 16, 21, 40])
@pytest.mark.parametrize("exclude", EXCLUDE)
@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_exact_sums_are_the_twins(n_components, exclude, fractional, dtype):
    problem = Problem(n_components, dtype=dtype, fractional=fractional)
    found = problem.run(3, exclude)
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
    doc_topic, resp = problem.run(4, exclude)
    np.testing.assert_allclose(resp.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(doc_topic.sum(axis=1), problem.tokens, rtol=1e-12)
    for d, (first, last) in enumerate(zip(problem.indptr, problem.indptr[1:], strict=False)):
        np.testing.assert_allclose(doc_topic[d], problem.counts[first:last] @ resp[first:last], atol=1e-12)


def test_steps_keep_the_number_of_tokens():
    problem = Problem(7)
    doc_topic, _ = problem.run(3, "none", learning_rates(100, 0.9, 10.0))
    np.testing.assert_allclose(doc_topic.sum(axis=1), problem.tokens, rtol=1e-12)


def test_a_clump_is_as_many_updates_with_the_same_responsibilities():
    """Several steps of size rho with gamma held fixed are one step of size 1 - (1 - rho)^m."""
    problem = Problem(6, n_documents=1)
    rho = np.full(200, 0.17)
    doc_topic, resp = problem.run(1, "none", rho)
    now = problem.doc_topic[0].copy()
    for e, c in enumerate(problem.counts):
        for _ in range(int(c)):
            now = (1.0 - 0.17) * now + 0.17 * problem.tokens[0] * resp[e]
    np.testing.assert_allclose(doc_topic[0], now, rtol=1e-12)


def test_steps_of_size_zero_and_one():
    problem = Problem(6)
    still, _ = problem.run(2, "none", np.zeros(3))
    np.testing.assert_array_equal(still, problem.doc_topic)
    replaced, resp = problem.run(2, "none", np.ones(3))
    last = resp[problem.indptr[1:] - 1]
    np.testing.assert_allclose(replaced, problem.tokens[:, None] * last, rtol=1e-12)


def test_many_sweeps_end_at_the_fixed_point_of_cvb0():
    """At the fixed point N_jk is the sum of c gamma, and each gamma is the conditional without its own token."""
    problem = Problem(5, seed=3)
    doc_topic, resp = problem.run(500, "document")
    for d, (first, last) in enumerate(zip(problem.indptr, problem.indptr[1:], strict=False)):
        for e in range(first, last):
            topic = problem.factor * problem.table[problem.indices[e]] + problem.offset + problem.prior
            weights = topic * problem.inverse * (doc_topic[d] - min(problem.counts[e], 1.0) * resp[e] + problem.alpha)
            np.testing.assert_allclose(resp[e], weights / weights.sum(), rtol=1e-8)


def test_documents_do_not_depend_on_each_other():
    problem = Problem(8)
    together, resp = problem.run()
    for d in range(len(problem.lengths)):
        alone = Problem(8)
        first, last = problem.indptr[d], problem.indptr[d + 1]
        alone.indptr = np.array([0, last - first], dtype=np.int64)
        alone.indices, alone.counts = problem.indices[first:last], problem.counts[first:last]
        alone.doc_topic = problem.doc_topic[d : d + 1]
        doc_topic, own = alone.run()
        np.testing.assert_array_equal(doc_topic[0], together[d])
        np.testing.assert_array_equal(own, resp[first:last])


def test_documents_without_words():
    problem = Problem(4)
    problem.indptr = np.zeros(5, dtype=np.int64)
    problem.indices, problem.counts = problem.indices[:0], problem.counts[:0]
    doc_topic, resp = problem.run()
    assert not doc_topic.any()
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
