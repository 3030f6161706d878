"""Fitted state as dicts, lists, numbers and arrays: loading it requires trust in the estimator's class only."""

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.forms import check_structure

# Key of a dict that represents an object; its value names the type.
KIND = "__sparsemix__"


def to_plain(value, classes, numbers=None):
    """A copy of a value in which objects of these classes are dicts; repeated objects are references by number."""
    numbers = {} if numbers is None else numbers
    if isinstance(value, dict):
        return {name: to_plain(part, classes, numbers) for name, part in value.items()}
    if isinstance(value, list):
        return [to_plain(part, classes, numbers) for part in value]
    if isinstance(value, np.dtype):
        return {KIND: "dtype", "name": value.str}
    if isinstance(value, sparse.csr_array):
        arrays = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
        return {KIND: "csr_array", "shape": [int(n) for n in value.shape], **arrays}
    if type(value) not in classes:
        return value
    if id(value) in numbers:
        return {KIND: "same", "number": numbers[id(value)]}
    numbers[id(value)] = len(numbers)
    state = value.__getstate__()
    return {KIND: type(value).__name__, "names": sorted(state), "state": to_plain(state, classes, numbers)}


def from_plain(value, classes, made=None):
    """Inverse of ``to_plain``; it never makes objects of other classes."""
    made = [] if made is None else made
    if isinstance(value, list):
        return [from_plain(part, classes, made) for part in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(KIND)
    if kind is None:
        return {name: from_plain(part, classes, made) for name, part in value.items()}
    if kind == "dtype":
        return np.dtype(value["name"])
    if kind == "csr_array":
        table = sparse.csr_array((value["data"], value["indices"], value["indptr"]), shape=tuple(value["shape"]))
        check_structure(table, "the saved table")
        return table
    if kind == "same":
        return made[value["number"]]
    known = {cls.__name__: cls for cls in classes}
    if kind not in known:
        raise ValueError(f"the saved state holds a {kind!r}, an unknown type; it is damaged or from another version")
    made.append(known[kind].__new__(known[kind]))  # before its parts, which may refer to it
    self, state = made[-1], from_plain(value["state"], classes, made)
    if sorted(state) != value.get("names", sorted(state)):  # older files have no names
        raise LookupError(f"{kind} has lost an attribute")
    self.__setstate__(state) if hasattr(self, "__setstate__") else vars(self).update(state)
    return self
