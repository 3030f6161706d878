"""Terms of the time of a round over blocks, each measured alone: tasks of ``scale_model.py``."""

import pickle
import time

import numpy as np
from _scale_tasks import GAUSSIANS, cpu_of_all, made, rows_of

import sparsemix  # noqa: F401  (compiled kernels, before seconds count)
from sparsemix import blocks
from sparsemix._estimator import blockwise

REPEATS = 5


def least(function, repeats=REPEATS):
    """The least CPU seconds of some calls: other work on the machine only adds to them."""
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        function()
        seconds.append(time.process_time() - started)
    return min(seconds)


def of_fit(folder, name, K, n_blocks, steps):
    """Seconds a row, of pickling, adding and a step; bytes of the sums; spread of the seconds of visits."""
    visits, first, original = [], [], blockwise.Job.visit

    def visit(self, unit, *arguments, **options):
        started = time.process_time()
        out = original(self, unit, *arguments, **options)
        visits.append((time.process_time() - started) / (unit[2] - unit[1]))
        if not first:
            first.append(pickle.dumps(out, protocol=5))
        return out

    blockwise.Job.visit = visit
    est = blocks.fit(made(name, K, 4), rows_of(folder, n_blocks), steps=steps)
    per_row = np.array(visits[len(visits) // 2 :])  # without the first epochs, in which topics become sparse
    one, other, stats = pickle.loads(first[0]), pickle.loads(first[0]), est._fitted.stats.copy()
    model = est._fitted.model
    return {
        "row": float(per_row.min()), "spread": float(np.log(per_row).std()), "sum_bytes": len(first[0]),
        "freeze": least(lambda: pickle.dumps(other, protocol=5)), "thaw": least(lambda: pickle.loads(first[0])),
        "add": least(lambda: one.add(other)), "step": least(lambda: model.global_step(stats)),
        "gaussians": name == GAUSSIANS,
    }  # fmt: skip


def of_tasks():
    """CPU seconds, of all processes, of a task of Dask and of a byte from a worker to the client; latency by clock."""
    from distributed import Client, LocalCluster

    def spent(function):
        before, started = cpu_of_all(), time.perf_counter()
        function()
        return cpu_of_all() - before, time.perf_counter() - started

    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", scheduler_port=0) as some,
        Client(some) as client,
    ):
        def tasks(n):
            client.gather([client.submit(len, (i,), pure=False) for i in range(n)])

        tasks(50)
        many = min(spent(lambda: tasks(200))[0] for _ in range(REPEATS))
        latency = min(spent(lambda: tasks(1))[1] for _ in range(4 * REPEATS))
        held = [client.submit(np.random.default_rng(i).bytes, 10_000_000) for i in range(10)]
        client.gather(held[:1])
        moved = min(spent(lambda: client.gather(held, direct=True))[0] for _ in range(REPEATS))
    return {"task": many / 200, "latency": latency, "byte": moved / 1e8}
