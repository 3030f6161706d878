"""What tests of fits over blocks share."""

import os

import numpy as np
import pytest

from sparsemix._heuristics.mixture.births import Births

os.environ.setdefault("ANNDATA_ALLOW_WRITE_NULLABLE_STRINGS", "1")  # names are such texts under pandas 3


@pytest.fixture
def births_never_gain(monkeypatch):
    """As if no bound were ever good enough: births are taken back; a list of the epochs that they were in."""
    before, end, epochs = Births.before, Births.end, []

    def proposed(self, epoch, fit, stats):
        born = before(self, epoch, fit, stats)
        epochs.extend([epoch] * (born is not stats))
        return born

    def settled(self, *arguments):
        if self._before is not None:
            self._before = (np.inf, *self._before[1:])
        return end(self, *arguments)

    monkeypatch.setattr(Births, "before", proposed)
    monkeypatch.setattr(Births, "end", settled)
    return epochs
