"""Short names for the types of public signatures."""

from collections.abc import Callable
from os import PathLike
from typing import Any, TypeVar

from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import sparray, spmatrix

Array = NDArray[Any]
SparseArray = sparray | spmatrix
RowsLike = ArrayLike | sparray | spmatrix  # rows or documents; data frames are array-like
Weights = ArrayLike | None
Path = str | PathLike[str]
Folder = Path | None
Seed = int | RandomState | None
Estimator = TypeVar("Estimator")
Method = TypeVar("Method", bound=Callable[..., Any])  # for decorators that keep the signature
