"""What benchmarks measured, kept: a line of JSON a measurement, below ``results/``, which pages make their tables of.

A record says what was measured, on what, how, and by which command it can be measured again. ``Recorder`` completes,
checks and writes records; ``read`` gives those of a table. One line may hold several seeds: ``seed`` is a list then,
and ``seconds``, ``memory`` and each score may be; ``read`` gives a record for each. Nothing here imports numpy, for
parents of measurements stay small.
"""

import json
import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, date, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

FOLDER = Path(__file__).parent / "results"

# Meaning of seconds. For --quiet, make sure that nothing else runs on the core.
CLOCKS = {
    "quiet": "seconds on a core without other work",
    "processor": "CPU seconds on a machine with other work",
    "wall": "seconds by the clock on a machine with other work (orders of magnitude)",
}
OUTCOMES = ("yes", "in part", "undecided", "no")
PACKAGES = ("sparsemix", "numpy", "scipy", "scikit-learn", "tomotopy", "gensim", "bigartm10", "faiss-cpu", "evoc")

OUTPUTS = ("--record", "--json", "--plot")  # options that are no part of how a thing is measured

TEXT, NUMBER, NONE = (str,), (int, float), (type(None),)
# Every field of a record and its types; those of OPTIONAL may be missing.
FIELDS = {
    "table": TEXT,  # which table or claim it belongs to; the file is named after it
    "command": TEXT,  # that measures it again
    "corpus": TEXT,  # with its size: a part of a corpus is another corpus
    "split": TEXT + NONE,  # what is held out
    "estimator": TEXT,
    "parameters": (dict,),  # that differ from defaults, or that define the task (n_components)
    "prior": TEXT + NONE,  # "defaults", or what was given in their place
    "seed": (int, *NONE),
    "seconds": NUMBER + NONE,  # of training, unless the table says otherwise
    "clock": TEXT,  # a key of CLOCKS
    "scores": (dict,),  # names to numbers; at the end of training
    "memory": NUMBER + NONE,  # peak bytes beyond the data
    "machine": (dict,),  # cpu, cores
    "versions": (dict,),  # of Python and of packages
    "commit": TEXT,  # the code measured: git's name of its tree sparsemix; "+" behind it: with changes not committed
    "date": TEXT,
}
OPTIONAL = {
    "label": TEXT,  # name of the row, where the estimator's is not enough
    "curve": (list,),  # checkpoints: {"seconds": ..., "passes": ..., score: ...}
    "tuned_on": (list,),  # corpora that the parameters or defaults were chosen on
    "found": TEXT,  # words, where what came out is no number
    "claim": (dict,),  # of a paper: its figure or table, text, published, ours, reproduced (of OUTCOMES), why
}
CLAIM = ("where", "text", "published", "ours", "reproduced", "why")
# What tells two measurements apart; the last of the same is kept.
IDENTITY = ("table", "corpus", "split", "estimator", "label", "parameters", "prior", "seed")


class RecordError(ValueError):
    """A record that does not keep to the schema."""


def validate(record):
    """The record itself; an error names the field and what it should be."""
    name = f"record of {record.get('table')!r}, {record.get('label', record.get('estimator'))!r}"
    if unknown := set(record) - set(FIELDS) - set(OPTIONAL):
        raise RecordError(f"{name}: no field {sorted(unknown)}; there are {', '.join([*FIELDS, *OPTIONAL])}")
    if missing := set(FIELDS) - set(record):
        raise RecordError(f"{name}: {sorted(missing)} missing")
    for field, value in record.items():
        kinds = FIELDS.get(field, OPTIONAL.get(field))
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise RecordError(f"{name}: {field} is {value!r}, not {' or '.join(kind.__name__ for kind in kinds)}")
    if record["clock"] not in CLOCKS:
        raise RecordError(f"{name}: clock is {record['clock']!r}, not one of {', '.join(CLOCKS)}")
    for place in (record["scores"], *record.get("curve", [])):
        for score, value in place.items():
            if not isinstance(value, NUMBER + NONE) or isinstance(value, bool) or value != value:
                raise RecordError(f"{name}: {score} is {value!r}, not a number or None")
    if not {"cpu", "cores"} <= set(record["machine"]) or "python" not in record["versions"]:
        raise RecordError(f"{name}: a machine has cpu and cores, versions have python")
    date.fromisoformat(record["date"])
    claim = record.get("claim", dict.fromkeys(CLAIM, "no"))
    if set(claim) != set(CLAIM) or claim["reproduced"] not in OUTCOMES:
        raise RecordError(f"{name}: a claim has {', '.join(CLAIM)}; reproduced is {' or '.join(OUTCOMES)}")
    return record


def identity(record, without=()):
    """What two measurements of the same thing share, as a key."""
    return json.dumps([record.get(field) for field in IDENTITY if field not in without], sort_keys=True)


def expand(line):
    """Records of a line, one for each seed; a line of one seed is its own record."""
    seeds = line.get("seed")
    if not isinstance(seeds, list):
        return [validate(line)]
    lists = [line.get("seconds"), line.get("memory"), *line["scores"].values()]
    if "curve" in line or any(len(part) != len(seeds) for part in lists if isinstance(part, list)):
        raise RecordError(f"{line.get('table')!r}: {len(seeds)} seeds, but lists of other lengths, or a curve")

    def of(value, i):
        return value[i] if isinstance(value, list) else value

    return [
        validate(line | {
            "seed": seed, "seconds": of(line.get("seconds"), i), "memory": of(line.get("memory"), i),
            "scores": {name: of(value, i) for name, value in line["scores"].items()},
        })
        for i, seed in enumerate(seeds)
    ]  # fmt: skip


def read_lines(path):
    """Lines of a file that are right; an error names the one that is not."""
    lines = []
    for number, text in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        try:
            lines.append(json.loads(text))
            expand(lines[-1])
        except (ValueError, KeyError, TypeError) as error:
            raise RecordError(f"{path}, line {number}: {error}") from None
    return lines


def read_file(path):
    """Records of one file."""
    return [record for line in read_lines(path) for record in expand(line)]


def read(table, folder=FOLDER):
    """Records of a table."""
    path = Path(folder) / f"{table}.jsonl"
    if not path.exists():
        raise RecordError(f"no results of {table!r}: there is no {path.name}")
    return read_file(path)


def write(line, folder=FOLDER):
    """Put a line into the file of its table, in the place of earlier ones with the same measurements."""
    new = {identity(record) for record in expand(line)}
    path = Path(folder) / f"{line['table']}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = read_lines(path) if path.exists() else []
    same = [i for i, old in enumerate(lines) if new & {identity(record) for record in expand(old)}]
    place = same[0] if same else len(lines)
    write_lines(path, [*lines[:place], line, *(old for i, old in enumerate(lines) if i >= place and i not in same)])


def keep_lines(table, keep, folder=FOLDER):
    """Remove the lines of a table for which ``keep`` is false."""
    path = Path(folder) / f"{table}.jsonl"
    write_lines(path, [line for line in read_lines(path) if keep(line)])


def write_lines(path, lines):
    """Replace a file in one step."""
    part = path.with_suffix(".part")
    part.write_text("".join(json.dumps(one, ensure_ascii=False, allow_nan=False) + "\n" for one in lines), "utf-8")
    part.replace(path)


class Recorder:
    """Completes records of one run and writes them; without a folder it writes nothing."""

    def __init__(self, folder, quiet=False):
        self.folder, self.quiet = folder, quiet
        self.about = {
            "command": command(), "machine": machine(), "versions": versions(), "commit": commit(),
            "date": datetime.now(UTC).date().isoformat(),
        }  # fmt: skip

    def add(self, table, corpus, estimator, scores, **fields):
        """Write one measurement; what is not given of the schema is None, empty or known of the run."""
        record = {
            "table": table, "corpus": corpus, "split": None, "estimator": estimator, "parameters": {}, "prior": None,
            "seed": None, "seconds": None, "clock": "processor", "scores": scores, "memory": None, **self.about,
            **fields,
        } | ({"clock": "quiet"} if self.quiet else {})  # fmt: skip
        records = expand(record)
        if self.folder is not None:
            write(record, self.folder)
        return records


def figures(result, without=()):
    """Numbers among what a measurement returned, without those that are none (NaN)."""
    return {name: value for name, value in result.items()
            if isinstance(value, NUMBER) and not isinstance(value, bool) and value == value and name not in without}


def add_options(parser):
    """--record and --quiet-core, the same in all benchmarks."""
    parser.add_argument("--record", nargs="?", const=str(FOLDER), metavar="FOLDER",
                        help="keep results there, in a file for each table (default: benchmarks/results)")  # fmt: skip
    parser.add_argument("--quiet-core", action="store_true", help="say in records that nothing else ran on the core")


def recorder(options):
    """Of the options that ``add_options`` made."""
    return Recorder(options.record, options.quiet_core)


def command(arguments=None):
    """How this program was called, without where this machine keeps its files and results."""
    program, *words = sys.argv if arguments is None else arguments
    folder = "benchmarks/papers" if Path(program).parent.name == "papers" else "benchmarks"
    shown, dropped = ["python", f"{folder}/{Path(program).name}"], False
    for word in words:
        dropped = dropped and not word.startswith("-")  # the value of an option that is left out
        name, equals, value = word.rpartition("=") if word.startswith("--") else ("", "", word)
        if not dropped and word != "--quiet-core" and (name or value) not in OUTPUTS:
            value = Path(value).name if os.sep in value and Path(value).exists() else value
            shown.append(shlex.quote(name + equals + value))
        dropped = not name and value in OUTPUTS
    return " ".join(shown)


def machine():
    """Processor and how many of its cores there are."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    found = dict(line.replace("\t", "").split(": ", 1) for line in reversed(lines) if ": " in line)
    name = found.get("model name", platform.processor() or platform.machine())
    if "cpu family" in found:
        name += f" (family {found['cpu family']}, model {found.get('model')})"
    return {"cpu": name, "cores": os.cpu_count()}


def versions():
    """Of Python and of what is measured or compared with."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit():
    """The tree of sources, which keeps its name when commits are rebased; "unknown" outside a repository."""
    here = Path(__file__).parent
    try:
        naming = ["git", "rev-parse", "--short=9", "HEAD:sparsemix"]
        name = subprocess.run(naming, cwd=here, capture_output=True, text=True, check=True).stdout.strip()
        comparing = ["git", "diff", "--quiet", "HEAD", "--", "../sparsemix"]
        changed = subprocess.run(comparing, cwd=here, check=False).returncode
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + "+" * bool(changed)
