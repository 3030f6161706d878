"""Each column has its own scale: units, constants and wild values of one column do not decide about other columns."""

import re
from contextlib import nullcontext

import numpy as np
import pytest
from mixture_cases import assert_valid
from sklearn.metrics import adjusted_rand_score

from sparsemix import SparseGaussianMixture
from sparsemix._estimator.input.columns import ColumnLimits, rounding_steps

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Factors of the columns, from 1e-12 to 1e12. Powers of two are exact, whatever is done with the rows.
EXACT = 2.0 ** np.array([-40, 33, 0, 40])
INEXACT = np.array([1e-12, 3e9, 0.7, 1e12])
# Models that do not depend on units of single columns. Spherical ones depend on all units but a common one.
BY_COLUMN = ["full", "tied", "diag", "tied_diag", "low_rank", "zero_mean"]
SPHERICAL = ["spherical", "tied_spherical"]
WAYS = ["vb", "em", "stream"]
# Starts that do not depend on units of single columns.
STARTS = ["kmeans_scaled", "splitting", "bregman", "random_from_data", "random", "given"]


def clusters(n=240, seed=1):
    """Rows of three correlated clusters that overlap."""
    rng = np.random.default_rng(0)
    centres, shapes = 4.0 * rng.standard_normal((3, 4)), 0.5 * rng.standard_normal((3, 4, 4)) + np.eye(4)
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    return centres[labels] + np.einsum("nd,nde->ne", rng.standard_normal((n, 4)), shapes[labels])


def learn(X, way="vb", **params):
    """A mixture that ``fit``, in VB or EM, or a stream of two blocks has learned."""
    params = {"n_components": 3, "random_state": 0, "max_iter": 12, "tol": 0.0, **params}
    if way == "em":
        return SparseGaussianMixture(inference="em", reg_covar=0.0, **params).fit(X)
    mixture = SparseGaussianMixture(**params)
    return mixture.fit(X) if way == "vb" else mixture.partial_fit(X[::2]).partial_fit(X[1::2])


def given_start(covariance_type, way, factors, shift):
    """Parameters of a start: three means and precisions, or responsibilities where a type has no means."""
    if covariance_type == "zero_mean":
        return {"init_params": {"responsibilities": np.eye(3)[np.arange(120 if way == "stream" else 240) % 3]}}
    variances = np.broadcast_to(factors, 4) ** 2
    matrix = np.diag(1.0 / variances) + 0.1 / np.sqrt(np.outer(variances, variances))
    single = {"full": matrix, "diag": 1.0 / variances, "spherical": 1.0 / variances[0]}
    name = covariance_type.removeprefix("tied_")
    precisions = single.get({"tied": "full", "low_rank": "diag"}.get(name, name))
    if not covariance_type.startswith("tied"):
        precisions = np.array([precisions] * 3)
    return {"init_params": {"means": (clusters()[:3] + shift) * factors, "precisions": precisions}}


def assert_only_units_differ(covariance_type, way, start, factors, tolerance, dtype=np.float64, shift=0.0):
    """Fits to rows and to the same rows, shifted and in other units: labels and log densities of new rows agree."""
    there = [((each + shift) * factors).astype(dtype) for each in (clusters(), clusters(seed=2))]
    here = [(each.astype(np.float64) / factors - shift).astype(dtype) for each in there]  # rounded like ``there``
    params = {"covariance_type": covariance_type, "way": way, "init_params": start}
    one, other = params, params
    if start == "given":
        one = params | given_start(covariance_type, way, 1.0, 0.0)
        other = params | given_start(covariance_type, way, factors, shift)
    one, other = learn(here[0], **one), learn(there[0], **other)
    assert len(np.unique(one.predict(here[1]))) == 3
    np.testing.assert_array_equal(other.predict(there[1]), one.predict(here[1]))
    moved = other.score_samples(there[1]) + np.log(np.broadcast_to(factors, 4)).sum()
    np.testing.assert_allclose(moved, one.score_samples(here[1]), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("covariance_type", BY_COLUMN + SPHERICAL)
def test_units_of_columns_do_not_matter(covariance_type, way, start):
    """The same arithmetic but for exponents: what is left is the round-off of the logarithms."""
    factors = EXACT if covariance_type in BY_COLUMN else EXACT[0]
    assert_only_units_differ(covariance_type, way, start, factors, 1e-12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("covariance_type", BY_COLUMN)
def test_units_of_columns_in_single_precision_do_not_matter(covariance_type, way):
    """Rows are scored in double precision where single precision does not hold the inverses of variances."""
    assert_only_units_differ(covariance_type, way, "splitting", EXACT, 1e-4, dtype=np.float32)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("covariance_type", BY_COLUMN)
def test_units_and_origins_of_columns_do_not_matter(covariance_type, way):
    """Factors round each number of the rows, and an origin as far as that of dates rounds those of a column."""
    shift = 0.0 if covariance_type == "zero_mean" else np.array([1e6, -3.0, 0.0, 40.0])
    assert_only_units_differ(covariance_type, way, "splitting", INEXACT, 1e-6, shift=shift)


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "tied_diag", "low_rank"])
def test_constant_columns_are_uninformative(covariance_type):
    """For any constant, labels are the same, and log densities differ by one number for all rows."""
    X, scores, labels = clusters() * EXACT, [], []
    for value in (0.0, 1.0, -1e9, 1e-9, 1e9 / 3):
        rows = np.c_[X, np.full(len(X), value)]
        mixture = learn(rows, covariance_type=covariance_type, init_params="splitting", degrees_of_freedom_prior=9.0)
        assert_valid(mixture, rows)
        scores.append(mixture.score_samples(rows))
        labels.append(mixture.predict(rows))
        assert np.isfinite(mixture.score(rows + np.r_[np.zeros(4), 1.0])).all()
    np.testing.assert_array_equal(labels, labels[:1] * 5)
    np.testing.assert_allclose(np.ptp(np.array(scores) - scores[0], axis=1), 0.0, atol=1e-6)


@pytest.mark.parametrize("value", [1e4, 1e9, 1e12])
@pytest.mark.parametrize("way", ["vb", "stream"])
@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical", "low_rank", "zero_mean"])
def test_one_wild_value_costs_ordinary_rows_next_to_nothing(covariance_type, way, value):
    """The prior, the floor and the origin follow from the other values, so that a component may have the wild row."""
    X, fresh, params = clusters(480), clusters(seed=2), {"covariance_type": covariance_type, "way": way}
    resp = np.eye(4)[learn(X, init_params="splitting", **params).predict(X)]
    resp[6] = np.eye(4)[3]
    params["init_params"] = {"responsibilities": resp[::2] if way == "stream" else resp}
    want = learn(X, n_components=4, **params).score(fresh)
    X[6, 2] = value
    told = pytest.warns(UserWarning, match=rf"1 of them, such as row {6 if way == 'vb' else 3} .*background=True")
    with nullcontext() if covariance_type == "zero_mean" else told:  # whose components are expected to be wide
        got = learn(X, n_components=4, **params).score(fresh)
    assert got > want - 0.2


@pytest.mark.filterwarnings("ignore:the covariance of component")
@pytest.mark.parametrize("share", [0.003, 0.03, 0.08])
@pytest.mark.parametrize("value", [-9999.0, -999_999.0, 1e9])
def test_codes_of_missing_values_leave_the_other_components_as_they_are(share, value):
    """They get a component, or, if they are few, belong to the background; the rest has the variances of its rows."""
    X, fresh = clusters(600), clusters(seed=2)
    want = SparseGaussianMixture(3, random_state=0).fit(X)
    X[: int(share * 600), [1, 2]] = value
    told = re.escape(f"({int(share * 600)} of them, such as row 0 with {value:g} in column 1)")
    with pytest.warns(UserWarning, match=told):
        mixture = SparseGaussianMixture(4, random_state=0).fit(X)
    with_background = SparseGaussianMixture(3, random_state=0).fit(X, background=True)
    for found in (mixture, with_background) if share < 0.05 else (mixture,):
        assert adjusted_rand_score(want.predict(fresh), found.predict(fresh)) > 0.98
        assert found.score(fresh) > want.score(fresh) - 0.2


def test_limits_leave_ordinary_columns_as_they_are():
    """Skewed, heavy-tailed and sparse columns have no wild values: what they have to say is theirs to the last bit."""
    rng, n = np.random.default_rng(0), 1999
    sparse = [rng.exponential(size=n) * (np.arange(n) < share * n) for share in (0.001, 0.009, 0.011, 0.049, 0.051)]
    columns = [rng.standard_normal(n), rng.exponential(size=n), rng.lognormal(0, 2, n), rng.standard_t(3, n), *sparse]
    X = np.stack(columns, axis=1) * 10.0 ** rng.integers(-9, 9, len(columns))
    limits = ColumnLimits.of(X)
    np.testing.assert_array_equal(limits.variances(X.var(axis=0)), X.var(axis=0))
    np.testing.assert_array_equal(limits.means(X.mean(axis=0)), X.mean(axis=0))


@pytest.mark.parametrize("n", [20, 60, 500, 5000])
def test_wild_values_count_as_a_little_more_than_others(n):
    X = np.random.default_rng(1).standard_normal((n, 3)) * [1.0, 1e-6, 1e6] + [0.0, 1.0, 1e9]
    want = ColumnLimits.of(X)
    X[7] = 1e12, -1e9, 1e15
    limits = ColumnLimits.of(X)
    np.testing.assert_allclose(limits.spread, want.spread, rtol=0.3)
    assert (limits.variances(X.var(axis=0)) < 5.0 * limits.spread**2).all()
    assert (np.abs(limits.means(X.mean(axis=0)) - [0.0, 1.0, 1e9]) < want.spread).all()


def test_a_pixel_that_centring_made_almost_zero_may_be_set():
    """A column that is constant but for one row that is held out, as standardised images have."""
    X, late = clusters(), clusters(seed=2)
    pixel = np.zeros((len(X) + 1, 1))
    pixel[-1] = 1.0
    pixel = (pixel - pixel.mean()) / pixel.std()
    mixture = learn(np.c_[X, pixel[:-1]], init_params="splitting")
    lost = mixture.score(np.c_[late[:1], pixel[:1]]) - mixture.score(np.c_[late[:1], pixel[-1:]])
    assert 0.0 < lost < 1e5


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "low_rank"])
def test_flags_among_measurements_are_named(covariance_type):
    """Three groups in two columns, and a category that knows nothing of them."""
    rng = np.random.default_rng(0)
    category = np.eye(3)[rng.integers(3, size=90)]
    X = np.column_stack([rng.normal(size=(90, 2)) + 9.0 * (np.arange(90) % 3)[:, None], category])
    est = SparseGaussianMixture(3, covariance_type=covariance_type, random_state=0)
    with pytest.warns(UserWarning, match="columns 2, 3, 4 of X hold two values each"):
        est.fit(X)


def test_steps_of_rounded_columns():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=200), rng.integers(9, size=200), 0.25 * rng.integers(-30, 30, size=200) + 7.0]
    X = np.c_[X, np.ones(200), X[:, 1] * 1e-7, X[:, 1]]
    X[5, 1:3] = np.nan, 1e9
    X[:, 5] += 0.5 * (np.arange(200) == 3) - 0.1 * (np.arange(200) == 4)
    np.testing.assert_allclose(rounding_steps(X), [0.0, 1.0, 0.25, 0.0, 1e-7, 0.1], rtol=1e-6)


def test_components_are_no_narrower_than_the_rounding_of_columns():
    """A column of whole numbers that is constant in a component may differ by half a step in the next row."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = np.c_[rng.normal(size=(300, 2)) + 9.0 * y[:, None], y, np.round(3.0 * rng.normal(size=300))]
    for covariance_type in ("full", "diag"):
        variances = SparseGaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X).covariances_
        variances = variances if covariance_type == "diag" else np.diagonal(variances, axis1=1, axis2=2)
        assert (variances[:, 2] > 0.05).all()


@pytest.mark.parametrize("covariance_type", ["full", "tied"])
def test_a_total_and_its_parts_are_named(covariance_type):
    """In any units, and only where correlations are learned; a noisy total has a density."""
    parts = np.random.default_rng(0).normal(size=(300, 4)) * [1.0, 1e4, 1e-3, 30.0] + [0.0, 1e6, 0.0, 0.0]
    total, noise = parts[:, 1] + 100.0 * parts[:, 3], np.random.default_rng(1).normal(size=300)
    SparseGaussianMixture(2, covariance_type=covariance_type, random_state=0).fit(np.c_[parts, total + noise])
    SparseGaussianMixture(2, covariance_type="diag", random_state=0).fit(np.c_[parts, total])
    est = SparseGaussianMixture(2, covariance_type=covariance_type, random_state=0)
    with pytest.warns(UserWarning, match="columns 1, 3, 4 of X depend linearly on each other"):
        est.fit(np.c_[parts, total])


@pytest.mark.parametrize("covariance_type", ["tied", "tied_diag", "tied_spherical"])
def test_a_wild_value_under_a_shared_covariance_is_named(covariance_type):
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[17, 1] = 1e9
    est = SparseGaussianMixture(2, covariance_type=covariance_type, random_state=0)
    with pytest.warns(UserWarning, match="row 17 of X has the extreme value 1e\\+09 in column 1"):
        est.fit(X, sample_weight=np.arange(200) > 0)  # rows without weight count


def test_single_precision_columns_far_from_zero_vary():
    """Numbers that single precision holds exactly are no round-off."""
    rng = np.random.default_rng(1)
    X = (1e7 + np.repeat([0.0, 8.0], 300) + rng.normal(0.0, 1.0, 600)).astype(np.float32)[:, None]
    est = SparseGaussianMixture(2, random_state=0)
    single, double = est.fit(X).score(X), est.fit(X.astype(float)).score(X.astype(float))
    assert abs(single - double) < 0.05
