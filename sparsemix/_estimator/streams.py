"""How an estimator learns from blocks of a stream and from statistics: one global step for each."""

from copy import copy
from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from sparsemix._engine.loop import Fit, advance, collect
from sparsemix._engine.schedules import LARGEST_TIMES, stream
from sparsemix._estimator import row_memory
from sparsemix._estimator.absent import check_continues
from sparsemix._estimator.base import seeded
from sparsemix._estimator.input.checks import warn_of_light_weights
from sparsemix._estimator.learning import OF_FIT, read
from sparsemix._estimator.parameters import plain
from sparsemix._rows.rates import learning_rate, rule_of
from sparsemix._rows.threads import Workers, interrupts_wait


@dataclass(frozen=True)
class StreamState:
    """State of a stream between two blocks; ``kept`` is what the recipe remembers of earlier blocks."""

    fitted: Any
    n_seen: int
    n_steps: int
    kept: Any = None

    @classmethod
    def of(cls, estimator, recipe):
        """The state that an estimator has."""
        kept = getattr(estimator, recipe.kept_as, None)
        return cls(estimator._fitted, estimator.n_samples_seen_, estimator.n_steps_, kept)

    def attributes(self, recipe):
        """Attributes of an estimator in this state."""
        found = {"_fitted": self.fitted, "n_samples_seen_": self.n_seen, "n_steps_": self.n_steps}
        return found | ({} if self.kept is None else {recipe.kept_as: self.kept})


def absorb_rows(estimator, recipe, X, sample_weight):
    """Learn from one more block of a stream."""
    estimator._validate_params()  # scikit-learn does that in the first call only
    params = estimator._params
    with estimator._all_or_nothing(step_was_made(estimator)), Workers(params.n_jobs) as workers:
        first = not hasattr(estimator, "_fitted")
        if not first:
            check_continues(params, recipe.structure(estimator._fitted), "partial_fit", "call fit")
        recipe, _, rows = read(estimator, recipe, X, sample_weight, reset=first, part=not first)
        check_step_size(params, rows)
        if first:
            state, about = begin_stream(recipe, rows, workers)
            vars(estimator).update(state.attributes(recipe) | about)
        else:
            state = StreamState.of(estimator, recipe)
        if rows.informative:  # rows without information should not discount earlier rows
            state, rows = recipe.between(state, rows, workers)
            vars(estimator).pop(recipe.kept_as, None)
            vars(estimator).update(state.attributes(recipe))
            new = visited(recipe, state.fitted, rows, workers, state.n_seen)
            absorb(estimator, new, len(rows), workers)
    return estimator


def check_step_size(params, rows):
    """Refuse a half-life of rows that come again; warn of light weights of those that come once."""
    if params.total_samples is None:  # else steps scale the block to the size of the data
        warn_of_light_weights(rows.sample_weight)
    elif params.step_size[0] == "half_life":
        raise ValueError(
            "step_size=('half_life', h) is for rows that come once, total_samples for rows that come again; "
            "give only one of them"
        )


def begin_stream(recipe, rows, workers):
    """State of a stream before its first block is counted, and attributes that describe the initialisation."""
    params = recipe.params
    plan = recipe.stream(rows, seeded(params.random_state), workers)
    stats = plan.stats
    if params.total_samples is not None:
        stats.scale(times_of(params, rows.mass))
    plan.model.global_step(stats)
    for _ in range(plan.max_iter or 0):
        stats = epoch_of(plan, stats, workers)
    return recipe.begun(plan, stats), plan.about


def epoch_of(plan, stats, workers):
    """Statistics after an epoch over the first block of a stream, before it is counted."""
    model, rows, schedule = plan.model, plan.rows, plan.schedule
    if schedule is None:
        new = collect(model, rows, slice(0, len(rows)), workers)
        new.settle()
        model.global_step(stats.clear().add(new))
        return stats
    for hook in plan.hooks:
        hook.before(schedule.epoch + 1, Fit(model, rows, schedule, None, workers), stats)
    for selection in schedule.batches():
        stats = advance(model, schedule, stats, collect(model, rows, selection, workers), workers.split)
    return stats


def visited(recipe, fitted, rows, workers, n_seen, first_row=None, memory=None):
    """Statistics of rows under a fitted model that has seen ``n_seen`` rows."""
    model, rows = recipe.seen(fitted.model, rows, n_seen, fitted)
    rows.first_row, rows.memory = first_number(recipe, n_seen) if first_row is None else first_row, memory
    return collect(model, rows, slice(0, len(rows)), workers)


def first_number(recipe, n_seen):
    """Number of a block's first row."""
    return n_seen if recipe.numbers_go_on else 0


def statistics_of(estimator, recipe, X, sample_weight, first_row=None, memory=None):
    """Statistics of rows under the fitted model, which stays unchanged."""
    check_is_fitted(estimator)
    fitted, n_seen = estimator._fitted, estimator.n_samples_seen_
    recipe, X, rows = read(estimator, recipe, X, sample_weight, reset=False, part=True)
    place = X.shape[0], first_number(recipe, n_seen) if first_row is None else plain(first_row)
    row_memory.check_place(*place)
    if memory is not None:
        row_memory.check(memory, fitted.model, rows, *place)
    with Workers(estimator._params.n_jobs) as workers:
        stats = visited(recipe, fitted, rows, workers, n_seen, place[1], memory)
        stats.settle()  # the model may learn later
    return stats


def step_was_made(estimator):
    """A function that returns whether a step was completed since this call. Ctrl-C waits for the step, which then
    stays."""
    before = getattr(estimator, "n_steps_", 0)
    return lambda: getattr(estimator, "n_steps_", 0) > before


def absorb(estimator, new, n_rows, workers, rho=None):
    """S <- (1 - rho) (N_t / N_{t-1}) S + rho (N_t / n_b) s_b, in place, and a global step."""
    params, fitted = estimator._params, estimator._fitted
    if not new.informative:  # rows without information should not discount earlier rows
        return
    model, stats = copy(fitted.model), fitted.stats
    n_seen = n_rows + (0 if rho == 1.0 else estimator.n_samples_seen_)
    total, first = params.total_samples, estimator.n_samples_seen_ == 0
    if rho is not None:
        total = float((stats if rho < 1.0 else new)["mass"])
    elif total is not None:
        times_of(params, float(new[fitted.counts_rows]))
        total *= float(stats["mass"]) / float(stats[fitted.counts_rows])
        rho = learning_rate(estimator.n_steps_ + 1, *rule_of(params.step_size))
    elif params.step_size[0] == "half_life" and not first:
        n_b, (_, half_life) = float(new["mass"]), params.step_size
        total = 0.5 ** (n_b / half_life) * float(stats["mass"]) + n_b
        rho = n_b / total
    if rho == 1.0 or (first and total is None):  # earlier statistics have weight zero
        stats = stats.zeros_like()
    elif fitted.shared or not stats.writeable:
        before, stats = stats, stats.copy()
        new.follow(before, stats)
    with interrupts_wait():
        undo, after = stats.undoing(new), None
        try:
            stats = stream(stats, new, total, rho, first)
            model.global_step(stats, workers.split)
            after = type(fitted)(model, stats)
            set_step(estimator, after, n_seen)
        except BaseException:
            if estimator._fitted is not after:
                undo()
            raise


def times_of(params, mass):
    """Ratio of ``total_samples`` to the weight of a block."""
    total = params.total_samples
    if total > LARGEST_TIMES * mass:
        raise ValueError(
            f"total_samples={total:g} is {total / mass:.3g} times the weight of all rows of X, more than "
            f"{LARGEST_TIMES:g}: lower it, or multiply sample_weight by a number"
        )
    return total / mass


def set_step(estimator, fitted, n_seen):
    """Publish a step."""
    for name in OF_FIT:
        vars(estimator).pop(name, None)
    vars(estimator).update(_fitted=fitted, n_samples_seen_=n_seen, n_steps_=estimator.n_steps_ + 1)
