"""The sample of a chain that represents its posterior."""

from itertools import pairwise

import numpy as np
import pytest
from cluster_cases import LIKELIHOODS, gibbs, rows_of
from sklearn.datasets import make_blobs
from sklearn.metrics import mutual_info_score

from sparsemix import GibbsNGGPMixture
from sparsemix.clusters import _samples as module
from sparsemix.clusters._samples import central, variation_of_information


def entropy(labels):
    return mutual_info_score(labels, labels)


def distance(labels, other):
    return entropy(labels) + entropy(other) - 2.0 * mutual_info_score(labels, other)


@pytest.mark.parametrize("n", [1, 2, 50])
def test_variation_of_information_is_that_of_entropies(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        one, two = rng.integers(-1, 4, size=(2, n)).astype(np.int32)
        assert variation_of_information(one, two) == pytest.approx(distance(one, two), abs=1e-12)
        assert variation_of_information(one, one) == pytest.approx(0.0, abs=1e-12)


def test_central_partition_is_nearest_to_the_samples():
    one, two = np.array([0, 0, 1, 1], dtype=np.int32), np.array([0, 1, 1, 2], dtype=np.int32)
    assert central([one, two, two], 3) == 1
    assert central([two, one, one, two], 3) == 1  # the last partition is a candidate and no sample
    assert central([one], 0) == 0


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("compared", [2, 64])
def test_clusters_are_those_of_the_central_sample(likelihood, compared, monkeypatch):
    """Labels of each sample are those of the last epoch of a shorter chain."""
    monkeypatch.setattr(module, "COMPARED", compared)
    rows = rows_of(likelihood)
    settings = {"concentration": 20.0, "burn_in": 3, "thin": 1}
    est = gibbs(likelihood, **settings).set_params(max_iter=8).fit(rows)
    short = [
        gibbs(likelihood, **settings).set_params(max_iter=epoch, burn_in=epoch).fit(rows) for epoch in range(4, 9)
    ]
    candidates = short if compared == 64 else [short[0], short[-1]]
    totals = [sum(distance(one.labels_, two.labels_) for two in candidates) for one in candidates]
    chosen = candidates[int(np.argmin(np.round(totals, 12)))]
    np.testing.assert_array_equal(est.labels_, chosen.labels_)
    for name in ("counts_", "means_", "weights_", "u_", "n_clusters_", "concentration_"):
        np.testing.assert_array_equal(getattr(est, name), getattr(chosen, name), err_msg=name)


def test_clean_groups_are_the_clusters_though_draws_have_more():
    X, groups = make_blobs(400, 2, centers=4, cluster_std=0.5, random_state=0)
    est = GibbsNGGPMixture("full", max_iter=100, thin=2, random_state=0).fit(X)
    assert any(one != two for one, two in pairwise(len(sample.slots) for sample in est._samples))
    assert est.n_clusters_ == 4
    assert distance(est.labels_, groups) == pytest.approx(0.0, abs=1e-9)
