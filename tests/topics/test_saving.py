"""What files hold of fitted topics: plain arrays, for which skops asks little trust, and nothing that does not fit."""

import numbers
import pickle

import numpy as np
import pytest
from estimator_cases import CASES, over
from fitted import assert_same_bits, few_epochs
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from topic_cases import V, X

from sparsemix import CollapsedLDA, SparseLDA, SparseSCVB0LDA
from sparsemix._stats.packed_counts import PackedCounts
from sparsemix.topics import WordPrior

pytestmark = few_epochs
TOPICS = [case for case in CASES if isinstance(case.estimator, (SparseLDA, SparseSCVB0LDA, CollapsedLDA))]
PLAIN = str, bytes, numbers.Number, np.bool_, type(None), np.ndarray


def leaves(value):
    """All that stands in dicts, lists and tuples."""
    if isinstance(value, (dict, list, tuple)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    else:
        yield value


@over(TOPICS)
def test_state_is_plain(case):
    params = {"warm_start": True, **({"random_state": 0} if case.has("random_state") else {})}
    state = case.fitted(**params).__getstate__()
    assert {type(leaf).__name__ for leaf in leaves(state) if not isinstance(leaf, (*PLAIN, WordPrior))} == set()
    arrays = [leaf for leaf in leaves(state) if isinstance(leaf, np.ndarray)]
    tables = [id(array) for array in arrays if array.ndim > 1]
    assert len(set(tables)) == len(tables)  # what two parts share is there once
    assert not any(array.dtype.hasobject for array in arrays)


@over(TOPICS)
def test_skops_needs_to_trust_only_the_class(case):
    io = pytest.importorskip("skops.io")
    est = case.fitted()
    if case.can("partial_fit"):
        est.partial_fit(X[:20])
    cls = type(est)
    saved = io.dumps(est)
    trusted = [f"{each.__module__}.{each.__name__}" for each in (cls, type(est.topic_word_prior))]
    trusted = sorted(name for name in trusted if name.startswith("sparsemix"))
    assert io.get_untrusted_types(data=saved) == trusted
    twin = io.loads(saved, trusted=trusted)
    assert_same_bits(est, twin, X)
    if case.can("partial_fit"):
        assert_same_bits(est.partial_fit(X[20:]), twin.partial_fit(X[20:]), X)


def test_packed_counts_are_plain_too():
    est = SparseSCVB0LDA(2500, max_iter=1, random_state=0).fit(X)
    assert isinstance(est._fitted.stats.unfolded("word_topic")[0], PackedCounts)
    assert all(isinstance(leaf, PLAIN) for leaf in leaves(est.__getstate__()))
    assert_same_bits(est, pickle.loads(pickle.dumps(est)), X)


def test_skops_of_a_pipeline():
    io = pytest.importorskip("skops.io")
    texts = ["apples and pears", "pears and plums", "boats and ships", "ships and sails"] * 5
    pipeline = make_pipeline(CountVectorizer(), SparseSCVB0LDA(2, max_iter=2, random_state=0)).fit(texts)
    saved = io.dumps(pipeline)
    (trusted,) = io.get_untrusted_types(data=saved)
    np.testing.assert_array_equal(io.loads(saved, trusted=[trusted]).transform(texts), pipeline.transform(texts))


def damaged(name):
    """Damaged states, in which one part contradicts the rest, and the error of each."""
    est = SparseLDA(3, n_nonzero=2, max_iter=1, random_state=0, learning_method="online").fit(X)
    state = pickle.loads(pickle.dumps(est.__getstate__()))
    model = state["_fitted"]["__sparsemix__"]["state"]["dict"][1]["model"]
    stats = model["state"]["dict"][1]["stats"]["state"]["dict"][1]
    by_word, by_component = (stats[name]["dict"][1] for name in ("_by_word", "_by_component"))
    if name == "vocabulary":
        state["n_features_in_"] = V + 1
    elif name == "names":
        state["feature_names_in_"] = np.array(["a"] * (V - 1), dtype=object)
    elif name == "table":
        by_word["word_topic"]["array"] = by_word["word_topic"]["array"][:-1]
    elif name == "totals":
        by_component["count"] = {"array": np.ones(4)}
    elif name == "topics":
        model["state"]["dict"][1]["n_components"] = 4
    elif name == "columns":
        arrays = np.ones(2), np.array([0, 7]), np.r_[np.zeros(V, int), 2]
        by_word["word_topic"] = {"csr": [*({"array": array} for array in arrays), {"tuple": [V, 3]}]}
    elif name == "class":
        model["object"] = "subprocess:Popen"
    return state


@pytest.mark.parametrize("name", ["vocabulary", "names", "table", "totals", "topics", "columns", "class"])
def test_damaged_state_is_refused(name):
    messages = {"class": "holds 'subprocess:Popen'", "columns": "column number 7", "names": "attributes are missing"}
    message = messages.get(name, "the file is damaged: save the")
    with pytest.raises(ValueError, match=message):
        SparseLDA().__setstate__(damaged(name))
    SparseLDA().__setstate__(damaged("nothing"))
