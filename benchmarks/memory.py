"""Memory of topics: peaks of SparseSCVB0LDA with default settings, in a fit and in ``transform`` of the same documents.

python benchmarks/memory.py                                      drawn documents, K = 100, 1,000 and 5,000; an hour
python benchmarks/memory.py --K 100,1000 --data docword.20news.txt.gz
python benchmarks/memory.py --quick                              few documents

A peak is the most resident memory of a process less what is resident after imports and with the counts. Fit and
``transform`` have a process each: that of ``transform`` reads the pickled model, and its result counts. Counts are
float32. Drawn documents have 60 words and about five of as many topics as the model has. Seconds are CPU seconds of the
fit on one core.
"""

import tempfile
from pathlib import Path

from _measure import CORES, attempt
from _results import by_commas, parser_of, recorder

# Documents, words and numbers of topics of drawn corpora.
DRAWN = (10_000, 10_000, (100, 1000)), (100_000, 30_000, (100,)), (20_000, 30_000, (1000, 5000))
QUICK = ((500, 500, (20,)),)


def cases(options):
    """Function and arguments that write the counts, and the number of topics."""
    if options.data:
        return [("copy", {"data": options.data}, K) for K in options.K]
    drawn = QUICK if options.quick else DRAWN
    return [("draw", {"n_samples": n, "n_features": V, "n_components": K}, K)
            for n, V, numbers in drawn for K in numbers if options.quick or K in options.K]  # fmt: skip


def measure(task, arguments, K, folder, record):
    """Record the peaks of one corpus and number of topics."""
    path, model = str(Path(folder, "counts.npz")), str(Path(folder, "model.pickle"))
    about = attempt(f"counts, K={K}", f"_memory_tasks:{task}", CORES[:1], path=path, **arguments)
    if about is None:
        return
    name = f"{about.get('name', 'drawn')}, {about['n_samples']:,} documents, {about['n_features']:,} words"
    fit = attempt(f"{name}: fit", "_memory_tasks:fit", CORES[:1], path=path, model=model, n_components=K)
    used = fit and attempt(f"{name}: transform", "_memory_tasks:transform", CORES[:1], path=path, model=model)
    if not used:
        return
    table = 4 * K * about["n_features"]
    scores = {"table": table, "fit": fit["bytes"], "transform": used["bytes"], "pickle": fit["pickle"],
              "loaded": used["loaded"], "result": used["result"], "epochs": fit["epochs"],
              "documents": about["n_samples"], "words": about["n_features"], "entries": about["n_entries"],
              "tokens": about["n_tokens"]}  # fmt: skip
    record.add(
        "memory", name, "SparseSCVB0LDA", scores, split="in sample", parameters={"n_components": K}, prior="defaults",
        seed=0, seconds=round(fit["seconds"], 1), memory=max(fit["bytes"], used["bytes"]),
    )  # fmt: skip


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--K", type=by_commas(int), default=[100, 1000, 5000], help="numbers of topics by commas")
    parser.add_argument("--data", metavar="PATH", help="UCI bag of words in place of drawn documents")
    parser.add_argument("--quick", action="store_true", help="few documents: shows that everything runs")
    options = parser.parse_args()
    record = recorder(options)
    for task, arguments, K in cases(options):
        with tempfile.TemporaryDirectory() as folder:
            measure(task, arguments, K, folder, record)


if __name__ == "__main__":
    main()
