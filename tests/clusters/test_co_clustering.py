"""Probabilities that two rows share a cluster, and the labels of the samples that they are means of."""

import pickle

import numpy as np
import pytest
import reference_nggp as oracle
from cluster_cases import LIKELIHOODS, TEXTS, WEIGHTS, gibbs, rows_of

from sparsemix import GibbsNGGPMixture
from sparsemix.clusters import _gibbs_nggp_mixture as module

SIX = np.array([[3.0, 0, 1], [2, 1, 0], [0, 3, 1], [1, 2, 2], [0, 0, 2], [2, 0, 0]])


@pytest.mark.slow
@pytest.mark.parametrize(
    "prior",
    [
        {"concentration": 0.8, "discount": 0.0, "tilt": 1.0},
        {"concentration": 0.8, "discount": 0.5, "tilt": 0.7},
        {"concentration": 0.3, "discount": 0.3, "tilt": "pitman-yor"},
    ],
    ids=str,
)
def test_probabilities_are_those_of_all_partitions(prior):
    """Six documents, whose 203 partitions are enumerated."""
    rule = oracle.Rule(**prior) if prior["tilt"] != "pitman-yor" else oracle.Rule(0.3, 0.3, 0.0, theta=0.3)
    exact = np.zeros((6, 6))
    for labels, p in oracle.posterior(SIX, 0.5, rule).items():
        labels = np.array(labels)
        exact += p * (labels[:, None] == labels)
    est = GibbsNGGPMixture(
        "multinomial", word_prior=0.5, split_merge=False, thin=1, burn_in=100, max_iter=3100, random_state=0, **prior
    ).fit(SIX)
    assert exact[np.triu_indices(6, 1)].max() - exact[np.triu_indices(6, 1)].min() > 0.2
    np.testing.assert_allclose(est.co_clustering(), exact, atol=0.06)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_labels_of_samples_are_those_of_shorter_chains(likelihood):
    rows = rows_of(likelihood)
    est = gibbs(likelihood, burn_in=3, thin=2).set_params(max_iter=8).fit(rows)
    assert est.sampled_labels_.shape == (est.n_samples_, 150) == (2, 150)
    assert est.sampled_labels_.dtype == np.int32
    for labels, epoch in zip(est.sampled_labels_, (5, 7), strict=True):
        short = gibbs(likelihood, max_iter=epoch, burn_in=epoch).fit(rows)
        np.testing.assert_array_equal(labels, short.labels_)
    some = [7, 149, 7, 20]
    wanted = np.mean([labels[some][:, None] == labels[some] for labels in est.sampled_labels_], axis=0)
    wanted[est.labels_[some] < 0], wanted[:, est.labels_[some] < 0] = np.nan, np.nan
    np.testing.assert_array_equal(est.co_clustering(some), wanted)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(est)).co_clustering(some), wanted)


def test_rows_without_a_cluster_have_no_probability():
    weight = WEIGHTS.copy()
    weight[2] = 0.0
    est = gibbs().fit(TEXTS, sample_weight=weight)
    lost = est.labels_ < 0
    assert lost[[0, 1, 2, 70, 149]].all()
    together = est.co_clustering()
    np.testing.assert_array_equal(np.isnan(together), lost[:, None] | lost)
    np.testing.assert_array_equal(together, together.T)
    np.testing.assert_array_equal(np.diag(together)[~lost], 1.0)


def test_without_samples_it_is_that_of_the_last_epoch():
    est = gibbs(max_iter=3, burn_in=3).fit(TEXTS)
    assert est.sampled_labels_.shape == (0, 150)
    some = np.flatnonzero(est.labels_ >= 0)[:9].astype(np.int8)
    np.testing.assert_array_equal(est.co_clustering(some), est.labels_[some][:, None] == est.labels_[some])


def test_rows_that_cannot_be_are_refused(monkeypatch):
    est = gibbs().fit(TEXTS)
    for rows, message in (
        ([3, 150], "rows contains 150; the fit had rows 0 to 149"),
        ([-1], "rows contains -1"),
        ([0.0, 1.0], r"indices of rows, got shape \(2,\) of float64"),
        (np.ones(150, dtype=bool), "of bool"),
        (3, r"shape \(\)"),
    ):
        with pytest.raises(ValueError, match=message):
            est.co_clustering(rows)
    assert est.co_clustering([]).shape == (0, 0)
    monkeypatch.setattr(module, "MOST_PAIRED", 149)
    with pytest.raises(ValueError, match="rows=None means all pairs of 150 rows; give the indices of some rows"):
        est.co_clustering()
    assert est.co_clustering(np.arange(150)).shape == (150, 150)
