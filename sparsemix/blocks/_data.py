"""Conversion of data to a sequence of blocks, and of weights to one array per block."""

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.forms import csr_of, floats_of, is_frame
from sparsemix.blocks._readers.arrays import Blocks, from_arrays
from sparsemix.blocks._readers.paths import needed


def as_blocks(data):
    """A sequence of blocks from an array, a matrix, a list, a reader, or a Dask collection."""
    if isinstance(data, np.ndarray) or sparse.issparse(data):
        return from_arrays(data)
    if type(data).__module__.split(".")[0] == "dask" or (
        isinstance(data, (list, tuple)) and len(data) and hasattr(data[0], "__dask_graph__")
    ):
        return DelayedBlocks(data)
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not is_frame(data):
        if len(data) == 0:
            raise ValueError("data has no blocks; give at least one")
        return data if isinstance(data, Blocks) else ListedBlocks(data)
    raise TypeError(
        f"data is a {type(data).__name__}; give a sequence of blocks of rows, a reader of sparsemix.blocks, a matrix, "
        "or a Dask collection"
    )


class ListedBlocks(Blocks):
    """Blocks of another sequence."""

    def __init__(self, data):
        self._data = data

    @property
    def sizes(self):
        """Rows of each block, if they are known without reading."""
        return [len_of(block) for block in self._data] if isinstance(self._data, (list, tuple)) else None

    def __len__(self):
        return len(self._data)

    def _read(self, i):
        return self._data[i]


def len_of(block):
    """Number of rows of a block."""
    return block.shape[0] if hasattr(block, "shape") else len(block)


class DelayedBlocks(Blocks):
    """Blocks of a ``dask.array`` in chunks of rows, of a bag, or of a list of Delayed, each computed separately."""

    def __init__(self, data):
        if hasattr(data, "rechunk") and data.ndim == 2 and data.numblocks[1] > 1:
            raise ValueError(
                f"data is a dask array in {data.numblocks[1]} chunks of columns; give it whole rows: "
                "data.rechunk({1: -1})"
            )
        parts = data.to_delayed() if hasattr(data, "to_delayed") else data
        self.delayed = list(np.asarray(parts, dtype=object).ravel())

    def __len__(self):
        return len(self.delayed)

    def _read(self, i):
        return block_of(needed("dask").compute(self.delayed[i], scheduler="synchronous")[0])


def block_of(value):
    """Rows of a Dask partition: an array, a matrix, or a list of rows."""
    if isinstance(value, list) and len(value) and sparse.issparse(value[0]):
        return sparse.vstack([csr_of(rows, "a row") for rows in value], format="csr")
    return value


def weights_of(sample_weight, data):
    """Weights of each block in float64, or None. Given per block, or for all rows if the sizes of blocks are known."""
    if sample_weight is None:
        return None
    whole = isinstance(sample_weight, np.ndarray) and sample_weight.dtype != object
    if whole:
        if data.sizes is None:
            raise ValueError("sample_weight is one array but the sizes of the blocks are unknown; give one per block")
        if sample_weight.shape != (sum(data.sizes),):
            raise ValueError(f"sample_weight has shape {sample_weight.shape}, expected ({sum(data.sizes)},)")
        sample_weight = np.split(sample_weight, np.cumsum(data.sizes)[:-1])
    if len(sample_weight) != len(data):
        raise ValueError(f"sample_weight has {len(sample_weight)} arrays for {len(data)} blocks; give one for each")
    return [np.ascontiguousarray(floats_of(weight, "sample_weight")) for weight in sample_weight]
