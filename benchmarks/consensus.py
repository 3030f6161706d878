"""Topics of one seed, of the best of several and of their consensus: score, coherence, and which of them return.

python benchmarks/consensus.py --data docword.kos.txt.gz docword.ap.txt.gz --K 20
python benchmarks/consensus.py --data docword.ap.txt.gz --K 50 --seeds 10 --repeats 5       ways to cluster topics
python benchmarks/consensus.py --quick       bars, two sets of two seeds

Two sets of seeds have no seed in common. A topic returns if its counterpart in the fit of the other set lists at least
half of its ten main words. A fourteenth of the documents ends the fits, another one scores the topics.

With ``--repeats``, topics of all seeds of a set are clustered in several ways, and fits without early stopping start
from each; of the one-to-one matching, several fits, which are averaged. "diversity" is the share of different words
among ten of each topic. A topic is "alike" if the Bhattacharyya coefficient of it and its counterpart in another repeat
is at least 0.7. "ranks" is the probability that the stability of an alike topic is larger than that of another one. A
seventh of the documents scores the topics.
"""

from pathlib import Path

import numpy as np
from _measure import spent
from _results import parser_of, recorder
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from sparsemix import SparseSCVB0LDA, SparseVonMisesFisherMixture
from sparsemix.datasets import load_bag_of_words, make_bars
from sparsemix.metrics import distinctive_words, document_completion, topic_coherence, topic_diversity
from sparsemix.texts._commands.quality import Again
from sparsemix.topics import consensus_topics
from sparsemix.topics._edit.average import LAST, mean_of_fits
from sparsemix.topics._edit.consensus import match, roots, topic_stability

HELD_OUT, ALIKE = 14, 0.7
# Numbers of last fits that are averaged.
AVERAGED = 2, 3
# Of cNMF: a topic's neighbours among those of n runs are a share of n, and their mean distance is at most FARTHEST.
NEIGHBOURS, FARTHEST = 0.3, 0.5


def contestants(X, watched, n_components, seeds):
    """Fits by the name of their row in the table, and the seconds of each."""

    def fit(seed, **start):
        model = SparseSCVB0LDA(n_components, random_state=seed, n_jobs=1, **start)
        return spent(lambda: model.fit(X, validation_data=watched))

    runs, seconds = zip(*(fit(seed) for seed in seeds), strict=True)
    start = consensus_topics(runs).components
    last, more = zip(*(fit(last_seed(seeds, i), init_params=start) for i in range(LAST)), strict=True)
    best = max(runs, key=lambda run: document_completion(run, watched))
    return {
        "one seed": (runs[0], seconds[0]), "the best by its score": (best, sum(seconds)),
        "consensus": (mean_of_fits(last), sum(seconds) + sum(more)),
    }  # fmt: skip


def last_seed(seeds, i):
    """The seed of the i-th fit that starts from a consensus; no other fit has it."""
    return 1000 + 100 * i + seeds[0]


def medians(labels, topics, weights, centres):
    """Medians of the topics of each cluster, times the mean weight of its topics; the centre of an empty cluster."""
    found = np.maximum(centres, 0)
    found *= (weights.mean() / found.sum(axis=1))[:, None]
    for k in np.unique(labels[labels >= 0]):
        middle = np.median(topics[labels == k], axis=0)
        found[k] = middle * weights[labels == k].sum() / middle.sum()
    return found / found.sum()


def by_directions(topics, weights, n_components, seed):
    """Consensus by a mixture of directions on the roots of all topics."""
    rows = roots(topics)
    mixture = SparseVonMisesFisherMixture(n_components, random_state=seed, n_jobs=1).fit(rows)
    return medians(mixture.predict(rows), topics, weights, np.asarray(mixture.means_) ** 2)


def by_cnmf(topics, weights, n_components, seed):
    """Consensus of cNMF: topics without near neighbours are left out, and k-means clusters the rest."""
    rows = topics / np.linalg.norm(topics, axis=1, keepdims=True)
    n_neighbours = max(1, int(NEIGHBOURS * len(rows) / n_components))
    distances = NearestNeighbors(n_neighbors=n_neighbours + 1).fit(rows).kneighbors(rows)[0].sum(axis=1) / n_neighbours
    # its threshold is for expression of genes: topics of words differ more, and a half of them should remain
    near = distances <= max(FARTHEST, np.median(distances))
    means = KMeans(n_components, n_init=10, random_state=seed).fit(rows[near])
    labels = np.full(len(rows), -1)
    labels[near] = means.labels_
    return medians(labels, topics, weights, means.cluster_centers_.astype(np.float64))


def repeat(X, n_components, seeds):
    """Topics and seconds of a repeat by the name of their row, and the stabilities of topics from the consensus."""

    def fit(seed, **start):
        return spent(lambda: SparseSCVB0LDA(n_components, random_state=seed, n_jobs=1, **start).fit(X))

    runs, seconds = zip(*(fit(seed) for seed in seeds), strict=True)
    weights = np.concatenate([run.topic_weights_ for run in runs]).astype(np.float64)
    topics = np.concatenate([run.topic_word_distribution_ for run in runs]).astype(np.float64)
    starts = {
        "one to one": lambda: consensus_topics(runs).components,
        "mixture of directions": lambda: by_directions(topics, weights, n_components, seeds[0]),
        "cNMF": lambda: by_cnmf(topics, weights, n_components, seeds[0]),
    }
    fits = {"one seed": (runs[0], seconds[0])}
    for name, make in starts.items():
        start, more = spent(make)
        model, last = fit(seeds[0], init_params=start.astype(np.float32))
        fits[name] = model, sum(seconds) + more + last
        fits[f"{name}, without the last fit"] = start, sum(seconds) + more
        if name == "one to one":
            others = [fit(last_seed(seeds, i), init_params=start.astype(np.float32)) for i in range(AVERAGED[-1] - 1)]
            for n in AVERAGED:
                lasts, costs = zip((model, last), *others[: n - 1], strict=True)
                fits[f"{name}, mean of {n} last fits"] = mean_of_fits(lasts), sum(seconds) + more + sum(costs)
    return fits, runs


def likenesses(one, other):
    """Of each topic to its counterpart among other topics."""
    return match(roots(one), roots(other))[1]


def returning(one, other):
    """Share of topics whose counterpart among other topics lists at least five of the same ten words."""
    places = match(roots(one), roots(other))[0]
    pairs = zip(distinctive_words(one), distinctive_words(other)[places], strict=True)
    return np.mean([len(np.intersect1d(*pair)) >= 5 for pair in pairs])


def ranks(pairs, stability):
    """Probability that an alike topic is more stable than another one; None if all or no topics are alike."""
    known = np.repeat(np.array(stability)[:, None], np.shape(pairs)[1], axis=1)
    return round(float(roc_auc_score(np.ravel(pairs), known.ravel())), 3) if 0 < np.mean(pairs) < 1 else None


def compare(record, name, X, n_components, n_seeds, n_repeats):
    """Add a record for each way to cluster topics; one seed of each repeat is the first row."""
    part = np.random.default_rng(0).permutation(X.shape[0]) % HELD_OUT
    learned, scored = X[part > 1], X[part <= 1]
    repeats = [repeat(learned, n_components, range(n_seeds * i, n_seeds * (i + 1))) for i in range(n_repeats)]
    prior = repeats[0][1][0].doc_topic_prior_
    for label in repeats[0][0]:
        fits, seconds = zip(*(fits[label] for fits, _ in repeats), strict=True)
        weights = [getattr(fit, "components_", fit) for fit in fits]
        alike = [[likenesses(one, other) >= ALIKE for other in weights if other is not one] for one in weights]
        stability = [topic_stability(one, [run.components_ for run in runs])
                     for one, (_, runs) in zip(weights, repeats, strict=True)]  # fmt: skip
        record.add(
            "consensus-clusterings", f"{name}, {X.shape[0]:,} documents", split=None, estimator="SparseSCVB0LDA",
            label=label, parameters={"n_components": n_components, "n_runs": n_seeds}, prior="learned",
            seed=[n_seeds * i for i in range(n_repeats)],
            scores={
                "nats": [round(document_completion(one, scored, doc_topic_prior=prior), 4) for one in weights],
                "alike": [round(float(np.mean(each)), 3) for each in alike],
                "ranks": ranks(alike, stability),
                "npmi": [round(float(np.nanmean(topic_coherence(one, X))), 4) for one in weights],
                "diversity": [round(topic_diversity(one, 10), 3) for one in weights],
                "returning": [round(float(np.mean([returning(one, other) for other in weights if other is not one])), 3)
                              for one in weights],
            },
            seconds=[round(value, 3) for value in seconds],
        )  # fmt: skip
    scores = [document_completion(run, scored) for _, runs in repeats for run in runs]
    print(f"all single fits: {np.mean(scores):.4f}, standard deviation {np.std(scores, ddof=1):.4f}", flush=True)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", type=Path, default=[], help="files of counts in UCI format")
    parser.add_argument("--K", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3, help="seeds in each of both sets")
    parser.add_argument("--repeats", type=int, default=0, help="compare ways to cluster, in so many sets of seeds")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    record, n = recorder(args), 2 if args.quick else args.seeds
    corpora = {path.name.removeprefix("docword.").partition(".")[0]: load_bag_of_words(path).data for path in args.data}
    corpora = corpora or {"bars": make_bars(n_samples=1000, n_side=6, random_state=0)[0]}
    with threadpool_limits(1):
        for name, X in corpora.items():
            if args.repeats:
                compare(record, name, X, args.K, n, args.repeats)
                continue
            part = np.random.default_rng(0).permutation(X.shape[0]) % HELD_OUT
            learned, watched, scored = X[part > 1], X[part == 0], X[part == 1]
            sets = [contestants(learned, watched, args.K, range(n * i, n * i + n)) for i in range(2)]
            for label in sets[0]:
                (one, first), (other, second) = (fits[label] for fits in sets)
                record.add(
                    "consensus", f"{name}, {X.shape[0]:,} documents", split=None, estimator="SparseSCVB0LDA",
                    label=label if label == "one seed" else f"{label}, of {n}", parameters={"n_components": args.K},
                    prior="learned", seed=[0, n],
                    scores={
                        "nats": [round(document_completion(model, scored), 4) for model in (one, other)],
                        "npmi": [round(float(np.nanmean(topic_coherence(model, X))), 4) for model in (one, other)],
                        "returning": [round(float(Again(*pair, 10).found.mean()), 3)
                                      for pair in ((one, [other]), (other, [one]))],
                    },
                    seconds=[round(first, 3), round(second, 3)],
                )  # fmt: skip


if __name__ == "__main__":
    main()
