"""Rows and weights at the ends of what numbers hold: the clusters of ordinary ones, or one sentence that says where."""

import warnings
from contextlib import nullcontext, suppress

import numpy as np
import pytest
from estimator_cases import QUICK, with_weights
from fitted import few_epochs
from plans import takes_blocks
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from sparsemix import (
    GibbsNGGPMixture,
    SparseGaussianMixture,
    SparseLDA,
    SparseMultinomialMixture,
    SparseSCVB0LDA,
    SparseVonMisesFisherMixture,
    StreamingNGGPMixture,
    blocks,
)

pytestmark = few_epochs

RNG = np.random.default_rng(0)
TRUE = RNG.integers(4, size=400)
X = RNG.normal(scale=10.0, size=(4, 3))[TRUE] + RNG.normal(size=(400, 3))
CLUSTERS = {
    "mixture": lambda kind: SparseGaussianMixture(4, covariance_type=kind, random_state=0),
    "stream": lambda kind: StreamingNGGPMixture(likelihood=kind, random_state=0),
    "chain": lambda kind: GibbsNGGPMixture(likelihood=kind, random_state=0, max_iter=10),
}
COUNTS = sparse.csr_array(np.abs(np.rint(X)))
STREAMS = {
    "mixture": (SparseGaussianMixture(4, total_samples=1e16, random_state=0), X),
    "directions": (SparseVonMisesFisherMixture(4, total_samples=1e16, random_state=0), X),
    "words": (SparseMultinomialMixture(4, total_samples=1e16, random_state=0), COUNTS),
    "variational": (SparseLDA(4, total_samples=1e16, random_state=0), COUNTS),
    "collapsed": (SparseSCVB0LDA(4, total_samples=1e16, random_state=0), COUNTS),
}
over_clusters = pytest.mark.parametrize("name", CLUSTERS)
over_kinds = pytest.mark.parametrize("kind", ["full", "diag", "spherical"])


@over_kinds
@over_clusters
@pytest.mark.parametrize(("dtype", "scale"), [(float, 1e-68), (float, 1e67), (np.float32, 1e-15), (np.float32, 1e15)])
def test_units_do_not_matter(name, kind, dtype, scale):
    rows = (scale * X).astype(dtype)
    est = CLUSTERS[name](kind).fit(rows)
    assert adjusted_rand_score(TRUE, est.predict(rows)) > 0.95
    assert np.isfinite(est.score(rows))


@over_clusters
@pytest.mark.parametrize(("dtype", "large"), [(float, 1e150), (float, -1e300), (np.float32, 1e30)])
def test_a_value_too_large_is_named(name, dtype, large):
    if name != "mixture" and dtype is np.float32:
        large = np.inf  # float32 rows are computed with in float64
    est, bad = CLUSTERS[name]("full").fit(X.astype(dtype)), X.astype(dtype)
    bad[17, 1] = large
    held = vars(est).copy()
    message = r"row 17, column 1|row 17 of X holds .* in column 1, .*; scale the columns"
    for call in (est.fit, est.predict, est.predict_proba, est.score_samples, est.score):
        with pytest.raises(ValueError, match=message):
            call(bad)
    assert vars(est) == held


@over_kinds
@pytest.mark.parametrize(
    ("name", "dtype", "scale"),
    [  # clusters compute float32 rows in float64
        *((name, float, scale) for name in CLUSTERS for scale in (1e-157, 1e-200)), ("mixture", np.float32, 1e-36)
    ],
)  # fmt: skip
def test_values_too_small_are_named(name, kind, dtype, scale):
    bad = X.astype(dtype)
    bad[:, 2] *= dtype(scale)
    with pytest.raises(ValueError, match=r"column 2 of X has values of at most .*; scale the columns"):
        CLUSTERS[name](kind).fit(bad)
    bad[:, 2] = 0
    CLUSTERS[name](kind).fit(bad)  # a constant column is another matter


@pytest.mark.filterwarnings("ignore:.*clusters have one document")  # of rows that are no texts
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", ["stream", "chain"])
def test_a_count_too_large_is_named(name, form):
    counts = np.abs(np.rint(X))
    est = CLUSTERS[name]("multinomial").fit(form(counts))
    counts[5, 1] = 1e300
    for call in (est.fit, est.predict, est.predict_proba, est.score):
        with pytest.raises(ValueError, match=r"X has the count 1e\+300 in row 5; .*: multiply or divide all counts"):
            call(form(counts))


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("weight", [1.0, 1e10, 1e25])
@pytest.mark.parametrize("name", ["stream", "chain"])
def test_large_weights_of_clusters(name, weight, discount):
    est = CLUSTERS[name]("diag").set_params(discount=discount).fit(X, sample_weight=np.full(len(X), weight))
    assert np.isfinite(est.counts_).all()
    assert np.isfinite(est.means_).all()
    assert np.isfinite(est.weights_).all()
    assert np.isfinite(est.score(X))


@over_clusters
def test_weights_too_large_are_named(name):
    weights = np.ones(len(X))
    weights[3] = 1e100
    with pytest.raises(ValueError, match=r"sample_weight of row 3 is 1e\+100; .* multiply or divide them by a number"):
        CLUSTERS[name]("full").fit(X, sample_weight=weights)


def mini_epochs(case):
    """Whether it visits documents several times in a row, which blocks do not allow."""
    return getattr(case.estimator, "mini_epoch", None) is not None


def calls_of(case):
    """The calls that take weights."""
    calls = [call for call in ("fit", "partial_fit") if case.can(call)]
    by_blocks = "partial_fit" in calls and takes_blocks(case.estimator) and not mini_epochs(case)
    return [*calls, "blocks"] if by_blocks else calls


@pytest.mark.parametrize(
    ("case", "call"),
    [
        pytest.param(case, call, id=f"{case.name}-{call}", marks=[] if case in QUICK else pytest.mark.slow)
        for case in with_weights() for call in calls_of(case)
    ],
)  # fmt: skip
def test_weights_count_rows(case, call):
    """Weights that sum to one leave hardly more than the prior; those that only distinguish rows do not."""
    rows, n = case.data.rows, case.data.rows.shape[0]
    relative, discount = np.arange(n) + n / 2.0, getattr(case.estimator, "discount", 0.0)

    def messages(weights):
        refused = nullcontext() if (weights[weights > 0] > discount).all() else suppress(ValueError)
        with warnings.catch_warnings(record=True) as caught, refused:
            warnings.simplefilter("always")
            if call == "blocks":
                halves = [rows[: n // 2], rows[n // 2 :]]
                blocks.fit(case.make(), halves, sample_weight=[weights[: n // 2], weights[n // 2 :]])
            else:
                getattr(case.make(), call)(rows, sample_weight=weights)
        return [str(each.message) for each in caught if "sample_weight" in str(each.message)]

    (message,) = messages(relative / relative.sum())
    assert f"sample_weight has the sum 1 over {n} rows" in message
    assert "w * len(w) / w.sum()" in message
    discounted, few = 0.5 ** (np.arange(n)[::-1] / 10.0), np.where(np.arange(n) < 9, 2.0, 0.0)
    for good in (relative * n / relative.sum(), discounted, few):
        assert not messages(good)


@pytest.mark.filterwarnings("ignore:sample_weight has the sum")
@pytest.mark.parametrize("weight", [1e-9, 1e-10, 1e-16])
def test_weights_that_round_off_would_hide_are_named(weight):
    with pytest.raises(ValueError, match=r"sample_weight of row 0 is .* larger than discount=0.0 and 1e-08"):
        GibbsNGGPMixture(discount=0.0, likelihood="full").fit(X, sample_weight=np.full(len(X), weight))


def test_large_rows_of_large_weights_have_a_start():
    """scikit-learn's k-means would add their squares in single precision."""
    rows = (1e15 / 4 * X).astype(np.float32)
    est = SparseGaussianMixture(4, random_state=0, max_iter=2, tol=0)
    heavy = clone(est).fit(rows, sample_weight=np.full(len(X), 1e8))
    np.testing.assert_array_equal(heavy.predict(rows), clone(est).fit(rows).predict(rows))


@pytest.mark.parametrize("name", STREAMS)
def test_the_length_of_a_stream_is_limited(name):
    est, rows = STREAMS[name]
    tiny = np.full(rows.shape[0], 1e-10)
    with pytest.raises(ValueError, match=r"total_samples=1e\+16 is .* times the weight of all rows of X, .*: lower it"):
        clone(est).partial_fit(rows, sample_weight=tiny)
    est = clone(est).set_params(total_samples=1e6).partial_fit(rows)
    before = est.n_steps_
    with pytest.raises(ValueError, match=r"total_samples=1e\+06 is .* times the weight of all rows of X, .*: lower it"):
        est.partial_fit(rows, sample_weight=1e-10 * tiny)
    assert est.n_steps_ == before


@over_kinds
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("reg_covar", [1e39, 1e100])
def test_a_variance_that_single_precision_does_not_hold(reg_covar, inference, kind):
    est = SparseGaussianMixture(
        2, covariance_type=kind, reg_covar=reg_covar, inference=inference, init_params="random", random_state=0,
        max_iter=2,
    )  # fmt: skip
    expected = -0.5 * X.shape[1] * np.log(2.0 * np.pi * reg_covar)
    assert est.fit(X.astype(np.float32)).score(X.astype(np.float32)) == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("kind", ["diag", "spherical", "low_rank", "tied_diag", "tied_spherical"])
def test_a_component_without_variance_is_named(kind):
    rows = np.full((40, 3), 5.0)
    if kind in ("diag", "low_rank", "tied_diag"):
        rows[:, 0] = X[:40, 0]
    est = SparseGaussianMixture(3, covariance_type=kind, inference="em", reg_covar=0.0, random_state=0)
    with pytest.raises(ValueError, match=r"covariance of component \d is not positive definite; raise reg_covar"):
        est.fit(rows)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical", "low_rank", "zero_mean"])
def test_a_component_too_narrow_for_single_precision_is_named(kind):
    rows = np.zeros((40, 3))
    params = {"covariance_type": kind, "covariance_prior": 1e-140, "random_state": 0}
    params |= {} if kind == "zero_mean" else {"mean_precision_prior": 1e17}
    assert np.isfinite(SparseGaussianMixture(3, **params).fit(rows).score(rows))
    with pytest.raises(ValueError, match=r"is so narrow that .* beyond float32; raise reg_covar or covariance_prior"):
        SparseGaussianMixture(3, **params).fit(rows.astype(np.float32))


@pytest.mark.parametrize("kind", ["full", "diag", "spherical", "low_rank"])
def test_densities_beyond_single_precision_are_as_in_double(kind):
    narrow = (1e-12 * X).astype(np.float32)
    est = SparseGaussianMixture(4, covariance_type=kind, random_state=0).fit(narrow)
    far = np.concatenate([narrow[:5], [[1e12, -1e13, 1e14]]]).astype(np.float32)
    found, expected = est.score_samples(far), est.score_samples(far.astype(np.float64))
    assert -np.inf < found[5] < -np.finfo(np.float32).max
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_scales_of_an_extremely_narrow_prior_are_finite():
    rows, weight = 1e69 * X / np.abs(X).max(), np.full(len(X), 1e25)
    for kind in ("full", "diag"):
        est = SparseGaussianMixture(
            4, covariance_type=kind, covariance_prior=("learned", 1e-140), degrees_of_freedom_prior=1e17,
            random_state=0,
        )  # fmt: skip
        assert np.isfinite(est.fit(rows, sample_weight=weight).covariance_prior_scales_).all()
