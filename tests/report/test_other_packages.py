"""Our topics in the pages of another package, where it is installed; tests/doc/test_bertopic.py has BERTopic."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

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
