"""Fits over a Dask cluster have the bits of one process, for any distribution of blocks and after workers die."""

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest
from fitted import assert_same_bits, few_epochs
from sklearn.base import clone
from test_fits_over_blocks import CASES, COUNTS, ROWS, cut, lda, mixture, rows_for, scvb0

from sparsemix import blocks

dask = pytest.importorskip("dask")
pytest.importorskip("dask.array")
dd = pytest.importorskip("distributed")

pytestmark = [few_epochs, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")]
HANGS = 1800  # seconds, a hundred times what the dearest of these tests takes


@pytest.fixture(autouse=True)
def end_of_a_hang():
    """A cluster that does not answer ends the test, and not the run."""
    def ended(*_):
        raise TimeoutError(f"no end after {HANGS} seconds")

    old = signal.signal(signal.SIGALRM, ended)
    signal.alarm(HANGS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


def cluster(n_workers, processes=False):
    settings = {"distributed.worker.daemon": True, "distributed.comm.timeouts.connect": "10s",
                "distributed.scheduler.allowed-failures": 10}  # fmt: skip
    with dask.config.set(settings):
        return dd.LocalCluster(
            n_workers=n_workers, threads_per_worker=2, processes=processes, dashboard_address=":0", silence_logs=60
        )


@pytest.fixture(scope="module")
def client():
    with cluster(3) as some, dd.Client(some) as client:
        assert len(client.nthreads()) == 3
        yield client


def test_one_worker_is_a_cluster_too():
    with cluster(1) as some, dd.Client(some) as client:
        for name in ("mixture births lists", "lda memoized priors", "scvb0"):
            assert_workers_change_no_bit(name, client)


@pytest.mark.parametrize("name", CASES)
def test_workers_change_no_bit(name, client):
    """Three workers, and none; blocks of no row and of one, workers without any."""
    assert_workers_change_no_bit(name, client)


def assert_workers_change_no_bit(name, client):
    est, X = clone(CASES[name]), rows_for(CASES[name])
    est.set_params(max_iter=4 if "births" in name else 2)
    if name in ("scvb0", "scvb0 mhw"):
        est.set_params(batch_size=60)  # rounds of parts, and not hundreds of them
    assert_same_bits(blocks.fit(clone(est), cut(X)), blocks.fit(est, cut(X), client=client), X)


def test_births_that_are_taken_back_are_so_everywhere(client, births_never_gain):
    est = clone(CASES["mixture births lists"]).set_params(max_iter=4)
    assert_same_bits(blocks.fit(clone(est), cut(ROWS)), blocks.fit(est, cut(ROWS), client=client), ROWS)
    assert births_never_gain == [2, 3] * 2


def test_checkpoints_are_those_of_one_process(client, tmp_path):
    """Started in this process, continued on the cluster, and read back in this process."""
    data = cut(COUNTS)
    est = lda(batch_size=100)
    blocks.fit(clone(est).set_params(max_iter=2), data, checkpoint=tmp_path)
    over = blocks.fit(clone(est), data, checkpoint=tmp_path, client=client, resume=True)
    assert_same_bits(blocks.fit(clone(est), data), over, COUNTS)
    assert_same_bits(blocks.fit(clone(est), data, checkpoint=tmp_path), over, COUNTS)


def test_many_rounds_have_new_bases(client):
    est = lda(learning_method="online", max_iter=2)
    assert_same_bits(
        blocks.fit(clone(est), cut(COUNTS), steps=20),
        blocks.fit(clone(est), cut(COUNTS), steps=20, client=client), COUNTS,
    )  # fmt: skip


def test_collections_of_dask(client):
    array = pytest.importorskip("dask.array")
    parts = [X for X in cut(ROWS) if len(X)]
    whole = blocks.fit(mixture(), parts)
    delayed = [dask.delayed(X) for X in parts]
    chunks = array.concatenate([array.from_array(X, chunks=X.shape) for X in parts])
    for data in (delayed, chunks):
        assert_same_bits(whole, blocks.fit(mixture(), data), ROWS)
        assert_same_bits(whole, blocks.fit(mixture(), data, client=client), ROWS)
    held = chunks.persist(), chunks.persist() * 1.0, list(dask.persist(*delayed)), client.scatter(parts)  # by workers
    for data in held:
        assert_same_bits(whole, blocks.fit(mixture(), data), ROWS)
        assert_same_bits(whole, blocks.fit(mixture(), data, client=client), ROWS)
    documents = [dask.delayed(X) for X in cut(COUNTS)]
    assert_same_bits(blocks.fit(lda(), cut(COUNTS)), blocks.fit(lda(), documents, client=client), COUNTS)
    with pytest.raises(ValueError, match="in 3 chunks of columns; give it whole rows"):
        blocks.fit(mixture(), array.from_array(ROWS, chunks=(100, 1)))


@pytest.mark.parametrize(
    ("n", "workers", "seconds", "size"),
    [
        (16, 2, np.inf, 1), (16, 2, 1e-4, 8), (16, 3, 1e-4, 8), (9, 3, 0.1, 1), (10, 2, 0.01, 2), (8, 0, 1e-4, 8),
        (64, 1, 0.3, 2), (64, 1, 5.0, 1), (1, 4, 0.0, 1),
    ],
)  # fmt: skip
def test_small_blocks_share_a_task_where_that_ends_first(n, workers, seconds, size):
    """Few tasks, workers with about as much each, and no task of many seconds."""
    from sparsemix.blocks._cluster import branch_size

    assert branch_size(n, workers, seconds) == size


@pytest.mark.parametrize("name", ["scvb0 large steps", "mixture births lists", "lda memoized priors"])
def test_blocks_of_a_task_change_no_bit(name, client, monkeypatch):
    from sparsemix.blocks import _cluster as executor

    X, sizes = rows_for(CASES[name]), iter([1, 2, 4, 1, 8, 2] * 100)
    whole = blocks.fit(clone(CASES[name]), cut(X), steps=2)
    monkeypatch.setattr(executor, "branch_size", lambda *_: next(sizes))
    assert_same_bits(whole, blocks.fit(clone(CASES[name]), cut(X), steps=2, client=client), X)
    assert next(sizes)


@pytest.mark.parametrize("name", ["scvb0 large steps", "mixture births lists", "mixture lists starts"])
def test_visits_at_unexpected_workers_change_no_bit(name, client, monkeypatch):
    """Workers that take tasks over lack steps and row memories; the client repeats their tasks with everything."""
    from sparsemix.blocks._cluster import DaskExecutor

    X, rng, complete = rows_for(CASES[name]), np.random.default_rng(0), []
    est = clone(CASES[name]).set_params(max_iter=4)
    whole = blocks.fit(clone(est), cut(X), steps=2)
    task, one_visit = DaskExecutor._task, DaskExecutor._visit

    def moved(self, function, numbers, _, *arguments):
        return task(self, function, numbers, rng.choice(sorted(self._client.nthreads())), *arguments)

    def noted(self, model, part, place, is_complete, **options):
        complete.append(is_complete)
        return one_visit(self, model, part, place, is_complete, **options)

    monkeypatch.setattr(DaskExecutor, "_task", moved)
    monkeypatch.setattr(DaskExecutor, "_visit", noted)
    assert_same_bits(whole, blocks.fit(est, cut(X), steps=2, client=client), X)
    assert {True, False} == set(complete)


def test_the_client_sends_the_state_and_each_row_memory_once(monkeypatch):
    """Later rounds find both at the worker."""
    from sparsemix.blocks import _cluster, _replica

    sent, thread, make = [], threading.get_ident(), _replica.Frozen.__init__

    def noted(self, value):
        make(self, value)
        if threading.get_ident() == thread:
            sent.append(type(value).__name__)

    monkeypatch.setattr(_replica.Frozen, "__init__", noted)
    monkeypatch.setattr(_cluster, "branch_size", lambda *_: 1)
    with cluster(1) as some, dd.Client(some) as client:
        blocks.fit(lda(batch_size=100, max_iter=8), blocks.from_arrays(COUNTS, rows=50), client=client)
    assert sent.count("FitState") == 1
    assert sent.count("DocumentMemory") == 8


def test_weights_travel(client):
    weight = np.random.default_rng(0).integers(0, 3, len(ROWS)).astype(float)
    data, array = cut(ROWS), pytest.importorskip("dask.array")
    here = blocks.fit(mixture(), data, sample_weight=weight)
    each = np.split(weight, np.cumsum([len(X) for X in data])[:-1])
    for some in (weight, weight.tolist(), array.from_array(weight, chunks=70), [dask.delayed(part) for part in each]):
        assert_same_bits(here, blocks.fit(mixture(), data, sample_weight=some, client=client), ROWS)


def test_readings(client):
    est = lda().fit(COUNTS)
    lazily = blocks.transform(est, cut(COUNTS), client=client)
    parts = client.gather(client.compute(lazily))
    np.testing.assert_array_equal(np.concatenate([part for part in parts if len(part)]), est.transform(COUNTS))
    np.testing.assert_allclose(blocks.score(est, cut(COUNTS), client=client), est.score(COUNTS), rtol=1e-9)


def test_labels_and_arrays_of_workers(client):
    est = mixture().fit(ROWS)
    labels = blocks.predict(est, cut(ROWS), client=client, as_array=True)
    assert labels.chunks == (tuple(len(X) for X in cut(ROWS) if len(X)),)
    np.testing.assert_array_equal(client.compute(labels).result(), est.predict(ROWS))
    given = pytest.importorskip("dask.array").from_array(ROWS, chunks=(120, -1))
    responsibilities = client.compute(blocks.transform(est, given, client=client)).result()
    np.testing.assert_array_equal(responsibilities.toarray(), est.transform(ROWS).toarray())


def unreadable(i):
    raise OSError(f"no such disk as {i}")


def test_workers_name_a_block_once(client):
    for call in (blocks.score, blocks.fit):
        with pytest.raises(OSError, match=r"^(worker \S+: )?block (\d): no such disk as \2$"):
            call(mixture().fit(ROWS), blocks.from_function(2, unreadable), client=client)


def test_errors_on_workers_name_block_and_row(client):
    bad = ROWS.copy()
    bad[120, 1] = np.inf
    with pytest.raises(ValueError, match="block 3: Input X contains infinity in row 10, column 1"):
        blocks.fit(mixture(), cut(bad), client=client)


READINGS = []


def growing(i):
    """Four blocks, the last with one row more in each reading."""
    READINGS.append(i)
    return np.concatenate([ROWS[:50], ROWS[: READINGS.count(3)]]) if i == 3 else ROWS[:50]


def test_blocks_that_change_their_sizes_are_named(client):
    READINGS.clear()
    with pytest.raises(ValueError, match=r"worker \S+: block 3: it has \d+ rows, but had 51 when it was first read"):
        blocks.fit(mixture(), blocks.from_function(4, growing), client=client)


def test_another_version_or_processor_is_named(client, monkeypatch):
    from sparsemix.blocks import _cluster, _replica

    other, own = _replica.signature() | {"instruction set": "abacus"}, _replica.signature
    test_thread = threading.get_ident()
    monkeypatch.setattr(_cluster.DaskExecutor, "collect", lambda *_: pytest.fail("the first look is refused"))
    # These workers are threads of this process, and a task of an earlier test may still run in one of them.
    monkeypatch.setattr(_replica, "signature", lambda: other if threading.get_ident() == test_thread else own())
    with pytest.raises(RuntimeError, match=r"worker \S+ has instruction set \S+, and the client has abacus"):
        blocks.fit(mixture(), cut(ROWS), client=client)


def test_an_asynchronous_client_is_refused():
    class Asynchronous:
        asynchronous = True

    with pytest.raises(TypeError, match="client is asynchronous"):
        blocks.fit(mixture(), cut(ROWS), client=Asynchronous())


def test_a_closed_client_is_refused():
    with cluster(1) as some:
        closed = dd.Client(some)
        closed.close()
        with pytest.raises(ValueError, match="client is closed; open a new Client"):
            blocks.fit(mixture(), cut(ROWS), client=closed)


def test_rows_and_weights_of_a_closed_client_are_refused(client):
    with dd.Client(client.cluster, set_as_default=False) as closed:
        futures, held = closed.scatter(cut(ROWS)), closed.persist(dask.array.from_array(ROWS, chunks=(10, -1)))
    fitted, message = mixture().fit(ROWS), "holds futures of a client that was closed or restarted; make {} again"
    for data in (futures, held):
        for each in (None, client):
            for call in (blocks.fit, blocks.score, blocks.transform, blocks.predict):
                with pytest.raises(ValueError, match=f"^data {message.format('data')}"):
                    call(mixture() if call is blocks.fit else fitted, data, client=each)
    with pytest.raises(ValueError, match=f"^sample_weight {message.format('sample_weight')}"):
        blocks.fit(mixture(), ROWS, sample_weight=held[:, 0], client=client)


class Closing(blocks.Blocks):
    """Blocks that are not portable, and close a client when the last one is read."""

    def __init__(self, client):
        self.client = client

    def __len__(self):
        return 2

    def _read(self, i):
        if i == 1:
            self.client.close()
        return ROWS


@pytest.mark.parametrize("call", [blocks.fit, blocks.score])
def test_a_client_that_is_closed_during_a_call_is_named(client, call):
    est = mixture() if call is blocks.fit else mixture().fit(ROWS)
    closing = dd.Client(client.cluster, set_as_default=False)
    with pytest.raises(ValueError, match=r"client was closed or restarted during the call; open a new Client"):
        call(est, Closing(closing), client=closing)
    with pytest.raises(ValueError, match=r"client is closed; open a new Client"):
        call(est, cut(ROWS), client=closing)


def test_nothing_of_a_fit_stays(client):
    from sparsemix.blocks._replica import _replicas

    before = set(client.futures)  # errors of other tests may hold some
    _replicas.clear()
    blocks.fit(lda(max_iter=1), cut(COUNTS), client=client)
    assert _replicas  # these workers are threads of this process
    assert not any(_replicas.values())
    gc.collect()
    while not set(client.futures) <= before:  # the client's loop drops them
        time.sleep(0.01)


# -- processes that die


class Slow(blocks.Blocks):
    """Blocks that take a while, read where they are visited."""

    portable = True

    def __len__(self):
        return 6

    def _read(self, i):
        time.sleep(0.02)
        return COUNTS[66 * i : 66 * i + 66 + 4 * (i == 5)]


def test_an_epoch_on_a_cluster_shows_its_rows(client, monkeypatch, capsys):
    """Finished tasks count, before the step has ended."""
    monkeypatch.setattr("sparsemix._estimator.progress.LINE_SECONDS", 0.0)
    monkeypatch.setattr("sparsemix.blocks._workers.LOOK_SECONDS", 0.005)
    for verbose in (0, 1):
        blocks.fit(lda(max_iter=4, verbose=verbose), Slow(), steps=1, client=client)
        lines = [line for line in capsys.readouterr().out.splitlines() if " of 400 rows in " in line]
        assert bool(lines) == bool(verbose)
    done = [int(line.split("  ")[-1].split(" of ")[0]) for line in lines]
    assert set(done) <= {66 * a + 70 * b for a in range(6) for b in range(2)}


@pytest.mark.slow
def test_dead_workers_and_late_ones_change_no_bit():
    est = scvb0(learning_method="memoized", init_params="em", batch_size=200, max_iter=6)
    whole = blocks.fit(clone(est), Slow())
    killed = []
    with cluster(2, processes=True) as some, dd.Client(some) as client:

        def kill():
            time.sleep(0.5)
            process = next(iter(some.workers.values())).process
            killed.append(process.pid)
            os.kill(process.pid, signal.SIGKILL)
            some.scale(3)  # and one that joins late

        killer = threading.Thread(target=kill)
        killer.start()
        over = blocks.fit(clone(est).set_params(max_iter=6), Slow(), client=client)
        while killer.is_alive():
            assert_same_bits(whole, over, COUNTS)
            over = blocks.fit(clone(est), Slow(), client=client)
        killer.join()
        assert len(killed) == 1
        assert_same_bits(whole, blocks.fit(clone(est), Slow(), client=client), COUNTS)
    assert_same_bits(whole, over, COUNTS)


class Deadly(Slow):
    def _read(self, i):
        if i == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._read(i)


@pytest.mark.slow
def test_a_block_that_kills_workers_is_named():
    with cluster(2, processes=True) as some, dd.Client(some) as client:
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 1))
        with pytest.raises(RuntimeError, match=r"^block \d was on 2 workers that died, the last at tcp:"):
            blocks.fit(lda(), Deadly(), client=client)


# what uses a cluster
CALLS = {
    "fit": lambda client, **options: blocks.fit(lda(), cut(COUNTS), client=client, **options),
    "score": lambda client, **options: blocks.score(lda().fit(COUNTS), cut(COUNTS), client=client, **options),
    "transform": lambda client, **options: blocks.transform(lda().fit(COUNTS), cut(COUNTS), client=client, **options),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_cluster_without_workers_ends_the_call(call, monkeypatch):
    monkeypatch.setattr("sparsemix.blocks._workers.WARN_SECONDS", 0.2)
    with cluster(0) as some, dd.Client(some) as client:
        with (
            pytest.warns(UserWarning, match=r"no workers for 0 s; the call waits for at most worker_timeout=1 s"),
            pytest.raises(TimeoutError, match="no workers for 1 s, the limit worker_timeout=1"),
        ):
            call(client, worker_timeout=1)
        for wrong in (0, "1"):
            with pytest.raises(ValueError, match="worker_timeout is"):
                call(client, worker_timeout=wrong)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_worker_without_the_package_is_named(call, client, monkeypatch):
    """The question is text for ``eval``: here it asks for a package that no machine has."""
    from sparsemix.blocks import _workers

    text = _workers.HAS_PACKAGE.replace("sparsemix", "no_such_package")
    monkeypatch.setattr(_workers, "HAS_PACKAGE", text)
    with pytest.raises(RuntimeError, match="the scheduler of the cluster cannot import sparsemix"):
        call(client)
    monkeypatch.setattr(client, "run_on_scheduler", lambda *_: True)
    with pytest.raises(RuntimeError, match=r"worker \S+ cannot import sparsemix.*; install the same version"):
        call(client)
