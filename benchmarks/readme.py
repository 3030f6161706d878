"""The table and the figure of README.md and paper.md: measured by one command, and measured again in part by CI.

python benchmarks/readme.py                          write the table from benchmarks/results/readme
python benchmarks/readme.py --check                  fail where a page differs from these; part of make lint
python benchmarks/readme.py --measure --data FOLDER  measure all rows again, for about an hour, and write the table
python benchmarks/readme.py --verify --data FOLDER   measure the fast rows again; fail if a score moved beyond its noise

The table stands between two comments. overview.toml has the commands that measure each row, and what it shows. All
records are of one commit, machine and set of versions, or there is no table; the figure shows the first row's. FOLDER
holds corpora as benchmarks/README.md says. Rows without their corpus are not verified, and are named; so are docstrings
of other versions of NumPy, SciPy and scikit-learn.
"""

import argparse
import queue
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean, stdev

import pandas as pd
from _measure import CORES, pin
from _results import FOLDER, RecordError, identity, read, read_file, read_lines, write
from _tables import NUMBER, TUNED, cell, check_alike, choose, column, frame, notes
from topics import PRIORS, given_priors

import sparsemix

HERE = Path(__file__).parent
KEPT = FOLDER / "readme"
README, FIGURE = HERE.parent / "README.md", HERE.parent / "paper" / "topics.png"
OVERVIEW = tomllib.loads((HERE / "overview.toml").read_text(encoding="utf-8"))
ROWS, RATIO = OVERVIEW["row"], OVERVIEW["ratio"]
# Pages with the ratio of seconds of small fits.
PHRASE = re.compile(r"[\d.]+\s+to\s+[\d.]+\s+times\s+as\s+(fast|long)\s+\(median\s+[\d.]+\)")
PAGES = ("README.md", "paper/paper.md", "doc/index.rst", "doc/comparisons/scikit_learn.rst",
         "doc/measured/mixture_defaults.rst")  # fmt: skip
BLOCK = re.compile(r"(<!-- results -->\n)(.*?)(<!-- end of results -->)", re.DOTALL)
SEEDS = 3  # of every cell
OF_CELL = ["table", "corpus", "label", "prior"]
RENEW = "measure the table again: python benchmarks/readme.py --measure --data FOLDER"


def written(text, folder=KEPT):
    """The text with the table and the ratio as the results have them."""
    low, high, middle = ratio(folder)
    text = PHRASE.sub(lambda match: f"{low:.1f} to {high:.1f} times as {match.group(1)} (median {middle:.1f})", text)
    lines = markdown(*overview(folder)) if BLOCK.search(text) else []
    return BLOCK.sub(lambda match: match.group(1) + "\n" + "\n".join(lines) + "\n" + match.group(3), text)


def ratio(folder):
    """Ratios of seconds of our fits of small tables to GaussianMixture's: 10 % and 90 % quantiles, and the median."""
    data = frame(read(RATIO["results"], folder))
    small = data[~data["corpus"].isin(RATIO["large"])]
    seconds = small.astype({"seconds": float}).pivot_table(
        "seconds", ["corpus", "parameters.covariance_type"], "estimator", aggfunc="median"
    )  # fmt: skip
    ratios = seconds["SparseGaussianMixture"] / seconds["GaussianMixture"]
    return ratios.quantile([0.1, 0.9, 0.5])


def overview(folder):
    """Cells of the table and its notes; an error if its records are not of one run."""
    out, shown = [], []
    for row in ROWS:
        groups = chosen(row, folder)
        own, line = groups[0][2], {"task": row["task"], "score": row["score"]}
        line["task"] += TUNED * any(group["tuned"].any() for *_, group in groups)
        for package, name, group in groups:
            text = f"{name}{brackets(group, row['given'])}: {cell(group, row['cell'])}"
            text += remarks(own, group, row["cell"])
            line[package] = "; ".join(filter(None, (line.get(package), text)))
        out.append(line)
        shown += [group for *_, group in groups]
    shown = pd.concat(shown)
    check_one_run(shown)
    *others, last = notes(shown, [SEEDS])
    return pd.DataFrame(out).fillna(""), [*others, last.replace(", sources ", ", commit ")]


def chosen(row, folder=KEPT):
    """Of each contestant of a row its package, its name and its records; the first is ours."""
    data, _ = choose(frame(read(row["results"], folder)), [f"where {row['where']}"] if "where" in row else [])
    out = []
    for package, contestants in row["packages"].items():
        for name, labels in contestants.items():
            out.append((package, name, best_group(data, labels, row["cell"], own=out[0][2] if out else None)))
    return out


def check_one_run(data):
    """The table compares: its records share a commit that is in the history, machine, versions and number of seeds."""
    for field in ("commit", "clock", *(name for name in data if name.startswith(("machine.", "versions.")))):
        values = data[field].map(str).unique()
        if len(values) > 1:
            raise RecordError(f"the table would compare records with {field} {' and '.join(sorted(values))}; {RENEW}")
    seeds = {group["seed"].nunique() for _, group in data.groupby(OF_CELL)}
    if seeds != {SEEDS}:
        raise RecordError(f"cells of the table have {sorted(seeds)} seeds, and not {SEEDS}; {RENEW}")


def best_group(data, labels, template, own):
    """The records of the setting with the best mean score, among those that take no more time than they may.

    That is the time of the package's default, which comes first, or that of sparsemix.
    """
    field = NUMBER.search(template).group(2)
    tried = [group for label in ([labels] if isinstance(labels, str) else labels)
             for _, group in data[data["label"] == label].groupby("prior", sort=False)]  # fmt: skip
    if not tried:
        raise RecordError(f"no record with label {labels}")
    limit = max(group["seconds"].mean() for group in tried[:1] + ([] if own is None else [own]))
    best = max((group for group in tried if group["seconds"].mean() <= 1.1 * limit),  # seconds differ by so much alone
               key=lambda group: column(group, field).mean())  # fmt: skip
    check_alike(best)
    return best


def brackets(group, given):
    """Parameters that differ from defaults, but for those that the task gives to all."""
    record = group.iloc[0]
    parameters = {name: value for name, value in record["parameters"].items() if name not in given}
    if record["prior"] in PRIORS:
        parameters |= given_priors(record["label"], record["prior"], record["parameters"]["n_components"])
    text = ", ".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                     for name, value in parameters.items())  # fmt: skip
    return f" ({text})" if text else ""


def remarks(own, group, template):
    """Whether a fit was left at its limit, and the score of sparsemix at the end of a shorter one."""
    limit = column(group, "parameters.budget").dropna()
    if len(limit) and (group["seconds"].astype(float) >= limit.astype(float)).any():
        return " (not at its end)"
    return by_then(own, group, template)


def by_then(own, group, template):
    """The own package's score when this group's fits were over, if its own lasted longer and it has a curve."""
    end = group["seconds"].mean()
    if own["seconds"].mean() <= end or column(own, "curve").isna().all():
        return ""
    _, field, form = NUMBER.search(template).groups()
    score = cell(own, f"{{mean at({end}).{field.rpartition('.')[2]}:{form}}}")
    return f" (sparsemix by then: {score})" if score else " (sparsemix: in its first epoch)"


def markdown(cells, remarks):
    """Lines of the table, with its notes but for the commands, which overview.toml has."""
    rows = [[one.replace("|", r"\|") for one in row] for row in cells.to_numpy().tolist()]
    lines = ["| " + " | ".join(row) + " |" for row in [list(cells), *rows]]
    lines.insert(1, "|" + "---|" * len(cells.columns))
    return [*lines, "", *textwrap.wrap(" ".join(remarks[1:]), 120, break_on_hyphens=False)]


def measure(kind, data, folder, quiet):
    """Run the lines of one kind, "command" or "fast", one on each core; the rows whose corpora are missing.

    Each row has a folder until all have ended, because two may be of one table.
    """
    rows = [row for row in (RATIO, *ROWS) if kind in row]
    ready = [row for row in rows if data is not None or "{data}" not in row[kind]]
    free = queue.SimpleQueue()
    for core in CORES[:1] if quiet else CORES:
        free.put(core)

    def run(row, part):
        program, *arguments = shlex.split(row[kind].replace("{data}", str(data)))
        core = free.get()
        try:
            print(f"\n{row['task']}: python benchmarks/{program} {shlex.join(arguments)}", flush=True)
            words = [sys.executable, str(HERE / program), *arguments, "--record", part, *["--quiet-core"] * quiet]
            subprocess.run(words, check=True, preexec_fn=lambda: pin([core]))
        finally:
            free.put(core)

    with tempfile.TemporaryDirectory() as parts, ThreadPoolExecutor(free.qsize()) as threads:
        folders = [str(Path(parts, str(number))) for number in range(len(ready))]
        list(threads.map(run, ready, folders))
        for path in (path for part in folders for path in sorted(Path(part).glob("*.jsonl"))):
            for line in read_lines(path):
                write(line, folder)
    return [row["task"] for row in rows if row not in ready]


def scores(folder):
    """Scores over seeds, by what they measure and whether they are ours; seconds, memory and speeds are left out."""
    records = [record for path in sorted(Path(folder).glob("*.jsonl")) for record in read_file(path)]
    out = {}
    for record in records:
        for name, value in record["scores"].items():
            if value is not None and "second" not in name:
                what = f"{record['corpus']}, {record.get('label')}: {name}"
                key = identity(record, without=("seed",)), what, record["estimator"] in sparsemix.__all__
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
    """Measure the fast rows again; end with the command that renews the table if our score moved beyond its noise.

    A score of a peer depends on the processor: HDBSCAN found 20 clusters of digits with AVX-512, and 21 without it.
    """
    with tempfile.TemporaryDirectory() as folder:
        left_out = measure("fast", data, folder, quiet=False)
        kept, now = scores(KEPT), scores(folder)
    moved = changes(kept, now)
    for (_, name, is_ours), (was, new) in moved.items():
        print(f"{name} was {was:.4g} and is {new:.4g}{'' if is_ours else ', of a peer'}")
    print("\n".join([*(f"not measured, because --data is missing: {task}" for task in left_out),
                     *(f"without a kept result: {name}" for _, name, _ in now.keys() - kept.keys())]))  # fmt: skip
    moved = [key for key in moved if key[2]]
    if moved or not kept.keys() & now.keys():
        sys.exit(f"README.md: {len(moved)} of {len(kept.keys() & now.keys())} scores moved; {RENEW}")


def draw(check):
    """Draw the figure of the records of the table, or check that it is of their commit."""
    commit = read("topics", KEPT)[0]["commit"]
    if not check:
        subprocess.run([sys.executable, str(FIGURE.with_name("figure.py"))], check=True)
    if commit.encode() not in FIGURE.read_bytes():
        sys.exit(f"{FIGURE.name} is not of commit {commit}, as the table is; run python benchmarks/readme.py")


def check_commit(commit):
    """The commit can be checked out, where this is a whole clone."""
    asked = (["rev-parse", "--is-shallow-repository"], ["cat-file", "-e", f"{commit}^{{commit}}"])
    shallow, found = (subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=False)
                      for words in asked)  # fmt: skip
    if shallow.stdout.strip() == "false" and found.returncode:
        sys.exit(f"the history has no commit {commit}, which the table was measured at; {RENEW}")


def main():
    """Write, or check the pages, the figure and every committed record."""
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
        with tempfile.TemporaryDirectory() as folder:
            measure("command", options.data, folder, options.quiet_core)
            shutil.rmtree(KEPT, ignore_errors=True)
            shutil.copytree(folder, KEPT)
    for path in sorted(FOLDER.glob("**/*.jsonl")):
        read_file(path)
    for page in map(HERE.parent.joinpath, PAGES):
        old = page.read_text(encoding="utf-8")
        new = written(old)
        if options.check and new != old:
            sys.exit(f"{page.name}: the table differs from benchmarks/results/readme; run python benchmarks/readme.py")
        if new != old:
            page.write_text(new, encoding="utf-8")
    check_commit(read("topics", KEPT)[0]["commit"])
    return draw(options.check)


if __name__ == "__main__":
    main()
