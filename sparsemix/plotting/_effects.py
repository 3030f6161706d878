"""Plots of effects of covariates on topics."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsemix.extend import plain_arguments
from sparsemix.plotting._figures import label, new_axes

# Points of a curve.
POINTS = 101


@plain_arguments
def plot_effect(
    effects: Any, topic: int, covariate: str, *, at: Mapping[str, Any] | None = None, ax: Any = None
) -> Any:
    """Plot the expected proportion of a topic against a covariate, with intervals.

    Parameters
    ----------
    effects : TopicEffects
        Result of :func:`sparsemix.topics.estimate_effect`.
    topic : int
        Index of the topic.
    covariate : str
        A column of its table: a curve for numbers and dates, which are years, points for categories.
    at : mapping of str to value, default=None
        Values of the other covariates, which label the curve. Those that it lacks have the median, or the most frequent
        level.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw into; None creates a figure. Curves of several calls can share one, and then
        have a legend.

    Returns
    -------
    ax : matplotlib.axes.Axes

    Raises
    ------
    ValueError
        For a topic or covariate that there is not, and for values that ``predict`` refuses.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.plotting import plot_effect
    >>> from sparsemix.topics import estimate_effect
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> model = SparseSCVB0LDA(10, random_state=0).fit(X)
    >>> effects = estimate_effect(model, X, {"year": np.arange(200) % 10}, "s(year, df=3)")
    >>> plot_effect(effects, 0, "year").get_xlabel()
    'year'
    """
    effects.table(topic)  # refuses an unknown topic
    values, is_curve = effects.design.points(covariate, POINTS)
    found = effects.predict({**(at or {}), covariate: values}).query("topic == @topic")
    mean, low, high = (found[name].to_numpy() for name in ("mean", "low", "high"))
    ax, name = new_axes(ax), label(", ".join(f"{name}: {shown(value)}" for name, value in (at or {}).items()))
    if is_curve:
        (line,) = ax.plot(values, mean, label=name or None)
        ax.fill_between(values, low, high, alpha=0.25, color=line.get_color(), linewidth=0)
    else:
        places = np.arange(len(values))
        ax.errorbar(places, mean, yerr=[mean - low, high - mean], fmt="o", capsize=4, label=name or None)
        ax.set_xticks(places, [label(value) for value in values])
    if len(ax.get_legend_handles_labels()[0]) > 1:
        ax.legend()
    ax.set(xlabel=label(covariate), ylabel=f"expected proportion of topic {topic}")
    return ax


def shown(value):
    """A value of a covariate in a label: a number in short."""
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)
