"""Topics of documents compared with BERTopic's, and the documents to which it gives no topic (its topic -1).

python benchmarks/topics_of_embeddings.py --data FOLDER
python benchmarks/topics_of_embeddings.py --data FOLDER --K 20,100 --seeds 1

BERTopic reads embeddings: TF-IDF and truncated SVD of the same counts, rows of unit length. benchmarks/README.md says
what is compared and how.
"""

import sys
import tempfile
from itertools import product

from _measure import CORES, attempt, run
from _results import by_commas, figures, parser_of, recorder

# Those that find their number of topics, and those that have a given one.
FINDS_NUMBER = ("BERTopic",)
GIVEN_NUMBER = "BERTopic, directions", "directions", "SparseSCVB0LDA"
ESTIMATORS = {"directions": "SparseVonMisesFisherMixture", "SparseSCVB0LDA": "SparseSCVB0LDA"}


def main():
    options = parse()
    record = recorder(options)
    with tempfile.TemporaryDirectory() as folder:
        about = run("_topics_of_embeddings_tasks:prepare", CORES[:1], data=options.data, corpus=options.corpus,
                    n_rows=options.documents, n_features=options.features, folder=folder)  # fmt: skip
        corpus = f"{options.corpus}, {about['n_documents']:,} documents"
        record.add("topics-of-embeddings", corpus, "TruncatedSVD", {}, seed=0, seconds=about["seconds"],
                   label=f"embeddings, {options.features} numbers")  # fmt: skip
        for name, k in [*product(FINDS_NUMBER, [None]), *product(GIVEN_NUMBER, options.n_components)]:
            for seed in range(options.seeds):
                found = attempt(f"{name}, K={k}, seed {seed}", "_topics_of_embeddings_tasks:measure", CORES[:1],
                                name=name, n_components=k, seed=seed, folder=folder)  # fmt: skip
                if found == {}:
                    print("BERTopic is not installed", file=sys.stderr)
                for of, result in (found or {}).items():
                    record.add(
                        "topics-of-embeddings", corpus, ESTIMATORS.get(of, "BERTopic"),
                        figures(result, without=["seconds"]), label=of, seed=seed, parameters={"n_components": k},
                        prior="defaults", seconds=result["seconds"], tuned_on=["20news"] if "directions" in of else [],
                    )  # fmt: skip


def parse(arguments=None):
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--data", metavar="FOLDER", required=True, help="with docword.NAME.txt[.gz] and labels.NAME.txt[.gz]")
    add("--corpus", default="20news", metavar="NAME", help="default: %(default)s")
    add("--features", type=int, default=256, help="numbers of an embedding (default: %(default)s)")
    add("--K", type=by_commas(int), dest="n_components", default=[20, 100, 200], help="topics of ours")
    add("--seeds", type=int, default=3, help="fits of each, with seeds from 0 on (default: %(default)s)")
    add("--documents", type=int, metavar="N", help="so many of them, drawn at random (default: all)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
