"""Measurements of ``memory.py``, each in its own process."""

import pickle
import warnings
from pathlib import Path

import numpy as np
from _measure import peak_resident_bytes, resident_bytes, spent
from _topics_tasks import corpus
from scipy import sparse

import sparsemix
from sparsemix.datasets import make_sparse_lda

warnings.simplefilter("ignore")
# Tokens of a drawn document, the sum of the prior of its topics, and the prior of their words.
LENGTH, TOPICS_A_DOCUMENT, WORD_PRIOR = 60, 5.0, 0.01


def draw(path, n_samples, n_features, n_components):
    """Documents of known topics in a file."""
    X, _, _ = make_sparse_lda(
        n_samples, n_features, n_components, doc_length=LENGTH, topic_word_prior=WORD_PRIOR,
        doc_topic_prior=min(0.1, TOPICS_A_DOCUMENT / n_components), random_state=0,
    )  # fmt: skip
    return write(path, X)


def copy(path, data):
    """Documents of a UCI bag of words in a file that is read without further memory."""
    name, X = corpus(data)
    return write(path, X) | {"name": name}


def write(path, X):
    """Counts as float32, which fits read in place. They are not packed, so reading leaves nothing in memory."""
    X = sparse.csr_array(X).astype(np.float32)
    sparse.save_npz(path, X, compressed=False)
    return {"n_samples": X.shape[0], "n_features": X.shape[1], "n_entries": X.nnz, "n_tokens": int(X.sum())}


def fit(path, model, n_components):
    """Peak of resident memory of a fit with default settings, beyond imports and counts."""
    X = sparse.load_npz(path)
    before = resident_bytes()
    fitted, seconds = spent(lambda: sparsemix.SparseSCVB0LDA(n_components, random_state=0).fit(X))
    added = peak_resident_bytes() - before
    content = pickle.dumps(fitted, protocol=5)
    Path(model).write_bytes(content)
    return {"bytes": added, "seconds": seconds, "pickle": len(content), "epochs": fitted.n_iter_}


def transform(path, model):
    """The same of a process that reads the fitted model and transforms its documents; the result counts."""
    X = sparse.load_npz(path)
    before = resident_bytes()
    with Path(model).open("rb") as file:
        fitted = pickle.load(file)
    loaded = peak_resident_bytes() - before
    proportions, seconds = spent(lambda: fitted.transform(X))
    return {"bytes": peak_resident_bytes() - before, "seconds": seconds, "loaded": loaded, "result": proportions.nbytes}
