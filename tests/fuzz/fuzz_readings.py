"""Methods of a fitted estimator other than predictions: clear errors or finite results, estimator unchanged."""

import contextlib
import io
import tempfile
import warnings
from pathlib import Path

import numpy as np
from fitted import assert_same, attributes
from fuzz_data import draw_rows, draw_weights
from fuzz_estimators import CLEAR, attempt, draw_case, look, quiet, read, said_clearly
from scipy import sparse

import sparsemix
from sparsemix import (
    CollapsedLDA,
    SkipGramTopicModel,
    SparseGaussianMixture,
    SparseLDA,
    SparseSCVB0LDA,
    StreamingNGGPMixture,
    datasets,
    metrics,
)
from sparsemix.clusters import select_nggp_hyperparameters
from sparsemix.topics import choose_n_topics

TOPICS = [SparseLDA, SparseSCVB0LDA, CollapsedLDA]
NUMBERS = (-1, 0, 1, 2, 5, 1000, 1 << 40, 2.5, None, "x", np.nan)
MAY_BE_ANY = {"perplexity", "aic", "bic", "lower_bound"}  # which is NaN where inference has none


def try_reading(rng):
    """Some methods of a fitted estimator with arguments at random; none of them changes it."""
    est, draw, X, weight = draw_case(rng)
    name = type(est).__name__
    with quiet():
        outcome = attempt(est.fit, X, weight)
        if outcome is not None:
            return f"{name} unread {type(outcome).__name__}"
        other = X if rng.random() < 0.5 else draw(rng)
        calls = calls_of(rng, est, other)
        before = attributes(est)
        said = []
        for method in rng.choice(sorted(calls), size=4):
            try:
                value = calls[method]()
            except (*CLEAR, MemoryError) as error:
                said.append(type(error).__name__)
                continue
            if method not in MAY_BE_ANY:
                assert finite(value), f"{method} is not finite"
            said.append("good")
        assert_same(before, attributes(est))
    return f"{name} readings {'good' if 'good' in said else said[0]}"


def finite(value):
    """Whether all numbers of what was returned are finite."""
    if isinstance(value, tuple | list):
        return all(finite(part) for part in value)
    if sparse.issparse(value):
        value = value.data
    array = np.asarray(value) if isinstance(value, np.ndarray | float) else np.zeros(0)
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


def calls_of(rng, est, X):
    """By the name of a method: the call, with arguments at random."""
    number = NUMBERS[rng.integers(len(NUMBERS))]
    few = NUMBERS[rng.integers(5)]
    words = [None, [f"w{i}" for i in range(est.n_features_in_)], ["a"]][rng.integers(3)]
    word = [0, est.n_features_in_ - 1, est.n_features_in_, -1, "w0", "no such word"][rng.integers(6)]
    weight = draw_weights(rng, np.shape(X)[0])
    calls = {
        "aic": lambda: est.aic(X),
        "bic": lambda: est.bic(X),
        "sample": lambda: est.sample(few),
        "lower_bound": lambda: est.lower_bound(),
        "perplexity": lambda: est.perplexity(X),
        "score": lambda: est.score(X),
        "topic_table": lambda: est.topic_table(words, number),
        "print_topics": lambda: silently(est.print_topics, words, few, number),
        "count_words": lambda: est.count_words(X),
        "most_similar": lambda: est.most_similar(word, number, words),
        "word_topic_table": lambda: est.word_topic_table(word, number, words),
        "save_word_vectors": lambda: saved(est, words, bool(rng.integers(2))),
        "row_memory": lambda: est.row_memory(few) and None,
        "get_feature_names_out": lambda: est.get_feature_names_out() and None,
    }
    out = {name: call for name, call in calls.items() if hasattr(est, name) and name != "get_feature_names_out"}
    if hasattr(est, "per") or "nggp" in type(est).__module__:
        per = ["row", "token", "page"][rng.integers(3)]
        out["score"] = lambda: est.score(X, sample_weight=weight, per=per)
    if type(est).__name__ == "GibbsNGGPMixture":
        out["score_samples"] = lambda: est.score_samples(X, average=["density", "log_density", "none"][rng.integers(3)])
    if type(est) in TOPICS:
        out["transform"] = lambda: est.transform(X, normalize=bool(rng.integers(2)))
        out["representative_documents"] = lambda: sparsemix.representative_documents(est, X, number)
    if isinstance(est, SkipGramTopicModel):
        out["transform_words"] = lambda: est.transform_words(X, n_nonzero=number)
    if hasattr(est, "components_"):
        out["report"] = lambda: str(sparsemix.report(est, X, words, n_top_words=few, n_documents=few))
        for name in ("topic_diversity", "topic_exclusivity", "top_words"):
            out[name] = lambda name=name: getattr(metrics, name)(est, few)
        if type(est) in TOPICS:
            out["topic_coherence"] = lambda: metrics.topic_coherence(est, X, n_top_words=few)
            out["document_completion"] = lambda: metrics.document_completion(est, X)
    if hasattr(est, "__sklearn_is_fitted__") or hasattr(est, "predict"):
        out["as plain"] = lambda: copied(est, X)
    return out


def silently(call, *arguments):
    with contextlib.redirect_stdout(io.StringIO()):
        call(*arguments)


def saved(est, words, binary):
    with tempfile.TemporaryDirectory() as folder:
        est.save_word_vectors(Path(folder) / "vectors", words or [f"w{i}" for i in range(est.n_features_in_)], binary)


def copied(est, X):
    """Its state as skops keeps it says the same."""
    state = est.__getstate__()
    again = type(est).__new__(type(est))
    again.__setstate__(state)
    assert_same(read(est, X), read(again, X))


def try_choice(rng):
    """Searches over parameters and given parameters."""
    kind = ["choose_n_topics", "select_nggp", "from_parameters"][rng.integers(3)]
    with quiet():
        if kind == "choose_n_topics":
            est, draw, X, _ = draw_case(rng, TOPICS)
            numbers = [int(k) for k in rng.integers(0, 6, size=rng.integers(0, 3))]
            held_out = [None, X, draw(rng)][rng.integers(3)]
            call = lambda: choose_n_topics(est, X, numbers, validation_data=held_out, n_top_words=3).results  # noqa: E731
        elif kind == "select_nggp":
            est, _, X, weight = draw_case(rng, [StreamingNGGPMixture])
            grid = [{"discount": [0.0, 0.5]}, {"concentration": [1.0, -1.0]}, {"no such": [1]}, {}][rng.integers(4)]
            size = float(rng.choice([0.0, 0.5, 0.8, 1.0, np.nan]))
            call = lambda: select_nggp_hyperparameters(est, X, grid, train_size=size, sample_weight=weight)  # noqa: E731
        else:
            call = lambda: given_parameters(rng)  # noqa: E731
        try:
            call()
        except (*CLEAR, MemoryError) as error:
            return f"{kind} {type(error if isinstance(error, MemoryError) else said_clearly(error)).__name__}"
    return f"{kind} good"


def given_parameters(rng):
    """A mixture of which all is given reads rows, and continues to learn from them."""
    X = draw_rows(rng)
    d, K = np.shape(X)[1], int(rng.integers(1, 5))
    kind = ["full", "diag", "spherical", "tied", "tied_diag", "tied_spherical"][rng.integers(6)]
    factor = rng.normal(size=(K, d, d + 1))
    full = factor @ factor.transpose(0, 2, 1) + 0.1 * np.eye(d)
    covariances = {"full": full, "diag": np.einsum("kdd->kd", full), "spherical": full[:, 0, 0], "tied": full[0],
                   "tied_diag": np.diag(full[0]), "tied_spherical": full[0, 0, 0]}[kind]  # fmt: skip
    weights, means = rng.dirichlet(np.ones(K)), rng.normal(size=(K, d))
    spoilt = rng.integers(8)
    if spoilt == 0:
        weights = weights[:-1]
    elif spoilt == 1:
        means[0, 0] = np.nan
    elif spoilt == 2:
        covariances = -np.asarray(covariances)
    elif spoilt == 3:
        weights = 3 * weights
    est = SparseGaussianMixture.from_parameters(
        weights, means, covariances, covariance_type=kind, max_iter=2, random_state=0
    )
    look(est, X)
    if rng.random() < 0.5:
        est.partial_fit(X)
        look(est, X)


GENERATORS = {
    "make_bars": ["n_side", "n_samples", "doc_length", "doc_topic_prior"],
    "make_bars_mixture": ["n_side", "n_samples", "baseline", "doc_length"],
    "make_cells": ["n_samples", "n_features", "n_components", "regions_per_cell", "doc_topic_prior"],
    "make_patch_mixture": ["n_samples", "n_features", "n_components", "rank"],
    "make_skip_gram": ["n_samples", "n_features", "n_components", "doc_length", "segment_length", "topic_word_prior"],
    "make_sparse_lda": ["n_samples", "n_features", "n_components", "doc_length", "doc_topic_prior",
                        "topic_word_prior"],
}  # fmt: skip


def try_generator(rng):
    """Data that are made: finite, or a clear error."""
    name = sorted(GENERATORS)[rng.integers(len(GENERATORS))]
    whole = {"n_samples": 20, "n_features": 12, "n_components": 3, "n_side": 3, "doc_length": 10, "rank": 2,
             "regions_per_cell": 5, "segment_length": 4}  # fmt: skip
    params = {key: whole[key] for key in GENERATORS[name] if key in whole}
    for key in rng.choice(GENERATORS[name], size=2):
        values = [0, 1, 2, 7, -1, 2.5] if key in whole else [0.0, 1e-8, 0.3, 1.0, 50.0, -1.0, np.nan, np.inf]
        params[str(key)] = values[rng.integers(len(values))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = getattr(datasets, name)(**params, random_state=int(rng.integers(100)))
        except (*CLEAR, MemoryError) as error:
            return f"{name} {type(error if isinstance(error, MemoryError) else said_clearly(error)).__name__}"
    assert finite(made), f"{name} is not finite"
    return f"{name} good"
