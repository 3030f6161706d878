"""Kernels compile without extensions of gcc and clang, as other compilers need: all of these stand in one header."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import sparsemix

KERNELS = Path(sparsemix.__file__).parent / "_kernels"
HEADERS = sorted(KERNELS.rglob("*.h"))
PORTABLE = KERNELS / "vectors" / "portable.h"
EXTENSION = re.compile(
    r"__attribute__|__builtin_(?!cpu_)|__declspec|__forceinline|__inline|__restrict|\btypeof\b|__typeof|__extension__"
    r"|\(\{|#pragma|_Pragma|\balloca\b|__int128|__GNUC__|_MSC_VER|__asm"
)
# Headers that kernels include, each with all that it includes, and by themselves.
NAMED = sorted(
    {
        name
        for path in [*KERNELS.rglob("*.pyx"), *KERNELS.rglob("*.pxd")]
        for name in re.findall(r'cdef extern from "([^<"]+)"', path.read_text(encoding="utf-8"))
    }
)
STANDARD = ("float", "limits", "math", "sched", "stddef", "stdint", "stdlib", "string", "time")  # and of POSIX
POISON = "__attribute__ __builtin_prefetch __builtin_ctzll __builtin_popcountll __builtin_convertvector typeof"


def test_extensions_stand_in_one_header():
    found = {}
    for path in HEADERS:
        code = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        if path != PORTABLE and EXTENSION.findall(code):
            found[path.name] = EXTENSION.findall(code)
    assert not found


def compiles(compiler, source, *flags):
    command = [compiler, "-x", "c", "-fsyntax-only", "-I", str(KERNELS), *flags, "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    return done.stderr


@pytest.fixture(params=["gcc", "clang", "aarch64-linux-gnu-gcc"])
def compiler(request):
    """Each compiler that is installed; the last one is for processors without the instruction sets of x86."""
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    return request.param


def test_headers_are_plain_c(compiler):
    """C11 to the letter, with the extensions poisoned: what a compiler without them is given."""
    standard = "".join(f"#include <{header}.h>\n" for header in STANDARD)
    flags = ("-std=c11", "-pedantic-errors", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror")
    for name in NAMED:
        source = f'{standard}#pragma GCC poison {POISON}\n#include "{name}"\n'
        assert compiles(compiler, source, "-DSPARSEMIX_PLAIN_C", *flags) == "", name


@pytest.mark.slow
def test_headers_have_no_warnings(compiler):
    flags = ("-std=c11", "-Wall", "-Wextra", "-Wvla", "-Wno-unused-function", "-Wno-psabi")
    for name in NAMED:
        assert compiles(compiler, f'#include "{name}"\n', *flags) == "", name
