"""Build of the Cython kernels; everything else stands in pyproject.toml.

Every .pyx file below ``sparsemix/_kernels`` is an extension. It depends on the headers and declarations that it
names, directly or through others, and is compiled again when one of them has changed. What Cython needs for
memoryviews is an extension that all others import: a copy in each takes as long to compile as the kernels themselves.

``SPARSEMIX_BOUNDSCHECK=1`` builds with bounds checks on, for the tests; generated C files go to ``build/cython``.
``SPARSEMIX_COMPILE_ARGS`` replaces -O3, for sanitizers. With ``SOURCE_DATE_EPOCH`` the source distribution has the same
bytes in every build.
"""

import gzip
import os
import re
import runpy
import sys
import tarfile
import time
from pathlib import Path
from shutil import which
from sysconfig import get_config_var

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import CCompilerError, ExecError, PlatformError

KERNELS = Path("sparsemix/_kernels")
SHARED = "sparsemix._kernels._memoryviews"
NAMES = re.compile(r'(?:#include|#define LOOPS|cdef extern from) "(\S+\.h)"|from sparsemix\._kernels\.(\S+) cimport')
BOUNDSCHECK = os.environ.get("SPARSEMIX_BOUNDSCHECK", "0") == "1"
# -g0: what Python was built with may ask for debug symbols, which cost a quarter of the time and most of the wheel.
# A header shared by two kernels has functions that one of them does not call, and gcc does not see that loops over the
# columns of a row set all that they read. A pointer of the wrong type is an error.
QUIET = ["-Wno-unused-function", "-Wno-unknown-warning-option", "-Wno-maybe-uninitialized"]
CHECKED = ["-O3", "-g0", "-Werror=incompatible-pointer-types", *QUIET]
COMPILE_ARGS = ["/O2", "/std:c11"] if sys.platform == "win32" else CHECKED
COMPILE_ARGS = os.environ.get("SPARSEMIX_COMPILE_ARGS", "").split() or COMPILE_ARGS
# One wheel for all Python versions from 3.11 on, through the stable ABI, which builds without the global lock lack.
STABLE_ABI = not get_config_var("Py_GIL_DISABLED")
MACROS = [("Py_LIMITED_API", "0x030B0000")] if STABLE_ABI else []
N_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
# exp, log and the like are in a library of their own, which wheels name: Python itself need not have loaded it.
LIBRARIES = [] if sys.platform == "win32" else ["m"]
RELATIVE_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)]+)\)")
REMEDY = (
    "sparsemix needs a working C compiler to build its kernels (Debian: apt install gcc libc6-dev, macOS: "
    "xcode-select --install, Windows: Build Tools for Visual Studio)"
)


class BuildKernels(build_ext):
    """Compiles on all cores, tells what it compiles, and what to do when there is no working compiler."""

    def finalize_options(self):
        """As many compilers at once as there are cores."""
        super().finalize_options()
        self.parallel = self.parallel or N_CORES

    def run(self):
        """Compile, or stop with the remedy."""
        try:
            super().run()
        except (CCompilerError, ExecError, PlatformError) as error:
            raise SystemExit(f"{error}\n{REMEDY}") from None

    def build_extensions(self):
        """Link without the folders of Python's own libraries: they would be searched wherever a wheel is installed."""
        if linker := getattr(self.compiler, "linker_so", None):
            self.compiler.linker_so = without_search_paths(linker)
        self.n_started, self.n_stale = 0, sum(map(self.is_stale, self.extensions))
        super().build_extensions()
        if self.n_started and sys.stderr.isatty():
            print(file=sys.stderr)

    def built(self, ext):
        """Path of a compiled kernel."""
        path = Path(self.get_ext_fullpath(ext.name))
        if self.editable_mode:  # which builds in a new folder each time and copies the result back
            here = Path(*ext.name.split(".")[:-1], path.name)
            path = here if here.exists() else path
        return path

    def is_stale(self, ext):
        """Whether a kernel is missing or older than what it depends on."""
        built = self.built(ext)
        newest = max(Path(name).stat().st_mtime for name in [*ext.sources, *ext.depends])
        return self.force or not built.exists() or built.stat().st_mtime < newest

    def build_extension(self, ext):
        """Compile one kernel, unless there is one that is newer than all it depends on."""
        if self.is_stale(ext):
            self.n_started += 1
            told = f"compiling {self.n_started} of {self.n_stale}: {ext.name}"
            print(f"\r\033[K{told}" if sys.stderr.isatty() else f"{told}\n", end="", file=sys.stderr, flush=True)
        elif self.editable_mode:
            wanted = Path(self.get_ext_fullpath(ext.name))
            wanted.parent.mkdir(parents=True, exist_ok=True)
            self.copy_file(self.built(ext), wanted)
            return
        begun = time.time()
        super().build_extension(ext)
        if (path := Path(self.get_ext_fullpath(ext.name))).stat().st_mtime > begun:
            os.utime(path, (begun, begun))  # what is saved meanwhile is newer than the kernel

    def copy_extensions_to_source(self):
        """Remove kernels of earlier builds too: named for one version of Python, they would be imported instead."""
        super().copy_extensions_to_source()
        for ext in self.extensions:
            built = Path(self.get_ext_filename(ext.name))
            for other in built.parent.glob(f"{built.name.partition('.')[0]}.*{built.suffix}"):
                if other.name != built.name:
                    other.unlink()


class PackSources(sdist):
    """Packs without what differs between machines: times, owners, the umask and the order of files in a folder."""

    def make_archive(self, base_name, *_, base_dir, **_options):
        """Write NAME.tar.gz, the only format that package indexes take."""
        written = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())

        def plain(member):
            member.mtime, member.uid, member.gid, member.uname, member.gname = written, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            return member

        path = f"{base_name}.tar.gz"
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=written) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            archive.add(base_dir, filter=plain)  # which adds a folder's files in the order of their names
        return path


def shown_on_an_index(readme, repository, version):
    """README with the addresses of its links to files; without an address links are text, and pictures are left out."""

    def absolute(link):
        picture, text, target = link.groups()
        if not repository:
            return "" if picture else text
        return f"{picture}[{text}]({repository}/{'raw' if picture else 'blob'}/v{version}/{target})"

    return RELATIVE_LINK.sub(absolute, readme)


def addresses():
    """Arguments of setup that follow from the addresses in ``sparsemix/_version.py``."""
    known = runpy.run_path("sparsemix/_version.py")
    site, repository = known["SITE"], known["REPOSITORY"]
    changes = repository and f"{repository}/blob/main/CHANGELOG.md"
    named = {"Documentation": site, "Source": repository, "Changelog": changes}
    readme = Path("README.md").read_text(encoding="utf-8")
    return {
        "project_urls": {name: address for name, address in named.items() if address},
        "long_description": shown_on_an_index(readme, repository, known["__version__"]),
        "long_description_content_type": "text/markdown",
    }


def without_search_paths(command):
    """A linker's command without -Wl,-rpath, which many a build of Python puts into LDSHARED."""
    return [word for word in command if not word.startswith("-Wl,-rpath")]


def dependencies(path):
    """Headers and declarations that a source names, directly or through others, and what its own .pxd names."""
    own = path.with_suffix(".pxd")
    found, todo = (set(), [path]) if not own.exists() else ({own}, [path, own])
    while todo:
        for header, module in NAMES.findall(todo.pop().read_text(encoding="utf-8")):
            named = KERNELS / (header or module.replace(".", "/") + ".pxd")
            named = named if named.exists() else path.parent / header  # a header of the same folder
            if named not in found:
                found.add(named)
                todo.append(named)
    return sorted(found)


def extension(name, sources, depends=()):
    """An extension with the flags of all."""
    return Extension(
        name, sources, depends=list(depends), include_dirs=[KERNELS.as_posix()], libraries=LIBRARIES,
        define_macros=MACROS, py_limited_api=STABLE_ABI, extra_compile_args=COMPILE_ARGS,
    )  # fmt: skip


def extensions():
    """One for each kernel; those with most to compile first, so that no core is idle at the end."""
    yield extension(SHARED, [f"{SHARED.replace('.', '/')}.c"])
    kernels = {path: dependencies(path) for path in KERNELS.glob("*/*.pyx")}
    size = {path: sum(part.stat().st_size for part in (path, *named)) for path, named in kernels.items()}
    for path in sorted(kernels, key=size.get, reverse=True):
        depends = [named.as_posix() for named in kernels[path]]
        yield extension(f"sparsemix._kernels.{path.parent.name}.{path.stem}", [path.as_posix()], depends)


def main():
    """Look for a compiler before anything is done, then build."""
    compiler = os.environ.get("CC") or get_config_var("CC")
    if compiler and which(compiler.split()[0]) is None and "sdist" not in sys.argv:
        raise SystemExit(f"there is no {compiler.split()[0]} on the path; {REMEDY}")
    translated = "build/cython-bounds" if BOUNDSCHECK else "build/cython"
    if not Path(translated).exists():
        print("translating the kernels to C", file=sys.stderr, flush=True)
    modules = cythonize(
        list(extensions()),
        nthreads=N_CORES,
        build_dir=translated,
        shared_utility_qualified_name=SHARED,
        quiet=True,
        compiler_directives={
            "language_level": 3,
            "boundscheck": BOUNDSCHECK,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": BOUNDSCHECK,
            "freethreading_compatible": True,
        },
    )
    options = {"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE_ABI else {}
    commands = {"build_ext": BuildKernels, "sdist": PackSources}
    setup(ext_modules=modules, cmdclass=commands, options=options, **addresses())


if __name__ == "__main__":
    main()
