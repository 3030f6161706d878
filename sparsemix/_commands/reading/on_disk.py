"""Counts of texts that exceed memory: a first reading learns the vocabulary, a second one counts.

Counts are in three memory-mapped files with the interface of a CSR matrix. In memory are the vocabulary, the words of
some thousand documents, and a few numbers per document.
"""

import heapq
import os
from array import array
from ast import literal_eval
from collections import Counter
from itertools import groupby, islice
from numbers import Integral
from operator import itemgetter

import numpy as np
from scipy import sparse
from sklearn.base import clone

# Words whose document frequencies are in memory at once: half a gigabyte. Larger vocabularies are sorted on disk and
# merged.
MOST_WORDS = 4_000_000
# Documents per call of the vectorizer.
DOCUMENTS = 2000
# With more entries, row pointers and word numbers both have 64 bits; SciPy requires one type for both.
MOST_ENTRIES = np.iinfo(np.int32).max


def learn_vocabulary(vectorizer, texts, folder):
    """Fit a ``CountVectorizer`` to a stream of texts. The vocabulary equals that of its ``fit``.

    Parameters
    ----------
    vectorizer : CountVectorizer
        Without a given vocabulary. This function sets ``vocabulary_``.
    texts : iterable of str
    folder : str
        For document frequencies that exceed memory.

    Raises
    ------
    ValueError
        If ``min_df`` and ``max_df`` leave no word.
    """
    clone(vectorizer).set_params(vocabulary=["word"]).fit([""])  # validates the parameters
    analyze, frequencies, runs, n = vectorizer.build_analyzer(), Counter(), [], 0
    for text in texts:
        n += 1
        frequencies.update(set(analyze(text)))
        if len(frequencies) > MOST_WORDS:
            runs.append(spilled(frequencies, os.path.join(folder, f"words{len(runs)}")))
    least, most = (df if isinstance(df, Integral) else df * n for df in (vectorizer.min_df, vectorizer.max_df))
    if most < least:
        raise ValueError("max_df corresponds to < documents than min_df")
    words = sorted(frequencies.items())
    if runs:
        words = merged([*map(entries, runs), words])
    kept = [word for word, df in words if least <= df <= most]
    if not kept:
        raise ValueError("no word has a document frequency between min_df and max_df")
    vectorizer.vocabulary_, vectorizer.fixed_vocabulary_ = {word: i for i, word in enumerate(kept)}, False


def spilled(frequencies, path):
    """Write document frequencies, sorted by word, and clear them. Return the path."""
    with open(path, "w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
        file.writelines(f"{df} {word!r}\n" for word, df in sorted(frequencies.items()))
    frequencies.clear()
    return path


def entries(path):
    """Words and their document frequencies in a file."""
    with open(path, encoding="utf-8", errors="surrogatepass", newline="\n") as file:
        for line in file:
            df, word = line.split(" ", 1)
            yield literal_eval(word), int(df)


def merged(runs):
    """All words of sorted runs, each once, with its total frequency."""
    for word, same in groupby(heapq.merge(*runs), key=itemgetter(0)):
        yield word, sum(df for _, df in same)


def counted(vectorizer, texts, folder):
    """Count the words of a stream of texts: a CSR matrix whose arrays are memory-mapped files.

    Parameters
    ----------
    vectorizer : object
        Fitted; its ``transform`` counts words.
    texts : iterable of str
    folder : str
        Folder for the files. They must exist as long as the matrix is used.

    Returns
    -------
    counts : csr_matrix of shape (n_texts, n_words), float32
    """
    texts, indptr, n_words = iter(texts), array("q", [0]), len(vectorizer.get_feature_names_out())
    paths = [os.path.join(folder, name) for name in ("counts.data", "counts.indices")]
    with open(paths[0], "wb") as data, open(paths[1], "wb") as indices:
        while some := list(islice(texts, DOCUMENTS)):
            block = sparse.csr_matrix(vectorizer.transform(some))
            block.sum_duplicates()
            block.eliminate_zeros()
            data.write(block.data.astype(np.float32, copy=False).tobytes())
            indices.write(block.indices.astype(np.int32, copy=False).tobytes())
            indptr.frombytes((block.indptr[1:].astype(np.int64) + indptr[-1]).tobytes())
    indptr = np.frombuffer(indptr, dtype=np.int64)
    if indptr[-1] > MOST_ENTRIES:
        paths[1] = widened(paths[1])
    else:
        indptr = indptr.astype(np.int32)
    parts = (mapped(paths[0], np.float32), mapped(paths[1], indptr.dtype), indptr)
    counts = sparse.csr_matrix(parts, shape=(len(indptr) - 1, n_words))
    counts.has_canonical_format = True
    return counts


def mapped(path, dtype):
    """Memory map of a file; an empty array for an empty file, which cannot be mapped."""
    return np.memmap(path, dtype, mode="r") if os.path.getsize(path) else np.empty(0, dtype)


def widened(path):
    """Convert word numbers to 64 bits. Return the path of the new file."""
    narrow, wide = np.memmap(path, np.int32, mode="r"), f"{path}64"
    with open(wide, "wb") as file:
        for start in range(0, len(narrow), 1 << 22):
            file.write(narrow[start : start + (1 << 22)].astype(np.int64).tobytes())
    os.remove(path)
    return wide
