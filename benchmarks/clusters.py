"""Mixtures of documents whose number of clusters grows: quality, agreement with known clusters, speed.

python benchmarks/clusters.py bars rows growing moving rules search pitman-yor             synthetic data
python benchmarks/clusters.py table paper chains stream short speed merges --data FOLDER   documents

Every measurement has a separate process on one core, seconds are those of the processor. README.md describes the
experiments.
"""

import gzip
import json
import sys
from pathlib import Path

import _clusters_corpora as corpora
import _clusters_rows as numeric
from _clusters_corpora import prior_name
from _measure import CORES, MeasurementError, run
from _results import figures, parser_of, recorder, sizes_of

EXPERIMENTS = {
    "bars": corpora.bars, "rows": numeric.rows, "growing": numeric.growing, "moving": numeric.moving,
    "rules": numeric.rules, "search": numeric.search, "pitman-yor": corpora.pitman_yor,
    "table": corpora.table, "paper": corpora.paper, "chains": corpora.chains, "stream": corpora.stream,
    "short": corpora.short, "speed": corpora.speed, "merges": corpora.merges,
}  # fmt: skip
# What the defaults of concentration, prior and threshold were chosen on.
TUNED_ON = ["kos", "news_t", "tweets_t"]
# Of a task's arguments those that a record has in other places.
NOT_PARAMETERS = (
    "path", "params", "split_number", "order", "seed", "n_documents", "marks", "grid", "name", "n_repeats", "n_seeds",
    "n_orders", "as_published",
)  # fmt: skip
SYNTHETIC = ("bars", "rows", "growing", "moving", "rules", "search", "pitman-yor")


# How much is measured: by default, and by --quick.
SIZES = {
    "n_documents": (None, 300),  # of every corpus; None is all
    "bar_seeds": (10, 1), "bar_orders": (5, 2), "bar_sweeps": (100, 10),
    "blob_dimensions": ((2, 5, 10, 20, 50), (5,)), "blob_seeds": (10, 2), "blob_rows": (2_000, 200),
    "labelled": (tuple(f"{name}, standardised" for name in ("iris", "wine", "breast_cancer", "digits")),
                 ("iris, standardised", "wine")), "labelled_seeds": (5, 2),
    "growing": (numeric.PROBLEMS, ("few n=300 d=5 informative=1", "given n=300")),
    "growing_tables": (numeric.TABLES, ("iris",)), "growing_streams": (numeric.STREAMS, ("given n=300",)),
    "growing_seeds": (5, 2),
    "moving": (numeric.MOVING, ((3.0, 2, 100),)), "moving_seeds": (5, 1), "moving_blocks": (30, 3),
    "rules_chose": (numeric.CHOSE, ("given n=300", "iris")), "rules_new": (numeric.NEW, ("typo n=100", "zeros n=100")),
    "rules_seeds": (3, 1), "searched": (numeric.SEARCHED, ("blobs n=200 d=2",)), "searched_seeds": (5, 1),
    "power_seeds": (3, 2), "power_lengths": ((100, 10), (20,)),
    "power_marks": ((1_000, 3_000, 10_000, 30_000), (200, 500)), "power_test": (2_000, 100),
    "power_grid": (
        {"concentration": [0.1, 1.0, 10.0, 100.0, 1_000.0], "word_prior": [0.02, 0.05, 0.1, 0.2]},
        {"concentration": [1.0], "word_prior": [0.05]},
    ),
    "table_settings": (("as in the paper", "defaults"),) * 2, "table_splits": (3, 1),
    "table_repeats": ({"adf": 20, "ep": 2, "gibbs": 2}, {"adf": 2, "ep": 2, "gibbs": 2}), "table_epochs": (50, 2),
    "table_sweeps": (215, 4), "table_samples": ({"burn_in": 165, "thin": 1}, {"burn_in": 2, "thin": 1}),
    "paper_splits": (2, 1), "paper_repeats": ({"adf": 20, "ep": 3, "gibbs": 2}, {"adf": 2, "ep": 2, "gibbs": 2}),
    "chain_sweeps": (200, 4), "block": (1_000, 100),
    "marks": ((1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000), (100, 200)),
    "short_corpora": (("news_t", "tweets_t"),) * 2, "short_sweeps": (50, 4), "batches": (16, 4),
    "short_grid": (
        {"concentration": [100.0, 1_000.0, 10_000.0], "word_prior": [0.003, 0.01, 0.03, 0.1]},
        {"concentration": [100.0, 1_000.0], "word_prior": [0.03]},
    ),
    "speed_epochs": (10, 1), "throughput_documents": (20_000, 200), "merge_rows": (20_000, 300),
    "cost_clusters": ((10, 30, 100, 300, 1_000, 3_000), (3, 10)), "cost_first": (50_000, 200),
    "cost_timed": (5_000, 100),
}  # fmt: skip


class Bench:
    """Sizes, data and records of one run."""

    def __init__(self, options):
        self.sizes = sizes_of(SIZES, options.quick, **options.sizes)
        self.folder, self.recorder = options.data, recorder(options)

    def path(self, corpus):
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
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("experiments", nargs="+", choices=list(EXPERIMENTS), metavar="EXPERIMENT", help=", ".join(EXPERIMENTS))
    add("--data", metavar="FOLDER", help="with UCI bags of words, docword.NAME.txt[.gz], and labels.NAME.txt[.gz]")
    add("--quick", action="store_true", help="tiny sizes: shows that everything runs")
    add("--sizes", type=json.loads, default={}, metavar="JSON", help="other sizes, as {\"chain_sweeps\": 1000}")
    options = parser.parse_args(arguments)
    if options.data is None and set(options.experiments) - set(SYNTHETIC):
        parser.error(f"--data is missing; only {' and '.join(SYNTHETIC)} do without")
    return options


def main():
    options = parse()
    try:
        bench = Bench(options)
        for name in options.experiments:
            EXPERIMENTS[name](bench)
    except MeasurementError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
