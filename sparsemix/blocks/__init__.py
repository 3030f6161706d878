"""Data in blocks of rows, for fits over more than memory holds (:mod:`sparsemix.distributed`).

Anything with a length whose items are rows, as arrays or CSR matrices, is data in blocks: a list of matrices, or an
object of your own. What is made here reads a block when it is asked for, and is pickled as the paths that it reads,
never as their contents. Rows that belong together (of one day, one author) should not share a block:
:func:`shuffle` deals them at random to new blocks on disk.
"""

from sparsemix.blocks._arrays import Blocks, from_arrays, from_function
from sparsemix.blocks._files import from_npz, from_parquet
from sparsemix.blocks._shuffle import shuffle
from sparsemix.blocks._stores import from_h5ad, from_zarr
from sparsemix.blocks._texts import from_text

__all__ = [
    "Blocks",
    "from_arrays",
    "from_function",
    "from_h5ad",
    "from_npz",
    "from_parquet",
    "from_text",
    "from_zarr",
    "shuffle",
]
