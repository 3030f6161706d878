"""SparseSCVB0LDA and CollapsedLDA from commit to commit: small, so that a regression shows and a run stays short."""

from sparsemix import CollapsedLDA, SparseSCVB0LDA
from sparsemix.datasets import make_sparse_lda

N_DOCUMENTS, N_TEST, N_WORDS, N_TOPICS, PASSES, SWEEPS = 3_000, 500, 2_000, 20, 5, 20


def documents():
    """Documents of known topics, to learn from and to score."""
    X, _, _ = make_sparse_lda(N_DOCUMENTS + N_TEST, N_WORDS, N_TOPICS, random_state=0)
    return X[:N_DOCUMENTS], X[N_DOCUMENTS:]


class Stochastic:
    """Common parts: a start and a few passes."""

    param_names = ("n_components", "sampler", "learning_method")
    params = ([20, 100, 1_000], ["dense", "gibbs", "mhw"], ["memoized", "online"])

    def setup(self, n_components, sampler, learning_method):
        self.X, self.X_test = documents()
        self.model = SparseSCVB0LDA(
            n_components, sampler=sampler, doc_topic_prior=0.1, topic_word_prior=0.01, init_params="em",
            n_init_iter=2, learning_method=learning_method, max_iter=PASSES, random_state=0,
        )  # fmt: skip


class StochasticTime(Stochastic):
    """Seconds."""

    def setup(self, *params):
        super().setup(*params)
        self.stream = SparseSCVB0LDA(**self.model.get_params()).fit(self.X)
        self.stream.transform(self.X_test[:1])  # makes the table of the topics

    def time_fit(self, *_):
        """A start and a few passes."""
        self.model.fit(self.X)

    def time_partial_fit(self, *_):
        """A block of a stream."""
        self.stream.partial_fit(self.X_test)

    def time_transform(self, *_):
        """Proportions of new documents."""
        self.stream.transform(self.X_test)


class StochasticMemory(Stochastic):
    """Memory."""

    def peakmem_fit(self, *_):
        """Peak of resident memory, data and interpreter included."""
        self.model.fit(self.X)


class StochasticScore(Stochastic):
    """What the passes are worth."""

    def track_heldout_score(self, *_):
        """Held-out log-likelihood of a token after a few passes."""
        return self.model.fit(self.X).score(self.X_test)

    track_heldout_score.unit = "nats"


class Batch:
    """Common parts of collapsed inference in batch: a fit of some sweeps."""

    param_names = ("n_components", "method")
    params = ([20, 100], ["cvb0", "cvb", "gibbs"])

    def setup(self, n_components, method):
        self.X, self.X_test = documents()
        self.model = CollapsedLDA(
            n_components, method=method, doc_topic_prior=0.1, topic_word_prior=0.01, max_iter=SWEEPS, tol=0.0,
            random_state=0,
        )  # fmt: skip


class BatchTime(Batch):
    """Seconds."""

    def time_fit(self, *_):
        """Some sweeps."""
        self.model.fit(self.X)


class BatchMemory(Batch):
    """Memory."""

    def peakmem_fit(self, *_):
        """Peak of resident memory, data and interpreter included."""
        self.model.fit(self.X)


class BatchScore(Batch):
    """What the sweeps are worth."""

    def track_heldout_score(self, *_):
        """Held-out log-likelihood of a token after some sweeps."""
        return self.model.fit(self.X).score(self.X_test)

    track_heldout_score.unit = "nats"
