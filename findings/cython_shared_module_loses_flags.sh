#!/usr/bin/env bash
# Cython 3.1.8, setuptools 80.9.0: cythonize drops the flags of the module that shares memoryviews.
#
# Expected: the extension that shared_utility_qualified_name names is compiled with the arguments of its Extension, as
# every other extension of the list is.
# Seen: define_macros and extra_compile_args are empty, while py_limited_api stays true. The module is then named for
# the stable ABI (.abi3.so) without being compiled for it, and nothing is said. Cython 3.2.0 keeps the arguments.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo 'def first(double[::1] x): return x[0]' > kernel.pyx
cat > show.py <<'PYTHON'
from Cython.Build import cythonize
from setuptools import Extension


def extension(name, source):
    return Extension(name, [source], define_macros=[("Py_LIMITED_API", "0x030B0000")], py_limited_api=True,
                     extra_compile_args=["-O1"])


modules = cythonize([extension("kernel", "kernel.pyx"), extension("shared", "shared.c")],
                    shared_utility_qualified_name="shared", build_dir="generated", quiet=True)
for module in modules:
    print(module.name, len(module.define_macros), module.extra_compile_args, module.py_limited_api)
PYTHON
shown() {
    python3 -m venv "$1"
    "$1/bin/pip" install --quiet --disable-pip-version-check "cython==$1" setuptools==80.9.0
    rm -rf generated
    "$1/bin/python" show.py
}
old=$(shown 3.1.8)
new=$(shown 3.2.0)
printf '3.1.8:\n%s\n3.2.0:\n%s\n' "$old" "$new"
[ "$old" = "kernel 1 ['-O1'] True
shared 0 [] True" ]
[ "$new" = "kernel 1 ['-O1'] True
shared 1 ['-O1'] True" ]
