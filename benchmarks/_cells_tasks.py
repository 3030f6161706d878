"""Measurements of topics of cells by regions, each function in its own child process.

``folder`` holds the cells and the topics that they were made from.
"""

from pathlib import Path

import numpy as np
from _topics_tasks import follow, load, save
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from sparsemix._engine.inference import infer_doc_topic
from sparsemix.datasets import make_cells
from sparsemix.metrics import document_completion


def prepare(n_cells, n_regions, regions_per_cell, n_test, n_components, folder):
    """Cells from known topics, the last of them held out; what they are."""
    prior = min(0.1, 5.0 / n_components)
    X, topics, cell_topic = make_cells(
        n_cells + n_test, n_regions, n_components, regions_per_cell=regions_per_cell, doc_topic_prior=prior,
        random_state=0,
    )  # fmt: skip
    X = sparse.csr_matrix(X, dtype=np.float32)
    save(folder, "train", X[:n_cells])
    save(folder, "test", X[n_cells:])
    np.save(Path(folder, "topics.npy"), topics.astype(np.float32))
    np.save(Path(folder, "cell_topic.npy"), cell_topic[n_cells:])
    return {"n_entries": int(X[:n_cells].nnz)}


def curve(folder, contestant, setting, seconds, of_processor):
    """Score and recovery of the topics against epochs and seconds of one contestant."""
    train, test = load(folder, "train"), load(folder, "test")
    known, cell_topic = np.load(Path(folder, "topics.npy")), np.load(Path(folder, "cell_topic.npy"))
    prior = setting["doc_topic_prior"]
    return follow(train, lambda topics: judge(topics, test, known, cell_topic, prior), contestant, setting, seconds,
                  of_processor)  # fmt: skip


def judge(topics, test, known, cell_topic, prior):
    """Held-out score; mean correlation of learned and known shares over held-out cells, each topic with its match; mean
    total variation between matched topics, of which half is what all cells share.
    """
    topics = np.asarray(topics, dtype=np.float32) + np.finfo(np.float32).tiny
    topics /= topics.sum(axis=1, keepdims=True)
    shares = infer_doc_topic(
        sparse.csr_array(test), np.ascontiguousarray(topics.T), np.full(len(topics), prior), linear=True
    )  # fmt: skip
    alike, rows, columns = matched(shares, cell_topic)
    apart = [0.5 * np.abs(topics[i] - known[j]).sum(dtype=np.float64) for i, j in zip(rows, columns, strict=True)]
    nats = document_completion(topics, test, doc_topic_prior=prior, test_fraction=0.2, split="type", random_state=0)
    return nats, float(alike[rows, columns].mean()), float(np.mean(apart))


def matched(shares, known):
    """Correlations of learned and known shares of topics, and the rows and columns of the best match."""
    n = known.shape[1]
    alike = np.nan_to_num(np.corrcoef(shares.T, known.T)[:n, n:])
    return alike, *linear_sum_assignment(-alike)
