"""Plot of one topic over time: its share, and the words that rise and fall."""

from typing import Any

import numpy as np

from sparsemix.extend import check_number, plain_arguments
from sparsemix.plotting._figures import label, names_of, new_figure


@plain_arguments
def plot_topic_over_time(
    drift: Any, topic: int, feature_names: Any = None, *, n_words: int = 4, figure: Any = None
) -> Any:
    """Plot the share of a topic over time, and the probabilities of its words that rise and fall most.

    Parameters
    ----------
    drift : TopicsOverTime
        Result of :func:`sparsemix.topics.topics_over_time`.
    topic : int
        Number of the topic.
    feature_names : array-like of str or vectorizer, default=None
        The words, or the vectorizer that counted them. None takes the feature names of the training data.
    n_words : int, default=4
        Words that rise, and words that fall.
    figure : matplotlib.figure.Figure, default=None
        Figure to draw into; None creates one.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Raises
    ------
    ValueError
        For a topic that the model does not have, and for numbers below one.

    See Also
    --------
    plot_topics_over_time : Shares of several topics.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.plotting import plot_topic_over_time
    >>> from sparsemix.topics import topics_over_time
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> lda = SparseSCVB0LDA(10, random_state=0).fit(X)
    >>> figure = plot_topic_over_time(topics_over_time(lda, X, np.repeat([2001, 2002], 100)), 0)
    >>> len(figure.axes)
    3
    """
    check_number("n_words", n_words)
    shares = drift.word_shares(topic)
    names = names_of(drift.model, feature_names, shares.shape[1])
    # each half of the slices, so that one slice decides little
    half = max(1, len(shares) // 2)
    trend = shares[-half:].mean(axis=0) - shares[:half].mean(axis=0)
    order = np.argsort(trend, kind="stable")
    n_words = min(n_words, len(order))
    figure = new_figure(figure, 7.0, 6.0)
    top, rise, fall = figure.subplots(3, 1, sharex=True)
    x, labels = np.arange(len(shares)), [str(each).partition("T00:00")[0] for each in drift.slices_]
    top.plot(x, drift.shares_[:, topic], color="black")
    top.set(title=f"topic {topic}", ylabel="share of tokens", ylim=(0.0, None))
    for axis, words, kind in ((rise, order[::-1][:n_words], "rise"), (fall, order[:n_words], "fall")):
        for word in words:
            axis.plot(x, shares[:, word], label=label(names[word]))
        axis.set(title=f"words that {kind}", ylabel="probability", ylim=(0.0, None))
        axis.legend(fontsize=7)
    ticks = np.unique(np.linspace(0, len(labels) - 1, min(6, len(labels))).astype(int))
    fall.set_xticks(ticks, [labels[i].replace(" to ", "\nto ") for i in ticks])
    return figure
