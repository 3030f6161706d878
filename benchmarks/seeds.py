"""Topics guided by seed words: how many of its words lead a topic, and what they cost in held-out score.

python benchmarks/seeds.py --data docword.kos.txt.gz docword.ap.txt.gz --K 50
python benchmarks/seeds.py --quick       bars, one seed

Seed words come from topics of an independent fit with as many topics and another seed: five of the ten most probable
words of ten of its topics ("main words"), or five of the words from rank 11 to 30 ("lesser words"). A fit with these
seeds finds a word if it is among the first 20 of the topic. A fifteenth of the documents scores the topics.
"""

from functools import partial
from pathlib import Path

import numpy as np
from _measure import spent
from _results import parser_of, recorder
from threadpoolctl import threadpool_limits

from sparsemix import SparseSCVB0LDA
from sparsemix.datasets import load_bag_of_words, make_bars
from sparsemix.metrics import document_completion, top_words
from sparsemix.topics import WordPrior

HELD_OUT = 15
TOPICS, WORDS, LISTED = 10, 5, 20
RANKS = {"main words": slice(0, 10), "lesser words": slice(10, 30)}
STRENGTHS = [0.02, 0.05, 0.1]


def seeds_of(model, ranks, rng):
    """Words of topics of an independent fit, by the number of the topic."""
    words = top_words(model, RANKS["lesser words"].stop)[:, RANKS[ranks]]
    topics = rng.permutation(len(words))[: min(TOPICS, len(words))]
    return {f"topic {k}": sorted(map(int, rng.permutation(words[k])[:WORDS])) for k in topics}


def found(model, seeds):
    """Mean number of seed words among the first words of their topics."""
    listed = top_words(model, min(LISTED, model.n_features_in_))
    return float(np.mean([len(set(words) & set(listed[k])) for k, words in enumerate(seeds.values())]))


def starting_topics(X, seeds, n_components, rng):
    """Topics that only begin with the seeds: word frequencies with noise, and the occurrences of the seeds."""
    totals = np.asarray(X.sum(axis=0), dtype=float).ravel()
    topics = rng.gamma(30.0, size=(n_components, X.shape[1])) / 30.0 * totals / n_components
    for k, words in enumerate(seeds.values()):
        topics[k, words] += totals[words]
    return topics


def contestants(X, seeds, n_components, strengths, seed):
    """Parameters by the name of their row."""
    start = starting_topics(X, seeds, n_components, np.random.default_rng(seed))
    return {
        "without seeds": {},
        "seeds only in init_params": {"init_params": start},
        **{f"seeds, strength {s:g}": {"topic_word_prior": WordPrior(seeds=seeds, strength=s)} for s in strengths},
    }


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", type=Path, default=[], help="files of counts in UCI format")
    parser.add_argument("--K", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=3, help="repetitions")
    parser.add_argument("--strengths", nargs="+", type=float, default=STRENGTHS)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    record, n = recorder(args), 1 if args.quick else args.seeds
    corpora = {path.name.removeprefix("docword.").partition(".")[0]: load_bag_of_words(path).data for path in args.data}
    n_components = args.K if corpora else 12
    corpora = corpora or {"bars": make_bars(n_samples=1000, n_side=6, random_state=0)[0]}
    with threadpool_limits(1):
        for name, X in corpora.items():
            part = np.random.default_rng(0).permutation(X.shape[0]) % HELD_OUT
            learned, scored = X[part > 0], X[part == 0]
            for ranks in RANKS:
                rows = {}
                for seed in range(n):
                    other = SparseSCVB0LDA(n_components, random_state=1000 + seed, n_jobs=1).fit(learned)
                    seeds = seeds_of(other, ranks, np.random.default_rng(seed))
                    for label, params in contestants(learned, seeds, n_components, args.strengths, seed).items():
                        model = SparseSCVB0LDA(n_components, random_state=seed, n_jobs=1, **params)
                        model, seconds = spent(partial(model.fit, learned))
                        rows.setdefault(label, []).append(
                            (found(model, seeds), document_completion(model, scored), seconds)
                        )
                for label, values in rows.items():
                    words, nats, seconds = np.transpose(values)
                    record.add(
                        "seeds", f"{name}, {X.shape[0]:,} documents, {ranks}", split=None, estimator="SparseSCVB0LDA",
                        label=label, parameters={"n_components": n_components}, prior="learned", seed=[0, n],
                        scores={
                            "words": round(float(words.mean()), 2), "nats": round(float(nats.mean()), 4),
                            "cost": round(float((np.array(rows["without seeds"])[:, 1] - nats).mean()), 4),
                        },
                        seconds=round(float(seconds.mean()), 3),
                    )  # fmt: skip


if __name__ == "__main__":
    main()
