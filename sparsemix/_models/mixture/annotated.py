"""Tables for rows with labels: values and their noise (n_columns columns), then a label (one column).

A labelled row may belong to the components of its label only. Rows of n_columns columns have no labels.
"""

import numpy as np

# Label of a row whose label is not known.
UNKNOWN = -1


def split(x, n_columns):
    """Values with their noise (n, n_columns), and labels (n,), or None if no label is known."""
    if x.shape[1] == n_columns:
        return x, None
    values, labels = np.ascontiguousarray(x[:, :n_columns]), x[:, n_columns]
    return values, labels if (labels != UNKNOWN).any() else None


class AnnotatedTable:
    """Log densities of rows with labels.

    Parameters
    ----------
    table : table of the values alone
    owners : ndarray of shape (K,) or None
        Number of the label of each component.
    n_columns : int
        Number of columns before the label.
    """

    complete_pairs = None

    def __init__(self, table, owners, n_columns):
        self.table, self.owners, self.n_columns = table, owners, n_columns
        self.dtype = table.dtype

    @property
    def kernel(self):
        """The table that the kernel reads."""
        return self.table.kernel

    @property
    def completion(self):
        """See IncompleteTable."""
        return self.table.completion

    def rows(self, x):
        """Values in the coordinates of ``kernel``."""
        return self.table.rows(x)

    def weights(self, x, out):
        """Log densities in ``out`` (n, K); -inf for the components of other labels than the row's."""
        x, labels = split(x, self.n_columns)
        self.table.weights(x, out)
        if labels is not None:
            out[(labels[:, None] != UNKNOWN) & (labels[:, None] != self.owners)] = -np.inf
        return out
