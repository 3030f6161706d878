"""Runs the Python of pages as a reader would, block after block, and compares what it prints with the page.

python doc/blocks.py README.md doc/getting_started.rst

The blocks of a page share their names and a working folder that is empty at first. A block of text after a block of
Python is its output: the same lines, but for numbers and words that other versions of packages change; the tests
compare these. Run it with a Python that has the package and nothing else: pages may need no extras.
"""

import io
import re
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from textwrap import dedent

FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"^\.\. code-block:: (\w+)\n\n((?:   .*\n|\n)+)", re.MULTILINE)


def blocks(page):
    """Pairs of code and output, which is None where the page shows none."""
    found = (FENCED if page.suffix == ".md" else DIRECTIVE).findall(page.read_text(encoding="utf-8"))
    after = [*found[1:], ("", "")]
    return [(dedent(code), dedent(text).strip("\n") if kind == "text" else None)
            for (language, code), (kind, text) in zip(found, after, strict=True) if language == "python"]  # fmt: skip


def main(pages):
    """Run the pages; the first block that fails or prints something else ends the program."""
    for page in map(Path.resolve, map(Path, pages)):
        names = {}
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            for number, (code, shown) in enumerate(blocks(page), 1):
                printed = io.StringIO()
                with redirect_stdout(printed):
                    exec(compile(code, f"{page.name}, block {number}", "exec"), names)
                lines, wanted = (text.splitlines() for text in (printed.getvalue(), shown or ""))
                if shown is not None and len(lines) != len(wanted):
                    sys.exit(f"{page.name}, block {number}, printed\n{printed.getvalue()}and the page shows\n{shown}")
        print(f"{page.name}: {number} blocks run")


if __name__ == "__main__":
    main(sys.argv[1:])
