"""SparseGaussianMixture from commit to commit: small, so that a regression shows and a run stays short."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from asv_suite import _measures
from sparsemix import SparseGaussianMixture
from sparsemix.datasets import make_patch_mixture

N_ROWS, N_TEST, N_FEATURES, PASSES = 6_000, 2_000, 32, 5


class Mixture:
    """Common parts: data, and a fit of a few epochs from rows drawn at random."""

    param_names = ("covariance_type", "n_components", "n_nonzero", "learning_method")
    params = (["zero_mean", "full", "diag", "low_rank"], [20, 100], [1, 4, None], ["batch", "memoized", "online"])

    def setup(self, covariance_type, n_components, n_nonzero, learning_method):
        warnings.simplefilter("ignore", ConvergenceWarning)
        X, _, _ = make_patch_mixture(N_ROWS + N_TEST, N_FEATURES, n_components=20, random_state=0)
        self.X, self.X_test = np.split(X.astype(np.float32), [N_ROWS])
        self.model = SparseGaussianMixture(
            n_components, n_nonzero=n_nonzero, covariance_type=covariance_type, learning_method=learning_method,
            init_params="random_from_data", max_iter=PASSES, tol=0.0, random_state=0,
        )  # fmt: skip


class Time(Mixture):
    """Seconds."""

    def setup(self, *params):
        super().setup(*params)
        self.model.fit(self.X)
        self.model.set_params(warm_start=True, max_iter=1)
        self.stream = SparseGaussianMixture(**self.model.get_params()).fit(self.X)

    def time_fit_pass(self, *_):
        """A fit that continues for one epoch."""
        self.model.fit(self.X)

    def time_partial_fit(self, *_):
        """A block of a stream."""
        self.stream.partial_fit(self.X_test)


class Memory(Mixture, _measures.FitMemory):
    """Memory."""


class Score(Mixture, _measures.HeldOutScore):
    """Score after the epochs."""
