"""Our topics in the pages of others, as doc/topics says; each where the package is installed."""

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from sparsemix import SparseGaussianMixture, SparseSCVB0LDA, SparseVonMisesFisherMixture

pytestmark = pytest.mark.filterwarnings("default")  # what they import warns
THEMES = ["apple pear plum cherry", "river lake ocean brook", "guitar violin flute drum"]


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(THEMES[i % 3].split(), 12)) for i in range(60)]


def topics():
    return SparseSCVB0LDA(3, max_iter=5, random_state=0)


def test_topicwizard_takes_our_topics(texts):
    pipeline = pytest.importorskip("topicwizard.pipeline")
    figures = pytest.importorskip("topicwizard.figures")
    fitted = pipeline.make_topic_pipeline(CountVectorizer(), topics()).fit(texts)
    data = fitted.prepare_topic_data(texts)
    assert data["topic_term_matrix"].shape == (3, 12)
    np.testing.assert_allclose(data["document_topic_matrix"].sum(axis=1), 1.0, rtol=1e-6)
    assert figures.topic_barcharts(data).data


def test_bertopic_takes_our_topics_as_clusters(texts):
    pytest.importorskip("bertopic")
    from bertopic import BERTopic
    from bertopic.backend import BaseEmbedder
    from bertopic.cluster import BaseCluster
    from bertopic.dimensionality import BaseDimensionalityReduction

    shares = make_pipeline(CountVectorizer(), topics()).fit_transform(texts)
    own = shares.argmax(axis=1)
    model = BERTopic(
        embedding_model=BaseEmbedder(), umap_model=BaseDimensionalityReduction(), hdbscan_model=BaseCluster()
    )
    found, _ = model.fit_transform(texts, embeddings=shares, y=own)
    numbers = model.topic_mapper_.get_mappings()
    assert [numbers[topic] for topic in own] == list(found)
    assert sorted(model.get_topic_info()["Count"]) == sorted(np.bincount(own))


@pytest.mark.parametrize("mixture", [SparseVonMisesFisherMixture, SparseGaussianMixture])
def test_bertopic_clusters_embeddings_with_our_mixtures(texts, mixture):
    pytest.importorskip("bertopic")
    from bertopic import BERTopic
    from bertopic.backend import BaseEmbedder
    from bertopic.dimensionality import BaseDimensionalityReduction

    class Clusters(mixture):
        def fit(self, X, y=None):  # noqa: ARG002
            super().fit(X)
            self.labels_ = self.predict(X)
            return self

    embeddings = make_pipeline(TfidfVectorizer(), TruncatedSVD(5, random_state=0)).fit_transform(texts)
    model = BERTopic(
        embedding_model=BaseEmbedder(), umap_model=BaseDimensionalityReduction(),
        hdbscan_model=Clusters(3, random_state=0),
    )  # fmt: skip
    found, _ = model.fit_transform(texts, embeddings=embeddings)
    assert len({(i % 3, topic) for i, topic in enumerate(found)}) == 3  # each theme has its own topic
    assert list(model.get_topic_info()["Count"]) == [20, 20, 20]
    again, _ = model.transform(texts[:6], embeddings=embeddings[:6])
    assert list(again) == list(found[:6])
