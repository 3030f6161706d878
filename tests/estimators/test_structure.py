"""Wrong indices of sparse matrices, statistics of other models, limits of threads: a clear error, nothing changed."""

import threading
from unittest import mock

import numpy as np
import pytest
from callers import at_once
from joblib import cpu_count
from scipy import sparse
from threadpoolctl import threadpool_info

from sparsemix import SparseGaussianMixture, SparseLDA, SparseSCVB0LDA
from sparsemix._estimator.input.forms import csr_of
from sparsemix._rows import threads
from sparsemix._rows.threads import Workers
from sparsemix.metrics import mixture_log_likelihood

V = 8
RNG = np.random.default_rng(0)
X = RNG.poisson(1.0, (20, V)) + np.eye(V, dtype=int)[np.arange(20) % V]


def corrupted(matrix, number, entry):
    """The matrix with one index out of its shape, as SciPy takes it."""
    matrix.indices[entry] = number
    return matrix


def test_the_row_and_the_number_are_named():
    with pytest.raises(ValueError, match=r"row 1 of X has the column number 9; .* 8 columns, .* from 0 to 7"):
        csr_of(corrupted(sparse.csr_array(X), 9, entry=sparse.csr_array(X).indptr[1]))
    with pytest.raises(ValueError, match="column 0 of X has the row number 20"):
        csr_of(corrupted(sparse.csc_array(X), 20, entry=0))


def test_notes_of_a_matrix_on_its_order_are_not_trusted():
    """Duplicates and unsorted entries in a matrix that says it has none give what the right matrix gives."""
    data, indices, indptr = [1.0, 2.0, 1.0, 3.0], [3, 0, 3, 1], [0, 3, 4]
    lying = sparse.csr_array((data, indices, indptr), shape=(2, 4))
    lying.has_sorted_indices = lying.has_canonical_format = True
    honest = sparse.csr_array(np.array([[2.0, 0, 0, 2.0], [0, 3.0, 0, 0]]))
    est = SparseLDA(2, max_iter=2, tol=0.0, random_state=0)
    np.testing.assert_array_equal(est.fit(lying).components_, est.fit(honest).components_)


def test_responsibilities_given_with_numbers_beyond_the_shape():
    given = sparse.csr_array(np.eye(3)[np.arange(12) % 3])
    given.indices = given.indices + 1
    rows = RNG.standard_normal((12, 2))
    with pytest.raises(ValueError, match=r"row 2 of init_params.*has the column number 3"):
        SparseGaussianMixture(3, init_params={"responsibilities": given}).fit(rows)


# -- statistics of other models


@pytest.mark.parametrize(
    ("make", "data"),
    [
        (lambda k: SparseLDA(k, random_state=0), X),
        (lambda k: SparseSCVB0LDA(k, random_state=0), X),
        (lambda k: SparseGaussianMixture(k, random_state=0), X.astype(float)),
    ],
    ids=["SparseLDA", "SparseSCVB0LDA", "SparseGaussianMixture"],
)
def test_statistics_of_another_model_are_refused(make, data):
    est, other = make(3).partial_fit(data), make(4).partial_fit(data)
    before = est.n_samples_seen_, est._fitted.stats["count"].copy()
    with pytest.raises(ValueError, match=r"of shape .* give statistics that"):
        est.update_from_stats(other.expected_stats(data))
    with pytest.raises(TypeError, match="stats is a dict"):
        est.update_from_stats({})
    assert est.n_samples_seen_ == before[0]
    np.testing.assert_array_equal(est._fitted.stats["count"], before[1])
    est.update_from_stats(est.expected_stats(data))  # its own pass


def test_no_rows_have_no_mean():
    with pytest.raises(ValueError, match="give at least one row"):
        mixture_log_likelihood(np.empty((0, 2)), np.ones(1), np.zeros((1, 2)), np.eye(2)[None])


# -- threads


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture
def several():
    """BLAS on two threads, whatever the machine has."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=2):
        if not any(n == 2 for n in blas_threads()):
            pytest.skip("no BLAS here has more than one thread")
        yield blas_threads()


def test_overlapping_fits_limit_blas_and_give_it_back(several):
    a, b = Workers(1), Workers(1)
    a.__enter__()
    b.__enter__()
    assert set(blas_threads()) == {1}
    a.__exit__(None, None, None)
    assert set(blas_threads()) == {1}  # b is still inside
    b.__exit__(None, None, None)
    assert blas_threads() == several


def openmp_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp"]


def test_overlapping_fits_limit_openmp_each_for_its_own_thread(several):  # noqa: ARG001
    """OpenMP limits each thread by itself: k-means of the second fit would not be limited by the first."""
    from threadpoolctl import threadpool_limits

    if not openmp_threads():
        pytest.skip("there is no OpenMP here")
    steps = threading.Barrier(2)

    def fit(first):
        with threadpool_limits(limits=3, user_api="openmp"):
            before, workers = openmp_threads(), Workers(1)
            if not first:
                steps.wait(60)
            workers.__enter__()
            if first:
                steps.wait(60)
            steps.wait(60)
            inside = openmp_threads()
            if not first:
                steps.wait(60)
            workers.__exit__(None, None, None)
            if first:
                steps.wait(60)
            return set(before), set(inside), set(openmp_threads())

    assert at_once(lambda: fit(True), lambda: fit(False)) == [({3}, {1}, {3})] * 2


def test_an_interrupt_while_threads_end_gives_blas_back(several):
    workers = Workers(2)
    workers.__enter__()
    ended = mock.Mock(**{"acquire.side_effect": KeyboardInterrupt})
    with mock.patch.object(workers._helpers[0], "ended", ended), pytest.raises(KeyboardInterrupt):
        workers.__exit__(None, None, None)
    assert blas_threads() == several


def test_many_threads_are_bounded():
    with Workers(1_000_000) as workers:
        assert workers.n_jobs == min(max(threads.FEW_THREADS, cpu_count()), threads.MOST_THREADS)
        seen = []
        workers.split(lambda a, b: seen.append((a, b)), 10)
    assert sorted(seen) == [(i, i + 1) for i in range(10)]
    assert threading.active_count() < threads.MOST_THREADS


def sums_of(workers):
    out = np.zeros(10)
    workers.map(lambda a, b: out.__setitem__(slice(a, b), b), [(i, i + 1) for i in range(10)])
    return out


@pytest.mark.parametrize("started", [0, 2])
def test_fewer_threads_do_the_same(started, several, monkeypatch):
    """The system refuses a thread: those that there are do all the work."""
    begin, asked = threads.start_new_thread, []

    def start_some(*arguments):
        asked.append(arguments)
        if len(asked) > started:
            raise RuntimeError("can't start new thread")
        return begin(*arguments)

    monkeypatch.setattr(threads, "start_new_thread", start_some)
    with Workers(5) as workers:
        assert workers.n_jobs == 1 + started
        np.testing.assert_array_equal(sums_of(workers), np.arange(1.0, 11.0))
    assert blas_threads() == several


def test_a_thread_that_never_begins_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(threads, "SECONDS_TO_START", 0.01)
    monkeypatch.setattr(threads, "start_new_thread", mock.Mock())
    with Workers(3) as workers:
        assert workers.n_jobs == 1
        np.testing.assert_array_equal(sums_of(workers), np.arange(1.0, 11.0))


def test_ctrl_c_while_threads_begin_gives_blas_back(several, monkeypatch):
    monkeypatch.setattr(threads, "start_new_thread", mock.Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        Workers(3).__enter__()
    assert blas_threads() == several


def test_a_thread_without_memory_for_its_error_is_an_error():
    class NoRoom(dict):
        def __setitem__(self, name, value):
            raise MemoryError

    fail = mock.Mock(side_effect=ValueError("of a span"))
    work = threads.Work([(fail, 0, 1), (fail, 1, 2)])
    work.errors = NoRoom()
    with mock.patch.object(threads, "Work", return_value=work), Workers(2) as workers, pytest.raises(MemoryError):
        workers.map(fail, [(0, 1), (1, 2)])
