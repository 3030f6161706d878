"""Looks for calls that crash, hang, lie or lose: random cases in processes of their own.

    python tests/fuzz/fuzz.py --cases 10000 [--first 0]     so many seeds
    python tests/fuzz/fuzz.py --seconds 3600 --first 10000  as many as there is time for
    python tests/fuzz/fuzz.py SEED                          one case, with its traceback

A case follows from its seed alone. Each finding is one line, which repeats it. Cases run in one process until one of
them ends it: by a signal, by the time of a case, or by its memory. That time is the processor's, so that a busy machine
finds nothing; a case that waits is ended by the clock.
"""

import argparse
import collections
import faulthandler
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS, LONGEST, MEMORY = 60, 1200, 6 << 30  # of a processor and of the clock a case; of a process
BLOCK = 500


def run_case(seed):
    """The outcome of one case; raises what it finds."""
    import numpy as np
    from fuzz_command import try_command
    from fuzz_estimators import try_estimator
    from fuzz_functions import try_metric, try_reader, try_sequences
    from fuzz_learning import try_blocks, try_checkpoint, try_sums
    from fuzz_plots import try_plot
    from fuzz_readings import try_choice, try_generator, try_reading
    from fuzz_stores import try_store

    rng = np.random.default_rng([2026, seed])
    kinds = {try_estimator: 0.4, try_metric: 0.08, try_reader: 0.07, try_sequences: 0.02, try_checkpoint: 0.06,
             try_blocks: 0.06, try_sums: 0.06, try_reading: 0.08, try_choice: 0.04, try_generator: 0.02,
             try_command: 0.06, try_store: 0.03, try_plot: 0.02}  # fmt: skip
    kind = rng.choice(list(kinds), p=list(kinds.values()))
    return kind(rng)


def work(first, last, log, memory):
    """Cases of a worker; ``log`` gets the seed before and the outcome after each."""
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.RLIM_INFINITY))
    with open(log, "w", encoding="utf-8", errors="backslashreplace", buffering=1) as out:
        for seed in range(first, last):
            limit_time(SECONDS, LONGEST)
            print(seed, end=" ", file=out, flush=True)
            try:
                print("ok", run_case(seed), file=out)
            except Exception as error:
                at = traceback.extract_tb(error.__traceback__)[-1]
                said = " ".join(str(error).split())[:150]
                print(f"FOUND {type(error).__name__}: {said} ({Path(at.filename).name}:{at.lineno})", file=out)
            faulthandler.cancel_dump_traceback_later()


def limit_time(of_a_processor, of_the_clock):
    """From now on so many seconds: who takes more says where, and ends this process."""
    used = time.process_time()
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + of_a_processor) + 1, most))
    faulthandler.register(signal.SIGXCPU, chain=True)
    faulthandler.dump_traceback_later(of_the_clock, exit=True)


def look_for(first, last, memory=MEMORY):
    """Findings and outcomes of some seeds: a new process after each one that ended."""
    findings, outcomes = [], collections.Counter()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent), *sys.path])}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        while first < last:
            limits = [str(value) for value in (first, last, log, memory)]
            command = [sys.executable, str(HERE / "fuzz.py"), "--worker", *limits]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
                seed, _, rest = line.partition(" ")
                if not rest.startswith("ok "):
                    rest = rest or f"FOUND the process ended with {done.returncode}: {done.stderr[:1500]}"
                    findings.append(f"python tests/fuzz/fuzz.py {seed}  # {rest.removeprefix('FOUND ')}")
                outcomes[" ".join(rest.split()[1:]) if rest.startswith("ok ") else "found"] += 1
                first = int(seed) + 1
            if not log.exists():
                raise RuntimeError(done.stderr)
    return findings, outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int, nargs="?")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--memory", type=int, default=MEMORY, help="bytes a process may have; 0: any")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        first, last, log, memory = given.worker
        work(int(first), int(last), log, int(memory))
        return 0
    if given.seed is not None:
        sys.path[:0] = [str(HERE), str(HERE.parent)]
        print(run_case(given.seed))
        return 0
    first, started, outcomes, found = given.first, time.monotonic(), collections.Counter(), 0
    while time.monotonic() - started < given.seconds and (given.cases is None or first < given.first + given.cases):
        last = first + BLOCK if given.cases is None else min(first + BLOCK, given.first + given.cases)
        findings, new = look_for(first, last, given.memory)
        for line in findings:
            print(line, flush=True)
        outcomes, found, first = outcomes + new, found + len(findings), last
        print(f"{first - given.first} cases, {found} findings, {time.monotonic() - started:.0f} s", flush=True)
    for outcome, n in sorted(outcomes.items()):
        print(f"{n:7d}  {outcome}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
