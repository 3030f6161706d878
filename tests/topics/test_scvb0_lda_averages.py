"""The last epochs of SparseSCVB0LDA: documents start again once, and topics are averages over all minibatches."""

import numpy as np
import pytest
from scipy import sparse

from sparsemix import SparseSCVB0LDA
from sparsemix._engine.schedules import MiniEpochs
from sparsemix._rows.documents import DocumentMemory, Documents
from sparsemix._rows.rates import learning_rate
from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix.datasets import make_sparse_lda
from sparsemix.topics._collapsed import assemble_stochastic
from sparsemix.topics._collapsed.plan import averaged_of

pytestmark = pytest.mark.usefixtures("no_dense_batches")
K, V = 4, 25
X = sparse.csr_array(make_sparse_lda(60, n_features=V, n_components=K, doc_length=20, random_state=0)[0])


def test_batches_of_the_last_epochs_count_by_their_mass():
    """The mean over averaged epochs is the ratio estimate: sums of batches over their masses."""
    forgotten, masses = [], (1.0, 2.0, 3.0)
    schedule = MiniEpochs(
        6, 2, np.random.default_rng(0), 0.6, 1.0, 6.0, forget=lambda: forgotten.append(schedule.epoch), last_warm=2
    )
    stats, sums = SufficientStatistics({"count": np.zeros(1)}, {"mass": np.full((), 6.0)}), []
    rng, before = np.random.default_rng(1), None
    for epoch in range(1, 6):
        for _, mass in zip(schedule.batches(), masses, strict=True):
            sums.append(rng.random(1))
            schedule.absorb(stats, SufficientStatistics({"count": sums[-1]}, {"mass": np.full((), mass)}))
        before = stats["count"].copy() if epoch == 2 else before
    held = 6.0 / 20  # in rows
    expected = (held * before + 6.0 * np.sum(sums[6:], axis=0)) / (held + 3 * 6.0)
    np.testing.assert_allclose(stats["count"], expected, rtol=1e-12)
    assert forgotten == [3]


def test_part_of_an_epoch_is_averaged():
    """With ``last_warm`` .5, the second half of the steps of the only epoch; the earlier ones count as before."""
    schedule = MiniEpochs(8, 2, np.random.default_rng(0), 0.6, 1.0, 8.0, last_warm=0.5)
    stats, sums, before = SufficientStatistics({"count": np.zeros(1)}, {"mass": np.full((), 8.0)}), [], None
    for _ in schedule.batches():
        if len(sums) == 2:
            before = stats["count"].copy()
        sums.append(np.array([len(sums) + 1.0]))
        schedule.absorb(stats, SufficientStatistics({"count": sums[-1]}, {"mass": np.full((), 2.0)}))
    held = 1.0 / learning_rate(2, 0.6, 1.0)
    np.testing.assert_allclose(stats["count"], (held * before + 4.0 * (sums[2] + sums[3])) / (held + 2), rtol=1e-12)


def averaged(n_epochs, length, **params):
    documents = Documents(sparse.csr_array(np.full((2, 1), float(length))), None, np.float32)
    return averaged_of(SparseSCVB0LDA(K, **params)._params, n_epochs, documents)


def test_default_follows_the_epochs():
    """Short fits average a part of their steps, which falls with the length of short documents."""
    for max_iter, n in ((5, 2), (10, 4), (20, 9), (50, 10)):
        assert averaged(max_iter, 20) == n
    for length, shares in ((120, (0.5, 1, 1, 2)), (60, (0.5, 1, 1, 2)), (6, (0.05, 0.1, 0.15, 0.2))):
        found = [averaged(n, length) for n in (1, 2, 3, 4)]
        np.testing.assert_allclose(found, shares)
    assert averaged(20, 20, n_averaged_iter=30) == 30
    for params in ({"learning_method": "memoized"}, {"mini_epoch": (50, 5)}):
        assert averaged(20, 20, **params) == 0


@pytest.mark.parametrize("first", [1, 3])
def test_a_short_fit_that_continues_learns_on(first, tmp_path):
    """The averages of a short fit end when it continues, and those of the longer one come at its end."""
    X = sparse.csr_array(make_sparse_lda(60, n_features=V, n_components=K, doc_length=80, random_state=0)[0])
    begun, absorb = [], MiniEpochs.absorb
    for max_iter in (first, 10):
        begun.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MiniEpochs, "absorb", lambda it, *new: (begun.append(it.last_step), absorb(it, *new))[1])
            SparseSCVB0LDA(K, batch_size=20, max_iter=max_iter, random_state=0).fit(X, checkpoint=tmp_path)
        learned = [step is None for step in begun]
        assert learned == sorted(learned, reverse=True)
        assert sum(learned) == (6 - first) * 3 if max_iter == 10 else 0 < sum(learned) < len(learned)


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
