"""Results in rows: one form for all of them."""

from collections.abc import Iterable, Mapping
from typing import Any

from sparsemix._typing import Table


def table_of(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Rows as a data frame where pandas is installed, else as a list of dicts.

    Parameters
    ----------
    rows : iterable of dict
        With the same keys.

    Returns
    -------
    table : pandas.DataFrame or list of dict

    Examples
    --------
    >>> from sparsemix.extend import table_of
    >>> len(table_of([{"topic": 0, "words": ["sun", "rain"]}, {"topic": 1, "words": ["key"]}]))
    2
    """
    rows = list(rows)
    try:
        from pandas import DataFrame
    except ImportError:
        return rows
    return DataFrame(rows)
