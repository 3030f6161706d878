"""Base class of the mixtures with linear likelihoods: initial statistics, and rows of fits and predictions."""

from dataclasses import replace

import numpy as np

from sparsemix._compat import StrOptions
from sparsemix._estimator.additive import FitSetup
from sparsemix._estimator.input.checks import of_positive_weight
from sparsemix._heuristics.mixture.births import Recent
from sparsemix._heuristics.mixture.linear_births import RECENT, late_halves
from sparsemix._models.mixture.model import LinearMixture
from sparsemix._stats.altered import altered
from sparsemix._stats.weights import weights_of
from sparsemix.mixture._estimator import CONSTRAINTS, MixtureEstimator, kept_entries
from sparsemix.mixture._fitted import FittedMixture
from sparsemix.mixture._linear._rows import SparseDocuments
from sparsemix.mixture._linear._start import SEEDINGS, first_rows, part_of, seed_rows, start

LINEAR_CONSTRAINTS = CONSTRAINTS | {"init_params": [StrOptions(set(SEEDINGS)), "array-like", dict]}


class LinearEstimator(MixtureEstimator):
    """Mixtures over a ``LinearFamily``. A subclass defines

    - ``_make_family(rows)``: the likelihood, with its data-dependent prior;
    - ``_sums_of(means, rows)``: sums (K, D) of one row in each component with given means, checked;
    - ``_check(X, reset)``: checked X.

    It may replace the rows that the model reads, which are documents, and refuse some of them.
    """

    _fixed_params = MixtureEstimator._fixed_params | {"first_epochs": {"em": 0, "vb": 0}}
    # Class of the rows, and type of the table. Tests set float64 for exact comparison.
    _row_class = SparseDocuments
    _table_dtype = np.float32

    def __sklearn_tags__(self):
        """Accept sparse rows."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- inside a fit or a stream

    def _weighted(self, X, sample_weight, part):
        X, sample_weight, kept = of_positive_weight(X, sample_weight, part)
        if kept is None and sample_weight is not None and (sample_weight == 1.0).all():
            sample_weight = None
        rows = self._make_rows(X, sample_weight)
        rows.kept = kept
        self._refuse(rows.X, kept)
        return rows

    def _started(self, rows, rng, workers, stream=False):  # noqa: ARG002
        params = self._params
        family, sizes = self._make_family(rows), (params.n_components, kept_entries(params))
        model = LinearMixture(family, weights_of(params), *sizes, rows.dtype, params.inference == "vb")
        return FitSetup(rows, model, start(params, model, rows, rng, workers, self._sums_of))

    def _before_block(self, rows, workers):
        rows = super()._before_block(rows, workers)
        step_size, stats = self._params.step_size, self._fitted.stats
        if self.n_samples_seen_ and step_size[0] == "half_life":
            model, seen = self._view(self._fitted.model, rows, self.n_samples_seen_)
            recent = self._recent = Recent(step_size[1], stats, getattr(self, "_recent", None), RECENT)
            seen = part_of(seen, np.arange(len(seen)))
            found = late_halves(model, stats, seen, part_of, recent, workers)
            if found is not None:
                self._fitted = FittedMixture(*found)
        return rows

    def _resumed(self, rows):
        begin = super()._resumed(rows)
        return replace(begin, model=altered(begin.model, dtype=np.dtype(rows.dtype)))

    def _checked(self, X, density=False):
        X = self._check(X, reset=False)
        if density:
            self._refuse(X, None)
        return X

    def _make_rows(self, X, sample_weight):
        """Checked rows in the form that the model reads."""
        return self._row_class(X, sample_weight, self._table_dtype)

    def _exact_rows(self, X):
        return self._row_class(X, None, np.float64)

    def _refuse(self, X, kept):
        """Refuse rows without information; X are the rows ``kept`` of those given (None: all)."""

    def _rows(self, X, sample_weight=None, model=None):
        rows = self._make_rows(X, sample_weight)
        rows.dtype = (self._fitted.model if model is None else model).dtype
        return rows

    # -- a fit over blocks

    def _survey(self, rows):
        return {"total": rows.total()}

    def _start_size(self, survey):  # noqa: ARG002
        return max(seed_rows(self._params), first_rows(self._params))

    def _whole(self, survey, X, weight, source):
        rows = self._make_rows(X, weight)
        rows.source, rows.whole = source, {"mass": float(survey.sums["mass"]), "total": survey.sums["total"]}
        return rows

    def _view(self, model, rows, n_seen):  # noqa: ARG002
        rows.dtype = model.dtype
        return model.reading(rows), rows
