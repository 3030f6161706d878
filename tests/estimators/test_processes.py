"""One fitted estimator in many threads and in other processes: what it says there, and the same bits of fits there."""

import ast
import multiprocessing
import os
import pickle
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from estimator_cases import CASES, FIRST, over, with_parameters
from fitted import assert_same, assert_same_bits, few_epochs, readings, said
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import sparsemix
from sparsemix import SparseGaussianMixture, SparseLDA

pytestmark = few_epochs
SOURCES = Path(sparsemix.__file__).parent
NETWORK = {"socket", "urllib.request", "http.client", "http.server", "requests", "pooch", "ftplib", "ssl", "aiohttp"}
SPAWNED = """
import pickle, sys
est, rows = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps(est.fit(rows)))
"""


@over(FIRST)
def test_readings_from_many_threads(case):
    """The estimator has not computed any of its tables yet."""
    est = case.fitted()
    alone = readings(est, case.data.rows)
    for _ in range(3):
        shared = pickle.loads(pickle.dumps(est))
        with ThreadPoolExecutor(6) as pool:
            for found in pool.map(lambda _, shared=shared: said(shared, case.data.rows), range(6)):
                for name, value in alone.items():
                    np.testing.assert_array_equal(found[name], value, err_msg=name)


@over(FIRST)
def test_fits_of_different_estimators_in_threads(case):
    one = case.fitted()
    with ThreadPoolExecutor(4) as pool:
        for other in pool.map(lambda _: case.fitted(), range(4)):
            assert_same_bits(one, other, case.data.rows)


def forked(case, est, connection):
    params = {"n_jobs": 2} if case.has("n_jobs") else {}
    connection.send((said(est, case.data.rows), said(case.fitted(**params), case.data.rows)))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="nothing forks here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork")
@over(FIRST)
def test_after_a_fork(case):
    """Threads of the parent's fit have ended, and the child begins its own."""
    params = {"n_jobs": 2} if case.has("n_jobs") else {}
    est = case.fitted(**params)
    here, there = multiprocessing.get_context("fork").Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=forked, args=(case, est, there))
    child.start()
    there.close()  # so that the death of the child ends the wait
    old, new = here.recv()
    child.join()
    assert child.exitcode == 0
    expected = said(est, case.data.rows)
    assert_same(old, expected)
    assert_same(new, expected)


def fitted_there(est, rows):
    return est.fit(rows)


MADE = [case for case in FIRST if isinstance(case.estimator, (SparseGaussianMixture, SparseLDA))]


@over(MADE)
def test_fits_of_lokys_processes(case):
    jobs = [delayed(fitted_there)(case.make(), case.data.rows) for _ in range(2)]
    for other in Parallel(n_jobs=2, backend="loky")(jobs):
        assert_same_bits(case.fitted(), other, case.data.rows)


@over(MADE)
def test_fits_of_a_new_process(case):
    paths = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SPAWNED], input=pickle.dumps((case.make(), case.data.rows)),
        capture_output=True, env={**os.environ, "PYTHONPATH": paths}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert_same_bits(case.fitted(), pickle.loads(done.stdout), case.data.rows)


@over(with_parameters("n_jobs"))
def test_the_number_of_threads_of_blas_changes_no_bit(case):
    with threadpool_limits(limits=1, user_api="blas"):
        one = case.fitted()
        expected = said(one, case.data.rows)
    with threadpool_limits(limits=2, user_api="blas"):
        assert_same(expected, said(case.fitted(), case.data.rows))


@over(CASES)
def test_nothing_uses_the_network(case, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network is asked")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    said(case.fitted(), case.data.rows)


def test_one_file_can_use_the_network():
    """The fetchers of data; their checksums have tests of their own. Dask's cluster is one that the caller has."""
    asking = set()
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name == asked or name.startswith(asked + ".") for name in names for asked in NETWORK):
                asking.add(path.relative_to(SOURCES).as_posix())
    assert asking == {"datasets/_fetch.py"}
