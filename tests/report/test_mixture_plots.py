"""Plots of mixtures show the numbers of the estimator."""

import numpy as np
import pytest

from sparsemix import (
    GibbsNGGPMixture,
    SparseBernoulliMixture,
    SparseGaussianMixture,
    SparseVonMisesFisherMixture,
    StreamingNGGPMixture,
)
from sparsemix._stats.families import GAUSSIANS

plt = pytest.importorskip("matplotlib.pyplot")
from sparsemix import plotting  # noqa: E402


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(m, 1.0, (60 * (m + 1), 4)) @ rng.normal(size=(4, 4)) for m in range(3)])


def covariance_of(mixture, k, columns):
    """Covariance of component k in some columns, from the density parameters."""
    family, covariances = mixture.covariance_type, mixture.density_parameters()["covariances"]
    if isinstance(family, tuple):
        loadings, noise = covariances
        matrix = loadings[k].T @ loadings[k] + np.diag(noise[k])
    else:
        one = covariances if "tied" in family else covariances[k]
        matrix = one if np.ndim(one) == 2 else one * np.eye(mixture.n_features_in_)
    return matrix[np.ix_(columns, columns)]


@pytest.mark.parametrize("columns", [(0, 1), (3, 1)])
@pytest.mark.parametrize(
    "covariance_type", [*(name for name in GAUSSIANS if name != "low_rank"), ("low_rank", 1), ("low_rank", 3)]
)
def test_ellipses_have_the_eigenvalues_of_the_covariances(rows, covariance_type, columns):
    mixture = SparseGaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(rows)
    ax = plotting.plot_mixture(mixture, columns=columns)
    means = mixture.density_parameters()["means"]
    heavy_first = np.argsort(-mixture.weights_)
    assert len(ax.patches) == 2 * len(heavy_first)
    for k, pair in zip(heavy_first, zip(ax.patches[::2], ax.patches[1::2], strict=True), strict=True):
        covariance = covariance_of(mixture, k, columns)
        variances = np.linalg.eigvalsh(covariance)
        for n_deviations, ellipse in zip((1, 2), pair, strict=True):
            axes = sorted([ellipse.get_width() / 2, ellipse.get_height() / 2])
            np.testing.assert_allclose(axes, n_deviations * np.sqrt(variances), rtol=1e-6)
            centre = np.zeros(2) if means is None else means[k][list(columns)]
            np.testing.assert_allclose(ellipse.center, centre, atol=1e-9)
            # every point of the ellipse has this Mahalanobis distance
            points = ellipse.get_patch_transform().transform([(1.0, 0.0), (0.0, 1.0), (-0.6, 0.8)]) - centre
            distances = np.einsum("nd,nd->n", points @ np.linalg.inv(covariance), points)
            np.testing.assert_allclose(distances, n_deviations**2, rtol=1e-6)


def test_names_points_and_density(rows):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows.copy(), columns=["a", "b$", "c", "d"])
    frame.loc[7, "c"] = np.nan
    mixture = SparseGaussianMixture(3, random_state=0).fit(frame)
    ax = plotting.plot_mixture(mixture, frame, columns=["c", "b$"], density=True)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("c", "b\\$")
    points, contours = ax.collections
    np.testing.assert_array_equal(points.get_offsets(), frame[["c", "b$"]].drop(7))
    plane = mixture.marginal(["c", "b$"])
    del plane.feature_names_in_
    levels = contours.levels
    np.testing.assert_allclose(np.diff(levels), 1.0)
    on_lines = [(level, path.vertices) for level, path in zip(levels[1:-1], contours.get_paths()[2:], strict=False)]
    inner = [plane.score_samples(vertices).min() for level, vertices in on_lines if len(vertices)]
    expected = [level for level, vertices in on_lines if len(vertices)]
    np.testing.assert_allclose(inner, expected, atol=0.2)  # lines are straight between points of a grid
    ax.figure.canvas.draw()
    few = plotting.plot_mixture(mixture, frame, n_rows=50, n_components=1)
    offsets = few.collections[0].get_offsets()
    assert len(offsets) == 50
    assert len(few.patches) == 2
    again = plotting.plot_mixture(mixture, frame, n_rows=50, n_components=1, ax=plt.figure().subplots())
    np.testing.assert_array_equal(again.collections[0].get_offsets(), offsets)
    wide = plt.figure().subplots()
    wide.set(xlim=(-90, 80), ylim=(-70, 60))
    plotting.plot_mixture(mixture, frame, density=True, ax=wide)
    assert (wide.get_xlim(), wide.get_ylim()) == ((-90, 80), (-70, 60))
    np.testing.assert_allclose(wide.collections[1].get_datalim(wide.transData).intervalx, (-90, 80))


def luminance(colours):
    """Relative luminance of colours over white, as the contrast of web pages defines it."""
    opaque = colours[:, 3:] * colours[:, :3] + 1.0 - colours[:, 3:]
    return np.where(opaque <= 0.04, opaque / 12.92, ((opaque + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("n_components", [1, 3])
def test_points_differ_from_each_shade_of_the_density(n_components, rows):
    mixture = SparseGaussianMixture(n_components, random_state=0).fit(rows)
    ax = plotting.plot_mixture(mixture, rows, density=True)
    ax.figure.canvas.draw()
    points, shades = (luminance(each.get_facecolor()) for each in ax.collections)
    assert len(shades) > 5
    assert ((shades + 0.05) / (points + 0.05)).min() > 3.0


def test_heavy_components_are_drawn_first_and_darker(rows):
    mixture = SparseGaussianMixture(3, random_state=0).fit(rows)
    alphas = [patch.get_alpha() for patch in plotting.plot_mixture(mixture).patches[::2]]
    np.testing.assert_allclose(alphas, np.sqrt(np.sort(mixture.weights_)[::-1] / mixture.weights_.max()))


GROWING = [StreamingNGGPMixture, GibbsNGGPMixture]


@pytest.mark.parametrize("likelihood", ["full", "diag", "spherical", "zero_mean"])
@pytest.mark.parametrize("estimator", GROWING)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_growing_clusters_have_the_ellipses_of_their_covariances(rows, estimator, likelihood):
    options = {"max_iter": 4} if estimator is GibbsNGGPMixture else {}
    model = estimator(likelihood=likelihood, random_state=0, **options).fit(rows * [1.0, 30.0, 1.0, 5.0])
    ax = plotting.plot_mixture(model, columns=(3, 1), density=True)
    heavy_first = np.argsort(-model.weights_, kind="stable")
    assert len(ax.patches) == 2 * len(heavy_first)
    for k, ellipse in zip(heavy_first, ax.patches[::2], strict=True):
        matrix, scales = model.covariances_[k], model.column_scales_
        matrix = matrix if np.ndim(matrix) == 2 else matrix * np.eye(4)
        variances = np.linalg.eigvalsh((scales[:, None] * matrix * scales)[np.ix_([3, 1], [3, 1])])
        axes = sorted([ellipse.get_width() / 2, ellipse.get_height() / 2])
        np.testing.assert_allclose(axes, np.sqrt(variances), rtol=1e-6)
        np.testing.assert_allclose(ellipse.center, model.means_[k][[3, 1]], atol=1e-9)
    assert len(ax.collections) == 1  # the density


@pytest.mark.parametrize("estimator", [SparseGaussianMixture, *GROWING])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_points_have_the_colours_of_their_components(estimator, rows):
    pandas = pytest.importorskip("pandas")
    from matplotlib.colors import to_rgba

    X = pandas.DataFrame(np.concatenate([rows, 40.0 + rows, 90.0 + rows[:50]]), columns=list("abcd"))
    given = {SparseGaussianMixture: {"n_components": 3}, GibbsNGGPMixture: {"max_iter": 4}}.get(estimator, {})
    model = estimator(random_state=0, **given).fit(X)
    labels, heavy_first = model.predict(X), np.argsort(-model.weights_, kind="stable")
    assert 1 < len(np.unique(labels)) < 10
    for n_components in (1, 50):
        ax = plotting.plot_mixture(model, X, columns=["a", "c"], n_components=n_components)
        of = {k: patch.get_edgecolor()[:3] for k, patch in zip(heavy_first, ax.patches[::2], strict=False)}
        expected = [of.get(k, to_rgba("0.6")[:3]) for k in labels]
        np.testing.assert_allclose(ax.collections[0].get_facecolors()[:, :3], expected)
        note = ax.get_title()
        assert note.startswith("ellipses: one and two standard deviations")
        assert (f"1 of {len(heavy_first)} components" in note) == (n_components == 1)


def test_points_with_missing_values_have_the_colours_of_their_components(rows):
    X = rows.copy()
    X[::5, 3] = np.nan
    mixture = SparseGaussianMixture(3, random_state=0).fit(X)
    points = plotting.plot_mixture(mixture, X).collections[0].get_facecolors()
    labels = mixture.predict(X)
    assert len({(label, *colour) for label, colour in zip(labels, points.tolist(), strict=True)}) == 3


def test_a_title_of_given_axes_stays(rows):
    ax = plt.figure().subplots()
    ax.set_title("cells")
    plotting.plot_mixture(SparseGaussianMixture(2, random_state=0).fit(rows), ax=ax)
    assert ax.get_title() == "cells"


def test_clusters_of_documents_have_no_ellipses():
    X = np.random.default_rng(0).poisson(1.0, (40, 6))
    model = StreamingNGGPMixture(likelihood="multinomial", random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"model is a StreamingNGGPMixture of documents, .*; give one of rows of num"):
        plotting.plot_mixture(model, X)
    with pytest.raises(ValueError, match=r"model is a StreamingNGGPMixture; give a fitted"):
        plotting.plot_mixture(StreamingNGGPMixture(), X)


def test_figures_are_those_of_pyplot_and_can_be_closed(rows):
    mixture = SparseGaussianMixture(2, random_state=0).fit(rows)
    for draw in (plotting.plot_mixture, plotting.plot_learning_curves, lambda m: plotting.plot_eigenvectors(m, (2, 2))):
        drawn = draw(mixture)
        assert plt.gcf() is getattr(drawn, "figure", drawn)
        plt.close()
        assert plt.get_fignums() == []
        ax = plt.figure().subplots()
        assert draw is not plotting.plot_mixture or draw(mixture, ax=ax) is ax
        plt.close("all")


@pytest.mark.parametrize("x", ["epoch", "seconds"])
@pytest.mark.parametrize(
    ("estimator", "key"),
    [(SparseGaussianMixture(3), "lower_bound"), (SparseGaussianMixture(3, learning_method="online"), "lower_bound"),
     (SparseVonMisesFisherMixture(3), "lower_bound"), (SparseBernoulliMixture(3), "lower_bound"),
     (StreamingNGGPMixture(), "log_predictive"), (GibbsNGGPMixture(max_iter=4), "log_joint")],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learning_curves_of_mixtures_are_their_history(rows, estimator, key, x):
    X = (rows > 0) * 1.0 if isinstance(estimator, SparseBernoulliMixture) else rows
    model = estimator.set_params(random_state=0).fit(X)
    (axis,) = plotting.plot_learning_curves(model, x=x).axes
    at = [record["n_iter" if x == "epoch" else x] for record in model.history_]
    np.testing.assert_allclose(axis.lines[0].get_xdata(), at)
    np.testing.assert_allclose(axis.lines[0].get_ydata(), [record[f"{key}_per_row"] for record in model.history_])
    assert axis.get_xlabel() == x
    assert "per row" in axis.get_title()


def test_plots_refuse_what_they_cannot_draw(rows):
    mixture = SparseGaussianMixture(2, random_state=0).fit(rows)
    for arguments, message in [
        ({"columns": [0]}, "columns is .0.; give two columns"), ({"columns": (0, 9)}, "columns contains 9"),
        ({"n_components": 0}, "n_components is 0"), ({"n_rows": 2.5}, "n_rows is 2.5"),
        ({"X": rows[:, :2]}, "features"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            plotting.plot_mixture(mixture, **arguments)
    with pytest.raises(ValueError, match="model is a SparseBernoulliMixture; give a fitted SparseGaussianMixture"):
        plotting.plot_mixture(SparseBernoulliMixture(2, random_state=0).fit(rows > 0))
    with pytest.raises(ValueError, match="x is 'time'; give 'epoch' or 'seconds'"):
        plotting.plot_learning_curves(mixture, x="time")
    assert plt.get_fignums() == []
