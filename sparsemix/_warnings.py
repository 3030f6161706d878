"""Warnings that point at the line of the user, however deep in the package they arise."""

import sys
import warnings

# Packages and modules whose frames lie between a user's line and the code that warns: decorators and pipelines of
# scikit-learn, readers of files, copies.
BETWEEN = frozenset(("sparsemix", "sklearn", "joblib", "pickle", "copy"))


def warn_caller(message, category=UserWarning):
    """Warn, with the line of the first caller outside of the package as the place."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and package_of(frame) in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def package_of(frame):
    """The package that the code of a frame belongs to."""
    return frame.f_globals.get("__name__", "").partition(".")[0]
