"""Plots of topics: top words, shares over time, the choice of their number."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsemix._typing import RowsLike
from sparsemix.extend import SCORES, check_has_words, check_number, plain_arguments
from sparsemix.metrics import top_words
from sparsemix.plotting._figures import label, largest, names_of, new_figure
from sparsemix.texts import shares_over_time


@plain_arguments
def plot_top_words(
    model: Any, feature_names: Any = None, *, n_topics: int = 10, n_top_words: int = 10, figure: Any = None
) -> Any:
    """Plot the most probable words of the largest topics as bars of their probabilities.

    Parameters
    ----------
    model : estimator
        Fitted topic model with ``components_``.
    feature_names : array-like of str or vectorizer, default=None
        The words, or the vectorizer that counted them.
    n_topics : int, default=10
        Number of topics: the largest by ``topic_weights_``, or the first ones if the model has no weights.
    n_top_words : int, default=10
        Words per topic.
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
    >>> from sparsemix.plotting import plot_top_words
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> model = SparseSCVB0LDA(10, random_state=0).fit(X)
    >>> figure = plot_top_words(model, n_topics=2, n_top_words=3)
    >>> len(figure.axes)
    2
    """
    check_number("n_topics", n_topics)
    check_number("n_top_words", n_top_words)
    check_has_words(model, "model", "components_")
    components = model.components_
    names = names_of(model, feature_names, components.shape[1])
    order = largest(model, n_topics)
    n_columns = min(5, len(order))
    n_rows = -(-len(order) // n_columns)
    figure = new_figure(figure, 2.6 * n_columns, 0.22 * n_rows * n_top_words + 0.6 * n_rows)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    words = top_words(components[order], min(n_top_words, components.shape[1]))
    for axis, k, row in zip(axes, order, words, strict=False):
        probabilities = components[k, row] / components[k].sum()
        axis.barh(range(len(row)), probabilities)
        axis.set_yticks(range(len(row)), [label(names[v]) for v in row], fontsize=8)
        axis.invert_yaxis()
        axis.set_title(f"topic {k}", fontsize=9)
        axis.tick_params(axis="x", labelsize=7)
    for axis in axes[len(order) :]:
        axis.set_axis_off()
    return figure


@plain_arguments
def plot_topics_over_time(
    model: Any, X: RowsLike, dates: Sequence[Any], feature_names: Any = None, *, n_topics: int = 8, figure: Any = None
) -> Any:
    """Plot the mean document shares of the largest topics by day, month, year or decade, with intervals.

    A band is the 95 % confidence interval of the mean of each period, from the spread of the shares of its documents:
    a line that stays within one height of the bands may vary by chance. The axis begins at zero. Periods without
    documents leave gaps, and those with one document have no band. See :func:`sparsemix.texts.shares_over_time`.

    Parameters
    ----------
    model : estimator
        Fitted topic model with ``components_`` and ``transform``.
    X : {array-like, sparse matrix} of shape (n_documents, n_words)
        Counts.
    dates : sequence of length n_documents
        Dates, years, or ISO 8601 texts; None for a document without a date.
    feature_names : array-like of str or vectorizer, default=None
        The words, or the vectorizer that counted them.
    n_topics : int, default=8
        Number of topics.
    figure : matplotlib.figure.Figure, default=None
        Figure to draw into; None creates one.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If no date can be read, and for numbers below one.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.plotting import plot_topics_over_time
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> model = SparseSCVB0LDA(10, random_state=0).fit(X)
    >>> figure = plot_topics_over_time(model, X, [2001, 2002] * 100)
    >>> [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    ['2001', '2002']
    """
    check_number("n_topics", n_topics)
    found, n_words = shares_over_time(model, X, dates), model.components_.shape[1]
    labels, names = found.periods, names_of(model, feature_names, n_words)
    order, x = np.argsort(-found.weights, kind="stable")[:n_topics], np.arange(len(labels))
    means = np.where(found.n_documents[:, None] > 0, found.shares, np.nan)
    figure = new_figure(figure, 7.0, 4.0)
    axis = figure.subplots()
    for k in order:
        words = ", ".join(label(names[v]) for v in top_words(model.components_[[k]], min(3, n_words))[0])
        (line,) = axis.plot(x, means[:, k], marker=".", label=f"{k}: {words}")
        axis.fill_between(x, found.low[:, k], found.high[:, k], alpha=0.2, color=line.get_color(), linewidth=0)
    ticks = np.unique(np.linspace(0, len(labels) - 1, min(8, len(labels))).astype(int))
    axis.set_xticks(ticks, [labels[i] for i in ticks])
    axis.set(ylabel="mean document share\n(bands: 95 % intervals of the means)", ylim=(0.0, None))
    highest = np.nanmax(means[:, order])
    axis.set_ylim(0.0, min(axis.get_ylim()[1], 2.0 * highest or 1.0))  # wide bands of few documents are cut
    axis.legend(fontsize=7)
    return figure


@plain_arguments
def plot_choice(choice: Any, *, figure: Any = None) -> Any:
    """Plot held-out score, coherence and diversity against the number of topics.

    Parameters
    ----------
    choice : Bunch
        Result of :func:`sparsemix.topics.choose_n_topics`.
    figure : matplotlib.figure.Figure, default=None
        Figure to draw into; None creates one.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.plotting import plot_choice
    >>> from sparsemix.topics import choose_n_topics
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> figure = plot_choice(choose_n_topics(SparseSCVB0LDA(random_state=0), X, [2, 5], n_top_words=5))
    >>> len(figure.axes)
    3
    """
    names = {"score": SCORES["score"], "coherence": SCORES["coherence"], "diversity": "Diversity of top words"}
    figure = new_figure(figure, 11.0, 3.0)
    numbers = [row["n_topics"] for row in choice.results]
    for axis, (key, title) in zip(figure.subplots(1, len(names)), names.items(), strict=True):
        axis.plot(numbers, [row[key] for row in choice.results], marker="o")
        axis.set(xlabel="topics", title=title, xscale="log")
        axis.set_xticks(numbers, [str(n) for n in numbers])
        axis.minorticks_off()
    return figure
