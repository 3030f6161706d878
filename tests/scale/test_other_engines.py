"""The protocol of executors is enough for another engine, and functions of the guide predict batches of a table."""

import textwrap
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from fitted import assert_same_bits, few_epochs
from sklearn.base import clone
from test_fits_over_blocks import CASES, cut, mixture, rows_for

from sparsemix import blocks
from sparsemix._engine.rounds.tree import Tree
from sparsemix._estimator.blockwise import Job, LocalExecutor, fit_blocks
from sparsemix._rows.threads import Workers
from sparsemix.blocks._data import as_blocks

PAGE = Path(__file__).parents[2] / "doc" / "user_guide" / "scale.rst"


class PoolExecutor(LocalExecutor):
    """Visits blocks in processes that keep nothing between tasks: each task brings its rows and the whole model."""

    def __init__(self, job, pool):
        super().__init__(job)
        self._pool = pool

    def over_blocks(self, name, *arguments):
        """Sum over all blocks of the results of a method of the job."""
        job = self.job
        return self._total((name, n, job.block(n), job.weight(n), arguments) for n in range(len(job.data)))

    def visits(self, model, units, workers):  # noqa: ARG002
        """Sum of the statistics of some units. Updates the remembered data of their rows."""
        tasks = []
        for u in units:
            unit = self.plan.units[u]
            arguments = unit, model, self.n_visited, self.memories[u], len(units) == 1
            tasks.append(("visit", unit[0], self.job.block(unit[0]), self.job.weight(unit[0]), arguments))
        return self._total(tasks, units)

    def _total(self, tasks, units=()):
        futures, tree = [self._pool.submit(work, self.job, *task) for task in tasks], Tree()
        for i, future in enumerate(futures):  # in the order of the blocks, whichever ends first
            part, memory = future.result()
            tree.push(part)
            if len(units):
                self.memories[units[i]] = memory
        return tree.total()


def work(job, name, number, X, weight, arguments):
    """One task in another process: a result, and the row memory that a visit has changed."""
    with Workers(1) as workers:
        if name != "visit":
            return getattr(job, name)(number, X, weight, workers, *arguments), None
        unit, model, n_visited, memory, alone = arguments
        return job.visit(unit, X, weight, model, n_visited, memory, workers, alone), memory


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


@few_epochs
@pytest.mark.parametrize("name", ["mixture births lists", "lda memoized priors", "scvb0 large steps"])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_methods_make_an_executor(name, weighted, pool):
    """Births, learned priors, remembered documents and candidates; with weights, some zero."""
    est, X = clone(CASES[name]), rows_for(CASES[name])
    weights = [np.arange(part.shape[0]) % 3 * 0.5 for part in cut(X)] if weighted else None
    job = Job(est, est._recipe(), as_blocks(cut(X)), weights)
    fit_blocks(est, PoolExecutor(job, pool))
    assert_same_bits(blocks.fit(clone(est), cut(X), sample_weight=weights), est, X)


def test_functions_of_the_guide_label_tables():
    """Those for Ray and Spark, without either: batches of rows, one of them empty, and columns that the fit ignores."""
    pandas = pytest.importorskip("pandas")
    X, names = rows_for(mixture()), {}
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    est = mixture().fit(table)
    code = PAGE.read_text(encoding="utf-8").split("Predictions with Ray or Spark")[1].split(".. code-block:: python")[1]
    exec(textwrap.dedent(code.split("Ray Data")[0]), names)
    table.insert(1, "number", range(len(table)))
    batches = [table[:200], table[200:200], table[200:]]
    by_batch = pandas.concat([names["label"](batch, mixture=est) for batch in batches])
    by_part = pandas.concat(names["label_parts"](iter(batches), mixture=est))
    for labelled in (by_batch, by_part):
        pandas.testing.assert_frame_equal(labelled[table.columns], table)
        np.testing.assert_array_equal(labelled["cluster"], est.predict(table[["a", "b", "c"]]))
        assert labelled["cluster"].dtype == np.int64
    assert len(set(by_batch["cluster"])) > 1
