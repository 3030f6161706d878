"""Plans of stochastic collapsed inference, for all topic models that learn by it."""

from dataclasses import replace
from functools import partial

import numpy as np

from sparsemix._engine.schedules import MiniEpochs
from sparsemix._estimator.input.checks import check_counts
from sparsemix._estimator.learning import Plan, plan_of_checkpoint
from sparsemix._estimator.progress import fingerprint
from sparsemix.topics import _plan, _stopping
from sparsemix.topics._assemble import with_prior
from sparsemix.topics._collapsed import assemble_stochastic as assemble
from sparsemix.topics._collapsed.unseen_documents import UnseenDocuments, leave_out, whole
from sparsemix.topics._evaluation import Evaluation, check_held_out, mean_length, set_aside, wanted_epochs
from sparsemix.topics._fitted import FittedCounts

# -- documents held out


def evaluates(params, validation):
    """Whether documents are held out."""
    return params.early_stopping is True or validation is not None


def checked_validation(validation, estimator):
    """Counts of the documents held out; None if there are none."""
    return None if validation is None else check_counts(estimator, validation, reset=False)


def fingerprints_of(documents, *others):
    """Fingerprints of documents and of other data; None has none."""
    of_rows = [] if documents is None else [fingerprint(documents.X, documents.sample_weight)]
    return [*of_rows, *(fingerprint(each) for each in others if each is not None)]


def judged(params, validation, documents, rng, dtype):
    """Documents to learn from, and the judge of a plan, None without documents held out."""
    if not evaluates(params, validation):
        return documents, None
    held_out = validation
    if held_out is None:
        documents, held_out = set_aside(documents, rng, dtype)
    check_held_out(held_out, documents)
    return documents, partial(
        Evaluation, params=params, fitted_class=FittedCounts, held_out=held_out, learned=documents.X,
        stops=bool(params.early_stopping), least=int(_stopping.LEAST_SHARE * wanted_epochs(documents)),
        n_averaged_after=partial(averaged, params, _stopping.n_averaged_after),
    )  # fmt: skip


# -- numbers of epochs


def epochs(params, documents, judge):
    """Largest number of epochs: ``max_iter``, or a number for the length of the documents."""
    if params.max_iter is not None:
        return params.max_iter
    wanted = wanted_epochs(documents)
    return _stopping.EXTENSION * wanted if judge is not None and params.early_stopping else wanted


def averaged(params, default, n_epochs):
    """Number of averaged epochs; ``default`` computes it from a number of epochs."""
    if not assemble.averages(params):
        return 0
    return default(n_epochs) if params.n_averaged_iter is None else params.n_averaged_iter


def averaged_of(params, n_epochs, documents):
    """Number of averaged epochs among ``n_epochs``."""
    return averaged(params, partial(_stopping.n_averaged, length=mean_length(documents)), n_epochs)


# -- plans


def plan_of_fit(params, model, documents, rng, workers, judge=None, before=None):
    """The plan of a fit with a new model."""
    max_iter = epochs(params, documents, judge)
    documents.memory = assemble.make_memory()
    if before is None:
        stats = assemble.make_start(params, model, documents, rng, workers)
    else:
        stats = _plan.continued(params, model, before, documents)
    last_warm = max_iter - averaged_of(params, max_iter, documents)
    schedule = assemble.make_schedule(params, documents, rng, stats, last_warm)
    stats = with_prior(params, stats, documents, model.dtype, aligns=before is None)
    if documents.source is not None:
        schedule = schedule.over(documents.source.plan)
    model.batch_size = assemble.batch_size(params, documents, model.size(stats))
    plan = Plan(documents, model, stats, schedule, max_iter=max_iter, judge=judge)
    assemble.join_minibatches(params, plan)
    if documents.source is None:
        model.n_forming = len(documents)  # the first batches would leave rare topics without a prior
    return with_unseen(params, plan, max_iter)


def resumed_plan(params, documents, saved, judge):
    """The plan of a fit that continues from a checkpoint, maybe with another ``max_iter``."""
    schedule, max_iter = saved["schedule"], epochs(params, documents, judge)
    averages = getattr(schedule, "epoch", 0) - 1 >= getattr(schedule, "last_warm", np.inf)  # a whole epoch
    if not (judge is not None and params.early_stopping and averages):  # scores have decided when to average
        assemble.move_last_passes(schedule, averaged_of(params, max_iter, documents), max_iter)
    plan = replace(plan_of_checkpoint(documents, documents.source, saved), max_iter=max_iter, judge=judge)
    if getattr(schedule, "n_unseen", 0):
        return replace(plan, hooks=(UnseenDocuments(),))
    return plan if averages else with_unseen(params, plan, max_iter)


def plan_of_stream(params, model, documents, rng, workers):
    """The plan of a stream with a new model."""
    stats = assemble.make_start(params, model, documents, rng, workers)
    stats = with_prior(params, stats, documents, model.dtype, times=_plan.times_of_block(params, documents))
    if params.total_samples is not None:
        return Plan(documents, model, stats)
    plan = Plan(documents, model, stats, max_iter=_plan.FIRST_PASSES)
    if params.learning_method != "online":
        return plan
    documents.memory = assemble.make_memory()
    schedule = assemble.make_schedule(params, documents, rng, stats, np.inf)
    model.n_first = min(model.n_first, plan.max_iter * len(documents) / 2)  # dense visits in half of the epochs
    model.n_forming = len(documents)
    return with_unseen(params, replace(plan, schedule=schedule))


def with_unseen(params, plan, max_iter=None):
    """A plan in memory that leaves out documents, to learn from them later. By default, they decide the prior.

    ``max_iter`` is the number of epochs; None for the first block of a stream, which is counted later.
    """
    model, schedule, documents = plan.model, plan.schedule, plan.rows
    learns = model.learn_alpha or params.doc_topic_prior is None
    recur = isinstance(schedule, MiniEpochs) and schedule.size is None and documents.source is None
    if not learns or not recur or (max_iter is not None and schedule.last_warm > max_iter - 1):
        return plan
    counted = whole(documents.X)
    if counted:
        leave_out(schedule, documents, model.size(plan.stats))
    model.learn_alpha = model.learn_alpha or schedule.n_unseen > 0
    if model.learn_alpha and (schedule.n_unseen or not counted):
        model.prior_mass = model.doc_topic_prior.sum()
    return replace(plan, hooks=(UnseenDocuments(),)) if schedule.n_unseen else plan
