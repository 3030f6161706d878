"""Build of the Cython kernels; everything else stands in pyproject.toml.

``SPARSEMIX_BOUNDSCHECK=1`` builds them with bounds checks on, for the tests.
"""

import os
import sys

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, ExecError, PlatformError

VECTOR_HEADERS = ["simd.h", "for_each_simd.h", "vector_math.h", "vector_math_end.h", "special.h"]
DOCUMENT_HEADERS = [
    *VECTOR_HEADERS, "packed.h", "document.h", "document_loops.h", "document_steps.h", "document_dense.h"
]  # fmt: skip
# kernel: headers of our own that it includes
KERNELS = {
    "_accumulate": ["simd.h", "for_each_simd.h", "outer.h", "outer_loops.h"],
    "_alias": ["alias.h"],
    "_clusters": [],
    "_cvb": [*VECTOR_HEADERS, "collapsed.h", "collapsed_loops.h", "own_token.h", "vector_rows.h"],
    "_docstep": DOCUMENT_HEADERS,
    "_factor": [],
    "_gaussian_clusters": [*VECTOR_HEADERS, "gaussian_clusters.h", "gaussian_clusters_loops.h", "vector_rows.h"],
    "_gibbs": [*VECTOR_HEADERS, "gibbs.h", "gibbs_loops.h", "random.h", "vector_rows.h"],
    "_memory": [],
    "_mhw": ["simd.h", "alias.h", "own_token.h", "random.h", "word_tables.h", "chain.h", "chain_loops.h"],
    "_multinomial": [*VECTOR_HEADERS, "multinomial.h", "multinomial_loops.h"],
    "_nggp": ["nggp.h"],
    "_pairs": [*VECTOR_HEADERS, "pairs.h", "pairs_loops.h", "random.h", "topl.h", "vector_rows.h"],
    "_quadratic": ["simd.h", "for_each_simd.h", "quadratic.h", "quadratic_loops.h"],
    "_random": ["random.h"],
    "_rule": [*VECTOR_HEADERS, "nggp.h", "vector_rows.h", "weigh.h", "weigh_loops.h"],
    "_scvb": [*VECTOR_HEADERS, "own_token.h", "random.h", "scvb.h", "scvb_loops.h", "vector_rows.h"],
    "_sequential": ["nggp.h", "random.h"],
    "_simd": ["simd.h"],
    "_special": [*VECTOR_HEADERS, "packed.h", "tables.h", "special_loops.h", "topl.h"],
    "_topl": ["topl.h"],
    "_words": [*VECTOR_HEADERS, "packed.h", "rows.h", "rows_loops.h", "vector_rows.h"],
}
FOLDER = "sparsemix/_kernels"
BOUNDSCHECK = os.environ.get("SPARSEMIX_BOUNDSCHECK", "0") == "1"
COMPILE_ARGS = ["/O2"] if sys.platform == "win32" else ["-O3"]


class BuildKernels(build_ext):
    """Says in one sentence what to do when there is no working compiler."""

    def run(self):
        """Compile, or stop with that sentence."""
        try:
            super().run()
        except (CCompilerError, ExecError, PlatformError) as error:
            raise SystemExit(
                "sparsemix needs a working C compiler to build its kernels (Debian: apt install gcc libc6-dev, "
                f"macOS: xcode-select --install, Windows: Build Tools for Visual Studio); the compiler said: {error}"
            ) from error


def extensions():
    """One extension for each row of the table."""
    for name, headers in KERNELS.items():
        yield Extension(
            f"sparsemix._kernels.{name}",
            [f"{FOLDER}/{name}.pyx"],
            depends=[f"{FOLDER}/{header}" for header in headers],
            include_dirs=[FOLDER, np.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
            extra_compile_args=COMPILE_ARGS,
        )


setup(
    ext_modules=cythonize(
        list(extensions()),
        compiler_directives={
            "language_level": 3,
            "boundscheck": BOUNDSCHECK,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": BOUNDSCHECK,
            "freethreading_compatible": True,
        },
    ),
    cmdclass={"build_ext": BuildKernels},
)
