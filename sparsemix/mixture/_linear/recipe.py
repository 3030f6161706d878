"""How a mixture with a linear likelihood learns: from rows and parameters to the plan of a fit or of a stream."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sparsemix._compat import StrOptions
from sparsemix._estimator.input.checks import of_positive_weight
from sparsemix._estimator.learning import Plan, plan_of_checkpoint
from sparsemix._estimator.progress import fingerprint
from sparsemix._estimator.streams import StreamState
from sparsemix._heuristics.mixture.births import Recent
from sparsemix._heuristics.mixture.linear_births import RECENT, late_halves
from sparsemix._models.mixture.model import LinearMixture
from sparsemix._rows.threads import Workers
from sparsemix._stats.altered import altered
from sparsemix._stats.weights import weights_of
from sparsemix.mixture import _plan
from sparsemix.mixture._estimator import CONSTRAINTS
from sparsemix.mixture._fitted import FittedMixture
from sparsemix.mixture._initial_values import refuse_responsibilities
from sparsemix.mixture._linear._start import SEEDINGS, first_rows, part_of, seed_rows, start

# Constraints of the parameters that all mixtures with a linear likelihood have.
LINEAR_CONSTRAINTS = CONSTRAINTS | {"init_params": [StrOptions(set(SEEDINGS)), "array-like", dict]}
# The default tolerance in nats per row, and as a part of what a fit of dense directions gains by chance. Up to a tenth,
# labels of embeddings with 200 and 1,000 components agreed as well with true ones as with smaller values.
TOL = 0.01


@dataclass(frozen=True)
class LinearRecipe:
    """See BlockRecipe; ``likelihood`` is a ``Likelihood``.

    Its estimator has ``_fixed_params["first_epochs"]``: by inference, the number of online epochs before learning.
    """

    params: Any
    likelihood: Any
    numbers_go_on: ClassVar = False
    kept_as: ClassVar = "_recent"

    # -- rows

    def check(self, estimator, X, reset):
        return self.likelihood.check(estimator, X, reset)

    def prepared(self, estimator):
        known = getattr(self.likelihood, "prepared", None)
        return self if known is None else replace(self, likelihood=known(estimator))

    def rows(self, X, sample_weight, part=False):
        X, sample_weight, kept = of_positive_weight(X, sample_weight, part)
        if kept is None and sample_weight is not None and (sample_weight == 1.0).all():
            sample_weight = None
        rows = self.likelihood.rows(X, sample_weight)
        rows.kept = kept
        self.likelihood.refuse(rows.X, kept)
        return rows

    def fingerprints(self, rows):
        return [] if rows is None else [fingerprint(rows.X, rows.sample_weight)]

    def seen(self, model, rows, n_seen, fitted=None):  # noqa: ARG002
        rows.dtype = model.dtype
        rows.read_as(model.family)
        return model.reading(rows), rows

    memory = staticmethod(_plan.memory)

    # -- plans

    def plan(self, rows, rng, workers, before=None):
        params = self.params
        self._check_enough(rows, "give more rows or lower n_components")
        if before is None:
            model, stats = self._started(rows, rng, workers)
        else:
            model, stats = _plan.continued(params, before, rows, self.structure(before))
            model = altered(model, dtype=np.dtype(rows.dtype))
            rows.read_as(model.family)
        schedule = _plan.schedule_of(params, rows, rng)
        search = _plan.search_of(params, rng, schedule.step_rows, rows.sparse, linear=True)
        rows.memory = _plan.lists_of(search, rows)
        return Plan(rows, altered(model, search=search), stats, schedule, tol=self._tol(rows))

    def resumed(self, rows, saved, rng):  # noqa: ARG002
        source, tol = rows.source, self._tol(rows)
        return replace(plan_of_checkpoint(self.seen(saved["model"], rows, 0)[1], source, saved), tol=tol)

    def stream(self, rows, rng, workers):
        self._check_enough(rows, "give the first call of partial_fit at least n_components rows")
        model, stats = self._started(rows, rng, workers)
        search = _plan.search_of(self.params, rng, len(rows), rows.sparse, stored=False, linear=True)
        return Plan(rows, altered(model, search=search), stats)

    def begun(self, plan, stats):
        return StreamState(FittedMixture(plan.model, stats), 0, 0)

    def between(self, state, rows, workers):
        fitted = _plan.with_entries(self.params, state.fitted)
        if not state.n_seen or self.params.step_size[0] != "half_life":
            return replace(state, fitted=fitted), rows
        model, seen = self.seen(fitted.model, rows, state.n_seen)
        recent = Recent(self.params.step_size[1], fitted.stats, state.kept, RECENT)
        seen = part_of(seen, np.arange(len(seen)))
        found = late_halves(model, fitted.stats, seen, part_of, recent, workers)
        fitted = fitted if found is None else FittedMixture(*found)
        return replace(state, fitted=fitted, kept=recent), rows

    def _started(self, rows, rng, workers):
        """A new model and its initial statistics."""
        params = self.params
        family, sizes = self.likelihood.family(params, rows), (params.n_components, _plan.kept_entries(params))
        model = LinearMixture(family, weights_of(params), *sizes, rows.dtype, params.inference == "vb")
        return model, start(params, model, rows, rng, workers, self.likelihood.sums)

    def _tol(self, rows):
        """The tolerance; by default a part of K D / N, which is AIC's estimate of what a row gains by chance."""
        if self.params.tol is not None:
            return self.params.tol
        by_chance = 0.0 if rows.sparse else self.params.n_components * rows.width / rows.mass
        return TOL * max(1.0, by_chance)

    def _check_enough(self, rows, remedy):
        self.likelihood.check_information(rows)
        _plan.check_enough(self.params, rows, remedy)

    # -- results

    def published(self, model, stats, about):
        return _plan.published(self.params, model, stats, about)

    def structure(self, fitted):
        return _plan.structure_of(fitted)

    def done(self, estimator, X):
        if getattr(self.likelihood, "keeps_labels", False):
            with Workers(self.params.n_jobs) as workers:
                estimator.labels_ = estimator._fitted.labels(self.exact_rows(estimator._fitted, X), workers)

    # -- predictions

    def readable(self, estimator, X, density=False):
        """Checked X to predict, or to give a density of."""
        X = self.check(estimator, X, reset=False)
        if density:
            self.likelihood.refuse(X, None)
        return X

    def exact_rows(self, fitted, X):
        """Rows for predictions."""
        rows = self.likelihood.exact_rows(X)
        rows.read_as(fitted.model.family)
        return rows

    def as_learned(self, fitted, X):
        """The fitted model, and rows as learning reads them."""
        return self.seen(fitted.model, self.likelihood.rows(X, None), 0)

    def columns(self, fitted, names, shares):
        if not hasattr(self.likelihood, "columns"):
            raise TypeError(f"{type(self.likelihood).__name__} has no method columns, which summary() needs; add it")
        return self.likelihood.columns(fitted.plug_in, names, shares)

    # -- over blocks

    def refuse_blocks(self):
        refuse_responsibilities(self.params.init_params)

    def survey(self, rows):
        return {"total": rows.total()}

    def sample_size(self, survey):  # noqa: ARG002
        return max(seed_rows(self.params), first_rows(self.params))

    def sample(self, survey, X, weight, source):
        rows = self.likelihood.rows(X, weight)
        rows.source, rows.whole = source, {"mass": float(survey.sums["mass"]), "total": survey.sums["total"]}
        return rows

    def step_rows(self, rows, survey):  # noqa: ARG002
        return _plan.rows_of_batch(self.params, survey.n_rows)
