"""Variational inference for LDA by coordinate ascent, as Blei, Ng and Jordan (2003) and textbooks since have it.

    python benchmarks/papers/variational_account.py --data FOLDER     kos there; docstrings without

Dense ``SparseLDA`` compared with scikit-learn's ``LatentDirichletAllocation`` from the same topics: the same bound
after every epoch, since both are the same coordinate ascent; and the bound never falls.
"""

import warnings

import numpy as np
from _paper import Paper
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning

from sparsemix import SparseLDA

K, ALPHA, ETA = 20, 0.1, 0.05
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
    """The bound of scikit-learn after each of its own epochs."""
    lda, bounds = sklearn_at(X, topics), []
    for _ in range(n_passes):
        lda._em_step(X, total_samples=X.shape[0], batch_update=True)
        bounds.append(bound_of(X, lda))
    return np.array(bounds)


def ours_after(X, topics, n_passes):
    """Dense ``SparseLDA`` after so many epochs from there."""
    lda = SparseLDA(K, n_nonzero=None, doc_topic_prior=ALPHA, topic_word_prior=ETA, learning_method="batch",
                    init_params=topics, max_iter=n_passes, tol=0.0, warm_documents=False, doc_update_tol=TOLERANCE,
                    max_doc_update_iter=1_000, random_state=0)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return lda.fit(X)


def main():
    """Bounds pass by pass."""
    paper = Paper("Coordinate ascent (Blei, Ng and Jordan 2003)", __doc__)
    corpus, X = paper.counts("kos", paper.sized(1_000, 100))
    X = X.astype(np.float64)
    topics = np.random.default_rng(0).gamma(100.0, 0.01, (K, X.shape[1]))
    n_passes, n_long, tokens = paper.sized(20, 4), paper.sized(200, 30), X.data.sum()
    ours = [ours_after(X, topics, 1 + p).components_ for p in range(1 + n_passes)]
    theirs = of_sklearn(X, ours[0], n_passes)  # ours gives the topics of a start its own scale
    gap = np.abs(theirs - [bound_of(X, sklearn_at(X, each)) for each in ours[1:]]).max() / tokens
    paper.claim("Topics after every pass have scikit-learn's bound", "the same algorithm",
                f"largest difference in {n_passes} passes {gap:.1e} nats a token", gap < 1e-3,
                corpus=corpus, why="both by scikit-learn's formula; documents end at a tolerance, ours in single "
                "precision", gap=gap)  # fmt: skip
    long = ours_after(X, topics, n_long)
    at_end = abs(long.lower_bound_ - bound_of(X, sklearn_at(X, long.components_))) / tokens
    paper.claim("Near the optimum our bound is scikit-learn's", "the same bound",
                f"{at_end:.1e} nats a token apart after {n_long} passes", at_end < 1e-3, corpus=corpus,
                why="ours is of the responsibilities that made the topics", gap=at_end)  # fmt: skip
    falls = max(-np.diff(long.lower_bounds_).min() / tokens, 0.0)
    paper.claim("The bound never falls", "by construction", f"largest fall of {n_long} passes {falls:.1e} nats a token",
                falls < 1e-6, corpus=corpus, fall=falls)  # fmt: skip
    paper.end()


if __name__ == "__main__":
    main()
