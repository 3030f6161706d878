"""What ``expected_stats`` keeps of rows is read with the rows and the model that it is of, or not at all."""

import pickle

import numpy as np
import pytest
from estimator_cases import over, with_methods
from fitted import assert_unchanged, few_epochs, snapshot

pytestmark = few_epochs
N = 40


NAMES = ("mixture candidates", "directions candidates", "words candidates", "lda", "scvb0 mhw", "scvb0 dense",
         "scvb0 gibbs", "skip-gram", "skip-gram chains")  # fmt: skip
KEPT = [case for case in with_methods("row_memory") if case.name in NAMES]


@over(KEPT)
def test_memory_of_other_rows_is_refused(case):
    est, rows = case.fitted(), case.data.rows
    before = snapshot(est, rows)
    memory = est.row_memory(N)
    est.expected_stats(rows[:N], first_row=0, memory=memory)
    for first, block in ((5, rows[:N]), (0, rows), (3, rows[: N - 1])):
        with pytest.raises(ValueError, match=f"memory was made for {N} rows from number 0 .*row_memory"):
            est.expected_stats(block, first_row=first, memory=memory)
    if case.data.kind == "counts":  # words in their order have documents of one length here
        for _ in range(2):
            est.expected_stats(rows[:N], first_row=0, memory=memory)
        with pytest.raises(ValueError, match=r"memory has seen other rows"):
            est.expected_stats(rows[:N][::-1], first_row=0, memory=memory)
    est.expected_stats(rows[:N], first_row=0, memory=pickle.loads(pickle.dumps(memory)))
    assert_unchanged(est, before, rows)


@over(KEPT)
def test_memory_of_another_model_is_refused(case):
    """Its component numbers may be beyond the tables of this model."""
    many = case.make(n_components=2 * case.estimator.n_components)
    est, rows = case.fitted(), case.data.rows
    many.fit(rows)
    memory = many.row_memory(N)
    for _ in range(2):
        many.expected_stats(rows[:N], first_row=0, memory=memory)
    with pytest.raises(ValueError, match=r"memory was made for .* components; .*row_memory"):
        est.expected_stats(rows[:N], first_row=0, memory=memory)
    with pytest.raises(TypeError, match=r"memory is a dict; give the result of row_memory"):
        est.expected_stats(rows[:N], first_row=0, memory={})


@over(with_methods("row_memory")[:1])
@pytest.mark.parametrize("wrong", [-1, 2.5, "x", None, 2**63, np.uint64(2**64 - 1), 2**70])
def test_memory_is_for_a_number_of_rows(case, wrong):
    with pytest.raises(ValueError, match=r"n_rows is .*; give the number of rows"):
        case.fitted().row_memory(wrong)
    with pytest.raises(ValueError, match=r"first_row is .*; give the index of X's first row"):
        case.fitted().row_memory(N, wrong)
