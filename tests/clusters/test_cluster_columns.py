"""Units, constants and wild values of one column do not decide about other columns."""

import numpy as np
import pytest

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture

# Factors of the columns, from 1e-12 to 1e12. Powers of two are exact, whatever is done with the rows.
FACTORS = 2.0 ** np.array([-40, 33, 0, 40])
LIKELIHOODS = ["full", "diag", "zero_mean"]


def clusters(seed=1, n=240):
    """Rows of three correlated clusters."""
    rng = np.random.default_rng(0)
    centres, shapes = 6.0 * rng.standard_normal((3, 4)), 0.5 * rng.standard_normal((3, 4, 4)) + np.eye(4)
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    return centres[labels] + np.einsum("nd,nde->ne", rng.standard_normal((n, 4)), shapes[labels])


def stream(likelihood):
    return StreamingNGGPMixture(likelihood, random_state=0)


def short_chain(likelihood):
    return GibbsNGGPMixture(likelihood, max_iter=10, burn_in=5, thin=1, random_state=0)


@pytest.fixture(params=[stream, short_chain])
def make(request):
    return request.param


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_units_of_columns_do_not_matter(make, likelihood):
    X, fresh = clusters(), clusters(seed=2)
    one, other = (make(likelihood).fit(X * by) for by in (1.0, FACTORS))
    np.testing.assert_array_equal(other.predict(fresh * FACTORS), one.predict(fresh))
    moved = other.score_samples(fresh * FACTORS) + np.log(FACTORS).sum()
    np.testing.assert_allclose(moved, one.score_samples(fresh), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.slow
def test_the_size_of_a_constant_does_not_matter(make, likelihood):
    X, labels = clusters() * FACTORS, []
    for value in (1.0, -1e9, 1e-9):
        rows = np.c_[X, np.full(len(X), value)]
        labels.append(make(likelihood).fit(rows).predict(rows))
    np.testing.assert_array_equal(labels, labels[:1] * 3)


@pytest.mark.parametrize("value", [1e4, 1e9])
@pytest.mark.parametrize("likelihood", ["full", "diag", "spherical"])
@pytest.mark.slow
def test_one_wild_value_costs_ordinary_rows_little(make, likelihood, value):
    """The prior follows from the other values, and the wild row gets a cluster."""
    X, fresh = clusters(), clusters(seed=2)
    want = make(likelihood).fit(X).score(fresh)
    X[6, 2] = value
    assert make(likelihood).fit(X).score(fresh) > want - 0.7
