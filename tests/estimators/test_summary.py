"""Summaries of mixtures: values against brute force, their order, and the texts that people read."""

import sys

import numpy as np
import pytest
from scipy.stats import norm

from sparsemix import (
    GibbsNGGPMixture,
    MixtureRegressor,
    SparseBernoulliMixture,
    SparseGaussianMixture,
    SparseMixedMixture,
    SparseMultinomialMixture,
    SparseVonMisesFisherMixture,
    StreamingNGGPMixture,
)
from sparsemix._estimator.summary.columns import Category, Numbers, Shares
from sparsemix._estimator.summary.numbers import number, percent
from sparsemix._stats.families import GAUSSIANS
from sparsemix.mixture import Summary

RNG = np.random.default_rng(0)
GROUPS = np.arange(3000) % 3 == 0  # a third
MEANS = np.where(GROUPS[:, None], [52_000.0, 45.0, 1.7], [25_000.0, 40.0, 1.7])
SPREADS = np.where(GROUPS[:, None], [9_000.0, 12.0, 0.1], [4_000.0, 12.0, 0.1])
PEOPLE = RNG.normal(MEANS, SPREADS)
NAMES = ["income", "age", "height"]


@pytest.fixture(scope="module")
def people():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(PEOPLE, columns=NAMES)
    return SparseGaussianMixture(2, n_nonzero=None, covariance_type="diag", random_state=0).fit(table)


def made(kind):
    """A fitted mixture of two groups of rows with four columns, the first two of which differ."""
    groups = np.arange(400) % 2
    if kind == "directions":
        X = RNG.normal(size=(400, 4)) + 6.0 * np.eye(4)[groups]
        return SparseVonMisesFisherMixture(2, random_state=0).fit(X)
    if kind == "numbers":
        X = RNG.normal(size=(400, 4)) + 9.0 * np.eye(4)[groups]
        return StreamingNGGPMixture("diag", random_state=0).fit(X)
    if kind == "samples":
        X = RNG.normal(size=(400, 4)) + 9.0 * np.eye(4)[groups]
        return GibbsNGGPMixture("diag", max_iter=5, burn_in=2, random_state=0).fit(X)
    if kind == "flags":
        X = RNG.random((400, 4)) < np.array([[0.9, 0.2, 0.5, 0.5], [0.2, 0.9, 0.5, 0.5]])[groups]
        return SparseBernoulliMixture(2, random_state=0).fit(X)
    X = RNG.poisson(np.array([[9.0, 1.0, 4.0, 4.0], [1.0, 9.0, 4.0, 4.0]])[groups])
    if kind == "documents":
        return StreamingNGGPMixture("multinomial", max_components=2, word_prior=1.0, random_state=0).fit(X)
    return SparseMultinomialMixture(2, random_state=0).fit(X)


KINDS = ("directions", "numbers", "samples", "flags", "documents", "words")


# -- numbers


@pytest.mark.parametrize("covariance_type", sorted(GAUSSIANS))
def test_moments_of_gaussians_are_those_of_drawn_rows(covariance_type):
    X = RNG.normal(size=(600, 3)) * [1.0, 2.0, 3.0] + 5.0 * (np.arange(600) % 2)[:, None]
    mixture = SparseGaussianMixture(2, covariance_type=covariance_type, random_state=0).fit(X)
    (columns,) = mixture.summary().columns
    drawn, labels = mixture.sample(200_000)
    for k in range(2):
        rows = drawn[labels == k]
        np.testing.assert_allclose(columns.typical[k], rows.mean(axis=0), atol=0.05)
        np.testing.assert_allclose(columns.spread[k], rows.std(axis=0), rtol=0.02)
    np.testing.assert_allclose(columns.overall, drawn.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(columns.overall_spread, drawn.std(axis=0), rtol=0.02)


def test_information_of_numbers_is_the_divergence_of_normal_densities():
    means, variances, shares = np.array([[0.0, 1.0], [4.0, 1.5]]), np.array([[1.0, 4.0], [0.25, 1.0]]), [0.75, 0.25]
    columns = Numbers.of_moments(None, means, variances, np.array(shares))
    x = np.linspace(-30.0, 30.0, 200_001)
    for k, j in np.ndindex(2, 2):
        inside = norm(means[k, j], np.sqrt(variances[k, j]))
        outside = norm(columns.overall[j], columns.overall_spread[j])
        brute = np.sum(inside.pdf(x) * (inside.logpdf(x) - outside.logpdf(x))) * (x[1] - x[0])
        assert columns.information[k, j] == pytest.approx(brute, rel=1e-6)


def test_constant_columns_tell_nothing_and_one_component_is_all_rows():
    columns = Numbers.of_moments(None, np.array([[1.0, 2.0]] * 2), np.array([[1.0, 0.0]] * 2), np.array([0.5, 0.5]))
    np.testing.assert_array_equal(columns.information, np.zeros((2, 2)))
    assert "similar" in repr(Summary(np.array([3.0, 3.0]), [columns]))


def test_moments_of_directions_are_those_of_drawn_rows():
    X = RNG.normal(size=(600, 3)) + 3.0 * np.eye(3)[np.arange(600) % 2]
    mixture = SparseVonMisesFisherMixture(2, concentration_type="own", random_state=0).fit(X)
    (columns,) = mixture.summary().columns
    drawn, labels = mixture.sample(100_000)
    for k in range(2):
        rows = drawn[labels == k]
        np.testing.assert_allclose(columns.typical[k], rows.mean(axis=0), atol=0.005)
        np.testing.assert_allclose(columns.spread[k], rows.std(axis=0), atol=0.005)


@pytest.mark.parametrize("likelihood", ["full", "diag", "spherical", "zero_mean"])
def test_moments_of_growing_clusters_are_those_of_their_rows(likelihood):
    X = RNG.normal(size=(600, 3)) * [1.0, 20.0, 0.3] + 0.5 * (likelihood != "zero_mean")
    stream = StreamingNGGPMixture(likelihood, max_components=1, random_state=0).fit(X)
    (columns,) = stream.summary().columns
    np.testing.assert_allclose(columns.typical[0], stream.means_[0])
    np.testing.assert_allclose(columns.spread[0], X.std(axis=0), rtol=0.05)


def test_missing_values_and_a_background_do_not_change_what_rows_show():
    X = PEOPLE.copy()
    X[RNG.random(X.shape) < 0.1] = np.nan
    X = np.vstack([X, RNG.uniform([-1e6, 0.0, -5.0], [1e6, 100.0, 9.0], (150, 3))])
    mixture = SparseGaussianMixture(2, covariance_type="diag", random_state=0).fit(X, background=True)
    summary = mixture.summary()
    np.testing.assert_allclose(np.sort(summary.shares), [3000 / 3 / 3150, 2000 / 3150], atol=0.02)
    assert summary.shares.sum() + summary.unassigned == pytest.approx(1.0)
    assert "of all rows belong to no cluster." in repr(summary)
    np.testing.assert_allclose(summary.columns[0].typical[summary.clusters[0], :2], [25_000, 40], rtol=0.03)


# -- probabilities


def test_probabilities_of_flags_and_words_are_those_of_the_mixture():
    flags, words, documents = made("flags"), made("words"), made("documents")
    for mixture, p in (
        (flags, flags.probabilities_), (words, words.word_proportions_), (documents, documents.means_)
    ):  # fmt: skip
        summary = mixture.summary()
        (columns,) = summary.columns
        q = summary.masses / summary.masses.sum() @ p
        np.testing.assert_allclose(columns.typical, p)
        np.testing.assert_allclose(columns.overall, q)
        terms = p * np.log(p / q)
        terms = terms + (1 - p) * np.log((1 - p) / (1 - q)) if mixture is flags else terms
        np.testing.assert_allclose(columns.information, terms, atol=1e-12)


def test_categories_name_their_most_probable_levels():
    p = np.array([[0.81, 0.12, 0.07], [0.1, 0.3, 0.6]])
    masses = np.array([300.0, 100.0])
    column = Category("region", ["north", "south", "west"], p, np.array([0.3, 0.25, 0.45]), masses)
    by_chance = 1.0 / masses  # of three levels
    np.testing.assert_allclose(column.information[:, 0], (p * np.log(p / column.overall)).sum(axis=1) - by_chance)
    text = repr(Summary(masses, [column]))
    assert "  region   north 81 %, south 12 %   all rows: north 30 %, south 25 %" in text


def test_outcomes_of_a_regression_have_names():
    X, y = PEOPLE[:300, :2], PEOPLE[:300, 2]
    regressor = MixtureRegressor(SparseGaussianMixture(2, random_state=0))
    single = regressor.fit(X, y).summary()
    assert single.columns[0].names == ["column 0", "column 1", "y"]
    np.testing.assert_array_equal(single.columns[0].typical, regressor.mixture_.means_)
    assert regressor.fit(X, np.c_[y, y**2]).summary().columns[0].names[2:] == ["y 0", "y 1"]


def test_own_likelihoods_say_what_summary_needs():
    mixture = made("flags")
    vars(mixture)["_likelihood"] = object()
    with pytest.raises(TypeError, match=r"object has no method columns, which summary\(\) needs; add it"):
        mixture.summary()


# -- order and form


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_differ_come_first_in_every_mixture(kind):
    mixture = made(kind)
    summary = mixture.summary(n_columns=2)
    assert len(summary.masses) == 2
    assert summary.masses.sum() == pytest.approx(400)
    lines = repr(summary).splitlines()
    names = {line.split("   ")[0].strip() for line in lines if line.startswith("  ")}
    assert names <= {"column 0", "column 1", *(["column 2", "column 3"] if kind in ("words", "documents") else [])}
    assert {"column 0", "column 1"} <= names
    assert "not listed: 2." in lines[-1]


def test_clusters_are_ordered_by_size_and_one_can_be_chosen(people):
    summary = people.summary()
    assert np.all(np.diff(summary.masses[summary.clusters]) <= 0)
    small = summary.clusters[-1]
    assert repr(summary[small]).startswith(f"cluster {small}: 33 % of all rows")
    with pytest.raises(IndexError, match=r"there is no cluster 2; give a number from 0 to 1"):
        summary[2]


def test_the_text_of_a_cluster():
    means, variances = np.array([[52_134.0, 45.0, 1.7], [25_000.0, 39.0, 1.7]]), np.array([9_012.0, 12.0, 0.1]) ** 2
    columns = Numbers.of_moments(NAMES, means, np.array([variances, variances]), np.array([0.25, 0.75]))
    summary = Summary(np.array([10_000.0, 30_000.0]), [columns], n_columns=2)
    assert repr(summary[0]).splitlines() == [
        "cluster 0: 25 % of all rows, 10,000 rows",
        "  income   52,100 ± 9,000   all rows: 32,000 ± 15,000   higher",
        "  age      45 ± 12          all rows: 40 ± 12           higher",
        "Columns that differ most from all rows come first. a ± b: mean and standard deviation. Further",
        "columns of each cluster, not listed: 1.",
    ]
    assert [line[:9] for line in repr(summary).splitlines()[:5]] == [
        "cluster 1", "  income ", "  age    ", "", "cluster 0",
    ]  # fmt: skip
    assert str(summary) == repr(summary)


def test_a_text_has_at_most_20_clusters():
    mixture = SparseGaussianMixture(25, max_iter=0, random_state=0).fit(PEOPLE / PEOPLE.std(axis=0))
    text = repr(mixture.summary())
    assert text.count("cluster ") - text.count("each cluster ") == 20
    assert "Smaller clusters, not listed: 5." in " ".join(text.split())


def test_html_has_the_same_content_and_escapes_names():
    columns = Shares.of_flags(["<b>a</b>", "c"], np.array([[0.9, 0.5], [0.1, 0.5]]), np.array([0.5, 0.5]))
    page = Summary(np.array([5.0, 5.0]), [columns])._repr_html_()
    assert "<td>&lt;b&gt;a&lt;/b&gt;</td><td>90 %</td><td>50 %</td><td>1.8 times as often</td>" in page
    assert page.count("<tr>") == page.count("</tr>") == 7


def test_names_of_columns_are_short_and_on_one_line():
    columns = Shares.of_flags(["a\nb" + "c" * 99], np.array([[0.5]]), np.array([1.0]))
    (line,) = repr(Summary(np.array([5.0]), [columns])).splitlines()[1:2]
    assert line.startswith("  a b" + "c" * 36 + "…   50 %")


# -- data frames


def test_the_frame_has_one_row_for_each_cluster_and_column(people):
    frame = people.summary().frame()
    assert list(frame.columns) == [
        "cluster", "share", "size", "column", "typical", "spread", "probability", "overall", "overall_spread",
        "overall_probability", "known", "information",
    ]  # fmt: skip
    assert len(frame) == 6
    sizes = frame["size"].to_numpy()
    assert np.all(np.diff(sizes) <= 0)
    for k in range(2):
        part = frame[frame["cluster"] == k]
        assert np.all(np.diff(part["information"]) <= 0)
        assert part.set_index("column")["typical"]["age"] == people.means_[k, 1]
    assert people.summary().frame(1)["column"].tolist() == ["income", "income"]


def test_the_frame_mixes_kinds_of_columns():
    pytest.importorskip("pandas")
    numbers = Numbers.of_moments(["size"], np.array([[1.0], [3.0]]), np.array([[1.0], [1.0]]), np.array([0.5, 0.5]))
    probabilities, known = np.array([[0.99, 0.01], [0.01, 0.99]]), np.array([[1.0], [0.5]])
    category = Category.of("colour", ["red", "blue"], probabilities, np.array([50.0, 50.0]), known)
    flags = Shares.of_flags(["old"], np.array([[0.5], [0.6]]), np.array([0.5, 0.5]))
    frame = Summary(np.array([50.0, 50.0]), [numbers, category, flags]).frame()
    assert frame["column"].tolist() == ["colour", "size", "old"] * 2
    assert frame["typical"].tolist() == ["red", 1.0, 0.5, "blue", 3.0, 0.6]
    assert frame["overall"].tolist() == ["red", 2.0, 0.55] * 2
    assert frame["spread"].tolist()[1] == 1.0
    assert frame["probability"].tolist()[0] == frame["probability"].tolist()[3] == 0.99
    overall = 0.99 * 2 / 3 + 0.01 / 3  # of the rows that have a colour
    np.testing.assert_allclose(frame["overall_probability"].to_numpy()[[0, 3]], [overall, 1.0 - overall])
    assert frame["known"].tolist() == [1.0, 1.0, 1.0, 0.5, 1.0, 1.0]


def test_known_shares_are_those_of_the_data_or_not_stated():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = (rng.random((400, 3)) < np.repeat([[0.1], [0.9]], 200, axis=0)).astype(float)
    X[::2, 0] = np.nan
    flags = SparseBernoulliMixture(2, random_state=0).fit(X)
    known = flags.summary().frame().set_index("column").loc["column 0", "known"]
    assert known.to_numpy() == pytest.approx(0.5, abs=0.02)
    assert ", known in 5" in repr(flags.summary())
    rows = np.where(rng.random((400, 2)) < 0.3, np.nan, rng.normal(size=(400, 2)))
    frame = SparseGaussianMixture(2, random_state=0).fit(rows).summary().frame()
    assert frame["known"].isna().all()
    assert frame["information"].notna().all()
    words = pd.DataFrame({"a": [1.0, np.nan] * 50, "b": [2.0, np.nan] * 50})
    mixed = SparseMixedMixture(1, columns=[("multinomial", ["a", "b"])]).fit(words)
    assert mixed.summary().frame()["known"].isna().all()


def test_information_counts_for_the_rows_with_a_value_and_above_chance():
    means, variances, shares = np.array([[0.0, 0.0], [9.0, 3.0]]), np.ones((2, 2)), np.array([0.5, 0.5])
    numbers = Numbers.of_moments(["rare", "usual"], means, variances, shares, np.array([[0.02, 1.0], [0.02, 1.0]]))
    text = repr(Summary(np.array([500.0, 500.0]), [numbers]))
    assert text.index("usual") < text.index("rare")
    assert "higher, known in 2 %" in text
    # 200 users with two rows each tell nothing: half of them is in each cluster
    rng = np.random.default_rng(0)
    counts = np.stack([np.bincount(rng.integers(200, size=200), minlength=200) for _ in range(2)]) + 1e-3
    users = Category.of("user", range(200), counts / counts.sum(axis=1, keepdims=True), np.full(2, 200.0),
                        np.ones((2, 1)))  # fmt: skip
    assert users.information.max() < 0.02


def test_texts_need_no_pandas(monkeypatch):
    summary = made("flags").summary()
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "cluster 0" in repr(summary)
    assert "cluster 0" in summary._repr_html_()
    with pytest.raises(ImportError, match=r"frame\(\) makes a pandas.DataFrame: pip install pandas"):
        summary.frame()


def test_many_words_make_no_object_each(monkeypatch):
    proportions = RNG.dirichlet(np.full(100_000, 0.1), 10)
    named = []
    monkeypatch.setattr(Summary, "_name", lambda self, j: named.append(j) or f"word {j}")  # noqa: ARG005
    repr(Summary(np.full(10, 5.0), [Shares.of_words(None, proportions, np.full(10, 0.1))]))
    assert len(named) == 10 * 5


# -- arguments and numbers


def test_wrong_arguments_are_named(people):
    with pytest.raises(ValueError, match="n_columns"):
        people.summary(n_columns=0)
    with pytest.raises(ValueError, match="n_columns"):
        people.summary().frame(n_columns=-1)
    with pytest.raises(ValueError, match="not fitted yet"):
        SparseGaussianMixture().summary()


def test_given_parameters_have_no_number_of_rows():
    mixture = SparseGaussianMixture.from_parameters([0.2, 0.8], [[0.0], [1.0]], [1.0, 1.0], covariance_type="spherical")
    assert [line for line in repr(mixture.summary()).splitlines() if line.startswith("cluster")] == [
        "cluster 1: 80 % of all rows", "cluster 0: 20 % of all rows",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (52_134.0, 9_012.0, "52,100"), (9_012.0, 9_012.0, "9,000"), (1.7234, 0.1, "1.72"), (-0.001, 0.1, "0.00"),
        (3.0, 0.0, "3.00"), (0.0, 0.0, "0"), (1234.5, 0.0, "1,230"), (1e20, 1.0, "1e+20"), (1e-15, 1e-16, "1e-15"),
        (np.inf, 1.0, "inf"), (0.2, 1e4, "0"),
    ],
)  # fmt: skip
def test_digits_of_numbers_follow_the_spread(value, spread, text):
    assert number(value, spread) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (0.814, "81 %"), (0.0123, "1.2 %"), (0.996, "99.6 %"), (1.0, "100 %"), (1e-9, "< 0.0001 %")],
)
def test_shares_have_two_digits(share, text):
    assert percent(share) == text
