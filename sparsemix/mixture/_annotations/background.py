"""The background of a fit: its check, and its box."""

import numbers

import numpy as np

from sparsemix._estimator.parameters import plain
from sparsemix._models.mixture.background import Background
from sparsemix._rows.blocks import CHUNK_BYTES, spans

# Prior mean of the share of the background, if only its presence is given.
SHARE = 0.05


def check_background(background):
    """The prior mean of the share of the background; None without one."""
    background = plain(background)
    if isinstance(background, bool):
        return SHARE if background else None
    if not (isinstance(background, numbers.Real) and 0.0 < background < 1.0):
        raise ValueError(f"background is {background!r}; give True, False, or an expected share between 0 and 1")
    return float(background)


def make_background(share, rows, floor):
    """The background of the rows, whose box is theirs; ``share`` is its expected share.

    A constant column has the side of a uniform distribution with its variance floor.
    """
    low, high = np.full((2, rows.X.shape[1]), np.nan)
    for start, stop in spans(len(rows), max(1, CHUNK_BYTES // rows.X[:1].nbytes)):
        low = np.fmin(low, np.fmin.reduce(rows.X[start:stop], axis=0))
        high = np.fmax(high, np.fmax.reduce(rows.X[start:stop], axis=0))
    sides = np.maximum(high.astype(np.float64) - low, 0.0 if floor is None else np.sqrt(12.0 * floor))
    return Background(share, low.astype(np.float64), np.where(sides > 0.0, sides, 1.0))
