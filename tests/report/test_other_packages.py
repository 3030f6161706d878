"""Our topics in the pages of others, as doc/topics says; each where the package is installed."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from sparsemix import SparseSCVB0LDA

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
