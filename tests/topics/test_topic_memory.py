"""Resident memory of fits with many topics, in tables of counts by word and topic."""

import os
import subprocess
import sys

import pytest

FIT = """
import numpy as np
from scipy import sparse
from sparsemix import SparseSCVB0LDA
def resident(name):
    with open("/proc/self/status") as file:
        return max(int(line.split()[1]) << 10 for line in file if line.startswith(name))
rng = np.random.default_rng(0)
n_documents, n_words, n_components, length = 30_000, 20_000, 1000, 50
words = (n_words * rng.random(n_documents * length) ** 3).astype(np.int32)
X = sparse.csr_array(
    (np.ones(len(words), dtype=np.float32), words, length * np.arange(n_documents + 1)), shape=(n_documents, n_words)
)
X.sum_duplicates()
before = resident("VmRSS")
SparseSCVB0LDA(n_components, init_params="random", max_iter=2, random_state=0).fit(X)
print((resident("VmHWM") - before) / (4 * n_words * n_components))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads Linux' account of memory")
@pytest.mark.slow
def test_a_fit_has_less_than_three_tables():
    """The table, the memory of documents that all have many topics, and what a batch leaves until it is added."""
    process = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    assert 1.0 < float(process.stdout) < 2.9
