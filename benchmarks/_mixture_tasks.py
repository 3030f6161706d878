"""Measurements of ``mixture.py``, each function in its own child process.

Files come by name: training rows, held-out rows, and the start that all fits of one table share.
"""

import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from _clock import Clock, Epochs, TimeIsUpError, observe
from _measure import CORES, peak_resident_bytes, pin, resident_bytes
from sklearn.cluster import MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from sparsemix import SparseGaussianMixture
from sparsemix._kernels.gaussians import _accumulate, _pairs, _quadratic
from sparsemix._kernels.vectors import _topl
from sparsemix._models.mixture import candidates as _candidates
from sparsemix._models.mixture.model import MaximumLikelihoodMixture
from sparsemix.metrics import basis_without_constant, mixture_log_likelihood

# On a part of the rows components have fewer than a covariance needs; the ridge keeps the fit going and costs nothing.
REG_COVAR, REG_COVAR_PART = 1e-5, 1e-3

PHASES = {
    "weights": [(_quadratic, "log_density"), (_pairs, "log_density")],
    "selection": [(_topl, "top_l_responsibilities"), (_pairs, "choose")],
    "candidates": [(_pairs, "expand"), (_pairs, "group")],
    "neighbours": [(_candidates, "nearest")],
    "grouping": [(_accumulate, "group_by_component")],
    "statistics": [(_accumulate, name) for name in ("add_counts", "add_first", "add_squares", "add_outer")],
    "global step": [(MaximumLikelihoodMixture, "global_step")],
}

WARM_UP_ROWS, WARM_UP_COMPONENTS = 1_000, 4

warnings.simplefilter("ignore", ConvergenceWarning)  # fits here end by the clock


# -- the two sides


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


class Observed(GaussianMixture):
    """scikit-learn's mixture, which reports each epoch to ``clock`` and stops when time is up."""

    def _initialize_parameters(self, X, random_state, **options):
        super()._initialize_parameters(X, random_state, **options)
        self.number = 0
        self.clock.epoch(0)

    def _m_step(self, X, log_resp, **options):
        super()._m_step(X, log_resp, **options)
        self.number += 1
        if self.clock.epoch(self.number, lambda: fitted_parameters(self)):
            raise TimeIsUpError  # without the last E-step, which belongs to no epoch


class Rival(Observed):
    """scikit-learn's mixture at the common start, in the dtype of the rows.

    The start bypasses the check of precisions_init, which takes rounding of narrow float32 matrices for errors.
    """

    def _initialize_parameters(self, X, random_state, **options):  # noqa: ARG002
        weights, means, covariances = self.start
        if covariances.ndim == 3:
            factors = np.linalg.inv(np.linalg.cholesky(covariances)).transpose(0, 2, 1)
        else:
            factors = 1.0 / np.sqrt(covariances)
        self.weights_, self.means_ = weights.astype(X.dtype), means.astype(X.dtype)
        self.precisions_cholesky_ = factors.astype(X.dtype)
        self.number = 0
        self.clock.epoch(0)


def fit_rival(start, X, covariance_type, clock, reg_covar=REG_COVAR):
    """Fit until the clock says stop; what ended it early, if anything did."""
    rival = Rival(len(start[0]), covariance_type=covariance_type, max_iter=10_000, tol=0.0, reg_covar=reg_covar)
    rival.start = start
    try:
        fit_observed(rival, X, clock)
    except ValueError as error:  # a covariance that float32 cannot factor
        return str(error)
    return None


def fit_observed(mixture, X, clock):
    """Fit until time is up, or until the mixture stops."""
    mixture.clock = clock
    clock.begin()
    try:
        mixture.fit(X)
    except TimeIsUpError:
        return
    clock.end(lambda: fitted_parameters(mixture))


def per_pass(seconds):
    """Median over the epochs after the first, from seconds of each epoch; the only epoch if there is one."""
    return float(np.median(seconds[1:] if len(seconds) > 1 else seconds))


def held_out(test, parameters):
    """Mean log density of held-out patches, dense over all components; all cores share the rows."""
    pin(CORES)
    X = np.load(test)
    basis = basis_without_constant(X.shape[1])
    parts = np.array_split(X, len(CORES))
    with ThreadPoolExecutor(len(parts)) as pool:
        scores = list(pool.map(lambda part: mixture_log_likelihood(part, *parameters, basis=basis), parts))
    return float(np.average(scores, weights=[len(part) for part in parts]))


# -- fits from the common start


def sparse_passes(train, start, rows, passes, test=None, **parameters):
    """Seconds of an epoch of our mixture, live components, and the held-out score of given test rows."""
    mixture = sparse_mixture(load_start(start), max_iter=passes, **parameters).fit(np.load(train)[:rows])
    fitted = fitted_parameters(mixture)
    return {
        "seconds": per_pass(np.diff([0.0, *(record["seconds"] for record in mixture.history_)])),
        "live": int(np.count_nonzero(mixture.weights_ > 0.1 / len(mixture.weights_))),  # starved components have less
        "held_out": None if test is None else held_out(test, fitted),
    }


def rival_passes(train, start, rows, passes, covariance_type):
    """Seconds of an epoch of scikit-learn's mixture; None and the reason when it did not finish one."""
    X, clock = np.load(train), Clock(None, last=passes)
    reg_covar = REG_COVAR if rows >= len(X) else REG_COVAR_PART
    error = fit_rival(load_start(start), X[:rows], covariance_type, clock, reg_covar)
    seconds = np.diff([spent for _, spent in clock.epochs])
    return {"seconds": per_pass(seconds) if len(seconds) else None, "error": error}


def sparse_phases(train, start, rows, passes, **parameters):
    """Seconds that an epoch spends in each phase, the mean over the epochs after the first."""
    spent, kept = dict.fromkeys(PHASES, 0.0), []
    for phase, functions in PHASES.items():
        for owner, name in functions:
            setattr(owner, name, timed(getattr(owner, name), phase, spent))
    mixture = sparse_mixture(load_start(start), max_iter=passes, **parameters)
    observer = Epochs(lambda: None, lambda _: kept.append((time.perf_counter(), dict(spent))))
    mixture.set_callbacks(observer).fit(np.load(train)[:rows])
    (begin, first), (end, last) = kept[0], kept[-1]
    out = {phase: (last[phase] - first[phase]) / (passes - 1) for phase in PHASES}
    seconds = (end - begin) / (passes - 1)
    return {"seconds": seconds, "phases": out | {"rest": seconds - sum(out.values())}}


def timed(function, phase, spent):
    """The function, its time added to that of its phase, less what other phases spend inside of it."""

    def call(*arguments):
        begun, other = time.perf_counter(), sum(spent.values())
        try:
            return function(*arguments)
        finally:
            spent[phase] += time.perf_counter() - begun - (sum(spent.values()) - other)

    return call


def sparse_memory(train, start, passes, **parameters):
    """Growth of resident memory in a fit of our mixture, its initialisation included; ``start`` only gives K."""
    X, n_components = np.load(train), len(load_start(start)[0])
    shape = {name: parameters[name] for name in ("covariance_type", "inference", "learning_method")}
    SparseGaussianMixture(WARM_UP_COMPONENTS, max_iter=1, random_state=0, **shape).fit(X[:WARM_UP_ROWS])
    mixture = SparseGaussianMixture(n_components, max_iter=passes, tol=0.0, random_state=0, **parameters)
    return growth(lambda: mixture.fit(X))


def rival_memory(train, start, passes):
    """Growth of resident memory in a fit of scikit-learn's mixture."""
    X, start = np.load(train), load_start(start)
    few = tuple(part[:WARM_UP_COMPONENTS] for part in start)
    fit_rival(few, X[:WARM_UP_ROWS], "full", Clock(None, last=1), REG_COVAR_PART)
    return growth(lambda: fit_rival(start, X, "full", Clock(None, last=passes)))


def growth(fit):
    """Peak of resident memory in ``fit`` beyond what is resident before, in bytes; what ended the fit early."""
    before = resident_bytes()
    result = fit()
    return {"bytes": peak_resident_bytes() - before, "error": result if isinstance(result, str) else None}


# -- mixtures with their own initialisation


def sparse(X, n_components, seed, clock):
    mixture = SparseGaussianMixture(n_components, random_state=seed).set_callbacks(observe(clock, fitted_parameters))
    clock.begin()
    mixture.fit(X)
    clock.end(lambda: fitted_parameters(mixture))


def scikit_learn(X, n_components, seed, clock, reg_covar):
    """scikit-learn's with its defaults, among them k-means on all rows as initialisation, but for the ridge."""
    fit_observed(Observed(n_components, reg_covar=reg_covar, random_state=seed), X, clock)


def minibatch_kmeans(X, n_components, seed, clock, reg_covar):
    """scikit-learn's EM from the clusters of its k-means in minibatches, a common way to save the initialisation."""
    clock.begin()
    clusters = MiniBatchKMeans(n_components, random_state=seed).fit(X)
    start = moments(X, clusters.labels_, clusters.cluster_centers_, reg_covar)
    clock.stop()
    fit_rival(start, X, "full", clock, reg_covar)


def moments(X, labels, means, reg_covar):
    """Weights, means and covariances of clusters; one of a single row has the covariance of all rows."""
    counts = np.bincount(labels, minlength=len(means))
    covariances = np.stack([np.cov((X[labels == k] if count > 1 else X).T, bias=True)
                            for k, count in enumerate(counts)])  # fmt: skip
    return np.maximum(counts, 1) / np.maximum(counts, 1).sum(), means, covariances + reg_covar * np.eye(X.shape[1])


CONTESTANTS = {
    "SparseGaussianMixture": sparse,
    "GaussianMixture": scikit_learn,
    "MiniBatchKMeans, GaussianMixture": minibatch_kmeans,
}


def own_start_curve(train, test, rows, contestant, n_components, budget, seed, **parameters):
    """Held-out score against seconds of the processor, the initialisation included."""
    clock, error = Clock(budget, partial(score, test), of_processor=True, growth=1.1), None
    try:
        CONTESTANTS[contestant](np.load(train)[:rows], n_components, seed, clock, **parameters)
    except ValueError as problem:  # a covariance that float32 cannot factor
        error = str(problem)
    return {"checkpoints": [point for point in clock.checkpoints if point[-1] is not None], "error": error}


def score(test, parameters):
    """The held-out score, or None where covariances have no density."""
    try:
        return (held_out(test, parameters),)
    except np.linalg.LinAlgError:
        return (None,)
