"""Every setting, killed again and again at random moments: ``make kills``, which takes minutes.

A process is forked, begins the fit or continues with it, and is killed by SIGKILL after a random share of the time that
the fit takes; after some deaths one may live. What it leaves has the bits of a fit that nothing happened to.
"""

import os
import random
import signal
import time

import pytest
from estimator_cases import CASES as SETTINGS
from fitted import assert_same_bits, few_epochs
from sklearn.base import clone
from test_fits_over_blocks import CASES, cut, rows_for

from sparsemix import blocks

pytestmark = [few_epochs, pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")]
DEATHS = 4
BY_STEPS = {case.name: case for case in SETTINGS if case.can("update_from_stats")}


def survive(fit, seconds, rng):
    """Let processes begin ``fit``, kill the first ones, and let the last one end."""
    for life in range(DEATHS + 1):
        pid = os.fork()
        if pid == 0:
            try:
                fit()
            except BaseException:
                os._exit(1)
            os._exit(0)
        if life < DEATHS:
            time.sleep(rng.random() * seconds)
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0


def try_to_kill(fit, folder, X, name):
    started = time.monotonic()
    whole = fit(None)
    seconds = 1.5 * (time.monotonic() - started)
    survive(lambda: fit(folder), seconds, random.Random(name))
    assert_same_bits(whole, fit(folder), X)


@pytest.mark.parametrize("name", CASES)
def test_over_blocks(name, tmp_path):
    X = rows_for(CASES[name])
    try_to_kill(lambda folder: blocks.fit(clone(CASES[name]), cut(X), checkpoint=folder), tmp_path, X, name)


@pytest.mark.parametrize("name", BY_STEPS)
def test_over_rows(name, tmp_path):
    case = BY_STEPS[name]
    rows = case.data.rows
    try_to_kill(lambda folder: case.with_epochs(5).fit(rows, checkpoint=folder), tmp_path, rows, name)
