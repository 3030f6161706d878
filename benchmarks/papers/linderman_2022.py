"""Linderman: lecture notes on mixed membership models and coordinate ascent, STATS 305C, Stanford 2022.

    python benchmarks/papers/linderman_2022.py --data FOLDER     kos there; docstrings without

Gibbs sampling draws topics of tokens, proportions and topics in turn (uncollapsed), compared with collapsed sampling.
Coordinate ascent is that of Blei, Ng and Jordan (2003): dense ``SparseLDA`` and scikit-learn's
``LatentDirichletAllocation`` from the same topics have the same bound after every epoch, and the bound never falls.
"""

import numpy as np
from _paper import Paper, quietly, say

# isort: split
from _measure import spent
from _topics_tasks import split
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation

from sparsemix import GibbsLDA, SparseLDA
from sparsemix.metrics import document_completion

K, ALPHA, ETA = 20, 0.1, 0.05
NAME = "Linderman 2022"
SIZES = {
    "gibbs": {"documents": (3_430, 100), "test": (430, 20), "components": (50, 5), "epochs": (400, 20),
              "chains": (4, 2)},
    "ascent": {"documents": (1_000, 100), "epochs": (20, 4), "long": (200, 30)},
}  # fmt: skip
NOT_COMPARED = "the notes do not compare"
GIBBS, ASCENT, BOUND = "Equations 10 to 12", "Equations 29 to 44", "Equations 45 to 50"
TOLERANCE = 1e-3  # of the mean change of a document's topics; both iterate until there


def sklearn_at(X, topics):
    """scikit-learn's estimator with these topics."""
    lda = LatentDirichletAllocation(K, doc_topic_prior=ALPHA, topic_word_prior=ETA, learning_method="batch",
                                    max_doc_update_iter=1_000, mean_change_tol=TOLERANCE / 10,
                                    random_state=0)  # fmt: skip
    lda.partial_fit(X[:1])  # makes its attributes
    lda.components_ = topics.astype(np.float64)
    lda.exp_dirichlet_component_ = np.exp(psi(topics) - psi(topics.sum(axis=1, keepdims=True)))
    return lda


def bound_of(X, lda):
    """scikit-learn's bound under its present topics."""
    shares = lda._e_step(X, cal_sstats=False, random_init=False)[0]
    return lda._approx_bound(X, shares, sub_sampling=False)


def of_sklearn(X, topics, n_passes):
    """The bound of scikit-learn after each epoch of its fit."""
    lda, bounds = sklearn_at(X, topics), []
    for _ in range(n_passes):
        lda._em_step(X, total_samples=X.shape[0], batch_update=True)
        bounds.append(bound_of(X, lda))
    return np.array(bounds)


def ours_after(X, topics, n_passes):
    """Dense ``SparseLDA`` after ``n_passes`` epochs from these topics."""
    lda = SparseLDA(K, n_nonzero=None, doc_topic_prior=ALPHA, topic_word_prior=ETA, learning_method="batch",
                    init_params=topics, max_iter=n_passes, tol=0.0, warm_documents=False, doc_update_tol=TOLERANCE,
                    max_doc_update_iter=1_000, random_state=0)  # fmt: skip
    return quietly(lda, X)


def ascent(paper):
    """Bounds epoch by epoch."""
    corpus, X = paper.counts("kos", paper.size("documents"))
    X = X.astype(np.float64)
    topics = np.random.default_rng(0).gamma(100.0, 0.01, (K, X.shape[1]))
    n_passes, n_long, tokens = paper.size("epochs"), paper.size("long"), X.data.sum()
    ours = [ours_after(X, topics, 1 + p).components_ for p in range(1 + n_passes)]
    theirs = of_sklearn(X, ours[0], n_passes)  # ours gives the topics of a start its own scale
    gap = np.abs(theirs - [bound_of(X, sklearn_at(X, each)) for each in ours[1:]]).max() / tokens
    paper.claim("Topics after every epoch have scikit-learn's bound", NOT_COMPARED,
                f"largest difference in {n_passes} epochs {gap:.1e} nats a token", gap < 1e-3,
                where=ASCENT, kind="ablation", corpus=corpus, gap=gap, why="both by scikit-learn's formula; documents "
                "end at a tolerance, ours in single precision")  # fmt: skip
    long = ours_after(X, topics, n_long)
    at_end = abs(long.lower_bound_ - bound_of(X, sklearn_at(X, long.components_))) / tokens
    paper.claim("Near the optimum our bound is scikit-learn's", NOT_COMPARED,
                f"{at_end:.1e} nats a token apart after {n_long} epochs", at_end < 1e-3, where=BOUND,
                kind="ablation", corpus=corpus, gap=at_end,
                why="ours is of the responsibilities that made the topics")  # fmt: skip
    falls = max(-np.diff(long.lower_bounds_).min() / tokens, 0.0)
    paper.claim("The bound never falls", "each update maximises it",
                f"largest fall of {n_long} epochs {falls:.1e} nats a token", falls < 1e-6,
                where="Equations 22 to 25", corpus=corpus, fall=falls)  # fmt: skip


def gibbs(paper):
    """Uncollapsed sampling, which the notes derive, compared with collapsed: chains, seconds, autocorrelation."""
    corpus, X = paper.counts("kos", paper.size("documents"))
    train, test = split(X.astype(np.float32), paper.size("test"))
    epochs, chains, found = paper.size("epochs"), paper.size("chains"), {}
    for inference in ("collapsed", "uncollapsed"):
        lda = GibbsLDA(paper.size("components"), inference=inference, doc_topic_prior=ALPHA, topic_word_prior=ETA,
                       n_chains=chains, max_iter=epochs, random_state=0)  # fmt: skip
        _, seconds = spent(lambda lda=lda: quietly(lda, train))
        late = [values[epochs // 2 :] for values in lda.chain_log_joints_]
        found[inference] = {
            "epoch": seconds / chains / epochs, "score": lda.score(test), "r_hat": lda.r_hat_,
            "time": float(np.mean([autocorrelation_time(values) for values in late])),
            "joints": np.mean(lda.chain_log_joints_, axis=0), "alone": document_completion(lda, test),
        }  # fmt: skip
        say(f"  {inference}: {found[inference]['score']:.4f}, {seconds:.1f} s, R-hat {lda.r_hat_:.2f}")
        record_curve(paper, corpus, inference, found[inference], train.sum())
    claim_gibbs(paper, corpus, found)


def record_curve(paper, corpus, inference, found, n_tokens):
    """The mean log joint of the chains after every tenth epoch."""
    points = [{"seconds": epoch * found["epoch"], "passes": epoch, "nats": float(found["joints"][epoch - 1] / n_tokens)}
              for epoch in range(10, len(found["joints"]) + 1, 10)]  # fmt: skip
    paper.curve(corpus, inference, {"nats": points[-1]["nats"]}, curve=points)


def claim_gibbs(paper, corpus, found):
    collapsed, uncollapsed = found["collapsed"], found["uncollapsed"]
    target = uncollapsed["joints"][-1]
    sooner = int(np.argmax(collapsed["joints"] >= target)) + 1
    epochs = len(collapsed["joints"])
    paper.claim(
        "Collapsing needs fewer epochs", NOT_COMPARED,
        f"{sooner} epochs of collapsed sampling reach the log joint of {epochs} uncollapsed ones; seconds "
        f"{sooner * collapsed['epoch']:.1f} and {epochs * uncollapsed['epoch']:.1f}", sooner < epochs,
        where=GIBBS, kind="ablation", corpus=corpus, sooner=sooner,
    )  # fmt: skip
    paper.claim(
        "Draws of collapsed sampling are less correlated", NOT_COMPARED,
        "epochs between independent draws of the log joint (last half): collapsed "
        f"{collapsed['time']:.0f}, uncollapsed {uncollapsed['time']:.0f}; R-hat of {paper.size('chains')} chains "
        f"{collapsed['r_hat']:.1f} and {uncollapsed['r_hat']:.1f}",
        True if collapsed["time"] < uncollapsed["time"] and collapsed["r_hat"] < 1.1 else None
        if collapsed["time"] < uncollapsed["time"] else "undecided", where=GIBBS, kind="ablation", corpus=corpus,
        collapsed=collapsed["time"], uncollapsed=uncollapsed["time"],
        why="" if collapsed["r_hat"] < 1.1 else "chains stay in different modes, so these are times within a mode",
    )  # fmt: skip
    gain = collapsed["score"] - collapsed["alone"]
    paper.claim(
        "Averages over samples predict better than their mean topics", NOT_COMPARED,
        f"{gain:+.4f} nats a hidden token (collapsed), {uncollapsed['score'] - uncollapsed['alone']:+.4f} "
        "(uncollapsed)", gain > 0, where=GIBBS, kind="ablation", corpus=corpus, gain=gain,
    )  # fmt: skip


def autocorrelation_time(values):
    """Integrated autocorrelation time, summed while the autocorrelation is above 0.05."""
    deviations = values - values.mean()
    all_lags = np.correlate(deviations, deviations, "full")[len(values) - 1 :]
    correlations = all_lags / all_lags[0]
    end = int(np.argmax(correlations < 0.05)) or len(correlations)
    return 1.0 + 2.0 * float(correlations[1:end].sum())


def main():
    Paper(NAME, __doc__, SIZES).run(gibbs, ascent)


if __name__ == "__main__":
    main()
