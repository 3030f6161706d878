"""Objects as JSON and arrays, and back; without pickle, so that reading a file executes no foreign code.

Checkpoints store all objects of this package, pickles and skops files the fitted state of an estimator. Supported:
numbers, strings, lists, tuples, dictionaries, arrays, sparse arrays, random generators, and objects, functions and
methods of this package, by name. Shared references stay shared after decoding.
"""

import re
import types
import zlib
from functools import partial
from importlib import import_module

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.forms import csr_of

PACKAGE = __package__.partition(".")[0]
# Packages whose classes fitted state is made of. Objects of other ones, such as blocks, may open files when loaded.
HOLDS_STATE = re.compile(
    rf"{PACKAGE}\.(_engine|_heuristics|_models|_rows|_stats|clusters|mixture|skipgram|topics)[.:][\w.:]+"
)
# Classes that files may name by the module they were in.
MOVED = {
    f"{PACKAGE}._engine.documents:DocumentMemory": f"{PACKAGE}._rows.documents",
    f"{PACKAGE}._engine.sequences:TokenMemory": f"{PACKAGE}._rows.sequences",
    f"{PACKAGE}._engine.schedules:LearningRates": f"{PACKAGE}._rows.rates",
}


class Encoder:
    """Converts objects to JSON; ``keep(array)`` stores an array and returns a value to encode in its place."""

    def __init__(self, keep=lambda array: array):
        self._keep = keep
        self._numbers = {}
        self._alive = []  # keeps objects alive, because ids are unique among live objects only

    def encode(self, value):
        """A value as JSON."""
        if value is None or isinstance(value, (bool, str)) or type(value) in (int, float):
            return value
        if isinstance(value, list):
            return [self.encode(item) for item in value]
        if isinstance(value, tuple):
            return {"tuple": [self.encode(item) for item in value]}
        if isinstance(value, dict):
            if all(isinstance(key, str) for key in value):  # the names show a loss
                return {"dict": [sorted(value), {key: self.encode(item) for key, item in value.items()}]}
            return {"pairs": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if isinstance(value, np.generic):
            return {"scalar": self._keep(np.asarray(value))}
        if isinstance(value, types.FunctionType):
            return {"function": named(value)}
        if isinstance(value, types.MethodType):
            return {"method": [self.encode(value.__self__), value.__name__]}
        if id(value) in self._numbers:
            return {"same": self._numbers[id(value)]}
        number = self._numbers[id(value)] = len(self._numbers)
        self._alive.append(value)
        return {"number": number} | self._encode_object(value)

    def _encode_object(self, value):
        if isinstance(value, np.ndarray):
            return {"array": self._keep(value)}
        if sparse.issparse(value):
            parts = value.tocsr()
            return {"csr": [self.encode(part) for part in (parts.data, parts.indices, parts.indptr, value.shape)]}
        if isinstance(value, np.random.Generator):
            return {"generator": self.encode(value.bit_generator.state)}
        if isinstance(value, partial):
            return {"partial": [self.encode(part) for part in (value.func, value.args, value.keywords)]}
        return {"object": named(type(value)), "state": self.encode(dict(value.__getstate__() or {}))}


class Decoder:
    """Inverse of ``Encoder``.

    Parameters
    ----------
    read : function
        Inverse of the encoder's ``keep``.
    only_state : bool
        Whether to make nothing but fitted state: objects of the packages that hold it. Otherwise also objects of other
        classes of this package, its functions and methods.
    """

    def __init__(self, read=lambda array: array, only_state=False):
        self._read = read
        self._only_state = only_state
        self._values = {}

    def decode(self, code):
        """The value encoded by some JSON."""
        if isinstance(code, list):
            return [self.decode(item) for item in code]
        if not isinstance(code, dict):
            return code
        if "same" in code:
            return self._values[code["same"]]
        number = code.get("number")
        kind = next(iter(key for key in code if key not in ("number", "state")), None)
        if kind == "object":
            return self._object(number, code)
        value = getattr(self, f"_{kind}")(code[kind])
        if number is not None:
            self._values[number] = value
        return value

    def _object(self, number, code):
        cls = self._found(code["object"])
        value = self._values[number] = cls.__new__(cls)
        state = self.decode(code["state"])
        if hasattr(cls, "__setstate__"):
            value.__setstate__(state)
        else:
            vars(value).update(state)
        return value

    def _found(self, name):
        """The class or function of this name."""
        if self._only_state and not HOLDS_STATE.fullmatch(name):
            raise ValueError(f"the saved state holds {name!r}, an unknown type; it is damaged or from another version")
        return found(name)

    def _tuple(self, items):
        return tuple(self.decode(items))

    def _dict(self, parts):
        names, items = parts
        if sorted(items) != names:
            raise LookupError("a part of the saved state is missing")
        return {key: self.decode(item) for key, item in items.items()}

    def _pairs(self, pairs):
        return {self.decode(key): self.decode(item) for key, item in pairs}

    def _dtype(self, name):
        return np.dtype(name)

    def _scalar(self, code):
        return self._read(code)[()]

    def _function(self, name):
        if self._only_state:
            raise ValueError("the saved state holds a function; it is damaged or from another version")
        return found(name)

    def _method(self, parts):
        if self._only_state:
            raise ValueError("the saved state holds a method; it is damaged or from another version")
        return getattr(self.decode(parts[0]), parts[1])

    def _array(self, code):
        return self._read(code)

    def _csr(self, parts):
        *arrays, shape = self.decode(parts)
        table = sparse.csr_array(tuple(arrays), shape=shape)
        return csr_of(table, "the saved table").astype(table.dtype, copy=False)

    def _generator(self, code):
        state = self.decode(code)
        bits = getattr(np.random, state["bit_generator"])()
        bits.state = state
        return np.random.Generator(bits)

    def _partial(self, parts):
        function, args, keywords = self.decode(parts)
        return partial(function, *args, **keywords)


def checksum(code):
    """A checksum of encoded state: of its names and numbers, and of the types and shapes of its arrays."""

    def form(part):
        if isinstance(part, np.ndarray):
            return f"{part.dtype.str}{part.shape}"
        if isinstance(part, dict):
            return {name: form(value) for name, value in part.items()}
        return [form(value) for value in part] if isinstance(part, list) else part

    return zlib.crc32(repr(form(code)).encode())


def named(value):
    """The name ``module:name`` of a class or function of this package."""
    name = f"{value.__module__}:{value.__qualname__}"
    if value.__module__.split(".")[0] != PACKAGE or "<" in name:
        raise TypeError(f"{name} is not part of {PACKAGE}; a checkpoint cannot store it")
    return name


def found(name):
    """The class or function of this name; refuses names outside this package."""
    module, _, path = name.partition(":")
    if module.split(".")[0] != PACKAGE:
        raise ValueError(f"{name} is not part of {PACKAGE}; a checkpoint holds nothing else")
    value = import_module(MOVED.get(name, module))
    for part in path.split("."):
        value = getattr(value, part)
    return value
