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


@pytest.mark.parametrize("path", [path for path in HEADERS if path != PORTABLE], ids=lambda path: path.name)
def test_extensions_stand_in_one_header(path):
    code = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert EXTENSION.findall(code) == []


def compilers():
    """Those that are installed; the last one is for processors without the instruction sets of x86."""
    return [name for name in ("gcc", "clang", "aarch64-linux-gnu-gcc") if shutil.which(name)]


def compiles(compiler, source, *flags):
    command = [compiler, "-x", "c", "-fsyntax-only", "-I", str(KERNELS), *flags, "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, timeout=100, check=False)
    return done.stderr


@pytest.mark.parametrize("name", NAMED)
def test_header_is_plain_c(name):
    """C11 to the letter, with the extensions poisoned: what a compiler without them is given."""
    standard = "".join(f"#include <{header}.h>\n" for header in STANDARD)
    source = f'{standard}#pragma GCC poison {POISON}\n#include "{name}"\n'
    if not compilers():
        pytest.skip("none of gcc, clang and the cross compiler for aarch64 is installed")
    for compiler in compilers():
        flags = ("-std=c11", "-pedantic-errors", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror")
        assert compiles(compiler, source, "-DSPARSEMIX_PLAIN_C", *flags) == ""


@pytest.mark.parametrize("name", NAMED)
def test_header_has_no_warnings(name):
    if not compilers():
        pytest.skip("none of gcc, clang and the cross compiler for aarch64 is installed")
    for compiler in compilers():
        flags = ("-std=c11", "-Wall", "-Wextra", "-Wvla", "-Wno-unused-function", "-Wno-psabi")
        assert compiles(compiler, f'#include "{name}"\n', *flags) == ""
