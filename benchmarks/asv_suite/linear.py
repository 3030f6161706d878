"""Mixtures of directions, words, yes and no, commit by commit: small, so that regressions show and runs stay short."""

import warnings

from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from asv_suite import _measures
from sparsemix import SparseBernoulliMixture, SparseMultinomialMixture, SparseVonMisesFisherMixture
from sparsemix.datasets import make_sparse_lda

N_ROWS, N_TEST, N_FEATURES, N_WORDS, PASSES = 6_000, 1_000, 32, 2_000, 5


class Case:
    """Common parts: rows, dense directions or sparse counts, and a fit of a few epochs."""

    param_names = ("estimator", "n_components", "n_nonzero")
    params = (["directions", "words", "flags"], [20, 100], [1, 4])

    def setup(self, estimator, n_components, n_nonzero):
        warnings.simplefilter("ignore", ConvergenceWarning)
        n = N_ROWS + N_TEST
        if estimator == "words":
            kind, X = SparseMultinomialMixture, make_sparse_lda(n, N_WORDS, 20, random_state=0)[0]
        elif estimator == "flags":
            kind, X = SparseBernoulliMixture, make_sparse_lda(n, N_WORDS, 20, random_state=0)[0] > 0
        else:
            kind, X = SparseVonMisesFisherMixture, make_blobs(n, N_FEATURES, centers=50, random_state=0)[0]
        self.X, self.X_test = X[:N_ROWS], X[N_ROWS:]
        self.model = kind(n_components, n_nonzero=n_nonzero, max_iter=PASSES, tol=0.0, random_state=0)


class Time(Case, _measures.FitTime):
    """Seconds."""

    def setup(self, *params):
        super().setup(*params)
        self.stream = type(self.model)(**self.model.get_params()).fit(self.X)

    def time_partial_fit(self, *_):
        """A block of a stream."""
        self.stream.partial_fit(self.X_test)


class Memory(Case, _measures.FitMemory):
    """Memory."""


class Score(Case, _measures.HeldOutScore):
    """Score after the epochs."""
