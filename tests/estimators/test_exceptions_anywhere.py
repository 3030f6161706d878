"""An exception that a signal handler raises, at any line: a call has made a whole step, or none.

Nothing defers these exceptions, such as those of an alarm or of a task queue's time limit. test_interruptions.py tries
Ctrl-C, and failures within one method.
"""

import signal
from collections import Counter

import pytest
from estimator_cases import CASES, FIRST, over, with_methods
from exceptions_anywhere import lines_of, raise_at
from fitted import assert_same, assert_unchanged, few_epochs, said, snapshot

pytestmark = [few_epochs, pytest.mark.slow]
STREAMS = with_methods("partial_fit")
# Where steps are made and published: these lines are tried more often than the rest.
STEPS = ("additive.py", "interrupts.py", "_models/clusters/state.py", "_models/clusters/moves.py",
         "_models/clusters/model.py", "_streaming_nggp_mixture.py")  # fmt: skip


def chosen(call, first, every, every_other):
    """Some of the lines that a call executes, and how often it does.

    ``first`` says where to begin: settings of one estimator share its lines, so that all of them together try most.
    """
    times = Counter(lines_of(call))
    steps = [line for line in times if line[0].endswith(STEPS)]
    others = [line for line in times if not line[0].endswith(STEPS)]
    picked = steps[first % every :: every] + others[first % every_other :: every_other]
    return {line: times[line] for line in picked}


@over(STREAMS)
def test_a_stream_holds_the_rows_that_it_counts(case):
    """The rows that ``n_samples_seen_`` does not count come again: then it is the stream that was never disturbed."""
    rows, handler = case.data.rows, signal.getsignal(signal.SIGINT)
    parts = rows[:20], rows[20:45], rows[45:]

    def begun():
        return case.make().partial_fit(parts[0])

    whole, n_first = begun().partial_fit(parts[1]), begun().n_samples_seen_
    n_block = whole.n_samples_seen_ - n_first
    wanted = said(whole.partial_fit(parts[2]), rows)
    every, one = (4, 20) if case.keeps_on else (16, 300), begun()
    for line, times in chosen(lambda: one.partial_fit(parts[1]), 5 * CASES.index(case), *every).items():
        est = begun()
        assert raise_at(lambda est=est: est.partial_fit(parts[1]), line, times), line
        n_new = int(est.n_samples_seen_ - n_first)
        assert 0 <= n_new <= n_block, line
        if case.keeps_on and n_new < parts[1].shape[0]:  # it learns row by row
            est.partial_fit(parts[1][n_new:])
        elif n_new == 0:
            est.partial_fit(parts[1])
        else:
            assert n_new == n_block, line
        assert_same(said(est.partial_fit(parts[2]), rows), wanted)
        assert signal.getsignal(signal.SIGINT) is handler


@over(FIRST)
def test_a_fit_leaves_the_model_or_whole_epochs(case):
    rows = case.data.rows
    wanted = said(case.fitted(), rows)
    est, one = (case.make().fit(case.data.other) for _ in range(2))
    for line, times in chosen(lambda: one.fit(rows), CASES.index(case), 60, 200).items():
        before = snapshot(est, rows)
        assert raise_at(lambda est=est: est.fit(rows), line, (1 + times) // 2), line
        if est._fitted is before[0]["_fitted"]:
            assert_unchanged(est, before, rows)
        else:
            case.assert_valid(est, rows)
    assert_same(said(est.fit(rows), rows), wanted)
