"""Several threads of one process: readings of one estimator, fits and streams of their own, data that they share.

Every result is compared with that of one thread, to the bit. Interpreters with a global lock run this too, but only one
without it (``.ci/freethreaded``) tries all that threads share.
"""

import copy
import pickle
import sys
import sysconfig

import numpy as np
import pytest
from callers import N_CALLERS, at_once, several
from estimator_cases import CASES, COUNTS, FIRST, ROWS, over, with_methods
from fitted import assert_same, attributes, few_epochs, said
from scipy import sparse
from sklearn.base import clone
from topic_cases import K

from sparsemix import SparseGaussianMixture, SparseLDA, SparseSCVB0LDA, blocks, report
from sparsemix.datasets import load_bag_of_words, make_sparse_lda
from sparsemix.metrics import document_completion, topic_coherence, topic_diversity

pytestmark = few_epochs
FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


@pytest.mark.skipif(not FREE, reason="this Python has a global lock")
def test_nothing_of_ours_brings_the_lock_back():
    """An extension that does not say that it is safe would, for the whole process; ``-X gil=1`` asks for it."""
    if sys.flags.gil == 1:
        pytest.skip("the lock is asked for")
    assert not sys._is_gil_enabled(), "a module has enabled it, see the warning at its import"


# -- one estimator


@over(CASES)
def test_readings_of_one_estimator(case):
    """Tables that are made on first use are made by several threads at once, while a copy and a pickle are taken."""
    est, rows = case.fitted(), case.data.rows
    expected = said(copy.deepcopy(est), rows)
    readings = [lambda: said(est, rows)] * N_CALLERS
    *there, twin, pickled = at_once(*readings, lambda: copy.copy(est), lambda: pickle.dumps(est))
    for each in (*there, said(twin, rows), said(pickle.loads(pickled), rows)):
        assert_same(expected, each)


@over(with_methods("partial_fit"))
def test_readings_of_a_stream(case):
    """The stream has made steps that scale its statistics; each reading uses several threads."""
    params = {"total_samples": 500} if case.has("total_samples") else {}
    est, rows = case.make(n_jobs=2, **params) if case.has("n_jobs") else case.make(**params), case.data.rows
    for part in (slice(0, 40), slice(40, 60)):
        est.partial_fit(rows[part])
    expected = said(copy.deepcopy(est), rows)
    for each in several(lambda: said(est, rows)):
        assert_same(expected, each)


@over(CASES)
def test_readings_change_nothing(case):
    """What a fitted estimator would say after it was pickled is the same, to the byte, before and after readings."""
    est = case.fitted()
    before = pickle.dumps(est)
    said(est, case.data.rows)
    assert pickle.dumps(est) == before


# Whose threads share the table that documents are inferred with, which is made row by row, whole or packed; or the room
# of documents that the dense start looks at.
WITH_ROOMS = {
    "whole rows": SparseLDA(20, n_nonzero=4, random_state=0),
    "packed rows": SparseLDA(450, n_nonzero=4, random_state=0),
    "dense start": SparseSCVB0LDA(20, sampler="gibbs", random_state=0),
}


@pytest.mark.parametrize("name", WITH_ROOMS)
def test_statistics_under_one_model(name):
    X, _, _ = make_sparse_lda(400, n_features=300, n_components=20, doc_length=40, random_state=0)
    est = clone(WITH_ROOMS[name]).set_params(n_jobs=2).partial_fit(X)
    parts = [X[i::N_CALLERS] for i in range(N_CALLERS)]
    expected = [dict(copy.deepcopy(est).expected_stats(part)._arrays()) for part in parts]
    there = at_once(*[lambda part=part: est.expected_stats(part) for part in parts])
    for stats, each in zip(expected, there, strict=True):
        for name, value in each._arrays():
            dense = [v.toarray() if hasattr(v, "toarray") else v for v in (stats[name], value)]
            np.testing.assert_array_equal(*dense, err_msg=name)


# -- estimators of their own


@over(CASES)
def test_fits_at_once(case):
    """Threads fit two settings on the same rows, which no thread changes."""
    other = FIRST[(CASES.index(case) + 1) % len(FIRST)]
    expected, other_expected = attributes(case.fitted()), attributes(other.fitted())
    *fits, last = at_once(*[case.fitted] * (N_CALLERS - 1), other.fitted)
    for fit in fits:
        assert_same(expected, attributes(fit))
    assert_same(other_expected, attributes(last))


@over(with_methods("partial_fit"))
def test_streams_at_once(case):
    def stream():
        est = case.make(**({"n_jobs": 2} if case.has("n_jobs") else {}))
        for part in (slice(0, 20), slice(20, 30), slice(30, None)):
            est.partial_fit(case.data.rows[part])
        return said(est, case.data.rows)

    expected = stream()
    for each in several(stream):
        assert_same(expected, each)


@over(with_methods("partial_fit"))
def test_a_copy_is_read_while_the_stream_continues(case):
    est, rows = case.make(), case.data.rows
    est.partial_fit(rows[:40])
    twin = copy.copy(est)
    expected, later = said(copy.deepcopy(est), rows), copy.deepcopy(est)
    for part in (rows[40:50], rows[50:]):
        later.partial_fit(part)

    def go_on():
        for part in (rows[40:50], rows[50:]):
            est.partial_fit(part)
        return said(est, rows)

    ahead, *there = at_once(go_on, *[lambda: said(twin, rows)] * (N_CALLERS - 1))
    assert_same(said(later, rows), ahead)
    for each in there:
        assert_same(expected, each)


# -- data that they share


class Shared:
    """A topic model, documents, and a file of them."""

    def __init__(self, folder):
        self.X = sparse.csr_array(COUNTS.rows)
        self.model = SparseLDA(K, max_iter=3, random_state=0).fit(self.X)
        self.file, self.page = folder / "docword.tiny.txt", folder / "page.html"
        rows, columns = self.X.nonzero()
        entries = [f"{i + 1} {j + 1} {int(n)}" for i, j, n in zip(rows, columns, self.X.data, strict=True)]
        self.file.write_text("\n".join([*map(str, (*self.X.shape, len(entries))), *entries]))


READERS = {
    "coherence": lambda shared: topic_coherence(shared.model, shared.X),
    "diversity": lambda shared: topic_diversity(shared.model),
    "completion": lambda shared: document_completion(shared.model, shared.X, random_state=0),
    "report": lambda shared: report(shared.model, shared.X).html(),
    "page": lambda shared: len(report(shared.model, shared.X).save(shared.page).read_bytes()),
    "bag of words": lambda shared: load_bag_of_words(shared.file, vocabulary=False)["data"].toarray(),
    "generator": lambda shared: make_sparse_lda(50, random_state=shared.model.random_state)[0].toarray(),
}


@pytest.mark.parametrize("reader", READERS)
def test_readers_of_shared_data(reader, tmp_path):
    shared = Shared(tmp_path)
    expected = READERS[reader](shared)
    for each in several(lambda: READERS[reader](shared)):
        np.testing.assert_equal(each, expected)


def test_blocks_that_several_fits_read(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, ROWS.rows)
    source = blocks.from_arrays(np.load(path, mmap_mode="r"), rows=40)
    mixture = SparseGaussianMixture(3, max_iter=3, random_state=0)

    def fit():
        return attributes(blocks.fit(copy.deepcopy(mixture), source))

    expected = fit()
    for each in several(fit):
        assert_same(expected, each)
