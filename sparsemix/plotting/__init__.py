"""Plots of fitted models; needs matplotlib (``pip install 'sparsemix[plot]'``).

Arguments have one order: the model or result, its data, what is shown, ``feature_names``. All options are keywords.
"""

from sparsemix.plotting._curves import plot_learning_curves
from sparsemix.plotting._drift import plot_topic_over_time
from sparsemix.plotting._effects import plot_effect
from sparsemix.plotting._eigenvectors import plot_eigenvectors
from sparsemix.plotting._maps import plot_topic_map
from sparsemix.plotting._mixtures import plot_mixture
from sparsemix.plotting._topics import plot_choice, plot_top_words, plot_topics_over_time

__all__ = [
    "plot_choice",
    "plot_effect",
    "plot_eigenvectors",
    "plot_learning_curves",
    "plot_mixture",
    "plot_top_words",
    "plot_topic_map",
    "plot_topic_over_time",
    "plot_topics_over_time",
]
