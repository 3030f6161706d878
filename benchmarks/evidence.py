"""Run every benchmark, compare ours with the installed peers, and show what changed since the kept results.

python benchmarks/evidence.py --quick              a tenth of each, under ten minutes on two quiet cores
python benchmarks/evidence.py --data FOLDER        all of it, hours; FOLDER holds corpora as benchmarks/README.md says
python benchmarks/evidence.py --quick --record     and keep it: below benchmarks/results/quick

Corpora that are not there are left out or replaced by the docstrings that are installed, which are smaller; what runs
on what is printed. A figure counts as changed when it moved by more than three standard deviations over seeds, and by
more than ``least_change`` says. Seconds are compared on the same processor and by the same kind of clock only, scores
of fits that the clock ended after other numbers of epochs at the last epoch that both have seen.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean, stdev

from _measure import CORES
from _report import print_table
from _results import FOLDER, identity, read_file, read_lines, write

HERE = Path(__file__).parent
# Programs with their arguments; {NAME} is a file of the folder of corpora, and what lacks its file does without.
QUICK = [
    ["mixture_defaults.py", "--quick"],
    ["mixture.py", "--quick", "--sections", "pass,candidates,sparsity,memory"],
    ["topics.py", "--K", "20", "--seconds", "1", "--cpu"],
    ["topics.py", "--K", "50", "--seconds", "1", "--cpu", "--peers", "none", "--data", "{docword.kos.txt.gz}"],
    ["sharpness.py", "--seeds", "1", "--data", "{docword.news_t.txt.gz}"],
    ["cells.py", "--seconds", "2", "--cpu"],
    ["threads.py", "--K", "50", "--max-iter", "5", "--rounds", "1"],
    ["skipgram.py", "tokens", "--documents", "300", "--K", "10,100"],
    ["skipgram.py", "scores", "--documents", "500", "--K", "50", "--passes", "5", "--settings", "gibbs"],
    ["clusters.py", "bars", "rows", "--quick"],
    ["clusters.py", "growing", "rules", "--quick"],
    ["clusters.py", "table", "--quick", "--data", "{}"],
    ["departures.py", "--quick"],
    ["advice.py", "--quick"],
    ["embeddings.py", "short", "--quick", "--data", "{}"],
    ["scale.py", "--documents", "4000", "--words", "1000", "--K", "50", "--passes", "3"],
]
FULL = [
    ["mixture_defaults.py", "--images", "{images}"],
    ["mixture.py", "--images", "{images}"],
    ["topics.py", "--K", "50", "--seconds", "10", "--seeds", "5"],
    ["topics.py", "--K", "50", "--seconds", "4", "--seeds", "5", "--data", "{docword.kos.txt.gz}"],
    ["topics.py", "--K", "200", "--seconds", "20", "--seeds", "5", "--data", "{docword.nips.txt.gz}"],
    ["topics.py", "--K", "100", "--seconds", "4", "--seeds", "5", "--data", "{docword.tweets_t.txt.gz}"],
    ["topics.py", "--K", "200", "--seconds", "25", "--estimators", "SparseSCVB0LDA", "--peers", "tomotopy",
     "--params", '{"SparseSCVB0LDA": {"max_iter": 5}}', "--data", "{docword.arxiv.txt.gz}"],
    ["topics.py", "--transform", "--K", "200", "--data", "{docword.nips.txt.gz}"],
    *(["sharpness.py", "--data", f"{{docword.{name}.txt.gz}}"]
      for name in ("kos", "ap", "news_t", "tweets_t", "reuters21578", "20news", "nips")),
    ["cells.py", "--full", "--K", "50,200", "--seconds", "60"],
    ["threads.py", "--data", "{docword.nips.txt.gz}"],
    ["threads.py", "--K", "200,1000", "--max-iter", "5", "--rounds", "1", "--estimators", "SparseSCVB0LDA",
     "--data", "{docword.arxiv.txt.gz}"],
    ["skipgram.py", "tokens", "--documents", "2000", "--data", "{tokens.reuters21578.txt.gz}"],
    ["skipgram.py", "scores", "--documents", "4000", "--K", "500", "--data", "{tokens.arxiv.txt.gz}"],
    ["skipgram.py", "senses", "--documents", "4000", "--data", "{tokens.arxiv.txt.gz}"],
    ["skipgram.py", "support", "--documents", "4000", "--K", "500,2000,5000", "--data", "{tokens.arxiv.txt.gz}"],
    ["clusters.py", "bars", "rows", "pitman-yor"],
    ["clusters.py", "growing", "rules"],
    ["departures.py"],
    ["advice.py"],
    ["departures.py", "--only", "topics", "--data", "{docword.kos.txt.gz}"],
    ["departures.py", "--only", "topics", "--seeds", "3", "--K", "100", "--data", "{docword.nips.txt.gz}"],
    ["clusters.py", "table", "paper", "chains", "orders", "stream", "short", "speed", "--data", "{}"],
    ["embeddings.py", "rows", "short", "--data", "{}"],
    ["scale.py", "--documents", "100000", "--K", "200"],
]  # fmt: skip
NEEDS_DATA = "--data", "--images"
SPEEDS = ("second", "seconds", "microseconds", "passes", "efficiency", "bytes")
MEMORY = ("memory", "anonymous")


def programs(quick, data):
    """Command lines with the files that there are, and notes on what is missing."""
    out, notes = [], []
    for program, *words in QUICK if quick else FULL:
        places = [word for word in words if word.startswith("{") and word.endswith("}") and ":" not in word]
        path = Path(data, places[0].strip("{}")) if places and data else None
        kept = [word for word, before in zip(words, ["", *words], strict=False)
                if word not in (*places, *NEEDS_DATA) and before not in NEEDS_DATA]  # fmt: skip
        if program == "threads.py" and len(CORES) < 2:
            notes.append(f"left out, for want of a second core: {program} {' '.join(words)}")
        elif not places or (path and path.exists()):
            out.append([program, *(str(path) if word in places else word for word in words)])
        elif program in ("clusters.py", "embeddings.py"):
            notes.append(f"left out, for want of corpora: {program} {' '.join(words)}")
        elif any(program == made[0] and made[1:3] == kept[:2] for made in out):
            notes.append(f"left out, for want of {places[0]}: {program} {' '.join(words)}")
        else:
            out.append([program, *kept])
            notes.append(f"with bundled data, for want of {places[0]}: {program} {' '.join(kept)}")
    for path in sorted((HERE / "papers").glob("[!_]*.py")):
        out.append([f"papers/{path.name}", *(["--quick"] if quick else []), *(["--data", data] if data else [])])
    return out, notes


def run(program, folder, quiet):
    """One benchmark, its tables on stdout; seconds by the clock, of the processor, and whether it ended well."""
    name, *words = program
    print(f"\n== python benchmarks/{name} {' '.join(words)}", flush=True)
    begun, cpu = time.perf_counter(), of_children()
    log = Path(folder) / "log.txt"
    with log.open("w") as errors:
        code = subprocess.run(
            [sys.executable, str(HERE / name), *words, "--record", str(folder), *["--quiet-core"] * quiet],
            stderr=errors, check=False, env=os.environ | {"PYTHONPATH": paths()},
        ).returncode  # fmt: skip
    if code:
        print(f"-- FAILED with code {code}:\n{log.read_text()[-2000:]}")
    return time.perf_counter() - begun, of_children() - cpu, code == 0


def of_children():
    """Seconds of the processor that all children that have ended took, and theirs."""
    times = os.times()
    return times.children_user + times.children_system


def paths():
    """For scripts of papers, which lie a folder deeper."""
    return os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])


# -- what has changed


def groups(folder):
    """Records by what they measure, seeds together."""
    out = {}
    for path in sorted(Path(folder).glob("*.jsonl")):
        for record in read_file(path):
            out.setdefault(identity(record, without=("seed",)), []).append(record)
    return out


def figures_of(records):
    """Values over seeds of every score, of seconds and memory, by name."""
    out = {}
    for record in records:
        for name, value in {**record["scores"], "seconds": record["seconds"], "memory": record["memory"]}.items():
            if value is not None:
                out.setdefault(name, []).append(value)
    return out


def at_one_pass(old, new):
    """The same groups; fits that the clock ended after different numbers of epochs get scores of a common epoch."""
    pair = [[dict(record) for record in group] for group in (old, new)]
    for before, now in zip(*pair, strict=False):
        if before["scores"].get("passes") == now["scores"].get("passes"):
            continue
        curves = [{point["passes"]: point for point in record.get("curve", ())} for record in (before, now)]
        common = max(curves[0].keys() & curves[1].keys(), default=None)
        for record, curve in zip((before, now), curves, strict=True):
            there = curve.get(common, {})
            record["scores"] = {name: value if is_speed(name) else there.get(name)
                                for name, value in record["scores"].items()}  # fmt: skip
    return pair


def is_speed(name):
    """Whether a figure depends on the machine and on what else it does."""
    return any(part in SPEEDS for part in name.replace("_", " ").split())


def least_change(name, was, now, clock):
    """What is no change whatever the seeds say: pages that a process happens to hold, a machine with other work."""
    if name in MEMORY:
        return 2e6 + 0.25 * was
    if is_speed(name):
        return (0.25 if clock == "quiet" else 1.0) * min(was, now)
    return 0.01 + 0.003 * abs(was)


def comparable(name, old, new):
    """Whether figures of two runs may differ for the code alone."""
    same = old[0]["machine"]["cpu"] == new[0]["machine"]["cpu"] and old[0]["clock"] == new[0]["clock"]
    return same and new[0]["clock"] != "wall" if is_speed(name) else True


def spread(values):
    """Standard deviation; nothing of one."""
    return stdev(values) if len(values) > 1 else 0.0


def changes(old_groups, new_groups):
    """Rows of what moved by more than noise, and how many figures were compared."""
    rows, n_compared = [], 0
    for key, new in new_groups.items():
        old, new = at_one_pass(old_groups.get(key, []), new)
        before, now = figures_of(old), figures_of(new)
        for name in before.keys() & now.keys():
            if not comparable(name, old, new):
                continue
            n_compared += 1
            was, is_now = mean(before[name]), mean(now[name])
            least = least_change(name, was, is_now, new[0]["clock"])
            noise = max(3.0 * spread(before[name]), 3.0 * spread(now[name]), least)
            if abs(is_now - was) > noise:
                first = new[0]
                rows.append([first["table"], first["corpus"], first.get("label", first["estimator"]), first["prior"],
                             name, f"{was:.4g}", f"{is_now:.4g}", f"{noise:.2g}"])  # fmt: skip
    return sorted(rows), n_compared


def main():
    """Run all, compare, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of each")
    parser.add_argument("--data", metavar="FOLDER", help="docword.NAME.txt.gz, tokens.NAME.txt.gz, labels, images/")
    parser.add_argument("--only", default="", help="benchmarks whose command holds this")
    parser.add_argument("--record", action="store_true", help="put what was measured among the kept results")
    parser.add_argument("--quiet-core", action="store_true", help="say in records that nothing else ran")
    options = parser.parse_args()
    kept = FOLDER / "quick" if options.quick else FOLDER
    chosen, notes = programs(options.quick, options.data)
    chosen = [program for program in chosen if options.only in " ".join(program)]
    print("\n".join(notes))
    with tempfile.TemporaryDirectory() as folder:
        seconds = [(program, *run(program, folder, options.quiet_core)) for program in chosen]
        rows, n_compared = changes(groups(kept), groups(folder))
        print_table(
            f"What moved by more than noise: {len(rows)} of {n_compared} figures that have a kept result",
            ["table", "corpus", "", "prior", "figure", "kept", "now", "noise"], rows, 5,
            notes=[f"{len(set(groups(folder)) - set(groups(kept)))} measurements have none"],
        )  # fmt: skip
        if options.record:
            for path in sorted(Path(folder).glob("*.jsonl")):
                for line in read_lines(path):
                    write(line, kept)
    print_table("Seconds", ["", "by the clock", "of the processor"], [
        [" ".join(program), f"{spent:.0f}", f"{cpu:.0f}" + " FAILED" * (not good)]
        for program, spent, cpu, good in [*seconds, (["all"], *(sum(s[i] for s in seconds) for i in (1, 2)), True)]
    ])  # fmt: skip
    return 0 if all(good for *_, good in seconds) else 1


if __name__ == "__main__":
    sys.exit(main())
