"""Measurements of ``scale.py``, each in its own process."""

import os
import pickle
import signal
import threading
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
from scipy import sparse

import sparsemix
from sparsemix import SparseGaussianMixture, blocks
from sparsemix._estimator import blockwise
from sparsemix._estimator.checkpoints import CheckpointFolder
from sparsemix.datasets import make_sparse_lda

warnings.simplefilter("ignore")
GAUSSIANS = "SparseGaussianMixture"


def prepare(folder, name, n_samples, n_features, blocks):
    """Documents of known topics, or rows of known Gaussians, in shards, and some to score."""
    if name == GAUSSIANS:
        rng = np.random.default_rng(0)
        means = 3.0 * rng.normal(size=(300, n_features))
        X = means[rng.integers(300, size=n_samples + 1000)]
        X = (X + rng.normal(size=X.shape)).astype(np.float32)
        np.save(Path(folder, "test"), X[n_samples:])
        np.save(Path(folder, "rows"), X[:n_samples])
        return {"tokens": n_samples * n_features, "bytes": X[:n_samples].nbytes}
    X, _, _ = make_sparse_lda(n_samples + 1000, n_features, 100, doc_length=80, random_state=0)
    sparse.save_npz(Path(folder, "test"), X[n_samples:].tocsr())
    for i, rows in enumerate(np.array_split(np.arange(n_samples), blocks)):
        sparse.save_npz(Path(folder, f"block{i:04d}"), X[rows].tocsr(), compressed=False)
    return {"tokens": int(X[:n_samples].sum()), "bytes": sum(path.stat().st_size for path in Path(folder).glob("b*"))}


def rows_of(folder, n_blocks):
    if Path(folder, "rows.npy").exists():
        X = np.load(Path(folder, "rows.npy"), mmap_mode="r")
        return blocks.from_arrays(X, rows=-(-len(X) // n_blocks))
    return blocks.from_npz(sorted(Path(folder).glob("block*.npz")))


def test_of(folder):
    """Rows to score."""
    if Path(folder, "rows.npy").exists():
        return np.load(Path(folder, "test.npy"))
    return sparse.csr_array(sparse.load_npz(Path(folder, "test.npz")))


def made(name, K, passes):
    if name == GAUSSIANS:
        return SparseGaussianMixture(
            K, max_iter=passes, tol=0.0, random_state=0, learning_method="batch", init_params="random_from_data"
        )
    start = {"tol": 0.0, "init_params": "bregman"} if name == "SparseLDA" else {}
    return getattr(sparsemix, name)(K, max_iter=passes, random_state=0, **start)


def anonymous():
    """Anonymous resident memory, bytes; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon")), 0)


class Peak:
    """The most anonymous memory while it is entered, sampled every 20 ms."""

    def __enter__(self):
        self.before = self.most = anonymous()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self):
        while not self._over.wait(0.02):
            self.most = max(self.most, anonymous())

    def __exit__(self, *exception):
        self._over.set()
        self._thread.join()

    @property
    def added(self):
        return self.most - self.before


def record(folder, est, fit):
    """Seconds and memory of a fit, its score and its bits."""
    with Peak() as peak:
        started, cpu = time.perf_counter(), time.process_time()
        fit(est)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    found = est.means_ if isinstance(est, SparseGaussianMixture) else est.components_
    bits = f"{zlib.crc32(np.ascontiguousarray(found)):08x}"
    return {"seconds": seconds, "cpu_seconds": cpu, "score": est.score(test_of(folder)), "checksum": bits,
            "anonymous": peak.added}  # fmt: skip


def plain(folder, name, K, passes, n_blocks):
    """``fit`` with all rows in memory."""
    parts = list(rows_of(folder, n_blocks))
    X = np.concatenate(parts) if name == GAUSSIANS else sparse.vstack(parts, format="csr")
    return record(folder, made(name, K, passes), lambda est: est.fit(X))


def here(folder, name, K, passes, n_blocks, steps, checkpoint=None):
    """Block after block in this process, with the seconds of its parts."""
    seen = {"visit": 0.0, "add": [], "size": 0, "save": []}
    original, add, saved = blockwise.Job.visit, blockwise.Tree.push, CheckpointFolder.save

    def visit(self, *arguments, **options):
        started = time.perf_counter()
        out = original(self, *arguments, **options)
        seen["visit"] += time.perf_counter() - started
        seen["size"] = max(seen["size"], len(pickle.dumps(out, protocol=5)) if seen["size"] == 0 else 0)
        return out

    def push(self, value):
        started = time.perf_counter()
        add(self, value)
        seen["add"].append(time.perf_counter() - started)

    def save(self, *arguments):
        started = time.perf_counter()
        saved(self, *arguments)
        seen["save"].append(time.perf_counter() - started)

    blockwise.Job.visit, blockwise.Tree.push, CheckpointFolder.save = visit, push, save
    est = made(name, K, passes)
    rows = rows_of(folder, n_blocks)
    out = record(folder, est, lambda est: blocks.fit(est, rows, steps=steps, checkpoint=checkpoint))
    stats = est._fitted.stats.copy()
    started = time.perf_counter()
    est._fitted.model.global_step(stats)
    out |= {"visit_seconds": seen["visit"] / passes, "sum_bytes": seen["size"], "add_seconds": max(seen["add"][-8:]),
            "step_seconds": time.perf_counter() - started}  # fmt: skip
    if checkpoint is not None:
        last = max(Path(checkpoint).iterdir())
        out["checkpoint_bytes"] = sum(path.stat().st_size for path in last.iterdir())
        out["checkpoint_seconds"] = sum(seen["save"]) / len(seen["save"])
    return out


def loopback():
    """Bytes that this machine has received from itself, of all processes; None where the system does not say."""
    try:
        lines = Path("/proc/net/dev").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split(":")[1].split()[0]) for line in lines if line.strip().startswith("lo:")), None)


class Wire:
    """Bytes on the wire from one step to the next; the loopback is the only wire here."""

    def __init__(self, executor, at_round=None):
        self.marks, self.sum_bytes, visits = [], 0, executor.visits

        def marked(this, *arguments):
            self.marks.append(loopback() or 0)
            if at_round is not None and len(self.marks) == at_round[0]:
                at_round[1]()
            total = visits(this, *arguments)
            self.sum_bytes = self.sum_bytes or len(pickle.dumps(total, protocol=5))
            return total

        executor.visits = marked

    def figures(self, before, n_workers):
        """Figures of a fit since a count of bytes. The median leaves out rounds that send complete states."""
        if before is None:
            return {"sum_bytes": self.sum_bytes} | dict.fromkeys(["wire_bytes", "wire_round_bytes", "wire_sums"])
        moved = float(np.median(np.diff(self.marks)))
        return {"sum_bytes": self.sum_bytes, "wire_bytes": loopback() - before, "wire_round_bytes": moved,
                "wire_sums": moved / self.sum_bytes / n_workers}  # fmt: skip


def cluster(folder, name, K, passes, n_blocks, steps, n_workers, kill=False):
    """The workers of a local cluster, one thread each; ``kill`` ends one of them in the middle."""
    import dask
    from distributed import Client, LocalCluster

    from sparsemix.blocks import _cluster as executor

    dask.config.set({"distributed.scheduler.allowed-failures": 10})
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=60, scheduler_port=0
        ) as some,
        Client(some) as client,
    ):
        client.run(lambda: __import__("sparsemix"))

        def end_one():
            victim = next(iter(some.workers.values())).process.pid
            threading.Timer(0.02, os.kill, (victim, signal.SIGKILL)).start()

        wire = Wire(executor.DaskExecutor, (passes * steps // 2, end_one) if kill else None)
        est, before = made(name, K, passes), loopback()
        out = record(folder, est, lambda est: blocks.fit(est, rows_of(folder, n_blocks), steps=steps, client=client))
        return out | wire.figures(before, n_workers) | {"n_workers": n_workers, "killed": kill}
