"""Figures and axes of plots, made by pyplot so that ``plt.show()`` and ``plt.gcf()`` find them."""

import numpy as np


def new_figure(figure, width, height, layout="constrained"):
    """The given figure, or a new one of this size in inches."""
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height), layout=layout) if figure is None else figure


def new_axes(ax):
    """The given axes, or those of a new figure."""
    return new_figure(None, 6.0, 4.5).subplots() if ax is None else ax


def names_of(model, feature_names, n_words):
    """The words of the columns of a topic model: given, counted by a vectorizer, known from the fit, or numbers."""
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    if feature_names is None:
        return [f"column {v}" for v in range(n_words)]
    names = feature_names.get_feature_names_out() if hasattr(feature_names, "get_feature_names_out") else feature_names
    if len(names) != n_words:
        raise ValueError(f"feature_names has {len(names)} words but the topics have {n_words}; give a word for each")
    return names


def label(word):
    """A word as a literal label: dollars start no formula, and unprintable characters are escaped."""
    text = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in str(word))
    return text.replace("$", r"\$")


def largest(model, n_topics):
    """Indices of the topics with the largest weights."""
    weights = getattr(model, "topic_weights_", np.zeros(len(model.components_)))
    return np.argsort(-weights, kind="stable")[:n_topics]
