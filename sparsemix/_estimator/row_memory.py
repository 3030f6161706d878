"""Checks that a row memory belongs to the given rows and model.

A memory holds indices of rows, entries and components. Compiled loops use them without bounds checks.
"""

import zlib
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from sparsemix._estimator.parameters import LARGEST_INTEGER


@dataclass
class MadeFor:
    """Rows and model of a memory; ``entries``, a checksum of the starts of documents, is known after the first visit.
    """

    n_rows: int
    first_row: int
    model: tuple
    n_components: int
    entries: int | None = None


def kind(model):
    """Key of models with compatible memories."""
    sampler = getattr(model, "later_sampler", getattr(model, "sampler", None))
    return type(model).__name__, type(sampler).__name__, getattr(sampler, "n_samples", None)


def label(memory, model, n_rows, first_row):
    """The same memory, labelled with its rows and model."""
    if memory is not None:
        memory.made_for = MadeFor(n_rows, first_row, kind(model), model.n_components)
    return memory


def check_place(n_rows, first_row):
    """Refuse anything but integers that compiled loops hold."""
    for name, value, what in (("n_rows", n_rows, "the number of rows"),
                              ("first_row", first_row, "the index of X's first row in the whole data")):  # fmt: skip
        if not isinstance(value, Integral) or not 0 <= value <= LARGEST_INTEGER:
            raise ValueError(f"{name} is {value!r}; give {what}, from 0 to {LARGEST_INTEGER}")


def check(memory, model, rows, n_rows, first_row):
    """Refuse a memory of other rows or another model."""
    made = getattr(memory, "made_for", None)
    if made is None:
        raise TypeError(f"memory is a {type(memory).__name__}; give the result of row_memory")
    if (made.n_rows, made.first_row) != (n_rows, first_row):
        raise ValueError(
            f"memory was made for {made.n_rows} rows from number {made.first_row} on, but X has {n_rows} from "
            f"{first_row} on; call row_memory for these rows"
        )
    if (made.model, made.n_components) != (kind(model), model.n_components):
        raise ValueError(
            f"memory was made for a {made.model[0]} of {made.n_components} components; this is a {kind(model)[0]} of "
            f"{model.n_components}, fitted in another way; call its row_memory"
        )
    if hasattr(rows.X, "indptr"):
        entries = zlib.crc32(np.ascontiguousarray(rows.X.indptr, dtype=np.int64))
        if made.entries not in (None, entries):
            raise ValueError("memory has seen other rows; call row_memory for these rows")
        made.entries = entries
