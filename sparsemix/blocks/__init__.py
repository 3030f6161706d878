"""Blocks of rows, for fits to data larger than memory (:mod:`sparsemix.distributed`).

Any sequence of arrays or CSR matrices is data in blocks: a list of matrices, or an object with ``__len__`` and
``__getitem__``. The readers of this module read a block on access. Pickled, they contain paths, never the data.
Related rows (of one day, one author) should not share a block: :func:`shuffle` distributes rows at random to new
blocks on disk.
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
