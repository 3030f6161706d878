"""Attributes that an estimator lacks, or lacks before a fit: the error gives the reason and the remedy."""

UNFITTED = "it is not fitted yet; call fit first"
NO_BOUND = "its inference computes no bound; compare models by score(X) of held-out documents"


class Absent:
    """Descriptor that raises AttributeError with a reason and a remedy.

    There is no ``__set__``: a value that ``fit`` stores in the instance takes precedence, in subclasses too.

    Parameters
    ----------
    why : str or callable
        Reason and remedy; a callable receives the estimator.
    """

    def __init__(self, why):
        self._why = why

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, estimator, owner=None):
        if estimator is None:
            return self
        why = self._why if isinstance(self._why, str) else self._why(estimator)
        raise AttributeError(f"{type(estimator).__name__} has no {self._name}: {why}")


def by_fit(estimator):
    """Reason for a missing attribute that only ``fit`` sets."""
    if not hasattr(estimator, "_fitted"):
        return UNFITTED
    return "only fit sets it, and what was learned last did not come from fit; call fit"


def check_continues(params, fitted, call="warm_start", instead="set warm_start=False"):
    """Refuse to continue a model if parameters differ from their ``fitted`` values."""
    changed = {name: value for name, value in fitted.items() if getattr(params, name) != value}
    if changed:
        now = " and ".join(f"{name} is now {getattr(params, name)!r}" for name in changed)
        before = " and ".join(f"{name}={value!r}" for name, value in changed.items())
        raise ValueError(
            f"{call} continues a model that was fitted with {before}, but {now}; set {before}, or {instead}"
        )
