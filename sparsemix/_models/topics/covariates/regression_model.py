"""Model of SparseDMR: stochastic collapsed inference with priors of documents that depend on covariates."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sparsemix._models.topics.covariates.count_regression import CountRegression
from sparsemix._models.topics.covariates.dirichlet_regression import rates, sums_of_rates
from sparsemix._models.topics.gibbs_sampler import GibbsSampler
from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel

# Updates of the coefficients in an epoch, each of at most NEWTON steps.
UPDATES, NEWTON = 1, 5
# Precision of the normal priors: of intercepts, around the logarithms of the first prior, and of other coefficients.
PRECISIONS = 0.1, 1.0
# Of the shift of all intercepts that unseen documents give: they are few in small corpora.
SHIFT_PRECISION = 100.0


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
    weights : ndarray of shape (N,) or None
        Of each document.
    """

    rows: np.ndarray
    index: np.ndarray
    weight: np.ndarray
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, values, weight):
        """Of the covariates of each document, and weights or None."""
        rows, index = np.unique(values, axis=0, return_inverse=True)
        index = index.ravel()
        return cls(rows, index, np.bincount(index, weight, len(rows)).astype(np.float64), weight)

    def priors(self, numbers, coefficients):
        """Distinct rows of some documents, the place of each document's row among them, and alpha of the rows."""
        used, groups = np.unique(self.index[numbers], return_inverse=True)
        rows = self.rows[used]
        return rows, groups.ravel().astype(np.int32), rates(rows, coefficients)


@dataclass(frozen=True, eq=False)
class PriorsOfCovariates:
    """Priors that depend on covariates: see OnePrior."""

    mean: np.ndarray
    covariates: DocumentCovariates
    coefficients: np.ndarray

    def of(self, numbers):
        """alpha of the groups of some documents (groups, K), and the group of each."""
        _, groups, alpha = self.covariates.priors(numbers, self.coefficients)
        return alpha, groups


def of_topics(tokens, n_components):
    """Tokens of each topic in documents, as csr_array."""
    n = len(tokens.indptr) - 1
    cells = np.repeat(np.arange(n), np.diff(tokens.indptr)) * n_components + tokens.topics
    found = np.bincount(cells, tokens.values, n * n_components)
    kept = np.flatnonzero(found)
    ends = np.searchsorted(kept, np.arange(n + 1) * n_components)
    return sparse.csr_array((found[kept], kept % n_components, ends), shape=(n, n_components))


class RegressionSampler(GibbsSampler):
    """Gibbs sampling in which each document has the prior of its covariates; exact, as with one prior."""

    def prepare(self, counts, x, workers):  # noqa: ARG002
        """Documents sum the fixed parts of their words themselves, each under its prior."""
        self._workers = workers
        if self._fixed is None:
            self.begin(counts)


class RegressionModel(StochasticCollapsedModel):
    """Stochastic collapsed model with alpha_dk = exp(x_d' lambda_k) (Mimno and McCallum 2008).

    lambda is the mode of the Dirichlet-multinomial regression on the topics that the tokens of all documents had in
    their last visit (stochastic EM, Celeux and Diebolt 1985). While topics are averaged, lambda is the mean of
    ``modes``. ``doc_topic_prior`` is the mean of alpha over documents, which stochastic_model.py uses.

    Parameters
    ----------
    n_words : int
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
        self.averages = False
        self.modes = []
        self.sampled = {}  # documents of a chunk, and their counts of topics, by first document
        self.sampled_unseen = {}  # the same of documents that the topics have not seen
        self.shift = 0.0  # of all intercepts, since documents that the topics have seen need fewer topics
        self._numbers = {}

    def _prior_of_documents(self):
        return PriorsOfCovariates(self.doc_topic_prior, self.covariates, self.coefficients)

    def local_step(self, x, resp, scratch, numbers=None, memory=None):
        """Visit a chunk of documents."""
        self._numbers[int(numbers[0])] = numbers
        super().local_step(x, resp, scratch, numbers, memory)

    def prepare(self, x, workers):
        """See StochasticCollapsedModel."""
        self._numbers = {}
        super().prepare(x, workers)

    def draws_of(self, x, weight):  # noqa: ARG002
        """See StochasticCollapsedModel; keeps the counts of topics, and adds nothing to the statistics."""
        numbers = np.concatenate([self._numbers[first] for first in sorted(self._numbers)])
        dense = self.sampler is self.first_sampler
        tokens = [self._tokens[first] for first in sorted(self._tokens)]
        self._tokens, self._numbers = {}, {}
        kept = self.sampled_unseen if self.unseen else self.sampled

        def compute():
            if not dense:
                found = sparse.vstack([of_topics(make(), self.n_components) for make in tokens], format="csr")
                kept[int(numbers[0])] = numbers, found
            return {"draws": 0.0, "per_prior": float(len(x))}  # the second says that there were documents

        return compute

    def learn_prior_mass(self, stats):  # noqa: ARG002
        """See StochasticCollapsedModel: all intercepts shift together."""
        if self.n_components > 1 and self.sampled_unseen:
            regression = self._regression(self.sampled_unseen.values(), used_rows=True)
            self.shift = regression.shift(self._unshifted(), self.shift, SHIFT_PRECISION)
            self._set_coefficients()
            self.begin_visits()

    def _learn_doc_topic_prior(self, stats):  # noqa: ARG002
        every = max(1, round(len(self.covariates.index) / (UPDATES * self.batch_size)))  # weights make no more steps
        if self.n_steps % every == 0:
            self.learn_coefficients()

    def learn_coefficients(self):
        """lambda from the last topics of all documents."""
        sampled = [*(self.sampled_unseen | self.sampled).values()]  # averaged epochs leave no documents out
        if 2 * sum(len(numbers) for numbers, _ in sampled) < len(self.covariates.index):
            return
        mode = self._regression(sampled).mode(self._unshifted() if not self.modes else self.modes[-1], NEWTON)
        self.modes = [*self.modes, mode] if self.averages else [mode]
        self._set_coefficients()

    def _regression(self, sampled, used_rows=False):
        """The regression on the counts of topics of some documents."""
        numbers = np.concatenate([numbers for numbers, _ in sampled])
        counts = sparse.vstack([found for _, found in sampled], format="csr")
        rows, groups = self.covariates.rows, self.covariates.index[numbers]
        if used_rows:
            used, groups = np.unique(groups, return_inverse=True)
            rows = rows[used]
        mean = np.zeros_like(self.coefficients)
        mean[0] = np.log(self.first_priors[0])
        precision = np.full(len(mean), PRECISIONS[1])
        precision[0] = PRECISIONS[0]
        weight = np.ones(len(numbers)) if self.covariates.weights is None else self.covariates.weights[numbers]
        return CountRegression(rows, groups.ravel(), counts, weight, mean, precision)

    def _unshifted(self):
        """Coefficients that all documents give."""
        return np.mean(self.modes, axis=0) if self.modes else self.coefficients

    def _set_coefficients(self):
        self.coefficients = self._unshifted().copy()
        self.coefficients[0] += self.shift
        self.set_mean_prior()

    def drift(self):
        """Change of coefficients from the first half of the averaged updates to the last, and its standard error.

        Zeros and ones before four updates.
        """
        half = len(self.modes) // 2
        if half < 2:
            return np.zeros(self.coefficients[1:].shape), np.ones(self.coefficients[1:].shape)
        modes = np.array(self.modes)[:, 1:]
        first, last = modes[:half], modes[half:]
        noise = first.var(axis=0, ddof=1) / len(first) + last.var(axis=0, ddof=1) / len(last)
        return last.mean(axis=0) - first.mean(axis=0), np.sqrt(noise)

    def set_mean_prior(self):
        """Set the mean of alpha over the documents."""
        weight = self.covariates.weight
        self.doc_topic_prior = sums_of_rates(self.covariates.rows, self.coefficients, weight) / weight.sum()

    def renewed(self, n_samples_seen):
        """See StochasticCollapsedModel; without the covariates of the documents."""
        out = super().renewed(n_samples_seen)
        out.covariates, out._numbers, out.sampled, out.sampled_unseen = None, {}, {}, {}
        return out
