"""Model of SparseDMR: stochastic collapsed inference with priors of documents that depend on covariates."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import psi

from sparsemix._kernels.split import _split
from sparsemix._models.topics.covariates.dirichlet_regression import fit_rates, rates
from sparsemix._models.topics.gibbs_sampler import GibbsSampler
from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel

# Updates of the coefficients in an epoch, each of NEWTON steps.
UPDATES, NEWTON = 4, 2
# Precision of the normal priors: of intercepts, around the logarithms of the first prior, and of other coefficients.
PRECISIONS = 0.1, 1.0


@dataclass(frozen=True)
class DocumentCovariates:
    """Covariates of the documents of a fit.

    Attributes
    ----------
    rows : ndarray of shape (G, P)
        Distinct rows; the first column is one.
    index : ndarray of shape (N,)
        Row of each document.
    lengths, weight : ndarrays of shape (N,)
        Tokens and weight of each document.
    """

    rows: np.ndarray
    index: np.ndarray
    lengths: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, values, documents):
        """Of ``Documents``, with the covariates of each."""
        rows, index = np.unique(values, axis=0, return_inverse=True)
        weight = np.ones(len(index)) if documents.sample_weight is None else documents.sample_weight
        return cls(rows, index.ravel(), np.asarray(documents.lengths(), dtype=np.float64), weight)

    def sums(self, values):
        """Weighted sums over the documents of each row."""
        return np.bincount(self.index, self.weight * values, len(self.rows))


class RegressionSampler(GibbsSampler):
    """Gibbs sampling in which each document has the prior of its covariates; exact, as with one prior."""

    def __getstate__(self):
        return vars(RegressionSampler(self.n_sweeps))

    def priors(self, model, numbers):
        """See GibbsSampler."""
        used, groups = np.unique(model.covariates.index[numbers], return_inverse=True)
        alpha = rates(model.covariates.rows[used], model.coefficients)
        fixed = alpha * self._inverse[: model.n_components]
        return _split.padded(fixed, model.dtype), groups.ravel().astype(np.int32)

    def prepare(self, model, x, workers):  # noqa: ARG002
        """Documents sum the fixed parts of their words themselves, each under its prior."""
        self._workers = workers
        if self._fixed is None:
            self.begin(model)


class RegressionModel(StochasticCollapsedModel):
    """Stochastic collapsed model with alpha_dk = exp(x_d' lambda_k) (Mimno and McCallum 2008).

    The statistic "tables" is T = sum_d x_d t_d', with the expected tables t_dk = alpha_dk (psi(alpha_dk + N_dk) -
    psi(alpha_dk)): tokens that are draws from the prior, not repetitions. They hardly change with lambda, so those of
    different steps can be combined. Given T and the exposures psi(A_d + N_d) - psi(A_d) of all documents, lambda_k is a
    Poisson regression. ``doc_topic_prior`` is the mean of alpha over documents, which stochastic_model.py uses.

    Parameters
    ----------
    n_covariates : int
        P, with the constant.
    **settings
        Of StochasticCollapsedModel.
    """

    def __init__(self, n_words, *args, n_covariates, **settings):
        super().__init__(n_words, *args, **settings)
        self.coefficients = np.zeros((n_covariates, self.n_components))
        self.coefficients[0] = np.log(self.doc_topic_prior)
        self.covariates = None
        self._numbers = {}

    def empty_stats(self, rows=None, selection=None):
        """See StochasticCollapsedModel."""
        stats = super().empty_stats(rows, selection)
        stats._by_component["tables"] = np.zeros((self.n_components, len(self.coefficients)))
        return stats

    def local_step(self, x, resp, scratch, numbers=None, memory=None):
        """Visit a chunk of documents."""
        self._numbers[int(numbers[0])] = numbers
        super().local_step(x, resp, scratch, numbers, memory)

    def prepare(self, x, workers):
        """See StochasticCollapsedModel."""
        self._numbers = {}
        super().prepare(x, workers)

    def draws_of(self, x, weight):
        """See StochasticCollapsedModel."""
        weight, coefficients = np.ones(len(x)) if weight is None else weight, self.coefficients.copy()
        mass = self.doc_topic_prior.sum()
        tokens = None if self.sampler is self.first_sampler else [self._tokens[first] for first in sorted(self._tokens)]
        numbers = np.concatenate([self._numbers[first] for first in sorted(self._numbers)])
        self._tokens, self._numbers = {}, {}

        def compute():
            covariates = self.covariates.rows[self.covariates.index[numbers]]
            alpha = rates(covariates, coefficients)
            total = alpha.sum(axis=1)
            exposure = weight * (psi(total + x.lengths()) - psi(total))
            if tokens is None:  # neutral: documents visited densely leave the coefficients unchanged
                tables = sparse.csr_array(alpha * exposure[:, None])
            else:
                tables = sparse.csr_array(weight[:, None] * tables_of([make() for make in tokens], alpha))
            return {
                "draws": tables.sum(axis=0),
                "per_prior": exposure @ total / mass,
                "tables": tables.T @ covariates,
            }

        return compute

    def learn_prior_mass(self, stats):
        """See StochasticCollapsedModel."""
        before = self.doc_topic_prior.sum()
        super().learn_prior_mass(stats)
        self.coefficients[0] += np.log(self.doc_topic_prior.sum() / before)

    def _learn_doc_topic_prior(self, stats):
        every = max(1, round(float(stats["documents"]) / (UPDATES * self.batch_size)))
        if self.n_steps % every == 0:
            self.learn_coefficients(stats)

    def learn_coefficients(self, stats):
        """Newton steps for lambda, then the mass from unseen documents, if there are any."""
        of = self.covariates
        alpha_sums = rates(of.rows, self.coefficients).sum(axis=1)
        totals = alpha_sums[of.index]
        exposure = of.sums(psi(totals + of.lengths) - psi(totals))
        # the statistics are those of earlier steps, and may lack documents that a fit leaves out
        exposure *= float(stats["per_prior"]) * self.doc_topic_prior.sum() / (exposure @ alpha_sums)
        mean = np.zeros_like(self.coefficients)
        mean[0] = np.log(self.first_priors[0])
        precision = np.full(len(mean), PRECISIONS[1])
        precision[0] = PRECISIONS[0]
        self.coefficients, _ = fit_rates(
            of.rows, exposure, stats["tables"].T, self.coefficients, mean, precision, max_steps=NEWTON
        )
        self.set_mean_prior()
        if self.prior_mass is not None:
            self.coefficients[0] += np.log(self.prior_mass / self.doc_topic_prior.sum())
            self.doc_topic_prior *= self.prior_mass / self.doc_topic_prior.sum()

    def set_mean_prior(self):
        """Set the mean of alpha over the documents."""
        share = self.covariates.sums(1.0)
        self.doc_topic_prior = share @ rates(self.covariates.rows, self.coefficients) / share.sum()

    def renewed(self, n_samples_seen):
        """See StochasticCollapsedModel; without the covariates of the documents."""
        out = super().renewed(n_samples_seen)
        out.covariates, out._numbers = None, {}
        return out


def tables_of(tokens, alpha):
    """Expected tables of documents, csr_array (n, K), from the ``TokenTopics`` of consecutive parts of them."""
    lengths = np.concatenate([np.diff(part.indptr) for part in tokens])
    topics, values = (np.concatenate([getattr(part, name) for part in tokens]) for name in ("topics", "values"))
    rows = np.repeat(np.arange(len(lengths)), lengths)
    counts = sparse.coo_array((values.astype(np.float64), (rows, topics)), shape=alpha.shape).tocsr()
    prior = alpha[np.repeat(np.arange(len(lengths)), np.diff(counts.indptr)), counts.indices]
    counts.data = prior * (psi(prior + counts.data) - psi(prior))
    return counts
