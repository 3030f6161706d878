"""Vectors of words: which are near each other, and the format of word2vec."""

import numpy as np

from sparsemix._engine.blocks import spans

# Numbers of a block of likenesses: 32 MB.
BLOCK_NUMBERS = 1 << 23


def nearest(vectors, words, n):
    """The n words whose vectors have the largest products with those of some words, without these themselves.

    Parameters
    ----------
    vectors : ndarray of shape (V, D)
    words : ndarray of int
    n : int
        V - 1 at most.

    Returns
    -------
    near : ndarray of shape (len(words), n), int64
        The largest product first.
    products : ndarray of the same shape
    """
    words = np.asarray(words, dtype=np.int64)
    n = min(n, len(vectors) - 1)
    near, products = np.empty((len(words), n), dtype=np.int64), np.empty((len(words), n), dtype=vectors.dtype)
    for start, stop in spans(len(words), max(1, BLOCK_NUMBERS // len(vectors))):
        some = words[start:stop]
        likeness = vectors[some] @ vectors.T
        likeness[np.arange(len(some)), some] = -np.inf
        best = np.sort(np.argpartition(-likeness, min(n, len(vectors) - 1), axis=1)[:, :n], axis=1)
        order = np.argsort(-np.take_along_axis(likeness, best, axis=1), axis=1, kind="stable")
        near[start:stop] = np.take_along_axis(best, order, axis=1)
        products[start:stop] = np.take_along_axis(likeness, near[start:stop], axis=1)
    return near, products


def word2vec_lines(names, vectors, binary=True):
    """Vectors in the format of word2vec, as lines of bytes; names are checked before the first."""
    vectors = np.ascontiguousarray(vectors, dtype="<f4")
    names = [str(name) for name in names]
    bad = next((name for name in names if not name or any(c.isspace() for c in name)), None)
    if bad is not None:
        raise ValueError(f"the word {bad!r} has white space or is empty, which the format has no place for")

    def lines():
        yield f"{len(vectors)} {vectors.shape[1]}\n".encode()
        for name, vector in zip(names, vectors, strict=True):
            numbers = vector.tobytes() if binary else " ".join(f"{x:.6g}" for x in vector).encode()
            yield name.encode() + b" " + numbers + b"\n"

    return lines()
