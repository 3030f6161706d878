"""Whether results have the same bits as at another revision, for every setting of the contract suite and many others.

    python tests/gate.py [TEXT ...]                    prints "name hash" of each setting whose name holds a text
    python tests/gate.py --base REVISION [TEXT ...]    prints the settings that differ, and what of them
    python tests/gate.py --base REVISION --files       also continues models and checkpoints that REVISION has written

A hash covers all that a user can read: attributes, statistics, bounds, predictions, draws, warnings. A setting that
raises has the error as its value. The exit status is 1 if a setting differs or is missing that no ``--but TEXT`` names.
``gate_hashes.py`` computes the hashes, ``gate_settings.py`` lists the settings; both are of this folder for both
revisions, with the settings of ``estimator_cases.py`` that each revision has.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HASHES = ROOT / "tests" / "gate_hashes.py"
# Names of what differs in a setting, on one line.
SHOWN = 8


def git(*arguments):
    """What git prints."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def folder_of(revision):
    """The sources of a revision with compiled kernels, in a temporary folder that later calls use again."""
    commit = git("rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()
    folder = Path(tempfile.gettempdir()) / f"sparsemix-gate-{os.getuid()}" / commit
    if not folder.exists():
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=folder.parent))
        subprocess.run(["tar", "-x", "-C", str(new)], input=git("archive", commit), check=True)
        new.replace(folder)
    same = ["git", "diff", "--quiet", commit, "--", "setup.py", "*.pyx", "*.pxd", "*.h"]
    if subprocess.run(same, cwd=ROOT, check=False).returncode == 0:
        for built in (ROOT / "sparsemix").rglob("*.so"):
            shutil.copy2(built, folder / built.relative_to(ROOT))
    else:
        command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
    return folder


def hashes(folder, options, quiet=True):
    """Hashes of all that each setting tells, computed by the sources in a folder: {setting: {what: hash}}."""
    with tempfile.NamedTemporaryFile(suffix=".json") as record:
        subprocess.run(
            [sys.executable, str(HASHES), "--record", record.name, *options], cwd=folder, check=True,
            env=os.environ | {"PYTHONPATH": str(folder)}, stdout=subprocess.DEVNULL if quiet else None,
        )  # fmt: skip
        return json.loads(Path(record.name).read_text(encoding="utf-8"))


def difference(old, new):
    """What differs between the hashes of one setting, in words; None if nothing does."""
    if old == new:
        return None
    if new is None:
        return "is missing"
    if "raises" in old or "raises" in new:
        return f"raises {old.get('raises', 'nothing')} -> {new.get('raises', 'nothing')}"
    names = sorted(name for name in old | new if old.get(name) != new.get(name))
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"differs in {', '.join(names[:SHOWN])}{more}"


def compare(base, parts, files, but):
    """Print what differs from a revision; the exit status."""
    folder = folder_of(base)
    with tempfile.TemporaryDirectory() as saved:
        old = hashes(folder, [*(["--write", saved] if files else []), *parts])
        new = hashes(ROOT, [*(["--read", saved] if files else []), *parts])
    found = {name: difference(old[name], new.get(name)) for name in old}
    found = {name: text for name, text in found.items() if text is not None}
    for name, text in found.items():
        print(name, text)
    failed = [name for name in found if not any(part in name for part in but)]
    accepted = f", {len(found) - len(failed)} of them accepted" if but else ""
    raising = sum("raises" in values for values in new.values())
    added = f"; {len(new.keys() - old.keys())} are new" if new.keys() - old.keys() else ""
    print(f"{len(found)} of {len(old)} settings differ from {base}{accepted}{added}; {raising} raise an error")
    return 1 if failed or not old else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="TEXT", help="settings whose name holds one of these texts")
    parser.add_argument("--base", metavar="REVISION", help="compare with this revision")
    parser.add_argument("--files", action="store_true", help="continue models and checkpoints of the base")
    parser.add_argument("--but", action="append", default=[], metavar="TEXT", help="settings that may differ")
    given = parser.parse_intermixed_args()
    if given.base is None:
        hashes(ROOT, given.parts, quiet=False)
        return 0
    return compare(given.base, given.parts, given.files, given.but)


if __name__ == "__main__":
    sys.exit(main())
