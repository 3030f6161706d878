"""Plot of topics as a map: circles that do not cover one another, and labels within the axes."""

import warnings
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from sparsemix.extend import check_has_words, check_number, plain_arguments
from sparsemix.metrics import top_words
from sparsemix.plotting._figures import label, largest, names_of, new_figure
from sparsemix.texts import topic_map

# Radii of circles on a map from -1 to 1: of a topic without weight, and the largest.
LEAST, WIDEST = 0.008, 0.15
# Letters of a label, and the space around it in points.
MOST_LETTERS, SPACE = 28, 2.0
# Where a label may be: on its circle, below, above, to the right or to the left of it.
SIDES = np.array([[0, 0], [0, -1], [0, 1], [1, 0], [-1, 0]])


@plain_arguments
def plot_topic_map(model: Any, feature_names: Any = None, *, n_labels: int = 15, figure: Any = None) -> Any:
    """Plot topics in the plane: similar topics are close, and larger circles show larger weights.

    The places are those of :func:`sparsemix.texts.topic_map`. No circle covers another.

    Parameters
    ----------
    model : estimator
        Fitted topic model with ``components_``. Circles show ``topic_weights_``, if it has them: radii grow with the
        square root, from that of a visible point.
    feature_names : array-like of str or vectorizer, default=None
        The words, or the vectorizer that counted them.
    n_labels : int, default=15
        Number of topics that are labelled by their first words, largest first. Labels lie within the axes, and
        long ones are cut.
    figure : matplotlib.figure.Figure, default=None
        Figure to draw into; None creates one.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Raises
    ------
    ValueError
        For numbers below one, and if ``feature_names`` does not have one name per word.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.plotting import plot_topic_map
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> model = SparseSCVB0LDA(10, random_state=0).fit(X)
    >>> figure = plot_topic_map(model, n_labels=1)
    >>> len(figure.axes[0].texts)
    1
    """
    check_number("n_labels", n_labels)
    check_has_words(model, "model", "components_")
    components = model.components_
    names = names_of(model, feature_names, components.shape[1])
    places = topic_map(model)
    radii = radii_of(places, getattr(model, "topic_weights_", np.ones(len(components))))
    figure = new_figure(figure, 7.0, 7.0)
    axis = figure.subplots()
    draw_circles(axis, places, radii)
    order = largest(model, n_labels)
    words = [" ".join(str(names[v]) for v in row) for row in top_words(components[order], min(2, components.shape[1]))]
    texts = [labelled(axis, f"{k} {both}", places[k]) for k, both in zip(order, words, strict=True)]
    move_inside(axis, texts, radii[order])
    return figure


def radii_of(places, weights):
    """The largest radii (K,), linear in the roots of weights, at which no circle covers another."""
    roots = np.sqrt(weights / (weights.max() or 1.0))
    distances = pdist(places)
    least = min(LEAST, distances.min(initial=1.0) / 4)
    first, second = np.triu_indices(len(roots), 1)
    room = (distances - 2 * least) / np.maximum(roots[first] + roots[second], 1e-12)
    return least + roots * min(WIDEST - least, room.min(initial=1.0))


def draw_circles(axis, places, radii):
    """Draw circles in units of the map, so that their sizes follow those of the axes."""
    from matplotlib.collections import EllipseCollection

    sizes = {"widths": 2 * radii, "heights": 2 * radii, "angles": np.zeros(len(radii)), "units": "xy"}
    at = {"offsets": places, "offset_transform": axis.transData}
    axis.add_collection(EllipseCollection(**sizes, **at, facecolor="C0", alpha=0.4))
    limit = 1.05 + radii.max()
    axis.set(xticks=[], yticks=[], aspect="equal", xlim=(-limit, limit), ylim=(-limit, limit))


def labelled(axis, text, place):
    """A label at a place of the map, which takes no part in the layout of the figure."""
    text = label(text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "\u2026")
    style = {"fontsize": 7, "ha": "center", "va": "center", "clip_on": True}
    found = axis.annotate(text, place, (0.0, 0.0), textcoords="offset points", **style)
    found.set_in_layout(False)
    return found


def move_inside(axis, texts, radii):
    """Move labels into the axes, on or next to their circles, where they cover the fewest labels before."""
    figure = axis.figure.canvas.figure
    with warnings.catch_warnings(action="ignore"):  # the drawing itself warns of letters that the font lacks
        figure.draw_without_rendering()
    space, low, high = SPACE * figure.dpi / 72, axis.bbox.min, axis.bbox.max
    taken = np.zeros((0, 4))
    for text, radius in zip(texts, radii, strict=True):
        half = np.array(text.get_window_extent().size) / 2 + space
        centre = axis.transData.transform(text.xy)
        step = half + radius * axis.bbox.height / np.ptp(axis.get_ylim())
        tried = np.clip(centre + SIDES * step, low + half, high - half)
        boxes = np.hstack([tried - half, tried + half])[:, None]
        covered = ((boxes[..., :2] < taken[:, 2:]) & (taken[:, :2] < boxes[..., 2:])).all(axis=2).sum(axis=1)
        best = int(np.argmin(covered))
        taken = np.vstack([taken, boxes[best]])
        text.set_position((tried[best] - centre) * 72 / figure.dpi)
