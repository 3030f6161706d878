"""Checks what the kernels of a Linux wheel link: ``python .ci/linked.py WHEEL``.

A kernel names no folder of the machine that built it, links libc and libm alone, and calls nothing that glibc 2.28
lacks: cibuildwheel builds the published wheels in its image of manylinux_2_28. The wheel may come from a newer machine.
"""

import io
import re
import sys
import zipfile

from elftools.elf.elffile import ELFFile

OLDEST_GLIBC = (2, 28)
LIBRARIES = re.compile(r"(libc|libm|ld-linux-.*)\.so\.\d+")
# glibc 2.29 gave these a second version, which a newer machine links; 2.28 has the first.
OLD_IN_NEW_VERSIONS = {"exp", "log", "log2", "pow"}


def calls(elf):
    """Names of the functions that a kernel imports, with the version of glibc that each needs."""
    needed = elf.get_section_by_name(".gnu.version_r")
    versions = {aux.entry.vna_other: aux.name for _, names in needed.iter_versions() for aux in names}
    marks = elf.get_section_by_name(".gnu.version")
    for index, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
        version = versions.get(marks.get_symbol(index).entry.ndx, "")
        if version.startswith("GLIBC_2"):
            yield symbol.name, tuple(int(part) for part in version.removeprefix("GLIBC_").split("."))


def complaints(elf):
    """What one kernel links that it must not, as sentences."""
    for tag in elf.get_section_by_name(".dynamic").iter_tags():
        if tag.entry.d_tag in ("DT_RUNPATH", "DT_RPATH"):
            yield f"looks for libraries in {getattr(tag, 'runpath', None) or tag.rpath}; remove the path in setup.py"
        elif tag.entry.d_tag == "DT_NEEDED" and not LIBRARIES.fullmatch(tag.needed):
            yield f"links {tag.needed}; kernels may link libc and libm only"
    for name, version in calls(elf):
        if version > OLDEST_GLIBC and name not in OLD_IN_NEW_VERSIONS:
            yield f"calls {name} of glibc {version[0]}.{version[1]}; 2.28 must have what kernels call"


def main(wheel):
    """Print what is wrong with the kernels of a wheel; the exit status counts as failure if anything is."""
    newest, wrong = (0,), []
    with zipfile.ZipFile(wheel) as archive:
        kernels = [name for name in archive.namelist() if name.endswith(".so")]
        for kernel in kernels:
            elf = ELFFile(io.BytesIO(archive.read(kernel)))
            newest = max([newest, *(version for _, version in calls(elf))])
            wrong += [f"{kernel} {complaint}" for complaint in complaints(elf)]
    print(*wrong, f"{len(kernels)} kernels need glibc {'.'.join(map(str, newest))} or newer", sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
