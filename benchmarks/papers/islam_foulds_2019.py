"""Islam and Foulds: Scalable Collapsed Inference for High-Dimensional Topic Models, NAACL 2019.

Section 6: time of a token against the number of topics, coherence and held-out likelihood against time with a thousand
topics, and many thousands of them; ``sampler="mhw"`` is the published method (SparseSCVB0), ``sampler="dense"`` the one
it is compared with (SCVB0), ``"gibbs"`` the exact sampler that is our default.

    python benchmarks/papers/islam_foulds_2019.py --data FOLDER     nips, arxiv, reuters21578 there; else docstrings

The paper's PubMed and Wikipedia are not to be had here: abstracts take their place. More of skip-gram topics is in
``benchmarks/skipgram.py``. Seconds are those of the processor.
"""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from _paper import Paper, say, spent

# isort: split
import _skipgram_tasks
from _topics_tasks import split

from sparsemix import SparseSCVB0LDA
from sparsemix.metrics import document_completion, topic_coherence

SAMPLERS = {"dense": "SCVB0", "mhw": "SparseSCVB0", "gibbs": "ours, exact"}


def learner(n_components, sampler, block):
    """A stream that was initialised by its first block: as published, and averages of the last epochs play no part."""
    return SparseSCVB0LDA(n_components, sampler=sampler, max_iter=5, n_averaged_iter=0, random_state=0).fit(block)


def time_of_a_token(paper):
    """Microseconds a token of the second epoch, for every sampler and number of topics."""
    corpus, X = paper.counts("arxiv", paper.sized(5_000, 200))
    X, tokens = X.astype(np.float32), float(X.sum())
    sizes = paper.sized((10, 100, 1_000, 10_000), (10, 40))
    times = {}
    for sampler, n_components in ((s, k) for s in SAMPLERS for k in sizes):
        if sampler == "dense" and n_components > 1_000:
            continue  # hundreds of seconds, and nothing new
        lda = learner(n_components, sampler, X)
        times[sampler, n_components] = 1e6 * spent(lambda lda=lda: lda.partial_fit(X))[1] / tokens
        say(f"  {SAMPLERS[sampler]}, K={n_components}: {times[sampler, n_components]:.2f} us a token")
    for sampler, name in SAMPLERS.items():
        if sampler == "dense":
            continue
        few, many = sizes[-2], sizes[-1]
        power = np.log(times[sampler, many] / times[sampler, few]) / np.log(many / few)
        shown = ", ".join(f"K={k}: {times[sampler, k]:.2f}" for k in sizes)
        paper.claim(f"Time of a token grows more slowly than K, {name}", "sublinear", f"us a token {shown}; like K to "
                    f"the power {power:.2f} at the end", power < 0.9, corpus=corpus, power=power)  # fmt: skip
    top = max(k for s, k in times if s == "dense")
    faster = times["dense", top] / times["mhw", top]
    paper.claim(f"Faster than dense inference, K={top}", "yes", f"{faster:.1f} times; the exact sampler "
                f"{times['dense', top] / times['gibbs', top]:.1f} times", faster > 1, corpus=corpus,
                faster=faster)  # fmt: skip


def against_time(paper, name, n_components, n_documents, budget):
    """Coherence and held-out likelihood of both after the same seconds."""
    corpus, X = paper.counts(name, n_documents)
    train, test = split(X.astype(np.float32), paper.sized(150, 20))
    order, out = np.random.default_rng(0), {}
    for sampler, label in SAMPLERS.items():
        lda, seconds, visits = None, 0.0, 0
        while seconds < budget:
            rows = order.permutation(train.shape[0])
            for part in np.array_split(rows, max(1, len(rows) // 500)):
                if lda is None:
                    step = partial(learner, n_components, sampler, train[part])
                else:
                    step = partial(lda.partial_fit, train[part])
                lda, took = spent(step)
                seconds += took
                visits += len(part)
                if seconds >= budget:
                    break
        out[sampler] = document_completion(lda, test), float(topic_coherence(lda, train).mean()), visits / len(rows)
        say("  {} K={} {}: {:.3f}, {:.3f}, {:.1f} passes".format(corpus, n_components, label, *out[sampler]))
    where = f"{corpus.partition(',')[0]}, K={n_components}, {budget} s"
    for place, (what, slack) in enumerate((("held-out likelihood", 0.01), ("coherence", 0.005))):
        values = {sampler: run[place] for sampler, run in out.items()}
        difference = values["mhw"] - values["dense"]
        paper.claim(
            f"At equal time at least SCVB0's {what}, {where}", "equal on papers, better on large corpora",
            ", ".join(f"{SAMPLERS[s]} {v:.3f} ({out[s][2]:.1f} passes)" for s, v in values.items()),
            difference > -slack, corpus=corpus, **values,
        )  # fmt: skip


def many_topics(paper):
    """Ten thousand topics."""
    corpus, X = paper.counts("arxiv", paper.sized(50_000, 300))
    X, n_components = X.astype(np.float32), paper.sized(10_000, 100)
    lda = SparseSCVB0LDA(n_components, max_iter=2, n_averaged_iter=0, random_state=0)
    _, seconds = spent(lambda: lda.fit(X))
    paper.claim(f"{n_components:,} topics", "36 hours, of which 5 are a dense start", f"two passes over {corpus} in "
                f"{seconds:.0f} s with the exact sampler", None, corpus=corpus,
                why="a smaller corpus, another sampler, another start", seconds=seconds)  # fmt: skip


def skip_gram(paper):
    """Coherence of skip-gram topics compared with that of Gibbs sampling."""
    name, n_components = "reuters21578", paper.sized(500, 20)
    path = Path(paper.options.data or ".", f"tokens.{name}.txt.gz")
    name, path = (name, path) if paper.options.data and path.exists() else ("docstrings", None)
    npmi = {}
    with TemporaryDirectory() as folder:
        texts = _skipgram_tasks.prepare(path, paper.sized(None, 200), folder)
        corpus = f"{name}, {texts['n_documents']:,} documents"
        for kind, parameters in _skipgram_tasks.KINDS.items():
            found = _skipgram_tasks.score(texts["path"], None, n_components, paper.sized(10, 2), parameters)
            npmi[kind] = found["npmi"]
            say(f"  {corpus} K={n_components} {kind}: {found['npmi']:.3f}, {found['score']:.3f}")
    paper.claim(
        f"Skip-gram topics as coherent as Gibbs sampling's, {name}, K={n_components}", "equal or better",
        ", ".join(f"{kind} {value:.3f}" for kind, value in npmi.items()), npmi["scvb0, chains"] > npmi["gibbs"] - 0.005,
        corpus=corpus, why="as many passes for all", **{kind.replace(", ", "_"): value for kind, value in npmi.items()},
    )  # fmt: skip


def main():
    """Section 6 from its first page on."""
    paper = Paper("Islam and Foulds 2019", __doc__)
    time_of_a_token(paper)
    against_time(paper, "nips", paper.sized(1_000, 20), paper.sized(None, 200), paper.sized(30, 0.5))
    against_time(paper, "arxiv", paper.sized(1_000, 20), paper.sized(50_000, 300), paper.sized(30, 0.5))
    many_topics(paper)
    skip_gram(paper)
    paper.end()


if __name__ == "__main__":
    main()
