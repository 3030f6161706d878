"""What is measured of a case, mixed in behind it: the case sets ``X``, ``X_test`` and ``model``.

asv takes a class with such methods for a benchmark unless it is abstract.
"""

from abc import ABC, abstractmethod


class Measure(ABC):
    """Of a case."""

    @abstractmethod
    def setup(self, *params):
        """What the case prepares."""


class FitTime(Measure):
    """Seconds."""

    def time_fit(self, *_):
        """A start and a few epochs."""
        self.model.fit(self.X)


class FitMemory(Measure):
    """Memory."""

    def peakmem_fit(self, *_):
        """Peak of resident memory, data and interpreter included."""
        self.model.fit(self.X)


class HeldOutScore(Measure):
    """Score after the epochs."""

    def track_heldout_score(self, *_):
        """Held-out score after a few epochs."""
        return self.model.fit(self.X).score(self.X_test)

    track_heldout_score.unit = "nats"
