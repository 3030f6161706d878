"""Data in blocks, and threads."""

import numpy as np
import pytest

from sparsemix._models.mixture.model import Groups
from sparsemix._rows import blocks, threads
from sparsemix._rows.blocks import Rows

N, D = 57, 3


def matrix(order="C", dtype=np.float64):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, D)).astype(dtype)
    if order == "strided":
        wide = np.zeros((2 * N, 2 * D), dtype=dtype)
        wide[::2, ::2] = x
        return wide[::2, ::2]
    return np.asarray(x, order=order)


# -- bounds of blocks


@pytest.mark.parametrize("n", [0, 1, 9, 10, 11, 100])
@pytest.mark.parametrize("size", [1, 3, 10, 1000])
def test_spans_cover_everything_once(n, size):
    spans = list(blocks.spans(n, size))
    assert [i for start, stop in spans for i in range(start, stop)] == list(range(n))
    assert all(0 < stop - start <= size for start, stop in spans)


@pytest.mark.parametrize("n_shares", [1, 2, 3, 4, 7, 64])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 128, 200, 6400, 6401])
def test_shares_cover_everything_once_in_whole_tiles(n, n_shares):
    shares = blocks.shares(n, 64, n_shares)
    assert [i for start, stop in shares for i in range(start, stop)] == list(range(n))
    assert len(shares) <= n_shares
    assert all(start % 64 == 0 for start, _ in shares)
    tiles = [-(-(stop - start) // 64) for start, stop in shares]
    assert max(tiles, default=0) - (n // 64) / n_shares <= 1  # shared out evenly


@pytest.mark.parametrize("n_components", [1, 2, 100, 512, 1000, 4096, 10**5, 10**7])
def test_chunks_are_whole_tiles(n_components):
    tile = blocks.tile_size(n_components)
    assert tile % 64 == 0
    assert 64 <= tile <= 512
    for n_nonzero, n_features in [(1, 1), (4, 64), (1000, 10**5)]:
        size = blocks.Rows(np.empty((1, n_features))).chunk_size(n_components, n_nonzero)
        assert size % tile == 0
        assert size >= tile
        assert size == tile or size * (12 * n_nonzero + 8 * n_features) <= blocks.CHUNK_BYTES


@pytest.mark.parametrize("selection", [slice(5, 40), np.array([3, 4, 9, 30, 31, 56])])
def test_parts_of_a_selection(selection):
    chosen = np.arange(N)[selection]
    assert blocks.length(selection) == len(chosen)
    np.testing.assert_array_equal(np.arange(N)[blocks.part(selection, 2, 5)], chosen[2:5])


@pytest.mark.parametrize("n_shares", [1, 2, 3, 10, 40])
@pytest.mark.parametrize("counts", [[0, 0, 0], [5], [0, 100, 0, 1, 0], [3] * 12, [50, 0, 0, 0, 50]])
def test_components_are_shared_out_once(counts, n_shares):
    groups = Groups(np.concatenate([[0], np.cumsum(counts)]), None, None)
    shares = groups.shares(n_shares)
    assert [k for first, last in shares for k in range(first, last)] == list(range(len(counts)))
    assert len(shares) <= n_shares


# -- rows


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("read_as", [None, np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [None, np.array([1.0, -2.0, 100.0])])
@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize("selection", [slice(5, 40), slice(0, N), np.array([0, 3, 4, 9, 30, 31, 56])])
def test_rows_are_read_less_the_shift(selection, order, shift, dtype, read_as, read_only):
    x = matrix(order, dtype)
    before = x.copy()
    if read_only:
        x.flags.writeable = False
    rows = Rows(x, shift=shift, dtype=read_as)
    expected = before[selection].astype(rows.dtype) - (0 if shift is None else shift)
    found = rows.read(selection)
    assert found.flags.c_contiguous
    assert found.dtype == (dtype if read_as is None else read_as)
    rtol = np.finfo(np.float32).eps * 4 if np.float32 in (dtype, read_as) else 1e-15
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=0)
    buffer = rows.buffer(selection)
    parts = [rows.load(selection, start, stop, buffer) for start, stop in blocks.spans(len(expected), 4)]
    np.testing.assert_array_equal(np.concatenate(parts), found)
    assert all(np.shares_memory(part, buffer) for part in parts)
    np.testing.assert_array_equal(x, before)


def test_contiguous_rows_are_not_copied():
    x = matrix()
    assert np.shares_memory(Rows(x).read(slice(3, 20)), x)
    for other in (Rows(x, shift=np.zeros(D)), Rows(x, dtype=np.float32), Rows(matrix("F"))):
        assert not np.shares_memory(other.read(slice(3, 20)), other.X)
    assert not np.shares_memory(Rows(x).read(np.arange(3, 20)), x)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mean_and_mass(dtype, weighted, monkeypatch):
    monkeypatch.setattr(blocks, "CHUNK_BYTES", 8 * D * 10)  # six blocks
    x = matrix("F", dtype) + dtype(50)
    weight = np.random.default_rng(1).uniform(size=N) if weighted else None
    rows = Rows(x, weight)
    expected = np.average(x.astype(np.float64), axis=0, weights=weight)
    assert rows.mean().dtype == np.float64
    np.testing.assert_allclose(rows.mean(), expected, rtol=1e-14)
    np.testing.assert_allclose(rows.mass, weight.sum() if weighted else N, rtol=1e-15)
    assert len(rows) == N


def test_weights_of_a_selection():
    weight = np.arange(2.0 * N)[::2]
    chosen = np.array([1, 5, 6])
    assert Rows(matrix()).weight(chosen) is None
    np.testing.assert_array_equal(Rows(matrix(), weight).weight(chosen), weight[chosen])
    assert Rows(matrix(), weight).weight(slice(0, 9)).flags.c_contiguous


# -- threads


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_workers_call_every_span_once(n_jobs):
    done = np.zeros(100, dtype=int)

    def mark(start, stop):
        done[start:stop] += 1

    with threads.Workers(n_jobs) as workers:
        assert workers.n_jobs == n_jobs
        workers.map(mark, blocks.spans(100, 7))
        workers.map(mark, [(0, 100)])
        workers.map(mark, [])
    assert (done == 2).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_in_threads_reach_the_caller(n_jobs):
    def fail(start, stop):  # noqa: ARG001
        raise ValueError(f"rows from {start}")

    with threads.Workers(n_jobs) as workers, pytest.raises(ValueError, match="rows from 0"):
        workers.map(fail, [(0, 1), (0, 2)])


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_of_several_errors_the_first_span_has_its_own_raised(n_jobs):
    """The error is that of a run without threads, and the same workers can run again."""
    done = []

    def fail(start, stop):  # noqa: ARG001
        if start % 3 == 2:
            raise ValueError(f"rows from {start}")
        done.append(start)

    with threads.Workers(n_jobs) as workers:
        for _ in range(20):
            with pytest.raises(ValueError, match="rows from 2"):
                workers.map(fail, [(i, i + 1) for i in range(9)])
        done.clear()
        workers.map(fail, [(0, 1), (1, 2), (3, 4)])
        assert sorted(done) == [0, 1, 3]


def blas_threads():
    return {library["num_threads"] for library in threads._controller().select(user_api="blas").info()}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blas_has_one_thread_within_a_fit_and_its_own_after(n_jobs):
    before = blas_threads()
    with threads.Workers(n_jobs):
        assert blas_threads() == {1}
    assert blas_threads() == before
    with pytest.raises(KeyError), threads.Workers(n_jobs):
        raise KeyError
    assert blas_threads() == before


class Controller:
    """A machine with one OpenBLAS that takes the processor for something."""

    def __init__(self, architecture):
        self.architecture = architecture

    def select(self, internal_api):
        assert internal_api == "openblas"
        return self

    def info(self):
        return [{"architecture": self.architecture, "version": "0.3.21"}] if self.architecture else []


@pytest.mark.parametrize(
    ("architecture", "instruction_set", "slow"),
    [
        ("Haswell", "x86-64-v4", True),
        ("Zen", "x86-64-v4", True),
        ("Prescott", "x86-64-v4", True),
        ("SkylakeX", "x86-64-v4", False),
        (None, "x86-64-v4", False),
        ("Haswell", "x86-64-v3", False),
        ("Prescott", "baseline", False),
    ],
)
def test_blas_on_narrow_registers_is_named(architecture, instruction_set, slow, monkeypatch):
    monkeypatch.setattr(threads, "_controller", lambda: Controller(architecture))
    monkeypatch.setattr(threads._simd, "instruction_set", lambda: instruction_set)
    sentence = threads.slow_blas()
    if slow:
        assert f"OpenBLAS 0.3.21 treats this CPU as a {architecture}" in sentence
        assert "OPENBLAS_CORETYPE=SkylakeX" in sentence
    else:
        assert sentence is None
