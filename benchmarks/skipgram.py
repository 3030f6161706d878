"""Skip-gram topics: seconds of a token by the number of topics, scores and coherence, senses, vectors of documents.

python benchmarks/skipgram.py tokens  --data tokens.reuters21578.txt.gz   what a token costs, by inference and K
python benchmarks/skipgram.py scores  --data tokens.arxiv.txt.gz          held-out score and coherence, annealing
python benchmarks/skipgram.py senses  --data tokens.arxiv.txt.gz          pseudo-words distinguished by their context
python benchmarks/skipgram.py support --data tokens.arxiv.txt.gz          topics that the words of a position have
python benchmarks/skipgram.py words   --data tokens.arxiv.txt.gz          nearest words and analogies
python benchmarks/skipgram.py vectors --data tokens.reuters21578.txt.gz --labels labels.reuters21578.txt

A corpus is a file of documents, one a line, words in their order and separated by spaces. README.md has the rest.
"""

import importlib.util
import sys
import tempfile

from _measure import CORES, FAILED, attempt, run
from _results import by_commas, figures, parser_of, recorder

PEERS = ("SparseSCVB0LDA", "word2vec")
KINDS = ("scvb0, dense", "scvb0, chains", "gibbs", "mhw")
# Start, final and cooling.
NOT_ANNEALED, TO_ZERO = {"annealing": (0.0, 1.0, 0.59)}, {"annealing": (10.0, 1e-5, 0.59)}
SCORES = {
    "scvb0, dense": {},
    "scvb0, dense, no annealing": NOT_ANNEALED,
    "scvb0, dense, to T = 1e-5": TO_ZERO,
    "scvb0, dense, 1 topic a position": {"n_samples": 1},
    "scvb0, dense, 128 topics a position": {"n_samples": 128},
    "scvb0, chains": {"sampler": "mhw"},
    "scvb0, chains, no annealing": {"sampler": "mhw", **NOT_ANNEALED},
    "scvb0, chains, to T = 1e-5": {"sampler": "mhw", **TO_ZERO},
    "gibbs": {"inference": "gibbs"},
    "mhw": {"inference": "mhw"},
    "mhw, to T = 1e-5": {"inference": "mhw", **TO_ZERO},
}
# To be read on abstracts: of several senses, and a : b = c : ? by the difference of vectors.
WORDS = ["tree", "kernel", "field", "charge", "star", "game", "bank", "virus"]
ANALOGIES = [
    ("electron", "electrons", "star"), ("graph", "vertices", "network"), ("star", "stellar", "galaxy"),
    ("bayesian", "posterior", "likelihood"), ("ring", "rings", "group"), ("image", "pixels", "text"),
]  # fmt: skip


class Bench:
    """One corpus, which is read once and kept in ``folder`` for all children."""

    def __init__(self, options, folder):
        self.options, self.recorder = options, recorder(options)
        self.corpus = run(
            "_skipgram_tasks:prepare", CORES[:1], path=options.data, n_documents=options.documents, folder=folder
        )
        print("{name}: {n_documents:,} documents, {n_tokens:,} tokens, {n_words:,} words".format(**self.corpus))

    def measure(self, task, label, n_jobs=1, **arguments):
        result = attempt(
            f"{task}: {label}, {arguments}", f"_skipgram_tasks:{task}", CORES[:n_jobs], n_threads=1,
            path=self.corpus["path"], n_documents=self.options.documents, **arguments,
        )  # fmt: skip
        if result is None:
            return None
        known = {name: value for name, value in arguments.items() if name not in ("labels", "words", "analogies")}
        if scores := figures(result, ("seconds", "digest")):
            self.keep(task, label, scores, parameters=known, seconds=result.get("seconds"))
        return result

    def keep(self, task, label, scores, **fields):
        self.recorder.add(
            f"skipgram-{task.replace('_', '-')}", f"{self.corpus['name']}, {self.corpus['n_documents']:,} documents",
            label if label in PEERS else "SkipGramTopicModel", scores, label=label, prior="defaults", seed=0, **fields,
        )  # fmt: skip


def tokens(bench):
    """Microseconds of a token by K."""
    options = bench.options
    for kind in KINDS:
        for n_components in options.K:
            bench.measure("token_seconds", kind, kind=kind, n_components=n_components, threads=1)
    if options.n_jobs > 1:
        middle = options.K[len(options.K) // 2]
        for kind in KINDS[:2]:
            found = [
                bench.measure("token_seconds", kind, n_jobs, kind=kind, n_components=middle, threads=n_jobs)
                for n_jobs in (1, options.n_jobs)
            ]
            print(f"{kind}: {options.n_jobs} threads give", "the same bits"
                  if len({result and result["digest"] for result in found}) == 1 else "OTHER BITS")  # fmt: skip


def scores(bench):
    """Held-out score and coherence of each setting."""
    options = bench.options
    for label in options.settings:
        for n_passes in options.passes:
            bench.measure(
                "score", label, n_components=options.K[0], n_passes=n_passes, parameters=SCORES[label]
            )


def senses(bench):
    options = bench.options
    for label in KINDS:
        bench.measure(
            "senses", label, n_components=options.K[0], n_passes=options.passes[0], n_pairs=100,
            parameters=SCORES[label],
        )  # fmt: skip


def words(bench):
    """Nearest words, and the words that analogies lead to, to be read."""
    options = bench.options
    result = bench.measure(
        "nearest_words", "scvb0, dense", n_components=options.K[0], n_passes=options.passes[0], words=WORDS,
        analogies=ANALOGIES,
    )
    if result:
        for kind in ("words", "analogies"):
            for label, near in result[kind]:
                bench.keep(kind, label, {}, found=near, parameters={"n_components": options.K[0]})


def vectors(bench):
    """Labels predicted from vectors of documents."""
    options = bench.options
    methods = [*KINDS, "SparseSCVB0LDA", *(["word2vec"] if importlib.util.find_spec("gensim") else [])]
    for method in methods:
        bench.measure(
            "classify", method, labels=options.labels, n_components=options.K[0], n_passes=options.passes[0],
            method=method,
        )  # fmt: skip


def support(bench):
    """How many topics an exact draw at the cost of the words' own topics would look at."""
    options = bench.options
    for n_components in options.K:
        bench.measure("support", "mhw", n_components=n_components, n_passes=options.passes[0])


EXPERIMENTS = {
    "support": support, "words": words, "tokens": tokens, "scores": scores, "senses": senses, "vectors": vectors,
}  # fmt: skip


def main():
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("experiment", choices=EXPERIMENTS)
    add("--data", metavar="PATH", help="documents, one a line; may be compressed (.gz); default: docstrings")
    add("--labels", metavar="PATH", help="for vectors: labels, one a line, the first of those divided by commas")
    add("--documents", type=int, metavar="N", help="the first N documents only")
    add("--K", type=by_commas(int), help="numbers of topics (default: 10,100,500,1000,5000 for tokens, else 200)")
    add("--passes", type=by_commas(int), default=[10], help="passes, by commas (default: 10)")
    add("--settings", nargs="+", choices=SCORES, default=list(SCORES), metavar="NAME", help="of scores, not all")
    add("--n-jobs", type=int, default=1, help="for tokens: threads to compare one with")
    options = parser.parse_args()
    options.K = options.K or ([10, 100, 500, 1000, 5000] if options.experiment == "tokens" else [200])
    if options.experiment == "vectors" and not options.labels:
        parser.error("vectors needs --labels")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        EXPERIMENTS[options.experiment](bench)
    return int(bool(FAILED))


if __name__ == "__main__":
    sys.exit(main())
