"""The table of README.md and paper.md: measured by one command, and measured again in part by CI.

python benchmarks/readme.py                          write the table from benchmarks/results/readme
python benchmarks/readme.py --check                  fail where a page differs from these; part of make lint
python benchmarks/readme.py --measure --data FOLDER  measure all rows again, for about an hour, and write the table
python benchmarks/readme.py --verify --data FOLDER   measure the fast rows again; fail if a score moved beyond its noise

The table stands between two comments. overview.txt has a paragraph for each row: the commands that measure it, and what
it shows; _tables.compare describes the rest. FOLDER holds corpora as benchmarks/README.md says. Rows without their
corpus are not verified, and are named; so are docstrings of other versions of NumPy, SciPy and scikit-learn.
"""

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from _report import print_table
from _results import FOLDER, read_file
from _tables import as_markdown, compare
from evidence import MEMORY, changes, groups, is_speed

HERE = Path(__file__).parent
KEPT = FOLDER / "readme"
README, PAPER = HERE.parent / "README.md", HERE.parent / "paper" / "paper.md"
SPECIFICATION = HERE / "overview.txt"
BLOCK = re.compile(r"(<!-- results -->\n)(.*?)(<!-- end of results -->)", re.DOTALL)
RENEW = "measure the table again: python benchmarks/readme.py --measure --data FOLDER"


def written(text, folder=KEPT):
    """The text with the table as the results have it."""
    lines = as_markdown(compare(SPECIFICATION.read_text(encoding="utf-8"), folder))
    return BLOCK.sub(lambda match: match.group(1) + "\n" + "\n".join(lines) + "\n" + match.group(3), text)


def measure(kind, data, folder, quiet):
    """Run the lines of one kind, "command" or "fast"; the rows that need corpora which are missing."""
    left_out = []
    for paragraph in SPECIFICATION.read_text(encoding="utf-8").strip().split("\n\n"):
        task, *lines = paragraph.splitlines()
        for line in lines:
            name, _, words = line.partition(" = ")
            if name != kind:
                continue
            if "{data}" in words and data is None:
                left_out.append(task)
                continue
            program, *arguments = shlex.split(words.replace("{data}", str(data)))
            print(f"\n{task}: python benchmarks/{program} {shlex.join(arguments)}", flush=True)
            subprocess.run([sys.executable, str(HERE / program), *arguments, "--record", str(folder),
                            *["--quiet-core"] * quiet], check=True)  # fmt: skip
    return left_out


def verify(data):
    """Measure the fast rows again; end with the command that renews the table if a score moved beyond its noise."""
    with tempfile.TemporaryDirectory() as folder:
        left_out = measure("fast", data, folder, quiet=False)
        kept, now = groups(KEPT), groups(folder)
    rows, n_compared = changes(kept, now)
    others = [group[0]["corpus"] for key, group in now.items() if key not in kept]
    moved = [row for row in rows if not is_speed(row[4]) and row[4] not in MEMORY]
    print_table(
        f"Scores of the README's fast rows that moved by more than their noise: {len(moved)}",
        ["table", "corpus", "", "prior", "score", "kept", "now", "noise"], moved, 5,
        notes=[*(f"not measured, for want of --data: {task}" for task in left_out),
               *(f"another corpus or contestant, without a kept result: {corpus}" for corpus in others)],
    )  # fmt: skip
    if moved or not n_compared:
        sys.exit(f"README.md: {len(moved)} of {n_compared} figures that have a kept result moved; {RENEW}")


def main():
    """Write, or check the page and every committed record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--measure", action="store_true", help="measure all rows again")
    parser.add_argument("--verify", action="store_true", help="measure the fast rows again, and compare")
    parser.add_argument("--data", metavar="FOLDER", help="corpora and images")
    parser.add_argument("--quiet-core", action="store_true", help="say in records that nothing else ran on the core")
    options = parser.parse_args()
    if options.verify:
        return verify(options.data)
    if options.measure:
        if options.data is None:
            parser.error("--measure needs --data")
        shutil.rmtree(KEPT, ignore_errors=True)
        measure("command", options.data, KEPT, options.quiet_core)
    for path in sorted(FOLDER.glob("**/*.jsonl")):
        read_file(path)
    for page in (README, PAPER):
        old = page.read_text(encoding="utf-8")
        new = written(old)
        if options.check and new != old:
            sys.exit(f"{page.name}: the table differs from benchmarks/results/readme; run python benchmarks/readme.py")
        if new != old:
            page.write_text(new, encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
