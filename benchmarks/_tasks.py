"""What is measured, each function in its own child process.

Files come by name: training rows, held-out rows, and the start that all fits of one table share.
"""

import hashlib
import time

import numpy as np
from _fits import REG_COVAR, Clock, fit_rival, fitted_parameters, held_out, load_start, per_pass, sparse_mixture
from _fits import passes as told
from _measure import peak_resident_bytes, resident_bytes

from sparsemix import SparseGaussianMixture
from sparsemix._kernels.gaussians import _accumulate, _pairs, _quadratic
from sparsemix._kernels.vectors import _topl
from sparsemix._models.mixture import candidates as _candidates
from sparsemix._models.mixture.model import MaximumLikelihoodMixture

# On a part of the rows components have fewer than a covariance needs; the ridge keeps the fit going and costs nothing.
REG_COVAR_PART = 1e-3

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


def sparse_passes(train, start, rows, passes, test=None, **parameters):
    """Seconds of an epoch of our mixture, a fingerprint of its parameters, and its held-out score if asked for."""
    mixture = sparse_mixture(load_start(start), max_iter=passes, **parameters).fit(np.load(train)[:rows])
    fitted = fitted_parameters(mixture)
    return {
        "seconds": per_pass([record["seconds"] for record in mixture.history_]),
        "digest": hashlib.sha256(b"".join(part.tobytes() for part in fitted)).hexdigest(),
        "live": live(mixture.weights_),
        "held_out": None if test is None else held_out(test, fitted),
    }


def live(weights):
    """Components with more than a tenth of the mean weight; starved ones have less."""
    return int(np.count_nonzero(weights > 0.1 / len(weights)))


def kmeans_passes(train, n_components, rows, passes):
    """Seconds of faiss to find the nearest of K rows for all rows, which is an epoch of k-means without its means."""
    try:
        import faiss
    except ImportError:
        return {"seconds": None}
    faiss.omp_set_num_threads(1)
    X, seconds = np.load(train)[:rows], []
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(np.random.default_rng(0).permutation(X)[:n_components])
    for _ in range(passes):
        begun = time.perf_counter()
        index.search(X, 1)
        seconds.append(time.perf_counter() - begun)
    return {"seconds": float(np.median(seconds))}


def rival_passes(train, start, rows, passes, covariance_type):
    """Seconds of an epoch of scikit-learn's mixture; None and the reason when it did not finish one."""
    X, clock = np.load(train), Clock(passes)
    reg_covar = REG_COVAR if rows >= len(X) else REG_COVAR_PART
    error = fit_rival(load_start(start), X[:rows], covariance_type, clock, reg_covar)
    return {"seconds": per_pass(clock.seconds) if clock.seconds else None, "error": error}


def sparse_phases(train, start, rows, passes, **parameters):
    """Seconds that an epoch spends in each phase, the mean over the epochs after the first."""
    spent = dict.fromkeys(PHASES, 0.0)
    for phase, functions in PHASES.items():
        for owner, name in functions:
            setattr(owner, name, timed(getattr(owner, name), phase, spent))
    clock = Clock(passes, marks=range(1, passes + 1))
    mixture = sparse_mixture(load_start(start), max_iter=passes, **parameters)
    mixture.set_callbacks(told(clock, lambda _: dict(spent))).fit(np.load(train)[:rows])
    (_, begin, first), (_, end, last) = clock.kept[0], clock.kept[-1]
    out = {phase: (last[phase] - first[phase]) / (passes - 1) for phase in PHASES}
    seconds = (end - begin) / (passes - 1)
    return {"seconds": seconds, "phases": out | {"rest": seconds - sum(out.values())}}


def timed(function, phase, spent):
    """The function, its time added to that of its phase, less what other phases spend inside of it."""

    def call(*arguments):
        begun, others = time.perf_counter(), sum(spent.values())
        try:
            return function(*arguments)
        finally:
            spent[phase] += time.perf_counter() - begun - (sum(spent.values()) - others)

    return call


def scored(clock, test):
    """(epochs, seconds, held-out score) of everything that the clock kept and that has a density."""
    checkpoints, error = [], None
    for passes, seconds, parameters in clock.kept:
        try:
            checkpoints.append((passes, seconds, held_out(test, parameters)))
        except np.linalg.LinAlgError as problem:
            error = f"no score after {passes} passes: {problem}"
    return {"checkpoints": checkpoints, "error": error}


def sparse_memory(train, start, passes, **parameters):
    """Growth of resident memory in a fit of our mixture, its own start included; ``start`` only tells K."""
    X, n_components = np.load(train), len(load_start(start)[0])
    shape = {name: parameters[name] for name in ("covariance_type", "inference", "learning_method")}
    SparseGaussianMixture(WARM_UP_COMPONENTS, max_iter=1, random_state=0, **shape).fit(X[:WARM_UP_ROWS])
    mixture = SparseGaussianMixture(n_components, max_iter=passes, tol=0.0, random_state=0, **parameters)
    return growth(lambda: mixture.fit(X))


def rival_memory(train, start, passes):
    """Growth of resident memory in a fit of scikit-learn's mixture."""
    X, start = np.load(train), load_start(start)
    few = tuple(part[:WARM_UP_COMPONENTS] for part in start)
    fit_rival(few, X[:WARM_UP_ROWS], "full", Clock(1), REG_COVAR_PART)
    return growth(lambda: fit_rival(start, X, "full", Clock(passes)))


def growth(fit):
    """Peak of resident memory in ``fit`` beyond what is resident before, in bytes; what ended the fit early."""
    before = resident_bytes()
    result = fit()
    return {"bytes": peak_resident_bytes() - before, "error": result if isinstance(result, str) else None}
