"""Topic models: speed of several threads with default settings, what part of an epoch one thread does alone, and a
model of the time with more cores.

python benchmarks/threads.py --data docword.nips.txt.gz
python benchmarks/threads.py --data docword.arxiv.txt.gz --K 200,1000 --max-iter 4 --rounds 1

Fits with one thread and with as many as ``--n-jobs`` in turn, in one process. README.md has the rest.
"""

import sys
import tempfile

from _measure import CORES, MeasurementError, attempt, run
from _results import by_commas, parser_of, recorder

CONTESTANTS = ["SparseSCVB0LDA", "SparseLDA"]


def measure(options, folder, name, n_components, machine):
    """A record of one estimator and K; None when that failed."""
    result = attempt(
        f"{name}, K={n_components}", "_threads_tasks:fits", CORES[: options.n_jobs], n_threads=1, folder=folder,
        path=f"sparsemix:{name}", n_components=n_components, n_jobs=options.n_jobs, max_iter=options.max_iter,
        rounds=options.rounds,
    )  # fmt: skip
    if result is None:
        return None
    return {"name": name, "n_components": n_components, "models": models(result, options, machine), **result}


def models(result, options, machine):
    """Times faster by the model, for each number of cores."""
    even = result["even"] or {}
    return {
        n: {
            "amdahl": amdahl(result["alone"], n),
            "even": amdahl(result["alone"], n, result["visits"], even.get(str(n), 1.0)),
            "limit": bandwidth_limit(result["bytes_token"], options.tokens, result["one"], machine[-1]),
        }
        for n in (2, 8, 16)
    }


def amdahl(alone, n_cores, uneven=0.0, even=1.0):
    """Times faster where a share ``alone`` of one thread's time is one thread's, and the rest is shared out.

    Of the time a share ``uneven`` keeps threads busy for a share ``even`` of theirs only.
    """
    shared = max(0.0, 1.0 - alone - uneven)
    return 1.0 / (alone + shared / n_cores + uneven / (n_cores * even))


def bandwidth_limit(bytes_token, n_tokens, seconds, bandwidth):
    """Times faster than ``seconds`` an epoch may be before its bytes take as long; None if they were not counted."""
    return None if bytes_token is None else seconds * bandwidth / (bytes_token * n_tokens)


def keep(record_to, corpus, options, records, machine):
    for r in records:
        scores = {
            "one": r["one"], "several": r["several"], "times": r["one"] / r["several"],
            "fit_times": r["fit_one"] / r["fit_several"], "alone": r["alone"], "triad_one": machine[0],
            "triad_all": machine[-1],
        } | {f"{name}_{n}": value for n, model in r["models"].items() for name, value in model.items()}  # fmt: skip
        scores["bytes_token"] = r["bytes_token"]
        record_to.add(
            "threads", corpus, r["name"], {name: value for name, value in scores.items() if value is not None},
            parameters={"n_components": r["n_components"], "n_jobs": options.n_jobs, "max_iter": r["n_passes"]},
            prior="defaults", seed=0, seconds=r["fit_several"], clock="wall",
        )  # fmt: skip


def parse(arguments=None):
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--data", metavar="PATH", help="UCI bag of words, docword.NAME.txt[.gz] (default: docstrings)")
    add("--K", type=by_commas(int), default=[200], help="numbers of topics")
    add("--estimators", type=by_commas(), default=CONTESTANTS, help="by commas (default: both)")
    add("--n-jobs", type=int, default=2, help="threads to compare with one (default: %(default)d)")
    add("--max-iter", type=int, help="passes (default: those of the estimator)")
    add("--rounds", type=int, default=3, help="fits of each number of threads, in turn (default: %(default)d)")
    return parser.parse_args(arguments)


def main():
    options = parse()
    if len(CORES) < options.n_jobs:
        sys.exit(f"--n-jobs {options.n_jobs}: this process may use {len(CORES)} cores only")
    with tempfile.TemporaryDirectory() as folder:
        try:
            about = run("_topics_tasks:prepare", CORES[:1], path=options.data, n_test=1, folder=folder)
            machine = [
                run("_threads_tasks:triad", CORES[:n], n_threads=1, threads=n)
                for n in range(1, options.n_jobs + 1)
            ]
        except MeasurementError as error:
            sys.exit(str(error))
        options.tokens, corpus = about["n_tokens"], "{corpus}, {n_documents:,} documents".format(**about)
        asked = [(name, K) for name in options.estimators for K in options.K]
        records = [measure(options, folder, name, K, machine) for name, K in asked]
    records = [record for record in records if record]
    same = {f"{record['name']}, K={record['n_components']}": record["same"] for record in records}
    print("the same bits with one thread and several:", same)
    keep(recorder(options), corpus, options, records, machine)
    return int(len(records) < len(asked))


if __name__ == "__main__":
    sys.exit(main())
