"""Measurements of ``threads.py``, in a child process: fits with one thread and several in turn, and the machine."""

import hashlib
import time
import warnings

import numpy as np
from _clock import observe
from _mixture_tasks import timed
from _topics_ours import estimator
from _topics_tasks import load
from sklearn.exceptions import ConvergenceWarning

from sparsemix._engine.threads import Workers
from sparsemix._models.topics import gibbs_sampler
from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel
from sparsemix._stats.packed_counts import PackedCounts

# Numbers of each of the three arrays of the triad, which no cache holds; and how often it is done.
TRIAD, ROUNDS = 1 << 25, 5
# Numbers of threads that a model of the time is made for.
MODELS = (2, 8, 16)


def fits(folder, path, n_components, n_jobs, max_iter, rounds):
    """Seconds of fits and of their epochs with one thread and with ``n_jobs``, in turn, and what explains them."""
    X = load(folder, "train")
    alone, moved, spent = Alone(), Moved(), {"visits": 0.0}
    StochasticCollapsedModel.local_step = timed(StochasticCollapsedModel.local_step, "visits", spent)
    kept = {1: [], n_jobs: []}
    digests, visits = set(), 0.0
    for number in range(rounds):
        for threads in kept:
            epochs = Laps(alone)
            wishes = {"n_components": n_components, "n_jobs": threads, "tol": 0.0, "random_state": 0}
            given = {"max_iter": max_iter} if max_iter else {}
            model = estimator(path, wishes | given, given)
            moved.counts = threads == 1 and number == 0
            spent["visits"], begun = 0.0, epochs.now()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.set_callbacks(observe(epochs)).fit(X)
            kept[threads].append(np.diff([begun, *epochs.kept, epochs.now()], axis=0))
            if threads == 1:
                visits = spent["visits"]
            digests.add(hashlib.sha256(np.ascontiguousarray(model.components_).tobytes()).hexdigest())
    one, several = (np.median(kept[threads], axis=0) for threads in kept)
    n_passes = len(one) - 2
    tokens = float(X.sum()) * n_passes
    return {
        "n_passes": n_passes,
        "one": np.median(one[1:-1, 0]), "several": np.median(several[1:-1, 0]),
        "fit_one": one[:, 0].sum(), "fit_several": several[:, 0].sum(),
        "alone": several[1:-1, 1].sum() / one[1:-1, 0].sum(),
        "visits": visits / one[:, 0].sum(),
        "bytes_token": moved.bytes / tokens if moved.bytes else None,
        "even": {str(n): moved.even(n) for n in MODELS} if moved.bytes else None,
        "same": len(digests) == 1,
    }  # fmt: skip


class Alone:
    """Seconds of the calling thread outside of what threads share out, as far as there are threads."""

    def __init__(self):
        self.shared, shared_out, this = 0.0, Workers.map, self

        def shares(workers, function, spans):
            spans = list(spans)
            if not workers._helpers or len(spans) < 2:
                return shared_out(workers, function, spans)
            begun = time.thread_time()
            try:
                return shared_out(workers, function, spans)
            finally:
                this.shared += time.thread_time() - begun

        Workers.map = shares

    def now(self):
        return time.thread_time() - self.shared


class Laps:
    """Replaces a clock: wall seconds, and seconds alone, before the first epoch and after each."""

    def __init__(self, alone):
        self.alone, self.kept = alone, []

    def now(self):
        return time.perf_counter(), self.alone.now()

    def epoch(self, passes, topics=None):  # noqa: ARG002
        """Note the time; never ask to stop."""
        self.kept.append(self.now())
        return False


class Moved:
    """Bytes that steps read and write beyond a thread's own memory, counted; how evenly documents can be shared out.

    The counts of a step's words are read for the fixed parts, and read and written for the sums. An entry reads a
    count for each topic of its document, and leaves as many numbers, which the sums read.
    """

    def __init__(self):
        self.counts, self.bytes = False, 0.0
        self.work, self.longest = 0.0, dict.fromkeys(MODELS, 0.0)
        made, this = gibbs_sampler.SplitSums.__init__, self

        def noted(sums, sampler, model, x, resp, weights, workers):
            made(sums, sampler, model, x, resp, weights, workers)
            if this.counts:
                this.add(sums, x, resp)

        gibbs_sampler.SplitSums.__init__ = noted

    def add(self, sums, x, resp):
        size, nnz, table = np.dtype(sums.dtype).itemsize, len(x.indices), sums.table
        rows = len(sums.words) * table.shape[1] * size
        if isinstance(table, PackedCounts):
            rows = table.lengths(sums.words).sum() * size + len(sums.words) * table.heads.shape[1] * 8
        self.bytes += 3.0 * rows + 3.0 * size * resp.records[:nnz, 2].sum()
        entries = np.sort(np.diff(x.indptr))[::-1]
        self.work += entries.sum()
        for n in MODELS:
            ends = np.zeros(n)
            for length in entries:
                ends[ends.argmin()] += length
            self.longest[n] += ends.max()

    def even(self, n):
        """The share of time that n threads are busy while they visit documents."""
        return self.work / (n * self.longest[n])


def triad(threads):
    """Bytes a second of c = a + b, read and written, by this number of threads.

    That is the triad of the STREAM benchmark less its factor, for which NumPy has no loop.
    """
    a, b, out = (np.full(TRIAD, 1.0, dtype=np.float32) for _ in range(3))

    def share(first, last):
        np.add(a[first:last], b[first:last], out=out[first:last])

    best = np.inf
    with Workers(threads) as workers:
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            workers.split(share, TRIAD)
            best = min(best, time.perf_counter() - begun)
    return 3 * 4 * TRIAD / best
