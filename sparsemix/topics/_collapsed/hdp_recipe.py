"""How SparseHDP learns: short fits choose the number of topics to begin with, and merges the number of the result."""

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, takewhile
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsemix._estimator.input.checks import check_counts
from sparsemix._estimator.learning import carry_out
from sparsemix._models.topics.hdp_model import HDPModel
from sparsemix._rows.documents import canonical
from sparsemix._warnings import warn_caller
from sparsemix.topics._assemble import weighted_documents
from sparsemix.topics._collapsed import assemble_stochastic as assemble
from sparsemix.topics._collapsed import plan
from sparsemix.topics._collapsed.merges import SURE, gain, merged_topics, of_sums, scores
from sparsemix.topics._collapsed.unseen_documents import LEAST, SHARE, TOKENS
from sparsemix.topics._evaluation import divided, wanted_epochs, warn_if_worse_than_unigrams
from sparsemix.topics._fitted import FittedCounts

# Topics of the first short fit, and the share of the usual epochs that short fits have.
FIRST, SHORT = 16, 0.5
# The fit begins with this many times the topics of the best short fit, because random topics miss some.
SURPLUS = 1.5
# Of few documents, at most this share is set aside.
FEW_SHARE = 0.25
ALIKE = (
    "the documents do not tell the number of topics, because those found predict held-out documents no better than "
    "word frequencies do; give longer documents, or more"
)
NONE_HELD_OUT = (
    "the number of topics was not learned, because no document could be held out; give validation_data, or at least "
    "four documents of two words"
)
NO_STREAM = "it merges topics by samples of documents; call fit with all of them, or use SparseSCVB0LDA for streams"
REMEDY = "give longer documents, or more"


@dataclass(frozen=True)
class HDPRecipe:
    """See Recipe. ``monitor`` holds what an interrupted short fit publishes."""

    params: Any
    dtype: Any
    validation: Any = None
    monitor: Any = None

    # -- rows

    def check(self, estimator, X, reset):
        return check_counts(estimator, X, reset=reset)

    def prepared(self, estimator):
        return replace(self, validation=plan.checked_validation(self.validation, estimator))

    def rows(self, X, sample_weight, part=False):
        return weighted_documents(X, sample_weight, self.dtype, part)

    def fingerprints(self, documents):
        return plan.fingerprints_of(documents, self.validation)

    # -- plans

    def plan(self, documents, rng, workers, before=None):  # noqa: ARG002
        seed = rng.bit_generator.seed_seq.entropy  # short fits draw as the fit does
        documents, held_out = self._divided(documents, rng)
        params = self.params.changed(n_components=self._n_first(documents, held_out, workers, seed))
        documents, judge = plan.judged(params, self.validation, documents, rng, self.dtype)
        made = plan.plan_of_fit(params, self.model(documents.X.shape[1], params), documents, rng, workers, judge)
        return replace(made, finish=partial(self._finish, documents, held_out))

    def model(self, n_words, params=None):
        """A new model."""
        return assemble.make_model(self.params if params is None else params, n_words, self.dtype, HDPModel)

    def resumed(self, documents, saved, rng):
        documents, held_out = self._divided(documents, rng)
        documents, judge = plan.judged(self.params, self.validation, documents, rng, self.dtype)
        made = plan.resumed_plan(self.params, documents, saved, judge)
        return replace(made, finish=partial(self._finish, documents, held_out))

    def _learns(self):
        """Whether the number of topics is learned."""
        return self.params.n_components > 1 and self.params.max_iter != 0

    def _divided(self, documents, rng):
        """Training documents, and those that decide merges."""
        if self.validation is not None:
            return documents, scorable(self.validation)
        return set_aside(documents, rng, self.dtype) if self._learns() else (documents, documents.X[:0])

    def _n_first(self, documents, held_out, workers, seed):
        """Number of topics with which the fit begins.

        Short fits have twice as many topics each, until the scores of documents held out rise no more. ``n_components``
        ends this and changes nothing else, so that larger values give the same fit.
        """
        params = self.params
        most = min(params.n_components, max(FIRST, len(documents)))  # one document, one topic
        if most <= FIRST or not isinstance(params.init_params, str) or params.max_iter == 0:
            return most
        if not held_out.shape[0]:
            return FIRST
        doubled = takewhile(lambda n: n < most, (FIRST << i for i in count()))
        best = None
        for n_topics in (*doubled, most):
            reached = self._short_fit(n_topics, documents, held_out, workers, seed)
            if best is not None and gain(reached[0], best[0]) <= SURE:
                break
            best = reached
        return min(most, math.ceil(SURPLUS * best[1]))

    def _short_fit(self, n_topics, documents, held_out, workers, seed):
        """Scores and number of topics of a fit of few epochs; the monitor publishes it if it is interrupted."""
        monitor, n_epochs = self.monitor, math.ceil(SHORT * wanted_epochs(documents))
        params = self.params.changed(n_components=n_topics, max_iter=n_epochs, n_averaged_iter=None)
        model, rng = self.model(documents.X.shape[1], params), np.random.default_rng(seed)
        carry_out(plan.plan_of_fit(params, model, documents, rng, workers), monitor, workers)
        reached, n_merged = self._merge(documents, held_out, monitor, workers), monitor.model.n_components
        monitor.history = []
        if self.params.verbose:
            nats = f"{reached.mean():.3f} nats a held-out document"
            print(f"{monitor.name} short fit: {n_topics} topics, {n_merged} after merges, {nats}", flush=True)
        return reached, n_merged

    def _finish(self, documents, held_out, monitor, workers):
        """Merge the topics of a fit, and note why their number may be wrong."""
        doubt = None
        if self._learns() and not held_out.shape[0]:
            doubt = NONE_HELD_OUT
        elif self._learns() and monitor.history:
            reached = self._merge(documents, held_out, monitor, workers)
            fitted = FittedCounts(monitor.model, monitor.stats)
            one = of_sums(fitted, np.zeros(fitted.model.n_components, dtype=int), 1)
            alike = gain(reached, scores(one, held_out, self.params.n_jobs)) <= 0.0
            doubt = ALIKE if alike else None
        monitor.about = monitor.about | ({} if doubt is None else {"_doubt": doubt})

    def _merge(self, documents, held_out, monitor, workers):
        """Merge the topics of a fit; scores of the documents held out."""
        merged = merged_topics(monitor, documents, held_out, workers, self.params.n_jobs)
        monitor.step(merged.stats, merged.model)
        return scores(merged, held_out, self.params.n_jobs)

    # -- results

    def published(self, model, stats, about):
        return {"_fitted": FittedCounts(model, stats), **about}

    def done(self, estimator, X):
        warn_if_worse_than_unigrams(estimator, X, estimator.n_iter_, REMEDY)
        doubt, n = vars(estimator).pop("_doubt", None), self.params.n_components
        if estimator.n_topics_ == n and doubt is None:
            doubt = f"the number of topics was not learned and is n_components={n}; raise n_components"
        if doubt is not None:
            warn_caller(doubt, ConvergenceWarning)

    def refuse_blocks(self):
        raise ValueError("SparseHDP fits documents in memory, because " + NO_STREAM)


def scorable(X):
    """Documents that have two words, so that some can be hidden."""
    return X[np.flatnonzero(np.diff(canonical(X).indptr) > 1)]


def set_aside(documents, rng, dtype):
    """Training documents, and those that decide merges: a tenth at most of the documents that can be scored.

    Of few documents a larger share is set aside, to have LEAST.
    """
    X = documents.X
    order = rng.permutation(np.flatnonzero(np.diff(canonical(X).indptr) > 1))
    wanted = min(SHARE * len(order), TOKENS * documents.mass / documents.word_totals().sum())
    held_out = np.sort(order[: int(max(wanted, min(LEAST, FEW_SHARE * len(order))))])
    return divided(documents, held_out, dtype) if len(held_out) else (documents, X[held_out])
