"""Methods of topic estimators for fits over blocks."""

from sparsemix._engine.rounds.sample import SampledDocuments
from sparsemix.topics import _start


class TopicsOfBlocks:
    """Survey of blocks, size of the sample for the initialisation, and documents per step.

    An estimator defines ``_documents_of_step(documents)``.
    """

    def _refuse_blocks(self):
        if getattr(self._params, "mini_epoch", None) is not None:
            raise ValueError(
                "mini_epoch visits the same documents several times in a row, but a fit over blocks visits them "
                "once per epoch; set mini_epoch=None"
            )

    def _survey(self, documents):
        return {"totals": documents.word_totals(), "entries": documents.entries * len(documents)}

    def _start_size(self, survey):
        params = self._params
        method = params.init_params
        if not isinstance(method, str) or method in ("random", "uniform"):
            return 1
        if method == "bregman":
            return max(_start.SEED_DOCUMENTS, 2 * params.n_components)
        entries = max(1.0, survey.sums["entries"] / survey.n_rows)
        return _start.em_documents(entries, min(params.n_components, _start.EM_COMPONENTS))

    def _whole(self, survey, X, weight, source):
        sums, n_rows = survey.sums, survey.n_rows
        if not sums["totals"].any():
            raise ValueError("no document of data has a token of positive weight; give at least one that is not empty")
        entries = max(1.0, sums["entries"] / n_rows)
        return SampledDocuments(
            X, weight, self._table_dtype, source, n_rows, float(sums["mass"]), entries, sums["totals"]
        )

    def _step_size(self, documents, survey):  # noqa: ARG002
        return self._documents_of_step(documents)
