"""A learned number of topics: SparseHDP next to fits with given numbers, and to tomotopy's HDPModel.

python benchmarks/hdp.py --data docword.kos.txt.gz docword.ap.txt.gz
python benchmarks/hdp.py                drawn documents of known numbers of topics
python benchmarks/hdp.py --quick        one drawn corpus, one seed
python benchmarks/hdp.py --ceilings     whether the number depends on n_components; --quick and --data as above

A tenth of the documents, and at most 1,000, scores the topics by document completion, each with the prior of its model.
"topics" is the number in the result. Documents that are drawn have topics of the given number with shares that fall
with the rank. Seconds are CPU seconds of training on one core; those of given numbers are of each fit alone.
"recovered" counts the drawn topics with a different topic each within a total variation of a half.
"""

import itertools
from pathlib import Path

import numpy as np
from _measure import CORES, attempt
from _results import parser_of, recorder

MOST = 1000
GRID = 25, 50, 100, 200, 400
# Numbers of topics, documents, and largest numbers of topics of the drawn corpora.
DRAWN = (20, 2000, 40), (20, 2000, 160), (50, 5000, 100), (50, 5000, 400), (100, 10000, 400)
# Values of n_components, None for the default, and of drawn corpora: numbers of topics, lengths of documents, powers of
# the rank that are shares of topics, documents.
CEILINGS = 50, 200, 800, None
TOPICS, LENGTHS, POWERS, DOCUMENTS = (5, 20, 50), (15, 120), (0.0, 0.7), 2000
# Iterations of tomotopy, with its defaults: two topics at the start.
ITERATIONS = 200, 1000
# tomotopy's alpha and gamma: its default, 0.1, and 1, with which it finds more of the drawn topics in the same time.
CONCENTRATIONS = None, 1.0


def drawn_topics(n_topics, rng, n_words=2000):
    """Topics of few main words."""
    return rng.dirichlet(np.full(n_words, 0.02), n_topics)


def drawn(n_topics, n, length=80, power=0.7):
    """Counts of documents with shares of topics proportional to rank ** -power."""
    rng = np.random.default_rng(n_topics)
    topics = drawn_topics(n_topics, rng)
    shares = np.arange(1.0, n_topics + 1.0) ** -power
    alpha = 2.0 * shares / shares.sum()
    return np.array([rng.multinomial(length, rng.dirichlet(alpha) @ topics) for _ in range(n)], dtype=np.float32)


def corpus(data, n_topics, documents, **of_drawn):
    """Counts to learn from, and to score."""
    from scipy import sparse

    from sparsemix.datasets import load_bag_of_words

    X = sparse.csr_matrix(
        drawn(n_topics, documents, **of_drawn) if data is None else load_bag_of_words(data).data[:documents]
    )
    held_out = np.zeros(X.shape[0], dtype=bool)
    held_out[np.random.default_rng(0).permutation(len(held_out))[: min(MOST, len(held_out) // 10)]] = True
    return X[~held_out], X[held_out]


def by_ours(name, n_components, seed, where):
    """SparseHDP or SparseSCVB0LDA with their defaults but for the number of topics."""
    from _measure import spent

    import sparsemix
    from sparsemix.metrics import document_completion

    X, scored = corpus(**where)
    model = getattr(sparsemix, name)(n_components, random_state=seed, n_jobs=1)
    model, seconds = spent(lambda: model.fit(X))
    return {"topics": len(model.components_), "nats": document_completion(model, scored), "seconds": seconds}


def by_ceiling(n_components, seed, where):
    """SparseHDP with default parameters and given ``n_components``; counts the drawn topics that it recovers."""
    from _measure import spent
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    from sparsemix import SparseHDP
    from sparsemix.metrics import document_completion

    X, scored = corpus(**where)
    given = {} if n_components is None else {"n_components": n_components}
    model, seconds = spent(lambda: SparseHDP(**given, random_state=seed, n_jobs=1).fit(X))
    found = {"topics": len(model.components_), "nats": document_completion(model, scored), "seconds": seconds}
    if where["data"] is None:
        topics = drawn_topics(where["n_topics"], np.random.default_rng(where["n_topics"]))
        distances = cdist(topics, model.topic_word_distribution_, "cityblock") / 2.0
        found["recovered"] = int((distances[linear_sum_assignment(distances)] < 0.5).sum())
    return found


def by_tomotopy(iterations, concentration, seed, where):
    """HDPModel with its defaults, or with one value for both of its concentrations, which it learns from there on."""
    import tomotopy
    from _measure import spent

    from sparsemix.metrics import document_completion

    X, scored = corpus(**where)
    given = {} if concentration is None else {"alpha": concentration, "gamma": concentration}
    model = tomotopy.HDPModel(seed=1 + seed, **given)
    for row in X:
        model.add_doc([str(v) for v in np.repeat(row.indices, row.data.astype(int))])
    _, seconds = spent(lambda: model.train(iterations, workers=1, parallel=tomotopy.ParallelScheme.NONE))
    alive = [k for k in range(model.k) if model.is_live_topic(k)]
    topics = np.zeros((len(alive), X.shape[1]))
    topics[:, [int(word) for word in model.used_vocabs]] = [model.get_topic_word_dist(k) for k in alive]
    # the mean of the process: alpha times the shares of tables, of which tokens are the nearest that it gives
    counts = np.array(model.get_count_by_topics(), dtype=float)[alive]
    prior = np.maximum(model.alpha * counts / counts.sum(), 1e-6)
    return {
        "topics": len(alive), "nats": document_completion(topics, scored, doc_topic_prior=prior), "seconds": seconds,
    }  # fmt: skip


def compare_ceilings(args, record):
    """Numbers of topics for several values of n_components."""
    n = DOCUMENTS // 2 if args.quick else DOCUMENTS
    kinds = itertools.product(TOPICS[:2] if args.quick else TOPICS, LENGTHS, POWERS[1:] if args.quick else POWERS)
    places = {
        f"{k} topics drawn, shares rank^-{power:g}, {n:,} documents of {length} words":
        {"data": None, "n_topics": k, "documents": n, "length": length, "power": power}
        for k, length, power in kinds
    }  # fmt: skip
    if args.data:
        places = {path.name.removeprefix("docword.").partition(".")[0] + f", {args.documents or 'all'} documents":
                  {"data": str(path), "n_topics": None, "documents": args.documents} for path in args.data}  # fmt: skip
    for name, where in places.items():
        for n, seed in itertools.product(CEILINGS[:2] if args.quick else CEILINGS, range(args.seeds)):
            label = f"SparseHDP({'' if n is None else n})"
            found = attempt(f"{name}, {label}", "hdp:by_ceiling", CORES[-1:], seed=seed, where=where, n_components=n)
            if found is not None:
                seconds = round(found.pop("seconds"), 2)
                record.add(
                    "hdp-ceilings", name, split="a tenth of the documents", estimator="SparseHDP", label=label,
                    parameters={} if n is None else {"n_components": n}, prior="defaults", seed=seed,
                    scores={key: round(value, 4) for key, value in found.items()}, seconds=seconds,
                )  # fmt: skip


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", type=Path, default=[], help="files of counts in UCI format")
    parser.add_argument("--documents", type=int, help="only so many")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--grid", type=int, nargs="*", default=GRID)
    parser.add_argument("--iterations", type=int, nargs="*", default=ITERATIONS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--ceilings", action="store_true")
    args = parser.parse_args()
    record = recorder(args)
    if args.ceilings:
        compare_ceilings(args, record)
        return
    files = [{"data": str(path), "n_topics": None, "documents": args.documents} for path in args.data]
    places = [(where, 400, args.grid) for where in files]
    places = places or [({"data": None, "n_topics": k, "documents": n}, most, ()) for k, n, most in DRAWN]
    for where, most, grid in places[:1] if args.quick else places:
        X, scored = corpus(**where)
        name = f"{where['n_topics']} topics drawn" if where["data"] is None else Path(where["data"]).name
        name = f"{name.removeprefix('docword.').partition('.')[0]}, {X.shape[0] + scored.shape[0]:,} documents"
        tasks = [(f"SparseHDP({most})", "by_ours", {"name": "SparseHDP", "n_components": most})]
        tasks += [(f"SparseSCVB0LDA({k})", "by_ours", {"name": "SparseSCVB0LDA", "n_components": k}) for k in grid]
        tasks += [(f"tomotopy HDPModel{'' if one is None else f', alpha {one:g}'}, {n} iterations", "by_tomotopy",
                   {"iterations": n, "concentration": one})
                  for n in (args.iterations[:1] if args.quick else args.iterations)
                  for one in CONCENTRATIONS]  # fmt: skip
        for label, task, arguments in tasks:
            for seed in range(args.seeds):
                found = attempt(f"{name}, {label}", f"hdp:{task}", CORES[-1:], seed=seed, where=where, **arguments)
                if found is None:
                    continue
                seconds = round(found.pop("seconds"), 2)
                record.add(
                    "hdp", name, split="a tenth of the documents", estimator=label.partition("(")[0].partition(",")[0],
                    label=label, parameters={"n_components": arguments.get("n_components")}, prior="defaults",
                    seed=seed, scores={key: round(value, 4) for key, value in found.items()}, seconds=seconds,
                )  # fmt: skip


if __name__ == "__main__":
    main()
