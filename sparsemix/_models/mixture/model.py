"""Models of mixtures: local step, sums, global step, bound."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from sparsemix._kernels.gaussians import _accumulate
from sparsemix._kernels.vectors import _topl
from sparsemix._models.mixture import annotated, missing, noisy
from sparsemix._models.mixture.candidates import TILE
from sparsemix._rows.blocks import COMPLETE, MISSING, NOISY, Observation
from sparsemix._stats.altered import altered
from sparsemix._stats.families import serial
from sparsemix._stats.responsibilities import SparseResponsibilities

LARGEST_SCALE = 1e150  # maximum factor of a prior, so that sums stay finite
# Maximum numbers of rows and of weights in a tile of sparse rows.
SPARSE_TILE, SPARSE_WEIGHTS = 1 << 11, 1 << 22
# Pieces of the sums of a chunk for each thread: a thread that has ended one takes the next.
PIECES = 4
# What kinds of values change: the table, made of the likelihood and the table of complete rows, and whether the sums of
# a chunk are those of completed rows.
TABLES = {COMPLETE: lambda _, table: table, MISSING: missing.IncompleteTable, NOISY: noisy.NoisyTable}
HAS_LATENT = {
    COMPLETE: lambda _: False, MISSING: lambda x: missing.is_missing(x) is not None, NOISY: lambda _: True,
}  # fmt: skip
# Attributes of earlier versions.
EARLIER = frozenset(("incomplete", "noise", "annotated"))


@dataclass(frozen=True)
class Groups:
    """Responsibilities by component: entries ``starts[k]`` to ``starts[k + 1]`` belong to component k."""

    starts: np.ndarray
    rows: np.ndarray
    resp: np.ndarray

    @classmethod
    def of(cls, resp, sample_weight, n_components):
        """Group the responsibilities of a chunk."""
        n_entries = resp.indices.size
        groups = cls(
            np.empty(n_components + 1, dtype=np.intp), np.empty(n_entries, dtype=np.int32), np.empty(n_entries)
        )
        _accumulate.group_by_component(
            resp.indices, resp.values, sample_weight, groups.starts, groups.rows, groups.resp
        )
        return groups

    def shares(self, n_shares):
        """Ranges of components with about equally many entries."""
        if n_shares == 1:
            return [(0, len(self.starts) - 1)]
        bounds = np.searchsorted(self.starts, np.linspace(0, self.starts[-1], n_shares + 1)[1:-1])
        bounds = [0, *bounds, len(self.starts) - 1]
        return [(int(a), int(b)) for a, b in pairwise(bounds) if b > a]


class MixtureModel:
    """An additive model: everything it learns is a function of prior + statistics.

    A subclass is a rule of inference. It defines

    - ``global_step(stats, split)``, which calls ``_make_table``;
    - ``data_bound(stats)``: the data term of the bound;
    - ``published(stats)`` and ``point_estimate(stats)``: the expected log likelihood of the components, and the log
      likelihood at their point estimates; both have ``table(log_weights, dtype, split)``.

    Parameters
    ----------
    family : GaussianFamily or LinearFamily
    weights : prior of the mixture weights
    n_components : int
        K.
    n_nonzero : int
        L, at most K.
    dtype : dtype
        Dtype of the rows and of the table of the local step; statistics are always float64.
    shift : ndarray of shape (D,) or None
        Vector that ``Rows`` subtracts; statistics store it too.
    search : CandidateSearch or None
        Candidate search; None computes the weights of all components.
    """

    variational = False  # whether components have posteriors
    observation = Observation()  # of the rows that it reads
    background = None  # component of constant density
    learned_prior = None  # what is learned of the prior that components share
    classes = owners = None  # the labels, and the number of each component's label, (K,)
    unit = "row"
    posterior = None  # EM has none
    objective = "lower_bound"
    change = None

    def __init__(self, family, weights, n_components, n_nonzero, dtype, shift=None, search=None):
        self.family = family
        self.weights = weights
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.dtype = np.dtype(dtype)
        self.shift = shift
        self.search = search
        self.table = None

    def __setstate__(self, state):
        """Earlier versions have stored the parts of ``observation``."""
        vars(self).update(state)
        if not EARLIER.isdisjoint(state):
            missing, noise, labelled = (vars(self).pop(name, 0) for name in ("incomplete", "noise", "annotated"))
            self.observation = Observation(bool(missing), noise, bool(labelled))

    def reading(self, rows):
        """The model for these rows. It computes all components if its candidate search is for the other kind of rows.
        """
        if self.search is None or self.search.sparse == rows.sparse:
            return self
        return altered(self, search=None)

    def use(self, search):
        """Let local steps find candidates by this search, or compute all components if it is None."""
        self.search = search

    def renew_search(self):
        """Let the next step recompute neighbours, after components were replaced."""
        self.search = None if self.search is None else self.search.renewed()

    def empty_stats(self, rows=None, selection=None):  # noqa: ARG002
        """Statistics of no rows; those of sparse rows have sparse sums."""
        return self.family.empty_stats(self.n_components, self.shift, sparse=rows is not None and rows.sparse)

    def blocking(self, rows):
        """Numbers of rows of a tile and of a chunk. Tiles of sparse rows are larger: each reads the whole table."""
        tile, chunk = rows.blocking(self.n_components, self.n_nonzero)
        if self.search is not None:
            tile = TILE
        elif rows.sparse:
            tile = max(tile, min(SPARSE_TILE, SPARSE_WEIGHTS // self.n_components // 64 * 64))
        return tile, max(1, chunk // tile) * tile

    def scratch(self, n_rows):
        """Buffer for the weights of a tile."""
        if self.search is not None:
            return None
        return np.empty((n_rows, self.n_components), dtype=self.dtype)

    def prepare(self, x, workers):  # noqa: ARG002
        """Prepare the local steps of a chunk; the global step has made the table."""
        if self.search is not None:
            self.search.prepare(self.table)

    def empty_responsibilities(self, x, n_rows):  # noqa: ARG002
        """Buffer for the responsibilities of a chunk."""
        return SparseResponsibilities.empty(n_rows, self.n_nonzero)

    def log_weights(self, x, scratch):
        """Weights W_nk = E[log pi_k] + E[log F(x_n | phi_k)] of a tile, over all components."""
        return self.table.weights(x, scratch[: len(x)])

    def local_step(self, x, resp, scratch, numbers=None, memory=None):
        """Responsibilities of a tile of rows ([HS16] Algorithm 1); ``numbers`` are the row numbers for errors."""
        if self.search is not None:
            self.search.local_step(x, resp, numbers, memory)
        else:
            _topl.top_l_responsibilities(self.log_weights(x, scratch), resp.indices, resp.values, resp.log_z, numbers)
        if self.background is not None:
            x, labels = annotated.split(x, self.family.n_features) if self.observation.labelled else (x, None)
            self.background.take(x, resp, labels)

    def accumulate(self, x, resp, sample_weight, stats, workers):
        """Add a chunk to the statistics, component by component."""
        groups = Groups.of(resp, sample_weight, self.n_components)
        if self.observation.labelled:
            x, _ = annotated.split(x, self.family.n_features + self.observation.noise)
        _accumulate.add_counts(groups.starts, groups.resp, stats["count"])
        stats["mass"] += len(x) if sample_weight is None else sample_weight.sum()
        entropy, given = [], sample_weight
        with workers.meanwhile(lambda: entropy.append(resp.entropy(given))):
            if self.background is not None:
                more, sample_weight = self.background.of_rows(x, resp, sample_weight)
                stats["entropy"] += more
            if HAS_LATENT[self.observation.value](x):
                missing.accumulate(self, x, groups, stats, workers)
            else:
                self.family.accumulate_shared(stats, x, groups, sample_weight)
                workers.map(
                    lambda first, last: self.family.accumulate(stats, x, groups, first, last),
                    groups.shares(PIECES * workers.n_jobs if workers.n_jobs > 1 else 1),
                )
        stats["entropy"] += entropy[0]

    def _make_table(self, expected, stats, split):
        """Make the table and the search for the next local steps from the expected log likelihood."""
        self.family = self.family.under(expected)
        self.table = self.table_of(expected, stats, split)
        if self.background is not None:
            self.background = self.background.after(stats)
        if self.search is not None:
            self.search = self.search.updated(self._moments(expected, stats), self.table)

    def table_of(self, expected, stats, split=serial):
        """The table of local steps under the expected log likelihood."""
        table = expected.table(self.weights.expected_log(stats["count"]), self.dtype, split)
        table = TABLES[self.observation.value](expected, table)
        if self.observation.labelled:
            table = annotated.AnnotatedTable(table, self.owners, self.family.n_features + self.observation.noise)
        return table

    def _moments(self, expected, stats):  # noqa: ARG002
        """Moments of the components, from which the search computes neighbours."""
        return expected

    def lower_bound(self, stats):
        """Lower bound of all rows in nats ([HS16] Eq. 18)."""
        of_share = 0.0 if self.background is None else self.background.evidence(stats)
        return self.weights.evidence(stats["count"]) + self.data_bound(stats) + float(stats["entropy"]) + of_share

    def for_rows(self, rows):
        """This model for rows that may have missing values, labels or noise."""
        return altered(self, observation=self.observation.followed_by(rows.observation))

    def reading_more(self, rows, gaussians, stats):
        """This model for rows with missing values, labels or noise, under the Gaussians of its last step."""
        model = self.for_rows(rows)
        model._make_table(gaussians, stats, serial)
        return model

    def size(self, stats):
        """Number of units of the bound: mass of rows."""
        return float(stats["mass"])

    def forget(self):
        """Nothing: local steps depend on the last global step only."""

    def keep(self, stats):
        """Refer to this copy of the last statistics, which are about to change in place; most models refer to none."""


class VariationalMixture(MixtureModel):
    """Variational Bayes: q(pi) and q(phi_k) are the priors plus the statistics.

    ``wide_prior`` has the scale of all rows, for initialisations. With ``learn_scales`` B_0 of component k is s_k times
    that of ``prior``. s_k >= 1 maximises the bound given the statistics. It is a function of the statistics, so that
    any kind of step works and no bound falls. p(s) is flat above ``usual_scale``, and proportional to s^(D / 2) below:
    with the nearly flat prior of a mean, whose covariance is that of the component, the evidence of a few rows would
    ask for no covariance at all. ``learned_prior`` says what ``with_learned_prior`` may change: the prior of the
    "covariances", "all" with the precision of the means, or None.
    """

    variational = True

    def __init__(
        self, family, weights, prior, *args, floor=None, learn_scales=False, usual_scale=1.0, wide_prior=None,
        learned_prior=None, **kwargs
    ):  # fmt: skip
        super().__init__(family, weights, *args, **kwargs)
        self.prior = prior
        self.floor = floor
        self.learn_scales = learn_scales
        self.usual_scale = usual_scale
        self.wide_prior = wide_prior
        self.learned_prior = learned_prior

    @property
    def evidence_model(self):
        """Model that evaluates splits and merges of components; it needs a prior."""
        return self

    def posterior(self, stats, split=serial):
        """q(phi_k) for all components."""
        return self.learned(stats, split)[0]

    def prior_scales(self, stats):
        """s_k of each component, (K,), or (1,) if they share a covariance."""
        return self.learned(stats)[1]

    def unscaled(self, stats):
        """q(phi_k) under priors of one scale."""
        post = self.family.posterior(self.prior, stats)
        return post if self.floor is None else self.family.blurred(post, stats["count"], self.floor)

    def learned(self, stats, split=serial):
        """q(phi_k) and s_k."""
        post = self.unscaled(stats)
        if not self.learn_scales:
            return post, np.ones(1 if self.family.tied else stats.n_components)
        scales, wider = np.minimum(self.family.prior_scales(self.prior, post, split, self.n_means), LARGEST_SCALE)
        if self.n_means and (scales < self.usual_scale).any():
            grows = np.atleast_1d(post.dof <= self.prior.dof + self.n_means)  # too few rows for any limit from above
            scales = np.maximum(scales, np.where(grows, self.usual_scale, np.minimum(wider, self.usual_scale)))
        return self.family.rescaled(self.prior, post, scales), scales

    @property
    def n_means(self):
        """Number of means that are estimated together with a covariance."""
        return (self.n_components if self.family.tied else 1) if self.family.has_means else 0

    def _log_shares(self, scales):
        """What scales add to the evidences: normalisers of the priors, and the log of p(s)."""
        less = np.log(np.minimum(scales / self.usual_scale, 1.0))
        return self.family.log_shares(self.prior, scales) + 0.5 * self.family.n_features * self.n_means * less

    def log_evidences(self, stats, split=serial):
        """Contribution of each component's rows to the bound, up to their number times log 2 pi, (K,); not if tied."""
        post, scales = self.learned(stats, split)
        family = self.family
        return family.log_normalizers(post) - family.log_normalizers(self.prior) + self._log_shares(scales)

    def global_step(self, stats, split=serial):
        """Posterior = prior + statistics, and the table of E[log pi] + E[log F] for the next local step."""
        self._make_table(self.published(stats, split), stats, split)

    def take_prior(self, prior, stats, split=serial):
        """Set the prior, and take the global step that follows from it."""
        self.prior = prior
        self.global_step(stats, split)

    def data_bound(self, stats):
        """Log evidence of the components given the responsibilities, at the posterior of ``stats``."""
        return self.evidence_at(stats, *self.learned(stats))

    def evidence_at(self, stats, post, scales):
        """The same at a known posterior and its scales."""
        return self.family.evidence(self.prior, post, stats) + self._log_shares(scales).sum()

    def point_estimate(self, stats):
        """Gaussians with the posterior means of means and covariances."""
        return self.family.point_estimate(self.posterior(stats))

    def published(self, stats, split=serial):
        """Gaussians with the published covariances B / nu, as in scikit-learn's BayesianGaussianMixture."""
        return replace(self.family.expected(self.posterior(stats, split)), floor=self.floor)


class MaximumLikelihoodMixture(MixtureModel):
    """Expectation maximisation; an empty component keeps its parameters.

    ``evidence_model`` is a VariationalMixture with default priors, which evaluates splits and merges of components.
    """

    def __init__(self, family, weights, reg_covar, *args, **kwargs):
        super().__init__(family, weights, *args, **kwargs)
        self.reg_covar = reg_covar
        self.gaussians = self.evidence_model = None

    def global_step(self, stats, split=serial):
        """Maximum likelihood given the statistics."""
        self.take(self.family.maximum_likelihood(stats, self.reg_covar, self.gaussians), stats, split)

    def take(self, gaussians, stats, split=serial):
        """Set the Gaussians, with the weights that the statistics give."""
        gaussians.check()
        self._make_table(gaussians, stats, split)
        self.gaussians = gaussians

    def data_bound(self, stats):
        """E_r[log p(x | z)] at the parameters of the last global step."""
        return self.family.expected_log_lik(self.gaussians, stats, self.reg_covar)

    def point_estimate(self, stats):  # noqa: ARG002
        """The parameters themselves."""
        return self.gaussians

    published = point_estimate


class LinearMixture(MixtureModel):
    """VB or EM over a ``LinearFamily``, whose ``fit`` does both; a table is one matrix, its weights are one product.

    It keeps the parameters of the last step: the next step starts from them, and files hold them in place of the table.
    """

    def __init__(self, family, weights, n_components, n_nonzero, dtype, variational, search=None):
        super().__init__(family, weights, n_components, n_nonzero, dtype, search=search)
        self.variational = variational
        self.parameters = None

    def __getstate__(self):
        return vars(self) | {"table": None}

    def prepare(self, x, workers):
        """See MixtureModel; makes the table if it is missing, as after unpickling."""
        if self.table is None:
            expected = self.family.expected(self.parameters, self.variational)
            self.table = expected.table(self._expected_log, self.dtype)
        super().prepare(x, workers)

    def fitted(self, stats):
        """Parameters given the statistics."""
        return self.family.fit(stats, self.variational, self.parameters)

    def global_step(self, stats, split=serial):
        """Parameters that maximise the bound, and the table of the next local step."""
        self.parameters = self.fitted(stats)
        self._expected_log = self.weights.expected_log(stats["count"])
        self._make_table(self.family.expected(self.parameters, self.variational), stats, split)

    def _moments(self, expected, stats):  # noqa: ARG002
        return stats if self.search.sparse else self.family.moments(self.parameters)

    def log_evidences(self, stats, split=serial):  # noqa: ARG002
        """See VariationalMixture; at the concentrations of the last step."""
        return self.family.log_evidences(stats, self.parameters)

    def data_bound(self, stats):
        """Data term of the bound, at the parameters that the statistics give."""
        return self.family.objective(self.fitted(stats), stats, self.variational)

    def published(self, stats):
        """The expected log likelihood."""
        return self.family.expected(self.fitted(stats), self.variational)

    def point_estimate(self, stats):
        """The log likelihood at the point estimates."""
        return self.family.plug_in(self.fitted(stats))

    def keep(self, stats):
        """See MixtureModel."""
        self.parameters = self.family.kept(self.parameters, stats)
