"""What callers keep of rows from visit to visit: read with the rows and the model that it was made for, or refused.

Its numbers are rows, entries and components, and compiled loops read with them what they are of.
"""

import zlib
from dataclasses import dataclass
from numbers import Integral

import numpy as np


@dataclass
class MadeFor:
    """What a memory is of; ``entries`` is known from the first visit on, the sum of where documents begin."""

    n_rows: int
    first_row: int
    model: tuple
    n_components: int
    entries: int | None = None


def kind(model):
    """What two models share whose memories hold the same things."""
    sampler = getattr(model, "later_sampler", getattr(model, "sampler", None))
    return type(model).__name__, type(sampler).__name__, getattr(sampler, "n_samples", None)


def label(memory, model, n_rows, first_row):
    """The same memory, which says what it is for."""
    if memory is not None:
        memory.made_for = MadeFor(n_rows, first_row, kind(model), model.n_components)
    return memory


def check_place(n_rows, first_row):
    """Numbers of rows."""
    for name, value, what in (("n_rows", n_rows, "how many rows it is for"),
                              ("first_row", first_row, "the number of X's first row in all the data")):  # fmt: skip
        if not isinstance(value, Integral) or value < 0:
            raise ValueError(f"{name} is {value!r}; give {what}")


def check(memory, model, rows, n_rows, first_row):
    """Refuse what was made for other rows or another model."""
    made = getattr(memory, "made_for", None)
    if made is None:
        raise TypeError(f"memory is a {type(memory).__name__}; give what row_memory gave")
    if (made.n_rows, made.first_row) != (n_rows, first_row):
        raise ValueError(
            f"memory was made for {made.n_rows} rows from number {made.first_row} on, and these are {n_rows} from "
            f"{first_row} on; ask row_memory for one of their own"
        )
    if (made.model, made.n_components) != (kind(model), model.n_components):
        raise ValueError(
            f"memory was made for a {made.model[0]} of {made.n_components} components; this is a {kind(model)[0]} of "
            f"{model.n_components}, fitted in another way: ask its row_memory for one"
        )
    if hasattr(rows.X, "indptr"):
        entries = zlib.crc32(np.ascontiguousarray(rows.X.indptr, dtype=np.int64))
        if made.entries not in (None, entries):
            raise ValueError("memory has seen other rows; ask row_memory for one of these rows' own")
        made.entries = entries
