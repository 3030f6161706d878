"""SkipGramTopicModel from commit to commit: small, so that a regression shows and a run stays short."""

from sparsemix import SkipGramTopicModel, TokenSequences
from sparsemix.datasets import load_docstrings

N_DOCUMENTS, N_TEST, PASSES = 800, 100, 3


class Case:
    """Common parts: docstrings in their order, and a fit of a few passes."""

    param_names = ("n_components", "inference")
    params = ([20, 200], ["scvb0", "gibbs", "mhw"])

    def setup(self, n_components, inference):
        X = TokenSequences(min_df=5).fit_transform(load_docstrings().texts[: N_DOCUMENTS + N_TEST])
        self.X, self.X_test = X[:N_DOCUMENTS], X[N_DOCUMENTS:]
        self.model = SkipGramTopicModel(n_components, inference=inference, max_iter=PASSES, random_state=0)


class Time(Case):
    """Seconds."""

    def time_fit(self, *_):
        """A start and a few passes."""
        self.model.fit(self.X)


class Memory(Case):
    """Memory."""

    def peakmem_fit(self, *_):
        """Peak of resident memory, data and interpreter included."""
        self.model.fit(self.X)


class Score(Case):
    """What the passes are worth."""

    def track_heldout_score(self, *_):
        """Held-out score after a few passes."""
        return self.model.fit(self.X).score(self.X_test)

    track_heldout_score.unit = "nats"
