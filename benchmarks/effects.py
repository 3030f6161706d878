"""Effects of covariates on topics: how often intervals contain the truth, and how much of an effect is found.

python benchmarks/effects.py                40 corpora for each length of documents
python benchmarks/effects.py --quick        four corpora

The prior of a document depends on a side and a year. The truth is the linear projection of the expected proportions
given both. Intervals of 90 % are those of ``estimate_effect`` with the true topics and with the topics of a fit, and
those of the same regression with proportions drawn under one prior for all documents. "Size" is the slope of the
estimated effects on the true ones. Fitted topics count if their total variation distance from a
true topic is below one half.
"""

from unittest.mock import patch

import numpy as np
from _measure import spent
from _results import parser_of, recorder
from threadpoolctl import threadpool_limits

from sparsemix import SparseSCVB0LDA
from sparsemix.metrics import align_topics
from sparsemix.topics import estimate_effect
from sparsemix.topics._covariates import effects as module

WORDS, LEVEL = 300, 0.9
# Largest total variation distance of a topic from the true one: halfway to topics without a common word.
FOUND = 0.5
LENGTHS = [20, 80]


class Truth:
    """The topics that made a corpus, as a model."""

    def __init__(self, topics):
        self.components_, self.doc_topic_prior_ = topics, np.full(len(topics), 0.3)


class ChainWithoutCovariates(module.Chain):
    """A chain whose prior is the same for all documents."""

    def __init__(self, counts, words, prior, covariates, seed, workers):
        super().__init__(counts, words, prior, np.ones((len(covariates), 1)), seed, workers)


def corpus(rng, n, length, n_components):
    """Counts, the true topics, the table, and the true effects (2, K) of both covariates."""
    topics = rng.dirichlet(np.full(WORDS, 0.05), n_components)
    side, year = rng.integers(2, size=n), rng.random(n)
    rows = np.column_stack([np.ones(n), side, year])
    sizes = np.log(rng.uniform(0.1, 0.4, n_components))
    alpha = np.exp(rows @ np.vstack([sizes, rng.normal(0, 0.7, (2, n_components))]))
    X = np.array([rng.multinomial(length, rng.dirichlet(a) @ topics) for a in alpha])
    truth = np.linalg.lstsq(rows, alpha / alpha.sum(axis=1, keepdims=True), rcond=None)[0]
    return X, topics, {"side": side, "year": year}, truth[1:]


def intervals(model, X, table, seed, chain):
    """Estimates and ends of intervals, (3, 2, K)."""
    with patch.object(module, "Chain", chain):
        effects = estimate_effect(model, X, table, "side + year", level=LEVEL, random_state=seed)
    rows = effects.table().query("term != 'Intercept'")
    return rows[["estimate", "low", "high"]].to_numpy().T.reshape(3, -1, 2).transpose(0, 2, 1)


def contest(seed, n, length, n_components):
    """Scores of all contestants on one corpus: numbers of effects, of those inside, and sums for the slope."""
    X, topics, table, truth = corpus(np.random.default_rng(seed), n, length, n_components)
    fitted = SparseSCVB0LDA(n_components, random_state=seed, n_jobs=1).fit(X)
    order, distances = align_topics(fitted, topics)
    for label, model, chain in (
        ("true topics", Truth(topics), module.Chain),
        ("fitted topics", fitted, module.Chain),
        ("fitted topics, draws without covariates", fitted, ChainWithoutCovariates),
    ):
        (mean, low, high), seconds = spent(lambda m=model, c=chain: intervals(m, X, table, seed, c))
        true, found = truth, np.full(n_components, True)
        if model is fitted:
            mean, low, high, found = mean[:, order], low[:, order], high[:, order], distances < FOUND
        mean, low, high, true = (values[:, found] for values in (mean, low, high, true))
        inside = ((low <= true) & (true <= high)).sum()
        sums = (mean * true).sum(), (true**2).sum(), (high - low).sum()
        yield label, (inside, true.size, *sums, found.mean(), seconds)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--simulations", type=int, default=40)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--K", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    record, n = recorder(args), 4 if args.quick else args.simulations
    with threadpool_limits(1):
        for length in args.lengths:
            rows = {}
            for seed in range(n):
                for label, values in contest(seed, args.documents, length, args.K):
                    rows.setdefault(label, []).append(values)
            for label, values in rows.items():
                inside, size, product, squares, width, found, seconds = np.transpose(values)
                record.add(
                    "effects", f"{n} corpora of {args.documents} documents of {length} words", split=None,
                    estimator="estimate_effect", label=label, parameters={"n_components": args.K}, prior="defaults",
                    seed=None, seconds=round(float(seconds.mean()), 3),
                    scores={
                        "inside": round(float(inside.sum() / size.sum()), 3),
                        "size": round(float(product.sum() / squares.sum()), 3),
                        "width": round(float(width.sum() / size.sum()), 4), "found": round(float(found.mean()), 3),
                    },
                )  # fmt: skip


if __name__ == "__main__":
    main()
