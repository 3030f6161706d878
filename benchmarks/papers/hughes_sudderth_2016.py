"""Hughes and Sudderth: Fast Learning of Clusters and Topics via Sparse Posteriors, 2016.

Sections 4 and 6: responsibilities of at most L components for mixtures of image patches and for topics.

    python benchmarks/papers/hughes_sudderth_2016.py --data FOLDER     nips and arxiv there; docstrings without

Patches are of the two photographs that come with scikit-learn (28,560 of them, where the paper has 3.6 million), the
larger corpus is of abstracts (the paper's are Wikipedia and the New York Times). Seconds are those of the processor.
"""

import numpy as np
from _paper import Paper, say, spent

# isort: split
from _topics_tasks import split
from scipy.special import softmax
from sparsemix._kernels.vectors._topl import top_l_responsibilities

from sparsemix import SparseGaussianMixture, SparseLDA
from sparsemix.datasets import load_image_patches
from sparsemix.metrics import document_completion


def patches(paper):
    """Held-out score and time of an epoch against L and K, from the same start and after equally many epochs."""
    X, X_test = load_image_patches(return_test=True)
    X, X_test = (part[:: paper.sized(1, 20)] for part in (X, X_test))
    sizes, passes = paper.sized((50, 100, 200), (5, 10)), paper.sized(10, 2)
    corpus = f"patches of photographs, {len(X):,} rows"
    for n_components in sizes:
        start = SparseGaussianMixture(n_components, covariance_type="zero_mean", max_iter=1, tol=0.0, random_state=0)
        given = {"weights": (fitted := quietly(start, X)).weights_, "precisions": fitted.precisions_}
        found = {}
        for n_nonzero in (1, 2, 4, 8, n_components):
            mixture = SparseGaussianMixture(
                n_components, n_nonzero=n_nonzero, covariance_type="zero_mean", tol=0.0, max_iter=passes,
                candidates="all", random_state=0, init_params=given,
            )  # fmt: skip
            _, seconds = spent(lambda mixture=mixture: quietly(mixture, X))
            found[n_nonzero] = mixture.score(X_test), seconds / passes
            say("  patches K={} L={}: {:.3f}, {:.3f} s a pass".format(n_components, n_nonzero, *found[n_nonzero]))
        dense, few, one = found[n_components], found[4], found[1]
        paper.claim(
            f"L=4 scores as well as dense, patches, K={n_components}", "no loss from L=4 or so on",
            f"{few[0] - dense[0]:+.3f} nats a patch (L=1: {one[0] - dense[0]:+.3f})", few[0] > dense[0] - 0.05,
            corpus=corpus, four=few[0], dense=dense[0], one=one[0],
        )  # fmt: skip
        faster = dense[1] / few[1]
        paper.claim(
            f"A sparse pass is faster, patches, K={n_components}", "2 to 4 times", f"{faster:.1f} times (L=4 beside "
            f"L=K, {few[1]:.2f} s)", True if faster >= 2 else None if faster > 1.05 else False, corpus=corpus,
            faster=faster,
            why="weights of all components are most of a pass; lists of candidates save those, sparsity alone does not",
        )  # fmt: skip


def quietly(estimator, X):
    """Fit without words about convergence: the number of epochs is what is asked for."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X)


def topics(paper, name, n_components, n_documents):
    """Document completion and time of learning against L, restarts and ways of learning."""
    corpus, X = paper.counts(name, n_documents)
    train, test = split(X.astype(np.float32), paper.sized(248, 20))
    where = f"{corpus.partition(',')[0]}, K={n_components}"
    common = {"learning_method": "memoized", "max_iter": paper.sized(20, 2), "doc_update_tol": 0.05, "random_state": 0,
              "init_params": "random"}  # fmt: skip

    def learned(**params):
        lda, seconds = spent(lambda: quietly(SparseLDA(n_components, **common | params), train))
        score = document_completion(lda, test)
        say(f"  {where} {params}: {score:.3f} in {seconds:.1f} s")
        return lda, score, seconds

    dense, sparse, one = learned(n_nonzero=None), learned(n_nonzero=8), learned(n_nonzero=1)
    paper.claim(
        f"L=8 predicts as well as dense, {where}", "as well", f"{sparse[1]:.3f}, dense {dense[1]:.3f}",
        sparse[1] > dense[1] - 0.01, corpus=corpus, sparse=sparse[1], dense=dense[1],
    )  # fmt: skip
    paper.claim(
        f"L=8 learns in a fraction of the time, {where}", "200 s where dense takes over 1,000 (Wikipedia, K=200)",
        f"{sparse[2]:.0f} s, dense {dense[2]:.0f} s for as many passes", True if dense[2] > 3 * sparse[2] else
        None if dense[2] > 1.2 * sparse[2] else False, corpus=corpus, sparse=sparse[2], dense=dense[2],
        why="equal passes; our dense documents leave small topics standing between full updates",
    )  # fmt: skip
    paper.claim(
        f"L=1 can fail badly, {where}", "far below", f"{one[1] - dense[1]:+.3f} nats a token",
        True if one[1] < dense[1] - 0.05 else None if one[1] < dense[1] - 0.01 else False, corpus=corpus,
        difference=one[1] - dense[1],
    )  # fmt: skip
    restarted = learned(n_nonzero=8, n_restarts=paper.sized(5, 2))
    early = learned(n_nonzero=8, n_restarts=paper.sized(5, 2), max_iter=2)[0].restart_acceptance_
    accepted = restarted[0].restart_acceptance_
    bound = (restarted[0].lower_bound_ - sparse[0].lower_bound_) / train.data.sum()
    paper.claim(
        f"Proposed restarts are accepted, {where}", "40 to 80 %", f"{100 * early:.0f} % in the second pass, "
        f"{100 * accepted:.0f} % in the last; the bound gains {bound:+.4f} nats a token, the score "
        f"{restarted[1] - sparse[1]:+.4f}", True if 0.4 <= early <= 0.8 else None, corpus=corpus,
        why="our passes are warm: late ones find little to move", early=early, accepted=accepted, bound=bound,
    )  # fmt: skip
    online = learned(n_nonzero=8, learning_method="online")
    paper.claim(
        f"Memoized learning ends above stochastic, {where}", "at least as good",
        f"memoized {sparse[1]:.3f} in {sparse[2]:.0f} s, online {online[1]:.3f} in {online[2]:.0f} s",
        sparse[1] > online[1] - 0.01, corpus=corpus, memoized=sparse[1], online=online[1],
    )  # fmt: skip


def local_step(paper):
    """Time of inferring documents against K, sparse and dense, under topics of that size."""
    corpus, X = paper.counts("nips", paper.sized(400, 40))
    X = X.astype(np.float32)
    times = {}
    sizes = paper.sized((50, 100, 200, 400, 800), (10, 20))
    for n_components in sizes:
        for n_nonzero in (8, None):
            lda = SparseLDA(n_components, n_nonzero=n_nonzero, learning_method="batch", init_params="random", tol=0.0,
                            max_iter=3, warm_documents=False, random_state=0)  # fmt: skip
            _, seconds = spent(lambda lda=lda: quietly(lda, X))
            times[n_components, n_nonzero] = seconds / 3
            say(f"  local step K={n_components} L={n_nonzero}: {seconds / 3:.2f} s a pass")
    ratios = [times[k, None] / times[k, 8] for k in sizes]
    paper.claim(
        f"The local step is at least 3 times as fast, K={sizes[-1]}", "3 times and more at modest L",
        ", ".join(f"K={k}: {ratio:.1f}" for k, ratio in zip(sizes, ratios, strict=True)), True if ratios[-1] >= 3 else
        None if ratios[-1] > 1.2 else False, corpus=corpus, why="passes of L=8 beside dense ones, documents cold",
        ratio=ratios[-1],
    )  # fmt: skip
    growth = times[sizes[-1], 8] / times[sizes[0], 8]
    paper.claim(
        "Time of sparse inference against K", "grows with K", f"{growth:.1f} times as long for {sizes[-1] // sizes[0]} "
        "times as many topics", None, corpus=corpus, why="ours drops topics without mass early", growth=growth,
    )  # fmt: skip


def selection(paper):
    """Cost of the L largest of K weights, compared with the exponentials of all of them that a dense row takes."""
    n, times = paper.sized(20_000, 200), {}
    sizes = paper.sized((100, 400, 1_600), (50, 200))
    for n_components in sizes:
        weights = np.random.default_rng(0).standard_normal((n, n_components)).astype(np.float32)
        for n_nonzero in (1, 4, 16):
            out = np.empty((n, n_nonzero), np.int32), np.empty((n, n_nonzero)), np.empty(n)
            times[n_components, n_nonzero] = 1e6 * spent(lambda w=weights, o=out: top_l_responsibilities(w, *o))[1] / n
        times[n_components, "all"] = 1e6 * spent(lambda w=weights: softmax(w, axis=1))[1] / n
        say(f"  K={n_components}: " + ", ".join(f"L={w} {times[n_components, w]:.2f} us" for w in (1, 4, 16, "all")))
    slope = times[sizes[-1], 4] / times[sizes[0], 4] / (sizes[-1] / sizes[0])
    paper.claim(
        "Exact selection of the L best of K costs O(K)", "O(K), by introselect", "us a row at L=4: " +
        ", ".join(f"K={k}: {times[k, 4]:.2f} (softmax of all {times[k, 'all']:.1f})" for k in sizes),
        True if slope < 1.3 else None, corpus=f"normal weights, {n:,} rows", slope=slope,
        why="a heap of L, whose worst case, weights that rise from first to last, is O(K log L)",
    )  # fmt: skip


def main():
    """Patches, topics of papers and of abstracts, the local step, selection."""
    paper = Paper("Hughes and Sudderth 2016", __doc__)
    patches(paper)
    topics(paper, "nips", paper.sized(200, 10), paper.sized(None, 200))
    topics(paper, "arxiv", paper.sized(200, 10), paper.sized(20_000, 200))
    local_step(paper)
    selection(paper)
    paper.end()


if __name__ == "__main__":
    main()
