"""Edits formulas one at a time and runs the tests that must fail: what survives is a formula that no test knows.

``make mutants``, or ``python tests/mutants/run.py [--only TEXT] [--jobs N]``. The edits are the files *.toml beside
this one: ``file``, ``old`` (which occurs there once), ``new``, and ``tests``, arguments of pytest. ``survives`` is a
reason for an edit that changes nothing that a test could see. Nothing is edited here: each worker has a copy.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[2]
COPIED = "src", "tests", "setup.py", "pyproject.toml", "README.md", "LICENSE"
LIMIT = 600  # seconds of one run of tests: a loop that a mutant has made endless is a mutant that was found
# Exit statuses of pytest.
PASSED, FAILED = 0, 1


def mutants():
    """All edits, by file."""
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        yield from tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]


class Copy:
    """A copy of the project, in which one formula is wrong at a time."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for name in COPIED:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, self.folder / name)
        self.environment = {**os.environ, "PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, *arguments):
        """Run Python in the copy; exit status and what it said."""
        try:
            done = subprocess.run(
                [sys.executable, *arguments], cwd=self.folder, env=self.environment, timeout=LIMIT, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return FAILED, "no end"
        return done.returncode, done.stdout

    def test(self, tests):
        """Run tests until one fails."""
        return self.run("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *shlex.split(tests))

    def judge(self, mutant):
        """"found", "survived", or what is wrong with the edit."""
        path = self.folder / mutant["file"]
        text = path.read_text(encoding="utf-8")
        if text.count(mutant["old"]) != 1:
            return f"stale: the old text occurs {text.count(mutant['old'])} times"
        kernel = "_kernels" in path.parts
        path.write_text(text.replace(mutant["old"], mutant["new"]), encoding="utf-8")
        try:
            if kernel:
                status, said = self.run("setup.py", "--quiet", "build_ext", "--inplace", "--parallel", "1")
                if status:
                    return f"does not compile: {said[-300:]}"
            status, said = self.test(mutant["tests"])
        finally:
            path.write_text(text, encoding="utf-8")
            if kernel:
                self.restore_kernels()
        if status == FAILED:
            return "found"
        return "survived" if status == PASSED else f"tests did not run: {said[-300:]}"

    def restore_kernels(self):
        """Those of the project, newer than any source."""
        for source in (ROOT / "src").rglob("*.so"):
            shutil.copy(source, self.folder / source.relative_to(ROOT))


def main():
    """Judge all mutants; the exit status is 1 if one survives without a reason or is stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="mutants whose file or edit holds this text")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="copies that work at once")
    options = parser.parse_args()
    chosen = [m for m in mutants() if options.only in m["file"] or options.only in m["old"] or options.only in m["new"]]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        copies = SimpleQueue()
        for i in range(options.jobs):
            copies.put(Copy(Path(folder, str(i)).absolute()))

        def with_copy(method, argument):
            copy = copies.get()
            try:
                return getattr(copy, method)(argument)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(options.jobs) as pool:
            tests = sorted({mutant["tests"] for mutant in chosen})
            for name, (status, said) in zip(tests, pool.map(lambda t: with_copy("test", t), tests), strict=True):
                if status != PASSED:
                    sys.exit(f"without any edit, these tests do not pass: {name}\n{said[-2000:]}")
            for mutant, verdict in zip(chosen, pool.map(lambda m: with_copy("judge", m), chosen), strict=True):
                reason = mutant.get("survives")
                expected = "survived" if reason else "found"
                if verdict != expected:
                    wrong.append(mutant)
                    print(f"\n{mutant['file']}: {verdict}\n  - {mutant['old']}\n  + {mutant['new']}", flush=True)
                else:
                    print("s" if reason else ".", end="", flush=True)
    print(f"\n{len(chosen)} mutants, {len(wrong)} survived without a reason or are stale")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
