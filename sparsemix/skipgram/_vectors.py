"""Word vectors: nearest neighbours, and the word2vec format."""

import numpy as np

from sparsemix._rows.blocks import spans

# Products per block: 32 MB.
BLOCK_NUMBERS = 1 << 23


def nearest(vectors, words, n, among):
    """The n words whose vectors have the largest products with those of the given words, without these words.

    Parameters
    ----------
    vectors : ndarray of shape (V, D)
    words : ndarray of int
    n : int
    among : ndarray of int
        Candidates, in increasing order.

    Returns
    -------
    near : list of ndarray of at most n words
        Largest product first.
    products : list of ndarray of the same lengths
    """
    words = np.asarray(words, dtype=np.int64)
    others = np.ascontiguousarray(vectors[among].T)
    near, products = [], []
    for start, stop in spans(len(words), max(1, BLOCK_NUMBERS // max(1, len(among)))):
        some = words[start:stop]
        likeness = vectors[some] @ others
        likeness[some[:, None] == among] = -np.inf
        for row in likeness:
            best = np.argpartition(-row, n)[:n] if n < len(row) else np.arange(len(row))
            best = best[np.argsort(-row[best], kind="stable")]
            best = best[row[best] > -np.inf]
            near.append(among[best])
            products.append(row[best])
    return near, products


def word2vec_lines(names, vectors, binary=True):
    """Vectors in word2vec format, as lines of bytes. Names are checked before the first line."""
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
