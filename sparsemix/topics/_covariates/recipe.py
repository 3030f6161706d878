"""How SparseDMR learns: the fit of SparseSCVB0LDA, in which the prior of a document follows from its covariates."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsemix._engine.loop import Hook
from sparsemix._estimator.input.checks import check_counts
from sparsemix._models.topics.covariates.regression_model import DocumentCovariates, RegressionModel
from sparsemix._warnings import warn_caller
from sparsemix.topics._assemble import weighted_documents
from sparsemix.topics._collapsed import assemble_stochastic as assemble
from sparsemix.topics._collapsed import plan
from sparsemix.topics._covariates.given import GivenCovariates, names_of
from sparsemix.topics._evaluation import warn_if_worse_than_unigrams
from sparsemix.topics._fitted import FittedCounts

NO_STREAM = (
    "it learns coefficients from the covariates of all documents; call fit with all of them, or use SparseSCVB0LDA for "
    "streams and estimate_effect afterwards"
)
REMEDY = "lower n_components"
# The fit warns if a standardised coefficient changes by this from one half of the averaged epochs to the other, and by
# more than its noise: this many standard errors.
MOST_DRIFT, MOST_NOISE = 0.5, 4.0


@dataclass(frozen=True)
class RegressionRecipe:
    """See Recipe; ``covariates`` as the caller gave them."""

    params: Any
    dtype: Any
    covariates: Any = None
    validation: Any = None

    # -- rows

    def check(self, estimator, X, reset):
        X, names = check_counts(estimator, X, reset=reset), names_of(self.covariates)
        vars(estimator).pop("covariate_names_in_", None)
        if names:
            estimator.covariate_names_in_ = np.array(names, dtype=object)
        return X

    def prepared(self, estimator):
        return replace(self, validation=plan.checked_validation(self.validation, estimator))

    def rows(self, X, sample_weight, part=False):
        documents = weighted_documents(X, sample_weight, self.dtype, part)
        documents.covariates = GivenCovariates.of(self.covariates, X.shape[0], documents)
        return documents

    def fingerprints(self, documents):
        return plan.fingerprints_of(documents, self.validation, documents.covariates.values)

    # -- plans

    def plan(self, documents, rng, workers, before=None):  # noqa: ARG002
        documents, judge = plan.judged(self.params, self.validation, documents, rng, self.dtype)
        model = self._model(documents.X.shape[1], documents.covariates.design(), documents.covariates.weight)
        made = plan.plan_of_fit(self.params, model, documents, rng, workers, judge)
        return replace(made, hooks=(*made.hooks, Averaging()), about=units(documents))

    def resumed(self, documents, saved, rng):
        documents, judge = plan.judged(self.params, self.validation, documents, rng, self.dtype)
        made = plan.resumed_plan(self.params, documents, saved, judge)
        return replace(made, hooks=(*made.hooks, Averaging()), about=units(documents) | made.about)

    def model(self, n_words):
        """A new model that knows no documents, for topics that are changed after a fit."""
        return self._model(n_words, np.empty((0, 1)), None)

    def _model(self, n_words, design, weight):
        model_class = partial(RegressionModel, covariates=DocumentCovariates.of(design, weight))
        return assemble.make_model(self.params, n_words, self.dtype, model_class)

    # -- results

    def published(self, model, stats, about):
        return {"_fitted": FittedCounts(model, stats), **about}

    def done(self, estimator, X):
        warn_if_worse_than_unigrams(estimator, X, estimator.n_iter_, REMEDY)
        change, noise = estimator._fitted.model.drift()
        if np.any((np.abs(change) > MOST_DRIFT) & (np.abs(change) > MOST_NOISE * noise)):
            n_iter = estimator.n_iter_
            warn_caller(
                f"coef_ still changed in the last of {n_iter} epochs; set max_iter={2 * n_iter}, or "
                "give fewer covariates",
                ConvergenceWarning,
            )

    def refuse_blocks(self):
        raise ValueError("SparseDMR fits documents in memory, because " + NO_STREAM)


def units(documents):
    """Attributes of the estimator that give its coefficients the units of the covariates."""
    return {"_center": documents.covariates.center, "_scale": documents.covariates.scale}


class Averaging(Hook):
    """Tells the model when its coefficients are averaged: together with the topics."""

    def before(self, epoch, fit, stats):
        """See Hook."""
        fit.model.averages = epoch > fit.schedule.last_warm
        return stats
