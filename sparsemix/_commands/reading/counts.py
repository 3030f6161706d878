"""Corpora of word counts: the UCI format, and sparse matrices with a vocabulary."""

import numpy as np
from scipy import sparse

from sparsemix._estimator.input.checks import check_magnitude
from sparsemix._estimator.input.forms import csr_of
from sparsemix.blocks._readers.files import DAMAGED
from sparsemix.datasets import load_bag_of_words
from sparsemix.datasets._bag_of_words import read_vocabulary


def read_counts(path, kind, vocabulary):
    """Counts and words of a file."""
    counts, words = READERS_OF_COUNTS[kind](path, vocabulary)
    try:
        check_magnitude(counts, None)  # before the fit, which reads held-out documents last
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return counts.astype(np.float32, copy=False), words


def read_uci(path, vocabulary):
    """Read a bag of words in UCI format."""
    corpus = load_bag_of_words(path, vocabulary)
    return corpus.data, corpus.feature_names


def read_npz(path, vocabulary):
    """Read a matrix saved by scipy.sparse.save_npz, with one document per row."""
    if vocabulary is None:
        raise ValueError(f"{path} has no words; give a file with one word per line with --vocabulary.")
    try:
        counts = sparse.csr_matrix(csr_of(sparse.load_npz(path), "the matrix"))
    except (FileNotFoundError, PermissionError):
        raise
    except DAMAGED as error:
        raise ValueError(f"{path} is not a matrix saved by scipy.sparse.save_npz ({error}).") from error
    if counts.dtype.kind not in "iuf" or not np.all(np.isfinite(counts.data)) or counts.data.min(initial=0) < 0:
        raise ValueError(f"{path} has entries that are not counts; they must be finite and not negative.")
    words = read_vocabulary(vocabulary)
    if len(words) != counts.shape[1]:
        raise ValueError(f"{path} has {counts.shape[1]} columns, but {vocabulary} has {len(words)} words.")
    return counts, words


READERS_OF_COUNTS = {"uci": read_uci, "npz": read_npz}
