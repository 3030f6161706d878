"""Short names for the types of public signatures, which ``help`` and ``inspect.signature`` show in place of unions."""

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Union

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
Table = Any  # pandas.DataFrame, or a list of dicts without pandas
Estimator = TypeVar("Estimator")
Method = TypeVar("Method", bound=Callable[..., Any])  # for decorators that keep the signature


class BlocksLike(Protocol):
    """A sequence of blocks, such as a list or ``sparsemix.blocks.Blocks``."""

    def __len__(self) -> int: ...
    def __getitem__(self, i: int, /) -> Any: ...


class Alias:
    """A type whose name stays; ``__value__`` is the type, as in ``typing.TypeAliasType``, which Python 3.11 lacks."""

    def __init__(self, name: str, value: Any) -> None:
        self.__name__, self.__value__ = name, value

    def __repr__(self) -> str:
        return self.__name__

    def __or__(self, other: Any) -> Any:
        return Union[self, other]  # noqa: UP007

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007


# Type checkers read the types above.
if not TYPE_CHECKING:
    Array, ArrayLike, FilePath, Folder, RowsLike, Seed, SparseArray, Table, Weights = (
        Alias(name, globals()[name])
        for name in ("Array", "ArrayLike", "FilePath", "Folder", "RowsLike", "Seed", "SparseArray", "Table", "Weights")
    )
