"""Topic models: held-out score against seconds of training, and speed of transforming, compared with other packages.

python benchmarks/topics.py                                    docstrings of numpy, scipy and scikit-learn
python benchmarks/topics.py --data docword.nips.txt.gz --K 200 --seconds 60
python benchmarks/topics.py --estimators SparseSCVB0LDA,CollapsedLDA --sampler mhw --inference cvb0,gibbs --peers none
python benchmarks/topics.py --transform

Every contestant runs in its own process, pinned to one core (as many as --n-jobs says), the same documents and the
same evaluation. Ours have their defaults; README.md has the rest.
"""

import argparse
import json
import sys
import tempfile
from importlib.util import find_spec
from itertools import product

from _measure import CORES, MeasurementError, run
from _results import add_options, recorder

# Of the peers: those of the package (tomotopy learns alpha), or those that ours have by default.
PRIORS = {
    "own": lambda n_components: {"doc_topic_prior": None, "topic_word_prior": None},  # noqa: ARG005
    "5/K": lambda n_components: {"doc_topic_prior": min(0.1, 5.0 / n_components), "topic_word_prior": 0.01},
}

# Ours: the parameter whose values are contestants of their own, each named after its value.
ESTIMATORS = {"SparseLDA": "n_nonzero", "SparseSCVB0LDA": "sampler", "CollapsedLDA": "inference"}
# Corpora that the defaults of ours were chosen on, those of SparseSCVB0LDA on all of them; see doc/decisions.
TUNED_ON = ["nips", "kos", "20news", "ap", "reuters21578", "arxiv", "tweets_t"]
# Others: package to import, adapter, its arguments.
PEERS = {
    "sklearn-batch": ("sklearn.decomposition", "ScikitLearn", {"learning_method": "batch"}),
    "sklearn-online": ("sklearn.decomposition", "ScikitLearn", {"learning_method": "online"}),
    "tomotopy": ("tomotopy", "Tomotopy", {}),
    "tomotopy-1000": ("tomotopy", "Tomotopy", {}),
    "tomotopy-mean": ("tomotopy", "Tomotopy", {"window": 20}),
    "gensim": ("gensim.models", "Gensim", {}),
    "gensim-256": ("gensim.models", "Gensim", {"chunksize": 256, "offset": 10.0, "decay": 0.7}),
    "bigartm": ("artm", "BigArtm", {}),
}
# Epochs after which a peer ends by itself: its default, or the number that its name says.
OWN_END = {"sklearn-batch": 10, "sklearn-online": 10, "gensim": 1, "tomotopy": 10, "tomotopy-1000": 1000}
NOT_PARAMETERS = ("package", "adapter", "path", "priors", "own_end")
LEARN_ONLY = "tomotopy-mean", "bigartm"  # not in --transform: they infer nothing here


def contestants(options, n_components):
    """Labels, and what a child needs to make each contestant."""
    out = {}
    for name in options.estimators:
        for value, parameters in product(getattr(options, ESTIMATORS[name]), own_parameters(name, options.params)):
            parameters = {ESTIMATORS[name]: value} | parameters
            out[label_of(name, parameters)] = {
                "package": "sparsemix", "adapter": "_topics_ours:Estimator", "path": f"sparsemix:{name}",
                **shared_parameters(options.params), **parameters, **({"own_end": True} if options.own_end else {}),
            }  # fmt: skip
    for name, prior in product(options.peers, options.priors):
        package, adapter, arguments = PEERS[name]
        out[f"{name}, {prior} prior"] = {
            "package": package, "adapter": f"_topics_peers:{adapter}", "priors": PRIORS[prior](n_components),
            **arguments, **({"epochs": OWN_END[name]} if options.own_end else {}),
        }  # fmt: skip
    return out


def shared_parameters(params):
    """What --params gives to all of ours."""
    return {key: value for key, value in params.items() if key not in ESTIMATORS}


def own_parameters(name, params):
    """What --params gives to one of ours under its name: parameters, or a list of them, a contestant each."""
    own = params.get(name, {})
    return own if isinstance(own, list) else [own]


def label_of(name, parameters):
    """The estimator, its variant, and what else was given to it alone."""
    rest = dict(parameters)
    variant = rest.pop(ESTIMATORS[name])
    if ESTIMATORS[name] == "n_nonzero":
        variant = "dense" if variant is None else f"L={variant}"
    return ", ".join([name, str(variant), *(f"{key}={value}" for key, value in rest.items())])


class Contest:
    """One corpus, and the records that are made of it."""

    def __init__(self, options, folder):
        self.options, self.folder, self.failed = options, folder, []
        self.recorder = recorder(options)
        self.corpus = self.run("_topics_tasks:prepare", path=options.data, n_test=options.n_test, folder=folder)

    def run(self, task, **arguments):
        return run(task, self.options.cores, n_threads=1, **arguments)

    def measure_all(self, mode, n_components):
        """A record of each contestant and seed."""
        options = self.options
        setting = {
            "n_components": n_components, "doc_topic_prior": doc_topic_prior(n_components), "topic_word_prior": None,
            "n_jobs": options.n_jobs,
        }  # fmt: skip
        for (label, contestant), seed in product(contestants(options, n_components).items(), range(options.seeds)):
            setting["seed"] = seed
            print(f"{mode}: K={n_components}, {label}, seed {seed} ...", end="", file=sys.stderr, flush=True)
            try:
                result = self.run(
                    f"_topics_tasks:{mode}", folder=self.folder, contestant=contestant, setting=setting,
                    seconds=options.seconds, of_processor=options.cpu,
                )  # fmt: skip
            except MeasurementError as error:
                self.failed.append(label)
                print(f"\n{label}, K={n_components} failed: {error}", flush=True)
                continue
            print(file=sys.stderr)
            if options.n_jobs == 1 and result["cpu_share"] < 0.97:
                print(f"BUSY MACHINE: {label} had the core for {result['cpu_share']:.0%} of its seconds only")
            self.keep({"mode": mode, "label": label, "contestant": contestant, **setting, **result})

    def keep(self, record):
        """The record of a measurement."""
        corpus, options = self.corpus, self.options
        own = {key: value for key, value in record["contestant"].items() if key not in NOT_PARAMETERS}
        ours = record["contestant"]["package"] == "sparsemix"
        prior = record["label"].rpartition(", ")[2].removesuffix(" prior")
        fields = {
            "corpus": f"{corpus['corpus']}, {corpus['n_documents']:,} documents",
            "estimator": peer_of(record), "label": peer_of(record) if not ours else record["label"],
            "split": f"{corpus['n_test']} documents, a fifth of their words",
            "parameters": {"n_components": record["n_components"], "n_jobs": record["n_jobs"],
                           **({} if options.own_end else {"budget": options.seconds}), **own},
            "prior": prior_of_ours(peer_of(record), own) if ours else prior, "seed": record["seed"],
            "clock": "processor" if options.cpu else "wall", "tuned_on": TUNED_ON if ours else [],
        }  # fmt: skip
        if record["mode"] == "transform":
            scores = {name: record[name] for name in ("score", "dense_score", "documents_per_second")}
            self.recorder.add("topics-transform", scores=scores, **fields)
        elif record["checkpoints"]:
            curve = [{"passes": p, "seconds": round(s, 3), "nats": round(nats, 4), "npmi": round(npmi, 4)}
                     for p, s, nats, npmi in record["checkpoints"]]  # fmt: skip
            end = curve[-1] | {"tokens_per_second": record["tokens_per_second"]}
            self.recorder.add("topics", seconds=end.pop("seconds"), scores=end, curve=curve, memory=record["bytes"],
                              **fields)  # fmt: skip


def prior_of_ours(estimator, parameters):
    """What a record of ours calls the prior of documents."""
    if "doc_topic_prior" in parameters:
        return "given"
    return "learned" if estimator == "SparseSCVB0LDA" else "5/K"


def peer_of(record):
    """The label without its prior or parameters."""
    return record["label"].partition(",")[0]


def doc_topic_prior(n_components):
    """Of the score, for all contestants."""
    return 0.1 if n_components <= 200 else 20.0 / n_components


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", metavar="PATH", help="UCI bag of words, docword.NAME.txt[.gz] (default: docstrings)")
    add("--n-test", type=int, help="held-out documents (default: a tenth, 500 at most)")
    add("--K", type=numbers(int), default=[50], help="numbers of topics, by commas (default: 50)")
    add("--seconds", type=float, default=20.0, help="of training for each contestant (default: %(default)g)")
    add("--own-end", action="store_true", help="no limit: all end by their own defaults (tomotopy-1000: 1,000 epochs)")
    add("--estimators", type=names(ESTIMATORS), default=list(ESTIMATORS), help=listed("ours", ESTIMATORS))
    add("--n-nonzero", type=numbers(sparsity), default=[8], help="L of SparseLDA, or dense (default: 8)")
    add("--sampler", type=numbers(str), default=["auto"], help="of SparseSCVB0LDA (default: auto)")
    add("--inference", type=numbers(str), default=["cvb0"], help="of CollapsedLDA (default: cvb0)")
    add("--params", type=json.loads, default={}, metavar="JSON", help="of all of ours; under a name, of that one")
    add("--peers", type=names(PEERS), default=None, help=listed("others", PEERS))
    add("--priors", type=names(PRIORS), default=list(PRIORS), help=listed("priors of other packages", PRIORS))
    add("--cpu", action="store_true", help="seconds of the processor, where others work on the machine too")
    add("--transform", action="store_true", help="time new documents instead")
    add("--n-jobs", type=int, default=1, help="threads, and cores (default: 1)")
    add("--cores", type=numbers(int), help="numbers of the cores to use (default: the first allowed)")
    add("--seeds", type=int, default=1, help="so many fits of each contestant (default: 1)")
    add_options(parser)
    options = parser.parse_args(arguments)
    if options.peers is None:
        options.peers = [name for name, (package, *_) in PEERS.items() if find_spec(package.split(".")[0])]
        if not options.own_end:  # on a clock it is tomotopy
            options.peers = [name for name in options.peers if name != "tomotopy-1000"]
    if options.own_end:
        options.seconds, options.peers = None, [name for name in options.peers if name in OWN_END]
    if options.transform:
        options.peers = [name for name in options.peers if name not in LEARN_ONLY]
    options.cores = options.cores or CORES[: options.n_jobs]
    return options


def listed(what, known):
    return f"{what}, by commas, or none: {', '.join(known)}"


def numbers(kind):
    """Type of an option: values by commas."""
    return lambda text: [kind(part) for part in text.split(",")]


def sparsity(text):
    return None if text == "dense" else int(text)


def names(known):
    """Type of an option: some of the known names, or "none"."""

    def convert(text):
        chosen = [] if text == "none" else text.split(",")
        if unknown := set(chosen) - set(known):
            raise argparse.ArgumentTypeError(f"no {sorted(unknown)}; there are {', '.join(known)}")
        return chosen

    return convert


def main():
    """Measure one K after another; a contestant that fails does not stop the run."""
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        try:
            contest = Contest(options, folder)
        except MeasurementError as error:
            sys.exit(str(error))
        for n_components in options.K:
            contest.measure_all("transform" if options.transform else "curve", n_components)
    return 1 if contest.failed else 0


if __name__ == "__main__":
    sys.exit(main())
