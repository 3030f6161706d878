"""The two sides of a comparison at one common start, and the clock that both are measured by."""

import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from _epochs import Epochs
from _measure import CORES, pin
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from sparsemix import SparseGaussianMixture
from sparsemix.metrics import basis_without_constant, mixture_log_likelihood

REG_COVAR = 1e-5

warnings.simplefilter("ignore", ConvergenceWarning)  # fits here end by the clock


def load_start(path):
    """Weights, means, covariances."""
    with np.load(path) as start:
        return start["weights"], start["means"], start["covariances"]


def fitted_parameters(mixture):
    """Weights, means, covariances."""
    return mixture.weights_, mixture.means_, mixture.covariances_


def sparse_mixture(start, **parameters):
    """Our mixture at the common start; it never stops early."""
    weights, means, covariances = start
    means = {} if parameters["covariance_type"] == "zero_mean" else {"means": means}
    precisions = np.linalg.inv(covariances) if covariances.ndim == 3 else 1.0 / covariances
    return SparseGaussianMixture(
        len(weights), init_params={"weights": weights, "precisions": precisions, **means},
        reg_covar=REG_COVAR, tol=0.0, random_state=0, **parameters,
    )  # fmt: skip


class Rival(GaussianMixture):
    """scikit-learn's mixture at the common start, in the dtype of the rows; tells ``clock`` of each epoch.

    The start goes past the check of precisions_init, which takes rounding of narrow float32 matrices for errors.
    """

    def _initialize_parameters(self, X, random_state, **options):  # noqa: ARG002
        weights, means, covariances = self.start
        if covariances.ndim == 3:
            factors = np.linalg.inv(np.linalg.cholesky(covariances)).transpose(0, 2, 1)
        else:
            factors = 1.0 / np.sqrt(covariances)
        self.weights_, self.means_ = weights.astype(X.dtype), means.astype(X.dtype)
        self.precisions_cholesky_ = factors.astype(X.dtype)
        if self.clock.since is None:
            self.clock.begin()

    def _m_step(self, X, log_resp, **options):
        super()._m_step(X, log_resp, **options)
        if self.clock.epoch(lambda: fitted_parameters(self)):
            raise TimeIsUpError


class TimeIsUpError(Exception):
    """Ends a rival's fit without its last E-step, which belongs to no pass."""


def fit_rival(start, X, covariance_type, clock, reg_covar=REG_COVAR):
    """Fit until the clock says stop; what made it end early, if anything did."""
    rival = Rival(len(start[0]), covariance_type=covariance_type, max_iter=10_000, tol=0.0, reg_covar=reg_covar)
    rival.start, rival.clock = start, clock
    try:
        rival.fit(X)
    except TimeIsUpError:
        return None
    except ValueError as error:  # a covariance that float32 cannot factor
        return str(error)
    return None


class Clock:
    """Seconds of training after each epoch, without what happens between epochs.

    Parameters
    ----------
    max_passes : int
    budget : float
        Seconds; no pass begins that would probably end more than half its length later.
    marks : sequence of int
        Passes after which to keep the parameters; those after the last epoch are kept as well if there are marks.
    timer : callable
        What the seconds are of.
    """

    def __init__(self, max_passes, budget=float("inf"), marks=(), timer=time.perf_counter):
        self.max_passes, self.budget, self.marks, self.timer = max_passes, budget, marks, timer
        self.seconds, self.kept, self.since = [], [], None

    def begin(self):
        """Training continues."""
        self.since = self.timer()

    def epoch(self, parameters):
        """An epoch is over; whether to stop."""
        spent = self.timer() - self.since + (self.seconds[-1] if self.seconds else 0.0)
        self.seconds.append(spent)
        passes = len(self.seconds)
        stop = passes >= self.max_passes or spent * (1.0 + 0.5 / passes) >= self.budget
        if self.marks and (stop or passes in self.marks):
            self.kept.append((passes, spent, parameters()))
        self.begin()
        return stop

    def end(self, parameters):
        """Training stopped by itself: its last parameters are kept, with all seconds."""
        spent = self.timer() - self.since + (self.seconds[-1] if self.seconds else 0.0)
        self.kept = [*(point for point in self.kept if point[0] < len(self.seconds)),
                     (len(self.seconds), spent, parameters)]  # fmt: skip


def passes(clock, keep=fitted_parameters):
    """Callback that tells a clock of each epoch of our mixture; at some the clock keeps what ``keep`` returns."""
    return Epochs(lambda: clock.since is None and clock.begin(), lambda mixture: clock.epoch(lambda: keep(mixture)))


def per_pass(seconds):
    """Median over the epochs after the first, from seconds since the start; the only epoch if there is one."""
    each = np.diff(np.concatenate([[0.0], seconds]))
    return float(np.median(each[1:] if len(each) > 1 else each))


def held_out(test, parameters):
    """Mean log density of held-out patches, dense over all components; rows are shared out over all cores."""
    pin(CORES)
    X = np.load(test)
    basis = basis_without_constant(X.shape[1])
    parts = np.array_split(X, len(CORES))
    with ThreadPoolExecutor(len(parts)) as pool:
        scores = list(pool.map(lambda part: mixture_log_likelihood(part, *parameters, basis=basis), parts))
    return float(np.average(scores, weights=[len(part) for part in parts]))
