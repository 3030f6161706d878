"""The one doorway to what is private in scikit-learn or depends on its version."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from scipy import sparse
from sklearn import get_config
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._set_output import _get_output_config

from sparsemix._typing import Method

if TYPE_CHECKING:  # scikit-learn has no types, and what its decorators return would have none

    class CallbackSupportMixin: ...

    def _fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]: ...
    def with_callbacks(method: Method) -> Method: ...
else:
    from sklearn.base import _fit_context

    try:  # scikit-learn >= 1.9
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:

        class CallbackSupportMixin:
            """scikit-learn before 1.9 has no callbacks."""

        def with_callbacks(method):
            """scikit-learn before 1.9 has no callbacks."""
            return method


__all__ = [
    "CallbackSupportMixin",
    "FitObserver",
    "Interval",
    "InvalidParameterError",
    "Options",
    "StrOptions",
    "_fit_context",
    "configured_sparse",
    "makes_frames",
    "validate_parameter_constraints",
    "with_callbacks",
]


def configured_sparse(X):
    """A csr_array as scikit-learn's setting ``sparse_interface`` wants it; before 1.9 there is no such setting."""
    return sparse.csr_matrix(X) if get_config().get("sparse_interface") == "spmatrix" else X


def makes_frames(estimator):
    """Whether ``set_output`` or the global setting makes data frames of what ``transform`` returns."""
    return _get_output_config("transform", estimator)["dense"] != "default"


class FitObserver:
    """Tells scikit-learn's callbacks of every pass over the data.

    Parameters
    ----------
    estimator : estimator
    max_passes : int
    attributes : callable
        Maps a monitor to the fitted attributes as of its last step, for callbacks that want a fitted estimator.
    """

    def __init__(self, estimator, max_passes, attributes, X):
        self.estimator = estimator
        self.attributes = attributes
        self.X = X
        self.root = self.current = None
        self.stopped = False
        if hasattr(estimator, "_skl_callbacks"):
            self.root = estimator._init_callback_context(max_subtasks=max_passes)
            self.root.call_on_fit_task_begin(estimator=estimator, X=X)

    def begin(self, epoch):  # noqa: ARG002
        """A pass begins."""
        if self.root is not None:
            self.current = self.root.subcontext(task_name="pass")
            self.current.call_on_fit_task_begin(estimator=self.estimator, X=self.X)

    def end(self, monitor):
        """A pass ends; whether a callback asks to stop."""
        if self.root is None:
            return False
        self.stopped = self.current.call_on_fit_task_end(
            estimator=self.estimator, X=self.X, reconstruction_attributes=lambda: self.attributes(monitor)
        )
        return self.stopped

    def finish(self):
        """The fit ends and its attributes are published."""
        if self.root is not None:
            self.root.call_on_fit_task_end(
                estimator=self.estimator, X=self.X, reconstruction_attributes=lambda: dict(vars(self.estimator))
            )
