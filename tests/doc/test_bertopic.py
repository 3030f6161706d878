"""The page on BERTopic: its code runs, and what it says of BERTopic is so; .ci/tools installs it."""

import sys

import numpy as np
import pytest
from example_pages import run_page

from sparsemix import SparseGaussianMixture, SparseVonMisesFisherMixture

bertopic = pytest.importorskip("bertopic")
pytestmark = pytest.mark.filterwarnings("default")  # what it imports warns


@pytest.fixture(scope="module")
def page():
    return run_page("user_guide/bertopic.rst", {"__name__": __name__})


@pytest.fixture
def fitted(page):
    """Fits BERTopic with a cluster model to some texts of the page: 8, 16 and 16 of its themes."""
    texts = page["texts"][8:]
    rows = page["encoder"].transform(texts).astype(np.float32)

    def fitted(clusters, **options):
        model = bertopic.BERTopic(
            embedding_model=page["BaseEmbedder"](), umap_model=page["BaseDimensionalityReduction"](),
            hdbscan_model=clusters, **options,
        )  # fmt: skip
        model.fit(texts, rows)
        again, _ = model.transform(texts, rows)
        assert list(again) == list(model.topics_)
        return model

    fitted.texts, fitted.rows = texts, rows
    return fitted


def numbers(model, labels):
    mappings = model.topic_mapper_.get_mappings()
    return [mappings[label] for label in labels]


def test_each_theme_of_the_page_has_its_topic(page):
    assert list(page["topics"]) == list(np.repeat([page["topics"][i] for i in (0, 16, 32)], 16))
    assert set(page["topics"]) == {0, 1, 2}
    assert list(page["new"]) == [page["topics"][16], page["topics"][32]]


def test_topics_of_shares_are_ours(page):
    assert list(page["topics_of_shares"]) == numbers(page["shown"], page["own"])


@pytest.mark.parametrize("mixture", [SparseVonMisesFisherMixture, SparseGaussianMixture])
def test_topics_are_clusters_numbered_by_size(fitted, mixture):
    own = {} if mixture is SparseVonMisesFisherMixture else {"fit": labelled(mixture)}
    clusters = type("Named", (mixture,), own)(3, random_state=0)
    model = fitted(clusters, calculate_probabilities=True)
    assert model.probabilities_ is None
    assert model.topics_ == numbers(model, clusters.labels_)
    assert list(model.get_topic_info()["Count"]) == [16, 16, 8]
    model.reduce_topics(fitted.texts, nr_topics=2)
    assert model.topics_ == numbers(model, clusters.labels_)


def labelled(mixture):
    """A fit that keeps labels, for a mixture without them."""

    def fit(self, X, y=None):  # noqa: ARG001
        mixture.fit(self, X)
        self.labels_ = self.predict(X)
        return self

    return fit


def test_outliers_have_the_topic_below_zero(page, fitted):
    clusters = page["WithOutliers"](3, random_state=0)
    model = fitted(clusters)
    lowest = clusters.score_samples(fitted.rows) < clusters.least_
    np.testing.assert_array_equal(np.array(model.topics_) == -1, lowest)
    assert 0 < lowest.sum() < 6


def test_labels_are_missed_by_a_message_that_does_not_name_them(fitted):
    with pytest.raises(TypeError, match="not 'NoneType'"):
        fitted(SparseGaussianMixture(3, random_state=0))


def test_transform_needs_hdbscan(page, monkeypatch):
    monkeypatch.setitem(sys.modules, "hdbscan", None)
    with pytest.raises(TypeError, match="arg 2 must be a type"):
        page["model"].transform(page["texts"])


@pytest.mark.parametrize("serialization", ["safetensors", "pickle"])
def test_safetensors_leave_the_clusters_out(page, tmp_path, serialization):
    path = str(tmp_path / "model")
    page["model"].save(path, serialization=serialization, save_embedding_model=False)
    loaded = bertopic.BERTopic.load(path, embedding_model=page["encoder"])
    assert isinstance(loaded.hdbscan_model, SparseVonMisesFisherMixture) == (serialization == "pickle")
    topics, similar = loaded.transform(page["texts"])
    assert list(topics) == list(page["topics"])
    assert (similar is None) == (serialization == "pickle")
