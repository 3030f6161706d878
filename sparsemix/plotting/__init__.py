"""Plots of fitted models; needs matplotlib (``pip install 'sparsemix[plot]'``)."""

from sparsemix.plotting._eigenvectors import plot_eigenvectors
from sparsemix.plotting._topics import (
    plot_choice,
    plot_learning_curves,
    plot_top_words,
    plot_topic_map,
    plot_topics_over_time,
)

__all__ = [
    "plot_choice",
    "plot_eigenvectors",
    "plot_learning_curves",
    "plot_top_words",
    "plot_topic_map",
    "plot_topics_over_time",
]
