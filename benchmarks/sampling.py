"""Topic models: what a token costs in an epoch over warm documents, by the number of topics.

python benchmarks/sampling.py                                  docstrings of numpy, scipy and scikit-learn
python benchmarks/sampling.py --data docword.nips.txt.gz --K 100,1000,10000

SparseSCVB0LDA with each of its samplers, and SparseLDA, each in its own process. README.md has the
rest.
"""

import argparse
import json
import sys
import tempfile

from _measure import CORES, MeasurementError, run
from _report import number, print_table
from _results import add_options, recorder

# Topics that are all the same; no document is visited in another way (see ``_sampling_tasks``).
START = {"init_params": "uniform", "batch_size": 100}  # the default follows K
CONTESTANTS = {
    "mhw": ("SparseSCVB0LDA, mhw", "sparsemix:SparseSCVB0LDA", {"sampler": "mhw", **START}),
    "gibbs": ("SparseSCVB0LDA, gibbs", "sparsemix:SparseSCVB0LDA", {"sampler": "gibbs", **START}),
    "dense": ("SparseSCVB0LDA, dense", "sparsemix:SparseSCVB0LDA", {"sampler": "dense", **START}),
    "sparse": ("SparseLDA, L=8", "sparsemix:SparseLDA", {"n_nonzero": 8}),
}
PHASES = ("tables", "documents", "sums", "steps")


class Bench:
    """One corpus, and the records that are made of it."""

    def __init__(self, options, folder):
        self.options, self.folder, self.failed, self.recorder = options, folder, [], recorder(options)
        self.environment = run("_tasks:environment", CORES[:1])
        self.corpus = run("_topics_tasks:prepare", CORES[:1], path=options.data, n_test=1, folder=folder)

    def describe(self):
        for name, value in self.environment.items():
            print(f"{name}: {value}")
        print(
            "{corpus}: {n_documents:,} documents, {n_tokens:,} tokens, {n_entries:,} entries, {n_words:,} words".format(
                **self.corpus
            ),
            flush=True,
        )

    def measure(self, name, n_components):
        """Seconds and phases of epochs; None when that failed."""
        label, path, parameters = CONTESTANTS[name]
        print(f"{label}, K={n_components} ...", file=sys.stderr, flush=True)
        try:
            result = run(
                "_sampling_tasks:passes", CORES[:1], folder=self.folder, path=path,
                n_passes=self.options.passes, n_components=n_components,
                parameters=parameters | self.options.params.get(name, {}),
            )  # fmt: skip
        except MeasurementError as error:
            self.failed.append(label)
            print(f"\n{label}, K={n_components} failed: {error}", flush=True)
            return None
        record = {"name": name, "label": label, "n_components": n_components, **result}
        tokens, kind = self.corpus["n_tokens"], path.partition(":")[2]
        phases = {phase: 1e9 * seconds / tokens for phase, seconds in result["phases"].items()}
        self.recorder.add(
            "sampling", "{corpus}, {n_documents:,} documents".format(**self.corpus), kind,
            phases | {"all": 1e9 * result["seconds"] / tokens, "acceptance": result["acceptance"]}, label=label,
            parameters={"n_components": n_components, "passes": self.options.passes, **parameters,
                        **self.options.params.get(name, {})},
            prior="defaults", seed=0, seconds=result["seconds"], clock="wall", memory=result["bytes"],
        )  # fmt: skip
        return record


def measure_all(bench):
    """Records of all contestants and numbers of topics."""
    options = bench.options
    for name in options.contestants:
        for n_components in options.K:
            if name in ("mhw", "gibbs") or n_components <= options.most_dense:
                yield bench.measure(name, n_components)


def print_tokens(bench, records):
    """What a token costs, and where."""
    first = {}
    for record in records:
        first.setdefault(record["name"], record)
    tokens = bench.corpus["n_tokens"]
    print_table(
        f"{bench.corpus['corpus']}: a token of a pass over warm documents, one thread, nanoseconds",
        ["", "K", *PHASES, "all", "documents, ratio", "ns/draw", "accepted", "MB"],
        [token_row(record, first[record["name"]], tokens) for record in records],
        notes=[
            "tables: what the local steps read of words; documents: their local steps; sums: responsibilities by word",
            "steps: statistics of batches to the next topics; all: the pass; medians over the later half of the passes",
            "ratio: to the first K of the contestant; ns/draw: documents, over draws (S for each entry and sweep)",
            "MB: peak of memory beyond the data",
            *busy_notes(records),
        ],
    )  # fmt: skip


def token_row(record, first, tokens):
    phases, draws = record["phases"], record["draws"]
    documents = phases["documents"]
    return [
        record["label"], record["n_components"], *(number(1e9 * phases[name] / tokens, ".1f") for name in PHASES),
        number(1e9 * record["seconds"] / tokens, ".1f"), number(documents / first["phases"]["documents"], ".2f"),
        number(draws and 1e9 * documents / draws, ".1f"), number(record["acceptance"]),
        number(record["bytes"] / 1e6, ".0f"),
    ]  # fmt: skip


def busy_notes(records):
    """Who had to share the core."""
    return [
        f"BUSY MACHINE: {record['label']}, K={record['n_components']} had the core for "
        f"{100 * record['cpu_share']:.0f} % of its seconds only"
        for record in records if record["cpu_share"] < 0.97
    ]  # fmt: skip


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", metavar="PATH", help="UCI bag of words, docword.NAME.txt[.gz] (default: docstrings)")
    add("--K", type=numbers, default=[100, 1000, 10000], help="numbers of topics, by commas (default: 100,1000,10000)")
    add("--passes", type=int, default=10, help="of which the later half counts (default: %(default)d)")
    add("--contestants", type=names, default=list(CONTESTANTS), help=f"by commas (default: {','.join(CONTESTANTS)})")
    add("--most-dense", type=int, default=1000, metavar="K", help="largest K of the other two (default: %(default)d)")
    add("--params", type=json.loads, default={}, metavar="JSON", help='of contestants, as {"mhw": {"n_samples": 2}}')
    add_options(parser)
    return parser.parse_args(arguments)


def numbers(text):
    return [int(part) for part in text.split(",")]


def names(text):
    chosen = text.split(",")
    if unknown := set(chosen) - set(CONTESTANTS):
        raise argparse.ArgumentTypeError(f"no {sorted(unknown)}; there are {', '.join(CONTESTANTS)}")
    return chosen


def main():
    """A contestant that fails does not stop the others."""
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        try:
            bench = Bench(options, folder)
        except MeasurementError as error:
            sys.exit(str(error))
        bench.describe()
        print_tokens(bench, [record for record in measure_all(bench) if record])
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
