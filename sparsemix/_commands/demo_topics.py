"""Demo of topic models: docstrings of numpy, scipy and scikit-learn, compared with scikit-learn's LDA."""

import time
import warnings
from itertools import cycle

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches

from sparsemix.datasets import load_docstrings

N_HELD_OUT = 600
N_SHOWN = 12
BATCH = 512


def run(n_components, n_nonzero, seconds, n_jobs):
    """Fit both models, print their scores and the topics."""
    from sparsemix import SparseLDA
    from sparsemix.metrics import document_completion

    docstrings = load_docstrings()
    order = check_random_state(0).permutation(docstrings.data.shape[0])
    X, X_held_out = docstrings.data[order[N_HELD_OUT:]], docstrings.data[order[:N_HELD_OUT]]
    print(f"{X.shape[0]} docstrings with {X.shape[1]} words for training, {N_HELD_OUT} held out", flush=True)

    model = SparseLDA(n_components, n_nonzero=n_nonzero, max_iter=10_000, n_jobs=n_jobs, verbose=5, random_state=0)
    model._stop_after = seconds
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    spent = time.perf_counter() - start
    print("scikit-learn's LatentDirichletAllocation for the same number of seconds ...", flush=True)
    rival, rival_epochs, rival_spent = fit_scikit_learn(X, n_components, spent, n_jobs)

    rows = [
        (f"SparseLDA, L={n_nonzero}", model, model.n_iter_, spent),
        ("scikit-learn LDA, online", rival, rival_epochs, rival_spent),
        ("one topic for all documents", OneTopic(X), 1, 0.0),
    ]
    title = f"K={n_components}"
    print(f"\n{title:32s} {'epochs':>7s} {'seconds':>8s}  held-out log-likelihood per token")
    for name, estimator, epochs, taken in rows:
        print(f"{name:32s} {epochs:7.1f} {taken:8.1f}  {document_completion(estimator, X_held_out):.3f}")
    show(model, X, docstrings.feature_names)


def fit_scikit_learn(X, n_components, seconds, n_jobs):
    """Fit scikit-learn's LDA by batches until ``seconds`` are over."""
    model = LatentDirichletAllocation(
        n_components, learning_method="online", batch_size=BATCH, total_samples=X.shape[0], n_jobs=n_jobs,
        random_state=0,
    )  # fmt: skip
    clone(model).partial_fit(X[:BATCH])  # starts the worker processes before the clock
    n_seen, start = 0, time.perf_counter()
    for rows in cycle(gen_batches(X.shape[0], BATCH)):
        model.partial_fit(X[rows])
        n_seen += rows.stop - rows.start
        if time.perf_counter() - start >= seconds:
            break
    return model, n_seen / X.shape[0], time.perf_counter() - start


class OneTopic:
    """Baseline: the same word distribution for all documents."""

    def __init__(self, X):
        self.components_ = np.asarray(X.sum(axis=0), dtype=np.float64).reshape(1, -1) + 1.0
        self.n_features_in_ = X.shape[1]

    def transform(self, X):
        """Proportions of one for the only topic."""
        return np.ones((X.shape[0], 1))


def show(model, X, feature_names):
    """Print the largest topics."""
    from sparsemix._report.gathering import check_documents, gather
    from sparsemix.metrics import distinctive_words

    weights = gather(model, check_documents(model, X)).weights
    words = distinctive_words(model.components_, 8)
    print(f"\nlargest {N_SHOWN} of {len(weights)} topics: share of tokens, most distinctive words")
    for k in np.argsort(-weights, kind="stable")[:N_SHOWN]:
        print(f"{weights[k]:6.1%}  {' '.join(feature_names[words[k]])}")
