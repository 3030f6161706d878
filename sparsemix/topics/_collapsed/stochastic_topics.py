"""Base class of topic estimators by stochastic collapsed inference: fits, streams, held-out documents."""

from contextlib import contextmanager
from functools import partial

import numpy as np

from sparsemix._engine.loop import Fit
from sparsemix._engine.schedules import MiniEpochs
from sparsemix._estimator.absent import NO_BOUND, Absent
from sparsemix._estimator.base import published
from sparsemix._estimator.input.checks import check_counts
from sparsemix._estimator.progress import fingerprint
from sparsemix._models.topics.dense_sampler import DenseSampler
from sparsemix._models.topics.gibbs_sampler import GibbsSampler
from sparsemix._models.topics.stochastic_model import StochasticCollapsedModel
from sparsemix._models.topics.walker_sampler import WalkerSampler
from sparsemix._rows.documents import FirstDocuments
from sparsemix._rows.rates import LearningRates
from sparsemix._stats.packed_counts import PackedCounts
from sparsemix._stats.prior_counts import PriorCounts
from sparsemix._stats.suffstats import SufficientStatistics
from sparsemix._stats.word_rows import WordRows
from sparsemix.topics import _stopping
from sparsemix.topics._additive_topics import AdditiveTopics
from sparsemix.topics._collapsed import assemble_stochastic
from sparsemix.topics._collapsed.unseen_documents import UnseenDocuments, leave_out, whole
from sparsemix.topics._evaluation import MET, Evaluation, check_held_out, mean_length, set_aside, wanted_epochs
from sparsemix.topics._fitted import FittedCounts

NO_STOPPING = "only early stopping chooses an epoch; give fit validation_data, or set early_stopping=True"


class StochasticTopics(AdditiveTopics):
    """Topic estimator by stochastic collapsed inference.

    In addition to those of ``AdditiveTopics``, it reads the parameters of ``SparseSCVB0LDA``; a subclass that lacks one
    has its value in ``_fixed_params``.
    """

    _fitted_class = FittedCounts
    lower_bound_, lower_bounds_ = Absent(NO_BOUND), Absent(NO_BOUND)
    best_iter_, stop_reason_ = Absent(NO_STOPPING), Absent(NO_STOPPING)
    _state_classes = (
        FittedCounts, FirstDocuments, StochasticCollapsedModel, PriorCounts, SufficientStatistics, WordRows,
        PackedCounts, DenseSampler, GibbsSampler, WalkerSampler, LearningRates,
    )  # fmt: skip
    _rows_statistic = "documents"  # mass is of tokens

    @published
    def sampler_(self):
        """The sampler in use."""
        return self._fitted_part("model").later_sampler.name

    @published
    def batch_size_(self):
        """Documents per batch of the last fit."""
        return self._fitted_part("model").batch_size

    @published
    def acceptance_rate_(self):
        """Share of proposals accepted in the last epoch or block; NaN without proposals."""
        proposed, accepted = self._fitted_part("stats")["proposals"]
        return float(accepted / proposed) if proposed else float("nan")

    # -- inside a fit or a stream

    def _make_model(self, n_words):
        return assemble_stochastic.make_model(self._params, n_words, self._table_dtype)

    def _make_start(self, model, documents, rng, workers):
        return assemble_stochastic.make_start(self._params, model, documents, rng, workers)

    def _make_memory(self):
        return assemble_stochastic.make_memory()

    def _make_schedule(self, documents, rng, initial):
        max_iter = self._max_iter(documents)
        last_warm = max_iter - self._n_averaged(max_iter, documents)
        return assemble_stochastic.make_schedule(self._params, documents, rng, initial, last_warm)

    def _n_averaged(self, n_epochs, documents):
        """Number of averaged epochs among ``n_epochs``."""
        return self._given_averaged(partial(_stopping.n_averaged, length=mean_length(documents)), n_epochs)

    def _n_averaged_after(self, n_epochs):
        """Number of averaged epochs after ``n_epochs`` others."""
        return self._given_averaged(_stopping.n_averaged_after, n_epochs)

    def _given_averaged(self, default, n_epochs):
        if not assemble_stochastic.averages(self._params):
            return 0
        return default(n_epochs) if self._params.n_averaged_iter is None else self._params.n_averaged_iter

    def _documents_of_step(self, documents):
        return assemble_stochastic.batch_size(self._params, documents, documents.word_totals().sum())

    def _begin_stream(self, documents, rng, workers):
        params = self._params
        begin = super()._begin_stream(documents, rng, workers)
        if params.total_samples is None and params.learning_method == "online":
            assemble_stochastic.prepare_first_passes(params, begin, rng, self._stream_first_passes)
            begin.model.n_forming = len(begin.rows)
            self._leave_out(begin)
        return begin

    def _learn_first(self, begin, workers):
        for hook in self._hooks(begin):
            fit = Fit(begin.model, begin.rows, begin.schedule, None, workers)
            hook.before(begin.schedule.epoch + 1, fit, begin.stats)
        super()._learn_first(begin, workers)

    def _start_stream(self, rows, workers):
        super()._start_stream(rows, workers)
        if self._params.total_samples is None:
            self._fitted.model.n_first = 0  # initialisation is over; the next steps count its documents

    def _begin_fit(self, documents, rng, workers, warm):
        begin = super()._begin_fit(documents, rng, workers, warm)
        begin.model.batch_size = assemble_stochastic.batch_size(self._params, documents, begin.model.size(begin.stats))
        assemble_stochastic.join_minibatches(self._params, begin)
        if begin.rows.source is None:
            begin.model.n_forming = len(begin.rows)  # the first batches would leave rare topics without a prior
        self._leave_out(begin, self._max_iter(documents))
        return begin

    def _hooks(self, begin):
        return [UnseenDocuments()] if getattr(begin.schedule, "n_unseen", 0) else []

    def _leave_out(self, begin, max_iter=None):
        """Leave documents out of a fit in memory that will learn from them later. By default, they decide the prior.

        ``max_iter`` is the number of epochs; None for the first block of a stream, which is counted later.
        """
        model, schedule = begin.model, begin.schedule
        learns = model.learn_alpha or self._params.doc_topic_prior is None
        recur = isinstance(schedule, MiniEpochs) and schedule.size is None and begin.rows.source is None
        if not learns or not recur or (max_iter is not None and schedule.last_warm > max_iter - 1):
            return
        counted = whole(begin.rows.X)
        if counted:
            leave_out(schedule, begin.rows, model.size(begin.stats))
        model.learn_alpha = model.learn_alpha or schedule.n_unseen > 0
        if model.learn_alpha and (schedule.n_unseen or not counted):
            model.prior_mass = model.doc_topic_prior.sum()

    def _resume(self, rows, resumed):
        begin = super()._resume(rows, resumed)
        schedule, max_iter = begin.schedule, self._max_iter(rows)
        averaged = getattr(schedule, "epoch", 0) - 1 >= getattr(schedule, "last_warm", np.inf)  # a whole epoch
        if not (self._evaluates and self._params.early_stopping and averaged):  # scores have decided when to average
            assemble_stochastic.move_last_passes(schedule, self._n_averaged(max_iter, rows), max_iter)
        if not getattr(schedule, "n_unseen", 0) and not averaged:
            self._leave_out(begin, max_iter)
        return begin

    def _view(self, model, documents, n_seen):
        return model.renewed(n_seen), documents

    # -- scores of held-out documents, and early stopping

    @contextmanager
    def _watched_by(self, validation_data):
        self._validation_data = validation_data
        try:
            yield
        finally:
            vars(self).pop("_validation_data", None)

    def _other_fingerprints(self):
        if self._validation_data is None or not self._evaluates:
            return []
        return [fingerprint(check_counts(self, self._validation_data, reset=False))]

    def _refuse_blocks(self):
        super()._refuse_blocks()
        if self._evaluates and self._validation_data is None:
            raise ValueError(
                "early_stopping=True sets documents aside in memory, which a fit over blocks does not have; give "
                'validation_data, or leave early_stopping at "auto"'
            )

    def _start_size(self, survey):
        least = MET if self._evaluates else 1
        return max(least, super()._start_size(survey))

    @property
    def _evaluates(self):
        """Whether documents are held out."""
        return self._params.early_stopping is True or vars(self).get("_validation_data") is not None

    def _max_iter(self, documents):
        """Largest number of epochs: ``max_iter``, or a number for the length of the documents."""
        if self._params.max_iter is not None:
            return self._params.max_iter
        wanted = wanted_epochs(documents)
        return _stopping.EXTENSION * wanted if self._evaluates and self._params.early_stopping else wanted

    def _run(self, monitor, rows, rng, workers, warm, observer, progress):
        if not self._evaluates:
            monitor.max_iter = self._max_iter(rows)
            super()._run(monitor, rows, rng, workers, warm, observer, progress)
            return
        if self._validation_data is None:
            rows, held_out = set_aside(rows, rng, self._table_dtype)
        else:
            held_out = check_counts(self, self._validation_data, reset=False)
        check_held_out(held_out, rows)
        monitor.max_iter, stops = self._max_iter(rows), bool(self._params.early_stopping)
        least = int(_stopping.LEAST_SHARE * wanted_epochs(rows))
        evaluation = Evaluation(self, monitor, observer, held_out, rows.X, stops, least, self._n_averaged_after)
        super()._run(monitor, rows, rng, workers, warm, evaluation, progress)
        evaluation.restore(monitor, workers)
