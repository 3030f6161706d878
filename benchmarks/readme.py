"""Tables of README.md from committed results.

python benchmarks/readme.py           write them anew
python benchmarks/readme.py --check   fail where they are not what the results say; part of make lint

A table stands between two comments; the first names the results and says what of them is shown, as in _tables.py.
"""

import argparse
import re
import sys
from pathlib import Path

from _results import FOLDER, read, read_file
from _tables import as_markdown, make

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"(<!-- results: (\S+)\n(.*?)-->\n)(.*?)(<!-- end of results -->)", re.DOTALL)


def written(text, folder=FOLDER):
    """The text with all tables as the results have them."""

    def fill(match):
        opening, table, specification, _, closing = match.groups()
        lines = as_markdown(make(read(table, folder), specification.splitlines()))
        return opening + "\n" + "\n".join(lines) + "\n" + closing

    return BLOCK.sub(fill, text)


def main():
    """Write, or check the page and every committed record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    for path in sorted(FOLDER.glob("*.jsonl")):
        read_file(path)
    old = README.read_text(encoding="utf-8")
    new = written(old)
    if options.check and new != old:
        sys.exit("README.md: tables are not those of benchmarks/results; run python benchmarks/readme.py")
    if new != old:
        README.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
