"""The automatic prior of a stream of Gaussian clusters: later rows correct what the first call could not know."""

import pickle

import numpy as np
import pytest
from cluster_cases import assert_same_bits, stream
from sklearn.metrics import adjusted_rand_score

from sparsemix import StreamingNGGPMixture
from sparsemix.clusters import _stream

LIKELIHOODS = ["auto", "full", "diag", "spherical"]


def sorted_blobs(n_first=200, n=1400, scales=1.0, apart=20.0):
    """Ten clusters of unit width; the first rows are all of one of them."""
    rng = np.random.default_rng(0)
    labels = np.r_[np.zeros(n_first, dtype=int), rng.integers(10, size=n - n_first)]
    return (rng.normal(scale=apart, size=(10, 4))[labels] + rng.normal(size=(n, 4))) * scales, labels


def agreement(est, rows, labels):
    return adjusted_rand_score(labels, est.predict(rows))


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("scales", [1.0, 2.0 ** np.array([-20, 0, 5, 30])], ids=["units", "other units"])
@pytest.mark.parametrize("n_first", [200, 1100], ids=["few rows", "many rows"])
def test_a_first_block_of_one_cluster_does_not_hide_later_clusters(likelihood, scales, n_first):
    rows, labels = sorted_blobs(n_first, n_first + 600, scales)
    est = stream(StreamingNGGPMixture(likelihood).partial_fit(rows[:n_first]), rows[n_first:], 100)
    assert est.n_clusters_ == 10
    assert agreement(est, rows, labels) > 0.99


@pytest.mark.parametrize("likelihood", [*LIKELIHOODS, "zero_mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_long_stream_does_not_depend_on_its_first_block(likelihood, weighted):
    rows, _ = sorted_blobs(60, 1050)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(rows)) if weighted else None
    ends = []
    for first, size in ((1, 1050), (5, 97)):
        est = StreamingNGGPMixture(likelihood)
        est.partial_fit(rows[:first], sample_weight=None if weight is None else weight[:first])
        est = pickle.loads(pickle.dumps(est))
        ends.append(stream(est, rows[first:], size, None if weight is None else weight[first:]))
    assert_same_bits(*ends, rows)
    assert ends[0].n_samples_seen_ == 1050


def test_a_large_first_block_chooses_the_prior_and_later_blocks_do_not():
    rows, _ = sorted_blobs(60, 1600)
    ends = [stream(StreamingNGGPMixture("diag").partial_fit(rows[:n]), rows[n:], size)
            for n, size in ((1200, 400), (1200, 7), (600, 100))]  # fmt: skip
    assert_same_bits(*ends[:2], rows)
    assert (ends[0].score_samples(rows) != ends[2].score_samples(rows)).any()


def test_a_failed_search_changes_nothing_and_stays_due(monkeypatch):
    rows, _ = sorted_blobs(60, 1050)
    whole = stream(StreamingNGGPMixture("diag"), rows, 400)
    est = StreamingNGGPMixture("diag").partial_fit(rows[:400])
    with monkeypatch.context() as patch:
        patch.setattr(_stream.Stream, "_search", lambda _: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryError):
            est.partial_fit(rows[400:800])
    assert est.n_samples_seen_ == 512
    before = StreamingNGGPMixture("diag").partial_fit(rows[:400]).partial_fit(rows[400:511])
    assert agreement(est, rows, before.predict(rows)) > 0.9
    assert_same_bits(whole, stream(est, rows[512:], 400), rows)


def test_one_wild_row_does_not_widen_the_prior():
    rows, labels = sorted_blobs(10, 3000)
    rows[2000, 1] = 1e9
    est = stream(StreamingNGGPMixture("full"), rows, 500)
    assert est.n_clusters_ == 11
    assert agreement(est, np.delete(rows, 2000, axis=0), np.delete(labels, 2000)) > 0.99


@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_a_wider_prior_keeps_the_rows_of_the_clusters(discount):
    rows, _ = sorted_blobs(1100, 1101, apart=300.0)
    rows[-1] = rows[0] + 300.0
    est = StreamingNGGPMixture("full", discount=discount).partial_fit(rows[:-1])
    sums, live = est._fitted.state.sums, est._fitted.slots
    before, kappa = sums.stats(live), sums.prior.mean_precision[0]
    est.partial_fit(rows[-1:])
    sums = est._fitted.state.sums
    assert sums.prior.mean_precision[0] < 0.1 * kappa
    after = sums.stats(live)
    for name in ("count", "first", "second"):
        np.testing.assert_allclose(after[name], before[name], rtol=1e-9, atol=1e-6)


def test_first_rows_that_are_equal_give_a_warning():
    rows = np.ones((1000, 2))
    est = StreamingNGGPMixture("full").partial_fit(rows[:400])
    with pytest.warns(UserWarning, match=r"first 1000 rows of the stream are equal.*covariance_prior"):
        est.partial_fit(rows[400:])
    moved = StreamingNGGPMixture("full").partial_fit(rows[:400])
    moved.partial_fit(1e-6 * np.random.default_rng(0).normal(size=(700, 2)) + np.repeat([[1.0], [2.0]], 350, axis=0))
    assert moved.n_clusters_ in (2, 3)  # equal rows may be apart from those that nearly are
