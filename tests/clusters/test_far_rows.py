"""Far rows, such as codes of missing values, are clusters of their own and leave the bulk as it is."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture


def groups(n, n_features, n_groups, seed=0):
    """Rows of round groups, and their labels."""
    rng = np.random.default_rng(seed)
    centres, labels = rng.uniform(0.0, 1.0, (n_groups, n_features)), rng.integers(0, n_groups, n)
    return centres[labels] + 0.04 * rng.standard_normal((n, n_features)), labels


def streamed(X, size=None):
    model = StreamingNGGPMixture(random_state=0)
    for start in range(0, len(X), size or len(X)):
        model.partial_fit(X[start : start + (size or len(X))])
    return model.predict(X)


WAYS = {
    "fit": lambda X: StreamingNGGPMixture(random_state=0).fit_predict(X),
    "spherical": lambda X: StreamingNGGPMixture("spherical", random_state=0).fit_predict(X),
    "stream": lambda X: streamed(X, 50),
    "one call": streamed,
    "gibbs": lambda X: GibbsNGGPMixture(max_iter=20, burn_in=10, random_state=0).fit(X).predict(X),
}


def assert_bulk(found, labels, far, least=0.98):
    """The bulk has its groups, and shares no cluster with far rows."""
    bulk = np.delete(np.arange(len(labels)), far)
    assert adjusted_rand_score(labels[bulk], found[bulk]) > least
    assert not set(found[far]) & set(found[bulk])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("n_far", "code"), [(1, -999_999.0), (20, 2.0**31 - 1.0), (50, 1e20)])
def test_codes_of_missing_values_leave_the_bulk_as_it_is(way, n_far, code):
    X, labels = groups(1000, 2, 4)
    far = np.sort(np.random.default_rng(1).choice(len(X), n_far, replace=False))
    X[far] = code
    names = ", ".join(map(str, far[:5]))
    with pytest.warns(UserWarning, match=rf"rows of X \({names}.*code of missing values"):
        found = WAYS[way](X)
    assert_bulk(found, labels, far)
    assert len(set(found)) == 5


@pytest.mark.parametrize(("n_far", "scale"), [(1, 1e6), (3, 1e6), (20, 3e5), (20, 30.0)])
def test_scattered_far_rows_leave_the_bulk_as_it_is(n_far, scale):
    X, labels = groups(1000, 4, 5)
    rng = np.random.default_rng(3)
    far = rng.choice(len(X), n_far, replace=False)
    X[far] = scale * rng.standard_normal((n_far, 4))
    assert_bulk(StreamingNGGPMixture(random_state=0).fit_predict(X), labels, far)


def test_the_code_is_named_by_the_rows_of_the_caller():
    X, _ = groups(300, 3, 3)
    X[[40, 90], 1] = -999.0
    weight = np.ones(300)
    weight[:30] = 0.0
    with pytest.warns(UserWarning, match=r"2 rows of X \(40, 90\) hold -999,"):
        StreamingNGGPMixture(random_state=0).fit(X, sample_weight=weight)


def test_a_far_group_of_measurements_is_no_code():
    X, labels = groups(1000, 2, 4)
    X[:60] += 500.0
    X[:2] = 500.0  # some numbers repeat, but most do not
    labels[:60] += 4
    found = StreamingNGGPMixture(random_state=0).fit_predict(X)  # warnings are errors
    assert adjusted_rand_score(labels, found) > 0.98
