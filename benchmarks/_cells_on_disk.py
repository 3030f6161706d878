"""Topics of cells that lie on disk, for ``scale.py``: seconds, memory, and whether they are found."""

import warnings
from pathlib import Path

import numpy as np
from _cells_tasks import matched
from _scale_tasks import record, rows_of
from scipy import sparse
from sklearn.utils import check_random_state

from sparsemix import SparseSCVB0LDA, blocks
from sparsemix.datasets._cell_generators import cells_in_blocks

warnings.simplefilter("ignore")
# Cells that are not fitted, for scores, and those whose topics are compared with the known ones.
HELD_OUT, COMPARED = 1000, 2000
PRIOR = 0.1


def prepare(folder, n_samples, n_features, n_components, regions_per_cell):
    """Cells of known topics in shards, made block by block, and some to score."""
    n_all = n_samples + HELD_OUT
    _, cell_topic, made = cells_in_blocks(
        n_all, n_features, n_components, regions_per_cell, PRIOR, check_random_state(0)
    )
    np.save(Path(folder, "known"), cell_topic[: min(COMPARED, n_samples)])
    first, n_open = 0, 0
    for i, X in enumerate(made):
        rows = X[: max(0, n_samples - first)]
        if rows.shape[0]:
            sparse.save_npz(Path(folder, f"block{i:04d}"), rows, compressed=False)
        if first + X.shape[0] >= n_all:
            sparse.save_npz(Path(folder, "test"), X[-HELD_OUT:], compressed=False)
        first, n_open = first + X.shape[0], n_open + rows.nnz
    return {"tokens": int(n_open), "bytes": sum(path.stat().st_size for path in Path(folder).glob("block*"))}


def fit(folder, K, passes):
    rows, est = rows_of(folder), SparseSCVB0LDA(K, max_iter=passes, random_state=0)
    out = record(folder, est, lambda est: blocks.fit(est, rows))
    known = np.load(Path(folder, "known.npy"))
    cell_topic = np.concatenate([est.transform(rows[i]) for i in range(min(2, len(rows)))])[: len(known)]
    alike, *pairs = matched(cell_topic, known)
    return out | {"found": float(alike[tuple(pairs)].mean()), "passes": passes}
