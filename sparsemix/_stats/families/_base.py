"""Shared code of the Gaussian families: the interface, and whatever does not depend on the covariance structure."""

from abc import ABC, abstractmethod
from dataclasses import fields, replace

import numpy as np
from scipy.special import gammaln

from sparsemix._kernels.gaussians import _accumulate
from sparsemix._stats import symmetric
from sparsemix._stats.families._shapes import serial, whitened
from sparsemix._stats.families._tables import LOG_2PI, Gaussians, Structured
from sparsemix._stats.suffstats import SufficientStatistics

# Smaller counts mean an empty component.
EMPTY = 1e-10


class ConjugateParameters:
    """A prior (one component) or posterior (K components): a dataclass of arrays, components first, or None."""

    def repeat(self, n_components):
        """The prior, repeated K times, as the posterior of empty components."""
        values = (getattr(self, field.name) for field in fields(self))
        return type(self)(*(value if value is None else np.repeat(value, n_components, axis=0) for value in values))

    def unrepaired(self):
        """The same without repair: indefinite matrices get the log determinant NaN, so that callers can refuse them."""
        return self


class GaussianFamily(Structured, ABC):
    """A likelihood family with its conjugate prior; it holds the number of features and no data.

    A family defines its statistics (``spec``), the conjugate update (``posterior``), the Gaussians that represent a
    posterior (``expected``: E[log F(x | phi_k)] = log N(x | means, covariances) + extra; ``point_estimate``: posterior
    mean parameters), the log normaliser A of the prior (the log evidence is a difference of two), and the divergence
    used to initialise clusters.

    The class attributes declare what other modules may use; no other module compares names of families.

    Attributes
    ----------
    name : str
        Value of ``covariance_type``.
    structure : str
        Key of STRUCTURES, which declares ``shape`` and ``tied``.
    has_means : bool
        Whether components have means; else these are zero.
    has_scales : bool
        Whether the scales of priors may be learned.
    has_loadings : bool
        Whether the statistics contain sums of latent factors.
    additive_alone : bool
        Whether the evidence of a component depends on its sums only, so that clusters may grow one by one.
    """

    name = structure = "full"
    has_means = True
    has_scales = False
    has_loadings = False
    additive_alone = True

    def __init__(self, n_features):
        self.n_features = n_features

    # -- loadings; most families have none

    @property
    def plain(self):
        """The family without loadings, used to initialise clusters."""
        return self

    # -- sizes

    @property
    def directions(self):
        """Number of directions in which a component's own covariance is estimated; 0 for single variances."""
        return self.n_features if self.shape.correlated and not self.tied else 0

    @classmethod
    def directions_of_batch(cls, n_features, rank):  # noqa: ARG003
        """The same for the rows of an online batch, before the family exists; ``rank`` is the number of loadings."""
        return cls(n_features).directions

    # -- statistics

    @abstractmethod
    def spec(self):
        """Shapes of the sums by component, without the leading K, and of the shared sums."""

    def empty_stats(self, n_components, shift=None, sparse=False):  # noqa: ARG002
        """Statistics of no rows; sums of Gaussians are never ``sparse``."""
        by_component, shared = self.spec()
        return SufficientStatistics(
            {"count": np.zeros(n_components)}
            | {name: np.zeros((n_components, *shape)) for name, shape in by_component.items()},
            {"mass": np.zeros(()), "entropy": np.zeros(())} | {name: np.zeros(shape) for name, shape in shared.items()},
            shift,
        )

    def under(self, gaussians):  # noqa: ARG002
        """The family with latent factors inferred under these Gaussians; without latent factors, the family itself."""
        return self

    @abstractmethod
    def accumulate(self, stats, x, groups, first, last):
        """Add rows ``x``, grouped by component, to components ``first`` to ``last``."""

    def accumulate_shared(self, stats, x, groups, sample_weight):
        """Add rows to the shared sums; most families have none."""

    def add_spread(self, stats, k, spread):
        """Add covariances of missing values, summed over rows, to the second moments of component k: (D, D), or
        (D,) where columns are independent."""
        sums = stats["scatter"][0] if self.tied else stats["second"][k]
        sums += self.shape.summed(spread)

    # -- Bayesian updates

    @abstractmethod
    def prior(self, data, mean_precision=None, mean=None, dof=None, covariance=None):
        """Prior with the given parameters; None: computed from ``data``, all rows as one Gaussian.

        ``covariance`` is B0 in scikit-learn's shape; ``mean`` is relative to the shift.
        """

    @abstractmethod
    def posterior(self, prior, stats):
        """Prior + statistics."""

    def blurred(self, post, counts, blur):
        """The posterior if every row is a small cloud of variances ``blur`` (D,): adds N_k of them to the scale."""
        return replace(post, scale=post.scale + counts[:, None] * blur)

    def prior_scales(self, prior, post, split=serial, n_means=0.0):
        """s_k >= 1, (2, K), or (2, 1) if tied: multiplying the scale B_0 of a prior by s_k maximises its evidence.

        ``post`` is prior + statistics. Only families with ``has_scales``: a covariance has several entries, which the
        prior couples. In the second row the evidence is multiplied by s_k^(D n_means / 2).
        """
        raise NotImplementedError

    def rescaled(self, prior, post, scales):
        """The posterior under priors with scales multiplied by ``scales``."""
        added = (scales[:, None] - 1.0) * prior.scale
        return replace(post, scale=post.scale + (added[0] if self.tied else added))

    def log_shares(self, prior, scales):
        """The term that the normaliser of each rescaled prior adds to the evidence, (K,), or (1,) if tied."""
        return 0.5 * self.n_features * prior.dof * np.log(scales) if self.has_scales else np.zeros(len(scales))

    def dof_of_scales(self, prior, post, n_means):
        """Degrees of freedom of each posterior, (2, K); in the second row in units in which nu_0 + n_means is nu_0."""
        return np.stack([np.atleast_1d(post.dof * (prior.dof / (prior.dof + n))) for n in (0.0, n_means)])

    @abstractmethod
    def expected(self, post):
        """Gaussians whose log density (with ``extra``) is the expected log likelihood under ``post``."""

    @abstractmethod
    def point_estimate(self, post):
        """Gaussians with the posterior mean of the mean and of the covariance."""

    @abstractmethod
    def log_normalizers(self, params):
        """Terms of A of a prior or posterior: one per component, (K,), then one for shared parameters, if any."""

    def log_normalizer(self, params):
        """A of a prior or posterior: the sum of its terms."""
        return self.log_normalizers(params).sum()

    def evidence(self, prior, post, stats):
        """Data term of the lower bound at ``post`` = prior + statistics ([HS16] Eq. 31)."""
        n_components = stats.n_components
        base = -0.5 * self.n_features * LOG_2PI * float(stats["count"].sum())
        return base + float(self.log_normalizer(post)) - float(self.log_normalizer(prior.repeat(n_components)))

    @abstractmethod
    def log_predictive(self, post, x):
        """Log posterior predictive densities of rows ``x`` (n, D), shape (n, K)."""

    # -- maximum likelihood

    @abstractmethod
    def covariances_of(self, stats, means, counts):
        """Maximum-likelihood covariances for the given means, in the shape of the structure."""

    def maximum_likelihood(self, stats, reg_covar, previous=None):
        """M-step of EM; empty components keep their previous parameters."""
        count = stats["count"]
        live = count > EMPTY
        safe = np.where(live, count, 1.0)
        means = stats["first"] / safe[:, None] if self.has_means else np.zeros((len(count), self.n_features))
        covariances = self.add_to_diagonal(self.covariances_of(stats, means, safe), reg_covar)
        if not live.all():
            if previous is None:
                previous = Gaussians(self.structure, np.zeros_like(means), self.unit_covariances(len(count)))
            means = np.where(live[:, None], means, previous.means)
            if not self.tied:
                keep = live.reshape(-1, *[1] * (covariances.ndim - 1))
                covariances = np.where(keep, covariances, previous.covariances)
        return Gaussians(self.structure, means, covariances)

    def expected_log_lik(self, gaussians, stats, reg_covar):
        """Sum over rows of E_r[log N(x | gaussians)] at the maximum-likelihood parameters of ``stats``.

        The scatter about a mean is then N_k (covariance - reg_covar), so only traces and determinants remain.
        """
        d = self.n_features
        per_row = d * LOG_2PI + gaussians.log_dets() + d - reg_covar * gaussians.precision_traces()
        return -0.5 * float((stats["count"] * per_row).sum())

    def add_to_diagonal(self, covariances, value):
        """Covariances with ``value`` added to the diagonal."""
        return covariances + value

    @abstractmethod
    def unit_covariances(self, n_components):
        """Identity matrices in the shape of the structure."""

    def pack_covariances(self, covariances):
        """Convert covariances from scikit-learn's shape to that of the structure."""
        return np.array(covariances, dtype=np.float64)

    def unpack_covariances(self, covariances):
        """Convert covariances from the structure's shape to scikit-learn's."""
        return covariances

    def published_covariances(self, gaussians):
        """Covariances in scikit-learn's shape."""
        return self.unpack_covariances(gaussians.covariances)

    def published_precisions(self, gaussians):
        """Inverses of the covariances in scikit-learn's shape."""
        return 1.0 / self.published_covariances(gaussians)

    def precision_factors(self, gaussians):
        """Upper triangular factors of the precisions, or their square roots, in scikit-learn's shape."""
        return 1.0 / np.sqrt(self.published_covariances(gaussians))

    def square_roots(self, gaussians):
        """A function of k: a matrix whose product with its transpose is the covariance of component k."""
        covariances = self.published_covariances(gaussians)
        return lambda k: np.sqrt(covariances if self.tied else covariances[k]) * np.eye(self.n_features)

    def density_covariances(self, gaussians):
        """All numbers of the covariances, in the shapes that ``from_parameters`` takes."""
        return self.published_covariances(gaussians)

    def published_scale(self, prior):
        """B_0 of a prior, in the shape of the parameter ``covariance_prior``."""
        scale = prior.scale if self.tied else prior.scale[0]
        return float(scale[0]) if self.shape.one_variance else self.unpack_covariances(scale)

    @abstractmethod
    def stats_of(self, gaussians, counts):
        """Statistics of ``counts`` rows with exactly these means and covariances."""

    @abstractmethod
    def n_parameters(self, n_components):
        """Free parameters of means and covariances."""

    # -- initialisation

    @abstractmethod
    def item_divergences(self, prior, x):
        """Function of n: smoothed Bregman divergences of all rows ``x``, or of ``rows``, from row n, (n_rows,)."""


class PackedCovariances:
    """Covariances as packed lower triangles, for families with full matrices."""

    def blurred(self, post, counts, blur):
        """See GaussianFamily."""
        post.scale[:, symmetric.diagonal_positions(self.n_features)] += counts[:, None] * blur
        return post

    def add_to_diagonal(self, covariances, value):
        """See GaussianFamily."""
        covariances[..., symmetric.diagonal_positions(self.n_features)] += value
        return covariances

    def pack_covariances(self, covariances):
        """See GaussianFamily."""
        return symmetric.pack(covariances)

    def unpack_covariances(self, covariances):
        """See GaussianFamily."""
        return symmetric.unpack(covariances)

    def published_precisions(self, gaussians):
        """See GaussianFamily."""
        factors = self.precision_factors(gaussians)
        return factors @ np.swapaxes(factors, -1, -2)

    def precision_factors(self, gaussians):
        """See GaussianFamily."""
        factors = np.swapaxes(symmetric.unpack_triangle(whitened(gaussians.covariances)[0]), -1, -2)
        return factors[0] if self.tied else factors

    def square_roots(self, gaussians):
        """See GaussianFamily."""
        factors = symmetric.cholesky(np.atleast_2d(gaussians.covariances))
        return lambda k: symmetric.unpack_triangle(factors[0 if self.tied else k])


def student(gaussians, dof, x):
    """Log densities of multivariate Student-t's with location ``means`` and scale ``covariances``, (n, K)."""
    d = x.shape[1]
    table = Gaussians(gaussians.structure, gaussians.means, gaussians.covariances).table(
        np.zeros(len(gaussians.means)), np.float64
    )
    out = np.empty((len(x), len(gaussians.means)))
    log_dets = gaussians.log_dets()
    table.weights(np.ascontiguousarray(x, dtype=np.float64), out)
    mahalanobis = -2.0 * out - log_dets - d * LOG_2PI
    constant = gammaln(0.5 * (dof + d)) - gammaln(0.5 * dof) - 0.5 * (d * np.log(dof * np.pi) + log_dets)
    return constant - 0.5 * (dof + d) * np.log1p(mahalanobis / dof)


def add_first(stats, x, groups, first, last):
    """Add the weighted sums of rows."""
    _accumulate.add_first(x, groups.starts, groups.rows, groups.resp, first, last, stats["first"])
