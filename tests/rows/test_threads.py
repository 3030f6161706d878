"""Threads that share work, and what one of them does meanwhile."""

import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from sparsemix._kernels.threads._wake_signal import WakeSignal

from sparsemix._kernels.documents import _memory
from sparsemix._rows.blocks import same
from sparsemix._rows.documents import DocumentBlock, Documents
from sparsemix._rows.threads import Workers
from sparsemix._stats.word_rows import GROUPS, ByWord


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_every_span_and_the_parallel_job_run_once(n_jobs):
    done, jobs = [], []
    with Workers(n_jobs) as workers:
        for _ in range(20):
            with workers.meanwhile(lambda: jobs.append(len(done))):
                workers.map(lambda start, stop: done.append((start, stop)), [(i, i + 1) for i in range(7)])
            workers.map(lambda start, stop: done.append((start, stop)), [(7, 8), (8, 9)])
    assert sorted(done) == sorted([(i, i + 1) for i in range(9)] * 20)
    assert len(jobs) == 20


def test_no_piece_is_taken_twice():
    """Nor left out: without a global lock several threads take pieces in the same moment."""
    done = np.zeros(2000, dtype=np.int64)
    for _ in range(100):
        with Workers(4) as workers:
            workers.map(lambda start, stop: done.__setitem__(start, done[start] + 1), [(i, i + 1) for i in range(2000)])  # noqa: ARG005
    np.testing.assert_array_equal(done, 100)


def test_the_job_is_done_where_nothing_is_shared_out():
    jobs = []
    with Workers(2) as workers, workers.meanwhile(lambda: jobs.append(1)):
        workers.map(lambda start, stop: None, [(0, 1)])  # noqa: ARG005
        assert not jobs
    assert jobs == [1]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_of_the_job_are_raised_and_the_next_work_is_done(n_jobs):
    done = []

    def fail():
        raise ZeroDivisionError("of the job")

    with Workers(n_jobs) as workers:
        with pytest.raises(ZeroDivisionError, match="of the job"), workers.meanwhile(fail):
            workers.map(lambda start, stop: time.sleep(0.01), [(0, 1), (1, 2)])  # noqa: ARG005
        workers.map(lambda start, stop: done.append(start), [(0, 1), (1, 2)])  # noqa: ARG005
    assert sorted(done) == [0, 1]


class TimeLimitError(Exception):
    """What a handler of an alarm raises."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_an_exception_of_a_signal_handler_waits_for_threads():
    """Threads end before the exception is raised, since its handler may restore what they write."""
    done, main = [], threading.get_ident()

    def work(start, stop):  # noqa: ARG001
        if threading.get_ident() == main:  # not all
            time.sleep(0.05)
            return
        for _ in range(20):
            time.sleep(0.01)
            done.append(start)

    def handler(number, frame):  # noqa: ARG001
        raise TimeLimitError

    old = signal.signal(signal.SIGALRM, handler)
    try:
        with Workers(2) as workers:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(TimeLimitError):
                workers.map(work, [(0, 1), (1, 2)])
            assert len(done) % 20 == 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)


def test_threads_that_sleep_are_woken():
    """Threads poll for half a millisecond before they sleep."""
    done = []
    with Workers(3) as workers:
        for _ in range(3):
            time.sleep(0.02)
            workers.map(lambda start, stop: time.sleep(0.005 * start) or done.append(start), [(0, 1), (1, 2), (2, 3)])  # noqa: ARG005
    assert sorted(done) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_items_of_kernels_run_once_on_threads_that_spin_sleep_or_work(n_jobs):
    """Kernels share out rows; threads listen for half a millisecond before they sleep."""
    rows = np.random.default_rng(0).gamma(0.3, 1.0, (600, 70)).astype(np.float32)
    jobs, found = [], []
    with Workers(n_jobs) as workers:
        for number in range(60):
            lengths = np.full(len(rows), -1, dtype=np.int32)
            columns, values = np.empty(rows.size, dtype=np.uint16), np.empty(rows.size, dtype=np.float32)
            with workers.meanwhile(lambda: jobs.append(time.sleep(1e-4))):
                workers.share(lambda pool: _memory.keep_large(rows, 0.02, lengths, columns, values, pool))  # noqa: B023
                workers.map(lambda start, stop: time.sleep(1e-5), [(0, 1), (1, 2)])  # noqa: ARG005
            n = lengths.sum()
            found.append((lengths, columns[:n], values[:n]))
            time.sleep(0.003 * (number % 7 == 0))
    assert len(jobs) == 60
    kept = rows > 0.02 * rows.sum(axis=1, keepdims=True, dtype=np.float64)
    for lengths, columns, values in found:
        np.testing.assert_array_equal(lengths, kept.sum(axis=1))
        np.testing.assert_array_equal(columns, np.nonzero(kept)[1])
        np.testing.assert_array_equal(values, rows[kept])


def test_kernels_inside_of_shared_work_run_on_their_thread():
    """And those of two threads at once: one has the pool, the other works alone."""
    rows, sums = np.ones((400, 30), dtype=np.float32), np.zeros((8, 400), dtype=np.int32)

    def keep(start, stop):  # noqa: ARG001
        columns, values = np.empty(rows.size, dtype=np.uint16), np.empty(rows.size, dtype=np.float32)
        workers.share(lambda pool: _memory.keep_large(rows, 0.0, sums[start], columns, values, pool))

    with Workers(3) as workers:
        workers.map(keep, [(i, i + 1) for i in range(8)])
    np.testing.assert_array_equal(sums, 30)


def test_signals_arrive_at_once_or_time_out():
    signal = WakeSignal()
    assert signal.wait(0, 0.0)
    assert not signal.wait(1, 0.001)
    timer = threading.Timer(0.01, signal.notify)
    timer.start()
    assert signal.wait(1, 60.0)
    timer.join()
    assert signal.count == 1


@pytest.mark.parametrize("n_words", [1, 5, 40])
def test_groups_of_words_have_all_entries_once(n_words):
    rng = np.random.default_rng(n_words)
    indices = rng.integers(0, n_words, 300).astype(np.int32)
    by_word = ByWord.of(indices, n_words)
    np.testing.assert_array_equal(by_word.words, np.unique(indices))
    np.testing.assert_array_equal(by_word.entries, np.argsort(indices, kind="stable"))
    np.testing.assert_array_equal(np.diff(by_word.starts), np.bincount(indices, minlength=n_words))
    assert by_word.bounds[0] == 0
    assert by_word.bounds[-1] == len(by_word.words)
    assert len(by_word.bounds) == GROUPS + 1
    assert (np.diff(by_word.bounds) >= 0).all()
    empty = ByWord.of(indices[:0], n_words)
    assert not empty.bounds.any()
    assert not len(empty.words)


def test_documents_that_were_read_ahead_are_those_that_are_asked_for():
    X = sparse.csr_array(np.random.default_rng(0).poisson(0.5, (30, 12)))
    documents, first, second = Documents(X), np.array([1, 4, 7]), np.array([2, 3, 20])
    block = documents.buffer(first)
    assert len(block.by_word.words)
    assert list(block.longest_first) == sorted(range(3), key=lambda d: -np.diff(block.indptr)[d])
    documents.read_ahead(second)
    ahead = documents.buffer(second.copy())
    assert vars(ahead).keys() == vars(block).keys()  # what was made of the one is made of the other
    np.testing.assert_array_equal(ahead.counts, X[second].data)
    documents.read_ahead(second)
    np.testing.assert_array_equal(documents.buffer(first).counts, X[first].data)  # another one than expected
    documents.read_ahead(None)
    np.testing.assert_array_equal(documents.buffer(slice(0, 4)).counts, X[:4].data)


def test_selections_are_compared_by_their_rows():
    rows = np.array([3, 1])
    assert same(slice(0, 4), slice(0, 4))
    assert same(rows, rows.copy())
    assert not same(slice(0, 4), slice(0, 5))
    assert not same(slice(0, 2), np.arange(2))
    assert not same(rows, np.array([1, 3]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_descriptions_of_a_block_equal_those_of_numpy(dtype):
    rng = np.random.default_rng(1)
    counts = np.where(rng.random((50, 9)) < 0.4, rng.gamma(2.0, size=(50, 9)), 0.0)
    counts[[0, 7, 49]] = 0.0
    block = DocumentBlock.of(sparse.csr_array(counts), dtype)
    ends = np.concatenate([[0.0], np.cumsum(block.counts, dtype=np.float64)])[block.indptr]
    np.testing.assert_array_equal(block.lengths(), np.diff(ends))
    order = np.argsort(-np.diff(block.indptr), kind="stable")
    np.testing.assert_array_equal(block.longest_first, order)
    assert block.part(0, 0).longest_first.shape == block.part(0, 0).lengths().shape == (0,)
