"""What differs from the papers by default, and what it costs or gains: one parameter at a time.

python benchmarks/departures.py                                docstrings that are installed
python benchmarks/departures.py --data docword.kos.txt.gz      a UCI bag of words
python benchmarks/departures.py --quick                        two seeds, a part of the documents

``SparseLDA`` with its defaults, and with each of the values that Hughes and Sudderth (2016) have; then the selection of
the L largest of K weights, whose worst case they bound by K and ours by K log L. Scores are those of the same documents
and the same prior for all; seconds are those of the processor.
"""

import warnings

import numpy as np
from _measure import spent
from _results import parser_of, recorder
from _topics_tasks import corpus, split
from sklearn.exceptions import ConvergenceWarning
from sparsemix._kernels.vectors._topl import top_l_responsibilities
from threadpoolctl import threadpool_limits

from sparsemix import SparseLDA
from sparsemix.metrics import document_completion, topic_coherence

VARIANTS = {
    "defaults": {},
    "doc_update_tol=0.05": {"doc_update_tol": 0.05},
    "cold documents": {"warm_documents": False},
    "n_restarts=5": {"n_restarts": 5},
    "n_restarts=20": {"n_restarts": 20},
    "n_restarts=5, cold documents": {"n_restarts": 5, "warm_documents": False},
    "topic_word_prior=0.1": {"topic_word_prior": 0.1},
    "doc_topic_prior=1/K": {"doc_topic_prior": "1/K"},
    "doc_topic_prior=0.5/K": {"doc_topic_prior": "0.5/K"},
}


def topics(record, path, n_documents, n_components, n_seeds, labels):
    name, X = corpus(path)
    train, test = split(X[:n_documents], None)
    for label, parameters in ((label, VARIANTS[label]) for label in labels):
        fits = [fit(train, test, n_components, parameters, seed) for seed in range(n_seeds)]
        seconds, *scores = zip(*fits, strict=True)
        record.add(
            "departures", f"{name}, {train.shape[0]:,} documents", "SparseLDA",
            {key: list(values) if None not in values else None
             for key, values in zip(("nats", "npmi", "bound", "accepted"), scores, strict=True)},
            label=label, parameters={"n_components": n_components, **parameters}, seed=list(range(n_seeds)),
            split=f"{test.shape[0]} documents, a fifth of their words", seconds=list(seconds),
            prior="given" if "prior" in label else "defaults",
        )  # fmt: skip


def fit(train, test, n_components, parameters, seed):
    """Seconds, held-out score, coherence, bound a token, share of restarts that were accepted."""
    if "doc_topic_prior" in parameters:
        parameters = {"doc_topic_prior": float(parameters["doc_topic_prior"].removesuffix("/K")) / n_components}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model, seconds = spent(lambda: SparseLDA(n_components, random_state=seed, **parameters).fit(train))
    nats = document_completion(model, test, doc_topic_prior=0.1, test_fraction=0.2, split="type", random_state=0)
    npmi = float(topic_coherence(model, train).mean())
    bound = float(model.lower_bound_) / (1.0 if abs(model.lower_bound_) < 100 else float(train.sum()))
    accepted = float(model.restart_acceptance_) if parameters.get("n_restarts") else None
    return round(seconds, 3), round(nats, 4), round(npmi, 4), round(bound, 4), accepted


def selection(record, n_rows, sizes, widths):
    """Microseconds a row of our selection (with its softmax) and of NumPy's introselect, on two orders of weights."""
    rng = np.random.default_rng(0)
    for n_components in sizes:
        drawn = rng.normal(size=(n_rows, n_components))
        for order, weights in (("random", drawn), ("increasing", np.sort(drawn, axis=1))):
            for n_nonzero in widths:
                for name, choose in (("top_l_responsibilities", ours), ("numpy.argpartition", introselect)):
                    seconds = min(spent(lambda: choose(weights, n_nonzero))[1] for _ in range(5))  # noqa: B023
                    record.add(
                        "departures-selection", f"{order}, K={n_components:,}", name,
                        {"microseconds": round(1e6 * seconds / n_rows, 3)}, seed=0, seconds=seconds,
                        parameters={"n_components": n_components, "n_nonzero": n_nonzero},
                    )  # fmt: skip


def ours(weights, n_nonzero):
    n = len(weights)
    top_l_responsibilities(weights, np.empty((n, n_nonzero), np.int32), np.empty((n, n_nonzero)), np.empty(n))


def introselect(weights, n_nonzero):
    np.argpartition(weights, -n_nonzero, axis=1)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--data", metavar="PATH", help="UCI bag of words (default: docstrings)")
    parser.add_argument("--K", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS), metavar="NAME")
    parser.add_argument("--only", choices=["topics", "selection"])
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    record = recorder(options)
    with threadpool_limits(1):
        if options.only != "selection":
            n_documents, n_seeds = (1_000, 2) if options.quick else (None, options.seeds)
            topics(record, options.data, n_documents, options.K, n_seeds, options.variants)
        if options.only != "topics":
            sizes = (1_000,) if options.quick else (100, 1_000, 10_000)
            selection(record, 200, sizes, (4, 16, 64))


if __name__ == "__main__":
    main()
