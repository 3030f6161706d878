"""Results of blocks as one array of Dask."""

import copy

import numpy as np
from scipy import sparse

from sparsemix._estimator.blockwise import block_named
from sparsemix.blocks._data import DelayedBlocks, raw_of
from sparsemix.blocks._readers.paths import needed


def is_dask_array(data):
    """Whether data is a ``dask.array``."""
    return type(data).__module__.startswith("dask.array") and hasattr(data, "rechunk")


def array_of(function, estimator, data, parts=None):
    """A ``dask.array`` of ``function(estimator, rows)`` of all blocks; ``parts`` are their Delayed, if there are any.

    The estimator is copied, so that a later fit changes no array: published state is replaced and not changed.
    """
    arrays, delayed = needed("dask.array", "dask[array]"), needed("dask").delayed
    if parts is None:
        held = delayed(copy.copy(estimator), pure=False, traverse=False)
        blocks = data.delayed if isinstance(data, DelayedBlocks) else [delayed(data, traverse=False)] * len(data)
        parts = [delayed(result, pure=False)(function, held, number, block) for number, block in enumerate(blocks)]
    empty = function(estimator, np.empty((0, 0)))
    sizes = [np.nan] * len(parts) if data.sizes is None else data.sizes
    shapes = [(n, *empty.shape[1:]) for n in sizes]
    chunks = zip(parts, shapes, strict=True)
    return arrays.concatenate([arrays.from_delayed(part, shape, meta=empty) for part, shape in chunks],
                              allow_unknown_chunksizes=True)  # fmt: skip


def result(function, estimator, number, block):
    """``function`` of a fitted estimator and a block."""
    with block_named(number):
        return function(estimator, raw_of(number, block))


def typed(function, dtype, estimator, X):
    """The result of a function as an array or CSR matrix of the given type: all chunks of an array have one type."""
    values = function(estimator, X)
    return values.astype(dtype, copy=False) if sparse.issparse(values) else np.asarray(values, dtype)
