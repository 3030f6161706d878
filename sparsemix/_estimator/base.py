"""Pickles with a version stamp, and calls that leave a fitted model unchanged if they fail."""

import inspect
from contextlib import contextmanager
from functools import cache, wraps

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from sparsemix._compat import CallbackSupportMixin
from sparsemix._estimator.encoding import PACKAGE, Decoder, Encoder, checksum
from sparsemix._estimator.input.forms import NUMBERS
from sparsemix._estimator.parameters import Parameters, check_parameters
from sparsemix._version import SITE, __version__
from sparsemix._warnings import warn_caller

# Keys of a saved state: the version that saved it, the names of its attributes, an encoded attribute and its form.
VERSION, NAMES, ENCODED, FORM = "_sparsemix_version", "_sparsemix_names", "__sparsemix__", "form"


class SparsemixEstimator(CallbackSupportMixin, BaseEstimator):
    """Checked parameters, version-stamped pickles, atomic calls, and callbacks if scikit-learn's version has them."""

    # The class's page, which scikit-learn's HTML representation links to.
    _doc_link_module = "sparsemix" if SITE else ""
    _doc_link_template = f"{SITE}/generated/sparsemix.{{estimator_name}}.html"
    # Description of valid X for errors about texts.
    _takes = NUMBERS

    # Parameters of the model that a value of another parameter switches off, by this parameter and value.
    _unread: dict = {}  # noqa: RUF012
    # The constructor parameters as Python's own numbers.
    _params = property(Parameters)

    @classmethod
    @cache  # scikit-learn reads the signature in every call, which costs as much as to learn one row
    def _get_param_names(cls):
        return super()._get_param_names()

    def _validate_params(self):
        check_parameters(self)

    def __sklearn_is_fitted__(self):
        """Whether the estimator is fitted."""
        return hasattr(self, "_fitted")

    def _attribute(self, name):
        """The fitted state that holds an attribute; before a fit the AttributeError of a missing attribute."""
        if not hasattr(self, "_fitted"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r} before it is fitted")
        return self._fitted

    def _share(self):
        """Mark the fitted state as shared with a copy; the next call that changes it copies it first."""
        if hasattr(self, "_fitted"):
            self._fitted.shared = True

    def __getstate__(self):
        self._share()
        encoder = Encoder()  # one, for what samples and the fitted state share

        def saved(name, value):
            if not is_fitted_state(name, value):
                return value
            code = encoder.encode(value)
            return {ENCODED: code, FORM: checksum(code)}

        state = {name: saved(name, value) for name, value in super().__getstate__().items()}
        return {**state, NAMES: sorted(state), VERSION: __version__}

    def __copy__(self):
        self._share()
        if "_row_state" in vars(self):
            self._row_state.shared = True
        twin = type(self).__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    def __setstate__(self, state):
        state = dict(state)
        version, names = state.pop(VERSION, "unknown"), state.pop(NAMES, sorted(state))
        if version != __version__:
            warn_caller(
                f"{type(self).__name__} was pickled by sparsemix {version} and is loaded by {__version__}; fit it "
                "again if results differ",
            )
        decoder = Decoder(only_state=True)

        def loaded(value):
            if not isinstance(value, dict) or ENCODED not in value:
                return value
            if FORM in value and value[FORM] != checksum(value[ENCODED]):  # files of earlier versions have none
                raise LookupError("a part of the fitted state is missing or has another form")
            return decoder.decode(value[ENCODED])

        try:
            super().__setstate__({name: loaded(value) for name, value in state.items()})
            if sorted(state) != names:
                raise LookupError("saved attributes are missing")
            for name, parameter in inspect.signature(type(self)).parameters.items():
                vars(self).setdefault(name, parameter.default)  # it came with a later version
            self._check_loaded()
        except (AttributeError, ImportError, LookupError, TypeError) as error:  # a part is missing or wrong
            raise ValueError(
                f"the saved {type(self).__name__} is damaged or from another version ({error}); save the model again"
            ) from error

    def _check_loaded(self):
        """Refuse a state whose parts have types that predictions cannot use."""
        if "_fitted" in vars(self) and not hasattr(type(self._fitted), "shared"):
            raise TypeError(f"the fitted state is a {type(self._fitted).__name__}")

    @contextmanager
    def _all_or_nothing(self, salvage=lambda: False):
        """Restore all attributes when the block raises, unless ``salvage`` can publish a completed step."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            if salvage():
                raise
            # scikit-learn tears its callbacks down later and needs its attributes for that
            callbacks = {name: value for name, value in vars(self).items() if "_callback" in name}
            vars(self).clear()
            vars(self).update(before | callbacks)
            raise


def is_fitted_state(name, value):
    """Whether an attribute is private and of this package, or a list of such objects: files hold it as plain arrays.

    So a reader of skops needs to trust the estimator's class alone.
    """
    first = value[0] if isinstance(value, list) and value else value
    return name.startswith("_") and type(first).__module__.partition(".")[0] == PACKAGE


def published(getter):
    """Property for a fitted attribute: arrays are read-only, since changes would reach only some parts of the model."""

    @wraps(getter)
    def read(estimator):
        value = getter(estimator)
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        return value

    return property(read)


def seeded(random_state):
    """A NumPy generator from any value of ``random_state``."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
