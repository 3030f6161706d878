"""Which kinds of rows and models go together: every pair is refused by its message, or learned from."""

from itertools import combinations

import numpy as np
import pytest
from fitted import few_epochs

from sparsemix import SparseGaussianMixture
from sparsemix._heuristics.mixture.births import Births
from sparsemix._rows.threads import Workers
from sparsemix.mixture._may import FORBIDDEN, REFUSED
from sparsemix.mixture._recipe import GaussianRecipe

pytestmark = few_epochs
K, D = 16, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, D)) + 8.0 * RNG.integers(0, 3, size=(400, 1))
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
GAPS[np.isnan(GAPS).all(axis=1)] = 0.0
# What has each kind: parameters of the mixture, and arguments of fit.
KINDS = {
    "missing values": ({}, {}),
    "noise": ({}, {"noise_variance": np.full(D, 0.1)}),
    "labels": ({}, {"labels": np.where(np.arange(400) % 5, -1, np.arange(400) % 2)}),
    "new background": ({}, {"background": True}),
    "low_rank": ({"covariance_type": ("low_rank", 1)}, {}),
    "tied": ({"covariance_type": "tied"}, {}),
    "few components": ({"n_components": 4}, {}),
    "candidates": ({"candidates": 3, "n_nonzero": 2}, {}),
    "values": ({"init_params": X[:K]}, {}),
}
APART = {"low_rank", "tied"}, {"few components", "values"}  # no mixture has both
TOGETHER = [pair for pair in combinations(KINDS, 2) if {*pair} not in APART]


def given(kinds):
    """A mixture, its rows, and arguments of ``fit``."""
    params, arguments = {"n_components": K, "max_iter": 2, "random_state": 0}, {}
    for kind in kinds:
        params |= KINDS[kind][0]
        arguments |= KINDS[kind][1]
    return SparseGaussianMixture(**params), GAPS if "missing values" in kinds else X, arguments


@pytest.mark.parametrize("pair", TOGETHER, ids=" and ".join)
def test_every_pair_is_learned_from_or_refused_in_a_sentence(pair):
    est, rows, arguments = given(pair)
    message = next((text for kinds, text in REFUSED.items() if {*kinds} == {*pair}), None)
    if message is None:
        assert np.isfinite(est.fit(rows, **arguments).score(X))
    else:
        with pytest.raises(ValueError, match=message.partition("{")[0].partition(" (")[0]):
            est.fit(rows, **arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_fits_have_births_where_the_table_says(kind):
    """The kinds of a plan's model are those that its recipe was given."""
    est, rows, arguments = given([kind])
    recipe = GaussianRecipe(est._params, *(arguments.get(name, default) for name, default in (
        ("labels", None), ("noise_variance", None), ("background", False)
    )))  # fmt: skip
    with Workers(1) as workers:
        plan = recipe.plan(recipe.rows(rows, None), np.random.default_rng(0), workers)
    kinds = {"new background": "background"}.get(kind, kind)
    assert any(isinstance(hook, Births) for hook in plan.hooks) == (kinds not in FORBIDDEN["births in a fit"])
    assert (plan.model.search is not None) == (kind == "candidates")


def test_what_forbids_births_in_a_stream_forbids_them_in_a_fit():
    assert {*FORBIDDEN["births"]} < {*FORBIDDEN["births in a fit"]}
