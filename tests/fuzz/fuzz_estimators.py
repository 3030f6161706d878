"""One estimator under one setting and one set of data: what it promises whatever they are."""

import contextlib
import pickle
import warnings
from functools import partial

import numpy as np
from estimator_cases import CLASSES
from fitted import assert_same, attributes
from fuzz_arrays import draw_arrays
from fuzz_data import draw_counts, draw_flags, draw_rows, draw_sequences, draw_weights, dressed
from fuzz_parameters import draw_parameters
from plans import takes_blocks
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sparsemix import (
    GibbsNGGPMixture,
    SkipGramTopicModel,
    SparseBernoulliMixture,
    SparseGaussianMixture,
    SparseVonMisesFisherMixture,
    StreamingNGGPMixture,
    blocks,
)

BY_BLOCKS = [cls for cls in CLASSES if takes_blocks(cls())]
CLEAR = (ValueError, TypeError, NotFittedError)
# Documented to be NaN where nothing was proposed or compared, or infinite where no number is large enough.
MAY_BE_NAN = ("r_hat_", "acceptance_rate_", "restart_acceptance_", "u_")
# Infinite for equal weights.
CONCENTRATIONS = ("weight_concentration_", "weight_concentration_prior_")
READERS = ("predict", "predict_proba", "predict_sparse_proba", "transform", "transform_words", "score_samples", "score")


@contextlib.contextmanager
def quiet():
    """Warnings are not looked at, but for those of NumPy that a number is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", ".*encountered", RuntimeWarning)  # by NumPy
        yield


def draw_case(rng, classes=CLASSES):
    """An estimator under some setting, what draws its data, rows and their weights."""
    cls = classes[rng.integers(len(classes))]
    draw = draw_of(rng, cls)
    defaults = cls().get_params(deep=False)
    params = draw_parameters(rng, cls._parameter_constraints, defaults)
    X = draw(rng)
    if rng.random() < 0.25:
        n_words = int(X.max()) if cls is SkipGramTopicModel and X.nnz and X.max() < 100 else np.shape(X)[1]
        params = draw_arrays(rng, params, defaults, X, n_words)
    return cls().set_params(**params), draw, X, draw_weights(rng, np.shape(X)[0])


def try_estimator(rng):
    """Draw a case, fit, and look at all invariants; what breaks one raises AssertionError or what it raised."""
    est, draw, X, weight = draw_case(rng)
    cls = type(est)
    with quiet():
        stream = hasattr(est, "partial_fit") and rng.random() < 0.4
        learn = "partial_fit" if stream else "fit"
        if cls in BY_BLOCKS and not stream and rng.random() < 0.15:
            learn = "blocks.fit"
        held_out = draw_held_out(rng, est, draw, X) if learn == "fit" else None
        X, wrong = dressed(rng, X)
        outcome = attempt(method(est, learn, held_out), X, weight)
        assert outcome is not None or not wrong, "a wrong form was taken"
        if outcome is not None:
            assert sorted(vars(est)) == sorted(est.get_params(deep=False)), f"a failed {learn} left {sorted(vars(est))}"
            return f"{cls.__name__} {learn} {type(outcome).__name__}"
        look(est, X)
        check_copies(est, X)
        check_threads(rng, est, X, weight, learn, held_out)
        check_bounds(est)
        check_more(rng, est, draw, X)
    return f"{cls.__name__} {learn} good"


def draw_held_out(rng, est, draw, X):
    """Validation documents of ``fit``: mostly none, else usually with the vocabulary of X."""
    if not hasattr(est, "early_stopping") or rng.random() < 0.6:
        return None
    if rng.random() < 0.5:
        est.set_params(early_stopping=[True, False][rng.integers(2)])
    return dressed(rng, draw(rng, None if rng.random() < 0.1 else np.shape(X)[1]))[0]


def method(est, learn, held_out=None):
    """The call that learns: a method, or a fit over blocks of seven rows in this process."""
    if learn != "blocks.fit":
        call = getattr(est, learn)
        return call if held_out is None else partial(call, validation_data=held_out)

    def fit(X, sample_weight=None):
        if not isinstance(X, np.ndarray) and getattr(X, "format", "") != "csr":
            return blocks.fit(est, [X], sample_weight=None if sample_weight is None else [sample_weight])
        cuts = range(0, X.shape[0], 7)
        weights = None if sample_weight is None else [sample_weight[a : a + 7] for a in cuts]
        return blocks.fit(est, [X[a : a + 7] for a in cuts], sample_weight=weights)

    return fit


def draw_of(rng, cls):
    """What this class learns from."""
    if cls is SkipGramTopicModel:
        return draw_sequences
    if cls is SparseBernoulliMixture:
        return draw_flags
    either = StreamingNGGPMixture, GibbsNGGPMixture, SparseVonMisesFisherMixture
    if cls is SparseGaussianMixture or (cls in either and rng.random() < 0.6):
        return draw_rows
    return draw_counts


def attempt(call, X, weight=None):
    """The clear error of a call, or None."""
    try:
        if weight is None:
            call(X)
        else:
            call(X, sample_weight=weight)
    except MemoryError as error:
        return error
    except CLEAR as error:
        return said_clearly(error)
    return None


def said_clearly(error):
    """The error, which has a message."""
    assert str(error), "an error without a word"
    return error


def read(est, X):
    """What it says of rows, by method; the clear error where it refuses them."""
    out = {}
    for name in READERS:
        if hasattr(est, name):
            try:
                value = getattr(est, name)(X)
            except CLEAR as error:
                value = str(error)
            out[name] = value.toarray() if hasattr(value, "toarray") else value
    return out


def look(est, X):
    """Attributes and readings are finite; shares sum to one."""
    for name, value in attributes(est).items():
        if name in MAY_BE_NAN or not isinstance(value, np.ndarray | float):
            continue
        if name in CONCENTRATIONS and np.all(value == np.inf):
            continue
        if np.asarray(value).dtype.kind == "f":
            assert np.isfinite(value).all(), f"{name} is not finite"
    for name, value in read(est, X).items():
        if isinstance(value, str):
            continue
        assert np.isfinite(value).all(), f"{name} is not finite"
        if name in ("predict_proba", "predict_sparse_proba"):
            np.testing.assert_allclose(value.sum(axis=1), 1.0, atol=1e-4, err_msg=name)


def everything(est, X):
    """Attributes and readings, to compare."""
    return attributes(est) | read(est, X)


def check_copies(est, X):
    """A pickle says the same."""
    assert_same(everything(est, X), everything(pickle.loads(pickle.dumps(est)), X))


def check_threads(rng, est, X, weight, learn, held_out):
    """Two threads give the same bits as one."""
    if "n_jobs" not in est.get_params(deep=False) or rng.random() < 0.7:
        return
    twin = clone(est).set_params(n_jobs=2)
    error = attempt(method(twin, learn, held_out), X, weight)
    if isinstance(error, MemoryError):
        return
    assert error is None, error
    first, second = everything(est, X), everything(twin, X)
    for values in (first, second):
        values.pop("history_", None)
    assert_same(first, second)


def check_bounds(est):
    """Bounds of epochs over all rows never fall, where they are promised not to."""
    bounds = getattr(est, "lower_bounds_", None)
    promised = (
        isinstance(est, SparseGaussianMixture)
        and est.inference == "vb"
        and est.learning_method == "batch"
        and est.candidates == "all"
        and est.reg_covar == 0
    )
    if promised and bounds:
        rises = np.diff(bounds)
        assert (rises >= -1e-6 * np.abs(bounds[-1]) - 1e-6).all(), f"the bound falls by {-rises.min()}"


def check_more(rng, est, draw, X):
    """Other data: good, or refused with nothing changed."""
    same = rng.random() < 0.7
    shape = est.n_features_in_ if same and not isinstance(est, SkipGramTopicModel) else None
    other = dressed(rng, draw(rng, shape))[0]
    for name in ("partial_fit", "fit"):
        if not hasattr(est, name):
            continue
        before, held = everything(est, X), dict(vars(est))
        weight = draw_weights(rng, np.shape(other)[0])
        outcome = attempt(getattr(est, name), other, weight)
        if outcome is not None and getattr(est, "n_samples_seen_", None) != held.get("n_samples_seen_"):
            look(est, X)  # a stream has taken the rows before the one that it refuses
            return
        if outcome is not None:
            assert list(vars(est)) == list(held), f"a failed {name} left attributes"
            assert_same(before, everything(est, X))
        else:
            look(est, other)
            return


