"""Fits to rows in blocks: data larger than memory in this process, or on the workers of a Dask cluster.

:func:`fit`, :func:`transform`, :func:`predict` and :func:`score` take an ordinary estimator and blocks. With
``client=None`` this process reads one block at a time. With a ``dask.distributed.Client`` its workers read them, and
the results have the same bits.

Any sequence of arrays or CSR matrices is data in blocks: a list of matrices, or an object with ``__len__`` and
``__getitem__``. The readers of this module read a block on access. Pickled, they contain paths, never the data.
Related rows (of one day, one author) should not share a block: :func:`shuffle` distributes rows at random to new
blocks on disk.
"""

from sparsemix.blocks._fit import fit
from sparsemix.blocks._predict import predict, score, transform
from sparsemix.blocks._readers.arrays import Blocks, from_arrays, from_function
from sparsemix.blocks._readers.files import from_npz
from sparsemix.blocks._readers.parquet import from_parquet
from sparsemix.blocks._readers.stores import from_h5ad, from_zarr
from sparsemix.blocks._readers.texts import from_text
from sparsemix.blocks._shuffle import shuffle

__all__ = [
    "Blocks",
    "fit",
    "from_arrays",
    "from_function",
    "from_h5ad",
    "from_npz",
    "from_parquet",
    "from_text",
    "from_zarr",
    "predict",
    "score",
    "shuffle",
    "transform",
]
