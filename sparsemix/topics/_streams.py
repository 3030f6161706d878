"""Methods of topic estimators that learn from blocks of a stream; their classes assign them."""

from typing import Any

from sparsemix._compat import _fit_context
from sparsemix._estimator.streams import absorb_rows, statistics_of
from sparsemix._typing import Estimator, RowsLike, Weights


@_fit_context(prefer_skip_nested_validation=True)
def partial_fit(
    self: Estimator, X: RowsLike, y: object = None, sample_weight: Weights = None  # noqa: ARG001
) -> Estimator:
    """Update the topics with a block of a stream.

    With ``total_samples=None`` all documents have equal weight, in any order: the statistics are the sum over all
    blocks. Few documents make poor topics, and a sum does not forget them. So the first documents are stored
    (2 ** 22 distinct words of documents, 34 MB), and whenever their number has grown by half, topics are
    initialised again from all of them. Topic indices may then change, and the call takes five epochs over the
    stored documents. Call ``fit`` with the first documents if topics must keep their indices.

    With ``total_samples`` the blocks are batches of a corpus of that size: step t moves the statistics towards
    those of the block by ``(t + offset) ** -decay``, the numbers of ``step_size``. Only this forgets, and only this
    is right if documents repeat.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The block. The first block initialises the topics.
    y : None
        Ignored.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each document.

    Returns
    -------
    self : estimator

    Raises
    ------
    ValueError
        As in ``fit``, or if ``n_components`` changed since the last call. A failed call leaves the model unchanged.

    Notes
    -----
    Changes of ``total_samples``, ``step_size`` and ``n_jobs`` take effect with the next call. Given priors stay.
    Learned ones change with the statistics, but for the sum of a document prior that unseen documents gave.
    """
    return absorb_rows(self, self._recipe(), X, sample_weight)


def expected_stats(
    self, X: RowsLike, sample_weight: Weights = None, *, first_row: int | None = None, memory: Any = None
) -> Any:
    """Expected sufficient statistics of documents under the fitted topics; does not change the model.

    Statistics of several blocks can be added, in any order and on any machine, and passed to
    ``update_from_stats``. ``partial_fit`` calls both methods once, unless it initialises the topics again.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Word counts.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each document.
    first_row : int, default=None
        Number of the first row of X in the whole data. It seeds random numbers and names rows in errors. None means
        ``n_samples_seen_``.
    memory : object, default=None
        Result of ``row_memory`` for these rows: the state of their last visit, which this visit uses and updates.

    Returns
    -------
    stats : SufficientStatistics
        ``stats["word_topic"]`` (V, K), the expected counts, sparse or for the words in use, with the method
        ``toarray``; ``"count"`` (K,), their sums by topic; ``"mass"``, the unit of scale (documents, or tokens in
        collapsed inference); and terms of the bound.
    """
    return statistics_of(self, self._recipe(), X, sample_weight, first_row, memory)
