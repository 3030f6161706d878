"""The tasks of ``compare.py --speed`` that need neither a peer nor a corpus run, on less data."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import _speed_tasks


def test_small_tables(monkeypatch):
    monkeypatch.setattr(_speed_tasks, "SEEDS", 1)
    monkeypatch.setattr(_speed_tasks, "small_tables", lambda: [(np.random.default_rng(0).standard_normal((50, 2)), 2)])
    found = _speed_tasks.small("diag")
    assert found["ratio"] == found["worst"] == pytest.approx(found["seconds"] / found["peer"])


@pytest.mark.parametrize("task", ["topics", "tables"])
def test_documents(task, monkeypatch):
    counts = sparse.csr_matrix(np.random.default_rng(0).poisson(0.5, size=(100, 30)).astype(np.float32))
    monkeypatch.setattr(_speed_tasks, "SEEDS", 1)
    monkeypatch.setattr(_speed_tasks, "corpus", lambda path: (path, counts))
    assert getattr(_speed_tasks, task)(path=None, n_components=2)["seconds"] > 0.0
