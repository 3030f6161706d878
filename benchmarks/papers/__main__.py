"""All claims of all papers, one script after the other: the source of the page of claims.

python benchmarks/papers --data FOLDER --record     hours on one core; --quick shows that everything runs
"""

import subprocess
import sys
from pathlib import Path

SCRIPTS = sorted(Path(__file__).parent.glob("[!_]*.py"))


def main():
    """Run every script with the given options; return how many failed."""
    return sum(subprocess.run([sys.executable, str(path), *sys.argv[1:]], check=False).returncode != 0
               for path in SCRIPTS)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
