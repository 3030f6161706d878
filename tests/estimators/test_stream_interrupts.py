"""Ctrl-C in the middle of a step of a stream: the step is whole, and a block never counts twice."""

import signal

import numpy as np
import pytest

from sparsemix import SparseGaussianMixture, SparseLDA, SparseSCVB0LDA

pytestmark = pytest.mark.usefixtures("ctrl_c")

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((90, 3))
COUNTS = RNG.poisson(0.7, (90, 12)) + np.eye(12, dtype=int)[np.arange(90) % 12]
ESTIMATORS = {
    "mixture": (SparseGaussianMixture(3, n_nonzero=2, random_state=0), ROWS, "means_"),
    "mixture of a known size": (SparseGaussianMixture(3, total_samples=500, random_state=0), ROWS, "means_"),
    "variational topics": (SparseLDA(4, n_init_iter=1, random_state=0), COUNTS, "components_"),
    "collapsed topics": (SparseSCVB0LDA(4, n_init_iter=1, random_state=0), COUNTS, "components_"),
}


def steps(est, X, call):
    """Feed the stream its next block."""
    return est.partial_fit(X[60:]) if call == "partial_fit" else est.update_from_stats(est.expected_stats(X[60:]))


@pytest.mark.parametrize("call", ["partial_fit", "update_from_stats"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interrupted_step_is_published_whole(name, call, monkeypatch):
    template, X, attribute = ESTIMATORS[name]
    whole, interrupted = (type(template)(**template.get_params()).partial_fit(X[:60]) for _ in range(2))
    steps(whole, X, call)
    model = type(interrupted._fitted.model)
    original = model.global_step

    def press(*args, **kwargs):
        signal.raise_signal(signal.SIGINT)
        return original(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(model, "global_step", press)
        with pytest.raises(KeyboardInterrupt):
            steps(interrupted, X, call)
    np.testing.assert_array_equal(getattr(interrupted, attribute), getattr(whole, attribute))
    assert (interrupted.n_steps_, interrupted.n_samples_seen_) == (whole.n_steps_, whole.n_samples_seen_)
    assert float(interrupted._fitted.stats["mass"]) == float(whole._fitted.stats["mass"])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interrupt_before_the_first_step_leaves_no_model(name, monkeypatch):
    template, X, _ = ESTIMATORS[name]
    est = type(template)(**template.get_params())

    def interrupted(*args, **kwargs):  # noqa: ARG001
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(est), "_collect", interrupted)
        with pytest.raises(KeyboardInterrupt):
            est.partial_fit(X)
    assert not hasattr(est, "_fitted")
    assert not hasattr(est, "n_steps_")
