"""Faults on purpose, in processes of their own: memory that is refused, signals at random moments, full disks.

    python tests/faults/faults.py allocations [--only TEXT] [--points 20]   the n-th allocation fails
    python tests/faults/faults.py interrupts [--only TEXT] [--points 20]    Ctrl-C after some microseconds
    python tests/faults/faults.py memory [--only TEXT]                      little address space
    python tests/faults/faults.py command [--points 20]                     the command killed; disks that are full

Each finding is one line that repeats it. Settings are those of the contract tests; ``make faults`` runs all of them.
"""

import argparse
import collections
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 900
KINDS = "allocations", "interrupts", "memory", "command"


def failing_malloc(folder):
    """The library whose allocations fail, compiled."""
    library = Path(folder) / "failing_malloc.so"
    compiler = os.environ.get("CC", "cc").split()
    subprocess.run([*compiler, "-O1", "-shared", "-fPIC", HERE / "failing_malloc.c", "-o", library], check=True)
    return library


def run(arguments, preload=None):
    """One process of faults: what it printed, and the line that repeats it where it did not end well."""
    paths = [str(HERE), str(HERE.parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)} | ({"LD_PRELOAD": preload} if preload else {})
    command = [sys.executable, "-W", "ignore", "-X", "faulthandler", str(HERE / "inside.py"), *map(str, arguments)]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False, errors="replace"
        )
        code, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as error:
        code, said = "no end", f"{error.stdout}{error.stderr}"
    line = f"python tests/faults/faults.py {' '.join(map(repr, map(str, arguments)))}"
    return said.strip().splitlines(), None if code == 0 else f"{line}  # {code}: {said[:1500]} ... {said[-1500:]}"


def look_for(kind, names, points):
    """Findings and counts of one kind of fault, over settings by name."""
    findings, counts = [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        preload = str(failing_malloc(folder)) if kind in ("allocations", "memory") else None
        for name in names:
            said, finding = run([kind, name, points], preload)
            if finding:
                findings.append(finding)
            for line in said:
                what, _, n = line.rpartition(" ")
                if what.startswith("count ") and n.isdigit():
                    counts[what[6:]] += int(n)
    return findings, counts


def names_of(kind, only):
    """What is tried under a kind of fault."""
    if kind == "command":
        return ["topics"]
    sys.path.insert(0, str(HERE.parent))
    from estimator_cases import CASES

    return [case.name for case in CASES if only in case.name]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("name", nargs="?", help="one setting, as findings say it")
    parser.add_argument("n_points", type=int, nargs="?")
    parser.add_argument("--only", default="", help="text in the names of settings")
    parser.add_argument("--points", type=int, default=20, help="faults a setting")
    given = parser.parse_args()
    names = names_of(given.kind, given.only) if given.name is None else [given.name]
    started = time.monotonic()
    n_findings, counts = 0, collections.Counter()
    for name in names:
        findings, new = look_for(given.kind, [name], given.n_points or given.points)
        print("\n".join([f"{name}: {new}", *findings]), flush=True)
        n_findings, counts = n_findings + len(findings), counts + collections.Counter(new)
    print(f"{given.kind}: {len(names)} settings, {dict(counts)}, {n_findings} findings, "
          f"{time.monotonic() - started:.0f} s")  # fmt: skip
    return int(n_findings > 0)


if __name__ == "__main__":
    sys.exit(main())
