"""Learning curves of fits, and what several starts of them say about a claim."""

import time
import warnings
from contextlib import contextmanager

import numpy as np
from _paper import judge, say, spent  # puts the folder of benchmarks on the path

from _epochs import Epochs  # isort: skip
from sklearn.exceptions import ConvergenceWarning


class Curve(Epochs):
    """Callback: seconds of the processor, epochs and score after each epoch."""

    def __init__(self, score):
        super().__init__(self.resume, self.add)
        self.score, self.points, self.seconds, self.since = score, [], 0.0, None

    def resume(self):
        """Start the clock."""
        self.since = time.process_time()

    def add(self, estimator):
        """The clock is stopped while the score is computed."""
        self.seconds += time.process_time() - self.since
        score = float(self.score(estimator))
        self.points.append({"seconds": self.seconds, "passes": len(self.points) + 1, "nats": score})
        self.resume()


def quietly(estimator, X):
    """Fit without words about convergence: the number of epochs is what is wanted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X)


def follow(estimator, X, score, label):
    """Checkpoints of a fit."""
    curve = Curve(score)
    quietly(estimator.set_callbacks(curve), X)
    estimator.set_callbacks()
    say(f"  {label}, start {estimator.random_state}: {curve.points[-1]['nats']:.4f} in {curve.seconds:.1f} s")
    return curve.points


def final(runs):
    """Last scores of the starts."""
    return np.array([points[-1]["nats"] for points in runs])


def speed_up(dense, sparse, margin):
    """Seconds to dense's last score less a margin, dense over sparse, of each start; 0: sparse never gets there."""

    def reached(points, target):
        return next((point["seconds"] for point in points if point["nats"] >= target), np.inf)

    starts = zip(dense, sparse, final(dense) - margin, strict=True)
    return np.array([reached(a, target) / reached(b, target) for a, b, target in starts])


def moments(values):
    """Mean and standard error; no error of a single start."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(np.mean(values)), float(error)


def because(verdict, reason):
    """What a claim that is not reproduced needs."""
    return "" if verdict is True else reason


def shown(values):
    """Mean and standard error, if there are several starts."""
    mean, error = moments(values)
    return f"{mean:.4f} ± {error:.4f}" if len(values) > 1 else f"{mean:.4f}"


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


def listed(values, form):
    """Each with its name."""
    return ", ".join(f"{name}: {format(value, form)}" for name, value in values.items())
