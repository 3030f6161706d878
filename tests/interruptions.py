"""Fits that are interrupted: a method that fails, Ctrl-C, callbacks that look, stop the fit, or fail."""

import signal

from fitted import readings


def at_call(monkeypatch, owners, name, call, happen):
    """From now on ``happen`` is called at the given call of a method, of one class or of several, before it begins."""
    calls = []

    def watched(original):
        def method(*args, **kwargs):
            calls.append(name)
            if len(calls) == call:
                happen()
            return original(*args, **kwargs)

        return method

    for owner in owners if isinstance(owners, (list, tuple)) else [owners]:
        monkeypatch.setattr(owner, name, watched(getattr(owner, name)))
    return calls


def fail_at(monkeypatch, owners, name, call, error=KeyboardInterrupt):
    """From now on the given call of a method raises, before it does anything."""

    def fail():
        raise error

    return at_call(monkeypatch, owners, name, call, fail)


def fail_when(monkeypatch, owner, name, condition):
    """From now on a method is interrupted before it does anything when the condition holds."""
    original = getattr(owner, name)

    def failing(*args, **kwargs):
        if condition():
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, failing)


def ctrl_c_at(monkeypatch, owners, name, call):
    """From now on Ctrl-C comes at the given call of a method, before it does anything."""
    return at_call(monkeypatch, owners, name, call, lambda: signal.raise_signal(signal.SIGINT))


class Recorder:
    """A callback that writes down what happens; it may stop the fit after some epochs, or fail in one of its hooks.

    ``fail_in`` is what is written down when it fails ("setup", "begin pass", ...), and which time.
    """

    def __init__(self, stop_after=None, fail_in=None):
        self.stop_after, self.fail_in = stop_after, fail_in
        self.calls, self.scores, self.seen = [], [], []

    def _note(self, call):
        self.calls.append(call)
        if self.fail_in == (call, self.calls.count(call)):
            raise RuntimeError("the callback fails")

    def setup(self, estimator, context):  # noqa: ARG002
        self._note("setup")

    def teardown(self, estimator, context):  # noqa: ARG002
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):  # noqa: ARG002
        self._note(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):  # noqa: ARG002
        self.scores.append(fitted_estimator.score(X))
        self.seen.append((fitted_estimator, readings(fitted_estimator, X)))
        self._note(f"end {context.task_name}")
        return self.stop_after is not None and self.calls.count("end pass") >= self.stop_after
