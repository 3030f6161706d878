"""GibbsNGGPMixture: scikit-learn's checks, input, the chain and its samples, copies, interrupts."""

import copy

import numpy as np
import pytest
from cluster_cases import (
    APART,
    GAUSSIANS,
    GROUPS,
    LIKELIHOODS,
    TEXTS,
    WEIGHTS,
    apart,
    assert_never_fitted,
    assert_same_bits,
    assert_unchanged,
    assert_valid,
    gibbs,
    rows_of,
    said,
    same_partition,
    snapshot,
    streaming,
)
from scipy import sparse
from scipy.special import gammaln, logsumexp
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.estimator_checks import parametrize_with_checks
from topic_cases import BAD_CALLS, COPIES, FORMS, LATER, READ, SIZES, Recorder, V, X, counter, fail_at, state_of, texts

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture
from sparsemix._stats.nggp import NGGP
from sparsemix.clusters import _gibbs_nggp_mixture as module
from sparsemix.clusters._model import GibbsModel
from sparsemix.datasets import make_bars_mixture

per_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS)

# -- scikit-learn's own checks

SETTINGS = [
    GibbsNGGPMixture(max_iter=20),
    GibbsNGGPMixture(max_iter=20, discount=0.7, tilt=0.0, init_params="sequential"),
    GibbsNGGPMixture(max_iter=20, concentration_prior=(2.0, 0.5), max_components=3),
    GibbsNGGPMixture("full", max_iter=40, concentration_prior=(2.0, 0.5)),
    GibbsNGGPMixture("diag", max_iter=20),
    GibbsNGGPMixture("spherical", max_iter=20, discount=0.5, max_components=3),
    GibbsNGGPMixture("zero_mean", max_iter=20, init_params="sequential"),
]


def expected_failures(est):
    classifier = "predict_proba has a column for each cluster found, and the check wants the four of a classifier"
    sparse_checks = ["check_estimator_sparse_array", "check_estimator_sparse_matrix"]
    failing = dict.fromkeys(sparse_checks, classifier) if est.likelihood in ("auto", "multinomial") else {}
    if est.likelihood == "multinomial":
        return failing | {"check_clustering": "the rows are blobs around zero, and the likelihood is one of counts"}
    failing |= {
        "check_sample_weight_equivalence_on_dense_data": "a row of weight w is one row of mass w, drawn once a sweep, "
        "and not w rows"
    }
    if est.likelihood == "zero_mean":
        failing["check_clustering"] = "the rows are blobs with different means, and the likelihood has mean zero"
    return failing


@parametrize_with_checks(SETTINGS, expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


# -- parameters, tags, attributes


def test_parameters_survive_clone_and_set_params():
    est = GibbsNGGPMixture("diag", mean_prior=np.arange(3.0), concentration_prior=(1.0, 2.0), burn_in=3, thin=4)
    twin = clone(est)
    for name, value in est.get_params().items():
        np.testing.assert_array_equal(twin.get_params()[name], value, err_msg=name)
    with pytest.raises(ValueError, match="n_jobs"):
        est.set_params(n_jobs=2)
    assert repr(est).startswith("GibbsNGGPMixture(")
    assert not hasattr(est, "partial_fit")


@per_likelihood
def test_tags_depend_on_the_likelihood(likelihood):
    tags = get_tags(GibbsNGGPMixture(likelihood))
    assert tags.estimator_type == "clusterer"
    assert tags.input_tags.sparse == tags.input_tags.positive_only == (likelihood == "multinomial")


def test_unfitted_estimator_says_so():
    est = GibbsNGGPMixture()
    for method in ("predict", "predict_proba", "predict_sparse_proba", "transform", "score_samples", "score"):
        with pytest.raises(NotFittedError):
            getattr(est, method)(TEXTS)
    for name in ("counts_", "u_", "concentration_", "n_samples_", "labels_", "covariances_", "history_", "means_"):
        assert not hasattr(est, name), name


@per_likelihood
@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_attributes_are_those_of_the_last_partition(discount, likelihood):
    rows = rows_of(likelihood)
    est = gibbs(likelihood, discount=discount).fit(rows)
    assert_valid(est, rows)
    says = np.asarray(np.abs(rows).sum(axis=1)).ravel() > 0
    np.testing.assert_array_equal(est.labels_ >= 0, says)
    assert est.labels_.dtype == np.int64
    np.testing.assert_allclose(est.counts_, np.bincount(est.labels_[says], minlength=est.n_clusters_), rtol=1e-9)
    assert est.n_clusters_ == est.labels_.max() + 1 > 1
    np.testing.assert_array_equal(est.cluster_ids_, np.arange(est.n_clusters_))
    assert (est.n_samples_seen_, est.n_features_in_, est.n_iter_) == (150, rows.shape[1], 12)
    assert est.concentration_ == 1.0
    statistics = np.array([rows[est.labels_ == k].sum(axis=0) for k in range(est.n_clusters_)])
    if likelihood == "multinomial":
        np.testing.assert_allclose(
            est.means_, (statistics + 0.03) / (statistics + 0.03).sum(axis=1)[:, None], rtol=1e-9
        )
    elif likelihood != "zero_mean":
        n = est.counts_[:, None]
        np.testing.assert_allclose(est.means_, (statistics + 0.1 * np.array([4.0, 5.0])) / (n + 0.1), rtol=1e-9)
    exact = NGGP(1.0, discount, 1.0).predictive(np.bincount(est.labels_[says]))
    np.testing.assert_allclose(np.append(est.weights_, est.new_weight_), exact, rtol=1e-9)
    for number, record in enumerate(est.history_, 1):
        assert record["n_iter"] == number
        assert sorted(record) == ["log_joint", "log_joint_per_row", "n_iter", "seconds"]
        assert record["log_joint_per_row"] == pytest.approx(record["log_joint"] / says.sum(), rel=1e-9)


def test_the_joint_of_the_history_is_that_of_the_last_draws():
    """log p(partition, u, rows) written out, but for what no draw changes."""
    for discount in (0.0, 0.5):
        est = gibbs(discount=discount, tilt=0.7).fit(TEXTS)
        says = est.labels_ >= 0
        sizes, n, u = np.bincount(est.labels_[says]), says.sum(), est.u_
        statistics = np.array([TEXTS[est.labels_ == k].sum(axis=0) for k in range(est.n_clusters_)])
        psi = np.log1p(u / 0.7) if discount == 0 else ((u + 0.7) ** discount - 0.7**discount) / discount
        kappa = gammaln(sizes - discount) - gammaln(1 - discount) - (sizes - discount) * np.log(u + 0.7)
        rows = (gammaln(statistics + 0.03) - gammaln(0.03)).sum() - (
            gammaln(statistics.sum(axis=1) + 0.75) - gammaln(0.75)
        ).sum()
        wanted = (n - 1) * np.log(u) - psi + kappa.sum() + rows
        assert est.history_[-1]["log_joint"] == pytest.approx(wanted, rel=1e-10)


def test_data_frame_gives_feature_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(APART, columns=[f"word{v}" for v in range(30)])
    est = gibbs().fit(frame)
    assert list(est.feature_names_in_) == list(frame.columns)
    out = est.set_output(transform="pandas").transform(frame)
    assert list(out.columns) == [f"gibbsnggpmixture{k}" for k in range(est.n_clusters_)]
    with pytest.raises(ValueError, match="feature names"):
        est.predict(frame[frame.columns[::-1]])


# -- wrong input


@pytest.mark.parametrize("name", BAD_CALLS)
def test_wrong_counts_are_named_and_change_nothing(name):
    rows, sample_weight, message = BAD_CALLS[name]
    new, est = gibbs(), gibbs(max_iter=2).fit(X)
    before = snapshot(est, X)
    for one in (new, est):
        with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
            one.fit(rows, sample_weight=sample_weight)
    assert_never_fitted(new)
    assert_unchanged(est, before, X)


@pytest.mark.parametrize("reader", ["predict", "predict_proba", "score_samples", "score"])
@pytest.mark.parametrize("name", READ)
def test_readers_name_wrong_counts(name, reader):
    rows, _, message = READ[name]
    est = gibbs(max_iter=2).fit(X)
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        getattr(est, reader)(rows)


def test_every_wrong_call_was_tried():
    assert set(LATER) - set(BAD_CALLS) <= set(READ)


@pytest.mark.parametrize("likelihood", GAUSSIANS)
def test_wrong_rows_are_named_and_change_nothing(likelihood):
    rows = rows_of(likelihood)
    est, new = gibbs(likelihood, max_iter=2).fit(rows), gibbs(likelihood)
    before = snapshot(est)
    spoilt, huge = rows.copy(), rows.copy()
    spoilt[41, 1], huge[41] = np.nan, 1e200
    weight = np.r_[0.0, np.ones(149)]  # the row is the caller's
    for bad, message in ((spoilt, "NaN in row 41, column 1"), (huge, "row 41 of X has no finite density")):
        for one in (new, est):
            with pytest.raises(ValueError, match=message):
                one.fit(bad, sample_weight=weight)
    assert_never_fitted(new)
    assert_unchanged(est, before)


def test_weights_that_no_cluster_could_have_are_refused():
    weight = np.ones(150)
    weight[[3, 41]] = 0.0, 0.5
    with pytest.raises(ValueError, match=r"sample_weight of row 41 is 0\.5.*larger than discount=0\.5"):
        gibbs(discount=0.5).fit(TEXTS, sample_weight=weight)
    assert_valid(gibbs(discount=0.49).fit(TEXTS, sample_weight=weight), TEXTS)
    assert_valid(gibbs().fit(TEXTS, sample_weight=weight * 1e-3), TEXTS)


def test_a_corpus_without_words_is_refused():
    est = gibbs()
    with pytest.raises(ValueError, match=r"no document of X has a token of positive weight"):
        est.fit(np.zeros((4, 5)))
    assert_never_fitted(est)


BAD_PARAMETERS = {
    "likelihood": ["tied", None],
    "concentration": [0, -1.0, np.nan],
    "discount": [-0.1, 1.0, None],
    "tilt": [-1.0, None],
    "concentration_prior": [1.0, [1.0, 1.0], "gamma"],
    "max_components": [0, 1.5],
    "dirichlet_prior": [0, None],
    "mean_precision_prior": [0, "auto"],
    "mean_prior": [1.0],
    "degrees_of_freedom_prior": [0, "auto"],
    "covariance_prior": [0, "auto"],
    "init_params": ["random", None],
    "split_merge": ["yes", None],
    "n_chains": [0, -1, 1.5, None],
    "max_iter": [0, 1.5, None],
    "burn_in": [-1, 1.5],
    "thin": [0, 1.5, None],
    "verbose": [-1, "loud"],
    "random_state": ["seed", -1.5],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_PARAMETERS.items() for value in values]
)
def test_invalid_parameter_is_named(name, value):
    est = gibbs().set_params(**{name: value})
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of GibbsNGGPMixture"):
        est.fit(TEXTS)
    assert_never_fitted(est)


def test_every_parameter_has_wrong_values_above():
    assert sorted(BAD_PARAMETERS) == sorted(GibbsNGGPMixture().get_params())


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"discount": 0.0, "tilt": 0.0}, "discount and tilt are both 0"),
        ({"concentration_prior": (1.0,)}, r"concentration_prior is \(1.0,\); give two positive numbers"),
        ({"concentration_prior": (1.0, 0.0)}, "give two positive numbers, shape and rate"),
        ({"concentration_prior": (1.0, np.inf)}, "give two positive numbers"),
        ({"concentration_prior": ("a", "b")}, "give two positive numbers"),
    ],
)
def test_parameters_that_do_not_fit_are_named(params, message):
    est = gibbs().set_params(**params)
    with pytest.raises(ValueError, match=message):
        est.fit(TEXTS)
    assert_never_fitted(est)
    with pytest.raises(ValueError, match=r"average='mean'; it must be 'density' or 'log'"):
        gibbs(max_iter=1).fit(TEXTS).score_samples(TEXTS, average="mean")


# -- counts in every form


@pytest.fixture(scope="module")
def wanted():
    return [said(gibbs(max_iter=4, burn_in=1).fit(X), X), said(weighed(X), X)]


def weighed(rows):
    return gibbs(max_iter=3).fit(rows, sample_weight=np.arange(X.shape[0]))


@pytest.mark.parametrize("name", FORMS)
def test_form_of_the_counts_changes_neither_result_nor_data(name, wanted):
    rows = FORMS[name]
    before = state_of(rows)
    for est, want in zip((gibbs(max_iter=4, burn_in=1).fit(rows), weighed(rows)), wanted, strict=True):
        for a, b in zip(said(est, rows), want, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(before, state_of(rows), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("params", [{}, {"discount": 0.5, "init_params": "sequential"}], ids=str)
@pytest.mark.parametrize("name", SIZES)
def test_unusual_corpora_give_valid_clusters(name, params):
    est = gibbs(**params).fit(SIZES[name])
    assert_valid(est, SIZES[name])
    assert est.counts_.sum() == pytest.approx(SIZES[name].shape[0], rel=1e-9)


@pytest.mark.parametrize("likelihood", GAUSSIANS)
def test_unusual_rows_give_valid_clusters(likelihood):
    rng = np.random.default_rng(0)
    for rows in (rng.normal(size=(40, 1)), 1e6 + rng.normal(size=(40, 3)), rng.normal(size=(1, 2)),
                 np.repeat(rng.normal(size=(2, 1)), 30, axis=0)):  # fmt: skip
        est = GibbsNGGPMixture(likelihood, max_iter=12, random_state=0).fit(rows)
        assert_valid(est, rows)
        assert est.counts_.sum() == pytest.approx(len(rows), rel=1e-9)


# -- the chain


@per_likelihood
def test_the_same_seed_gives_the_same_bits(likelihood):
    rows = rows_of(likelihood)
    params = {"discount": 0.3, "concentration_prior": (1.0, 1.0)}
    one, again = (gibbs(likelihood, **params).fit(rows, sample_weight=WEIGHTS) for _ in range(2))
    assert_same_bits(one, again)
    assert [r["log_joint"] for r in one.history_] == [r["log_joint"] for r in again.history_]
    assert_same_bits(one, again.fit(rows, sample_weight=WEIGHTS))
    other = gibbs(likelihood, random_state=1, **params).fit(rows, sample_weight=WEIGHTS)
    assert not np.array_equal(other.labels_, one.labels_)
    seeds = np.random.RandomState(0)
    first, second = (gibbs(likelihood, random_state=seeds, **params).fit(rows) for _ in range(2))
    assert not np.array_equal(first.labels_, second.labels_)


@per_likelihood
@pytest.mark.parametrize("start", ["single", "sequential"])
def test_blocks_make_no_difference(start, likelihood, monkeypatch):
    rows = rows_of(likelihood)
    whole = gibbs(likelihood, init_params=start).fit(rows)
    for size in (1, 7, 40):
        monkeypatch.setattr(module, "ROWS", size)
        est = gibbs(likelihood, init_params=start).fit(rows)
        np.testing.assert_array_equal(est.labels_, whole.labels_)
        np.testing.assert_allclose(est.score_samples(rows), whole.score_samples(rows), rtol=1e-9)


@per_likelihood
def test_sums_made_anew_are_the_same(likelihood, monkeypatch):
    """Round-off apart, a recount changes nothing, so that it may come at any time."""
    rows, weight = rows_of(likelihood), WEIGHTS
    often = {}
    for every in (1, 10**9):
        monkeypatch.setattr(GibbsModel, "recount_every", every, raising=False)
        often[every] = gibbs(likelihood, discount=0.3).fit(rows, sample_weight=weight)
    first, second = often.values()
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_allclose(first.counts_, second.counts_, rtol=1e-10)
    np.testing.assert_allclose(first.score_samples(rows), second.score_samples(rows), rtol=1e-8)
    assert first.u_ == pytest.approx(second.u_, rel=1e-10)


def test_start_of_the_chain(monkeypatch):
    """All rows that say something in one cluster, or none in any."""
    begun = []

    def sweep(self, x, weight, labels, state, start, number):  # noqa: ARG001
        begun.append((labels.copy(), state.counts.copy(), state.members.copy(), state.n_slots))
        raise KeyboardInterrupt

    monkeypatch.setattr(GibbsModel, "sweep", sweep)
    for start in ("single", "sequential"):
        with pytest.raises(KeyboardInterrupt):
            gibbs(init_params=start).fit(TEXTS, sample_weight=WEIGHTS)
    single, sequential = begun
    words = np.asarray(TEXTS.sum(axis=1)) > 0
    np.testing.assert_array_equal(np.sort(single[0]), np.sort(np.where(words, 0, -1)))
    assert (single[1][0], single[2][0]) == (pytest.approx(WEIGHTS[words].sum()), 146)
    np.testing.assert_array_equal(sequential[0], -1)
    assert sequential[3] == 0


@pytest.mark.parametrize(
    ("burn_in", "thin", "max_iter", "n_samples"), [(6, 2, 12, 3), (None, 1, 10, 5), (0, 1, 4, 4), (9, 1, 5, 0)]
)
def test_samples_are_kept_after_the_burn_in(burn_in, thin, max_iter, n_samples):
    est = gibbs(burn_in=burn_in, thin=thin, max_iter=max_iter).fit(TEXTS)
    assert est.n_samples_ == n_samples
    density = est.score_samples(TEXTS)
    single = [sample.log_density(est._read(TEXTS)) for sample in est._samples or [est._fitted]]
    np.testing.assert_allclose(density, logsumexp(single, axis=0) - np.log(len(single)), rtol=1e-12)
    np.testing.assert_allclose(est.score_samples(TEXTS, average="log"), np.mean(single, axis=0), rtol=1e-12)
    assert (density >= est.score_samples(TEXTS, average="log") - 1e-12).all()
    assert est.score(TEXTS) == pytest.approx(density.mean())


def test_samples_are_those_of_shorter_chains():
    """The chain of a seed is the same however long; a sample is its state after a sweep, for good."""
    est = gibbs(max_iter=10, burn_in=4, thin=3).fit(TEXTS)
    assert est.n_samples_ == 2
    for sample, max_iter in zip(est._samples, (7, 10), strict=True):
        short = gibbs(max_iter=max_iter, burn_in=max_iter).fit(TEXTS)
        np.testing.assert_array_equal(sample.log_density(est._read(TEXTS)), short.score_samples(TEXTS))


@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_clusters_of_a_kind_of_their_own_are_opened_and_no_more(discount):
    rows = 2.0 * np.kron(np.eye(70), np.ones((1, 6)))[np.arange(140) % 70]
    est = gibbs(discount=discount, dirichlet_prior=0.01).fit(rows)
    assert est.n_clusters_ == 70  # more than there are slots at first
    np.testing.assert_array_equal(est.labels_[:70], est.labels_[70:])
    limited = gibbs(discount=discount, dirichlet_prior=0.01, max_components=5).fit(rows)
    assert limited.n_clusters_ == 5
    assert limited.counts_.sum() == pytest.approx(140)


@per_likelihood
def test_what_is_far_apart_is_told_apart(likelihood):
    rows, groups = apart(likelihood)
    # from one cluster a chain of broad Gaussians may stay where two groups share one: single rows do not leave it
    starts = ["sequential"] if likelihood in ("full", "diag", "zero_mean") else ["single", "sequential"]
    for start in starts:
        est = GibbsNGGPMixture(likelihood, concentration=0.3, max_iter=60, init_params=start, random_state=0).fit(rows)
        assert same_partition(est.labels_, groups)


@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_sampling_and_propagation_agree(discount):
    """Held-out density of a chain, and of what approximates it."""
    rows = make_bars_mixture(n_samples=400, doc_length=30, random_state=0)[0]
    train, test = rows[:300], rows[300:]
    params = {"concentration": 1.0, "discount": discount, "dirichlet_prior": 0.1, "random_state": 0}
    chain = GibbsNGGPMixture(max_iter=100, **params).fit(train)
    epochs = StreamingNGGPMixture(n_epochs=20, **params).fit(train)
    assert chain.score(test) == pytest.approx(epochs.score(test), abs=0.5)
    assert chain.score(test) > streaming(max_components=1).fit(train).score(test) + 5


def test_concentration_is_learned():
    """Partitions of rows whose clusters are plain follow Ewens' formula; the posterior of its parameter is known."""
    rng = np.random.default_rng(0)
    labels = NGGP(4.0, 0.0, 1.0).sample_partition(300, rng)
    k = labels.max() + 1
    rows = sparse.csr_array(3.0 * np.kron(np.eye(k), np.ones((1, 8)))[labels])
    chain = GibbsNGGPMixture(
        concentration=50.0, concentration_prior=(2.0, 0.5), dirichlet_prior=0.01, init_params="sequential",
        max_iter=1, random_state=0,
    )  # fmt: skip
    draws, original = [], GibbsModel.global_step

    def global_step(self, state, lap):
        original(self, state, lap)
        draws.append(self.prior.concentration)

    try:
        GibbsModel.global_step = global_step
        est = chain.set_params(max_iter=700).fit(rows)
    finally:
        GibbsModel.global_step = original
    assert est.n_clusters_ == k
    assert same_partition(est.labels_, labels)
    assert est.concentration_ == draws[-1]
    grid = np.linspace(0.01, 40, 40_000)
    log_posterior = (2.0 + k - 1) * np.log(grid) - 0.5 * grid + gammaln(grid) - gammaln(grid + 300)
    density = np.exp(log_posterior - log_posterior.max())
    mean = (grid * density).sum() / density.sum()
    spread = np.sqrt(((grid - mean) ** 2 * density).sum() / density.sum())
    # six hundred draws, of which some three are worth one that is independent
    assert np.mean(draws[100:]) == pytest.approx(mean, abs=4 * spread / np.sqrt(200))
    assert np.std(draws[100:]) == pytest.approx(spread, rel=0.2)
    fixed = gibbs(concentration=50.0).fit(TEXTS)
    assert fixed.concentration_ == 50.0


# -- weights


@per_likelihood
def test_weights_are_masses_and_rows_of_weight_zero_are_not_there(likelihood):
    rows = rows_of(likelihood)
    weight = np.random.default_rng(3).integers(0, 3, 150).astype(float)
    est = gibbs(likelihood).fit(rows, sample_weight=weight)
    removed = gibbs(likelihood).fit(rows[weight > 0], sample_weight=weight[weight > 0])
    np.testing.assert_array_equal(est.labels_[weight > 0], removed.labels_)
    assert (est.labels_[weight == 0] == -1).all()
    np.testing.assert_array_equal(est.score_samples(rows), removed.score_samples(rows))
    masses = np.bincount(est.labels_[est.labels_ >= 0], weight[est.labels_ >= 0])
    np.testing.assert_allclose(est.counts_, masses, rtol=1e-9)
    assert est.n_samples_seen_ == (weight > 0).sum()
    plain = gibbs(likelihood).fit(rows)
    for ones in (np.ones(150), 1):
        assert_same_bits(plain, gibbs(likelihood).fit(rows, sample_weight=ones))


# -- progress, interrupts, copies


@pytest.mark.parametrize(("verbose", "n_lines"), [(0, 0), (1, 6), (2, 3)])
def test_verbose_prints_a_line_every_so_many_sweeps(verbose, n_lines, capsys):
    gibbs(max_iter=6, verbose=verbose).fit(TEXTS)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == n_lines
    assert all(line.startswith("GibbsNGGPMixture pass") and "log joint per row" in line for line in lines)


@pytest.fixture
def recorder():
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    return Recorder()


@per_likelihood
def test_callback_is_called_once_a_sweep(likelihood, recorder):
    rows = rows_of(likelihood)
    est = gibbs(likelihood, max_iter=3, burn_in=3).set_callbacks(recorder).fit(rows)
    assert recorder.calls == ["setup", "begin fit", *["begin pass", "end pass"] * 3, "end fit", "teardown"]
    assert recorder.scores[-1] == est.score(rows)
    for fitted, resp in recorder.seen:
        np.testing.assert_array_equal(fitted.transform(rows), resp)
    assert_same_bits(clone(est).set_callbacks().fit(rows), est)


def test_callback_may_stop_the_fit_or_fail(recorder):
    recorder.stop_after = 2
    est = gibbs().set_callbacks(recorder).fit(TEXTS)
    two = gibbs(max_iter=2).fit(TEXTS)
    assert est.n_iter_ == 2
    assert_same_bits(est, two)
    failing = Recorder(fail_after=2)
    est = gibbs().fit(TEXTS[::-1]).set_callbacks(failing)
    with pytest.raises(RuntimeError, match="the callback fails"):
        est.fit(TEXTS)
    assert_same_bits(est.set_callbacks(), two)


@per_likelihood
@pytest.mark.parametrize("where", ["sweep", "recount", "global_step"])
def test_an_interrupt_in_the_first_sweep_restores_the_model(where, likelihood, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 20)
    rows = rows_of(likelihood)
    fitted, new = gibbs(likelihood).fit(rows), gibbs(likelihood)
    before = snapshot(fitted)
    for est in (fitted, new):
        with monkeypatch.context() as patch:
            fail_at(patch, GibbsModel, where, 5 if where == "sweep" else 1)
            with pytest.raises(KeyboardInterrupt):
                est.fit(rows)
    assert_unchanged(fitted, before)
    assert_never_fitted(new)


@per_likelihood
@pytest.mark.parametrize(("where", "calls"), [("sweep", 5 * 8 + 4), ("global_step", 6)])
def test_an_interrupt_leaves_the_chain_as_it_stands(where, calls, likelihood, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 20)
    rows = rows_of(likelihood)
    est = gibbs(likelihood).fit(rows[::-1][:100])
    with monkeypatch.context() as patch:
        fail_at(patch, GibbsModel, where, calls)
        with pytest.raises(KeyboardInterrupt):
            est.set_params(burn_in=2, thin=1).fit(rows)
    assert est.n_iter_ == len(est.history_) == 5
    assert est.n_samples_ == 3
    assert est.n_samples_seen_ == 150
    assert_valid(est, rows)
    says = est.labels_ >= 0
    np.testing.assert_allclose(est.counts_, np.bincount(est.labels_[says]), rtol=1e-9)
    assert says.sum() == (146 if likelihood == "multinomial" else 150)
    five = gibbs(likelihood, max_iter=5, burn_in=2, thin=1).fit(rows)
    assert [r["log_joint"] for r in est.history_] == [r["log_joint"] for r in five.history_]
    np.testing.assert_array_equal(est.score_samples(rows), five.score_samples(rows))  # the samples are the same


@per_likelihood
@pytest.mark.parametrize("copied", [*COPIES, lambda est, _: copy.copy(est)])
def test_a_copy_is_the_fit(copied, likelihood, tmp_path):
    est = gibbs(likelihood, discount=0.3).fit(rows_of(likelihood))
    twin = copied(est, tmp_path)
    assert_same_bits(est, twin)
    assert (twin.n_iter_, twin.n_samples_, twin.history_) == (est.n_iter_, est.n_samples_, est.history_)
    before = said(twin)
    est.fit(rows_of(likelihood)[::-1])
    for a, b in zip(said(twin), before, strict=True):
        np.testing.assert_array_equal(a, b)


# -- meta-estimators


def test_pipeline_and_grid_search():
    params = {"concentration": 1.0, "max_iter": 30, "random_state": 0}
    pipeline = make_pipeline(counter(), GibbsNGGPMixture(**params))
    assert same_partition(pipeline.fit_predict(texts()), np.arange(60) % 2)
    grid = {"concentration": [1.0, 10.0], "dirichlet_prior": [0.1, 50.0]}
    search = GridSearchCV(GibbsNGGPMixture(max_iter=20, random_state=0), grid, cv=2).fit(APART)
    assert search.best_params_["dirichlet_prior"] == 0.1
    assert len(set(zip(search.predict(APART), GROUPS, strict=True))) < 10


def test_sample_weights_are_routed_through_a_grid_search():
    with config_context(enable_metadata_routing=True):
        base = gibbs(max_iter=3).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(base, {"discount": [0.0]}, cv=2).fit(TEXTS, sample_weight=WEIGHTS)
    assert_same_bits(search.best_estimator_, gibbs(max_iter=3).fit(TEXTS, sample_weight=WEIGHTS))


def test_width_of_the_rows():
    est = gibbs(max_iter=2).fit(X)
    assert est.means_.shape == (est.n_clusters_, V)
    with pytest.raises(ValueError, match="HashingVectorizer"):
        est.score(TEXTS)
