"""CollapsedLDA against enumeration, exact collapsed inference, fixed points and its own definitions."""

import numpy as np
import pytest
import reference
import reference_collapsed as exact
from scipy import sparse
from scipy.special import gammaln, psi
from topic_cases import LEARNED

from sparsemix import CollapsedLDA, SparseLDA
from sparsemix._engine import sweeps
from sparsemix._engine.monitor import Monitor
from sparsemix._models.topics import exact_model
from sparsemix._models.topics.sweep_models import SweepModel, expected_digamma
from sparsemix.datasets import make_bars, make_sparse_lda
from sparsemix.metrics import align_topics, document_completion

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
METHODS = ["cvb0", "cvb", "gibbs"]
EVERY = [*METHODS, "cvb_exact"]  # of tests with few sweeps
K = 4


class ExactLDA(CollapsedLDA):
    """Responsibilities and tables in double precision; the row state stays for the tests to look at."""

    _table_dtype = np.float64


def corpus(seed=0, n_samples=40, n_features=30, doc_length=25, **options):
    options = {"doc_topic_prior": 0.3, "topic_word_prior": 0.2} | options
    X = make_sparse_lda(n_samples, n_features, K, doc_length=doc_length, random_state=seed, **options)[0]
    return sparse.csr_array(X, dtype=np.float64)


def fitted(method, X, n_components=K, sample_weight=None, **params):
    params = {"max_iter": 15, "tol": 0.0, "random_state": 0, "warm_start": True} | params
    return ExactLDA(n_components, inference=method, **params).fit(X, sample_weight=sample_weight)


def state_of(est):
    """Responsibilities or topics that the last sweep left."""
    return np.concatenate(est._row_state.parts)


def parts_of(X):
    return X.indptr, X.indices, X.data


# -- exact collapsed inference, on a corpus whose posterior can be enumerated

TINY = [[0, 1, 1], [2, 0, 1]]
ALPHA, BETA = np.full(2, 0.5), 0.3
BY_TOPIC = np.array([[0.3, 0.9], [2.3, 0.3], [0.4, 5.0], [0.3, 0.3]])  # words by topics
TINY_COUNTS = np.array([[1.0, 2.0, 0.0], [1.0, 1.0, 1.0]])
EVIDENCE = -8.0470650406309


def test_evidence_of_the_tiny_corpus():
    assert exact.posterior(TINY, ALPHA, BETA, 3)[1] == pytest.approx(EVIDENCE, abs=1e-12)


def brute_force_update(gamma, token):
    """exp E_q[log p(z, w)] over all assignments of the other tokens."""
    others = [i for i in range(6) if i != token]
    out = np.zeros(2)
    for k in range(2):
        for z in exact.assignments(5, 2):
            full = np.insert(np.array(z), token, k)
            weight = np.prod([gamma[i, full[i]] for i in others])
            out[k] += weight * exact.log_joint(TINY, full, ALPHA, BETA, 3)
    return np.exp(out - out.max()) / np.exp(out - out.max()).sum()


def test_exact_update_equals_enumeration():
    gamma = np.random.default_rng(0).dirichlet(np.ones(2), size=6)
    for token in range(6):
        got = exact.exact_cvb_update(TINY, gamma, token, ALPHA, BETA, 3)
        np.testing.assert_allclose(got, brute_force_update(gamma, token), atol=1e-12)


def mean_field_bound(documents, gamma, alpha, beta, n_words):
    """The bound of uncollapsed variational inference with the best Dirichlet factors for these responsibilities."""
    owner, words = exact.flat(documents)
    lengths = np.bincount(owner)
    n_jk = np.array([gamma[owner == d].sum(axis=0) for d in range(len(documents))])
    n_kw = np.array([gamma[words == v].sum(axis=0) for v in range(n_words)]).T
    out = -float((gamma * np.log(gamma)).sum())
    out += sum(reference.log_normalizer(alpha) - reference.log_normalizer(alpha + n) for n in n_jk)
    prior = np.full(n_words, beta)
    assert lengths.sum() == len(words)
    return out + sum(reference.log_normalizer(prior) - reference.log_normalizer(prior + n) for n in n_kw)


def test_exact_bound_rises_and_lies_between_mean_field_and_evidence():
    for seed in range(3):
        gamma = np.random.default_rng(seed).dirichlet(np.ones(2), size=6)
        bounds = [exact.exact_cvb_bound(TINY, gamma, ALPHA, BETA, 3)]
        for _ in range(8):
            for token in range(6):
                gamma[token] = exact.exact_cvb_update(TINY, gamma, token, ALPHA, BETA, 3)
                bounds.append(exact.exact_cvb_bound(TINY, gamma, ALPHA, BETA, 3))
                assert mean_field_bound(TINY, gamma, ALPHA, BETA, 3) <= bounds[-1] <= EVIDENCE
        assert (np.diff(bounds) > -1e-10).all()
        assert bounds[-1] > bounds[0] + 0.1


@pytest.mark.parametrize("n_tokens", [1, 3, 40, 2000])
@pytest.mark.parametrize("prior", [5e-4, 0.01, 0.5, 30.0])
def test_integrals_are_expectations_of_the_sum(prior, n_tokens):
    rng = np.random.default_rng(n_tokens)
    for gamma in (rng.random(n_tokens), rng.beta(0.05, 0.05, n_tokens), np.full(n_tokens, 1e-6), np.ones(n_tokens)):
        logs, a = exact_model.log_generating(gamma[:, None]).sum(axis=0), np.array([prior])
        for mean in (gamma.sum(), 1.001 * gamma.sum()):  # a table in single precision is only near
            given = a, np.array([mean]), logs
            found = exact_model.expected_log(*given)
            np.testing.assert_allclose(found, exact.exact_expectation(np.log, gamma, prior), atol=1e-9)
        given = a, np.array([gamma.sum()]), logs
        want = exact.exact_expectation(gammaln, gamma, prior) - gammaln(prior)
        np.testing.assert_allclose(exact_model.expected_log_gamma(*given), want, atol=1e-9 * n_tokens)
        want = exact.exact_expectation(psi, gamma, prior)
        np.testing.assert_allclose(exact_model.expected_psi(*given), want, rtol=1e-8)


@pytest.mark.parametrize(("weighted", "beta"), [(False, BETA), (True, BETA), (True, BY_TOPIC)])
def test_exact_cvb_equals_updates_by_enumerated_counts(weighted, beta):
    """A weight of 2 is a second document with the same responsibilities."""
    documents, alpha = [[0, 1, 2], [3, 1, 0], [2, 3]], np.array([0.2, 0.7])  # each token a type
    X = np.array([np.bincount(document, minlength=4) for document in documents], dtype=float)
    weight = [2.0, 1.0, 2.0] if weighted else None
    copies = [document for document, w in zip(documents, weight or [1, 1, 1], strict=True) for _ in range(int(w))]
    given = np.random.default_rng(0).dirichlet(np.ones(4), size=2)
    fits = [
        fitted("cvb_exact", X, 2, sample_weight=weight, doc_topic_prior=alpha, topic_word_prior=np.transpose(beta),
               init_params=given, max_iter=n)
        for n in (4, 5)
    ]  # fmt: skip
    gamma, after = (np.split(state_of(est), [3, 6]) for est in fits)
    gamma = [each[np.argsort(np.argsort(document))] for each, document in zip(gamma, documents, strict=True)]
    for d, document in enumerate(documents):
        for word in sorted(document):
            every = np.concatenate([g for g, w in zip(gamma, weight or [1, 1, 1], strict=True) for _ in range(int(w))])
            at = sum(len(each) * int(w) for each, w in zip(documents[:d], weight or [1] * d, strict=False))
            i = at + document.index(word)
            gamma[d][document.index(word)] = exact.exact_cvb_update(copies, every, i, alpha, beta, 4)
    for mine, want, document in zip(after, gamma, documents, strict=True):
        np.testing.assert_allclose(mine, want[np.argsort(document)], atol=1e-9)
    every = np.concatenate([g for g, w in zip(gamma, weight or [1, 1, 1], strict=True) for _ in range(int(w))])
    want = exact.exact_cvb_bound(copies, every, alpha, beta, 4)
    assert fits[1].lower_bound_ == pytest.approx(want, abs=1e-8)


@pytest.mark.parametrize("learned", [{}, {"doc_topic_prior": "learned"}])
def test_exact_bound_never_falls_and_bounds_the_evidence(learned):
    params = {"doc_topic_prior": 0.5, "topic_word_prior": BETA, "max_iter": 60} | learned
    bounds = fitted("cvb_exact", TINY_COUNTS, 2, **params).lower_bounds_
    assert (np.diff(bounds) > -1e-9).all()
    longer = CollapsedLDA(3, inference="cvb_exact", max_iter=60, tol=0.0, random_state=0, **learned).fit(corpus())
    assert (np.diff(longer.lower_bounds_) > -1e-6).all()
    assert learned or bounds[-1] <= EVIDENCE


def test_exact_cvb_is_for_priors_that_its_integrals_cover():
    with pytest.raises(ValueError, match=r"priors of at least 0\.0005, got doc_topic_prior 0\.0001"):
        fitted("cvb_exact", TINY_COUNTS, 2, doc_topic_prior=1e-4)


@pytest.mark.parametrize("method", EVERY)
def test_proportions_of_the_fit_are_those_of_its_responsibilities(method):
    X, alpha = corpus(), np.array([0.1, 0.2, 0.3, 0.4])
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], size=40)
    est = fitted(method, X, sample_weight=weight, doc_topic_prior=alpha)
    left, want = X[weight > 0], np.tile(alpha, (40, 1))
    tokens = np.repeat(np.arange(left.nnz), left.data.astype(int))
    state = np.eye(K)[state_of(est)] if method == "gibbs" else state_of(est)[tokens]
    owner = np.repeat(np.flatnonzero(weight > 0), np.diff(left.indptr))[tokens]
    np.add.at(want, owner, state)
    np.testing.assert_allclose(est.doc_topic_distribution_, want / want.sum(axis=1, keepdims=True), rtol=1e-6)
    with pytest.raises(AttributeError, match=r"warm_start=True .* or call transform"):
        _ = fitted(method, X, warm_start=False, max_iter=1).doc_topic_distribution_


def test_bound_of_cvb_is_nearly_the_exact_one():
    for seed in range(4):
        est = fitted("cvb", TINY_COUNTS, 2, doc_topic_prior=0.5, topic_word_prior=BETA, max_iter=30, random_state=seed)
        gamma = np.repeat(state_of(est), TINY_COUNTS[TINY_COUNTS > 0].astype(int), axis=0)
        owned = [[0, 1, 1], [0, 1, 2]]  # in the order of columns
        assert est.lower_bound_ == pytest.approx(exact.exact_cvb_bound(owned, gamma, ALPHA, BETA, 3), abs=0.1)
        assert est.lower_bound_ < EVIDENCE + 0.1


def test_fixed_point_of_cvb_is_nearly_the_exact_one():
    """An exact update moves its responsibilities less than those of CVB0."""
    X = corpus(n_samples=6, n_features=5, doc_length=14)
    documents = [list(np.repeat(np.arange(5), row.astype(int))) for row in X.toarray()]
    moves = {}
    for method in ("cvb0", "cvb"):
        est = fitted(method, X, 2, doc_topic_prior=1.0, topic_word_prior=1.0, max_iter=300)
        gamma = np.repeat(state_of(est), X.data.astype(int), axis=0)
        update = [exact.exact_cvb_update(documents, gamma, i, np.ones(2), 1.0, 5) for i in range(len(gamma))]
        moves[method] = np.abs(update - gamma).max()
    assert moves["cvb"] < 0.01 < moves["cvb0"] < 0.03


@pytest.mark.slow
def test_mean_counts_of_gibbs_are_those_of_the_posterior():
    """Priors tell the topics apart, so that means over all assignments say something."""
    alpha, words, want = np.array([1.5, 0.3]), np.array([0, 1, 1, 0, 1, 2]), np.zeros((2, 3))
    probabilities, _ = exact.posterior([[0, 1, 1], [0, 1, 2]], alpha, BETA, 3)
    for z, p in zip(exact.assignments(6, 2), probabilities, strict=True):
        np.add.at(want, (np.array(z), words), p)
    params = {"doc_topic_prior": alpha, "topic_word_prior": BETA, "max_iter": 6000, "burn_in": 100, "thin": 1}
    est = fitted("gibbs", TINY_COUNTS, 2, **params)
    np.testing.assert_allclose(est.components_ - BETA, want, atol=0.05)
    assert np.abs(want - want.mean(axis=0)).max() > 0.5


# -- what sweeps leave


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_topics_are_the_sums_of_the_state_of_rows(method, weighted, monkeypatch):
    monkeypatch.setattr("sparsemix._rows.documents.CHUNK_BYTES", 1 << 12)
    X = corpus(n_samples=1100, doc_length=6)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=1100) if weighted else None
    averages = {"burn_in": 12, "thin": 1} if method == "gibbs" else {}
    est = fitted(method, X, sample_weight=weight, max_iter=13, **averages)
    assert len(est._row_state.parts) > 1
    state, mine = state_of(est), np.ones(1100) if weight is None else weight
    want = np.zeros((30, K))
    if method == "gibbs":
        entries = np.repeat(np.arange(X.nnz), X.data.astype(int))
        rows = np.repeat(np.arange(1100), np.diff(X.indptr))
        np.add.at(want, (X.indices[entries], state), mine[rows][entries])
        assert est.n_samples_ == 1
    else:
        want = exact.fields(parts_of(X), state, 30, mine)[0]
    np.testing.assert_allclose(est.components_, want.T + 0.01, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(est.topic_weights_, want.sum(axis=0) / want.sum(), rtol=1e-8)


@pytest.mark.parametrize("by_topic", [False, True])
@pytest.mark.parametrize("method", ["cvb0", "cvb"])
def test_whole_fit_equals_plain_numpy(method, by_topic):
    X = corpus()
    beta = np.random.default_rng(2).gamma(0.5, size=(30, K)) + 0.01 if by_topic else np.full((30, K), 0.01)
    given = np.random.default_rng(1).gamma(1.0, size=(K, 30)) + 0.1
    params = {"doc_topic_prior": [0.1, 0.2, 0.3, 0.4], "topic_word_prior": beta.T}
    est = fitted(method, X, init_params=given, max_iter=5, **params)
    gamma, alpha = np.zeros((X.nnz, K)), np.array([0.1, 0.2, 0.3, 0.4])
    means = given.T * X.sum() / given.sum()
    variances = np.zeros((30, K)) if method == "cvb" else None
    changes = []
    for epoch in range(5):
        changes.append(exact.cvb_sweep(parts_of(X), alpha, beta, gamma, means, variances)[1])
        if epoch == 0:  # the given topics have served
            means[...] = exact.fields(parts_of(X), gamma, 30)[0]
            if method == "cvb":
                variances[...] = exact.fields(parts_of(X), gamma, 30)[1]
    np.testing.assert_allclose(est.components_.T - beta, means, rtol=1e-8, atol=1e-8)
    if method == "cvb0":
        assert [record["change"] for record in est.history_] == pytest.approx(changes, rel=1e-8)
        assert est.history_[-1]["change_per_token"] == pytest.approx(changes[-1] / X.sum(), rel=1e-8)
    else:
        want = exact.cvb_bound(parts_of(X), alpha, beta, gamma, 30)
        assert est.lower_bound_ == pytest.approx(want, rel=1e-8)
        assert est.lower_bounds_ == [record["lower_bound"] for record in est.history_]


def test_bound_of_weighted_documents_is_weighted():
    X, weight = corpus(), np.random.default_rng(3).choice([0.5, 1.0, 2.0], size=40)
    est = fitted("cvb", X, sample_weight=weight, topic_word_prior=0.1)
    want = exact.cvb_bound(parts_of(X), np.full(K, 0.1), 0.1, state_of(est), 30, weight)
    assert est.lower_bound_ == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("method", ["cvb0", "cvb"])
def test_converged_responsibilities_are_a_fixed_point(method):
    X = corpus()
    est = fitted(method, X, max_iter=3000, tol=1e-13 if method == "cvb0" else 0.0, topic_word_prior=0.1)
    gamma = state_of(est)
    means, variances = exact.fields(parts_of(X), gamma, 30)
    again = gamma.copy()
    exact.cvb_sweep(parts_of(X), np.full(K, 0.1), 0.1, again, means, variances if method == "cvb" else None)
    np.testing.assert_allclose(again, gamma, atol=1e-6)
    if method == "cvb0":
        assert est.converged_


def test_whole_chain_equals_plain_numpy():
    X = corpus(n_samples=20)
    given = np.random.default_rng(1).gamma(1.0, size=(K, 30)) + 0.1
    est = fitted("gibbs", X, init_params=given, max_iter=6, burn_in=2, thin=2, random_state=5)
    seed = np.random.RandomState(5).randint(2**31 - 1)
    topics, table = np.full(int(X.sum()), -1), given.T * X.sum() / given.sum()
    entries = np.repeat(X.indices, X.data.astype(int))
    samples, logs = [], []
    for epoch in range(6):
        exact.gibbs_sweep(parts_of(X), np.full(K, 0.1), 0.01, topics, table, seed, 0, epoch)
        table[...] = 0.0
        np.add.at(table, (entries, topics), 1.0)
        samples.append(table.copy())
        documents = np.split(entries, np.cumsum(np.asarray(X.sum(axis=1)).ravel().astype(int))[:-1])
        logs.append(exact.log_joint(documents, topics, np.full(K, 0.1), 0.01, 30))
    np.testing.assert_array_equal(state_of(est), topics)
    assert est.n_samples_ == 2
    np.testing.assert_allclose(est.components_.T - 0.01, (samples[3] + samples[5]) / 2, atol=1e-9)
    assert [record["log_joint"] for record in est.history_] == pytest.approx(logs, rel=1e-10)


@pytest.mark.parametrize(
    ("max_iter", "burn_in", "thin", "epochs"),
    [(10, None, 5, [10]), (10, 4, 2, [6, 8, 10]), (10, 0, 1, list(range(1, 11))), (7, 3, 5, []), (5, 9, 1, [])],
)
def test_samples_are_taken_after_the_burn_in(max_iter, burn_in, thin, epochs):
    X = corpus(n_samples=10)
    params = {"burn_in": burn_in, "thin": thin}
    est = fitted("gibbs", X, max_iter=max_iter, **params)
    assert est.n_samples_ == len(epochs)
    singles = [fitted("gibbs", X, max_iter=epoch, burn_in=0, thin=epoch).components_ for epoch in epochs or [max_iter]]
    np.testing.assert_allclose(est.components_, np.mean(singles, axis=0), rtol=1e-10)


# -- transform


@pytest.mark.parametrize("method", EVERY)
def test_transform_is_the_fixed_point_under_posterior_means(method):
    X = corpus()
    est = fitted(method, X, doc_topic_prior=[0.1, 0.2, 0.3, 0.4])
    phi = est.components_ / est.components_.sum(axis=1, keepdims=True)
    theta = est.transform(X)
    for d in range(5):
        row = X[[d]].toarray().ravel()
        n = np.full(K, row.sum() / K)
        for _ in range(3000):
            gamma = phi.T * (est.doc_topic_prior_ + n)
            gamma /= gamma.sum(axis=1, keepdims=True)
            n = row @ gamma
        want = est.doc_topic_prior_ + n
        np.testing.assert_allclose(theta[d], want / want.sum(), atol=5e-3)
    # and not that of variational inference
    table = np.exp(psi(est.components_) - psi(est.components_.sum(axis=1, keepdims=True))).T
    other = reference.infer_doc_topic(X, table, est.doc_topic_prior_)
    assert np.abs(other / other.sum(axis=1, keepdims=True) - theta).max() > 0.01


# -- closed forms and invariances


@pytest.mark.parametrize("method", EVERY)
def test_one_topic_holds_all_counts(method):
    X = corpus()
    est = fitted(method, X, 1, topic_word_prior=0.25)
    totals = np.asarray(X.sum(axis=0)).ravel()
    np.testing.assert_allclose(est.components_[0], 0.25 + totals, rtol=1e-12)
    np.testing.assert_array_equal(est.transform(X), 1.0)
    evidence = gammaln(30 * 0.25) - gammaln(30 * 0.25 + totals.sum()) + (gammaln(0.25 + totals) - gammaln(0.25)).sum()
    if method != "cvb0":  # nothing is hidden: bound and joint are the evidence
        name = "log_joint" if method == "gibbs" else "lower_bound"
        assert est.history_[-1][name] == pytest.approx(evidence, rel=1e-10)


@pytest.mark.parametrize("method", EVERY)
def test_numbering_of_topics_and_words_is_free(method):
    """Topics in another order, and words in another order: the same fit for expectations."""
    X = corpus()
    given = np.random.default_rng(1).gamma(1.0, size=(K, 30)) + 0.1
    prior, order = np.array([0.1, 0.2, 0.3, 0.4]), np.array([2, 0, 3, 1])
    one = fitted(method, X, init_params=given, doc_topic_prior=prior, max_iter=4)
    other = fitted(method, X, init_params=given[order], doc_topic_prior=prior[order], max_iter=4)
    if method == "gibbs":
        assert not np.array_equal(other.components_, one.components_[order])  # other draws
    else:
        np.testing.assert_allclose(other.components_, one.components_[order], rtol=1e-8)


def test_order_of_documents_is_part_of_the_result():
    X = corpus(n_samples=100)
    given = np.random.default_rng(1).gamma(1.0, size=(K, 30)) + 0.1
    one, other = (fitted("cvb0", rows, init_params=given, max_iter=3) for rows in (X, X[::-1]))
    assert np.abs(one.components_ - other.components_).max() > 0.1
    assert one.score(X) == pytest.approx(other.score(X), abs=0.1)


@pytest.mark.parametrize("method", ["cvb0", "cvb"])
def test_weight_of_two_is_two_documents_in_the_end(method):
    """Sweeps differ, since copies are visited in turn, but if topics are well separated both fits end alike."""
    X, topics, _ = make_sparse_lda(60, 40, 3, doc_length=60, topic_word_prior=0.05, doc_topic_prior=0.1, random_state=4)
    X = sparse.csr_array(X, dtype=np.float64)
    weight = np.random.default_rng(0).choice([1, 8], size=60)
    repeated = X[np.repeat(np.arange(60), weight)]
    params = {"init_params": topics + 1e-3, "max_iter": 300, "topic_word_prior": 0.1}
    weighed, doubled = fitted(method, X, 3, weight.astype(float), **params), fitted(method, repeated, 3, **params)
    shares = [est.components_ / est.components_.sum(axis=1, keepdims=True) for est in (weighed, doubled)]
    assert np.abs(shares[0] - shares[1]).sum(axis=1).max() / 2 < 0.01
    assert weighed.components_.sum() == pytest.approx(doubled.components_.sum(), rel=1e-9)
    plain = fitted(method, X, 3, **params)
    share = plain.components_ / plain.components_.sum(axis=1, keepdims=True)
    assert np.abs(shares[0] - share).sum(axis=1).max() / 2 > 0.02  # the weights matter


def test_round_off_does_not_add_up(monkeypatch):
    """Tables in single precision drift from their responsibilities, and are counted again now and then."""
    X = corpus(n_samples=200) * 1000.3
    drift = {}
    for every in (10, 10_000):
        monkeypatch.setattr(SweepModel, "recount_every", every)
        est = CollapsedLDA(K, max_iter=200, tol=0.0, random_state=0, warm_start=True).fit(X)
        want = exact.fields(parts_of(X), state_of(est).astype(float), 30)[0]
        drift[every] = np.abs(est.components_.T - 0.01 - want).sum() / want.sum()
    assert drift[10] < 1e-7 < drift[10_000] < 1e-4


# -- priors


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_learned_priors_are_near_those_that_made_the_documents(method):
    alpha, beta = np.array([0.05, 0.1, 0.2, 0.4]), 0.05
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(200, beta), size=K)
    shares = rng.dirichlet(alpha, size=1500)
    X = np.array([rng.multinomial(80, share @ topics) for share in shares])
    start = topics + 1e-4
    est = CollapsedLDA(K, inference=method, **LEARNED, init_params=start, max_iter=60, tol=0.0, random_state=0).fit(X)
    # expected counts are softer than counts, and make priors larger
    np.testing.assert_allclose(est.doc_topic_prior_, alpha, rtol={"gibbs": 0.3, "cvb0": 0.4, "cvb": 1.3}[method])
    assert (np.diff(est.doc_topic_prior_) > 0).all()
    assert est.topic_word_prior_ == pytest.approx(beta, rel=0.3 if method == "gibbs" else 1.0)
    fixed = CollapsedLDA(K, inference=method, init_params=start, max_iter=60, tol=0.0, doc_topic_prior=0.2,
                         topic_word_prior=0.1, random_state=0).fit(X)  # fmt: skip
    np.testing.assert_array_equal(fixed.doc_topic_prior_, 0.2)
    assert fixed.topic_word_prior_ == 0.1
    if method == "gibbs":
        assert est.history_[-1]["log_joint"] > fixed.history_[-1]["log_joint"]
    if method == "cvb":
        assert est.lower_bound_ > fixed.lower_bound_


@pytest.mark.parametrize("method", METHODS)
def test_learned_prior_maximises_the_probability_of_the_topics(method, monkeypatch):
    """At rest alpha is a stationary point of Polya's likelihood of the last sweep's counts."""
    monkeypatch.setattr(SweepModel, "learn_after", 0)
    X = corpus(n_samples=150)
    est = fitted(method, X, **LEARNED, max_iter=400)
    state = state_of(est)
    if method == "gibbs":
        gamma = np.eye(K)[state]
        owner = np.repeat(np.arange(150), np.asarray(X.sum(axis=1)).ravel().astype(int))
        counts = np.ones(len(state))
    else:
        gamma, owner, counts = state, np.repeat(np.arange(150), np.diff(X.indptr)), X.data
    doc_topic = np.zeros((150, K))
    np.add.at(doc_topic, owner, counts[:, None] * gamma)
    alpha, lengths = est.doc_topic_prior_, doc_topic.sum(axis=1)
    if method == "cvb0":
        up = sum(mean_digamma(alpha, counts[owner == d], gamma[owner == d]) - psi(alpha) for d in range(150))
        np.testing.assert_allclose(up / (psi(lengths + alpha.sum()) - psi(alpha.sum())).sum(), 1.0, atol=0.05)
        return
    up = (psi(doc_topic + alpha) - psi(alpha)).sum(axis=0)
    down = (psi(lengths + alpha.sum()) - psi(alpha.sum())).sum()
    np.testing.assert_allclose(up / down, 1.0, atol=0.25 if method == "gibbs" else 1e-3)


def mean_digamma(alpha, counts, gamma):
    """E[digamma(alpha + n)], by the distribution of the number n of tokens that have a topic."""
    tokens = np.repeat(gamma, counts.astype(int), axis=0)
    p = np.zeros((len(tokens) + 1, len(alpha)))
    p[0] = 1.0
    for shares in tokens:
        p[1:] = p[1:] * (1.0 - shares) + p[:-1] * shares
        p[0] *= 1.0 - shares
    return (p * psi(alpha + np.arange(len(p))[:, None])).sum(axis=0)


def test_expected_digamma_is_that_of_independent_tokens():
    rng = np.random.default_rng(0)
    for alpha in (np.full(3, 0.02), np.array([0.1, 0.5, 2.0])):
        gamma, tokens = rng.dirichlet(np.full(3, 0.3), size=12), rng.integers(1, 4, 12).astype(float)
        found = expected_digamma(alpha, sparse.csr_array(tokens[None]), gamma)[0]
        np.testing.assert_allclose(found, mean_digamma(alpha, tokens, gamma), rtol=0.02, atol=0.02)
        certain = np.eye(3)[rng.integers(2, size=12)]
        found = expected_digamma(alpha, sparse.csr_array(tokens[None]), certain)[0]
        np.testing.assert_allclose(found, psi(alpha + tokens @ certain), rtol=1e-10)


def test_priors_are_not_learned_before_topics_have_formed():
    X = corpus()
    est = fitted("cvb0", X, **LEARNED, max_iter=10)
    np.testing.assert_array_equal(est.doc_topic_prior_, 0.1)
    est.set_params(max_iter=5).fit(X)  # it continues, and now they are
    assert not np.array_equal(est.doc_topic_prior_, np.full(K, 0.1))


# -- recovery


@pytest.mark.slow
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_bars_are_recovered(method, learned):
    Y, bars, _ = make_bars(4, n_samples=400, doc_length=80, doc_topic_prior=0.3, random_state=0)
    new = make_bars(4, n_samples=200, doc_length=80, doc_topic_prior=0.3, random_state=1)[0]
    params = {"max_iter": 300} | (LEARNED if learned else {"doc_topic_prior": 0.3, "topic_word_prior": 0.1})
    fits = [CollapsedLDA(8, inference=method, random_state=seed, **params).fit(Y) for seed in range(3)]
    # a start may end where two topics share two bars: what is asked is that some find them all
    est = min(fits, key=lambda est: align_topics(est, bars)[1].max())
    order, distances = align_topics(est, bars)
    assert sorted(order) == list(range(8))
    assert distances.max() < (0.12 if method == "cvb" else 0.06)
    assert est.score(new) > document_completion(bars, new, doc_topic_prior=0.3) - 0.02


def test_collapsed_topics_are_at_least_as_good_as_mean_field():
    Y = make_sparse_lda(400, 150, 10, doc_length=40, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=3)[0]
    train, new = Y[:300], Y[300:]
    collapsed = CollapsedLDA(10, random_state=0).fit(train).score(new)
    plain = SparseLDA(10, n_nonzero=None, init_params="random", random_state=0).fit(train).score(new)
    assert collapsed > plain - 0.02


class Told:
    """A model that tells given changes."""

    objective, unit = "change", "token"

    def __init__(self, changes):
        self.changes = iter(changes)

    def size(self, stats):  # noqa: ARG002
        return 10.0

    def change(self, stats):  # noqa: ARG002
        return next(self.changes)


def test_fit_does_not_stop_before_topics_part():
    """From a random start all topics are nearly alike: responsibilities change little, then more, then less again."""
    changes = [7.0, 0.04, 0.01, *np.linspace(0.02, 0.045, 9), 0.048, 0.5, 4.0, 2.0, 0.06, 0.049, 0.04]
    monitor, model = Monitor(100, 5e-3, sweeps.Sweeps(has_bound=False)), Told(changes)
    stops = [monitor.epoch(epoch, model, None) for epoch in range(1, 20)]
    assert stops == [False] * 17 + [True] * 2
    assert monitor.history[-1]["change_per_token"] == pytest.approx(0.004)
    assert len(monitor.lower_bounds) == 0
