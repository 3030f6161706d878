"""Rows of which some have labels."""

import numpy as np

from sparsemix._engine.blocks import Rows, length, part
from sparsemix._models.mixture.annotated import UNKNOWN
from sparsemix.mixture._annotations.labels import numbered


class AnnotatedRows(Rows):
    """Rows that are read as their values, then a label (see ``_models.mixture.annotated``).

    Parameters
    ----------
    rows : Rows
    labels : ndarray of shape (N,), int64
        Labels of the rows, or UNKNOWN; reads return their ``numbers`` among the classes of a model.
    """

    annotated = True
    numbers = None

    def __init__(self, rows, labels):
        super().__init__(rows.X, rows.sample_weight, rows.shift, rows.dtype)
        self.kept, self.labels = rows.kept, labels

    @property
    def values(self):
        """See Rows."""
        rows = Rows(self.X, self.sample_weight, self.shift, self.dtype)
        rows.kept = self.kept
        return rows

    def number(self, classes=None):
        """Number the labels by the classes of a model, or by their own; return the classes."""
        classes, self.numbers = numbered(self.labels, classes)
        return classes

    def buffer(self, selection):
        """See Rows."""
        return np.empty((length(selection), self.X.shape[1] + 1), dtype=self.dtype)

    def load(self, selection, start, stop, buffer):
        """See Rows."""
        out, chosen, d = buffer[start:stop], part(selection, start, stop), self.X.shape[1]
        out[:, :d] = self.X[chosen]
        if self.shift is not None:
            np.subtract(out[:, :d], self.shift, out=out[:, :d], casting="same_kind")
        out[:, d] = UNKNOWN if self.numbers is None else self.numbers[chosen]
        return out

    def _is_view(self, selection):  # noqa: ARG002
        return False
