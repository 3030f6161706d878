"""Fits of every sampler of a collapsed posterior against the posterior itself, found by going through all its states.

The chains are those of ``fit``: its start, its tables of proposals, its recounts. What is approximated is not here:
the stochastic estimators sample documents under frozen topics (tests/topics/test_mhw_oracles.py).
"""

from itertools import product

import numpy as np
import pytest
import reference_collapsed
import reference_nggp
import reference_skipgram
from scipy import sparse

from sparsemix import CollapsedLDA, GibbsNGGPMixture, SkipGramTopicModel
from sparsemix._models.clusters.model import GibbsModel
from sparsemix._models.skipgram.sweep_models import GibbsSkipGramModel, WalkingSkipGramModel
from sparsemix._models.topics import sweep_models

BURN_IN = 100
N_BATCHES = 25
# Priors of topics over documents and of words over topics.
ALPHA, BETA = np.array([0.6, 1.2]), 0.5


def states_of(monkeypatch, kind, est, rows):
    """The rows in the order of the chain, and their state after each sweep of a fit, (n_sweeps, n) int."""
    states, blocks, sweep = [], [], kind.sweep

    def noted(self, x, weight, part, *args):
        sweep(self, x, weight, part, *args)
        states.append(part.copy())
        blocks.append(x)

    with monkeypatch.context() as patch:
        patch.setattr(kind, "sweep", noted)
        est.fit(rows)
    assert len(states) == est.max_iter  # one block
    return blocks[0], np.array(states[BURN_IN:])


def deviation(states, expected):
    """How far the states are from a law: the largest over all states, in standard errors of means of batches.

    ``expected`` has a probability for each state. Labels come and go rarely, so that sweeps are no independent draws.
    """
    number = {state: i for i, state in enumerate(expected)}
    visits = np.array([number[tuple(state)] for state in states.tolist()])
    p = np.array(list(expected.values()))
    batches = np.array([np.bincount(part, minlength=len(p)) / len(part) for part in np.array_split(visits, N_BATCHES)])
    least = np.sqrt(p * (1 - p) / len(visits))  # of independent draws
    error = np.maximum(batches.std(axis=0, ddof=1) / np.sqrt(N_BATCHES), least)
    common = p * len(visits) > N_BATCHES
    return (np.abs(batches.mean(axis=0) - p) / error)[common].max()


# -- the mixed membership skip-gram topic model

TEXTS = [[0, 1, 0], [2, 0]]
WINDOW, V = 1, 3


def skip_gram(monkeypatch, inference, n_samples=1, temperature=1.0, max_iter=5000):
    """States of the five positions, and their law, tempered."""
    kind = WalkingSkipGramModel if inference == "mhw" else GibbsSkipGramModel
    est = SkipGramTopicModel(
        2, window=WINDOW, inference=inference, n_samples=n_samples, input_topic_prior=ALPHA, topic_word_prior=BETA,
        n_words=V, annealing=(0.0, temperature, 1.0), max_iter=max_iter, random_state=0,
    )  # fmt: skip
    positions = reference_skipgram.contexts([list(enumerate(text)) for text in TEXTS], WINDOW)
    states, p = reference_skipgram.posterior(positions, V, 2, ALPHA, BETA)
    p = p ** (1 / temperature)
    return states_of(monkeypatch, kind, est, TEXTS)[1], dict(zip(states, p / p.sum(), strict=True))


# -- LDA

COUNTS = np.array([[1.0, 2, 0], [1, 1, 1]])


def lda(monkeypatch, max_iter=5000):
    """States of the six tokens, and their law."""
    est = CollapsedLDA(
        2, inference="gibbs", doc_topic_prior=ALPHA, topic_word_prior=BETA, tol=0.0, max_iter=max_iter, random_state=0
    )
    documents = [np.repeat(np.arange(3), row.astype(int)).tolist() for row in COUNTS]
    p, _ = reference_collapsed.posterior(documents, ALPHA, BETA, 3)
    states = product(range(2), repeat=6)
    return states_of(monkeypatch, sweep_models.GibbsModel, est, COUNTS)[1], dict(zip(states, p, strict=True))


# -- mixtures whose clusters grow

ROWS = sparse.csr_array(np.array([[3.0, 0, 1], [2, 1, 0], [0, 3, 1], [1, 2, 2]]))


def clusters(monkeypatch, discount, split_merge, max_iter=1200):
    """Partitions of four rows, and their law."""
    prior = {"concentration": 0.8, "discount": discount, "tilt": 0.7}
    est = GibbsNGGPMixture(
        "multinomial", word_prior=0.5, split_merge=split_merge, max_iter=max_iter, random_state=0, **prior
    )
    x, labels = states_of(monkeypatch, GibbsModel, est, ROWS)
    x = sparse.csr_array((x.counts, x.indices, x.indptr), shape=ROWS.shape).toarray()
    names = [{} for _ in labels]
    states = [[seen.setdefault(k, len(seen)) for k in row] for seen, row in zip(names, labels.tolist(), strict=True)]
    return np.array(states), reference_nggp.posterior(x, 0.5, reference_nggp.Rule(**prior))


CHAINS = {
    "skip-gram, gibbs": (skip_gram, ("gibbs",)),
    "skip-gram, mhw, 1 sample": (skip_gram, ("mhw", 1)),
    "skip-gram, mhw, 4 samples": (skip_gram, ("mhw", 4)),
    "skip-gram, mhw, tempered": (skip_gram, ("mhw", 1, 2.0)),
    "LDA, gibbs": (lda, ()),
    "clusters": (clusters, (0.0, False)),
    "clusters, discount, moves": (clusters, (0.4, True)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAINS)
def test_fits_visit_states_as_often_as_they_are_probable(name, monkeypatch):
    run, args = CHAINS[name]
    assert deviation(*run(monkeypatch, *args)) < 4.5
