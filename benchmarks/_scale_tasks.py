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
from sparsemix import blocks
from sparsemix._estimator import blockwise
from sparsemix._estimator.checkpoints import CheckpointFolder
from sparsemix.datasets import make_sparse_lda

warnings.simplefilter("ignore")


def prepare(folder, n_samples, n_features, blocks):
    """Documents of known topics in shards, and some to score."""
    X, _, _ = make_sparse_lda(n_samples + 1000, n_features, 100, doc_length=80, random_state=0)
    sparse.save_npz(Path(folder, "test"), X[n_samples:].tocsr())
    for i, rows in enumerate(np.array_split(np.arange(n_samples), blocks)):
        sparse.save_npz(Path(folder, f"block{i:04d}"), X[rows].tocsr(), compressed=False)
    return {"tokens": int(X[:n_samples].sum()), "bytes": sum(path.stat().st_size for path in Path(folder).glob("b*"))}


def rows_of(folder):
    return blocks.from_npz(sorted(Path(folder).glob("block*.npz")))


def made(name, K, passes):
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
    test = sparse.csr_array(sparse.load_npz(Path(folder, "test.npz")))
    bits = f"{zlib.crc32(np.ascontiguousarray(est.components_)):08x}"
    return {"seconds": seconds, "cpu_seconds": cpu, "score": est.score(test), "checksum": bits,
            "anonymous": peak.added}  # fmt: skip


def plain(folder, name, K, passes):
    """``fit`` with all rows in memory."""
    X = sparse.vstack(list(rows_of(folder)), format="csr")
    return record(folder, made(name, K, passes), lambda est: est.fit(X))


def here(folder, name, K, passes, steps, checkpoint=None):
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
    out = record(folder, est, lambda est: blocks.fit(est, rows_of(folder), steps=steps, checkpoint=checkpoint))
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


def cluster(folder, name, K, passes, steps, n_workers, kill=False):
    """The workers of a local cluster, one thread each; ``kill`` ends one of them in the middle."""
    import dask
    from distributed import Client, LocalCluster

    from sparsemix.blocks import _cluster as executor

    sent = []
    original = executor.Frozen.__init__

    def init(self, value):
        original(self, value)
        sent.append(len(self._bytes))

    executor.Frozen.__init__ = init
    dask.config.set({"distributed.scheduler.allowed-failures": 10})
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=60) as some,
        Client(some) as client,
    ):
        client.run(lambda: __import__("sparsemix"))
        if kill:
            victim, visits, visited = next(iter(some.workers.values())).process.pid, executor.DaskExecutor.visits, []

            def dying(self, *arguments):
                visited.append(1)
                if len(visited) == passes * steps // 2:
                    threading.Timer(0.02, os.kill, (victim, signal.SIGKILL)).start()
                return visits(self, *arguments)

            executor.DaskExecutor.visits = dying
        est = made(name, K, passes)
        out = record(folder, est, lambda est: blocks.fit(est, rows_of(folder), steps=steps, client=client))
    return out | {"n_workers": n_workers, "killed": kill, "round_bytes": sum(sent) / (passes * steps)}
