"""Pictures of fitted models under random arguments and words: drawn, or a clear error."""

import numpy as np
from fitted import assert_same, attributes
from fuzz_estimators import CLEAR, SparseGaussianMixture, StreamingNGGPMixture, attempt, draw_case, quiet, said_clearly
from fuzz_readings import TOPICS
from sklearn.utils import Bunch

from sparsemix import plotting
from sparsemix.topics import estimate_effect, topics_over_time

WORDS = ["apple", "$x$", "$\\bad{", "a\nb", "\x00", "漢", "\ud800", "<b>", "", "_^{", "\u202e"]
NUMBERS = (-1, 0, 1, 2, 5, 1000, 1 << 40, 2.5, None, "x")
DATES = ["2020-01-31", "1999", None, "no date", "", 1800, 2.5, float("nan"), "2020-13-45", "0000", "9999-12-31"]


def try_plot(rng):
    """One picture, drawn to the last pixel."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return "plots are not installed"
    topics = rng.random() < 0.8
    est, _, X, weight = draw_case(rng, TOPICS if topics else [SparseGaussianMixture, StreamingNGGPMixture])
    with quiet():
        outcome = attempt(est.fit, X, weight)
        if outcome is not None:
            return f"plots unfitted {type(outcome).__name__}"
        before, calls = attributes(est), topic_plots(rng, est, X) if topics else mixture_plots(rng, est, X)
        name = sorted(calls)[rng.integers(len(calls))]
        try:
            drawn = calls[name]()
        except (*CLEAR, MemoryError) as error:
            outcome = type(error if isinstance(error, MemoryError) else said_clearly(error)).__name__
        else:
            outcome, figure = "good", getattr(drawn, "figure", drawn)
            if max(figure.get_size_inches()) < 50:
                figure.canvas.draw()
        finally:
            plt.close("all")
        assert_same(before, attributes(est))
    return f"{name} {outcome}"


def topic_plots(rng, est, X):
    """Pictures of topics by name."""
    few, many = NUMBERS[rng.integers(len(NUMBERS))], [1, 3, NUMBERS[rng.integers(len(NUMBERS))]][rng.integers(3)]
    n_words = est.n_features_in_
    words = [None, [WORDS[i] for i in rng.integers(len(WORDS), size=n_words)], ["a"]][rng.integers(3)]
    dates = [DATES[i] for i in rng.integers(len(DATES), size=np.shape(X)[0] + (rng.random() < 0.1))]
    times = dates if rng.random() < 0.3 else rng.integers(1990, 1995, size=len(dates))
    return {
        "plot_topic_over_time": lambda: plotting.plot_topic_over_time(
            topics_over_time(est, X, times, max_iter=1), few if len(times) % 3 == 0 else 0, words, n_words=many
        ),
        "plot_top_words": lambda: plotting.plot_top_words(est, words, n_topics=few, n_top_words=many),
        "plot_learning_curves": lambda: plotting.plot_learning_curves(est, x=["epoch", "seconds"][few == 1]),
        "plot_topic_map": lambda: plotting.plot_topic_map(est, words, n_labels=few),
        "plot_topics_over_time": lambda: plotting.plot_topics_over_time(est, X, dates, words, n_topics=few),
        "plot_choice": lambda: plotting.plot_choice(choice_of(rng)),
        "plot_effect": lambda: plotting.plot_effect(
            effects_of(rng, est), [0, 0, few][rng.integers(3)], ["year", "side", "x", None][rng.integers(4)]
        ),
    }


def effects_of(rng, est):
    """Effects of a number and a category, whose levels are any texts, on topics."""
    n, levels = int(rng.integers(1, 80)), rng.integers(len(WORDS), size=3)
    X = rng.poisson(0.5, (n, est.n_features_in_))
    table = {"year": rng.integers(1990, 2000, size=n), "side": [WORDS[i] for i in rng.choice(levels, n)]}
    formula = ["year", "side", "s(year, df=3) + side", "side * year"][rng.integers(4)]
    return estimate_effect(est, X, table, formula, n_draws=2)


def choice_of(rng):
    """What a choice between numbers of topics may be."""
    numbers = np.cumsum(rng.integers(1, 50, size=rng.integers(0, 4)))
    rows = [{"n_topics": int(n), "score": -rng.random(), "coherence": [0.1, np.nan][rng.integers(2)], "diversity": 0.5}
            for n in numbers]  # fmt: skip
    return Bunch(results=rows)


def mixture_plots(rng, est, X):
    """The shapes of components, where they have some, and the bounds of their fit."""
    d = est.n_features_in_
    shape = [(1, d), (d, 1), (2, 2), d, (0, -1), "x"][rng.integers(6)]
    few, many = (NUMBERS[rng.integers(len(NUMBERS))] for _ in range(2))
    few = 12 if rng.random() < 0.5 else few
    columns = [(0, 1), (d - 1, 0), (1,), (0, 0), "ab", None][rng.integers(6)]
    return {
        "plot_eigenvectors": lambda: plotting.plot_eigenvectors(est, shape, n_components=few, n_eigenvectors=many),
        "plot_learning_curves": lambda: plotting.plot_learning_curves(est),
        "plot_mixture": lambda: plotting.plot_mixture(
            est, X if many == 5 else None, columns=columns, density=bool(rng.integers(2)), n_components=few
        ),
    }
