"""SparseSCVB0LDA, CollapsedLDA and GibbsLDA from commit to commit, small."""

from asv_suite import _measures
from sparsemix import CollapsedLDA, GibbsLDA, SparseSCVB0LDA
from sparsemix.datasets import make_sparse_lda

N_DOCUMENTS, N_TEST, N_WORDS, N_TOPICS, PASSES, SWEEPS = 3_000, 500, 2_000, 20, 5, 20


def documents():
    """Documents of known topics, to learn from and to score."""
    X, _, _ = make_sparse_lda(N_DOCUMENTS + N_TEST, N_WORDS, N_TOPICS, random_state=0)
    return X[:N_DOCUMENTS], X[N_DOCUMENTS:]


class Stochastic:
    """Common parts: a start and a few epochs."""

    param_names = ("n_components", "sampler", "learning_method")
    params = ([20, 100, 1_000], ["dense", "gibbs", "mhw"], ["memoized", "online"])

    def setup(self, n_components, sampler, learning_method):
        self.X, self.X_test = documents()
        self.model = SparseSCVB0LDA(
            n_components, sampler=sampler, doc_topic_prior=0.1, topic_word_prior=0.01, init_params="em",
            learning_method=learning_method, max_iter=PASSES, random_state=0,
        )  # fmt: skip


class StochasticTime(Stochastic, _measures.FitTime):
    """Seconds."""

    def setup(self, *params):
        super().setup(*params)
        self.stream = SparseSCVB0LDA(**self.model.get_params()).fit(self.X)
        self.stream.transform(self.X_test[:1])  # makes the table of the topics

    def time_partial_fit(self, *_):
        """A block of a stream."""
        self.stream.partial_fit(self.X_test)

    def time_transform(self, *_):
        """Proportions of new documents."""
        self.stream.transform(self.X_test)


class StochasticMemory(Stochastic, _measures.FitMemory):
    """Memory."""


class StochasticScore(Stochastic, _measures.HeldOutScore):
    """Score after the epochs."""


class Batch:
    """Common parts of collapsed inference in batch: a fit of some sweeps."""

    param_names = ("n_components", "method")
    params = ([20, 100], ["cvb0", "cvb", "gibbs", "uncollapsed"])

    def setup(self, n_components, method):
        self.X, self.X_test = documents()
        priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01, "max_iter": SWEEPS, "random_state": 0}
        if method == "uncollapsed":
            self.model = GibbsLDA(n_components, inference=method, **priors)
        else:
            self.model = CollapsedLDA(n_components, inference=method, tol=0.0, **priors)


class BatchTime(Batch, _measures.FitTime):
    """Seconds."""


class BatchMemory(Batch, _measures.FitMemory):
    """Memory."""


class BatchScore(Batch, _measures.HeldOutScore):
    """What the sweeps are worth."""
