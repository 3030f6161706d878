"""One fit over blocks of rows: data larger than memory in this process, or over the workers of a Dask cluster.

Each function takes an ordinary estimator and blocks (:mod:`sparsemix.blocks`). With ``client=None`` blocks are read one
after the other; with a ``dask.distributed.Client`` its workers read them, to the same bits.
"""

from sparsemix.distributed._fit import fit
from sparsemix.distributed._predict import score, transform

__all__ = ["fit", "score", "transform"]
