"""What files hold of fitted topics: plain arrays, for which skops asks little trust, and nothing that does not fit."""

import pickle

import numpy as np
import pytest
from fitted import PLAIN, assert_same_bits, few_epochs, leaves
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from topic_cases import V, X

from sparsemix import SparseLDA, SparseSCVB0LDA
from sparsemix._stats.packed_counts import PackedCounts

pytestmark = few_epochs

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
    state["_fitted"].pop("form")  # as in files of earlier versions, whose parts are compared with each other
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
