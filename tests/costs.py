"""Measured costs of tests, which choose the cases that ``make test`` runs; ``make test-all`` runs all.

``costs.txt`` lists each test function whose cases take long, with the processor seconds of a case. ``make costs``
measures it again. ``make test`` runs all cases of a function that is not listed, and of a listed one as many as
``BUDGET`` pays for. They begin at another case for each function and each commit, so that some commits later every
case has run. A function that must find an edit of ``mutants/`` guards a formula: it keeps a case whatever that costs.
Cases marked ``slow`` run in ``make test-all`` only.
"""

import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

TESTS = Path(__file__).parent
LIST = TESTS / "costs.txt"
# Processor seconds: of the cases of one function in "make test"; of a case that is worth listing.
BUDGET, CHEAP = 0.25, 0.025
COSTS = {name: float(seconds) for seconds, name in map(str.split, LIST.read_text(encoding="utf-8").splitlines())}
# Cases, functions and files that guard a formula.
GUARDS = {
    word.removeprefix("tests/")
    for path in (TESTS / "mutants").glob("*.toml")
    for mutant in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    for word in mutant["tests"].split()
}


def turn_of_commit():
    """A number that differs from commit to commit; 0 outside of a repository."""
    command = ["git", "-C", str(TESTS), "rev-parse", "--short=7", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:  # no git
        return 0
    return 0 if done.returncode else int(done.stdout[:7], 16)


def function_of(item):
    """The name in the list, "folder/file.py::test"."""
    return item.nodeid.partition("[")[0].removeprefix("tests/")


def quick_cases(items, turn):
    """The cases of one test function that ``make test`` runs."""
    name = function_of(items[0])
    n = min(len(items), int(BUDGET / COSTS[name])) if name in COSTS else len(items)
    guards = [item for item in items if item.nodeid.removeprefix("tests/") in GUARDS]
    if n == 0 and not guards and not GUARDS.isdisjoint((name, name.partition("::")[0])):
        n = 1
    first = turn % max(1, len(items))
    chosen = [items[(first + i * len(items) // n) % len(items)] for i in range(n)]
    return chosen + [item for item in guards if item not in chosen]


def seconds():
    """CPU seconds of this process and of its finished child processes."""
    return sum(used.ru_utime + used.ru_stime for used in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


class Recorder:
    """Seconds of all cases that one process runs."""

    def __init__(self, log):
        self.cases, self.log = defaultdict(list), Path(log)

    def add(self, item, used):
        """Keep the seconds of a case, with its fixtures."""
        self.cases[function_of(item)].append(used)
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"{used:.4f} {item.nodeid}\n")

    def write(self):
        """List what costs more than the budget; functions that did not run keep their lines."""
        means = {name: sum(cases) / len(cases) for name, cases in self.cases.items()}
        costly = {name: mean for name, mean in means.items() if mean > CHEAP and mean * len(self.cases[name]) > BUDGET}
        listed = {name: cost for name, cost in COSTS.items() if name not in means} | costly
        LIST.write_text("".join(f"{listed[name]:.3f} {name}\n" for name in sorted(listed)), encoding="utf-8")
