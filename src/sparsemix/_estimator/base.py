"""Pickles with a stamp of the version, and calls that leave a fitted model alone when they fail."""

import warnings
from contextlib import contextmanager

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from sparsemix._compat import CallbackSupportMixin
from sparsemix._version import __version__


class SparsemixEstimator(CallbackSupportMixin, BaseEstimator):
    """Version-stamped pickles, calls that change all or nothing, scikit-learn's callbacks where it has them."""

    def __getstate__(self):
        return {**super().__getstate__(), "_sparsemix_version": __version__}

    def __setstate__(self, state):
        version = dict(state).pop("_sparsemix_version", "unknown")
        if version != __version__:
            warnings.warn(
                f"{type(self).__name__} was pickled by sparsemix {version} and is loaded by {__version__}; fit it "
                "anew if results differ",
                UserWarning,
                stacklevel=2,
            )
        super().__setstate__({name: value for name, value in state.items() if name != "_sparsemix_version"})

    @contextmanager
    def _all_or_nothing(self, salvage=lambda: False):
        """Restore all attributes when the block raises, unless ``salvage`` can publish a completed step."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            if salvage():
                raise
            # scikit-learn tears its callbacks down after this and needs what it has noted about them
            callbacks = {name: value for name, value in vars(self).items() if "_callback" in name}
            vars(self).clear()
            vars(self).update(before | callbacks)
            raise


def seeded(random_state):
    """A generator of random numbers, from what ``random_state`` may be."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
