"""The table of README.md, from committed results.

python benchmarks/readme.py           write it
python benchmarks/readme.py --check   fail where it differs from the results; part of make lint

The table stands between two comments. overview.txt says which results it shows; _tables.compare describes that file.
"""

import argparse
import re
import sys
from pathlib import Path

from _results import FOLDER, read_file
from _tables import as_markdown, compare

README = Path(__file__).parents[1] / "README.md"
SPECIFICATION = Path(__file__).with_name("overview.txt")
BLOCK = re.compile(r"(<!-- results -->\n)(.*?)(<!-- end of results -->)", re.DOTALL)


def written(text, folder=FOLDER):
    """The text with the table as the results have it."""
    lines = as_markdown(compare(SPECIFICATION.read_text(encoding="utf-8"), folder))
    return BLOCK.sub(lambda match: match.group(1) + "\n" + "\n".join(lines) + "\n" + match.group(3), text)


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
        sys.exit("README.md: the table differs from benchmarks/results; run python benchmarks/readme.py")
    if new != old:
        README.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
