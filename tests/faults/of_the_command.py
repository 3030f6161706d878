"""The command ``sparsemix topics`` killed at random moments, and on disks that are full."""

import collections
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sparsemix.__main__ import main

WORDS = {"fruit": "apple pear plum cherry grape", "boats": "ship sail mast harbour anchor"}

OPTIONS = ["--n-components", "2", "--n-nonzero", "2", "--max-iter", "3", "--n-jobs", "1"]


def command(n_points):
    """An earlier run is there as it was, or files of the new one; never some of each."""
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        corpus = folder / "texts.txt"
        rng = np.random.default_rng(0)
        lines = [" ".join(rng.choice(WORDS[kind].split(), 8)) for kind in ("fruit", "boats") * 30]
        corpus.write_text("\n".join(lines), encoding="utf-8")
        arguments = [str(corpus), *OPTIONS, "--random-state"]
        status, seconds = learn(folder, [*arguments, "0"])
        assert status == 0, (folder / "said").read_text()
        first = files(folder)
        moments = random.Random(0)
        for _ in range(n_points):
            put_back(folder, first)
            status, _ = learn(folder, [*arguments, "1", "--force"], kill_after=moments.uniform(0.0, 1.1 * seconds))
            counts["killed" if status == -signal.SIGKILL else "ended before"] += 1
            check(first, files(folder))
        for bytes_of_file in np.geomspace(100, 1e5, n_points).astype(int):
            put_back(folder, first)
            status, _ = learn(folder, [*arguments, "1", "--force"], largest_file=int(bytes_of_file))
            said = (folder / "said").read_text(encoding="utf-8", errors="replace")
            assert status in (0, 1, 2), (status, said)
            assert status == 0 or "Traceback" not in said, said
            counts["disk full" if status else "disk large enough"] += 1
            check(first, files(folder))
    return counts


def learn(folder, arguments, kill_after=None, largest_file=None):
    """The command in a copy of this process: its exit code, or less the signal that ended it; and its seconds."""
    started, child = time.monotonic(), os.fork()
    if child == 0:
        code = 99
        try:
            said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            if largest_file is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
            code = main(["topics", "--output", str(folder / "result"), *arguments]) or 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:  # a disk may be full here too
                os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, time.monotonic() - started


def files(folder):
    """Contents of the results by name; what a killed run has left of unfinished ones does not count."""
    return {file.name: file.read_bytes() for file in (folder / "result").glob("[!.]*")}


def put_back(folder, contents):
    shutil.rmtree(folder / "result")  # with the folder of what a killed run has not published
    (folder / "result").mkdir()
    for name, content in contents.items():
        (folder / "result" / name).write_bytes(content)


def check(first, now):
    """Files of one run: of the first, some of which may have gone already, or none of it."""
    same = {name for name, content in now.items() if first.get(name) == content}
    # a table of words may be the same in both
    one_run = same == set(now) or not {"model.joblib", "topics.csv"} & same
    assert one_run, f"of two runs: {sorted(same)} of {sorted(now)}"
