"""The last epochs of SparseSCVB0LDA: documents start again, and topics are averages over all minibatches."""

import numpy as np
import pytest
from scipy import sparse

from sparsemix import SparseSCVB0LDA
from sparsemix._engine.documents import DocumentMemory
from sparsemix._engine.schedules import MiniEpochs, learning_rate
from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix.datasets import make_sparse_lda
from sparsemix.topics._collapsed import assemble_stochastic

pytestmark = pytest.mark.usefixtures("no_dense_batches")
K, V = 4, 25
X = sparse.csr_array(make_sparse_lda(60, n_features=V, n_components=K, doc_length=20, random_state=0)[0])


def test_minibatches_of_the_last_epochs_count_the_same():
    forgotten = []
    schedule = MiniEpochs(
        6, 2, np.random.default_rng(0), 0.6, 1.0, 6.0, forget=lambda: forgotten.append(schedule.epoch), last_warm=2
    )
    stats, sums = SufficientStatistics({"count": np.zeros(1)}, {"mass": np.full((), 6.0)}), []
    rng, before = np.random.default_rng(1), None
    for epoch in range(1, 6):
        for _ in schedule.batches():
            sums.append(rng.random(1))
            schedule.absorb(stats, SufficientStatistics({"count": sums[-1]}, {"mass": np.full((), 2.0)}))
        before = stats["count"].copy() if epoch == 2 else before
    held = 1.0 / learning_rate(6, 0.6, 1.0)
    # three times the sums, of a third of the mass
    expected = (held * before + 3.0 * np.sum(sums[6:], axis=0)) / (held + 9)
    np.testing.assert_allclose(stats["count"], expected, rtol=1e-12)
    assert forgotten == [3, 4, 5]


@pytest.mark.parametrize("last", [0, 2])
def test_documents_of_the_last_epochs_begin_again(last, monkeypatch):
    """Averaged epochs recall no document; earlier epochs recall it from its second visit on."""
    found, find = [], DocumentMemory._find
    monkeypatch.setattr(
        DocumentMemory, "_find", lambda self, numbers: [found.append(out := find(self, numbers)), out][1]
    )
    SparseSCVB0LDA(K, batch_size=20, max_iter=5, n_averaged_iter=last, random_state=0).fit(X)
    known = np.array([kept is not None for kept in found]).reshape(5, -1)
    np.testing.assert_array_equal(known.all(axis=1), [False, True, True, last == 0, last == 0])
    assert not known[:, 0].all() or last == 0


def test_default_follows_the_epochs():
    for max_iter, n in ((1, 0), (4, 0), (5, 2), (10, 4), (20, 9), (50, 10)):
        assert SparseSCVB0LDA(K)._n_averaged(max_iter) == n
    assert SparseSCVB0LDA(K, n_averaged_iter=30)._n_averaged(20) == 30
    for params in ({"learning_method": "memoized"}, {"mini_epoch": (50, 5)}):
        assert SparseSCVB0LDA(K, **params)._n_averaged(20) == 0


def test_more_averaged_epochs_than_epochs():
    """All of them are, as if so many had been asked for as there are."""
    few, many = (SparseSCVB0LDA(K, max_iter=3, n_averaged_iter=n, random_state=0).fit(X) for n in (3, 8))
    np.testing.assert_array_equal(few.components_, many.components_)


def test_averages_from_the_start_with_an_offset_of_nothing():
    """No step has been before the first of them; an offset of one means the same there."""
    params = {"max_iter": 2, "n_averaged_iter": 2, "random_state": 0}
    none, one = (SparseSCVB0LDA(K, step_size=(offset, 0.6), **params).fit(X) for offset in (0.0, 1.0))
    np.testing.assert_array_equal(none.components_, one.components_)


def test_small_steps_are_made_together():
    """Joined steps move the statistics as far as single steps do, and each epoch visits every row once."""
    schedule = MiniEpochs(200, 10, np.random.default_rng(0), 0.6, 1.0, 200.0)
    schedule.together, schedule.alone = 4, 30
    stats, kept = SufficientStatistics({"count": np.ones(1)}, {"mass": np.full((), 200.0)}), 1.0
    sizes = []
    for _ in range(6):
        visited, before = [], schedule.step
        for rows in schedule.batches():
            visited.append(rows)
            n, first = len(rows) // 10, schedule.step
            rates = [learning_rate(first + i, 0.6, 1.0) for i in range(1, n + 1)]
            assert n == 1 or (sum(rates) <= 0.2 and first >= 30)
            schedule.absorb(stats, SufficientStatistics({"count": np.zeros(1)}, {"mass": np.full((), 10.0 * n)}))
            kept *= np.prod(1.0 - np.array(rates))
            sizes.append(n)
        assert schedule.step == before + 20
        np.testing.assert_array_equal(np.sort(np.concatenate(visited)), np.arange(200))
    assert set(sizes) >= {1, 2, 3}
    np.testing.assert_allclose(stats["count"], kept, rtol=1e-12)


def test_documents_of_joined_minibatches_are_remembered(monkeypatch):
    """The bits are the same for any number of threads, whichever minibatches are joined."""
    monkeypatch.setattr(assemble_stochastic, "LEAST_STEPS", 1)  # a corpus this small has none that are joined
    monkeypatch.setattr(assemble_stochastic, "BATCH_LIMITS", (16, 16))
    found, find, sizes, batches = [], DocumentMemory._find, [], MiniEpochs._joined
    monkeypatch.setattr(
        DocumentMemory, "_find", lambda self, numbers: [found.append(out := find(self, numbers)), out][1]
    )
    monkeypatch.setattr(
        MiniEpochs, "_joined", lambda self, all_: [sizes.append(len(one[1])) or one for one in batches(self, all_)]
    )
    params = {"max_iter": 40, "n_averaged_iter": 0, "random_state": 0}
    first, second = (SparseSCVB0LDA(500, n_jobs=n_jobs, **params).fit(X) for n_jobs in (1, 2))
    assert min(sizes) < 20 < max(sizes)
    assert sum(kept is None for kept in found) == 2 * 4  # the minibatches of the first epoch
    np.testing.assert_array_equal(first.components_, second.components_)
