"""Measured costs of tests, which choose the cases that ``make test-quick`` runs.

``costs.txt`` lists each test function whose cases take long, with the processor seconds of a case. ``make costs``
measures it again. The quick tests run all cases of a function that is not listed, and of a listed one as many as
``BUDGET`` pays for. They start at another case for each function. Cases marked ``slow`` are never quick.
"""

from collections import defaultdict
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

LIST = Path(__file__).parent / "costs.txt"
# Processor seconds: of the quick cases of one test function; of a case that is worth listing.
BUDGET, CHEAP = 0.1, 0.025
COSTS = {name: float(seconds) for seconds, name in map(str.split, LIST.read_text(encoding="utf-8").splitlines())}


def function_of(item):
    """The name in the list, "folder/file.py::test"."""
    return item.nodeid.partition("[")[0].removeprefix("tests/")


def quick_cases(items, turn):
    """The cases of one test function that are quick."""
    name = function_of(items[0])
    n = min(len(items), int(BUDGET / COSTS[name])) if name in COSTS else len(items)
    first = turn % max(1, len(items))
    return [items[(first + i * len(items) // n) % len(items)] for i in range(n)]


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
