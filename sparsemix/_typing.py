"""Short names for the types of public signatures."""

from collections.abc import Callable
from os import PathLike
from typing import Any, Protocol, TypeVar

from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import sparray, spmatrix

Array = NDArray[Any]
SparseArray = sparray | spmatrix
RowsLike = ArrayLike | sparray | spmatrix  # rows or documents; data frames are array-like
Weights = ArrayLike | None
FilePath = str | PathLike[str]
Folder = FilePath | None
Seed = int | RandomState | None
Estimator = TypeVar("Estimator")
Method = TypeVar("Method", bound=Callable[..., Any])  # for decorators that keep the signature


class BlocksLike(Protocol):
    """A sequence of blocks, such as a list or ``sparsemix.blocks.Blocks``."""

    def __len__(self) -> int: ...
    def __getitem__(self, i: int, /) -> Any: ...
