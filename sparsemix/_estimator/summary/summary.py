"""The summary of a mixture, and the method that makes it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparsemix._estimator.input.checks import check_number
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._estimator.summary.columns import CELLS
from sparsemix._estimator.summary.numbers import percent

# Clusters in a text, and characters of a name or a cell there.
MOST_CLUSTERS, WIDTH = 20, 40
# Least share of known values that a line does not mention.
KNOWN = 0.995


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """What distinguishes each cluster of a mixture from all rows, column by column.

    The method ``summary`` of mixtures makes it. ``print(summary)`` shows the columns that distinguish a cluster most,
    as does the last line of a cell of Jupyter; ``print(summary[3])`` shows cluster 3 alone, and ``frame`` is a table of
    all.

    A column has a distribution in the cluster and one in all rows of clusters. Its information is the Kullback-Leibler
    divergence of the first from the second, in nats. Columns are in the order of their information.

    Parameters
    ----------
    masses : ndarray of shape (n_clusters,)
        Number of rows in each cluster: sums of responsibilities.
    columns : list of Numbers, Shares and Category
        What the mixture says of columns of each kind.
    n_columns : int, default=5
        Number of columns of a cluster in texts.
    unassigned : float, default=0.0
        Share of rows that belong to no cluster.
    clusters : ndarray of int, default=None
        Clusters to show, as ``predict`` numbers them. None shows all, those with most rows first.

    Examples
    --------
    >>> from sparsemix import SparseGaussianMixture
    >>> mixture = SparseGaussianMixture.from_parameters([0.75, 0.25], [[0.0, 1.0], [8.0, 1.0]], [[1.0, 9.0]] * 2,
    ...                                                 covariance_type="diag")
    >>> print(mixture.summary()[1])
    cluster 1: 25 % of all rows
      column 0   8.0 ± 1.0   all rows: 2.0 ± 3.6   higher
      column 1   1.0 ± 3.0   all rows: 1.0 ± 3.0   similar
    Columns that differ most from all rows come first. a ± b: mean and standard deviation.
    """

    masses: np.ndarray
    columns: Sequence[Any]
    n_columns: int = 5
    unassigned: float = 0.0
    clusters: np.ndarray | None = None

    def __post_init__(self):
        if self.clusters is None:
            object.__setattr__(self, "clusters", np.argsort(-self.masses, kind="stable"))

    def __getitem__(self, cluster: int) -> "Summary":
        """The summary of one cluster, by its number in ``predict``."""
        if not isinstance(cluster, int | np.integer) or not -1 < cluster < len(self.masses):
            raise IndexError(f"there is no cluster {cluster}; give a number from 0 to {len(self.masses) - 1}")
        return replace(self, clusters=np.array([cluster]))

    @property
    def shares(self):
        """Share of all rows that each cluster has, (n_clusters,)."""
        return (1.0 - self.unassigned) * shares_of(self.masses)

    def frame(self, n_columns: int | None = None) -> Any:
        """One row for each cluster and column, as a data frame of pandas.

        Parameters
        ----------
        n_columns : int, default=None
            Number of columns of a cluster, those with most information. None takes all; give a number for a mixture of
            many words.

        Returns
        -------
        frame : pandas.DataFrame
            "cluster", "share" (of all rows), "size" (number of rows), "column", "typical", "spread", "probability",
            "overall", "overall_spread", "overall_probability", "known" (share of the cluster's rows with a value, NaN
            if the mixture does not know it), "information" (of these rows). For numbers, the mean and the standard
            deviation in the cluster, and both in all rows. For flags and words, the probability. For categories the
            most probable level in the cluster with its probability there and in all rows, and the most probable level
            in all rows. Larger clusters come first, within them columns with more information times "known".

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("frame() makes a pandas.DataFrame: pip install pandas") from error
        if n_columns is not None:
            check_number("n_columns", n_columns)
        order = np.argsort(-self._information(), axis=1, kind="stable")[:, :n_columns]
        data = {"cluster": self.clusters, "share": self.shares[self.clusters], "size": self.masses[self.clusters]}
        data = {name: np.repeat(value, order.shape[1]) for name, value in data.items()}
        data["column"] = np.array([self._name(j) for j in range(self._n_columns)], dtype=object)[order].ravel()
        cells = {name: self._joined([part.table()[name] for part in self.columns]) for name in CELLS}
        cells["known"] = self._joined([part.known for part in self.columns])
        cells["information"] = self._joined([part.information for part in self.columns])
        cells = {name: np.take_along_axis(value, order, axis=1).ravel() for name, value in cells.items()}
        return pd.DataFrame(data | cells)

    def __repr__(self):
        shown = self._shown()
        rows = [(name, inside, f"all rows: {outside}", difference)
                for _, lines in shown for name, inside, outside, difference in lines]  # fmt: skip
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        padded = iter(["  " + "   ".join(map(str.ljust, row, widths)).rstrip() for row in rows])
        out = []
        for head, lines in shown:
            out += [head, *(next(padded) for _ in lines), *([""] if len(shown) > 1 else [])]
        return "\n".join([*out, *self._notes()])

    def _repr_html_(self):
        def row(cells):
            return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"

        parts = [
            f'<tr><th colspan="4" style="text-align: left">{escape(head)}</th></tr>' + "".join(map(row, lines))
            for head, lines in self._shown()
        ]
        names = "<tr><th>column</th><th>in the cluster</th><th>in all rows</th><th></th></tr>"
        notes = f"<p>{escape(' '.join(self._notes()))}</p>"
        return f"<table><thead>{names}</thead><tbody>{''.join(parts)}</tbody></table>{notes}"

    # -- texts

    def _shown(self):
        """A head and lines of (name, in the cluster, in all rows, difference) of each cluster that a text shows."""
        clusters = self.clusters[:MOST_CLUSTERS]
        order = np.argsort(-self._information(clusters), axis=1, kind="stable")[:, : self.n_columns]
        return [(self._head(k), [self._line(k, j) for j in best]) for k, best in zip(clusters, order, strict=True)]

    def _head(self, k):
        share = f"{percent(self.shares[k])} of all rows"
        if self.masses.sum() < 1.5:  # mixtures of given parameters have mass one
            return f"cluster {k}: {share}"
        n_rows = f"{self.masses[k]:,.0f}"
        return f"cluster {k}: {share}, {n_rows} row{'s' * (n_rows != '1')}"

    def _line(self, k, j):
        part, place = self._place(j)
        name, inside, outside, difference = (short(text) for text in (self._name(j), *part.cells(k, place)))
        known = np.broadcast_to(part.known, part.information.shape)[k, place]
        if known < KNOWN:
            difference = f"{difference}, known in {percent(known)}".removeprefix(", ")
        return name, inside, outside, difference

    def _notes(self):
        out = []
        if self.unassigned > 0.0:
            out.append(f"{percent(self.unassigned)} of all rows belong to no cluster.")
        text = ["Columns that differ most from all rows come first."]
        text += dict.fromkeys(part.note for part in self.columns)
        hidden = self._n_columns - self.n_columns
        text += [f"Further columns of each cluster, not listed: {hidden:,}."] if hidden > 0 else []
        more = len(self.clusters) - MOST_CLUSTERS
        text += [f"Smaller clusters, not listed: {more:,}."] if more > 0 else []
        return [*out, *wrap(" ".join(text), 100)]

    # -- columns of all kinds, by one number

    def _information(self, clusters=None):
        """Information by which columns are in order, (number of clusters, n_columns)."""
        clusters = self.clusters if clusters is None else clusters
        return np.hstack([
            (part.information * np.nan_to_num(part.known, nan=1.0))[clusters] for part in self.columns
        ])  # fmt: skip

    def _joined(self, tables):
        """Arrays of all kinds for the clusters in their order, side by side."""
        shapes = [part.information.shape for part in self.columns]
        arrays = [np.broadcast_to(table, shape)[self.clusters] for table, shape in zip(tables, shapes, strict=True)]
        return np.hstack(arrays)

    @property
    def _n_columns(self):
        return sum(part.information.shape[1] for part in self.columns)

    def _place(self, j):
        """The kind that has column j, and its number there."""
        for part in self.columns:
            if j < part.information.shape[1]:
                return part, j
            j -= part.information.shape[1]
        raise IndexError(j)

    def _name(self, j):
        part, place = self._place(j)
        return f"column {j}" if part.names is None else str(part.names[place])


def shares_of(masses):
    """Masses that are divided by their sum."""
    return masses / max(masses.sum(), np.finfo(float).tiny)


def short(text):
    """A text of one line and limited width."""
    text = " ".join(text.split())
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


@plain_arguments
def summary(self: Any, n_columns: int = 5) -> Summary:
    """What distinguishes each cluster from all rows: typical values of the columns that tell most about it.

    Parameters
    ----------
    n_columns : int, default=5
        Number of columns of a cluster that the text lists.

    Returns
    -------
    summary : Summary
        ``print(summary)`` is a text, ``summary[3]`` is about cluster 3 alone, and ``summary.frame()`` is a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseBernoulliMixture
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 4)) < np.array([[0.9, 0.8, 0.5, 0.5], [0.1, 0.1, 0.5, 0.5]])[np.arange(300) // 200]
    >>> mixture = SparseBernoulliMixture(2, random_state=0).fit(X)
    >>> mixture.summary(n_columns=2).columns[0].typical.shape
    (2, 4)
    """
    check_is_fitted(self)
    return summary_of(self, n_columns, getattr(self, "feature_names_in_", None))


def summary_of(mixture, n_columns, names):
    """The summary of a fitted mixture whose columns have these names, or None."""
    check_number("n_columns", n_columns)
    masses = mixture._fitted.masses
    columns = mixture._columns(names, shares_of(masses))
    return Summary(masses, columns, n_columns, getattr(mixture._fitted, "unassigned", 0.0))
