"""The beginning of a stream: topics that few documents made are computed again when there are more."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from fitted import assert_same_bits, few_epochs
from scipy import sparse
from topic_cases import GIVEN, K, N, X

from sparsemix import SparseLDA, SparseSCVB0LDA
from sparsemix.datasets import make_sparse_lda
from sparsemix.topics import _plan

pytestmark = few_epochs
ROWS = X.astype(np.float32)  # as they are kept
ESTIMATORS = {
    "variational": SparseLDA(K, n_nonzero=2, random_state=0),
    "dense": SparseSCVB0LDA(K, sampler="dense", random_state=0),
    "gibbs": SparseSCVB0LDA(K, random_state=0),
    "memoized": SparseSCVB0LDA(K, learning_method="memoized", init_params="em", random_state=0),
    "packed": SparseSCVB0LDA(2100, random_state=0),
}
per_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def made(name="variational", **params):
    return copy.deepcopy(ESTIMATORS[name]).set_params(**params)


def in_blocks(est, bounds, rows=ROWS, weight=None):
    """A stream; for each call but the first whether topics started again: else it is statistics and a step."""
    restarted = []
    for first, last in pairwise(bounds):
        part = rows[first:last], None if weight is None else weight[first:last]
        other = copy.deepcopy(est)
        est.partial_fit(part[0], sample_weight=part[1])
        if first:
            other.update_from_stats(other.expected_stats(*part))
            moved = np.abs(other.components_ - est.components_).sum()  # packed counts are rounded by chance
            restarted.append(bool(moved > 0.1 * rows[:last].sum()))
    return restarted


def n_entries(rows):
    return int((rows != 0).sum())


@pytest.mark.parametrize("weighted", [False, True])
@per_estimator
def test_restarted_topics_are_those_of_one_block(name, weighted):
    """The bits are equal: nothing remains of the first topics, and documents keep their weights and order."""
    weight = np.linspace(0.0, 2.0, N) if weighted else None
    whole, est = made(name).partial_fit(ROWS, sample_weight=weight), made(name)
    assert in_blocks(est, [0, N // 3, N // 3 + 2, N], weight=weight) == [False, True]
    assert_same_bits(whole, est, ROWS, but=("n_steps_",))
    assert est.n_samples_seen_ == whole.n_samples_seen_ == N - weighted
    assert (est.n_steps_, whole.n_steps_) == (3, 1)


def test_topics_restart_when_entries_have_grown_by_half():
    rows = sparse.csr_array(np.ones((20, 4), dtype=np.float32))
    rows.data[1::3] = 2.0
    est, sizes = made(n_components=2), []
    for n in range(20):
        before = vars(est).get("_first_documents")
        est.partial_fit(rows[n : n + 1])
        if before is None or vars(est).get("_first_documents").n_begun > before.n_begun:
            sizes.append(n + 1)
    assert sizes == [1, 2, 3, 5, 8, 12, 18]
    assert vars(est).get("_first_documents").n_entries == 80


@pytest.mark.parametrize("name", ["variational", "gibbs"])
def test_no_more_is_kept_than_fits(name, monkeypatch):
    """The call that reaches the limit starts again once more, and from then on steps are sums."""
    limit = n_entries(ROWS[:31])
    monkeypatch.setattr(_plan, "MOST_ENTRIES", limit)
    est = made(name)
    assert in_blocks(est, [0, 28, 31, 32, 59, N]) == [True, False, False, False]
    assert vars(est).get("_first_documents") is None
    large = made(name).partial_fit(ROWS[:31])
    assert "_first_documents" not in vars(large)
    for never in (made(name, init_params=GIVEN), made(name, total_samples=200)):
        assert in_blocks(never, [0, 2, 20, N]) == [False, False]


def test_what_is_learned_elsewhere_ends_the_beginning():
    """Documents that were kept are not all that topics come from then."""
    elsewhere = made().partial_fit(ROWS[:10])
    elsewhere.update_from_stats(elsewhere.expected_stats(ROWS[10:20]))
    assert in_blocks(elsewhere, [20, 40, N]) == [False, False]
    fitted = made(max_iter=1).partial_fit(ROWS[:10]).fit(ROWS[:10])
    assert in_blocks(fitted, [10, 40, N]) == [False, False]


@pytest.mark.parametrize("name", ["variational", "gibbs"])
def test_blocks_may_be_overwritten_and_copies_are_independent(name):
    whole = made(name).partial_fit(ROWS)
    block = ROWS[:20].copy()
    est = made(name).partial_fit(block)
    block.data[:] = 7.0
    twins = [copy.copy(est), copy.deepcopy(est), pickle.loads(pickle.dumps(est))]
    for twin in twins:
        twin.partial_fit(ROWS[50:55])
    for other in (est, pickle.loads(pickle.dumps(est.partial_fit(ROWS[20:22])))):
        assert_same_bits(whole, copy.deepcopy(other).partial_fit(ROWS[22:]), ROWS, but=("n_steps_",))
    for twin in twins:
        assert_same_bits(twins[0], twin, ROWS)
        assert twin._first_documents.n_entries == n_entries(ROWS[:20]) + n_entries(ROWS[50:55])


@pytest.mark.parametrize("name", ["variational", "gibbs"])
def test_stream_that_begins_small_ends_near_one_that_begins_with_all(name, monkeypatch):
    rows = make_sparse_lda(2500, n_features=200, n_components=20, doc_length=40, random_state=1)[0]
    rows, new = rows[:2000], rows[2000:]
    params = {"n_components": 20, **({"n_nonzero": 8} if name == "variational" else {})}
    whole = made(name, **params).partial_fit(rows).score(new)
    small, poor = (made(name, **params) for _ in range(2))
    for first in range(0, 2000, 40):
        small.partial_fit(rows[first : first + 40])
    monkeypatch.setattr(_plan, "MOST_ENTRIES", 0)
    for first in range(0, 2000, 40):
        poor.partial_fit(rows[first : first + 40])
    assert small.score(new) > whole - 0.05
    assert poor.score(new) < whole - 0.05  # what it is measured against


@pytest.mark.parametrize("name", ["dense", "gibbs"])
def test_the_tokens_of_the_corpus_follow_from_all_documents_so_far(name):
    """A slow twin: the corpus has as many tokens a document as the statistics have, whatever the next block has."""
    n_documents, (offset, decay), rng = 5000, (4.0, 0.7), np.random.default_rng(0)
    est = made(name, total_samples=n_documents, step_size=(offset, decay))
    lengths = 40, 10, 25, 80
    tokens = documents = None
    for step, length in enumerate(lengths, 1):
        block = rng.multinomial(length, np.full(X.shape[1], 1.0 / X.shape[1]), size=60 if step == 1 else 5)
        est.partial_fit(block)
        if tokens is None:
            tokens, documents = n_documents * length, n_documents
        else:
            total, rho = n_documents * tokens / documents, (step + offset) ** -decay
            documents = (1.0 - rho) * total / tokens * documents + rho * total / length
            tokens = total
        found = est.components_.sum() - est.components_.size * est.topic_word_prior_
        np.testing.assert_allclose(found, tokens, rtol=1e-4)
