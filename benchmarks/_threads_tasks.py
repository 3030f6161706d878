"""Measurements of ``threads.py``, in a child process: fits with one thread and several in turn; critical paths."""

import hashlib
import heapq
import time
import warnings

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

import sparsemix
from sparsemix._rows.threads import Workers
from sparsemix.datasets import load_image_patches


def rows_of(name):
    """Rows for a mixture: patches of photographs, or rows of unit length."""
    if name == "SparseGaussianMixture":
        return load_image_patches(8, 4)[:33_390]
    x, _ = make_blobs(100_000, 64, centers=300, cluster_std=5.0, random_state=0)
    return normalize(x).astype(np.float32)


def fitted(X, name, n_components, max_iter, n_jobs):
    """A fit, and its seconds by the clock and of this thread."""
    given = {"max_iter": max_iter} if max_iter else {}
    model = getattr(sparsemix, name)(n_components, random_state=0, n_jobs=n_jobs, **given)
    if "tol" in model.get_params():
        model.set_params(tol=0.0)
    begun = time.perf_counter(), time.thread_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    return model, time.perf_counter() - begun[0], time.thread_time() - begun[1]


def load(path, name):
    """Documents, or rows for a mixture: the same for every measurement of an estimator."""
    from _topics_tasks import load as documents

    return documents(path, "train") if name.endswith("LDA") else rows_of(name)


def fits(folder, name, n_components, n_jobs, max_iter, rounds):
    """Seconds of whole fits with one thread and with ``n_jobs``, in turn: the least of the rounds."""
    X, seconds, digests = load(folder, name), {1: [], n_jobs: []}, set()
    for _ in range(rounds):
        for threads, kept in seconds.items():
            model, clock, _ = fitted(X, name, n_components, max_iter, threads)
            kept.append(clock)
            result = model.components_ if hasattr(model, "components_") else model.means_
            digests.add(hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest())
    return {"one": min(seconds[1]), "several": min(seconds[n_jobs]), "same": len(digests) == 1}


def paths(folder, name, n_components, max_iter, numbers):
    """Seconds that a fit takes in one thread, and the seconds of its critical path with each number of threads."""
    X, out = load(folder, name), {}
    for n in numbers:
        with OneByOne(n) as pieces:
            _, _, total = fitted(X, name, n_components, max_iter, n)
        out[n] = {"total": total, "path": total - pieces.saved, "alone": (total - pieces.shared) / total}
    return out


class OneByOne:
    """Replaces threads: runs the pieces that they would share out one after another, and notes how long each takes.

    ``saved`` are the seconds that ``n`` threads would save if each took the next piece as soon as it is free, and
    handing over took no time. The items of a compiled loop count as equal parts. ``shared`` are the seconds in pieces.
    """

    def __init__(self, n):
        self.n, self.saved, self.shared, self.depth = n, 0.0, 0.0, 0

    def __enter__(self):
        self.before = {name: getattr(Workers, name) for name in ("_begin", "map", "share")}
        this = self

        def begin(workers):
            """No threads, but as many shares."""

        def run(workers, function, spans):
            spans = list(spans)
            if len(spans) < 2:
                for span in spans:
                    function(*span)
                return
            ends = [0.0] * this.n
            for seconds in this.job_of(workers) + [this.seconds(function, *span) for span in spans]:
                heapq.heapreplace(ends, ends[0] + seconds)
            this.note(sum(ends), max(ends))

        def share(workers, kernel):
            job = sum(this.job_of(workers))
            both = job + this.seconds(kernel, None)
            this.note(both, max(job, both / this.n))

        Workers._begin, Workers.map, Workers.share = begin, run, share
        return self

    def __exit__(self, *exception):
        for name, function in self.before.items():
            setattr(Workers, name, function)

    def seconds(self, function, *arguments):
        """Seconds of a call; pieces inside of it are its own."""
        self.depth += 1
        begun = time.thread_time()
        try:
            function(*arguments)
        finally:
            self.depth -= 1
        return time.thread_time() - begun

    def job_of(self, workers):
        """Seconds of the job that a thread does meanwhile."""
        work, workers._job = workers._job, None
        return [] if work is None else [self.seconds(work.run)]

    def note(self, seconds, path):
        """Add shared work, unless it is inside of a piece."""
        if not self.depth:
            self.shared += seconds
            self.saved += seconds - path
