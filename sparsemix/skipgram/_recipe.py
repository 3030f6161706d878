"""How SkipGramTopicModel learns by steps: from word sequences and parameters to the plan of a fit or of a stream."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sparsemix._estimator.learning import Plan, plan_of_checkpoint
from sparsemix._estimator.progress import fingerprint
from sparsemix._estimator.streams import StreamState
from sparsemix.skipgram import _assemble
from sparsemix.skipgram._input import check_sequences
from sparsemix.skipgram._predict import FittedSkipGram, warn_if_worse_than_unigrams
from sparsemix.topics._plan import FIRST_PASSES


@dataclass(frozen=True)
class SkipGramRecipe:
    """See StreamRecipe; ``dtype`` is that of the tables, ``n_epochs`` the number of epochs of an earlier fit."""

    params: Any
    dtype: Any
    n_words: int | None = None
    n_epochs: int = 0
    numbers_go_on: ClassVar = True
    kept_as: ClassVar = "_recent"

    # -- rows

    def check(self, estimator, X, reset):
        n_words = self.params.n_words if reset else estimator.n_features_in_
        X, least = check_sequences(estimator, X, n_words)
        if reset:
            estimator.n_features_in_ = max(1, least) if n_words is None else n_words
        return X

    def prepared(self, estimator):
        return replace(self, n_words=estimator.n_features_in_, n_epochs=vars(estimator).get("n_iter_", 0))

    def rows(self, X, sample_weight, part=False):
        return _assemble.weighted_sequences(X, self.n_words, sample_weight, self.params.window, part)

    def fingerprints(self, documents):
        return [] if documents is None else [fingerprint(documents.X, documents.sample_weight)]

    def seen(self, model, documents, n_seen, fitted=None):  # noqa: ARG002
        model, total = model.renewed(n_seen), self.params.total_samples
        model.n_documents = total
        if total is not None:  # a previous fit has cooled the model
            model.n_visited += self.n_epochs * total
        return model, documents

    def memory(self, model, n_rows, first_row):  # noqa: ARG002
        return _assemble.make_memory()  # tiles are identified by their row numbers

    # -- plans

    def plan(self, documents, rng, workers, before=None):  # noqa: ARG002
        params = self.params
        documents.memory = _assemble.make_memory()
        model = _assemble.make_model(params, self.n_words, float(len(documents)), self.dtype)
        if before is None:
            stats = _assemble.make_start(params, model, documents, rng)
        else:
            stats = _assemble.continued(params, model, before, documents)
        return Plan(documents, model, stats, _assemble.make_schedule(params, documents, rng, stats))

    def resumed(self, documents, saved, rng):  # noqa: ARG002
        return plan_of_checkpoint(documents, documents.source, saved)

    def stream(self, documents, rng, workers):  # noqa: ARG002
        params = self.params
        model = _assemble.make_model(params, self.n_words, params.total_samples, self.dtype)
        stats = _assemble.make_start(params, model, documents, rng, streaming=True)
        return Plan(documents, model, stats, max_iter=FIRST_PASSES if params.total_samples is None else 0)

    def begun(self, plan, stats):
        return StreamState(FittedSkipGram(plan.model, stats), 0, 0)

    def between(self, state, documents, workers):  # noqa: ARG002
        return state, documents

    # -- results

    def published(self, model, stats, about):
        return {"_fitted": FittedSkipGram(model, stats), **about}

    def structure(self, fitted):
        return {"n_components": fitted.model.n_components}

    def done(self, estimator, X):
        warn_if_worse_than_unigrams(estimator, X, estimator.n_iter_)
