"""SkipGramTopicModel from commit to commit: small, so that a regression shows and a run stays short."""

from asv_suite import _measures
from sparsemix import SkipGramTopicModel, TokenSequences
from sparsemix.datasets import load_docstrings

N_DOCUMENTS, N_TEST, PASSES = 800, 100, 3


class Case:
    """Common parts: docstrings in their order, and a fit of a few epochs."""

    param_names = ("n_components", "inference")
    params = ([20, 200], ["scvb0", "gibbs", "mhw"])

    def setup(self, n_components, inference):
        X = TokenSequences(min_df=5).fit_transform(load_docstrings().texts[: N_DOCUMENTS + N_TEST])
        self.X, self.X_test = X[:N_DOCUMENTS], X[N_DOCUMENTS:]
        self.model = SkipGramTopicModel(n_components, inference=inference, max_iter=PASSES, random_state=0)


class Time(Case, _measures.FitTime):
    """Seconds."""


class Memory(Case, _measures.FitMemory):
    """Memory."""


class Score(Case, _measures.HeldOutScore):
    """Score after the epochs."""
