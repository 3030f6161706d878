"""Plots of scores by epoch of a fit."""

from typing import Any

import numpy as np

from sparsemix.extend import SCORES, plain_arguments
from sparsemix.plotting._figures import new_figure


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
