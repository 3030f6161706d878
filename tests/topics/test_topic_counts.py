"""What visits read of a model: values of one step, and nothing of later ones."""

from copy import copy

import numpy as np
import pytest
from scipy import sparse

from sparsemix import SkipGramTopicModel, SparseDMR, SparseSCVB0LDA
from sparsemix._models.topics.topic_counts import TopicCounts
from sparsemix._stats.altered import altered

X = sparse.csr_array(np.random.default_rng(0).poisson(0.7, (40, 12)) + np.eye(40, 12, dtype=int))
GROUPS = (np.arange(40) % 3.0)[:, None]
WORDS = sparse.csr_array(1 + np.random.default_rng(1).integers(0, 12, (40, 9)))
FITS = {
    "gibbs": lambda: SparseSCVB0LDA(3, max_iter=2, random_state=0).fit(X),
    "dense": lambda: SparseSCVB0LDA(3, sampler="dense", max_iter=2, random_state=0).fit(X),
    "mhw": lambda: SparseSCVB0LDA(3, sampler="mhw", max_iter=2, random_state=0).fit(X),
    "regression": lambda: SparseDMR(3, max_iter=2, random_state=0).fit(X, covariates=GROUPS),
    "skipgram": lambda: SkipGramTopicModel(3, max_iter=2, random_state=0).fit(WORDS),
}


@pytest.fixture(params=FITS)
def model(request):
    return altered(FITS[request.param]()._fitted.model, learn_alpha=False)


def test_a_step_makes_them_once(model):
    assert isinstance(model.counts, TopicCounts)
    first = model.counts
    assert model.counts is first
    assert first.step == model.n_steps
    model.global_step(model.stats)
    assert model.counts is not first
    assert model.counts.step == first.step + 1


def test_copies_and_files_have_none(model):
    assert model.counts is model._counts
    assert copy(model)._counts is None
    assert "_counts" not in model.__getstate__()


def test_priors_that_change_between_steps_reach_visits(model):
    first = model.counts
    model.doc_topic_prior = 2.0 * model.doc_topic_prior
    model.begin_visits()
    np.testing.assert_array_equal(model.counts.prior.mean, 2.0 * first.prior.mean)
    model.draw_again()
    assert model.counts.step == first.step + 1
    np.testing.assert_array_equal(model.counts.inverse, first.inverse)


def test_they_do_not_outlive_a_factor(model):
    """A reader of the statistics may fold their factor into the table."""
    model.stats.scale(0.5)
    first = model.counts
    before = first.factor * first.table.copy()
    assert first.factor != 1.0
    model.stats["word_topic"]
    counts = model.counts
    assert counts.factor == 1.0
    change = before - counts.table
    assert abs(change).max() <= 1e-6 * abs(before).max()
