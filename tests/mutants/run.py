"""Edits formulas one at a time and runs the tests that must fail: what survives is a formula that no test knows.

``make mutants``, or ``python tests/mutants/run.py [--only TEXT] [--quick] [--jobs N] [--log FILE]``. The edits are the
files *.toml in this folder: ``file``, ``old`` (which occurs there once), ``new``, ``tests``, the narrowest that must
fail, and ``kernel``, which to compile where a header is edited. ``survives`` is a reason for an edit that changes
nothing that a test could see. ``--quick`` runs those cases of the tests that ``make test`` has. Nothing is edited
here: each worker has a copy. What takes time is imports and compilers, so tests run in forks of a process that has
imported all but this package, and kernels are compiled one at a time.
"""

import argparse
import contextlib
import hashlib
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[2]
COPIED = "sparsemix", "tests", "doc", "setup.py", "pyproject.toml", "README.md", "LICENSE"  # tests read the manual
BUILT = shutil.ignore_patterns("_build", "generated", "auto_examples")
KERNELS = Path("sparsemix/_kernels")
LIMIT = 120  # seconds of the processor: a loop that a mutant has made endless is a mutant that was found
PATIENCE = 5 * LIMIT  # by the clock, for threads that wait for each other
FORKS = multiprocessing.get_context("forkserver")
IMPORTED = ["pytest", "scipy.stats", "scipy.special", "sklearn.utils.estimator_checks", "sklearn.mixture",
            "sklearn.decomposition", "sklearn.cluster"]  # fmt: skip
# Exit statuses of pytest.
PASSED, FAILED, NOTHING_CHOSEN = 0, 1, 5
# setup.py for some kernels only, and without optimisation, which takes most of the time.
COMPILE = """
import sys, setup
wanted, every, setup.COMPILE_ARGS = sys.argv.pop(1).split(), setup.extensions, ["-O0", "-g0", "-w"]
setup.extensions = lambda: (kernel for kernel in every() if kernel.name.partition("_kernels.")[2] in wanted)
setup.main()
"""


def mutants():
    """All edits, by file."""
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        yield from tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]


def named_by(mutant, quick):
    """Arguments of pytest: the tests that must fail, or all of their cases that ``make test`` may choose."""
    words = mutant["tests"].split()
    return [*dict.fromkeys(word.partition("[")[0] for word in words), "-m", "not slow"] if quick else words


def run_tests(folder, tests, log, is_edited):
    """Run tests of a copy in this process until one fails."""
    os.setsid()  # what tests start is to end with them
    if is_edited:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    os.chdir(folder)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path[:0] = [folder]
    sys.dont_write_bytecode = is_edited
    with open(log, "w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    import pytest

    status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--tb=line", *tests])
    sys.stdout.flush()
    os._exit(status)  # threads of a wrong kernel may never end


class Copy:
    """A copy of the project, in which one formula is wrong at a time."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, self.folder / name, ignore=BUILT)
            else:
                shutil.copy2(source, self.folder / name)

    def compile(self, kernels):
        """Compile kernels, "folder._name folder._name"; what the compiler said if it failed."""
        done = subprocess.run(
            [sys.executable, "-c", COMPILE, kernels, "--quiet", "build_ext", "--inplace", "--force", "--parallel", "1"],
            cwd=self.folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        return done.stdout[-300:] if done.returncode else ""

    def test(self, tests, is_edited=True):
        """Exit status and what was said."""
        log = self.folder / "log.txt"
        process = FORKS.Process(target=run_tests, args=(str(self.folder), tests, str(log), is_edited))
        process.start()
        process.join(PATIENCE if is_edited else None)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.join()
        return process.exitcode, log.read_text(encoding="utf-8", errors="replace")

    def judge(self, mutant, quick):
        """"found", "survived", or what is wrong with the edit; the test that found it."""
        path = self.folder / mutant["file"]
        text = path.read_text(encoding="utf-8")
        if text.count(mutant["old"]) != 1:
            return f"stale: the old text occurs {text.count(mutant['old'])} times", ""
        kernels = kernels_of(mutant)
        saved = path.stat()
        path.write_text(text.replace(mutant["old"], mutant["new"]), encoding="utf-8")
        try:
            if kernels and (said := self.compile(kernels)):
                return f"does not compile: {said}", ""
            status, said = self.test(named_by(mutant, quick))
        finally:
            path.write_text(text, encoding="utf-8")
            if path.suffix == ".py":  # its bytecode is right again; a .pyx is newer than the C that was made of it
                os.utime(path, ns=(saved.st_atime_ns, saved.st_mtime_ns))
            self.restore(kernels)
        by = re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
        if status == FAILED or status < 0:  # failed, crashed or did not end
            return "found", by[0] if by else f"exit status {status}"
        if status == PASSED or (quick and status == NOTHING_CHOSEN):
            return "survived", ""
        return f"tests did not run: {said[-300:]}", ""

    def restore(self, kernels):
        """Compiled kernels of the project."""
        for name in kernels.split():
            for source in (ROOT / KERNELS).glob(f"{name.replace('.', '/')}.*.so"):
                shutil.copy2(source, self.folder / source.relative_to(ROOT))


def kernels_of(mutant):
    """Kernels to compile, "folder._name folder._name"."""
    path = Path(mutant["file"])
    if not path.is_relative_to(KERNELS):
        return ""
    return ".".join(path.relative_to(KERNELS).with_suffix("").parts) if path.suffix == ".pyx" else mutant["kernel"]


def folder_of(mutant):
    """Where the edit is."""
    return str(Path(mutant["file"]).parent.relative_to("sparsemix"))


def key(mutant):
    """Of an edit, its tests and the text in which it is made."""
    parts = [mutant["file"], mutant["old"], mutant["new"], mutant["tests"]]
    parts += [(ROOT / name.partition("::")[0]).read_text("utf-8") for name in [mutant["file"], *mutant["tests"].split()]
              if (ROOT / name.partition("::")[0]).is_file()]  # fmt: skip
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def main():
    """Judge all mutants; the exit status is 1 if one survives without a reason or is stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="mutants whose file or edit holds this text")
    parser.add_argument("--quick", action="store_true", help="only the cases that make test runs")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="copies that work at once")
    parser.add_argument("--log", type=Path, help="keep verdicts there, and skip the edits that it lists as found")
    options = parser.parse_args()
    chosen = [m for m in mutants() if options.only in m["file"] or options.only in m["old"] or options.only in m["new"]]
    known = set()
    if options.log and options.log.exists():
        verdicts = map(json.loads, options.log.read_text("utf-8").splitlines())
        known = {line["key"] for line in verdicts if line["verdict"] == "found"}
    todo = [mutant for mutant in chosen if key(mutant) not in known]
    counts = Counter((folder_of(mutant), "found") for mutant in chosen if key(mutant) in known)
    FORKS.set_forkserver_preload(IMPORTED)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies = SimpleQueue()
        for i in range(options.jobs):
            copies.put(Copy(Path(folder, str(i)).absolute()))

        def with_copy(method, *arguments):
            copy = copies.get()
            try:
                return getattr(copy, method)(*arguments)
            finally:
                copies.put(copy)

        tests = sorted({name for mutant in todo for name in named_by(mutant, False)})
        parts = [tests[i :: options.jobs] for i in range(min(options.jobs, len(tests)))]
        for status, said in pool.map(lambda part: with_copy("test", part, False), parts):
            if status != PASSED:
                sys.exit(f"without any edit, these tests do not pass:\n{said[-2000:]}")
        judged = pool.map(lambda mutant: with_copy("judge", mutant, options.quick), todo)
        for mutant, (verdict, by) in zip(todo, judged, strict=True):
            if options.log:
                line = {"key": key(mutant), "verdict": verdict, "by": by, **mutant}
                with options.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(line, ensure_ascii=False) + "\n")
            expected = "survived" if "survives" in mutant else "found"
            counts[folder_of(mutant), expected if verdict == expected else "WRONG"] += 1
            if verdict == expected:
                print("s" if "survives" in mutant else ".", end="", flush=True)
            else:
                print(f"\n{mutant['file']}: {verdict}\n  - {mutant['old']}\n  + {mutant['new']}", flush=True)
    print()
    for (where, verdict), n in sorted(counts.items()):
        print(f"{n:5d} {where}: {verdict}{', with a reason' if verdict == 'survived' else ''}")
    wrong = sum(n for (_, verdict), n in counts.items() if verdict == "WRONG")
    print(f"{len(chosen):5d} mutants, {wrong} survived without a reason or are stale")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
