"""Default calls on tables and corpora as people have them are not far behind scikit-learn's sibling classes."""

import warnings
from functools import cache

import numpy as np
import pytest
import realistic_tables
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler, normalize

from sparsemix import (
    CollapsedLDA,
    GibbsNGGPMixture,
    SparseBernoulliMixture,
    SparseGaussianMixture,
    SparseLDA,
    SparseMultinomialMixture,
    SparseSCVB0LDA,
    SparseVonMisesFisherMixture,
    StreamingNGGPMixture,
)
from sparsemix.metrics import document_completion

TABLES, CORPORA = realistic_tables.tables(), realistic_tables.corpora()
K, N_TOPICS = realistic_tables.GROUPS, 5
# Covariances whose model does not depend on the units of columns; their sibling gets standardised rows.
INVARIANT = {"full": "full", "tied": "tied", "diag": "diag", "tied_diag": "diag", "low_rank": "diag"}
# How far behind a fit may be: nats a column of a held-out row, nats a token, agreement with the groups.
NATS, TOKEN_NATS, AGREEMENT = 0.1, 0.05, 0.15


def quietly(function, *args):
    """What a call returns, and whether it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return function(*args), bool(caught)


def agreement(est, table, X, X_test):
    """The lesser of the agreements of rows that were learned from, and of others."""
    return min(
        adjusted_rand_score(table.groups, est.predict(X)), adjusted_rand_score(table.test_groups, est.predict(X_test))
    )


@pytest.mark.parametrize("covariance_type", [*INVARIANT, "spherical", "tied_spherical"])
@pytest.mark.parametrize("table", TABLES.values(), ids=str)
def test_gaussians(table, covariance_type):
    """Densities of columns with few values are arbitrary; there only the groups must agree."""
    est = SparseGaussianMixture(K, covariance_type=covariance_type, random_state=0)
    est, warned = quietly(est.fit, table.train)
    X, X_test, log_units = np.asarray(table.train, float), np.asarray(table.test, float), 0.0
    if covariance_type in INVARIANT:
        scaler = StandardScaler().fit(X)
        X, X_test, log_units = scaler.transform(X), scaler.transform(X_test), np.log(scaler.scale_).sum()
    sibling = GaussianMixture(K, covariance_type=INVARIANT.get(covariance_type, "spherical"), n_init=3, random_state=0)
    sibling, _ = quietly(sibling.fit, X)
    behind = sibling.score(X_test) - log_units - est.score(table.test)
    found = agreement(est, table, table.train, table.test)
    assert warned or behind < NATS * X.shape[1] or found >= agreement(sibling, table, X, X_test) - AGREEMENT


def documents(length, n_words=400, n_groups=6):
    """Dense counts of documents that differ little from the frequencies of a language, and their groups."""
    rng = np.random.default_rng(0)
    groups, frequent = rng.integers(n_groups, size=600), 1.0 / np.arange(1, n_words + 1)
    words = rng.dirichlet(100.0 * frequent / frequent.sum() + 1e-3, size=n_groups)
    lengths = 1 + rng.poisson(length * rng.gamma(2.0, 0.5, 600))
    return np.array([rng.multinomial(n, words[group]) for n, group in zip(lengths, groups, strict=True)]), groups


@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize(("flags", "remedy"), [(False, SparseMultinomialMixture), (True, SparseBernoulliMixture)])
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_gaussians_name_the_class_for_counts(dtype, flags, remedy, inference):
    X, groups = documents(7 if flags else 10)
    X = np.minimum(X, 1) if flags else X
    est = SparseGaussianMixture(6, inference=inference, random_state=0)
    assert f"use {remedy.__name__}" in badly_described(est, X.astype(dtype))
    found, better = (adjusted_rand_score(groups, each.predict(X)) for each in (est, remedy(6, random_state=0).fit(X)))
    assert found < better / 2


@pytest.mark.parametrize("n_components", [2, K, 10])
@pytest.mark.parametrize("table", TABLES.values(), ids=str)
def test_gaussians_of_measurements_name_no_class_for_counts(table, n_components):
    if n_components > len(table.train):
        pytest.skip("fewer rows")
    est = SparseGaussianMixture(n_components, random_state=0, max_iter=10)
    assert not badly_described(est, table.train)


def badly_described(est, X):
    """What a fit warns about counts in one component."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        est.fit(X)
    return "".join(str(each.message) for each in caught if "Gaussian components describe badly" in str(each.message))


@pytest.mark.parametrize("table", TABLES.values(), ids=str)
def test_directions(table):
    est = SparseVonMisesFisherMixture(K, random_state=0)
    est, warned = quietly(est.fit, table.train)
    X, X_test = normalize(np.asarray(table.train, float)), normalize(np.asarray(table.test, float))
    sibling, _ = quietly(KMeans(K, n_init=3, random_state=0).fit, X)
    found = agreement(est, table, table.train, table.test)
    assert warned or found >= agreement(sibling, table, X, X_test) - AGREEMENT


@pytest.mark.parametrize("cls", [StreamingNGGPMixture, GibbsNGGPMixture])
@pytest.mark.parametrize("table", TABLES.values(), ids=str)
def test_clusters(cls, table):
    """Dense whole numbers are measurements, and every row has a finite density."""
    params = {"max_iter": 20} if cls is GibbsNGGPMixture else {}
    est, _ = quietly(cls(random_state=0, **params).fit, table.train)
    assert est.means_.shape[1] == table.train.shape[1]
    assert np.isfinite(est.score(table.test))


@pytest.mark.parametrize(
    "est",
    [SparseSCVB0LDA(N_TOPICS), SparseLDA(N_TOPICS), CollapsedLDA(N_TOPICS), SparseMultinomialMixture(N_TOPICS)],
    ids=lambda est: type(est).__name__,
)
@pytest.mark.parametrize("corpus", CORPORA.values(), ids=str)
def test_topics(est, corpus):
    if isinstance(est, SparseMultinomialMixture):  # no sibling: better than one component
        est, warned = quietly(est.set_params(random_state=0).fit, corpus.train)
        worst = type(est)(1, random_state=0).fit(corpus.train).score(corpus.test)
        assert warned or est.score(corpus.test) > worst
        return
    fits = [quietly(clone(est).set_params(random_state=seed).fit, corpus.train) for seed in (0, 2, 3)]
    scores = [document_completion(fitted, corpus.test) for fitted, _ in fits]  # one start in eight is a fifth worse
    assert any(warned for _, warned in fits) or np.median(scores) > worst_of_siblings(corpus) - TOKEN_NATS


@cache
def worst_of_siblings(corpus):
    """The lowest score of three fits of scikit-learn's class."""
    siblings = [LatentDirichletAllocation(N_TOPICS, max_iter=30, random_state=seed) for seed in range(3)]
    return min(document_completion(sibling.fit(corpus.train), corpus.test) for sibling in siblings)
