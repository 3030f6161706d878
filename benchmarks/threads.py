"""Speed of several threads with default settings: whole fits of topics and of mixtures, and their critical paths.

python benchmarks/threads.py --data docword.nips.txt.gz
python benchmarks/threads.py --estimators SparseGaussianMixture,SparseVonMisesFisherMixture

README.md has the rest.
"""

import sys
import tempfile

from _measure import CORES, MeasurementError, attempt, run
from _results import by_commas, parser_of, recorder

OF_DOCUMENTS = ["SparseSCVB0LDA", "SparseLDA"]
OF_ROWS = ["SparseGaussianMixture", "SparseVonMisesFisherMixture"]
# Numbers of threads whose critical paths are computed.
NUMBERS = (2, 8, 16)
# Iterations of a mixture, whose fits would else end at different ones.
ROW_ITERATIONS = 6


def measure(options, folder, name, n_components):
    """A record of one estimator and K; None when that failed."""
    max_iter = options.max_iter or (ROW_ITERATIONS if name in OF_ROWS else None)
    given = {"folder": folder, "name": name, "n_components": n_components, "max_iter": max_iter}
    result = attempt(
        f"{name}, K={n_components}", "_threads_tasks:fits", CORES[: options.n_jobs], n_threads=1, n_jobs=options.n_jobs,
        rounds=options.rounds, **given,
    )  # fmt: skip
    if result is None:
        return None
    paths = run("_threads_tasks:paths", CORES[:1], n_threads=1, numbers=NUMBERS, **given)
    return {"name": name, "n_components": n_components, "max_iter": max_iter, "paths": paths, **result}


def keep(record_to, corpus, options, r):
    paths = {int(n): path for n, path in r["paths"].items()}
    scores = {"one": r["one"], "several": r["several"], "times": r["one"] / r["several"], "alone": paths[2]["alone"]}
    scores |= {f"path_{n}": path["total"] / path["path"] for n, path in paths.items()}
    of = {"SparseGaussianMixture": "33,390 patches of 64 pixels", "SparseVonMisesFisherMixture": "100,000 rows of 64"}
    record_to.add(
        "threads", of.get(r["name"], corpus), r["name"], scores,
        parameters={"n_components": r["n_components"], "n_jobs": options.n_jobs, "max_iter": r["max_iter"]},
        prior="defaults", seed=0, seconds=r["several"], clock="wall",
    )  # fmt: skip


def parse(arguments=None):
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--data", metavar="PATH", help="UCI bag of words, docword.NAME.txt[.gz] (default: docstrings)")
    add("--K", type=by_commas(int), default=[200], help="numbers of topics or components")
    add("--estimators", type=by_commas(), default=OF_DOCUMENTS, help="by commas (default: those of documents)")
    add("--n-jobs", type=int, default=2, help="threads to compare with one (default: %(default)d)")
    add("--max-iter", type=int, help="passes (default: those of the estimator; mixtures: 6)")
    add("--rounds", type=int, default=3, help="fits of each number of threads, in turn (default: %(default)d)")
    return parser.parse_args(arguments)


def main():
    options = parse()
    if len(CORES) < options.n_jobs:
        sys.exit(f"--n-jobs {options.n_jobs}: this process may use {len(CORES)} cores only")
    with tempfile.TemporaryDirectory() as folder:
        corpus = ""
        if set(options.estimators) & set(OF_DOCUMENTS):
            try:
                about = run("_topics_tasks:prepare", CORES[:1], path=options.data, n_test=1, folder=folder)
            except MeasurementError as error:
                sys.exit(str(error))
            corpus = "{corpus}, {n_documents:,} documents".format(**about)
        asked = [(name, K) for name in options.estimators for K in options.K]
        records = [measure(options, folder, name, K) for name, K in asked]
    records = [record for record in records if record]
    same = {f"{record['name']}, K={record['n_components']}": record["same"] for record in records}
    print("the same bits with one thread and several:", same)
    record_to = recorder(options)
    for record in records:
        keep(record_to, corpus, options, record)
    return int(len(records) < len(asked) or not all(same.values()))


if __name__ == "__main__":
    sys.exit(main())
