"""What five parameters gain that no other benchmark sets, on simulated data whose truth is known.

python benchmarks/options.py                        five seeds each, minutes on one core
python benchmarks/options.py --only background      one of them
python benchmarks/options.py --quick                one seed, small data

"noise_variance"   clusters, whose values have errors of known variances; the score is of values without errors
"background"       clusters, and a tenth of the rows scattered over their box; the score is of rows of clusters
"n_shards"         documents of known clusters, in shards on one thread; clusters are easy or hard to tell apart
"mini_epoch"       documents of known topics, few or many; all fits visit every document twenty times
"cvb_exact"        small corpora of known topics, and tiny ones, whose evidence is a sum over all assignments

Seconds are those of the processor, on one thread.
"""

import tracemalloc
import warnings
from functools import partial
from itertools import product

import numpy as np
from _measure import spent
from _results import parser_of, recorder
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import gammaln, logsumexp
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from sparsemix import CollapsedLDA, SparseGaussianMixture, SparseSCVB0LDA, StreamingNGGPMixture
from sparsemix.datasets import make_sparse_lda
from sparsemix.metrics import document_completion


def clusters(rng, n_samples, n_components=4, n_features=4):
    """Rows of overlapping clusters of variance 1, and their clusters."""
    centres = 2.5 * rng.normal(size=(n_components, n_features))
    labels = rng.integers(n_components, size=n_samples)
    return rng.normal(centres[labels]), labels


def of_mixture(mixture, X, labels):
    """Held-out score, agreement with the clusters, and mean variance, which is 1 in truth."""
    variances = np.trace(mixture.covariances_, axis1=1, axis2=2) / X.shape[1]
    return {
        "nats": mixture.score(X), "ari": adjusted_rand_score(labels, mixture.predict(X)),
        "variance": mixture.weights_ @ variances,
    }  # fmt: skip


def noise_variance(seed, quick):
    rng = np.random.default_rng(seed)
    (X, labels), n = clusters(rng, 1000 if quick else 4000), 500 if quick else 2000
    noise = rng.gamma(1.0, 2.0, size=(n, X.shape[1]))
    measured = rng.normal(X[:n], np.sqrt(noise))
    fits = {"errors ignored": (measured, {}), "noise_variance": (measured, {"noise_variance": noise}),
            "values without errors": (X[:n], {})}  # fmt: skip
    for label, (rows, given) in fits.items():
        mixture, seconds = spent(
            lambda rows=rows, given=given: SparseGaussianMixture(4, random_state=seed, tol=1e-5).fit(rows, **given)
        )
        yield label, of_mixture(mixture, X[n:], labels[n:]), seconds


def background(seed, quick):
    rng = np.random.default_rng(seed)
    (X, labels), n = clusters(rng, 1000 if quick else 4000), 500 if quick else 2000
    scattered = rng.uniform(-10.0, 10.0, size=(n // 9, X.shape[1]))
    rows = np.concatenate([X[:n], scattered])
    fits = {
        "without": (rows, 4, {}), "without, one component more": (rows, 5, {}),
        "background": (rows, 4, {"background": True}), "no scattered rows": (X[:n], 4, {}),
    }  # fmt: skip
    for label, (learned, n_components, given) in fits.items():
        mixture, seconds = spent(
            lambda learned=learned, n_components=n_components, given=given: SparseGaussianMixture(
                n_components, random_state=seed
            ).fit(learned, **given)
        )
        yield label, of_mixture(mixture, X[n:], labels[n:]), seconds


def n_shards(seed, quick, own, concentration):
    """``own`` is the share of the tokens that come from a cluster's own words."""
    rng = np.random.default_rng(seed)
    n, n_components, n_words, length = (2000, 20, 500, 20) if quick else (100_000, 100, 2000, 20)
    topics = own * rng.dirichlet(np.full(n_words, concentration), n_components)
    topics += (1.0 - own) * rng.dirichlet(np.full(n_words, 0.1))  # words that all clusters have
    labels = rng.integers(n_components, size=n)
    words = np.empty((n, length), dtype=np.intp)
    for k, topic in enumerate(topics):
        words[labels == k] = rng.choice(n_words, (np.sum(labels == k), length), p=topic)
    tokens = np.repeat(np.arange(n), length), words.ravel()
    X = sparse.coo_array((np.ones(n * length, dtype=np.float32), tokens), shape=(n, n_words)).tocsr()
    learned = np.arange(n) < 0.9 * n
    for shards in (1, 2, 4):
        mixture, seconds = spent(
            lambda shards=shards: StreamingNGGPMixture(n_shards=shards, random_state=seed).fit(X[learned])
        )
        scores = {"nats": mixture.score(X[~learned]) / length, "clusters": mixture.n_clusters_,
                  "ari": adjusted_rand_score(labels, mixture.predict(X))}  # fmt: skip
        yield f"n_shards={shards}", scores, seconds


def topics_apart(topics, truth):
    """Mean total variation distance of known topics to their closest match."""
    distances = 0.5 * cdist(topics, truth, "cityblock")
    return distances[linear_sum_assignment(distances)].mean()


def mini_epoch(seed, quick, n):
    n, n_components, n_words = (n // 10, 10, 300) if quick else (n, 30, 2000)
    X, truth = make_sparse_lda(n + n // 10, n_words, n_components, doc_length=100, random_state=seed)[:2]
    size = 50 if quick else 500
    fits = {
        "20 epochs": {"max_iter": 20}, "20 epochs, no averages": {"max_iter": 20, "n_averaged_iter": 0},
        f"10 epochs, mini_epoch=({size}, 2)": {"max_iter": 10, "mini_epoch": (size, 2)},
        f"4 epochs, mini_epoch=({size}, 5)": {"max_iter": 4, "mini_epoch": (size, 5)},
    }  # fmt: skip
    for label, params in fits.items():
        model = SparseSCVB0LDA(n_components, learning_method="online", random_state=seed, **params)
        _, seconds = spent(lambda model=model: model.fit(X[:n]))
        scores = {"nats": document_completion(model, X[n:]),
                  "apart": topics_apart(model.topic_word_distribution_, truth)}  # fmt: skip
        tracemalloc.start()
        model.set_params(max_iter=2).fit(X[:n])  # in another fit, because it takes time
        yield label, scores | {"mb": tracemalloc.get_traced_memory()[1] / 1e6}, seconds
        tracemalloc.stop()


def log_evidence(X, n_components, alpha, beta):
    """Log probability of a corpus: the sum over all topics of all tokens, for symmetric priors."""
    documents, words = np.repeat(np.stack(X.nonzero()), X[X.nonzero()], axis=1)
    logs = []
    for topics in product(range(n_components), repeat=len(words)):
        in_documents, in_topics = np.zeros((len(X), n_components)), np.zeros((n_components, X.shape[1]))
        np.add.at(in_documents, (documents, topics), 1)
        np.add.at(in_topics, (topics, words), 1)
        logs.append(sum(
            gammaln(counts + prior).sum() - counts.size * gammaln(prior)
            + len(counts) * gammaln(prior * counts.shape[1]) - gammaln((counts + prior).sum(axis=1)).sum()
            for counts, prior in ((in_documents, alpha), (in_topics, beta))
        ))  # fmt: skip
    return logsumexp(logs)


def cvb_exact(seed, quick):
    n, n_components, priors = 30 if quick else 100, 5, {"doc_topic_prior": 0.1, "topic_word_prior": 0.1}
    X, truth = make_sparse_lda(2 * n, 60, n_components, doc_length=40, random_state=seed)[:2]
    tiny = np.random.default_rng(seed).multinomial(3, np.full(3, 1 / 3), size=(4 if quick else 10, 3))
    evidence = [log_evidence(counts, 2, *priors.values()) for counts in tiny]
    for inference in ("cvb0", "cvb", "cvb_exact", "gibbs"):

        def fitted(X, n_components, inference=inference):
            return CollapsedLDA(n_components, inference=inference, random_state=seed, **priors).fit(X)

        model, seconds = spent(lambda fitted=fitted: fitted(X[:n], n_components))
        scores = {"nats": document_completion(model, X[n:]),
                  "apart": topics_apart(model.topic_word_distribution_, truth)}  # fmt: skip
        if inference in ("cvb", "cvb_exact"):
            gaps = [log - fitted(counts, 2).lower_bound_ for counts, log in zip(tiny, evidence, strict=True)]
            scores |= {"gap": np.mean(gaps), "least_gap": np.min(gaps)}
        yield inference, scores, seconds


# Estimator, and functions that yield the name of a row, its scores and seconds, by the name of the data.
CASES = {
    "noise_variance": ("SparseGaussianMixture", noise_variance),
    "background": ("SparseGaussianMixture", background),
    "n_shards, easy": ("StreamingNGGPMixture", partial(n_shards, own=0.75, concentration=0.02)),
    "n_shards, hard": ("StreamingNGGPMixture", partial(n_shards, own=0.5, concentration=0.1)),
    "mini_epoch, 6,000 documents": ("SparseSCVB0LDA", partial(mini_epoch, n=6000)),
    "mini_epoch, 20,000 documents": ("SparseSCVB0LDA", partial(mini_epoch, n=20_000)),
    "cvb_exact": ("CollapsedLDA", cvb_exact),
}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--only", choices=CASES, nargs="+", default=list(CASES), help="names of data")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    record, seeds = recorder(args), list(range(1 if args.quick else 5))
    warnings.simplefilter("ignore")  # fits of few epochs do not converge
    with threadpool_limits(1):
        for name in args.only:
            estimator, measure = CASES[name]
            rows = {}
            for seed in seeds:
                for label, scores, seconds in measure(seed, args.quick):
                    rows.setdefault(label, []).append((scores, seconds))
            for label, found in rows.items():
                record.add(
                    "options", name + ", quick" * args.quick, estimator, label=label, seed=seeds,
                    scores={key: [round(float(scores[key]), 4) for scores, _ in found] for key in found[0][0]},
                    seconds=[round(seconds, 3) for _, seconds in found],
                )  # fmt: skip


if __name__ == "__main__":
    main()
