"""Seconds of training, and what is scored between them."""

import math
import multiprocessing
import time
from contextlib import contextmanager

# A checkpoint comes when the seconds have grown by this factor since the last; the first after FIRST of the budget.
GROWTH = 1.4
FIRST = 1 / 50
LONGEST = 10.0  # a longer budget, or none, has its first checkpoint no later


class TimeIsUpError(Exception):
    """Ends training in the middle of an epoch."""


class Clock:
    """Runs in training, and is stopped while topics are copied and scored.

    Parameters
    ----------
    budget : float
        Seconds; the epoch in which they are over is the last. None has no limit.
    score : callable or None
        Maps topics (K, V) to scores; None makes no checkpoints.
    of_processor : bool
        Seconds are those of the processor, for machines that others work on.
    last : int or None
        The last epoch.
    """

    def __init__(self, budget, score=None, of_processor=False, last=None):
        self.budget, self.score, self.last = math.inf if budget is None else budget, score, last
        self._now = time.process_time if of_processor else time.perf_counter
        self.seconds, self.cpu_seconds, self.epochs, self.checkpoints = 0.0, 0.0, [], []
        self._since, self._cpu_since, self._due = None, None, FIRST * min(self.budget, LONGEST)

    def begin(self):
        """Training continues."""
        self._since, self._cpu_since = self._now(), time.process_time()

    def stop(self):
        """Training rests."""
        self.seconds += self._now() - self._since
        self.cpu_seconds += time.process_time() - self._cpu_since
        self._since = self._cpu_since = None

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

    def epoch(self, passes, topics=None):
        """So many epochs are done (0: the start is made) and these would be the topics; whether time is up."""
        self.stop()
        self.epochs.append((passes, self.seconds))
        over = self.seconds >= self.budget or (self.last is not None and passes >= self.last)
        if passes and (over or self.seconds >= self._due):
            self.checkpoint(topics)
        self.begin()
        return over

    def checkpoint(self, topics):
        """Score the topics of the last epoch."""
        passes, seconds = self.epochs[-1]
        if self.score is not None:
            self.checkpoints.append((passes, seconds, *in_fork(lambda: self.score(topics()))))
        self._due = GROWTH * seconds

    def finish(self, topics):
        """Training is over: score what was learned since the last checkpoint."""
        done = self.checkpoints[-1][0] if self.checkpoints else 0
        if self.epochs and self.epochs[-1][0] > done:
            self.checkpoint(topics)

    def passes_per_second(self):
        """Over the second half of the time, or what of it there is after the start; None without an epoch."""
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
