"""SparseLDA from commit to commit: small, so that a regression shows and a run stays short."""

import warnings

from sklearn.exceptions import ConvergenceWarning

from asv_suite import _measures
from sparsemix import SparseLDA
from sparsemix.datasets import make_sparse_lda

N_DOCUMENTS, N_TEST, N_WORDS, N_TOPICS, PASSES = 3_000, 500, 2_000, 20, 5


class Topics:
    """Common parts: documents of known topics, and a fit of a few epochs."""

    param_names = ("n_components", "n_nonzero", "learning_method")
    params = ([20, 100], [1, 8, None], ["batch", "memoized", "online"])

    def setup(self, n_components, n_nonzero, learning_method):
        warnings.simplefilter("ignore", ConvergenceWarning)
        X, _, _ = make_sparse_lda(N_DOCUMENTS + N_TEST, N_WORDS, N_TOPICS, random_state=0)
        self.X, self.X_test = X[:N_DOCUMENTS], X[N_DOCUMENTS:]
        self.model = SparseLDA(
            n_components, n_nonzero=n_nonzero, doc_topic_prior=0.1, topic_word_prior=0.01,
            learning_method=learning_method, max_iter=PASSES, tol=0.0, random_state=0,
        )  # fmt: skip


class Time(Topics, _measures.FitTime):
    """Seconds."""

    def setup(self, *params):
        super().setup(*params)
        self.model.fit(self.X)
        self.model.transform(self.X_test[:1])  # makes the table of the topics
        self.stream = SparseLDA(**self.model.get_params()).fit(self.X)

    def time_partial_fit(self, *_):
        """A block of a stream."""
        self.stream.partial_fit(self.X_test)

    def time_transform(self, *_):
        """Proportions of new documents."""
        self.model.transform(self.X_test)


class Memory(Topics, _measures.FitMemory):
    """Memory."""


class Score(Topics, _measures.HeldOutScore):
    """Score after the epochs."""
