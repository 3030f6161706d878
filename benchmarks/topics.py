"""Topic models: held-out score against seconds of training, and speed of transforming, compared with other packages.

python benchmarks/topics.py                                    docstrings of numpy, scipy and scikit-learn
python benchmarks/topics.py --data docword.nips.txt.gz --K 200 --seconds 60
python benchmarks/topics.py --transform

Every contestant runs in its own process, pinned to one core, the same documents and the
same evaluation. Ours have their defaults; README.md has the rest.
"""

import argparse
import json
import sys
import tempfile
from importlib.util import find_spec
from itertools import product

from _measure import CORES, FAILED, MeasurementError, attempt, run
from _results import by_commas, parser_of, recorder

# Of other packages: their own (tomotopy learns alpha), the defaults of ours, or a wider one of words, by which tomotopy
# scores higher on docstrings than by its own eta = 0.01, for the same time.
PRIORS = {
    "own": lambda n_components: {"doc_topic_prior": None, "topic_word_prior": None},  # noqa: ARG005
    "5/K": lambda n_components: {"doc_topic_prior": min(0.1, 5.0 / n_components), "topic_word_prior": 0.01},
    "eta=0.05": lambda n_components: {"doc_topic_prior": None, "topic_word_prior": 0.05},  # noqa: ARG005
}

# Ours: the end of their labels, and parameters.
ESTIMATORS = {"SparseLDA": ("L=8", {"n_nonzero": 8}), "SparseSCVB0LDA": ("auto", {"sampler": "auto"})}
# Corpora that the defaults of ours were chosen on, those of SparseSCVB0LDA on all of them; see doc/decisions.
TUNED_ON = ["nips", "kos", "20news", "ap", "reuters21578", "arxiv", "tweets_t"]
# Other packages: what to import, adapter, its arguments.
PEERS = {
    "sklearn-batch": ("sklearn.decomposition", "ScikitLearn", {}),
    "tomotopy": ("tomotopy", "Tomotopy", {}),
    "tomotopy-1000": ("tomotopy", "Tomotopy", {}),
    "gensim": ("gensim.models", "Gensim", {}),
    "gensim-256": ("gensim.models", "Gensim", {"chunksize": 256, "offset": 10.0, "decay": 0.7}),
}
# Epochs after which a peer ends by itself: its default, or the number in its name.
OWN_END = {"sklearn-batch": 10, "gensim": 1, "gensim-256": 1, "tomotopy": 10, "tomotopy-1000": 1000}
# What packages call the priors of documents and words; given ones differ from their defaults.
PRIOR_NAMES = {"sklearn-batch": ("doc_topic_prior", "topic_word_prior"), "gensim": ("alpha", "eta"),
               "tomotopy": ("alpha", "eta")}  # fmt: skip
NOT_PARAMETERS = ("package", "adapter", "path", "priors", "own_end")


def contestants(options, n_components):
    """Labels, and what a child needs to make each contestant."""
    out = {}
    for name in options.estimators:
        variant, parameters = ESTIMATORS[name]
        given = options.params.get(name, {})
        label = ", ".join([name, variant, *(f"{key}={value}" for key, value in given.items())])
        out[label] = ours(name, **parameters, **given, **({"own_end": True} if options.own_end else {}))
    for name, prior in product(options.peers, options.priors):
        own_end = {"epochs": OWN_END[name]} if options.own_end else {}
        out[f"{name}, {prior} prior"] = peer(name, prior, n_components) | own_end
    return out


def ours(name, **parameters):
    """What a child needs to make one of our estimators."""
    return {"package": "sparsemix", "adapter": "_topics_ours:Estimator", "path": f"sparsemix:{name}", **parameters}


def peer(name, prior, n_components):
    """What a child needs to make the model of another package."""
    package, adapter, arguments = PEERS[name]
    return {"package": package, "adapter": f"_topics_peers:{adapter}", "priors": PRIORS[prior](n_components),
            **arguments}  # fmt: skip


class Contest:
    """One corpus, and its records."""

    def __init__(self, options, folder):
        self.options, self.folder, self.recorder = options, folder, recorder(options)
        self.corpus = run("_topics_tasks:prepare", options.cores, n_threads=1, path=options.data, n_test=None,
                          folder=folder)  # fmt: skip

    def measure_all(self, mode, n_components):
        options = self.options
        setting = {
            "n_components": n_components, "doc_topic_prior": doc_topic_prior(n_components), "topic_word_prior": None,
        }  # fmt: skip
        for (label, contestant), seed in product(contestants(options, n_components).items(), range(options.seeds)):
            setting["seed"] = seed
            result = attempt(
                f"{mode}: K={n_components}, {label}, seed {seed}", f"_topics_tasks:{mode}", options.cores, n_threads=1,
                folder=self.folder, contestant=contestant, setting=setting, seconds=options.seconds,
                of_processor=options.cpu,
            )  # fmt: skip
            if result is None:
                continue
            if result["cpu_share"] < 0.97:
                print(f"BUSY MACHINE: {label} had the core for {result['cpu_share']:.0%} of its seconds only")
            self.keep({"mode": mode, "label": label, "contestant": contestant, **setting, **result})

    def keep(self, record):
        corpus, options = self.corpus, self.options
        own = {key: value for key, value in record["contestant"].items() if key not in NOT_PARAMETERS}
        if peer_of(record) != "tomotopy-1000":  # the number of epochs is the default
            own.pop("epochs", None)
        ours = record["contestant"]["package"] == "sparsemix"
        prior = record["label"].rpartition(", ")[2].removesuffix(" prior")
        fields = {
            "corpus": f"{corpus['corpus']}, {corpus['n_documents']:,} documents",
            "estimator": peer_of(record), "label": peer_of(record) if not ours else record["label"],
            "split": f"{corpus['n_test']} documents, a fifth of their words",
            "parameters": {"n_components": record["n_components"], "n_jobs": 1,
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


def given_priors(label, prior, n_components):
    """Priors of a peer that differ from its defaults, under its names."""
    names = next(names for name, names in PRIOR_NAMES.items() if label.startswith(name))
    return {name: value for name, value in zip(names, PRIORS[prior](n_components).values(), strict=True) if value}


def prior_of_ours(estimator, parameters):
    """What a record of ours calls the prior of documents."""
    if "doc_topic_prior" in parameters:
        return "given"
    return "learned" if estimator == "SparseSCVB0LDA" else "5/K"


def peer_of(record):
    """The label without its prior or parameters."""
    return record["label"].partition(",")[0]


def doc_topic_prior(n_components):
    return 0.1 if n_components <= 200 else 20.0 / n_components


def parse(arguments=None):
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--data", metavar="PATH", help="UCI bag of words, docword.NAME.txt[.gz] (default: docstrings)")
    add("--K", type=by_commas(int), default=[50], help="numbers of topics, by commas (default: 50)")
    add("--seconds", type=float, default=20.0, help="of training for each contestant (default: %(default)g)")
    add("--own-end", action="store_true", help="no limit: all end by their own defaults (tomotopy-1000: 1,000 epochs)")
    add("--estimators", type=names(ESTIMATORS), default=list(ESTIMATORS), help=listed("ours", ESTIMATORS))
    add("--params", type=json.loads, default={}, metavar="JSON", help="parameters of ours, under the estimator's name")
    add("--peers", type=names(PEERS), default=None, help=listed("other packages", PEERS))
    add("--priors", type=names(PRIORS), default=list(PRIORS), help=listed("priors of other packages", PRIORS))
    add("--cpu", action="store_true", help="seconds of the processor, for a machine with other work")
    add("--transform", action="store_true", help="time new documents instead")
    add("--cores", type=by_commas(int), default=CORES[:1], help="numbers of the cores to use (default: the first)")
    add("--seeds", type=int, default=1, help="fits of each contestant (default: 1)")
    options = parser.parse_args(arguments)
    if options.peers is None:
        options.peers = [name for name, (package, *_) in PEERS.items() if find_spec(package.split(".")[0])]
        if not options.own_end:  # with a time limit it is tomotopy
            options.peers = [name for name in options.peers if name != "tomotopy-1000"]
    if options.own_end:
        options.seconds, options.peers = None, [name for name in options.peers if name in OWN_END]
    return options


def listed(what, known):
    return f"{what}, by commas, or none: {', '.join(known)}"


def names(known):
    """Type of an option: some of the known names, or "none"."""

    def convert(text):
        chosen = [] if text == "none" else text.split(",")
        if unknown := set(chosen) - set(known):
            raise argparse.ArgumentTypeError(f"no {sorted(unknown)}; there are {', '.join(known)}")
        return chosen

    return convert


def main():
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        try:
            contest = Contest(options, folder)
        except MeasurementError as error:
            sys.exit(str(error))
        for n_components in options.K:
            contest.measure_all("transform" if options.transform else "curve", n_components)
    return int(bool(FAILED))


if __name__ == "__main__":
    sys.exit(main())
