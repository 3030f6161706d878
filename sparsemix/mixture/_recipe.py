"""How a mixture of Gaussians learns: from rows and parameters to the plan of a fit or of a stream."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sparsemix._engine.rounds.sample import SampledRows
from sparsemix._estimator import features
from sparsemix._estimator.input.checks import check_rows, of_positive_weight
from sparsemix._estimator.learning import Plan, plan_of_checkpoint
from sparsemix._estimator.progress import fingerprint
from sparsemix._estimator.streams import StreamState
from sparsemix._estimator.summary.columns import Numbers
from sparsemix._heuristics.mixture.births import Births, Recent, late_births
from sparsemix._heuristics.mixture.priors import LearnedPrior, of_stream
from sparsemix._heuristics.mixture.repairs import Repairs, ungrouped
from sparsemix._heuristics.mixture.start import one_component
from sparsemix._rows.blocks import Observation, Rows
from sparsemix._rows.threads import slow_blas
from sparsemix._stats.altered import altered
from sparsemix.mixture import _plan
from sparsemix.mixture._annotations.background import check_background
from sparsemix.mixture._annotations.labels import check_labels
from sparsemix.mixture._annotations.noise import check_noise
from sparsemix.mixture._annotations.rows import AnnotatedRows
from sparsemix.mixture._assemble import (
    FIT_INIT_ITER,
    MOST_RANK,
    STREAM_INIT_ITER,
    class_and_rank,
    init_size,
    make_family,
    start_fit,
    type_of,
    warn_of_counts,
)
from sparsemix.mixture._fitted import FittedMixture
from sparsemix.mixture._initial_values import refuse_responsibilities
from sparsemix.mixture._may import kinds_of, may, refuse_pairs


@dataclass(frozen=True)
class GaussianRecipe:
    """See BlockRecipe; with what the caller says of the rows in addition to their weights."""

    params: Any
    labels: Any = None
    noise: Any = None
    background: Any = False
    numbers_go_on: ClassVar = False
    kept_as: ClassVar = "_recent"

    # -- rows

    def check(self, estimator, X, reset):
        first = reset or not hasattr(estimator, "_fitted")  # blocks of a first fit are surveyed before they are read
        dtype = None if first else estimator._fitted.model.dtype
        return check_rows(estimator, X, reset=reset, dtype=dtype, missing=True)

    def prepared(self, estimator):  # noqa: ARG002
        return self

    def rows(self, X, sample_weight, part=False):
        if self.labels is None and self.noise is None:
            return values_of(X, sample_weight, part)
        refuse_pairs(self._given(), candidates=self.params.candidates)
        labels = None if self.labels is None else check_labels(self.labels, len(X))
        noise = None if self.noise is None else check_noise(self.noise, X)
        rows = values_of(X, sample_weight, part)
        kept = slice(None) if rows.kept is None else rows.kept
        return AnnotatedRows(rows, *(each if each is None else each[kept] for each in (labels, noise)))

    def _given(self):
        """Kinds of what the caller gives."""
        given = {
            "labels": self.labels is not None, "noise": self.noise is not None, "new background": self._share(),
            "candidates": self.params.candidates not in ("auto", "all"),
            "low_rank": class_and_rank(self.params.covariance_type)[0].has_loadings,
        }  # fmt: skip
        return {kind for kind, present in given.items() if present}

    def _share(self):
        """Expected share of a background that the caller gives; None without one."""
        return check_background(self.background)

    def fingerprints(self, rows):
        if rows is None:
            return []
        given = getattr(rows, "labels", None), getattr(rows, "noise_variance", None), self._share()
        found = [fingerprint(rows.X, rows.sample_weight)]
        return [*found, *(fingerprint(np.asarray(each)) for each in given if each is not None)]

    def seen(self, model, rows, n_seen, fitted=None):  # noqa: ARG002
        rows = self._in_form(model, rows)
        if model.search is not None and not may("lists", rows):
            return altered(model, search=None), rows
        return model if fitted is None else fitted.reading(rows), rows

    def _in_form(self, model, rows):
        """Rows in the form that a model reads, with labels in its numbers."""
        rows = rows.shifted(model.shift)
        rows.dtype, rows.memory = model.dtype, None
        if self._share() is not None and model.background is None:
            raise ValueError(
                "background was given to a mixture that was fitted without one; call fit with warm_start=False, or "
                "give background to the first call of partial_fit"
            )
        if rows.observation.noise:
            refuse_pairs(kinds_of(rows, model))
        if rows.observation.labelled:
            if model.owners is None:
                raise ValueError(
                    "labels were given to a mixture that was fitted without labels; call fit with warm_start=False, or "
                    "give labels to the first call of partial_fit"
                )
            rows.number(model.classes)
        return rows

    memory = staticmethod(_plan.memory)

    # -- plans

    def plan(self, rows, rng, workers, before=None):
        params = self.params
        self._check_enough(rows, "give more rows or lower n_components")
        if before is None:
            begin = self._started(rows, rng, workers, FIT_INIT_ITER)
            rows, model, stats, about = begin.rows, begin.model, begin.stats, begin.about
        else:
            model, stats = _plan.continued(params, before, rows, self.structure(before))
            rows = self._in_form(model, rows)
            model, about = model.for_rows(rows), {"init_params_": "warm"}
        schedule = _plan.schedule_of(params, rows, rng, self._directions(rows.X.shape[1]))
        search = _plan.search_of(params, rng, schedule.step_rows)
        search = search if may("lists", rows) else None
        rows.memory = _plan.lists_of(search, rows)
        model = altered(model, search=search)
        return Plan(rows, model, stats, schedule, self._hooks(rows, model), about)

    def resumed(self, rows, saved, rng):  # noqa: ARG002
        made = plan_of_checkpoint(self._in_form(saved["model"], rows), rows.source, saved)
        return replace(made, hooks=self._hooks(made.rows, made.model))

    def stream(self, rows, rng, workers):
        self._check_enough(rows, "give the first call of partial_fit at least n_components rows")
        begin = self._started(rows, rng, workers, STREAM_INIT_ITER)
        search = _plan.search_of(self.params, rng, len(begin.rows), stored=False)
        return Plan(begin.rows, altered(begin.model, search=search), begin.stats, about=begin.about)

    def begun(self, plan, stats):
        return StreamState(FittedMixture(plan.model, stats), 0, 0)

    def between(self, state, rows, workers):
        fitted = _plan.with_entries(self.params, state.fitted)
        learned = of_stream(fitted.model, fitted.stats, state.n_steps)
        if learned is not fitted.model:
            fitted = FittedMixture(learned, fitted.stats.copy())
        model, seen = self.seen(fitted.model, rows, state.n_seen, fitted)
        if model.search is not None and len(seen) and may("lists", seen):
            whole = ungrouped(model, seen, workers)
            if whole is not model:
                model, fitted = whole, FittedMixture(whole, fitted.stats.copy())
        recent = state.kept
        if state.n_seen and may("births", seen, model):
            late = None
            if self.params.step_size[0] == "half_life":
                late = recent = Recent(self.params.step_size[1], fitted.stats, recent)
            found = late_births(model, fitted.stats, seen, workers, late)
            fitted = fitted if found is None else FittedMixture(*found)
        return replace(state, fitted=fitted, kept=recent), rows

    def _started(self, rows, rng, workers, n_init_iter):
        """Rows, model and statistics from an initialisation."""
        refuse_pairs(self._given() | (set() if isinstance(self.params.init_params, str) else {"values"}))
        return start_fit(self.params, rows, rng, workers, n_init_iter, self._share())

    def _check_enough(self, rows, remedy):
        _plan.check_enough(self.params, rows, remedy)
        if self.params.verbose and slow_blas():
            print(slow_blas())

    def _directions(self, n_features):
        family, rank = class_and_rank(self.params.covariance_type)
        return family.directions_of_batch(n_features, rank or MOST_RANK)

    def _hooks(self, rows, model):
        births = [Births()] if may("births in a fit", rows, model) else []
        births += [] if model.learned_prior is None else [LearnedPrior()]
        repairs = [] if rows.memory is None or rows.source is not None else [Repairs()]
        return (*births, *repairs)

    # -- results

    def published(self, model, stats, about):
        return _plan.published(self.params, model, stats, about) | {"n_features_in_": model.family.n_features}

    def done(self, estimator, X):  # noqa: ARG002
        warn_of_counts(self.params.n_components, X)

    def structure(self, fitted):
        return _plan.structure_of(fitted) | {"covariance_type": type_of(fitted.model.family, self.params)}

    # -- predictions

    def readable(self, estimator, X, density=False):  # noqa: ARG002
        """Checked X to predict."""
        return check_rows(estimator, X, reset=False, missing=True, own=True)

    def exact_rows(self, fitted, X, noise_variance=None):
        """Rows in their own precision if tables of this dtype can represent the model, else in the model's dtype."""
        model = fitted.model
        dtype = features.feature_dtype(X) if fitted.in_single_precision else model.dtype
        rows = Rows(X, shift=model.shift, dtype=dtype)
        if noise_variance is None:
            return rows
        refuse_pairs(kinds_of(model=model) | {"noise"})
        return AnnotatedRows(rows, noise=check_noise(noise_variance, X))

    def as_learned(self, fitted, X):
        """The fitted model as it reads these rows, and rows as learning reads them."""
        rows = Rows(X, None, fitted.model.shift, fitted.model.dtype)
        return fitted.reading(rows), rows

    def columns(self, fitted, names, shares):
        gaussians, model = fitted.plug_in, fitted.model
        known = np.nan if model.observation.missing else 1.0
        means = fitted.in_data_coordinates(gaussians.means)
        found = Numbers.of_moments(names, means, gaussians.variances(), shares, known)
        one = " The mixture has one deviation for all columns." if model.family.shape.one_variance else ""
        return [replace(found, note=found.note + one)]

    # -- over blocks

    def refuse_blocks(self):
        refuse_responsibilities(self.params.init_params)

    def survey(self, rows):
        first, observed = rows.observed()
        return {"first": first, "observed": observed}

    def sample_size(self, survey):
        kind, n_components = self.params.covariance_type, self.params.n_components
        return init_size(make_family(kind, n_components, len(survey.sums["first"]), survey.n_rows), n_components)

    def sample(self, survey, X, weight, source):
        mass, observed = float(survey.sums["mass"]), survey.sums["observed"]
        with np.errstate(invalid="ignore"):
            rows = SampledRows(X, weight, source, mass, survey.sums["first"] / observed)
        rows.observation = Observation(missing=bool((observed != mass).any()))
        if len(rows) == survey.n_rows:  # the same bits as an in-memory fit, if the sample is all rows
            rows._mass = Rows(X, weight).mass
        return rows

    def step_rows(self, rows, survey):
        return _plan.rows_of_batch(self.params, survey.n_rows, self._directions(rows.X.shape[1]))

    def moments(self, one, rows, workers):
        return one_component(one, Rows(rows.X, rows.sample_weight, one.shift, one.dtype), workers)


def values_of(X, sample_weight, part):
    """Rows of positive weight, without what is said of them.

    Their ``observation`` tells missing values, which change the initialisation (``SEEDS`` and ``GAUSSIANS_OF`` in
    ``_assemble.py``) and the tables and sums of the model (``TABLES`` in ``_models/mixture/model.py``).
    """
    X, sample_weight, kept = of_positive_weight(X, sample_weight, part)
    rows = Rows(X, sample_weight)
    rows.kept = kept
    return rows
