"""Mixtures of documents whose number of clusters grows: quality, agreement with known clusters, speed.

python benchmarks/clusters.py bars                              images of one bar each
python benchmarks/clusters.py rows                              rows of numbers, compared with other clusterers
python benchmarks/clusters.py growing                           whether the number of clusters is found, by problem
python benchmarks/clusters.py rules                             what each rule of the search for a prior gains
python benchmarks/clusters.py pitman-yor                        streams with a power law
python benchmarks/clusters.py table --data FOLDER               the table of Tank, Foti and Fox (2015) on KOS
python benchmarks/clusters.py paper --data FOLDER               the same at the scale of its totals
python benchmarks/clusters.py chains --data FOLDER              whether chains from two starts meet
python benchmarks/clusters.py stream --data FOLDER              arXiv abstracts in blocks
python benchmarks/clusters.py short --data FOLDER               titles and tweets compared with their labels
python benchmarks/clusters.py speed --data FOLDER               seconds, documents a second, memory
python benchmarks/clusters.py merges --data FOLDER              what growth and merges leave of a stream's speed

Every measurement is its own process on one core, seconds are those of the processor. README.md has the rest.
"""

import argparse
import gzip
import json
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import _clusters_corpora as corpora
import _clusters_rows as numeric
from _clusters_corpora import prior_name
from _measure import CORES, MeasurementError, run
from _results import add_options, figures, recorder

EXPERIMENTS = {
    "bars": corpora.bars, "rows": numeric.rows, "growing": numeric.growing, "rules": numeric.rules,
    "pitman-yor": corpora.pitman_yor,
    "table": corpora.table, "paper": corpora.paper, "chains": corpora.chains, "stream": corpora.stream,
    "short": corpora.short, "speed": corpora.speed, "merges": corpora.merges,
}  # fmt: skip
# What the defaults of concentration, prior and threshold were chosen on.
TUNED_ON = ["kos", "news_t", "tweets_t"]
# Of a task's arguments those that a record has in other places.
NOT_PARAMETERS = (
    "path", "params", "split_number", "order", "seed", "n_documents", "marks", "grid", "name", "n_repeats", "n_seeds",
    "n_orders",
)  # fmt: skip
SYNTHETIC = ("bars", "rows", "growing", "rules", "pitman-yor")


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    n_documents: int | None = None  # of every corpus; None is all
    bar_seeds: int = 10
    bar_orders: int = 5
    bar_sweeps: int = 100
    blob_dimensions: tuple = (2, 5, 10, 20, 50)
    blob_seeds: int = 10
    blob_rows: int = 2_000
    labelled: tuple = ("iris", "wine", "breast_cancer", "digits")
    labelled_seeds: int = 5
    growing: tuple = numeric.PROBLEMS
    growing_tables: tuple = numeric.TABLES
    growing_streams: tuple = numeric.STREAMS
    growing_seeds: int = 5
    rules_chose: tuple = numeric.CHOSE
    rules_new: tuple = numeric.NEW
    rules_seeds: int = 3
    chain_sweeps: int = 200
    paper_splits: int = 2
    paper_repeats: dict = field(default_factory=lambda: {"adf": 20, "ep": 3, "gibbs": 2})
    power_seeds: int = 3
    power_lengths: tuple = (100, 10)
    power_marks: tuple = (1_000, 3_000, 10_000, 30_000)
    power_test: int = 2_000
    power_grid: dict = field(
        default_factory=lambda: {
            "concentration": [0.1, 1.0, 10.0, 100.0, 1_000.0], "word_prior": [0.02, 0.05, 0.1, 0.2]
        }
    )  # fmt: skip
    table_settings: tuple = ("as in the paper", "defaults")
    table_splits: int = 3
    table_repeats: dict = field(default_factory=lambda: {"adf": 20, "ep": 2, "gibbs": 2})
    table_epochs: int = 50
    table_sweeps: int = 215
    table_samples: dict = field(default_factory=lambda: {"burn_in": 165, "thin": 1})
    block: int = 1_000
    marks: tuple = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
    short_corpora: tuple = ("news_t", "tweets_t")
    short_grid: dict = field(
        default_factory=lambda: {
            "concentration": [100.0, 1_000.0, 10_000.0],
            "word_prior": [0.003, 0.01, 0.03, 0.1],
        }
    )
    short_sweeps: int = 50
    batches: int = 16
    speed_epochs: int = 10
    throughput_documents: int = 20_000
    merge_rows: int = 20_000
    cost_clusters: tuple = (10, 30, 100, 300, 1_000, 3_000)
    cost_first: int = 50_000
    cost_timed: int = 5_000


QUICK = replace(
    Sizes(), n_documents=300, bar_seeds=1, bar_orders=2, bar_sweeps=10, blob_dimensions=(5,),
    blob_seeds=2, labelled=("iris", "wine"), labelled_seeds=2, blob_rows=200,
    growing=("few n=300 d=5 informative=1", "given n=300"), growing_tables=("iris",), growing_streams=("given n=300",),
    growing_seeds=2, rules_chose=("given n=300", "iris"), rules_new=("typo n=100", "zeros n=100"), rules_seeds=1,
    chain_sweeps=4, paper_splits=1, paper_repeats={"adf": 2, "ep": 2, "gibbs": 2}, power_seeds=2, power_lengths=(20,),
    power_marks=(200, 500), power_test=100, power_grid={"concentration": [1.0], "word_prior": [0.05]},
    table_splits=1, table_repeats={"adf": 2, "ep": 2, "gibbs": 2}, table_epochs=2, table_sweeps=4,
    table_samples={"burn_in": 2, "thin": 1}, block=100, marks=(100, 200),
    short_sweeps=4, batches=4, speed_epochs=1, throughput_documents=200, merge_rows=300, cost_clusters=(3, 10),
    cost_first=200, cost_timed=100,
)  # fmt: skip


class Bench:
    """Sizes, data and records of one run."""

    def __init__(self, options):
        self.sizes = replace(QUICK if options.quick else Sizes(), **options.sizes)
        self.folder, self.recorder = options.data, recorder(options)

    def path(self, corpus):
        """Counts of a corpus."""
        path = Path(self.folder) / f"docword.{corpus}.txt"
        return str(path if path.exists() else path.with_suffix(".txt.gz"))

    def measure(self, section, label, task, fields=None, kept=True, module="_clusters_tasks", **arguments):
        """One measurement, announced on stderr and kept as a record, unless the experiment does so itself."""
        print(f"{section}: {label} ...", file=sys.stderr)
        result = run(f"{module}:{task}", CORES[:1], **arguments)
        record = {"section": section, "label": label, "arguments": arguments, **(fields or {}), **result}
        if kept:
            self.keep(record)
        return record

    def keep(self, record):
        """Write down what was measured."""
        for one in records_of(record):
            self.recorder.add(f"clusters-{record['section']}", **one)


def records_of(record):
    """What is kept of a measurement: a record for each method or point of a stream; repetitions share one."""
    section, arguments = record["section"], record["arguments"]
    params = arguments.get("params", {})
    about = {
        "corpus": corpus_of(section, arguments), "label": record.get("method", record["label"]),
        "seed": arguments.get("seed", 0), "split": split_of(arguments),
        "parameters": params | {name: value for name, value in arguments.items() if name not in NOT_PARAMETERS},
        "prior": record.get("setting", prior_name(arguments | params)),
        "estimator": "GibbsNGGPMixture" if "gibbs" in (arguments.get("method"), "gibbs" * (section == "chains"))
        else "StreamingNGGPMixture", "tuned_on": TUNED_ON,
    }  # fmt: skip
    runs = record.get("runs")
    if runs:
        names = [name for name in runs[0] if name != "seconds"]
        rest = figures(record)
        yield about | {"scores": {name: [float(run[name]) for run in runs] for name in names} | rest,
                       "seconds": [run["seconds"] for run in runs], "seed": list(range(len(runs)))}  # fmt: skip
    elif "points" in record:
        for point in record["points"]:
            yield about | {"scores": figures(point, ("seconds", "n_samples", "bytes")), "seconds": point.get("seconds"),
                           "memory": point.get("bytes"),
                           "parameters": about["parameters"] | {"documents": point["n_samples"]}}  # fmt: skip
    else:
        labels = record.get("as_they_come", record.get("at_end", {}))
        joints = dict(zip(("joint_at_a_tenth", "joint_at_half", "joint"), record.get("log_joint", ()), strict=False))
        scores = figures(record, ("seconds", "bytes")) | labels | joints | record.get("chosen", {})
        yield about | {"scores": scores,
                       "seconds": record.get("seconds"), "memory": record.get("bytes")}  # fmt: skip


def split_of(arguments):
    """Which documents are held out, or how they come."""
    if "split_number" in arguments:
        return f"split {arguments['split_number']}"
    order = arguments.get("order")
    return None if order is None else "in stream order" if order == "stream" else "in random order"


def corpus_of(section, arguments):
    """A corpus by its file and size, or what was drawn."""
    if "path" in arguments:
        path = Path(arguments["path"])
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            n_documents = int(file.readline())
        first = arguments.get("n_documents") or n_documents
        size = f"{n_documents:,}" if first >= n_documents else f"the first {first:,}"
        return f"{path.name.removeprefix('docword.').split('.')[0]}, {size} documents"
    if section == "pitman-yor":
        return f"Pitman-Yor stream, {arguments['doc_length']} tokens a document"
    return arguments.get("name", section)


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("experiments", nargs="+", choices=list(EXPERIMENTS), metavar="EXPERIMENT", help=", ".join(EXPERIMENTS))
    add("--data", metavar="FOLDER", help="with UCI bags of words, docword.NAME.txt[.gz], and labels.NAME.txt[.gz]")
    add("--quick", action="store_true", help="tiny sizes: shows that everything runs")
    add("--sizes", type=json.loads, default={}, metavar="JSON", help="other sizes, as {\"chain_sweeps\": 1000}")
    add_options(parser)
    options = parser.parse_args(arguments)
    if options.data is None and set(options.experiments) - set(SYNTHETIC):
        parser.error(f"--data is missing; only {' and '.join(SYNTHETIC)} do without")
    return options


def main():
    """One experiment after the other."""
    options = parse()
    try:
        bench = Bench(options)
        for name in options.experiments:
            EXPERIMENTS[name](bench)
    except MeasurementError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
