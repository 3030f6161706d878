"""Learning curves of fits, and the verdict of several starts on a claim."""

from contextlib import contextmanager

import numpy as np
from _paper import curve_of, judge, moments, say

# isort: split
from _measure import spent


def follow(estimator, X, score, label):
    points = curve_of(estimator, X, lambda model: {"nats": float(score(model))})
    say(f"  {label}, start {estimator.random_state}: {points[-1]['nats']:.4f} in {points[-1]['seconds']:.1f} s")
    return points


def final(runs):
    """Last scores of the starts."""
    return np.array([points[-1]["nats"] for points in runs])


def speed_up(dense, sparse, margin):
    """Seconds to dense's last score less a margin, dense over sparse, of each start; 0: sparse never gets there."""

    def reached(points, target):
        return next((point["seconds"] for point in points if point["nats"] >= target), np.inf)

    starts = zip(dense, sparse, final(dense) - margin, strict=True)
    return np.array([reached(a, target) / reached(b, target) for a, b, target in starts])


def at_least(wanted, values, something=None):
    """Whether the mean of several starts reaches what is wanted; in part if it passes ``something``."""
    mean, error = moments(values)
    outcome = judge(mean - wanted, error)
    return None if outcome is False and something is not None and judge(mean - something, error) is True else outcome


@contextmanager
def clocked(owner, *names):
    """Processor seconds that methods of a class take, by name."""
    seconds, kept = dict.fromkeys(names, 0.0), {name: getattr(owner, name) for name in names}

    def timed(name):
        def call(*arguments, **options):
            result, one = spent(lambda: kept[name](*arguments, **options))
            seconds[name] += one
            return result

        return call

    for name in names:
        setattr(owner, name, timed(name))
    try:
        yield seconds
    finally:
        for name in names:
            setattr(owner, name, kept[name])
