"""Topics of one seed, of the best of several and of their consensus: score, coherence, and which of them return.

python benchmarks/consensus.py --data docword.kos.txt.gz docword.ap.txt.gz --K 20
python benchmarks/consensus.py --quick       bars, two sets of two seeds

Two sets of seeds have no seed in common. A topic returns if its counterpart in the fit of the other set lists at least
half of its ten main words. A fourteenth of the documents ends the fits, another one scores the topics.
"""

from pathlib import Path

import numpy as np
from _measure import spent
from _results import parser_of, recorder
from threadpoolctl import threadpool_limits

from sparsemix import SparseSCVB0LDA
from sparsemix._commands.quality import Again
from sparsemix.datasets import load_bag_of_words, make_bars
from sparsemix.metrics import document_completion, topic_coherence
from sparsemix.topics import consensus_topics

HELD_OUT = 14


def contestants(X, watched, n_components, seeds):
    """Fits by the name of their row in the table, and the seconds of each."""

    def fit(seed, **start):
        model = SparseSCVB0LDA(n_components, random_state=seed, n_jobs=1, **start)
        return spent(lambda: model.fit(X, validation_data=watched))

    runs, seconds = zip(*(fit(seed) for seed in seeds), strict=True)
    final, more = fit(seeds[0], init_params=consensus_topics(runs).components)
    best = max(runs, key=lambda run: document_completion(run, watched))
    return {
        "one seed": (runs[0], seconds[0]), "the best by its score": (best, sum(seconds)),
        "consensus": (final, sum(seconds) + more),
    }  # fmt: skip


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", type=Path, default=[], help="files of counts in UCI format")
    parser.add_argument("--K", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3, help="seeds in each of both sets")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    record, n = recorder(args), 2 if args.quick else args.seeds
    corpora = {path.name.removeprefix("docword.").partition(".")[0]: load_bag_of_words(path).data for path in args.data}
    corpora = corpora or {"bars": make_bars(n_samples=1000, n_side=6, random_state=0)[0]}
    with threadpool_limits(1):
        for name, X in corpora.items():
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
