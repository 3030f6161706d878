"""Topics over time next to dynamic topic models of tomotopy and gensim: held-out score and CPU seconds on one core.

python benchmarks/drift.py --data docword.arxiv.txt.gz --dates labels.arxiv.txt.gz
python benchmarks/drift.py --data docword.arxiv.txt.gz --dates labels.arxiv.txt.gz --large     ours only, all documents
python benchmarks/drift.py --data docword.arxiv.txt.gz --dates labels.arxiv.txt.gz --discounts   fixed discounts
python benchmarks/drift.py --quick       documents that are drawn: a word of each topic gives way to another one

The last field of a line of ``--dates`` is the date of a document. Slices have about equally many documents. A tenth of
the documents scores the topics of their slices by document completion, all under the same prior of documents, 1 / K.
Each contestant runs in a process alone. The seconds of ours are those of both fits.
"""

import gzip
import time
from pathlib import Path

import numpy as np
from _measure import CORES, attempt
from _results import parser_of, recorder

LARGE = {"n_documents": None, "n_words": None, "n_slices": 20, "n_components": 200}
MEDIUM = {"n_documents": 40_000, "n_words": None, "n_slices": 20, "n_components": 50}
SMALL = {"n_documents": 3000, "n_words": 1500, "n_slices": 8, "n_components": 10}
# Fixed discounts of --discounts.
DISCOUNTS = (0.5, 0.9, 1.0)
# Seconds by the clock, after which a contestant is ended.
LIMIT = 300
# Packages, tasks and iterations: of sampling, and of EM.
PEERS = (
    ("tomotopy DTModel", "by_tomotopy", 100), ("tomotopy DTModel", "by_tomotopy", 300),
    ("tomotopy DTModel", "by_tomotopy", 1000), ("gensim LdaSeqModel", "by_gensim", 1),
)  # fmt: skip


def drawn(n=2000, n_words=240, n_slices=8, n_topics=10):
    """Counts and slices of documents whose topics drift."""
    rng, width = np.random.default_rng(0), n_words // n_topics
    slices = np.sort(rng.integers(n_slices, size=n))
    X = np.zeros((n, n_words), dtype=np.float32)
    for j, t in enumerate(slices):
        topics = np.zeros((n_topics, n_words))
        for k in range(n_topics):
            topics[k, width * k : width * (k + 1)] = 1.0
            topics[k, width * k : width * k + 2] = 8.0 * (1 - t / n_slices), 8.0 * t / n_slices
        topics /= topics.sum(axis=1, keepdims=True)
        X[j] = rng.multinomial(50, rng.dirichlet(np.full(n_topics, 0.1)) @ topics)
    return X, slices


def corpus(data, dates, n_documents, n_words, n_slices):
    """Counts to learn and to score, CSR, with their slices."""
    from scipy import sparse

    from sparsemix.datasets import load_bag_of_words

    if data is None:
        X, slices = drawn(n_slices=n_slices)
        X = sparse.csr_matrix(X)
    else:
        X = load_bag_of_words(data).data[:n_documents]
        if n_words is not None:
            X = X[:, np.sort(np.argsort(-np.asarray(X.sum(axis=0)).ravel(), kind="stable")[:n_words])]
        with gzip.open(dates, "rt", encoding="utf-8") as file:
            days = np.array([line.split()[-1] for line in file])[: X.shape[0]]
        slices = np.empty(len(days), dtype=int)
        slices[np.argsort(days, kind="stable")] = np.arange(len(days)) * n_slices // len(days)
    held_out = np.random.default_rng(0).permutation(X.shape[0]) % 10 == 0
    X = sparse.csr_matrix(X)
    return (X[~held_out], slices[~held_out]), (X[held_out], slices[held_out])


def score(topics_of, X, slices):
    """Held-out score of the topics of each slice."""
    from sparsemix.metrics._completion import hidden_tokens, per_token

    return per_token(block for t in np.unique(slices) for block in hidden_tokens(topics_of(t), X[slices == t]))


def ours(n_components, discounts=(), **where):
    """Static topics, topics over time, and those of fixed discounts."""
    from _measure import spent

    from sparsemix import SparseSCVB0LDA
    from sparsemix.topics import topics_over_time

    (X, slices), scored = corpus(**where)
    model, seconds = spent(lambda: SparseSCVB0LDA(n_components, random_state=0, n_jobs=1).fit(X))
    drift, more = spent(lambda: topics_over_time(model, X, slices))
    fixed = {}
    for each in discounts:
        one, spent_on_one = spent(lambda d=each: topics_over_time(model, X, slices, discount=d))
        fixed[each] = {"nats": score(one.topic_word_distribution, *scored), "seconds": seconds + spent_on_one}
    return {
        "fixed": fixed, "seconds": seconds, "more": more, "static": score(lambda _: model.components_, *scored),
        "nats": score(drift.topic_word_distribution, *scored), "discount": float(np.median(drift.discount_)),
    }  # fmt: skip


def by_tomotopy(n_components, iterations, **where):
    """DTModel after some iterations, with its default variances and step sizes."""
    import tomotopy
    from _measure import spent

    (X, slices), scored = corpus(**where)
    model = tomotopy.DTModel(k=n_components, t=where["n_slices"], seed=0)
    for row, t in zip(X, slices, strict=True):
        if row.nnz:
            model.add_doc([f"{v}" for v in np.repeat(row.indices, row.data.astype(int))], timepoint=int(t))
    _, seconds = spent(lambda: model.train(iterations, workers=1))
    columns = np.array([int(word) for word in model.used_vocabs])

    def topics_of(t):
        out = np.zeros((n_components, X.shape[1]))
        for k in range(n_components):
            out[k, columns] = model.get_topic_word_dist(k, timepoint=int(t))
        return out

    return {"seconds": seconds, "nats": score(topics_of, *scored)}


def by_gensim(n_components, iterations, **where):
    """LdaSeqModel with a small budget: one pass of its first model, and few iterations of EM and of each document."""
    from _measure import spent
    from gensim.models import LdaSeqModel

    (X, slices), scored = corpus(**where)
    order = np.argsort(slices, kind="stable")
    texts = [list(zip(row.indices.tolist(), row.data.astype(int).tolist(), strict=True)) for row in X[order]]
    sizes = np.bincount(slices).tolist()
    names = {v: str(v) for v in range(X.shape[1])}
    model, seconds = spent(
        lambda: LdaSeqModel(
            texts, time_slice=sizes, id2word=names, num_topics=n_components, passes=1, em_min_iter=iterations,
            em_max_iter=iterations - 1, lda_inference_max_iter=5, random_state=0,
        )
    )  # fmt: skip

    def topics_of(t):
        return np.exp([chain.e_log_prob[:, t] for chain in model.topic_chains])

    return {"seconds": seconds, "nats": score(topics_of, *scored)}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, help="file of counts in UCI format")
    parser.add_argument("--dates", type=Path, help="file with a line for each document, which ends with its date")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--discounts", action="store_true")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    record, sizes = recorder(args), LARGE if args.large else MEDIUM if args.discounts else SMALL
    if args.data is not None and args.dates is None:
        args.dates = args.data.with_name(args.data.name.replace("docword.", "labels."))
    where = sizes | {"data": args.data and str(args.data), "dates": args.dates and str(args.dates)}
    name = "drawn" if args.data is None else args.data.name.removeprefix("docword.").partition(".")[0]
    name += "" if args.data is None or sizes["n_documents"] is None else f", {sizes['n_documents']:,} documents"
    name += f", {sizes['n_slices']} slices"

    def add(estimator, label, nats, seconds, **scores):
        scores = {key: round(value, 3) for key, value in scores.items()}
        if nats is not None:
            scores, seconds = {"nats": round(nats, 4)} | scores, round(seconds, 1)
        parameters = {"n_components": sizes["n_components"]}
        record.add("drift", name, estimator, scores, label=label, parameters=parameters, seed=0, split="a tenth",
                   prior="defaults", seconds=seconds)  # fmt: skip

    discounts = DISCOUNTS if args.discounts else ()
    if result := attempt("ours", "drift:ours", CORES[:1], discounts=discounts, **where):
        add("SparseSCVB0LDA", "one set of topics", result["static"], result["seconds"])
        both = result["seconds"] + result["more"]
        add("topics_over_time", "topics over time", result["nats"], both, discount=result["discount"],
            fits=both / result["seconds"])  # fmt: skip
        for discount, one in result["fixed"].items():
            add("topics_over_time", f"topics over time, discount {discount}", one["nats"], one["seconds"])
    if args.large or args.discounts:
        return
    for estimator, task, iterations in PEERS[: 1 if args.quick else None]:
        label, n = f"{estimator}, {iterations} iterations", 20 if args.quick else iterations
        begun = time.monotonic()
        if result := attempt(label, f"drift:{task}", CORES[:1], limit=LIMIT, iterations=n, **where):
            add(estimator, label, result["nats"], result["seconds"])
        elif time.monotonic() - begun > LIMIT:
            add(estimator, f"{label}: not ended after {LIMIT} s", None, None)


if __name__ == "__main__":
    main()
