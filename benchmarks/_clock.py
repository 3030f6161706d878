"""Callbacks of our fits, and seconds of training, with what is scored between epochs."""

import math
import multiprocessing
import time
from contextlib import contextmanager
from itertools import count

# A checkpoint comes when the seconds have grown by this factor since the last; the first after FIRST of the budget.
GROWTH = 1.4
FIRST = 1 / 50
LONGEST = 10.0  # a longer budget, or none, has its first checkpoint no later


class Epochs:
    """Callback that calls ``begin()`` before the first epoch and ``end(estimator)``, which may stop, after each."""

    def __init__(self, begin, end):
        self.begin, self.end, self.begun = begin, end, False

    def setup(self, estimator, context):
        """Part of scikit-learn's protocol."""

    teardown = setup

    def on_fit_task_begin(self, estimator, context):  # noqa: ARG002
        if context.task_name == "pass" and not self.begun:
            self.begun = True
            self.begin()

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):  # noqa: ARG002
        return bool(self.end(fitted_estimator)) if context.task_name == "pass" else False


def observe(clock, result=lambda model: model.components_):
    """Callback that reports the initialisation and each epoch of a fit to a clock."""
    done = count(1)
    return Epochs(lambda: clock.epoch(0), lambda model: clock.epoch(next(done), lambda: result(model)))


class TimeIsUpError(Exception):
    """Ends training in the middle of an epoch."""


class Clock:
    """Runs in training, and stops while results are copied and scored.

    Parameters
    ----------
    budget : float
        Seconds; the epoch in which they end is the last. None has no limit.
    score : callable or None
        Maps a result, such as topics (K, V), to scores; None makes no checkpoints.
    of_processor : bool
        Seconds are those of the processor, for machines with other work.
    last : int or None
        The last epoch.
    growth : float
        0 makes a checkpoint after every epoch.
    """

    def __init__(self, budget, score=None, of_processor=False, last=None, growth=GROWTH):
        self.budget, self.score, self.last, self.growth = math.inf if budget is None else budget, score, last, growth
        self._now = time.process_time if of_processor else time.perf_counter
        self.seconds, self.cpu_seconds, self.epochs, self.checkpoints = 0.0, 0.0, [], []
        self._since, self._cpu_since, self._due = None, None, FIRST * min(self.budget, LONGEST) * bool(growth)

    def begin(self):
        """Training continues."""
        self._since, self._cpu_since = self._now(), time.process_time()

    def stop(self):
        """Training rests."""
        self.seconds += self._now() - self._since
        self.cpu_seconds += time.process_time() - self._cpu_since

    @contextmanager
    def paused(self):
        """For conversions, which are not training."""
        self.stop()
        try:
            yield
        finally:
            self.begin()

    def check(self):
        """Raise if the time is up: for the middle of long epochs."""
        if self.seconds + self._now() - self._since >= self.budget:
            raise TimeIsUpError

    def epoch(self, passes, result=None):
        """Note this number of epochs (0: the initialisation) and their result; whether time is up."""
        if self._since is not None:
            self.stop()
        self.epochs.append((passes, self.seconds))
        over = self.seconds >= self.budget or (self.last is not None and passes >= self.last)
        if passes and (over or self.seconds >= self._due):
            self.checkpoint(result)
        self.begin()
        return over

    def checkpoint(self, result):
        passes, seconds = self.epochs[-1]
        if self.score is not None:
            self.checkpoints.append((passes, seconds, *in_fork(lambda: self.score(result()))))
        self._due = self.growth * seconds

    def finish(self, result):
        """Training is over: score what it learned since the last checkpoint."""
        done = self.checkpoints[-1][0] if self.checkpoints else 0
        if self.epochs and self.epochs[-1][0] > done:
            self.checkpoint(result)

    def end(self, result):
        """The fit ended by itself: its result replaces that of the last epoch, with all seconds."""
        self.stop()
        self.epochs[-1] = (self.epochs[-1][0], self.seconds)
        self.checkpoints = [point for point in self.checkpoints if point[0] < self.epochs[-1][0]]
        self.checkpoint(result)

    def passes_per_second(self):
        """Over the second half of the time, without the initialisation; None without an epoch."""
        if not self.epochs or self.epochs[-1][0] == 0:
            return None
        passes, seconds = self.epochs[-1]
        before = [epoch for epoch in self.epochs if epoch[1] <= 0.5 * seconds] or self.epochs[:1]
        return (passes - before[-1][0]) / (seconds - before[-1][1])


def in_fork(function):
    """What a function returns, computed in a fork, so that the peak of this process's memory stays that of training."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=lambda: send.send(function()))
    child.start()
    send.close()
    try:
        result = receive.recv()
    except EOFError:
        raise RuntimeError("scoring failed, see the traceback above") from None
    finally:
        child.join()
    return result
