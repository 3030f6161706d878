"""Figures and axes of plots, made by pyplot so that ``plt.show()`` and ``plt.gcf()`` find them."""


def new_figure(figure, width, height, layout="constrained"):
    """The given figure, or a new one of this size in inches."""
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height), layout=layout) if figure is None else figure


def new_axes(ax):
    """The given axes, or those of a new figure."""
    return new_figure(None, 6.0, 4.5).subplots() if ax is None else ax


def label(word):
    """A word as a literal label: dollars start no formula, and unprintable characters are escaped."""
    text = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in str(word))
    return text.replace("$", r"\$")
