"""How SparseLDA learns: from documents and parameters to the plan of a fit or of a stream."""

from dataclasses import dataclass
from typing import Any, ClassVar

from sparsemix._estimator.input.checks import check_counts
from sparsemix._estimator.learning import Plan, plan_of_checkpoint
from sparsemix._estimator.progress import fingerprint
from sparsemix.topics import _plan
from sparsemix.topics._assemble import weighted_documents, with_prior
from sparsemix.topics._evaluation import warn_if_worse_than_unigrams
from sparsemix.topics._fitted import FittedTopics
from sparsemix.topics._variational import assemble, collapsed_start

REMEDY = "use SparseSCVB0LDA, whose inference suits short documents, or lower n_components"


@dataclass(frozen=True)
class VariationalRecipe:
    """See BlockRecipe; ``dtype`` is that of the tables."""

    params: Any
    dtype: Any
    numbers_go_on: ClassVar = True
    kept_as: ClassVar = "_first_documents"

    # -- rows

    def check(self, estimator, X, reset):
        return check_counts(estimator, X, reset=reset)

    def prepared(self, estimator):  # noqa: ARG002
        return self

    def rows(self, X, sample_weight, part=False):
        return weighted_documents(X, sample_weight, self.dtype, part)

    def fingerprints(self, documents):
        return [] if documents is None else [fingerprint(documents.X, documents.sample_weight)]

    def seen(self, model, documents, n_seen, fitted=None):  # noqa: ARG002
        return model, documents

    def memory(self, model, n_rows, first_row):  # noqa: ARG002
        return assemble.make_memory(self.params)  # tiles are identified by their row numbers

    # -- plans

    def plan(self, documents, rng, workers, before=None):
        params, model = self.params, self.model(documents.X.shape[1])
        documents.memory = assemble.make_memory(params)
        if before is None:
            stats = assemble.make_start(params, model, documents, rng, workers)
        else:
            stats = _plan.continued(params, model, before, documents)
        schedule = assemble.make_schedule(params, documents, rng, stats)
        stats = with_prior(params, stats, documents, model.dtype, aligns=before is None)
        if documents.source is not None:
            schedule = schedule.over(documents.source.plan)
        return Plan(documents, model, stats, schedule)

    def model(self, n_words):
        """A new model."""
        return assemble.make_model(self.params, n_words, self.dtype)

    def resumed(self, documents, saved, rng):  # noqa: ARG002
        return plan_of_checkpoint(documents, documents.source, saved)

    def stream(self, documents, rng, workers):
        params, model = self.params, self.model(documents.X.shape[1])
        stats = assemble.make_start(params, model, documents, rng, workers)
        stats = with_prior(params, stats, documents, model.dtype, times=_plan.times_of_block(params, documents))
        passes = _plan.FIRST_PASSES if params.total_samples is None else 0
        return Plan(documents, model, stats, max_iter=passes)

    def begun(self, plan, stats):
        return _plan.first_state(self.params, FittedTopics(plan.model, stats), plan.rows)

    def between(self, state, documents, workers):
        return _plan.begun_again(self, state, documents, workers)

    # -- results

    def published(self, model, stats, about):
        return {"_fitted": FittedTopics(model, stats), **about}

    def structure(self, fitted):
        return _plan.structure_of(fitted)

    def done(self, estimator, X):
        warn_if_worse_than_unigrams(estimator, X, estimator.n_iter_, REMEDY)

    # -- over blocks

    def refuse_blocks(self):
        """All parameters may be used."""

    def survey(self, documents):
        return _plan.survey_of(documents)

    def sample_size(self, survey):
        if assemble.starts_collapsed(self.params):
            return collapsed_start.n_documents(max(1.0, survey.sums["entries"] / survey.n_rows))
        return _plan.seed_documents(self.params, survey)

    def sample(self, survey, X, weight, source):
        return _plan.sampled_documents(survey, X, weight, self.dtype, source)

    def step_rows(self, documents, survey):  # noqa: ARG002
        return assemble.documents_of_step(self.params, documents.n_rows)
