"""Checks the source distribution: ``python .ci/sources.py dist/*.tar.gz``, two builds of one revision.

It holds what git tracks, less what ``NOT_PACKED`` names, and what setuptools writes; both builds have the same bytes.
The description that a package index shows has no relative links, which would lead nowhere there.
"""

import email
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_PACKED = (".github/", ".gitignore", "findings/")
WRITTEN = ("PKG-INFO", "setup.cfg", "sparsemix.egg-info/")
# Links and pictures of Markdown, also by reference, and of HTML.
LINK = re.compile(r"\]\(\s*<?([^)\s>]*)|^\[[^\]]+\]:\s*<?([^\s>]+)|\b(?:href|src)=[\"']?([^\s\"'>]*)", re.MULTILINE)


def tracked():
    """Files that git tracks and a user of the sources needs."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in names.split("\0") if name and not name.startswith(NOT_PACKED)}


def packed(path):
    """Content of each file of an archive, without the name of its top folder."""
    with tarfile.open(path) as archive:
        return {m.name.partition("/")[2]: archive.extractfile(m).read() for m in archive if m.isfile()}


def relative_links(metadata):
    """Targets in the description that are no addresses."""
    description = email.message_from_bytes(metadata).get_payload(decode=True).decode()
    targets = (target for found in LINK.findall(description) for target in found if target)
    return [target for target in targets if not re.match(r"\w+:|#", target)]


def main(first, second):
    """Print what is wrong with the archive; the exit status counts as failure if anything is."""
    wanted, files = tracked(), packed(first)
    wrong = [
        f"README.md links {target}, which package indexes do not have; write [TEXT](FILE), which setup.py rewrites"
        for target in relative_links(files["PKG-INFO"])
    ]
    files = {name: content for name, content in files.items() if not name.startswith(WRITTEN)}
    wrong += [f"{name} is missing; MANIFEST.in must name it" for name in sorted(wanted - files.keys())]
    wrong += [f"{name} is not tracked; MANIFEST.in must leave it out" for name in sorted(files.keys() - wanted)]
    wrong += [
        f"{name} differs from the file in this folder; build again"
        for name in sorted(wanted & files.keys()) if files[name] != (ROOT / name).read_bytes()
    ]  # fmt: skip
    if Path(first).read_bytes() != Path(second).read_bytes():
        wrong += [f"{first} and {second} differ; set SOURCE_DATE_EPOCH for both builds"]
    print(*wrong, f"{Path(first).name}: {len(files)} tracked files, {Path(first).stat().st_size} bytes", sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
