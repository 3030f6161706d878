"""Columns of covariates: every form of the same numbers gives the same effects, and curves take their own points."""

import warnings
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from fitted import records

from sparsemix import report
from sparsemix.topics import estimate_effect

pytest.importorskip("formulaic")
from sparsemix.topics._covariates.formula import Design, between

N = 60
# Every function of formulaic that gives numbers, and s; functions of values before a spline are rounded too.
CURVES = ["x", "s(x)", "s(x, df=2)", "bs(x, df=5)", "cr(x, df=5) - 1", "cs(x, df=5) - 1", "cc(x, df=5) - 1"]
CURVES += ["cr(x, df=5, constraints='center', extrapolation='raise')", "poly(x, 3)", "center(x)", "scale(x)"]
CURVES += ["standardize(x)", "s(scale(x))", "bs(center(x), df=4)", "s(x / 3)", "s(-x)", "I(x ** 3)"]
OF_POSITIVE = ["log(x)", "s(log(x))", "bs(log10(x), df=5)", "s(np.sqrt(x))", "bs(I(x ** 2), df=4)", "bs(1 / x, df=4)"]


def columns(seed):
    """Random columns of many kinds, and whether all values are positive."""
    rng = np.random.default_rng(seed)
    z, days = rng.normal(size=N), rng.integers(0, 9000, N)
    for values in (z, -5 - np.abs(z), 1e50 * z, 1e-50 * z, 1e9 * (1.7 + z / 100), z.astype(np.float32)):
        yield values, False
    for kind in (np.int8, np.int16, np.int64):
        yield rng.integers(-128, 128, N).astype(kind), False
    for kind in (np.float64, np.float32, np.float16, ">f8", ">f4"):
        yield (5 + np.abs(z)).astype(kind), True
    for kind in (np.uint8, np.uint64, ">i4", ">u2"):
        yield rng.integers(1, 256, N).astype(kind), True
    yield np.datetime64("2000-01-01") + days, True
    yield (np.datetime64("2000-01-01T00:00:00") + 86400 * days).astype(">M8[s]"), True
    yield np.timedelta64(1, "s") * (1 + days), True


@pytest.mark.parametrize("formula", CURVES + OF_POSITIVE)
def test_curves_take_their_own_points(formula):
    for seed in range(3):
        for values, is_positive in columns(seed):
            if is_positive or formula not in OF_POSITIVE:
                design = Design(formula, {"x": values})
                for n_points in (2, 25, 101):
                    points, is_curve = design.points("x", n_points)
                    assert is_curve
                    assert np.isfinite(design.matrix({"x": points})).all()


@pytest.mark.parametrize("scale", [1.0, 1e-300, 5e-324, 1e308])
def test_points_stay_between_the_ends_and_include_them(scale):
    rng = np.random.default_rng(0)
    for _ in range(2000):
        low, high = np.sort(rng.uniform(-1, 1, 2)) * scale
        points = between(low, high, 25)
        assert points[0] == low
        assert points[-1] == high
        assert ((low <= points) & (points <= high)).all()


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    x, topics = np.round(rng.normal(size=N), 3), rng.dirichlet(np.full(30, 0.2), 3)
    theta = [rng.dirichlet(np.exp([0.5 * value, 0.0, 0.0])) for value in x]
    model = SimpleNamespace(components_=topics, doc_topic_prior_=np.full(3, 0.3))
    return model, np.array([rng.multinomial(30, each @ topics) for each in theta]), x


def test_plots_and_reports_take_the_points_of_smooth_effects(documents):
    from sparsemix.plotting import plot_effect

    pytest.importorskip("matplotlib")
    model, X, _ = documents
    for seed in range(8):
        x = np.random.default_rng(seed).normal(size=N)
        effects = estimate_effect(model, X, {"x": x}, "s(x)", n_draws=2)
        assert plot_effect(effects, 0, "x").lines[0].get_xdata()[-1] == x.max()
        model.transform = lambda X: np.full((X.shape[0], 3), 1 / 3)
        assert len(report(model, X, effects=effects).data["effects"]["curves"]) == 1


KINDS = {
    "big-endian": lambda x: x.astype(">f8"), "decimal": lambda x: [Decimal(str(value)) for value in x.tolist()],
    "fraction": lambda x: [Fraction(str(value)) for value in x.tolist()], "object": lambda x: x.astype(object),
    "polars": lambda x: pytest.importorskip("polars").Series([Decimal(str(value)) for value in x.tolist()]),
    "arrow": lambda x: pytest.importorskip("pyarrow").array([Decimal(str(value)) for value in x.tolist()]),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_any_kind_are_numbers(documents, kind):
    model, X, x = documents
    expected = estimate_effect(model, X, {"x": x}, "s(x)", n_draws=2)
    found = estimate_effect(model, X, {"x": KINDS[kind](x)}, "s(x)", n_draws=2)
    assert records(found.table()) == records(expected.table())
    points = KINDS[kind](x[:3])
    np.testing.assert_array_equal(found._expected({"x": points}).mean, expected._expected({"x": x[:3]}).mean)


def test_big_endian_categories_have_the_same_levels(documents):
    model, X, _ = documents
    codes = np.arange(N) % 3 + 2015
    expected = estimate_effect(model, X, {"x": codes}, "C(x)", n_draws=2)
    again = estimate_effect(model, X, {"x": codes.astype(">i4")}, "C(x)", n_draws=2)
    assert records(again.table()) == records(expected.table())
    assert expected.terms[1:] == ["C(x)[T.2016]", "C(x)[T.2017]"]


def test_powers_of_integers_do_not_wrap():
    x = np.arange(-60, 60, 2)
    for kind in (np.int8, np.int64):
        np.testing.assert_array_equal(Design("I(x ** 6)", {"x": x.astype(kind)}).rows[:, 1], x.astype(float) ** 6)


@pytest.mark.parametrize(("shift", "scale"), [(1.7e9, 1), (1e15, 1000), (0, 2.0**-530), (0, 2.0**530), (2020, 1)])
def test_shifts_and_units_of_a_column_do_not_change_effects(documents, shift, scale):
    """An identifier or a Unix time is not constant, and squares of tiny and huge numbers are in range."""
    model, X, x = documents
    x = np.round(256 * x) / 256
    expected = estimate_effect(model, X, {"x": x}, "x", n_draws=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = estimate_effect(model, X, {"x": shift + scale * x}, "x", n_draws=3)
        again = found._expected({"x": shift + scale * x[:4]})
    for name, values in expected._expected({"x": x[:4]}).items():
        np.testing.assert_allclose(again[name], values, rtol=1e-3)
    for row, other in zip(records(found.table()), records(expected.table()), strict=True):
        if row["term"] == "x":
            np.testing.assert_allclose([scale * row[name] for name in ("estimate", "std")],
                                       [other[name] for name in ("estimate", "std")], rtol=1e-3)  # fmt: skip
        assert np.isfinite([row["std"], row["low"]]).all()
    ((label, _),) = found.comparisons()
    first, last = label.removeprefix("x: ").split(" less ")
    assert float(first) > float(last)


@pytest.mark.parametrize("shift", [0.0, 1e15])
def test_dependent_columns_are_refused_at_any_size(shift):
    x = shift + np.random.default_rng(0).integers(0, 100, N)
    for formula in ("x + I(0.3 * x)", "I(0 * x + 0.1) + x", "x + I(x + 7)"):
        with pytest.raises(ValueError, match=r"constant or a combination of the columns before it; leave out one"):
            Design(formula, {"x": x})


@pytest.mark.parametrize("name", ["class", "True", "None", "a b", "x"])
@pytest.mark.parametrize("term", ["`{}`", "s(`{}`, df=3)", "C(`{}`)", "log(`{}` + 1)", "z:`{}`"])
def test_a_column_may_have_any_name(name, term):
    values = {name: np.arange(N) % 5, "z": np.arange(N) ** 2}
    design = Design(term.format(name), values)
    plain = Design(term.format("plain"), {"plain": values[name], "z": values["z"]})
    np.testing.assert_array_equal(design.rows, plain.rows)
    assert not any("\u200b" in column for column in design.columns)
    new = {name: [1, 3]}
    np.testing.assert_array_equal(design.matrix(new), plain.matrix({"plain": [1, 3]}))


@pytest.mark.parametrize("formula", ["s(``)", "`` + x", "C(``)"])
def test_backticks_without_a_name_are_refused(formula):
    with pytest.raises(ValueError, match="backticks without a name; write the name of a column between them"):
        Design(formula, {"x": np.arange(N)})


def test_a_formula_is_a_text():
    with pytest.raises(ValueError, match="formula is a list; give a text such as"):
        Design(["x"], {"x": np.arange(N)})


@pytest.mark.parametrize("formula", ["x", "s(x, df=5)", "bs(x, df=5)"])
def test_comparisons_of_numbers_leave_out_the_ends(documents, formula):
    """One document at an end decides a spline there."""
    model, X, _ = documents
    x = np.r_[2000.0, np.arange(N - 2) % 10 + 2010, 2030.0]
    found = estimate_effect(model, X, {"x": x}, formula, n_draws=2)
    ((label, rows),) = found.comparisons()
    assert label == "x: 2018 less 2010"
    assert rows == records(found.contrast({"x": [2018]}, {"x": [2010]}))
    x = np.where(np.arange(N) < 3, 1.0, 0.0)
    ((label, _),) = estimate_effect(model, X, {"x": x}, "x", n_draws=2).comparisons()
    assert label == "x: 1 less 0"
