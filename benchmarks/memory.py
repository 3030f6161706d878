"""Memory of topics: peaks of SparseSCVB0LDA with default settings, in a fit and in ``transform`` of the same documents.

python benchmarks/memory.py                                      drawn documents, K = 100, 1,000 and 5,000
python benchmarks/memory.py --K 100,1000 --data docword.20news.txt.gz
python benchmarks/memory.py --quick                              few documents

A peak is the most resident memory of a process less what is resident after imports and with the counts. Fit and
``transform`` have a process each: that of ``transform`` reads the pickled model, and its result counts. Counts are
float32. Drawn documents have 60 words of about five of 1,000 or 5,000 topics. Seconds are CPU seconds of the fit on
one core.
"""

import tempfile
from pathlib import Path

from _measure import CORES, attempt
from _results import by_commas, parser_of, recorder

# Documents, words and topics of drawn corpora, and numbers of topics of their models.
DRAWN = (10_000, 10_000, 1000, (100, 1000)), (20_000, 30_000, 5000, (100, 1000, 5000))
QUICK = ((500, 500, 20, (20,)),)
# Documents of a block of ``transform``.
BLOCK = 8192


def corpora(options):
    """Function and arguments that write the counts of each corpus, and numbers of topics."""
    if options.data:
        return [("copy", {"data": options.data}, options.K or [100, 1000])]
    return [("draw", {"n_samples": n, "n_features": V, "n_components": drawn},
             [K for K in numbers if not options.K or K in options.K])
            for n, V, drawn, numbers in (QUICK if options.quick else DRAWN)]  # fmt: skip


def expected(n_samples, n_features, K, model):
    """Bytes of ``transform``: the model, two tables, parameters of a block of documents in float64, and the result."""
    return model + 8 * K * n_features + 8 * K * min(n_samples, BLOCK) + 4 * n_samples * K


def measure(about, path, K, model, record):
    """Record the peaks of one corpus and number of topics."""
    name = f"{about.get('name', 'drawn')}, {about['n_samples']:,} documents, {about['n_features']:,} words"
    fit = attempt(f"{name}, K={K}: fit", "_memory_tasks:fit", CORES[:1], path=path, model=model, n_components=K)
    used = fit and attempt(f"{name}, K={K}: transform", "_memory_tasks:transform", CORES[:1], path=path, model=model)
    if not used:
        return
    predicted = expected(about["n_samples"], about["n_features"], K, fit["pickle"])
    scores = {"table": 4 * K * about["n_features"], "fit": fit["bytes"], "transform": used["bytes"],
              "expected": predicted, "pickle": fit["pickle"], "loaded": used["loaded"],
              "result": used["result"], "epochs": fit["epochs"], "entries": about["n_entries"],
              "tokens": about["n_tokens"]}  # fmt: skip
    record.add(
        "memory", name, "SparseSCVB0LDA", scores, split="in sample", parameters={"n_components": K}, prior="defaults",
        seed=0, seconds=round(fit["seconds"], 1), memory=max(fit["bytes"], used["bytes"]),
    )  # fmt: skip


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--K", type=by_commas(int), help="only these numbers of topics, by commas")
    parser.add_argument("--data", metavar="PATH", help="UCI bag of words in place of drawn documents")
    parser.add_argument("--quick", action="store_true", help="few documents: shows that everything runs")
    options = parser.parse_args()
    record = recorder(options)
    for task, arguments, numbers in corpora(options):
        with tempfile.TemporaryDirectory() as folder:
            path, model = (str(Path(folder, name)) for name in ("counts.npz", "model.pickle"))
            about = numbers and attempt("counts", f"_memory_tasks:{task}", CORES[:1], path=path, **arguments)
            for K in numbers if about else ():
                measure(about, path, K, model, record)


if __name__ == "__main__":
    main()
