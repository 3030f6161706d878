"""Plots of scores: by epoch of a fit, and by the parameters of a search."""

import numbers
from typing import Any

import numpy as np

from sparsemix.extend import SCORES, plain_arguments
from sparsemix.plotting._figures import label, new_axes, new_figure


@plain_arguments
def plot_learning_curves(model: Any, *, x: str = "epoch", figure: Any = None) -> Any:
    """Plot the scores in ``history_`` of topics or mixtures: held-out score, coherence, or the bound.

    Parameters
    ----------
    model : estimator
        Fitted estimator with ``history_``.
    x : {"epoch", "seconds"}, default="epoch"
        What the horizontal axis shows. Seconds include the initialisation.
    figure : matplotlib.figure.Figure, default=None
        Figure to draw into; None creates one.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If ``history_`` has no scores. ``fit`` of topics records them for ``validation_data``.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.plotting import plot_learning_curves
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> model = SparseSCVB0LDA(10, random_state=0).fit(X, validation_data=X)
    >>> figure = plot_learning_curves(model)
    >>> figure.axes[0].get_xlabel()
    'epoch'
    """
    keys = {"epoch": "n_iter", "seconds": "seconds"}
    if x not in keys:
        raise ValueError(f"x is {x!r}; give 'epoch' or 'seconds'")
    records = {}
    for key in SCORES:
        points = [(record[keys[x]], record[key]) for record in model.history_ if key in record]
        if points := [point for point in points if np.isfinite(point[1])]:
            records[key] = points
    if not records:
        raise ValueError(f"the history_ of this {type(model).__name__} has no scores; give its fit validation_data")
    figure = new_figure(figure, 4.0 * len(records), 3.0)
    for axis, (key, points) in zip(figure.subplots(1, len(records), squeeze=False)[0], records.items(), strict=True):
        axis.plot(*zip(*points, strict=True), marker="o", markersize=3)
        axis.set(xlabel=x, title=SCORES[key])
    return figure


@plain_arguments
def plot_search(
    search: Any, x: str = "n_components", lines: str | None = None, *, score: str = "score", ax: Any = None
) -> Any:
    """Plot the scores of a grid search against one parameter, with a line for each value of another one.

    Points are means over the folds, bands one standard deviation to both sides. Where the search varied further
    parameters, a point shows their best values.

    Parameters
    ----------
    search : fitted search of scikit-learn
        For example :class:`~sklearn.model_selection.GridSearchCV`; any object with ``cv_results_``.
    x : str, default="n_components"
        Parameter on the horizontal axis, which is logarithmic if the values span a factor of ten. For a step of a
        pipeline, the part of the name after the last "__" is enough.
    lines : str, default=None
        Parameter with a line for each of its values; None draws one line.
    score : str, default="score"
        Name of the score, if the search has several.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into; None creates a figure.

    Returns
    -------
    ax : matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the search has no results, no such score, or no finite one, and if it did not vary a parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sparsemix import SparseGaussianMixture
    >>> from sparsemix.plotting import plot_search
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> grid = {"n_components": [1, 2, 4], "n_nonzero": [1, 2]}
    >>> search = GridSearchCV(SparseGaussianMixture(random_state=0), grid, cv=2).fit(X)
    >>> ax = plot_search(search, lines="n_nonzero")
    >>> len(ax.lines)
    2
    """
    results = getattr(search, "cv_results_", None)
    if results is None:
        raise ValueError(f"this {type(search).__name__} has no cv_results_; give a fitted search such as GridSearchCV")
    if f"mean_test_{score}" not in results:
        known = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
        raise ValueError(f"score is {score!r}, but the search has {known}")
    x, lines = varied(results, "x", x), None if lines is None else varied(results, "lines", lines)
    curves: dict[Any, dict[Any, tuple[float, float]]] = {}
    for setting, *point in zip(
        results["params"], results[f"mean_test_{score}"], results[f"std_test_{score}"], strict=True
    ):
        if x in setting and np.isfinite(point[0]):
            curve = curves.setdefault(str(setting.get(lines, "default")), {})
            curve[setting[x]] = max(curve.get(setting[x], (-np.inf, 0.0)), tuple(point))
    if not curves:
        raise ValueError(f"no setting of {x!r} has a finite {score!r}; see the errors of the fits in cv_results_")
    ax = new_axes(ax)
    values = list(dict.fromkeys(value for curve in curves.values() for value in curve))
    are_numbers = all(isinstance(value, numbers.Real) and not isinstance(value, bool) for value in values)
    values = sorted(values) if are_numbers else values
    places = dict(zip(values, values if are_numbers else range(len(values)), strict=True))
    for name, curve in curves.items():
        at = [value for value in values if value in curve]
        mean, deviation = np.array([curve[value] for value in at]).T
        (line,) = ax.plot([places[value] for value in at], mean, "o-", label=label(f"{lines} = {name}"))
        band = mean - deviation, mean + deviation
        ax.fill_between(line.get_xdata(), *band, color=line.get_color(), alpha=0.15, linewidth=0)
    if are_numbers and values[0] > 0 and values[-1] >= 10 * values[0]:
        ax.set_xscale("log")
        ax.minorticks_off()
    ax.set_xticks(list(places.values()), [label(value) for value in values])
    ax.set(xlabel=x, ylabel=f"test {score}" if score != "score" else "test score")
    if lines is not None:
        ax.legend()
    return ax


def varied(results, argument, name):
    """The full name of a parameter that a search varied."""
    known = [key.removeprefix("param_") for key in results if key.startswith("param_")]
    found = [each for each in known if name in (each, each.rpartition("__")[2])]
    if name not in found and len(found) != 1:
        raise ValueError(f"{argument} is {name!r}; give one of the parameters that the search varied: {known}")
    return name if name in found else found[0]
