"""How SparseSCVB0LDA learns: from documents and parameters to the plan of a fit or of a stream."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sparsemix._estimator.input.checks import check_counts
from sparsemix.topics import _plan
from sparsemix.topics._assemble import weighted_documents
from sparsemix.topics._collapsed import assemble_stochastic as assemble
from sparsemix.topics._collapsed import plan
from sparsemix.topics._evaluation import MET, warn_if_worse_than_unigrams
from sparsemix.topics._fitted import FittedCounts

REMEDY = "lower n_components"


@dataclass(frozen=True)
class CollapsedRecipe:
    """See BlockRecipe; ``dtype`` is that of the tables, ``validation`` are documents held out, or None."""

    params: Any
    dtype: Any
    validation: Any = None
    numbers_go_on: ClassVar = True
    kept_as: ClassVar = "_first_documents"

    # -- rows

    def check(self, estimator, X, reset):
        return check_counts(estimator, X, reset=reset)

    def prepared(self, estimator):
        return replace(self, validation=plan.checked_validation(self.validation, estimator))

    def rows(self, X, sample_weight, part=False):
        return weighted_documents(X, sample_weight, self.dtype, part)

    def fingerprints(self, documents):
        return plan.fingerprints_of(documents, self.validation)

    def seen(self, model, documents, n_seen, fitted=None):  # noqa: ARG002
        return model.renewed(n_seen), documents

    def memory(self, model, n_rows, first_row):  # noqa: ARG002
        return assemble.make_memory()  # tiles are identified by their row numbers

    # -- plans

    def plan(self, documents, rng, workers, before=None):
        documents, judge = plan.judged(self.params, self.validation, documents, rng, self.dtype)
        model = self.model(documents.X.shape[1])
        return plan.plan_of_fit(self.params, model, documents, rng, workers, judge, before)

    def model(self, n_words):
        """A new model."""
        return assemble.make_model(self.params, n_words, self.dtype)

    def resumed(self, documents, saved, rng):
        documents, judge = plan.judged(self.params, self.validation, documents, rng, self.dtype)
        return plan.resumed_plan(self.params, documents, saved, judge)

    def stream(self, documents, rng, workers):
        return plan.plan_of_stream(self.params, self.model(documents.X.shape[1]), documents, rng, workers)

    def begun(self, plan, stats):
        fitted = FittedCounts(plan.model, stats)
        if self.params.total_samples is None:
            fitted.model.n_first = 0  # initialisation is over; the next steps count its documents
        return _plan.first_state(self.params, fitted, plan.rows)

    def between(self, state, documents, workers):
        return _plan.begun_again(self, state, documents, workers)

    # -- results

    def published(self, model, stats, about):
        return {"_fitted": FittedCounts(model, stats), **about}

    def structure(self, fitted):
        return _plan.structure_of(fitted)

    def done(self, estimator, X):
        warn_if_worse_than_unigrams(estimator, X, estimator.n_iter_, REMEDY)

    # -- over blocks

    def refuse_blocks(self):
        if self.params.mini_epoch is not None:
            raise ValueError(
                "mini_epoch visits the same documents several times in a row, but a fit over blocks visits them "
                "once per epoch; set mini_epoch=None"
            )
        if plan.evaluates(self.params, self.validation) and self.validation is None:
            raise ValueError(
                "early_stopping=True sets documents aside in memory, which a fit over blocks does not have; give "
                'validation_data, or leave early_stopping at "auto"'
            )

    def survey(self, documents):
        return _plan.survey_of(documents)

    def sample_size(self, survey):
        least = MET if plan.evaluates(self.params, self.validation) else 1
        return max(least, _plan.seed_documents(self.params, survey))

    def sample(self, survey, X, weight, source):
        return _plan.sampled_documents(survey, X, weight, self.dtype, source)

    def step_rows(self, documents, survey):  # noqa: ARG002
        return assemble.batch_size(self.params, documents, documents.word_totals().sum())
