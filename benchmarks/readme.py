"""The table of README.md and paper.md: measured by one command, and measured again in part by CI.

python benchmarks/readme.py                          write the table from benchmarks/results/readme
python benchmarks/readme.py --check                  fail where a page differs from these; part of make lint
python benchmarks/readme.py --measure --data FOLDER  measure all rows again, for about an hour, and write the table
python benchmarks/readme.py --verify --data FOLDER   measure the fast rows again; fail if a score moved beyond its noise

The table stands between two comments. overview.toml has the commands that measure each row, and what it shows. FOLDER
holds corpora as benchmarks/README.md says. Rows without their corpus are not verified, and are named; so are docstrings
of other versions of NumPy, SciPy and scikit-learn.
"""

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from pathlib import Path
from statistics import mean, stdev

import pandas as pd
from _results import FOLDER, RecordError, identity, read, read_file
from _tables import NUMBER, TUNED, cell, check_alike, choose, column, frame, notes

HERE = Path(__file__).parent
KEPT = FOLDER / "readme"
README, PAPER = HERE.parent / "README.md", HERE.parent / "paper" / "paper.md"
ROWS = tomllib.loads((HERE / "overview.toml").read_text(encoding="utf-8"))["row"]
BLOCK = re.compile(r"(<!-- results -->\n)(.*?)(<!-- end of results -->)", re.DOTALL)
RENEW = "measure the table again: python benchmarks/readme.py --measure --data FOLDER"


def written(text, folder=KEPT):
    """The text with the table as the results have it."""
    lines = markdown(*overview(folder))
    return BLOCK.sub(lambda match: match.group(1) + "\n" + "\n".join(lines) + "\n" + match.group(3), text)


def overview(folder):
    out, shown = [], []
    for row in ROWS:
        data, _ = choose(frame(read(row["results"], folder)), [f"where {row['where']}"] if "where" in row else [])
        line, own, best = {"task": row["task"], "score": row["score"]}, None, []
        for package, contestants in row["packages"].items():
            groups = {name: best_group(data, label, row["cell"]) for name, label in contestants.items()}
            own = next(iter(groups.values())) if own is None else own
            line[package] = "; ".join(f"{name}: {cell(group, row['cell'])}{by_then(own, group, row['cell'])}"
                                      for name, group in groups.items())  # fmt: skip
            best += groups.values()
        line["task"] += TUNED * any(group["tuned"].any() for group in best)
        out.append(line)
        shown += best
    return pd.DataFrame(out).fillna(""), notes(pd.concat(shown), [len(group) for group in shown])


def best_group(data, label, template):
    """The records of a label, with the prior for which the first number of the cell has the largest mean."""
    field, data = NUMBER.search(template).group(2), data[data["label"] == label]
    if data.empty:
        raise RecordError(f"no record with label {label}")
    best = max((group for _, group in data.groupby("prior")), key=lambda group: column(group, field).mean())
    check_alike(best)
    return best


def by_then(own, group, template):
    """The own package's score when this group's fits were over, if its own lasted longer and it has a curve."""
    end = group["seconds"].mean()
    if own["seconds"].mean() <= end or column(own, "curve").isna().all():
        return ""
    _, field, form = NUMBER.search(template).groups()
    score = cell(own, f"{{mean at({end}).{field.rpartition('.')[2]}:{form}}}")
    return f" (sparsemix by then: {score})" if score else " (sparsemix: in its first epoch)"


def markdown(cells, remarks):
    """Lines of the table, with its notes but for commands and seeds, which pages of measurements have."""
    rows = [[one.replace("|", r"\|") for one in row] for row in cells.to_numpy().tolist()]
    lines = ["| " + " | ".join(row) + " |" for row in [list(cells), *rows]]
    lines.insert(1, "|" + "---|" * len(cells.columns))
    return [*lines, "", *textwrap.wrap(" ".join(remarks[2:]), 120, break_on_hyphens=False)]


def measure(kind, data, folder, quiet):
    """Run the lines of one kind, "command" or "fast"; the rows that need corpora which are missing."""
    left_out = []
    for row in ROWS:
        if kind not in row:
            continue
        if "{data}" in row[kind] and data is None:
            left_out.append(row["task"])
            continue
        program, *arguments = shlex.split(row[kind].replace("{data}", str(data)))
        print(f"\n{row['task']}: python benchmarks/{program} {shlex.join(arguments)}", flush=True)
        subprocess.run([sys.executable, str(HERE / program), *arguments, "--record", str(folder),
                        *["--quiet-core"] * quiet], check=True)  # fmt: skip
    return left_out


def scores(folder):
    """Scores over seeds, by what they measure; seconds, memory and speeds are left out."""
    records = [record for path in sorted(Path(folder).glob("*.jsonl")) for record in read_file(path)]
    out = {}
    for record in records:
        for name, value in record["scores"].items():
            if value is not None and "second" not in name:
                key = identity(record, without=("seed",)), f"{record['corpus']}, {record.get('label')}: {name}"
                out.setdefault(key, []).append(value)
    return out


def changes(kept, now):
    """Scores that moved by more than three standard deviations over seeds, and by 0.01 and 0.3 % at least."""
    moved = {}
    for key in kept.keys() & now.keys():
        was, new = mean(kept[key]), mean(now[key])
        spread = [stdev(values) for values in (kept[key], now[key]) if len(values) > 1]
        if abs(new - was) > max([0.01 + 0.003 * abs(was), *(3.0 * value for value in spread)]):
            moved[key] = was, new
    return moved


def verify(data):
    """Measure the fast rows again; end with the command that renews the table if a score moved beyond its noise."""
    with tempfile.TemporaryDirectory() as folder:
        left_out = measure("fast", data, folder, quiet=False)
        kept, now = scores(KEPT), scores(folder)
    moved = changes(kept, now)
    for (_, name), (was, new) in moved.items():
        print(f"{name} was {was:.4g} and is {new:.4g}")
    print("\n".join([*(f"not measured, because --data is missing: {task}" for task in left_out),
                     *(f"without a kept result: {name}" for _, name in now.keys() - kept.keys())]))  # fmt: skip
    if moved or not kept.keys() & now.keys():
        sys.exit(f"README.md: {len(moved)} of {len(kept.keys() & now.keys())} scores moved; {RENEW}")


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
