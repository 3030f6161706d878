"""What tests of fits over blocks share."""

import numpy as np
import pytest

from sparsemix.mixture._births import Births


@pytest.fixture
def births_never_gain(monkeypatch):
    """As if no bound were ever good enough: births are taken back; a list of the epochs that they were in."""
    propose, settle, epochs = Births.propose, Births.settle, []

    def proposed(self, epoch, model, rows, schedule, stats, workers):
        born = propose(self, epoch, model, rows, schedule, stats, workers)
        epochs.extend([epoch] * (born is not stats))
        return born

    def settled(self, *arguments):
        if self._before is not None:
            self._before = (np.inf, *self._before[1:])
        return settle(self, *arguments)

    monkeypatch.setattr(Births, "propose", proposed)
    monkeypatch.setattr(Births, "settle", settled)
    return epochs
