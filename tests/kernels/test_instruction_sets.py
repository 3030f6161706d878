"""The instruction set can be chosen from outside; results on all of them agree but for rounding."""

import contextlib
import io
import os
import subprocess
import sys

import numpy as np
import pytest
import row_cases
import topic_cases
from fitted import few_epochs

from sparsemix import CollapsedLDA, SparseGaussianMixture, SparseLDA
from sparsemix._kernels.vectors import _simd

pytestmark = few_epochs
SCRIPT = """
import hashlib, numpy as np
from sparsemix import SparseLDA
from sparsemix._kernels.vectors import _simd
X = np.random.default_rng(0).poisson(1.0, (30, 20))
est = SparseLDA(4, n_nonzero=2, max_iter=2, tol=0.0, random_state=0).fit(X)
print(_simd.instruction_set(), hashlib.sha256(est.components_.tobytes() + est.transform(X).tobytes()).hexdigest())
"""
MIXTURES = {"n_nonzero": 2, "max_iter": 2, "tol": 0.0, "init_params": "random", "random_state": 0}
FITS = {
    "mixture": (lambda: SparseGaussianMixture(3, learning_method="batch", **MIXTURES), row_cases.CLOUDS),
    "mixture diag": (lambda: SparseGaussianMixture(3, covariance_type="diag", **MIXTURES), row_cases.CLOUDS),
    "lda": (lambda: SparseLDA(4, n_nonzero=None, max_iter=2, tol=0.0, random_state=0), topic_cases.X),
    "cvb0": (lambda: CollapsedLDA(4, inference="cvb0", max_iter=2, tol=0.0, random_state=0), topic_cases.X),
}


def in_a_process(name):
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", SCRIPT], env={**os.environ, "SPARSEMIX_SIMD": name}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    return done.stdout.split(), done.stderr


def test_the_environment_chooses(instruction_set):
    """The same set gives the same bits in this process and in another."""
    there, error = in_a_process(instruction_set)
    with contextlib.redirect_stdout(io.StringIO()) as here:
        exec(SCRIPT, {})
    assert there[:1] == [instruction_set], error
    assert here.getvalue().split() == there


def test_what_is_not_known_is_told():
    _, error = in_a_process("abacus")
    assert "SPARSEMIX_SIMD in the environment: there is no instruction set 'abacus'; give one of baseline" in error


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("name", FITS)
def test_results_agree_but_for_rounding(name):
    make, X = FITS[name]
    here = make().fit(X).score(X)
    _simd.use_instruction_set()
    np.testing.assert_allclose(here, make().fit(X).score(X), rtol=1e-4)
