"""Mixtures of directions, word counts, yes and no: slow twins, closed forms, sums over all assignments, bounds."""

from copy import copy
from itertools import product

import numpy as np
import pytest
import reference
from scipy import sparse
from scipy.special import digamma, gammaln, logsumexp
from scipy.stats import vonmises_fisher
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from sparsemix import SparseBernoulliMixture, SparseMultinomialMixture, SparseVonMisesFisherMixture
from sparsemix._models.mixture.model import LinearMixture
from sparsemix._rows.documents import DocumentBlock
from sparsemix._stats.linear import Bernoulli, Multinomial, VonMisesFisher, draws
from sparsemix._stats.linear._base import dense
from sparsemix._stats.linear.bernoulli import SEED_ROWS
from sparsemix._stats.linear.multinomial import SEED_TOKENS
from sparsemix._stats.linear.von_mises_fisher import log_constant
from sparsemix._stats.weights import DirichletWeights, MaximumLikelihoodWeights
from sparsemix.mixture._linear import _race
from sparsemix.mixture._linear._rows import SparseDocuments
from sparsemix.mixture._linear.likelihoods import Flags, Words

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

K, D = 4, 6
METHODS = ["batch", "memoized"]


def directions(n=200, d=D, seed=0):
    """Four clusters of directions that overlap a little, and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % K
    x = rng.normal(size=(n, d)) + 4.0 * np.eye(d)[labels]
    return x, labels


def documents(n=200, v=30, seed=0):
    """Four clusters of documents, and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % K
    proportions = rng.dirichlet(np.full(v, 0.1), K)
    return np.array([rng.multinomial(8, proportions[k]) for k in labels]).astype(float), labels


def flags(n=200, d=30, seed=0):
    """Four clusters of rows of zeros and ones, and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % K
    return (rng.random((n, d)) < rng.beta(0.4, 0.6, (K, d))[labels]).astype(float), labels


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


class ExactMultinomialMixture(SparseMultinomialMixture):
    """Tables in double precision."""

    _likelihood = Words(np.float64)


class ExactBernoulliMixture(SparseBernoulliMixture):
    """Tables in double precision."""

    _likelihood = Flags(np.float64)


def vmf(**params):
    params = {"inference": "vb", "n_nonzero": 2, "learning_method": "batch", "max_iter": 10, "tol": 0.0,
              "random_state": 0} | params  # fmt: skip
    return SparseVonMisesFisherMixture(K, **params)


def words(**params):
    params = {"inference": "vb", "n_nonzero": 2, "learning_method": "batch", "max_iter": 10,
              "tol": 0.0, "random_state": 0} | params  # fmt: skip
    return ExactMultinomialMixture(K, **params)


def yes_no(**params):
    params = {"inference": "vb", "n_nonzero": 2, "learning_method": "batch", "max_iter": 10, "tol": 0.0,
              "random_state": 0} | params  # fmt: skip
    return ExactBernoulliMixture(K, **params)


MAKERS = {"directions": (vmf, directions), "words": (words, documents), "flags": (yes_no, flags)}
CLASSES = {
    "directions": SparseVonMisesFisherMixture, "words": SparseMultinomialMixture, "flags": SparseBernoulliMixture
}  # fmt: skip
over_kinds = pytest.mark.parametrize("kind", MAKERS)


# -- slow twins


@pytest.mark.parametrize(("n_nonzero", "inference"), list(product([1, 2, K], ["vb", "em"])))
def test_words_equal_a_twin_in_numpy(n_nonzero, inference):
    x, _ = documents()
    resp = np.random.default_rng(1).dirichlet(np.full(K, 0.3), len(x))
    params = {"n_nonzero": n_nonzero, "inference": inference, "word_prior": 0.3}
    params |= {"weight_concentration_prior": 0.7} if inference == "vb" else {}
    est = words(init_params={"responsibilities": resp}, max_iter=6, **params).fit(x)
    weights = reference_weights(inference)
    for _ in range(6):
        counts, sums = resp.sum(axis=0), resp.T @ x
        w = weights.expected_log(counts) + x @ word_table(sums, inference).T
        resp = softmax_of_largest(w, n_nonzero)
    np.testing.assert_allclose(dense(est._fitted.stats["first"]), resp.T @ x, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(est._fitted.stats["count"], resp.sum(axis=0), rtol=1e-9)


def reference_weights(inference):
    return DirichletWeights(0.7) if inference == "vb" else MaximumLikelihoodWeights()


def word_table(sums, inference):
    f = digamma if inference == "vb" else np.log
    return f(0.3 + sums) - f((0.3 + sums).sum(axis=1, keepdims=True))


def softmax_of_largest(w, n_nonzero):
    out = np.zeros_like(w)
    for n, row in enumerate(w):
        best = np.argsort(-row, kind="stable")[:n_nonzero]
        out[n, best] = np.exp(row[best] - logsumexp(row[best]))
    return out


@pytest.mark.parametrize("shared", [True, False])
def test_directions_equal_a_twin_in_numpy(shared):
    """EM by Banerjee et al. 2005, Table 1, concentrations by bisection."""
    x, _ = directions()
    resp = np.random.default_rng(1).dirichlet(np.full(K, 0.3), len(x))
    kind = "shared" if shared else "own"
    params = {"inference": "em", "concentration_type": kind, "n_nonzero": None}
    est = vmf(init_params={"responsibilities": resp}, max_iter=5, **params).fit(x)
    x = unit(x)
    prior = np.linalg.norm(x.mean(axis=0))
    for _ in range(5):
        counts, sums = resp.sum(axis=0), resp.T @ x
        length = np.linalg.norm(sums, axis=1)
        r = np.full(K, length.sum() / counts.sum()) if shared else (length + prior) / (counts + 1.0)
        kappa = np.array([bisected(value) for value in r])
        w = np.log(counts / counts.sum()) + log_constant(D, kappa)[0] + x @ (kappa * (sums / length[:, None]).T)
        resp = np.exp(w - logsumexp(w, axis=1, keepdims=True))
    np.testing.assert_allclose(est._fitted.stats["first"], resp.T @ x, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(est.predict_proba(x).sum(axis=0), est.predict_proba(5 * x).sum(axis=0), rtol=1e-9)


def bisected(r):
    low, high = 0.0, 1e5
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if log_constant(D, middle)[1] < r else (low, middle)
    return low


# -- closed forms and densities


def test_one_component_has_the_direction_of_the_mean():
    x, _ = directions()
    for inference in ("vb", "em"):
        est = SparseVonMisesFisherMixture(1, inference=inference).fit(x)
        mean = unit(x).mean(axis=0)
        np.testing.assert_allclose(est.means_[0], mean / np.linalg.norm(mean), rtol=1e-10)
        if inference == "em":
            np.testing.assert_allclose(log_constant(D, est.concentrations_)[1], np.linalg.norm(mean), rtol=1e-9)


def test_density_is_that_of_scipy():
    x, _ = directions()
    est = vmf(concentration_type="own").fit(x)
    parts = [
        np.log(w) + vonmises_fisher(mu, kappa).logpdf(unit(x))
        for w, mu, kappa in zip(est.weights_, est.means_, est.concentrations_, strict=True)
    ]
    np.testing.assert_allclose(est.score_samples(x), logsumexp(parts, axis=0), rtol=1e-9)


def test_expected_directions_are_shorter_than_one():
    """E[mu] = A(kappa |S|) S / |S|, and on the sphere of three dimensions A(t) = coth t - 1 / t."""
    family = VonMisesFisher(3)
    x = unit(np.random.default_rng(0).normal(size=(6, 3)) + 4.0)
    parameters = family.fit(sums_of(family, np.eye(2)[[0, 0, 0, 0, 0, 1]], x), variational=True)
    length = np.linalg.norm([x[:5].sum(axis=0), x[5]], axis=1)
    np.testing.assert_allclose(parameters.certainty, parameters.kappa * length, rtol=1e-12)
    shrunk = 1.0 / np.tanh(parameters.certainty) - 1.0 / parameters.certainty
    expected = family.expected(parameters, variational=True)
    np.testing.assert_allclose(expected.scale, parameters.kappa * shrunk, rtol=1e-10)
    np.testing.assert_array_equal(family.expected(parameters, variational=False).scale, parameters.kappa)


def test_bound_of_one_component_of_words_is_the_evidence():
    x, _ = documents(40)
    est = ExactMultinomialMixture(1, word_prior=0.3, inference="vb", learning_method="batch").fit(x)
    post, v = 0.3 + x.sum(axis=0), x.shape[1]
    evidence = gammaln(v * 0.3) - v * gammaln(0.3) + gammaln(post).sum() - gammaln(post.sum())
    assert est.lower_bound_ == pytest.approx(evidence, rel=1e-10)


def test_objective_of_em_is_the_log_posterior_of_the_proportions():
    """Under Dirichlet(1 + prior), up to its constant; some words have no tokens."""
    rng = np.random.default_rng(0)
    sums = rng.gamma(2.0, size=(K, 9)) * (rng.random((K, 9)) < 0.6)
    family = Multinomial(9, 0.3)
    stats = family.empty_stats(K)
    stats["first"] = sums
    post = 0.3 + sums
    expected = (post * np.log(post / post.sum(axis=1, keepdims=True))).sum()
    assert family.objective(family.fit(stats, False), stats, False) == pytest.approx(expected, rel=1e-12)


def family_of(kind, n_features):
    families = {"words": Multinomial, "flags": Bernoulli}
    return families[kind](n_features, 0.4) if kind in families else VonMisesFisher(n_features)


@over_kinds
def test_bound_is_below_the_log_evidence(kind):
    """The sum over all 2^6 assignments; concentrations are held at the value that the bound has chosen."""
    rng = np.random.default_rng(3)
    x = rng.poisson(1.0, (6, 5)).astype(float) if kind == "words" else unit(rng.normal(size=(6, 3)) + 1.0)
    x = (rng.random((6, 5)) < 0.4).astype(float) if kind == "flags" else x
    family = family_of(kind, x.shape[1])
    model = LinearMixture(family, DirichletWeights(0.8), 2, 2, np.float64, variational=True)
    for _ in range(10):
        resp = reference.random_responsibilities(rng, 6, 2, 2)
        stats = sums_of(family, resp, x)
        model.global_step(stats)
        bound = model.lower_bound(stats)
        parameters = model.parameters

        def evidence(labels, parameters=parameters):
            hard = sums_of(family, np.eye(2)[list(labels)], x)
            if kind != "directions":
                return family.objective(family.fit(hard, True), hard, True)
            kappa = parameters.kappa[0]
            length = np.linalg.norm(hard["first"], axis=1)
            uniform = log_constant(3, 0.0)[0]
            return 6 * log_constant(3, kappa)[0] + (uniform - log_constant(3, kappa * length)[0]).sum()

        exact = logsumexp([
            reference.log_dirichlet_multinomial(labels, 0.8, 2) + evidence(labels)
            for labels in product(range(2), repeat=6)
        ])  # fmt: skip
        assert bound <= exact + 1e-10


def sums_of(family, resp, x):
    stats = family.empty_stats(resp.shape[1])
    stats["count"], stats["first"], stats["mass"] = resp.sum(axis=0), resp.T @ x, np.array(float(len(x)))
    stats["entropy"] = np.array(reference.entropy(resp))
    return stats


# -- bounds, rows in other forms


@over_kinds
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("inference", ["vb", "em"])
@pytest.mark.parametrize("n_nonzero", [1, 2, K])
@pytest.mark.parametrize("learning_method", METHODS)
def test_bounds_never_fall(kind, learning_method, n_nonzero, inference, own):
    make, rows = MAKERS[kind]
    if own and kind != "directions":
        return
    params = {"concentration_type": "own" if own else "shared"} if kind == "directions" else {}
    resp = np.random.default_rng(1).dirichlet(np.full(K, 0.3), 200)
    params |= {"n_nonzero": n_nonzero, "inference": inference, "learning_method": learning_method}
    params |= {"init_params": {"responsibilities": resp}}
    bounds = np.array(make(batch_size=50, **params).fit(rows()[0]).lower_bounds_)
    assert bounds[-1] >= bounds[0] - 1e-9 * np.abs(bounds).max()
    assert np.diff(bounds).min() >= -1e-9 * np.abs(bounds).max()


@over_kinds
@pytest.mark.parametrize("inference", ["vb", "em"])
def test_sparse_rows_give_what_dense_ones_give(kind, inference):
    make, rows = MAKERS[kind]
    x, _ = rows()
    x[np.abs(x) < 0.5] = 0.0
    resp = np.random.default_rng(1).dirichlet(np.full(K, 0.3), len(x))
    params = {"inference": inference, "init_params": {"responsibilities": resp}}
    dense, thin = make(**params).fit(x), make(**params).fit(sparse.csr_array(x))
    np.testing.assert_allclose(dense.score_samples(x), thin.score_samples(sparse.csr_array(x)), rtol=1e-9)
    assert dense.lower_bound_ == pytest.approx(thin.lower_bound_, rel=1e-11)


@over_kinds
def test_weights_equal_repeated_rows(kind):
    make, rows = MAKERS[kind]
    x, _ = rows()
    resp = np.random.default_rng(1).dirichlet(np.full(K, 0.3), len(x))
    weight = np.random.default_rng(2).integers(0, 4, len(x))
    again = np.repeat(np.arange(len(x)), weight)
    weighed = make(init_params={"responsibilities": resp}).fit(x, sample_weight=weight)
    repeated = make(init_params={"responsibilities": resp[again]}).fit(x[again])
    np.testing.assert_allclose(weighed.weights_, repeated.weights_, rtol=1e-9)
    assert weighed.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-10)


@over_kinds
@pytest.mark.parametrize("learning_method", [*METHODS, "online"])
def test_clusters_are_found(kind, learning_method):
    make, rows = MAKERS[kind]
    x, labels = rows()
    est = make(learning_method=learning_method, max_iter=30).fit(x)
    assert adjusted_rand_score(labels, est.predict(x)) > 0.8


def test_candidates_find_what_all_components_find():
    x, _ = directions(400)
    params = {"learning_method": "memoized", "max_iter": 30}
    exact, few = (vmf(candidates=c, **params).fit(x) for c in ("all", 3))
    np.testing.assert_array_equal(exact.predict(x), few.predict(x))


@pytest.mark.parametrize("spread", [0.0, 1.0])
@pytest.mark.statistical
def test_sizes_are_nearly_as_even_as_those_of_k_means(spread):
    """Few rows in many dimensions, with uneven groups or none: no component takes all remaining rows."""
    rng = np.random.default_rng(0)
    groups = rng.geometric(0.2, size=1500).clip(max=20) - 1
    x = unit(spread * rng.normal(size=(20, 64))[groups] + rng.normal(size=(1500, 64)))
    ours = [np.bincount(SparseVonMisesFisherMixture(100, random_state=seed).fit_predict(x)) for seed in range(5)]
    means = [np.bincount(KMeans(100, n_init=1, random_state=seed).fit(x).labels_) for seed in range(5)]
    largest, of_means = (np.array([sizes.max() for sizes in fits]) for fits in (ours, means))
    assert np.median(largest) <= 2.0 * np.median(of_means)  # 1.0 without groups, 1.6 with them
    assert largest.max() <= 0.2 * len(x)
    assert all(np.count_nonzero(sizes) == 100 for sizes in ours)


@pytest.mark.parametrize("kind", ["dense directions", "sparse directions", "words", "flags"])
def test_seeds_weigh_rows_as_a_twin_in_numpy_one_or_many(kind):
    counts = documents(20)[0]
    x = {"words": counts, "flags": (counts > 0).astype(float)}.get(kind, unit(counts))
    corpus = (x.sum(axis=0) + 1.0) / (x.sum() + 30.0)
    smoothed = (x + SEED_TOKENS * corpus) / (x.sum(axis=1) + SEED_TOKENS)[:, None]
    expected = np.log(smoothed) @ x.T if kind == "words" else x @ x.T
    family = Multinomial(30, 0.1, corpus) if kind == "words" else VonMisesFisher(30)
    if kind == "flags":
        frequencies = (x.sum(axis=0) + 1.0) / (len(x) + 2.0)
        family = Bernoulli(30, 0.1, frequencies)
        smoothed = (x + SEED_ROWS * frequencies) / (1.0 + SEED_ROWS)
        expected = np.log(smoothed) @ x.T + np.log(1.0 - smoothed) @ (1.0 - x).T
    rows = x if kind == "dense directions" else DocumentBlock.of(sparse.csr_array(x), np.float64)
    under = family.seed_weights(rows)
    np.testing.assert_allclose(under(np.array([3, 17, 3])), expected[[3, 17, 3]], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(under(5), expected[5], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(family.own_weights(rows), np.diag(expected), rtol=1e-12)


@over_kinds
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("as_dict", [False, True])
def test_rows_start_in_the_component_of_the_most_likely_given_mean(kind, form, as_dict):
    make, rows = MAKERS[kind]
    x, _ = rows()
    means = 3.0 * np.random.default_rng(1).dirichlet(np.full(x.shape[1], 0.5), K)
    if kind == "directions":
        weights = unit(x) @ unit(means).T
    elif kind == "flags":
        means /= 3.0
        yes = (0.1 + len(x) / K * means) / (0.2 + len(x) / K)
        weights = x @ np.log(yes).T + (1.0 - x) @ np.log(1.0 - yes).T
    else:
        tokens = means / 3.0 * x.sum() / K
        weights = x @ np.log((tokens + 0.1) / (tokens + 0.1).sum(axis=1, keepdims=True)).T
    est = make(inference="em", init_params={"means": means} if as_dict else means, max_iter=0).fit(form(x))
    counts = np.bincount(weights.argmax(axis=1), minlength=K) + 1.0  # and one extra row for each component
    np.testing.assert_allclose(est.weights_, counts / counts.sum(), rtol=1e-12)


@over_kinds
def test_given_means_are_checked(kind):
    make, rows = MAKERS[kind]
    x, _ = rows()
    with pytest.raises(ValueError, match=r"init_params has shape \(3, "):
        make(init_params=x[:3]).fit(x)
    message = {"directions": "row 1 of init_params is zero", "words": "a row of init_params is not a distribution"}
    wrong = -1.0 * x[:1] if kind == "flags" else 0 * x[:1]
    with pytest.raises(ValueError, match=message.get(kind, "row 1 of init_params holds a number outside 0 to 1")):
        make(init_params=np.vstack([x[:1], wrong, x[2:4]])).fit(x)
    with pytest.raises(ValueError, match="the keys may be 'means', 'responsibilities'"):
        make(init_params={"weights": np.full(K, 1 / K)}).fit(x)


def test_short_documents_start_by_epochs_of_the_inference(monkeypatch):
    x, _ = documents()
    monkeypatch.setattr(_race, "MOST_NUMBERS", 0)  # as for more words

    def bounds():
        return [words(inference=each, max_iter=1).fit(x).lower_bound_ for each in ("em", "vb")]

    usual = bounds()
    monkeypatch.setitem(SparseMultinomialMixture._fixed_params, "first_epochs", {"em": 2, "vb": 2})
    same, other = bounds()
    assert same == usual[0]
    assert other != usual[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_narrow_cones_keep_their_digits(dtype):
    """Rows a thousandth apart: cosines in single precision would not tell them from each other."""
    rng = np.random.default_rng(0)
    centre = unit(rng.normal(size=(1, 256)))
    labels = np.arange(300) % 3
    means = unit(centre + 2e-3 * rng.normal(size=(3, 256)))
    x = unit(means[labels] + 2e-4 * rng.normal(size=(300, 256))).astype(dtype)
    est = SparseVonMisesFisherMixture(3, random_state=0, max_iter=20).fit(x)
    assert len(set(zip(labels, est.predict(x), strict=True))) == 3
    assert 1e4 < est.concentrations_[0] <= 1e6


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("length", [1e-60, 1e-42, 1e39, 1e60])
def test_a_stream_of_float32_takes_directions_that_only_float64_holds(length, form):
    X = np.random.default_rng(0).normal(size=(60, 5))
    short, long = (
        SparseVonMisesFisherMixture(3, random_state=0).partial_fit(form(X.astype(np.float32))).partial_fit(form(rows))
        for rows in (X, length * X)
    )
    np.testing.assert_allclose(long.means_, short.means_, rtol=1e-5, atol=1e-6)


def test_rows_of_zeros_are_refused_with_their_number():
    x, _ = directions()
    x[7] = 0.0
    for rows in (x, sparse.csr_array(x)):
        with pytest.raises(ValueError, match=r"row 7 of X is zero and has no direction.*sample_weight 0"):
            vmf().fit(rows)
        weight = np.ones(len(x))
        weight[7] = 0.0
        vmf().fit(rows, sample_weight=weight)


@over_kinds
@pytest.mark.parametrize("learning_method", METHODS)
def test_candidates_of_sparse_rows_find_what_all_components_find(kind, learning_method):
    make, rows = MAKERS[kind]
    x = sparse.csr_array(rows(400)[0])
    params = {"learning_method": learning_method, "max_iter": 30, "batch_size": 100}
    exact, few = (make(candidates=c, **params).fit(x) for c in ("all", 3))
    assert few._fitted.model.search is not None
    np.testing.assert_array_equal(exact.predict(x), few.predict(x))
    assert few.lower_bound_ == pytest.approx(exact.lower_bound_, rel=1e-4)


@pytest.mark.parametrize("forms", [(np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)])
def test_rows_of_the_other_kind_are_seen_by_all_components(forms):
    """Candidates are sought for dense rows or for sparse ones, whichever came first."""
    first, other = forms
    x, _ = directions()
    est = vmf(candidates=3, random_state=0).partial_fit(first(x))
    exact = copy(est)
    exact._fitted = copy(est._fitted)
    exact._fitted.model = copy(est._fitted.model)
    exact._fitted.model.search = None
    expected = exact.expected_stats(other(x))
    found = est.expected_stats(other(x))
    np.testing.assert_array_equal(found["count"], expected["count"])
    np.testing.assert_array_equal(dense(found["first"]), dense(expected["first"]))
    for rows in (other(x), first(x), other(x)):
        est.partial_fit(rows)
    assert np.isfinite(est.score(first(x)))
    assert est._fitted.model.search is not None


@over_kinds
def test_bounds_never_fall_with_candidates_of_sparse_rows(kind):
    rng = np.random.default_rng(0)
    make, rows = MAKERS[kind]
    x = rows(600)[0]
    x[rng.random(x.shape) < 0.3] = 0.0
    x = sparse.csr_array(x[np.abs(x).sum(axis=1) > 0])
    est = make(candidates=2, n_nonzero=2, max_iter=15).set_params(n_components=30).fit(x)
    bounds = np.array(est.lower_bounds_)
    assert np.diff(bounds).min() >= -1e-9 * np.abs(bounds).max()


# -- draws


@pytest.mark.parametrize("kappa", [0.0, 1e-3, 1.0, 50.0, 1e4, 1e6])
@pytest.mark.parametrize("d", [1, 2, 3, 16, 256, 4096])
def test_draws_have_the_moments_of_the_distribution(d, kappa):
    """The mean cosine is A(kappa), its variance the slope of A; what is across has no direction."""
    rng = np.random.RandomState(d)
    n = 4000 if d < 1000 else 400
    mu = np.zeros((1, d))
    mu[0, -1] = 1.0
    x = draws(mu, np.array([kappa]), np.zeros(n, dtype=int), rng)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-12)
    a = log_constant(d, kappa)[1]
    variance = max((1.0 - a**2 - (d - 1) * a / kappa) if kappa > 0.01 else 1.0 / d, 0.0)
    variance = variance if kappa < 1e3 or d > 256 else (d - 1) / (2.0 * kappa**2)  # what cancels, in its limit
    assert abs(x[:, -1].mean() - a) <= 5.0 * np.sqrt(variance / n) + 1e-9
    across = x[:, :-1].mean(axis=0)
    assert (across**2).sum() * n <= (1.0 - a**2) + 6.0 * (1.0 - a**2 + 1e-9)
    if variance > 1e-12 and d < 1000:
        assert x[:, -1].var() == pytest.approx(variance, rel=0.2)


def test_sample_draws_from_all_components():
    x, _ = directions(400)
    est = vmf().fit(x)
    rows, labels = est.sample(2000)
    np.testing.assert_allclose(np.bincount(labels, minlength=K) / 2000, est.weights_, atol=0.05)
    assert (est.predict(rows) == labels).mean() > 0.95
    assert est.score(rows) == pytest.approx(est.score(x), abs=0.3)


@over_kinds
def test_components_may_be_less_likely_than_single_precision_tells(kind):
    make, rows = MAKERS[kind]
    x = rows()[0].astype(np.float32)
    est = make(inference="vb", weight_concentration_prior=1e-300).set_params(n_components=8).fit(x)
    assert np.isfinite(est.score(x))
    assert np.isfinite(est.lower_bound_)


@over_kinds
def test_equal_weights_stay_equal_and_no_bound_falls(kind):
    make, rows = MAKERS[kind]
    est = make(inference="vb", weight_concentration_prior=np.inf, learning_method="batch", tol=0.0).fit(rows()[0])
    np.testing.assert_array_equal(est.weights_, np.full(est.n_components, 1.0 / est.n_components))
    assert np.diff(est.lower_bounds_).min() > -1e-9 * abs(est.lower_bound_)
    assert est.weight_concentration_prior_ == np.inf


def test_rows_of_nearly_one_direction_are_named():
    """Identifiers among measurements leave directions that differ by 1e-7."""
    rng = np.random.default_rng(0)
    X = np.column_stack([1e7 + np.arange(100), rng.normal(size=(100, 2)) + 9.0 * (np.arange(100) % 3)[:, None]])
    with pytest.warns(UserWarning, match="all rows of X have nearly the same direction.*standardise"):
        SparseVonMisesFisherMixture(3, random_state=0).fit(X)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_rows_of_zeros_are_predicted_by_the_weights(make):
    """A text without a known word is no evidence; it has no density and is not learned from."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 5)) + 9.0 * np.eye(5)[np.arange(60) % 3]
    est = SparseVonMisesFisherMixture(3, n_nonzero=None, random_state=0).fit(make(X))
    Z = X[:5].copy()
    Z[[0, 3, 4]] = 0.0
    found = est.transform(make(Z)).toarray()
    np.testing.assert_allclose(found[[0, 3, 4]], np.tile(est.weights_, (3, 1)), rtol=1e-5)
    np.testing.assert_allclose(found[1:3], est.predict_proba(make(X[1:3])), rtol=1e-5, atol=1e-12)
    for call in (est.score_samples, est.score, est.partial_fit):
        with pytest.raises(ValueError, match="row 0 of X is zero and has no direction"):
            call(make(Z))


# -- initialisation


@pytest.mark.parametrize("inference", ["em", "vb"])
@pytest.mark.parametrize("kind", ["flags", "words", "directions"])
def test_seeds_of_few_columns_end_within_ten_nats(kind, inference):
    """Latent classes that overlap have several maxima, and the likelihood of all rows tells them from each other."""
    rng, k, d, n = np.random.default_rng(0 if kind == "directions" else 4), 6, 5 + (kind == "words"), 1_500
    labels = rng.integers(k, size=n)
    if kind == "flags":
        x = (rng.random((n, 12)) < np.random.default_rng(2).beta(0.5, 0.5, (k, 12))[labels]).astype(float)
        x[rng.random(x.shape) < 0.05] = np.nan
    elif kind == "words":
        x = rng.multinomial(8, rng.dirichlet(np.full(d, 0.7), k)[labels]).astype(float)
    else:
        x = unit(rng.normal(size=(k, d)))[labels] + 0.3 * rng.normal(size=(n, d))

    def total(seed):
        params = {} if kind == "directions" else {"tol": 1e-4}
        est = CLASSES[kind](4 if kind == "flags" else k, inference=inference, random_state=seed, **params)
        return len(x) * est.fit(x).score(x)

    assert np.ptp([total(seed) for seed in range(8)]) < 10.0


def test_a_race_reads_each_pattern_once():
    x = np.repeat(flags(60, 4)[0], 5, axis=0)
    rows = SparseDocuments(sparse.csr_array(x), np.arange(1.0, 301.0), np.float32)
    found = _race.distinct(rows)
    patterns, owner = np.unique(x, axis=0, return_inverse=True)
    assert len(found) == len(patterns) <= 16
    got = {tuple(row): weight for row, weight in zip(found.X.toarray(), found.sample_weight, strict=True)}
    assert got == {tuple(row): np.arange(1.0, 301.0)[owner.ravel() == i].sum() for i, row in enumerate(patterns)}


@over_kinds
def test_fits_of_all_seeds_end_equally_well(kind):
    """Seeds that divide a cluster or join two are repaired; the standard is a fit from the true clusters."""
    rng, k, d = np.random.default_rng(3), 8, 40
    labels = rng.integers(k, size=4_000)
    if kind == "flags":
        x = (rng.random((4_000, d)) < rng.beta(0.5, 0.5, (k, d))[labels]).astype(float)
    elif kind == "words":
        x = rng.multinomial(20, rng.dirichlet(np.full(d, 0.3), k)[labels]).astype(float)
    else:
        x = unit(rng.normal(size=(k, d)))[labels] + 0.15 * rng.normal(size=(4_000, d))
    resp = np.eye(k)[labels[:3_000]]

    def score(**params):
        est = MAKERS[kind][0](inference="em", max_iter=20, tol=1e-4, **params).set_params(n_components=k)
        return est.fit(x[:3_000]).score(x[3_000:])

    assert min(score(random_state=seed) for seed in range(10)) > score(init_params={"responsibilities": resp}) - 0.05


def test_copies_of_few_rows_leave_no_component_empty():
    """Most rows of a sample are copies, of fewer different rows than components."""
    x = unit(np.random.default_rng(0).normal(size=(400, 40)))
    x = np.concatenate([x, np.repeat(x[:3], 4_000, axis=0)])
    est = SparseVonMisesFisherMixture(150, random_state=0, max_iter=5).fit(x)
    assert len(np.unique(est.predict(x))) == 150
