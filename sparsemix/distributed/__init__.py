"""Fits over blocks of rows: data larger than memory in this process, or on the workers of a Dask cluster.

Each function takes an ordinary estimator and blocks (:mod:`sparsemix.blocks`). With ``client=None`` this process reads
one block at a time. With a ``dask.distributed.Client`` its workers read them; the results have the same bits.
"""

from sparsemix.distributed._fit import fit
from sparsemix.distributed._predict import score, transform

__all__ = ["fit", "score", "transform"]
