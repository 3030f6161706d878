"""Fits of StreamingNGGPMixture: attributes, parameters that do not fit, extreme rows, pipelines, grid search."""

import warnings

import numpy as np
import pytest
from cluster_cases import (
    APART,
    GAUSSIANS,
    GROUPS,
    LIKELIHOODS,
    TEXTS,
    apart,
    assert_same_bits,
    assert_unchanged,
    assert_valid,
    rows_of,
    same_partition,
    snapshot,
    stream,
    streaming,
)
from fitted import assert_never_fitted
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from topic_cases import counter, texts

from sparsemix import StreamingNGGPMixture
from sparsemix._estimator.input import checks
from sparsemix._models.clusters.model import StreamingModel

per_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)
EPOCHS = {"ADF": 1, "EP": 4}
per_method = pytest.mark.parametrize("max_iter", EPOCHS.values(), ids=EPOCHS)

# -- parameters, tags, attributes


def test_the_clusters_of_a_fit_continue_in_a_stream():
    est = streaming().fit(TEXTS)
    ids = est.cluster_ids_
    est.partial_fit(TEXTS[:10])
    np.testing.assert_array_equal(est.cluster_ids_[: len(ids)], ids)


def test_labels_of_a_fit_are_those_of_all_rows_and_end_with_it():
    X = np.random.default_rng(0).normal(size=(60, 2)) + 30 * np.eye(2)[np.arange(60) % 2]
    est = StreamingNGGPMixture("diag", concentration=1.0, random_state=0).fit(X, sample_weight=np.arange(60) > 5)
    assert (est.labels_.shape, est.labels_.dtype) == ((60,), np.int64)
    np.testing.assert_array_equal(est.labels_, est.predict(X))  # of the rows without weight, too
    with pytest.raises(AttributeError, match=r"has no labels_: only fit sets it.*, or predict\(X\)"):
        est.partial_fit(X).labels_  # noqa: B018


# -- wrong input


@pytest.mark.parametrize("method", ["partial_fit", "predict", "score"])
def test_a_wider_vocabulary_is_refused_with_the_remedy(method):
    est = streaming().partial_fit(TEXTS)
    wide = sparse.hstack([TEXTS, TEXTS], format="csr")
    before = snapshot(est)
    with pytest.raises(ValueError, match=r"50 features.*expecting 25 features.*hash the words.*HashingVectorizer"):
        getattr(est, method)(wide)
    assert_unchanged(est, before)


@pytest.mark.parametrize("likelihood", GAUSSIANS)
def test_a_row_without_finite_density_is_named_and_ends_the_stream_before_it(likelihood, monkeypatch):
    """The test switches off the check of values, which refuses all such rows that we know."""
    monkeypatch.setattr(checks, "largest_value", lambda dtype: np.inf)  # noqa: ARG005
    rows = rows_of(likelihood).copy()
    rows[100] = 1e200
    weight = np.ones(150)
    weight[:20] = 0.0  # the row is the caller's
    est = streaming(likelihood).partial_fit(rows[:50])
    with pytest.raises(ValueError, match=r"row 100 of X has no finite density.*rescale X, or remove"):
        est.partial_fit(rows, sample_weight=weight)
    assert_same_bits(est, stream(streaming(likelihood), np.vstack([rows[:50], rows[20:100]])), rows[:100])
    fitted = streaming(likelihood, max_iter=2).fit(rows[:100])
    before = snapshot(fitted, rows[:100])
    for one in (fitted, streaming(likelihood)):
        with (
            pytest.warns(UserWarning, match=r"rows of X \(100\) hold 1e\+200"),
            pytest.raises(ValueError, match="row 100 of X has no finite density"),
        ):
            one.fit(rows)
    assert_unchanged(fitted, before, rows[:100])
    new = streaming(likelihood)
    with pytest.raises(ValueError, match="row 0 of X has no finite density"):
        new.partial_fit(rows[100:])
    assert_never_fitted(new)


@pytest.mark.parametrize(
    ("likelihood", "params", "message"),
    [
        ("multinomial", {"discount": 0.0, "tilt": 0.0}, "discount and tilt are both 0.*positive"),
        ("full", {"discount": 0.0, "tilt": 0.0}, "discount and tilt are both 0"),
        ("multinomial", {"discount": 0.5, "new_cluster_threshold": 0.4}, "is 0.4.*at least discount=0.5"),
        ("full", {"mean_prior": np.ones(3)}, r"mean_prior has shape \(3,\), expected \(2,\)"),
        ("diag", {"mean_prior": [1.0, np.nan]}, "mean_prior contains NaN"),
        ("full", {"mean_prior": [1.0, -1e300]}, r"mean_prior holds -1e\+300; it must be within -1e\+70 and 1e\+70"),
        ("full", {"degrees_of_freedom_prior": 1.0}, "degrees_of_freedom_prior is 1.0; it must be greater than 1"),
        ("full", {"covariance_prior": -np.eye(2)}, "covariance_prior must be symmetric and positive definite"),
        ("diag", {"covariance_prior": [1.0, 0.0]}, "covariance_prior holds 0; all its entries must be positive"),
        ("diag", {"covariance_prior": np.ones(3)}, r"covariance_prior has shape \(3,\)"),
    ],
)
def test_parameters_that_do_not_fit_are_named_and_change_nothing(likelihood, params, message):
    rows = rows_of(likelihood)
    new, est = streaming(likelihood), streaming(likelihood).partial_fit(rows)
    new.set_params(**params)
    with pytest.raises(ValueError, match=message):
        new.fit(rows)
    with pytest.raises(ValueError, match=message):
        new.partial_fit(rows)
    assert_never_fitted(new)
    est.set_params(**params)
    before = snapshot(est)
    with pytest.raises(ValueError, match=message):
        est.fit(rows)
    assert_unchanged(est, before)
    if likelihood == "multinomial":  # a Gaussian prior is that of the first call
        with pytest.raises(ValueError, match=message):
            est.partial_fit(rows)
        assert_unchanged(est, before)


@pytest.mark.parametrize(("first", "then"), [("multinomial", "full"), ("full", "diag"), ("diag", "multinomial")])
def test_the_likelihood_of_a_stream_cannot_change(first, then):
    rows = np.abs(rows_of("full"))
    given = {"mean_prior": None, "mean_precision_prior": None, "covariance_prior": None}
    est = streaming(first, **given).partial_fit(rows).set_params(likelihood=then)
    attributes = dict(vars(est))
    with pytest.raises(ValueError, match=f"likelihood is '{then}', but the stream began with '{first}'"):
        est.partial_fit(rows)
    assert vars(est) == attributes
    assert est.fit(rows).n_clusters_ > 0


# -- counts in every form


@per_method
@pytest.mark.parametrize("likelihood", GAUSSIANS)
@pytest.mark.parametrize("n_features", [1, 2, 9])
def test_unusual_rows_give_valid_clusters(n_features, likelihood, max_iter):
    rng = np.random.default_rng(0)
    some, two = rng.normal(size=(40, n_features)), rng.normal(size=(2, n_features))
    for rows in (some, 1e6 + some, two, np.repeat(two, 30, axis=0)):
        with warnings.catch_warnings():
            # fewer rows than features: the data's covariance, which scales the prior, is singular
            warnings.filterwarnings("ignore", "the covariance of component 0", RuntimeWarning)
            est = StreamingNGGPMixture(likelihood, max_iter=max_iter).fit(rows)
        assert_valid(est, rows)
        assert est.counts_.sum() == pytest.approx(len(rows), rel=1e-9)


# -- the same bits


@per_likelihood
def test_fit_in_the_order_of_the_data_is_a_stream(likelihood):
    rows = rows_of(likelihood)
    params = {"merge_criterion": ("responsibility", 0.4), "prune_threshold": 0.8, "merge_every": 13}
    est = streaming(likelihood, shuffle=False, **params).fit(rows)
    assert_same_bits(est, stream(streaming(likelihood, **params), rows, 7))


# -- meta-estimators


@per_likelihood
def test_groups_that_are_far_apart_are_found(likelihood):
    rows, groups = apart(likelihood)
    for max_iter in EPOCHS.values():
        est = StreamingNGGPMixture(likelihood, max_iter=max_iter, random_state=0).fit(rows)
        assert same_partition(est.labels_, groups)
        assert est.n_clusters_ == len(set(groups))


def test_pipelines_of_text():
    labels = np.arange(60) % 2
    counted = make_pipeline(counter(), StreamingNGGPMixture(concentration=1.0, random_state=0))
    assert same_partition(counted.fit_predict(texts()), labels)
    assert list(counted.get_feature_names_out()) == ["streamingnggpmixture0", "streamingnggpmixture1"]
    assert counted.transform(texts(seed=1)).shape == (60, 2)
    hashed = HashingVectorizer(n_features=2**10, norm=None, alternate_sign=False)
    est = StreamingNGGPMixture(concentration=1.0)
    for start in range(0, 60, 20):  # the vocabulary of the later texts need not be known
        est.partial_fit(hashed.transform(texts()[start : start + 20]))
    assert same_partition(est.predict(hashed.transform(texts(seed=1))), labels)
    rows = make_pipeline(StandardScaler(), StreamingNGGPMixture("diag", random_state=0))
    assert same_partition(rows.fit_predict(apart("diag")[0]), apart("diag")[1])


def test_grid_search_chooses_by_held_out_density():
    grid = {"concentration": [1.0, 100.0], "word_prior": [0.1, 50.0]}
    search = GridSearchCV(StreamingNGGPMixture("multinomial", random_state=0), grid, cv=3).fit(APART)
    assert search.best_params_["word_prior"] == 0.1
    scores = search.cv_results_["mean_test_score"].reshape(2, 2)
    assert (scores[:, 0] > scores[:, 1] + 1.0).all()
    assert same_partition(search.predict(APART), GROUPS)
    pipeline = make_pipeline(counter(), StreamingNGGPMixture())
    search = GridSearchCV(pipeline, {"streamingnggpmixture__max_iter": [1, 3]}, cv=2).fit(texts())
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("step", ["sweep", "_move", "revisit"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_fit_that_fails_late_has_every_row_or_nothing(step, number, monkeypatch):
    """Sums are recomputed from zero between epochs: a failure there must not leave clusters without their rows."""
    original, calls = getattr(StreamingModel, step), []

    def failing(model, *args):
        out = original(model, *args)
        calls.append(step)
        if len(calls) == number:
            raise MemoryError
        return out

    monkeypatch.setattr(StreamingModel, step, failing)
    est = streaming("diag", discount=0.5, merge_criterion="bayes_factor", merge_every=25, max_iter=3)
    try:
        est.fit(rows_of("diag"))
    except MemoryError:
        assert not hasattr(est, "_fitted") or est.counts_.sum() == pytest.approx(150.0, rel=1e-9)
    assert calls


def test_a_row_of_no_weight_is_held_to_the_range_of_counts_with_nothing_changed():
    X, weight = TEXTS.astype(float), np.ones(TEXTS.shape[0])
    X.data[X.indptr[2]], weight[2] = 1e23, 0.0
    new, est = streaming("multinomial"), streaming("multinomial").fit(TEXTS)
    before = snapshot(est, TEXTS)
    for each in (new, est):
        with pytest.raises(ValueError, match="1e\\+23 in row 2"):
            each.fit(X, sample_weight=weight)
    assert_never_fitted(new)
    assert_unchanged(est, before, TEXTS)


@pytest.mark.parametrize("params", [{"prune_threshold": 20.0}, {"half_life": 10.0}])
def test_log_predictive_per_row_is_over_the_rows_that_were_seen(params):
    """The divisor is not the mass that remains after prunes and forgetting."""
    est = streaming("diag", merge_every=10, **params).fit(rows_of("diag"))
    assert est.counts_.sum() < 140.0
    (record,) = est.history_
    assert record["log_predictive_per_row"] == pytest.approx(record["log_predictive"] / 150.0, rel=1e-12)
