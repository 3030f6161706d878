"""Clusters of embeddings, and of short texts, compared with common methods.

python benchmarks/embeddings.py rows --data FOLDER
python benchmarks/embeddings.py short --data FOLDER

``rows``: TF-IDF and truncated SVD of labelled corpora, rows of unit length; mixtures compared with spherical
k-means of faiss, MiniBatchKMeans, HDBSCAN and EVoC. ``short``: word counts of titles and messages;
SparseMultinomialMixture compared with the same model by Gibbs sampling (GSDMM). benchmarks/README.md says what is
compared and how.
"""

import sys
import tempfile
from pathlib import Path

from _measure import CORES, run
from _results import parser_of, recorder

# Corpora with rows to read of each, numbers of an embedding, and the K that are fitted.
ROWS = {
    "20news": (None, {256: (100, 1000, 5000), 768: (100, 1000)}),
    "arxiv": (40_000, {256: (1000, 5000)}),
}
SHORT = {"news_t": (300,), "tweets_t": (300,)}
OF_ROWS = (
    "faiss", "faiss 10", "faiss ++", "faiss early", "faiss ++ early", "faiss k-means", "superkmeans", "superkmeans all",
    "minibatch k-means",
    "directions", "directions vb",
    "directions own", "tied_spherical", "tied_spherical em", "tied_spherical kappa", "tied_diag", "tied", "diag",
    "low_rank", "directions 8000", "hdbscan 8000", "evoc", "evoc best layer",
)  # fmt: skip
OF_SHORT = "words", "words vb", "gsdmm"
FIELDS = ("nmi", "ari", "purity", "largest", "alive", "held_out")
# The largest K. HDBSCAN and EVoC find their own number, once for a corpus.
MOST = dict.fromkeys(("minibatch k-means", "diag", "tied", "low_rank", "directions own"), 1000)
MOST |= {"hdbscan 8000": 100, "directions 8000": 100, "evoc": 100, "evoc best layer": 100}


def parse(arguments=None):
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("experiment", choices=("rows", "short"), nargs="+")
    add("--data", metavar="FOLDER", required=True, help="with docword.NAME.txt[.gz] and labels.NAME.txt[.gz]")
    add("--corpora", help="some of the corpora, separated by commas")
    add("--features", help="numbers of an embedding")
    add("--K", help="numbers of clusters")
    add("--contestants", help="some of: " + ", ".join((*OF_ROWS, *OF_SHORT)))
    add("--seeds", type=int, default=1, help="fits of each, with seeds from 0 on")
    add("--cache", metavar="FOLDER", help="where embeddings are kept between runs")
    add("--quick", action="store_true", help="tiny sizes: shows that everything runs")
    return parser.parse_args(arguments)


def chosen(option, values, kind=str):
    """Those of the values that the option names; all without."""
    if option is None:
        return list(values)
    named = [kind(word) for word in option.split(",")]
    return [value for value in values if value in named] if kind is str else named


def fit(options, record, name, k, about, **arguments):
    """One contestant, fitted for each seed."""
    for seed in range(options.seeds):
        print(f"{about['corpus']}, {name}, K={k} ...", file=sys.stderr)
        result = run("_embeddings_tasks:measure", CORES[:1], name=name, n_components=k, seed=seed, **arguments)
        if result is None:
            print("not installed", file=sys.stderr)
            return
        record.add(
            about["table"], corpus=about["corpus"], split=about["split"], estimator=result["estimator"], label=name,
            parameters={"n_components": k} | result["parameters"], prior="defaults", seed=seed,
            scores={field: result[field] for field in FIELDS},
            seconds=result["seconds"], memory=1e6 * result["megabytes"], tuned_on=result["tuned_on"],
        )  # fmt: skip


def rows(options, record, cache):
    for corpus in chosen(options.corpora, ROWS):
        n_rows, sizes = ROWS[corpus]
        n_rows, sizes = (1500, {16: (20,)}) if options.quick else (n_rows, sizes)
        for n_features in chosen(options.features, sizes, int):
            path = str(Path(cache, f"{corpus}-{n_rows or 'all'}-{n_features}.npz"))
            n = run("_embeddings_tasks:embed", CORES[:1], data=options.data, corpus=corpus, n_rows=n_rows,
                    n_features=n_features, out=path)  # fmt: skip
            about = {"table": "embeddings", "corpus": f"{corpus}, {n:,} rows, {n_features} numbers",
                     "split": "a tenth held out"}  # fmt: skip
            for k in chosen(options.K, sizes.get(n_features, ()), int):
                names = [name for name in chosen(options.contestants, OF_ROWS) if k <= MOST.get(name, k)]
                for name in names:
                    fit(options, record, name, k, about, path=path)


def short(options, record, cache):
    """Word counts of short texts."""
    for corpus in chosen(options.corpora, SHORT):
        path = str(Path(cache, f"{corpus}.npz"))
        n = run("_embeddings_tasks:count", CORES[:1], data=options.data, corpus=corpus,
                n_rows=600 if options.quick else None, out=path)  # fmt: skip
        about = {"table": "short-texts", "corpus": f"{corpus}, {n:,} documents", "split": "a tenth held out"}
        for k in [20] if options.quick else chosen(options.K, SHORT[corpus], int):
            for name in chosen(options.contestants, OF_SHORT):
                fit(options, record, name, k, about, path=path)


def main():
    options = parse()
    record = recorder(options)
    with tempfile.TemporaryDirectory() as folder:
        cache = options.cache or folder
        Path(cache).mkdir(parents=True, exist_ok=True)
        for experiment in options.experiment:
            {"rows": rows, "short": short}[experiment](options, record, cache)


if __name__ == "__main__":
    main()
