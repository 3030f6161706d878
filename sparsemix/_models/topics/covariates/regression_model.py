"""Model of SparseDMR: stochastic collapsed inference with priors of documents that depend on covariates."""

from dataclasses import dataclass

import numpy as np
from scipy.special import psi

from sparsemix._kernels.documents import _special
from sparsemix._kernels.split import _split
from sparsemix._models.topics.covariates.dirichlet_regression import fit_rates, rates, sums_of_rates
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
    weight : ndarray of shape (G,)
        Weight of the documents of each row.
    """

    rows: np.ndarray
    index: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, values, weight):
        """Of the covariates of each document, and weights or None."""
        rows, index = np.unique(values, axis=0, return_inverse=True)
        index = index.ravel()
        return cls(rows, index, np.bincount(index, weight, len(rows)).astype(np.float64))

    def priors(self, numbers, coefficients):
        """Distinct rows of some documents, the place of each document's row among them, and alpha of the rows."""
        used, groups = np.unique(self.index[numbers], return_inverse=True)
        rows = self.rows[used]
        return rows, groups.ravel().astype(np.int32), rates(rows, coefficients)


class RegressionSampler(GibbsSampler):
    """Gibbs sampling in which each document has the prior of its covariates; exact, as with one prior."""

    def __getstate__(self):
        return vars(RegressionSampler(self.n_sweeps))

    def priors(self, model, numbers):
        """See GibbsSampler."""
        _, groups, alpha = model.covariates.priors(numbers, model.coefficients)
        return _split.padded(alpha * self._inverse[: model.n_components], model.dtype), groups

    def prepare(self, model, x, workers):  # noqa: ARG002
        """Documents sum the fixed parts of their words themselves, each under its prior."""
        self._workers = workers
        if self._fixed is None:
            self.begin(model)


class RegressionModel(StochasticCollapsedModel):
    """Stochastic collapsed model with alpha_dk = exp(x_d' lambda_k) (Mimno and McCallum 2008).

    The statistic "tables" is T = sum_d x_d t_d', with the expected tables t_dk = alpha_dk (psi(alpha_dk + N_dk) -
    psi(alpha_dk)): tokens that are draws from the prior, not repetitions. The statistic "exposure" has, for each
    distinct row of covariates, the sum of psi(A_d + N_d) - psi(A_d). Both hardly change with lambda, so those of
    different steps can be combined, and both give each document the same weight, which depends on the steps. Given
    both, lambda_k is a Poisson regression. ``doc_topic_prior`` is the mean of alpha over documents, which
    stochastic_model.py uses.

    Parameters
    ----------
    sampler : GibbsSampler
        Its sweeps are those of the ``RegressionSampler`` of the model.
    covariates : DocumentCovariates
    **settings
        Of StochasticCollapsedModel.
    """

    def __init__(self, n_words, *, sampler, covariates, **settings):
        super().__init__(n_words, sampler=RegressionSampler(sampler.n_sweeps), **settings)
        self.coefficients = np.zeros((covariates.rows.shape[1], self.n_components))
        self.coefficients[0] = np.log(self.doc_topic_prior)
        self.covariates = covariates
        self._numbers = {}

    def empty_stats(self, rows=None, selection=None):
        """See StochasticCollapsedModel."""
        stats = super().empty_stats(rows, selection)
        stats._by_component["tables"] = np.zeros((self.n_components, len(self.coefficients)))
        stats._shared["exposure"] = np.zeros(0 if self.covariates is None else len(self.covariates.rows))
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
            of, groups, alpha = self.covariates.priors(numbers, coefficients)
            total, tables = alpha.sum(axis=1)[groups], np.zeros((self.n_components, of.shape[1]))
            exposure = weight * (psi(total + x.lengths()) - psi(total))
            of_rows = np.bincount(self.covariates.index[numbers], exposure, len(self.covariates.rows))
            if tokens is None:  # neutral: documents visited densely leave the coefficients unchanged
                tables += (np.bincount(groups, exposure)[:, None] * alpha).T @ of
            else:
                first = 0
                for part in (make() for make in tokens):
                    last = first + len(part.indptr) - 1
                    _special.sum_tables(
                        part.indptr, part.topics, part.values, weight[first:last], alpha, of, groups[first:last], tables
                    )
                    first = last
            return {
                "draws": tables[:, 0], "per_prior": exposure @ total / mass, "tables": tables, "exposure": of_rows,
            }  # fmt: skip

        return compute

    def learn_prior_mass(self, stats):
        """See StochasticCollapsedModel."""
        before = self.doc_topic_prior.sum()
        super().learn_prior_mass(stats)
        self.coefficients[0] += np.log(self.doc_topic_prior.sum() / before)

    def _learn_doc_topic_prior(self, stats):
        every = max(1, round(len(self.covariates.index) / (UPDATES * self.batch_size)))  # weights make no more steps
        if self.n_steps % every == 0:
            self.learn_coefficients(stats)

    def learn_coefficients(self, stats):
        """Newton steps for lambda, then the mass from unseen documents, if there are any."""
        mean = np.zeros_like(self.coefficients)
        mean[0] = np.log(self.first_priors[0])
        precision = np.full(len(mean), PRECISIONS[1])
        precision[0] = PRECISIONS[0]
        self.coefficients, _ = fit_rates(
            self.covariates.rows, stats["exposure"], stats["tables"].T, self.coefficients, mean, precision, NEWTON
        )
        self.set_mean_prior()
        if self.prior_mass is not None:
            self.coefficients[0] += np.log(self.prior_mass / self.doc_topic_prior.sum())
            self.doc_topic_prior *= self.prior_mass / self.doc_topic_prior.sum()

    def set_mean_prior(self):
        """Set the mean of alpha over the documents."""
        weight = self.covariates.weight
        self.doc_topic_prior = sums_of_rates(self.covariates.rows, self.coefficients, weight) / weight.sum()

    def renewed(self, n_samples_seen):
        """See StochasticCollapsedModel; without the covariates of the documents."""
        out = super().renewed(n_samples_seen)
        out.covariates, out._numbers = None, {}
        return out

