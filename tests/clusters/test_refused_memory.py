"""Memory that is refused in a stream of clusters: the rows before it are learned, and it continues to the same bits."""

from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from fitted import assert_same_bits, few_epochs

from sparsemix import StreamingNGGPMixture
from sparsemix._models.clusters.gaussian_slots import GaussianSlots
from sparsemix._models.clusters.multinomial_slots import MultinomialSlots
from sparsemix._models.clusters.state import ClusterState

pytestmark = few_epochs
SETTINGS = {
    "multinomial": {"merge_criterion": ("responsibility", 0.01)},
    "full": {"merge_criterion": ("similarity", 0.3), "prune_threshold": 1.5},
    "diag": {"merge_criterion": "bayes_factor", "half_life": 50.0},
}
per_likelihood = pytest.mark.parametrize("likelihood", SETTINGS)


def rows_of(likelihood):
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=4.0, size=(60, 3))[rng.integers(60, size=200)]
    rows = centres + rng.normal(size=(200, 3))
    return rng.poisson(np.exp(rows / 2.0)).astype(float) if likelihood == "multinomial" else rows


def made(likelihood):
    return StreamingNGGPMixture(
        likelihood=likelihood, concentration=20.0, discount=0.3, merge_every=25, random_state=0, **SETTINGS[likelihood]
    )


def failing(patch, owner, name, n):
    """The n-th call of a method is refused memory, when it has done what it does."""
    whole, calls = getattr(owner, name), []

    def method(self, *args, **kwargs):
        out = whole(self, *args, **kwargs)
        calls.append(name)
        if len(calls) == n:
            raise MemoryError
        return out

    patch.setattr(owner, name, method)


def methods_of(likelihood):
    """Methods whose calls are refused memory."""
    slots = MultinomialSlots if likelihood == "multinomial" else GaussianSlots
    return [(slots, "merge"), (slots, "take"), (ClusterState, "recount"), (ClusterState, "looked")]


@cache
def uninterrupted(likelihood):
    rows = rows_of(likelihood)
    return made(likelihood).partial_fit(rows[:60]).partial_fit(rows[60:])


@per_likelihood
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("place", range(4))
def test_a_stream_continues_from_the_row_where_memory_was_refused(likelihood, place, n, monkeypatch):
    rows, owner_and_name = rows_of(likelihood), methods_of(likelihood)[place]
    expected = uninterrupted(likelihood)
    est = made(likelihood).partial_fit(rows[:60])
    with monkeypatch.context() as patch:
        failing(patch, *owner_and_name, n)
        with suppress(MemoryError):  # where the stream makes fewer than n calls, it reads all rows
            est.partial_fit(rows[60:])
    assert 60 <= est.n_samples_seen_ <= 200
    assert np.isfinite(est.counts_).all()
    est.predict(rows)  # reads tables whose sizes must fit each other
    if est.n_samples_seen_ < 200:
        est.partial_fit(rows[est.n_samples_seen_ :])
        assert_same_bits(est, expected, rows)
