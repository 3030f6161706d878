"""The mass of the documents' prior is learned from documents that the topics have not seen."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import psi
from test_scvb0_lda_oracles import ExactLDA

from sparsemix import SparseSCVB0LDA, blocks
from sparsemix._models.topics import gibbs_sampler
from sparsemix.datasets import make_sparse_lda
from sparsemix.topics._collapsed import unseen_documents
from sparsemix.topics._collapsed.unseen_documents import UnseenDocuments

K = 20
pytestmark = pytest.mark.usefixtures("no_dense_batches")


def corpus(alpha, n_documents, length, n_words=1000, seed=0):
    """Documents of a known prior, and their topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.05), size=len(alpha))
    shares = rng.dirichlet(alpha, size=n_documents) @ topics
    return sparse.csr_array(rng.multinomial(1 + rng.poisson(length, n_documents), shares)), topics


def learned(X, n_components=K, **params):
    params = {"doc_topic_prior": "learned", "random_state": 0, **params}
    return SparseSCVB0LDA(n_components, **params).fit(X)


@pytest.mark.slow
@pytest.mark.parametrize("mass", [1.0, 4.0])
def test_mass_is_that_of_the_prior(mass):
    X, _ = corpus(np.full(K, mass / K), 2000, 60)
    assert learned(X).doc_topic_prior_.sum() == pytest.approx(mass, rel=0.2)


@pytest.mark.slow
def test_documents_that_topics_were_learned_from_need_less_prior(monkeypatch):
    X, _ = corpus(np.full(K, 0.2), 400, 60)
    mass = np.median([learned(X, random_state=seed).doc_topic_prior_.sum() for seed in range(3)])
    assert mass == pytest.approx(4.0, rel=0.35)
    monkeypatch.setattr(unseen_documents, "SHARE", 0.0)
    assert learned(X).doc_topic_prior_.sum() < 0.7 * mass


@pytest.mark.slow
def test_order_of_unequal_priors_is_found():
    """Rare topics are hard to find, so that the topics are given."""
    alpha = 0.03 * 1.2 ** np.arange(K)
    X, topics = corpus(alpha, 2000, 60)
    found = learned(X, init_params=topics + 1e-5, step_size=(30.0, 0.6)).doc_topic_prior_
    assert found.sum() == pytest.approx(alpha.sum(), rel=0.2)
    assert stats.spearmanr(found, alpha)[0] > 0.9


def small(n=200):
    return sparse.csr_array(make_sparse_lda(n, n_features=30, n_components=4, doc_length=30, random_state=0)[0])


def test_unseen_documents_are_learned_from_in_averaged_epochs_only():
    X = small()
    est = ExactLDA(4, doc_topic_prior="learned", batch_size=10, max_iter=8, n_averaged_iter=3, random_state=0).fit(X)
    rows = [set(np.concatenate(epoch)) for epoch in epochs(est.visits_, len(X.indptr) - 1)]
    unseen = set(range(200)) - rows[0]
    assert len(unseen) == 20
    for learned_from in rows[:5]:
        assert learned_from == set(range(200)) - unseen
    for learned_from in rows[5:]:
        assert learned_from == set(range(200))
    assert est.doc_topic_prior_.sum() == pytest.approx(est._fitted.model.prior_mass, rel=1e-12)


def epochs(visits, n):
    """Batches of each of eight epochs: five of 18 batches, three of 20."""
    ends = np.cumsum([0] + [18] * 5 + [20] * 3)
    assert len(visits) == ends[-1]
    assert n == 200
    return [visits[a:b] for a, b in pairwise(ends)]


def test_mass_is_a_step_of_the_fixed_point(monkeypatch):
    """The step uses the samples of held-out documents and of one pseudo-document with the first prior."""
    noted = []
    counted = unseen_documents.draws

    def noted_draws(model, rows, batches, workers):
        assert model.unseen
        before = model.doc_topic_prior.copy()
        sums = counted(model, rows, batches, workers)
        states = np.concatenate([rows.memory._find(batch)[3] for batch in batches])
        noted.append((before, sums, np.concatenate(batches), states, model))
        return sums

    monkeypatch.setattr(unseen_documents, "draws", noted_draws)
    X = small()
    est = learned(X, 4, batch_size=10, max_iter=8)
    alpha, sums, chosen, states, model = noted[-1]
    lengths = X[chosen].sum(axis=1).astype(int)
    counts = np.zeros((len(chosen), 4))
    np.add.at(counts, (np.repeat(np.arange(len(chosen)), lengths), states), 1.0)
    draws = (alpha * (psi(alpha + counts) - psi(alpha))).sum(axis=0)
    per_prior = np.sum(psi(alpha.sum() + lengths) - psi(alpha.sum()))
    np.testing.assert_allclose(sums["draws"], draws, rtol=1e-5)
    one = per_prior / len(chosen)
    assert model.prior_mass == pytest.approx((draws.sum() + one * 0.4) / (per_prior + one), rel=1e-5)
    assert est.doc_topic_prior_.sum() == pytest.approx(model.prior_mass, rel=1e-12)


@pytest.mark.parametrize("sampler", ["gibbs", "dense", "mhw"])
def test_visits_of_unseen_documents_keep_all_counts(sampler, monkeypatch):
    """Their tokens are not in the counts; and a visit changes nothing but the prior."""
    seen = []
    before = UnseenDocuments.before

    def noted(self, epoch, fit, stats):
        table, n_visited = stats["word_topic"].copy(), fit.model.n_visited
        out = before(self, epoch, fit, stats)
        seen.append(np.array_equal(out["word_topic"], table) and fit.model.n_visited == n_visited)
        assert not fit.model.unseen
        return out

    def tokens_in_table(counts, x):
        assert not counts.unseen
        return np.full(len(x), 1.0 / counts.factor)

    monkeypatch.setattr(UnseenDocuments, "before", noted)
    monkeypatch.setattr(gibbs_sampler, "tokens_in_table", tokens_in_table)
    est = learned(small(), 4, batch_size=10, max_iter=8, sampler=sampler)
    assert seen == [True] * 8
    assert est._fitted.model.prior_mass > 0


def test_few_batches_learn_from_all_documents():
    est = learned(small(), 4, batch_size=200, max_iter=3)
    assert est._fitted.model.prior_mass is None
    assert not np.allclose(est.doc_topic_prior_, 0.1)


@pytest.mark.parametrize("form", [lambda X: X, lambda X: X.toarray()], ids=["CSR", "dense"])
@pytest.mark.filterwarnings("ignore:X has the sum")
def test_counts_that_are_not_whole_leave_the_mass(form):
    """Parts of tokens look like draws from the prior each, and the mass would become huge."""
    X = small()
    tf_idf = form(X / np.sqrt((X**2).sum(axis=1))[:, None])
    given = learned(tf_idf, 4, max_iter=8, batch_size=10, doc_topic_prior=None)
    np.testing.assert_array_equal(given.doc_topic_prior_, 0.1)
    shares = learned(tf_idf, 4, max_iter=8, batch_size=10).doc_topic_prior_
    assert shares.sum() == pytest.approx(0.4, rel=1e-12)
    assert np.ptp(shares) > 1e-3
    counted = learned(form(X.astype(np.float32)), 4, max_iter=8, batch_size=10, doc_topic_prior=None)
    assert abs(counted.doc_topic_prior_.sum() - 0.4) > 1e-3


def test_first_block_of_a_stream_leaves_documents_out_until_it_is_counted():
    X = small(1000)
    est = SparseSCVB0LDA(4, doc_topic_prior="learned", random_state=0).partial_fit(X)
    assert abs(est._fitted.model.prior_mass - 0.4) > 1e-3
    assert est.components_.sum() - 4 * 30 * 0.01 == pytest.approx(X.sum(), rel=1e-5)


def test_rare_topics_keep_a_prior_when_a_fit_begins_again():
    """The first steps are large: shares of few batches would leave topics without a prior, then without words."""
    X, _ = corpus(np.full(40, 0.1), 1000, 60)
    est = SparseSCVB0LDA(40, warm_start=True, max_iter=5, random_state=0)
    assert all(est.fit(X).doc_topic_prior_.min() > 0.04 for _ in range(3))


def test_a_stream_after_a_fit_learns_shares_and_keeps_their_sum():
    X = small(600)
    est = learned(X[:400], 4, batch_size=10)
    before = est.doc_topic_prior_.copy()
    after = est.partial_fit(X[400:]).doc_topic_prior_
    assert after.sum() == pytest.approx(before.sum(), rel=1e-9)
    assert np.abs(after - before).max() > 1e-4


def test_fits_over_blocks_learn_from_all_documents():
    X = small(400)
    est = blocks.fit(SparseSCVB0LDA(4, doc_topic_prior="learned", max_iter=4, random_state=0), [X[:200], X[200:]])
    assert not np.allclose(est.doc_topic_prior_, 0.1, rtol=0.05)
    assert est._fitted.model.prior_mass is None
