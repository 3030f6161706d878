"""Word counts: of texts, in memory or in memory-mapped files, and from files of counts."""

import os
import warnings
from array import array
from collections import Counter
from itertools import islice
from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.base import clone

from sparsemix import blocks, extend
from sparsemix.datasets import load_bag_of_words, read_vocabulary
from sparsemix.skipgram import TokenSequences

# Documents per call of the vectorizer, for counts on disk.
DOCUMENTS = 2000
# A word must be in several documents if there are MANY; in one in OF_DOCUMENTS at most.
MANY, OF_DOCUMENTS = 10, 10


def count_words(vectorizer, texts, folder=None):
    """Counts of words, and word sequences if the vectorizer makes them; counts are in files if a folder is given."""
    with warnings.catch_warnings():
        # Stop words that the tokenizer would split are omitted in pieces, as intended.
        warnings.filterwarnings("ignore", message="Your stop_words may be inconsistent")
        least = least_documents(vectorizer, texts.rows)
        if folder is not None:
            if vectorizer.vocabulary is None:
                learn_vocabulary(vectorizer, texts, least)
            return counted(vectorizer, texts.whole(), folder), None
        read = vectorizer.fit_transform(texts.whole())
    if isinstance(vectorizer, TokenSequences):
        return counts_of(read, len(vectorizer.vocabulary_)), read
    return (without_rare_words(vectorizer, sparse.csr_matrix(read), texts.rows, least) if least else read), None


def counts_of(sequences, n_words):
    """Counts of the words of sequences."""
    ones, words = np.ones(sequences.nnz, dtype=np.float32), sequences.data.astype(np.int64) - 1
    counts = sparse.csr_matrix((ones, words, sequences.indptr.copy()), shape=(sequences.shape[0], n_words))
    counts.sum_duplicates()
    return counts


def least_documents(vectorizer, numbers):
    """The least number of whole documents with a word, if texts are passages of many documents; else 0.

    A name that occurs in one book only would make this book a topic.
    """
    n = len(np.unique(numbers))
    many = MANY <= n < len(numbers) and isinstance(vectorizer.min_df, Integral) and vectorizer.vocabulary is None
    return min(vectorizer.min_df, n // OF_DOCUMENTS) if many else 0


def without_rare_words(vectorizer, counts, numbers, least):
    """The counts of words that at least some whole documents have, which become the vocabulary."""
    rows = np.unique(numbers, return_inverse=True)[1]
    member = sparse.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, np.arange(len(rows)))))
    kept = np.flatnonzero((member @ counts).getnnz(axis=0) >= least)
    names = vectorizer.get_feature_names_out()
    vectorizer.vocabulary_ = {names[v]: i for i, v in enumerate(kept.tolist())}
    return counts[:, kept]


def learn_vocabulary(vectorizer, texts, least_of_documents=0):
    """Fit a ``CountVectorizer`` to a stream of texts without their counts in memory."""
    clone(vectorizer).set_params(vocabulary=["word"]).fit([""])  # validates the parameters
    analyze, frequencies, documents, last, n = vectorizer.build_analyzer(), Counter(), Counter(), {}, 0
    for number, text in zip(texts.rows.tolist(), texts.whole(), strict=True):
        n += 1
        words = set(analyze(text))
        frequencies.update(words)
        if least_of_documents:
            documents.update(word for word in words if last.get(word) != number)
            last.update(dict.fromkeys(words, number))
    least, most = (df if isinstance(df, Integral) else df * n for df in (vectorizer.min_df, vectorizer.max_df))
    kept = (word for word, df in frequencies.items() if least <= df <= most)
    kept = sorted(word for word in kept if documents[word] >= least_of_documents)
    if not kept:
        raise ValueError("no word has a document frequency between min_df and max_df")
    vectorizer.vocabulary_, vectorizer.fixed_vocabulary_ = {word: i for i, word in enumerate(kept)}, False


def counted(vectorizer, texts, folder):
    """Counts of a stream of texts: a CSR matrix whose arrays are files, which must exist as long as it is used."""
    texts, indptr = iter(texts), array("q", [0])
    paths = [os.path.join(folder, name) for name in ("counts.data", "counts.indices")]
    with open(paths[0], "wb") as data, open(paths[1], "wb") as indices:
        while some := list(islice(texts, DOCUMENTS)):
            block = vectorizer.transform(some)
            data.write(block.data.astype(np.float32, copy=False).tobytes())
            indices.write(block.indices.astype(np.int64).tobytes())  # of one type with indptr, as SciPy requires
            indptr.frombytes((block.indptr[1:].astype(np.int64) + indptr[-1]).tobytes())
    if not indptr[-1]:
        raise ValueError("no text has a word of the vocabulary")
    data, indices = (np.memmap(path, dtype, "r") for path, dtype in zip(paths, (np.float32, np.int64), strict=True))
    indptr = np.frombuffer(indptr, dtype=np.int64)
    shape = len(indptr) - 1, len(vectorizer.get_feature_names_out())
    counts = sparse.csr_matrix((data, indices, indptr), shape=shape)
    counts.has_canonical_format = True
    return counts


def read_counts(path, kind, vocabulary):
    """Counts and words of a file: a bag of words in UCI format, or a matrix and its words."""
    if kind == "uci":
        corpus = load_bag_of_words(path, vocabulary)
        counts, words = corpus.data, corpus.feature_names
    else:
        counts, words = read_npz(path, vocabulary)
    try:
        counts = extend.read_counts(counts)  # before the fit, which reads held-out documents last
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return counts.astype(np.float32, copy=False), words


def read_npz(path, vocabulary):
    """Read a matrix saved by scipy.sparse.save_npz, with one document per row."""
    if vocabulary is None:
        raise ValueError(f"{path} has no words; give a file with one word per line with --vocabulary.")
    try:
        counts = blocks.from_npz(path)[0]
        if not sparse.issparse(counts):
            raise ValueError("it holds an array")
    except ValueError as error:
        raise ValueError(f"{path} is not a matrix saved by scipy.sparse.save_npz ({error}).") from error
    counts = sparse.csr_matrix(counts)
    words = read_vocabulary(vocabulary)
    if len(words) != counts.shape[1]:
        raise ValueError(f"{path} has {counts.shape[1]} columns, but {vocabulary} has {len(words)} words.")
    return counts, words
