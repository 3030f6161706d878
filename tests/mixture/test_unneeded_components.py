"""Settings of the priors that leave unneeded components empty, as the documentation of the mixtures says."""

import numpy as np
import pytest

from sparsemix import SparseBernoulliMixture, SparseGaussianMixture, SparseMultinomialMixture

K, GROUPS, N = 10, 3, 300
RNG = np.random.default_rng(0)
LABELS = RNG.integers(GROUPS, size=N)
POINTS = RNG.normal(size=(N, 4)) + 8.0 * np.eye(4)[LABELS]
WORDS = np.array([RNG.multinomial(40, p) for p in RNG.dirichlet(np.full(60, 0.1), size=GROUPS)[LABELS]])
FLAGS = (RNG.random((N, 20)) < RNG.beta(0.5, 0.5, size=(GROUPS, 20))[LABELS]).astype(float)
GAUSSIAN = {"covariance_prior": np.cov(POINTS.T), "mean_precision_prior": 1.0, "tol": 1e-5, "max_iter": 500}
SETTINGS = {
    "points": (SparseGaussianMixture, POINTS, GAUSSIAN),
    "words": (SparseMultinomialMixture, WORDS, {"word_prior": 1.0}),
    "flags": (SparseBernoulliMixture, FLAGS, {"beta_prior": 3.0}),
}
# Variational Bayes of words empties some components under any prior of the weights.
FEW_WEIGHTS = {
    name: {"inference": "vb", "weight_concentration_prior": 1e-10} for name in ("points", "flags")
}  # fmt: skip


# The least mean number of components in use by default.
MANY = {"points": 9, "flags": 8, "words": 4.5}


@pytest.mark.statistical
@pytest.mark.parametrize("name", SETTINGS)
def test_unneeded_components(name):
    cls, rows, emptying = SETTINGS[name]
    by_default, few_weights, few = (
        [np.count_nonzero(cls(K, random_state=seed, **params).fit(rows).weights_ * N >= 1.5) for seed in range(6)]
        for params in ({}, FEW_WEIGHTS.get(name, {}), emptying)
    )
    assert np.mean(by_default) >= MANY[name]
    assert np.mean(few_weights) >= MANY[name] - 1.5
    assert np.mean(by_default) > max(few) + 0.5
    assert GROUPS <= min(few) <= max(few) <= GROUPS + 1
