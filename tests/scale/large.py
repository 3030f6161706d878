"""Fits over files ten times as large as the memory that they may take: ``make large``, which takes minutes.

A process fits a file in blocks while a thread looks at its anonymous memory, pages of mapped files excluded. What the
fit adds stays below the formula of the manual ("Memory" in ``doc/user_guide/scale.rst``); the file has ten times that.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import sparsemix

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads Linux' account of memory")
SECONDS = 500
CHUNK = 32 << 20  # responsibilities and sums of a chunk
PROGRAM = """
import sys, threading
from pathlib import Path
import numpy as np
from scipy import sparse
from sparsemix import SparseGaussianMixture, SparseLDA, SparseSCVB0LDA, blocks

def anonymous():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon"))

def watch():
    global most
    while not over.wait(0.005):
        most = max(most, anonymous())

folder, estimator, rows = sys.argv[1:]
est = eval(estimator)
files = sorted(Path(folder).iterdir())
if files[0].suffix == ".npy":
    data = blocks.from_arrays(np.load(files[0], mmap_mode="r"), rows=int(rows))
    few = [np.array(data[0][:2000])]
else:
    data = blocks.from_npz(files)
    few = [data[0][:200]]
blocks.fit(eval(estimator), few)  # code and pools that are loaded once
most, over, before = 0, threading.Event(), anonymous()
threading.Thread(target=watch).start()
try:
    blocks.fit(est, data)
finally:
    over.set()
print("ADDED", max(most, anonymous()) - before, est.n_samples_seen_)
"""


def added(folder, estimator, rows=0):
    """Bytes that a fit adds, and the rows that it has seen."""
    path = os.path.dirname(os.path.dirname(sparsemix.__file__))
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(folder), estimator, str(rows)],
        env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=True,
    ).stdout  # fmt: skip
    return tuple(map(int, out.split()[-2:]))


MIXTURES = [
    "SparseGaussianMixture(8, covariance_type='diag', n_nonzero=2, max_iter=2, tol=0, random_state=0)",
    "SparseGaussianMixture(8, n_nonzero=2, learning_method='online', max_iter=1, random_state=0)",
]


@pytest.mark.parametrize("estimator", MIXTURES)
def test_a_mixture_of_a_mapped_file(tmp_path, estimator):
    """K = 8, D = 64: the model and ten memos of 2 K D numbers, or of K D (D + 1) / 2, and chunks; a block is a view."""
    d, step = 64, 20_000
    tables = 8 * 8 * d * (d + 3) // 2 if "online" in estimator else 8 * 2 * 8 * d * 12
    formula = CHUNK + 3 * tables + 8 * 1000 * d + 2 * 4 * step * d
    n = 10 * formula // (4 * d) // step * step + step
    rows = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float32, shape=(n, d))
    some = np.random.default_rng(0).standard_normal((step, d), dtype=np.float32)
    some += 3.0 * np.random.default_rng(1).integers(0, 8, (step, 1))
    for start in range(0, n, step):
        rows[start : start + step] = some
    rows.flush()
    del rows
    used, n_seen = added(tmp_path, estimator, step)
    assert n_seen == n
    assert os.path.getsize(tmp_path / "x.npy") >= 10 * formula
    print(f"{estimator}: {used / 1e6:.0f} of {formula / 1e6:.0f} MB, file {4 * n * d / 1e6:.0f} MB")
    assert used < formula


# What is remembered of a document: two or three topics in 6 bytes each; or of each token, which no file is ten times as
# large as.
TOPICS = [
    ("SparseLDA(20, n_nonzero=4, max_iter=2, tol=0.0, init_params='bregman', random_state=0)", 6 * 5, 130_000),
    ("SparseSCVB0LDA(20, max_iter=2, random_state=0)", 2 * 600, 40_000),
]


@pytest.mark.parametrize(("estimator", "remembered", "n"), TOPICS)
def test_topics_of_shards(tmp_path, estimator, remembered, n):
    """K = 20, V = 5000: the model twice, memos of ten steps, two shards, what is remembered of documents, chunks."""
    v, length, step = 5000, 600, 1000
    rng = np.random.default_rng(0)
    for i in range(n // step):
        topics = rng.integers(20, size=(step, 2))
        words = (topics[:, np.arange(length) % 2] * 250 + np.arange(length)) % v  # even ones, odd ones
        X = sparse.csr_array(
            (np.ones(words.size, dtype=np.float32), words.ravel().astype(np.int32), np.arange(step + 1) * length),
            shape=(step, v),
        )
        X.sort_indices()
        sparse.save_npz(tmp_path / f"{i:05d}", X, compressed=False)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    formula = CHUNK + 4 * 8 * v * 20 + 10 * 4 * v * 20 + 8 * length * (2 * step + 1000) + remembered * n
    used, n_seen = added(tmp_path, estimator)
    assert n_seen == n
    print(f"{estimator}: {used / 1e6:.0f} of {formula / 1e6:.0f} MB, files {size / 1e6:.0f} MB")
    assert used < formula
    assert size >= 10 * formula or "SCVB0" in estimator
