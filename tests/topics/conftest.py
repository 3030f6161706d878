"""Fixtures of tests of topic estimators."""

import pytest

from sparsemix.topics._collapsed import assemble_stochastic


@pytest.fixture
def no_dense_batches(monkeypatch):
    """Documents are visited by the chosen sampler from the first batch on, whatever the initialisation."""
    monkeypatch.setattr(assemble_stochastic, "START_BATCHES", (0, 0))


@pytest.fixture
def plain_samples(monkeypatch):
    """The topics' counts get the samples of the documents."""
    monkeypatch.setattr(assemble_stochastic, "EVEN_SAMPLES", 0)
