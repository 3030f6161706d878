"""Conjugate updates of the likelihood families: evidence, bounds and expectations against sums, integrals and draws."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import reference
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import gamma, norm, wishart
from sklearn.mixture import BayesianGaussianMixture

from sparsemix._models.mixture.model import VariationalMixture
from sparsemix._stats import symmetric
from sparsemix._stats.families import GAUSSIANS, Gaussians
from sparsemix._stats.weights import DirichletWeights, StickBreakingWeights

WITH_MEANS = [name for name in GAUSSIANS if name != "zero_mean"]


def spread_matrix(rng, d):
    a = rng.normal(size=(d, d))
    return a @ a.T + np.eye(d)


class Case:
    """A family with a prior that has nothing special, and rows."""

    def __init__(self, name, n_features=3, n_rows=12, seed=0):
        rng = self.rng = np.random.default_rng(seed)
        self.name = name
        self.d = n_features
        self.family = GAUSSIANS[name](n_features)
        scale = spread_matrix(rng, n_features)
        self.scale = reference.one_covariance(name, scale)
        self.mean = rng.normal(size=n_features)
        self.prior = self.make_prior()
        self.x = 1.5 * rng.normal(size=(n_rows, n_features)) + 0.5

    def make_prior(self, **changed):
        arguments = {"mean_precision": 0.7, "mean": self.mean, "dof": self.d + 2.5, "covariance": self.scale}
        return self.family.prior(None, **arguments | changed)

    def stats(self, resp, x=None, weight=None):
        x = self.x if x is None else x
        sums = reference.statistics(self.name, x, resp, weight)
        return reference.fill(self.family.empty_stats(resp.shape[1]), sums)

    def posterior(self, resp, **kwargs):
        return self.family.posterior(self.prior, self.stats(resp, **kwargs))

    def evidence(self, resp, x=None, weight=None, prior=None):
        prior = self.prior if prior is None else prior
        stats = self.stats(resp, x, weight)
        return self.family.evidence(prior, self.family.posterior(prior, stats), stats)

    def expected_log_lik(self, post, x):
        gaussians = self.family.expected(post)
        out = np.empty((len(x), len(gaussians.means)))
        return gaussians.table(np.zeros(len(gaussians.means)), np.float64).weights(x, out)

    def model(self, n_components, weights=None):
        weights = DirichletWeights(0.8) if weights is None else weights
        return VariationalMixture(self.family, weights, self.prior, n_components, n_components, np.float64)


@pytest.fixture(params=GAUSSIANS)
def name(request):
    return request.param


# -- evidence


@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("n_features", [1, 3])
@pytest.mark.parametrize("name", [name for name in GAUSSIANS if name != "low_rank"])  # no closed form with loadings
def test_evidence_is_the_sum_of_sequential_predictions(name, n_features, n_components):
    case = Case(name, n_features)
    labels = case.rng.integers(n_components, size=len(case.x))
    resp = np.eye(n_components)[labels]
    total = 0.0
    for n, label in enumerate(labels):
        post = case.posterior(resp[:n], x=case.x[:n])
        total += case.family.log_predictive(post, case.x[n : n + 1])[0, label]
    np.testing.assert_allclose(case.evidence(resp), total, rtol=1e-9)


@pytest.mark.parametrize("weights", [DirichletWeights(0.3), DirichletWeights(4.0)])
def test_bound_of_one_component_is_the_log_evidence(name, weights):
    case = Case(name)
    ones = np.ones((len(case.x), 1))
    np.testing.assert_allclose(case.model(1, weights).lower_bound(case.stats(ones)), case.evidence(ones), rtol=1e-12)


def test_evidence_in_one_dimension_is_the_integral(name):
    """Trapezoids over log precision and, around its posterior mean, the mean: they converge exponentially."""
    case = Case(name, n_features=1, n_rows=4)
    kappa, dof, scale = 0.7, 3.5, float(np.squeeze(case.scale))
    t = np.linspace(-20.0, 6.0, 1200)[:, None]
    precision = np.exp(t)
    log_density = gamma(0.5 * dof, scale=2.0 / scale).logpdf(precision) + t
    if name == "zero_mean":
        log_density += norm(0.0, precision**-0.5).logpdf(case.x[:, 0]).sum(axis=1, keepdims=True)
        value = np.exp(log_density).sum() * (t[1, 0] - t[0, 0])
    else:
        total = kappa + len(case.x)
        u = np.linspace(-11.0, 11.0, 300)
        mean = (kappa * case.mean[0] + case.x.sum()) / total + u / np.sqrt(total * precision)
        log_density = log_density + norm(case.mean[0], (kappa * precision) ** -0.5).logpdf(mean)
        for row in case.x[:, 0]:
            log_density += norm(mean, precision**-0.5).logpdf(row)
        log_density -= 0.5 * np.log(total * precision)
        value = np.exp(log_density).sum() * (t[1, 0] - t[0, 0]) * (u[1] - u[0])
    np.testing.assert_allclose(case.evidence(np.ones((4, 1))), np.log(value), rtol=1e-9)


def log_sorted_sticks(labels, concentration, n_components):
    """Log probability of labels if the larger component has the first stick."""
    counts = np.bincount(labels, minlength=n_components)
    places = np.argsort(np.argsort(-counts))
    return reference.log_stick_breaking(places[labels], concentration, n_components)


@pytest.mark.parametrize(
    ("weights", "log_prior"),
    [
        (DirichletWeights(0.8), reference.log_dirichlet_multinomial),
        (StickBreakingWeights(0.8), log_sorted_sticks),
    ],
)
def test_bound_is_below_the_log_evidence(name, weights, log_prior):
    case = Case(name, n_features=2, n_rows=7)
    hard = {}

    def log_likelihood(labels):
        hard[labels] = case.evidence(np.eye(2)[list(labels)])
        return hard[labels]

    def prior_of(labels):
        return log_prior(list(labels), 0.8, 2)

    exact = reference.log_evidence(7, 2, prior_of, log_likelihood)
    model = case.model(2, weights)
    for n_nonzero in (1, 2):
        for _ in range(20):
            resp = reference.random_responsibilities(case.rng, 7, 2, n_nonzero)
            bound = model.lower_bound(case.stats(resp))
            assert bound <= exact + 1e-10
            if n_nonzero == 1:  # one assignment's term of the sum
                labels = tuple(resp.argmax(axis=1).tolist())
                np.testing.assert_allclose(bound, prior_of(labels) + hard[labels], rtol=1e-10)


def test_bound_rises_from_the_best_assignment_towards_the_log_evidence(name):
    """The best of 2^7 assignments has at least a 2^7th of the evidence, and every step from there gains."""
    case = Case(name, n_features=2, n_rows=7)
    joint = {
        labels: reference.log_dirichlet_multinomial(labels, 0.8, 2) + case.evidence(np.eye(2)[list(labels)])
        for labels in product(range(2), repeat=7)
    }
    exact = logsumexp(list(joint.values()))
    model, resp = case.model(2), np.eye(2)[list(max(joint, key=joint.get))]
    bounds = []
    for _ in range(50):
        stats = case.stats(resp)
        bounds.append(model.lower_bound(stats))
        model.global_step(stats)
        resp = reference.softmax(model.table.weights(case.x, np.empty((7, 2))))
    assert (np.diff(bounds) >= -1e-12 * abs(exact)).all()
    assert exact - 7 * np.log(2) < bounds[0] < bounds[-1] < exact


# -- the posterior


@pytest.mark.parametrize("n_components", [1, 3])
def test_full_family_equals_scikit_learn(n_components):
    case = Case("full", n_rows=40)
    resp = reference.random_responsibilities(case.rng, 40, n_components, n_components)
    theirs = BayesianGaussianMixture(
        n_components=n_components,
        reg_covar=0.0,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=0.8,
        mean_precision_prior=0.7,
        mean_prior=case.mean,
        degrees_of_freedom_prior=case.d + 2.5,
        covariance_prior=case.scale,
    )
    theirs._check_parameters(case.x)
    theirs._initialize(case.x, resp)
    stats = case.stats(resp)
    post, weights = case.family.posterior(case.prior, stats), DirichletWeights(0.8)
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(weights.posterior(stats["count"]), theirs.weight_concentration_, **close)
    np.testing.assert_allclose(post.mean, theirs.means_, **close)
    np.testing.assert_allclose(post.mean_precision, theirs.mean_precision_, **close)
    np.testing.assert_allclose(post.dof, theirs.degrees_of_freedom_, **close)
    covariances = symmetric.unpack(post.scale / post.dof[:, None])
    np.testing.assert_allclose(covariances, theirs.covariances_, **close)
    log_prob = case.expected_log_lik(post, case.x) + weights.expected_log(stats["count"])
    np.testing.assert_allclose(log_prob, theirs._estimate_weighted_log_prob(case.x), **close)


def test_component_without_rows_has_the_prior(name):
    case = Case(name)
    resp = np.zeros((len(case.x), 2))
    resp[:, 1] = 1.0
    if case.family.tied:  # its covariance is everyone's
        post = case.posterior(resp)
        np.testing.assert_allclose(post.mean[0], case.mean, rtol=1e-14)
        return
    alone = case.expected_log_lik(case.prior.repeat(1), case.x)
    np.testing.assert_allclose(case.expected_log_lik(case.posterior(resp), case.x)[:, :1], alone, rtol=1e-12)


@pytest.mark.parametrize("structure", ["diag", "tied_diag", "spherical", "tied_spherical"])
def test_round_off_takes_nothing_from_the_prior(structure):
    """With one row far out, the squares of the prior's mean are so large that round-off hides its scale."""
    family = GAUSSIANS[structure](3)
    for far in (1e10, 1e30, 1e52):
        mean = far * np.array([1.0, 0.3, 0.7])
        prior = family.prior(None, mean_precision=0.3, mean=mean, dof=5.0, covariance=family.unit_covariances(1)[0])
        post = family.posterior(prior, family.empty_stats(4))
        assert (post.scale >= prior.scale).all()


def test_gradient_of_the_log_normalizer_is_the_expected_statistics(name):
    """Along the statistics of one row x the derivative of A is E[log F(x)] + D/2 log 2 pi: they span all directions."""
    case = Case(name)
    resp = reference.random_responsibilities(case.rng, len(case.x), 2, 2)
    stats, rows = case.stats(resp), case.rng.normal(size=(12, case.d))
    expected = case.expected_log_lik(case.family.posterior(case.prior, stats), rows)
    step = 1e-3
    for n, row in enumerate(rows):
        for k in range(2):
            direction = case.stats(np.eye(2)[[k]], x=row[None])
            a = [
                case.family.log_normalizer(case.family.posterior(case.prior, stats.copy().add(direction, c * step)))
                for c in (-2.0, -1.0, 1.0, 2.0)
            ]
            slope = (a[0] - 8 * a[1] + 8 * a[2] - a[3]) / (12 * step)  # the error is of the order of step^4
            np.testing.assert_allclose(slope - 0.5 * case.d * np.log(2 * np.pi), expected[n, k], rtol=0, atol=1e-8)


def test_terms_of_the_log_normalizer_belong_to_components(name):
    """A tied family has one term for each mean, and a last one for the shared matrix."""
    case = Case(name)
    resp = reference.random_responsibilities(case.rng, len(case.x), 3, 2)
    terms = case.family.log_normalizers(case.posterior(resp))
    np.testing.assert_allclose(terms.sum(), case.family.log_normalizer(case.posterior(resp)), rtol=1e-14)
    if case.family.tied:
        assert terms.shape == (4,)
        return
    alone = [case.family.log_normalizer(case.posterior(resp[:, [k]])) for k in range(3)]
    np.testing.assert_allclose(terms, alone, rtol=1e-12)


def draws(case, post, k, n_draws):
    """Samples (mean, precision) from q(phi_k)."""
    dof, scale = (post.dof, post.scale) if case.family.tied else (post.dof[k], post.scale[k])
    if not case.family.shape.correlated:
        tau = case.rng.gamma(0.5 * dof, 2.0 / scale, size=(n_draws, len(scale)))
        precision = tau[:, :, None] * np.eye(case.d)
    else:
        precision = wishart(dof, np.linalg.inv(symmetric.unpack(scale))).rvs(n_draws, random_state=case.rng)
    if case.name == "zero_mean":
        return np.zeros((n_draws, case.d)), precision
    roots = np.linalg.cholesky(np.linalg.inv(precision) / post.mean_precision[k])
    return post.mean[k] + np.einsum("nij,nj->ni", roots, case.rng.normal(size=(n_draws, case.d))), precision


def assert_mean_of(samples, expected):
    error = samples.std(axis=0) / np.sqrt(len(samples))
    assert (np.abs(samples.mean(axis=0) - expected) <= 4 * error + 1e-12).all()


def test_expectations_under_the_posterior_equal_means_over_draws(name):
    case = Case(name, n_features=2, n_rows=15)
    post = case.posterior(reference.random_responsibilities(case.rng, 15, 2, 2))
    rows = case.rng.normal(size=(4, 2))
    expected = case.expected_log_lik(post, rows)
    for k in range(2):
        mean, precision = draws(case, post, k, 20_000)
        centred = rows - mean[:, None]
        log_lik = 0.5 * np.linalg.slogdet(precision)[1][:, None] - np.log(2 * np.pi)
        log_lik = log_lik - 0.5 * np.einsum("nri,nij,nrj->nr", centred, precision, centred)
        assert_mean_of(log_lik, expected[:, k])
        estimate, published = case.family.point_estimate(post), case.family.expected(post)
        assert_mean_of(mean, estimate.means[k])
        assert_mean_of(np.linalg.inv(precision), dense(case, estimate, 2)[k])
        assert_mean_of(precision, np.linalg.inv(dense(case, published, 2)[k]))


def dense(case, gaussians, n_components):
    covariances = case.family.unpack_covariances(gaussians.covariances)
    return reference.dense_covariances(case.name, covariances, n_components, case.d)


def test_point_estimate_exists_without_the_mean_of_the_covariance(name):
    case = Case(name)
    case.prior = case.make_prior(dof=case.d - 0.5 if case.family.shape.correlated else 0.5)
    gaussians = case.family.point_estimate(case.prior.repeat(2))
    assert (np.linalg.eigvalsh(dense(case, gaussians, 2)) > 0).all()


# -- predictive densities


def test_predictive_density_integrates_to_one(name):
    case = Case(name, n_features=1)
    post = case.posterior(reference.random_responsibilities(case.rng, len(case.x), 2, 2))
    for k in range(2):

        def density(t, k=k):
            return np.exp(case.family.log_predictive(post, np.array([[t]]))[0, k])

        total, _ = quad(density, -np.inf, np.inf, epsabs=1e-10)
        np.testing.assert_allclose(total, 1.0, rtol=1e-8)


# -- invariances


def test_families_agree_in_one_dimension():
    cases = {name: Case(name, n_features=1) for name in WITH_MEANS}
    resp = reference.random_responsibilities(np.random.default_rng(1), 12, 3, 2)
    found = {}
    for name, case in cases.items():
        case.prior = case.make_prior(covariance=np.full_like(case.scale, 1.3))
        if case.family.tied:  # one covariance for all components: the same with one component only
            continue
        post, gaussians = case.posterior(resp), case.family.maximum_likelihood(case.stats(resp), 0.1)
        default = case.family.prior(case.family.maximum_likelihood(case.stats(np.ones((12, 1))), 0.0))
        found[name] = (
            case.evidence(resp),
            case.expected_log_lik(post, case.x),
            case.family.log_predictive(post, case.x),
            dense(case, case.family.point_estimate(post), 3),
            dense(case, gaussians, 3),
            case.family.expected_log_lik(gaussians, case.stats(resp), 0.1),
            case.expected_log_lik(default.repeat(2), case.x),
            [case.family.item_divergences(case.prior, case.x)(n) for n in range(12)],
        )
    for name in ("diag", "spherical"):
        for mine, full in zip(found[name], found["full"], strict=True):
            np.testing.assert_allclose(mine, full, rtol=1e-10, atol=1e-12)
    ones = np.ones((12, 1))
    for name in ("tied", "tied_diag", "tied_spherical"):
        np.testing.assert_allclose(cases[name].evidence(ones), cases["full"].evidence(ones), rtol=1e-12)
    tied = [case for case in cases.values() if case.family.tied]
    assert len(tied) == 3
    for case in tied:
        np.testing.assert_allclose(case.evidence(resp), tied[0].evidence(resp), rtol=1e-12)


@pytest.mark.parametrize("name", GAUSSIANS)
def test_divergences_of_some_rows_are_those_of_all(name):
    case = Case(name)
    from_row = case.family.item_divergences(case.prior, case.x)
    some = np.array([7, 2, 2, 9])
    for n in (0, 2):
        np.testing.assert_allclose(from_row(n, some), from_row(n)[some], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["diag", "spherical"])
def test_tied_covariance_of_one_component_is_its_own(name):
    alone, tied = Case(name), Case(f"tied_{name}")
    ones = np.ones((len(alone.x), 1))
    np.testing.assert_allclose(tied.evidence(ones), alone.evidence(ones), rtol=1e-12)
    posts = alone.posterior(ones), tied.posterior(ones)
    for f in ("log_predictive", "item_divergences"):
        first = posts if f == "log_predictive" else (alone.prior, tied.prior)
        found = [getattr(case.family, f)(p, alone.x) for case, p in zip((alone, tied), first, strict=True)]
        found = found if f == "log_predictive" else [g(3) for g in found]
        np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    np.testing.assert_allclose(
        tied.expected_log_lik(posts[1], alone.x), alone.expected_log_lik(posts[0], alone.x), rtol=1e-12
    )


@pytest.mark.parametrize("name", WITH_MEANS)
def test_translation_changes_no_evidence(name):
    case, by = Case(name), np.array([3.0, -7.0, 11.0])
    resp = reference.random_responsibilities(case.rng, len(case.x), 3, 2)
    moved = case.evidence(resp, case.x + by, prior=case.make_prior(mean=case.mean + by))
    np.testing.assert_allclose(moved, case.evidence(resp), rtol=1e-10)


@pytest.mark.parametrize("name", ["full", "tied", "spherical", "tied_spherical", "zero_mean"])
def test_rotation_changes_no_evidence(name):
    case = Case(name)
    q = np.linalg.qr(case.rng.normal(size=(3, 3)))[0]
    resp = reference.random_responsibilities(case.rng, len(case.x), 3, 2)
    scale = case.scale if case.family.shape.one_variance else q @ case.scale @ q.T
    turned = case.evidence(resp, case.x @ q.T, prior=case.make_prior(mean=q @ case.mean, covariance=scale))
    np.testing.assert_allclose(turned, case.evidence(resp), rtol=1e-10)


def test_order_of_components_changes_no_evidence(name):
    case = Case(name)
    resp = reference.random_responsibilities(case.rng, len(case.x), 3, 2)
    np.testing.assert_allclose(case.evidence(resp[:, [2, 0, 1]]), case.evidence(resp), rtol=1e-12)


def test_weight_two_is_the_row_twice(name):
    case = Case(name)
    resp = reference.random_responsibilities(case.rng, len(case.x), 3, 2)
    weight = case.rng.integers(1, 4, size=len(case.x))
    repeated = case.model(3).lower_bound(case.stats(np.repeat(resp, weight, axis=0), np.repeat(case.x, weight, axis=0)))
    np.testing.assert_allclose(case.model(3).lower_bound(case.stats(resp, weight=weight)), repeated, rtol=1e-11)


# -- default priors


def test_default_prior_expects_the_covariance_of_the_data(name):
    case = Case(name, n_rows=50)
    data = case.family.maximum_likelihood(case.stats(np.ones((50, 1))), 0.0)
    estimate = case.family.point_estimate(case.family.prior(data).repeat(1))
    np.testing.assert_allclose(dense(case, estimate, 1), dense(case, data, 1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(estimate.means, data.means, rtol=1e-14)


def test_prior_computes_only_what_is_not_given(name):
    case = Case(name)
    zeros = SimpleNamespace(means=None, covariances=None)
    prior = case.family.prior(zeros, 0.7, case.mean, case.d + 2.5, case.scale)
    np.testing.assert_array_equal(prior.scale, case.prior.scale)
    assert isinstance(case.family.expected(prior.repeat(2)), Gaussians)
