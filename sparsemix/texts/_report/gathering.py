"""One reading of all documents: topic sizes, representative documents, and shares in bins."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, gen_batches

from sparsemix._typing import RowsLike, Table
from sparsemix.extend import (
    Typical,
    check_has_words,
    check_sequences,
    plain_arguments,
    read_counts,
    read_topics,
    shares_of,
    table_of,
)
from sparsemix.texts._report.bins import bins_of_dates
from sparsemix.texts._report.changes import Usage
from sparsemix.texts._report.dates import days_of
from sparsemix.texts._report.spread import Spread

# Documents whose shares are in memory at once.
BLOCK = 4096


class Documents(NamedTuple):
    """Documents as input of the model, and as word counts (N, V). Both are one matrix, except for word sequences."""

    rows: Any
    counts: sparse.csr_matrix

    @property
    def in_order(self):
        """Whether rows are word sequences."""
        return self.rows is not self.counts

    @property
    def shape(self):
        """Numbers of documents and words."""
        return self.counts.shape


class Gathered(NamedTuple):
    """Statistics of one reading of the documents.

    ``weights`` (K,) are the topics' shares of all tokens. ``documents`` and ``shares`` (K, n) are the documents with
    the largest shares of each topic, largest first. ``strata`` has one array (bins, K) of mean shares for each
    stratification, and ``usage`` the tokens of words in each bin. ``word_counts`` (V,) are the tokens of each word.
    """

    weights: np.ndarray
    documents: np.ndarray
    shares: np.ndarray
    strata: list
    usage: Usage | None
    word_counts: np.ndarray

    @property
    def n_tokens(self):
        """Number of tokens in all documents."""
        return float(self.word_counts.sum())


def gather(model, X, n_documents=3, strata=(), observe=None, weights_of_rows=None):
    """Read all documents once and collect statistics, with a number of representative documents per topic.

    ``strata`` are arrays with the bin of each document, -1 for none, whose means have ``weights_of_rows``. ``observe``
    is called with the first row and the shares (n, K) of each block.
    """
    n_components = len(model.components_)
    weights, word_counts = np.zeros(n_components), np.zeros(X.shape[1])
    typical = Typical(n_components, n_documents)
    sums = [np.zeros((max(0, int(codes.max(initial=-1))) + 1, n_components)) for codes in strata]
    parts = np.ones(X.shape[0]) if weights_of_rows is None else weights_of_rows
    usage = Usage(model.components_, [len(total) for total in sums]) if strata else None
    for rows in gen_batches(X.shape[0], BLOCK):
        doc_topic = shares_of(model, X.rows[rows])
        if observe is not None:
            observe(rows.start, doc_topic)
        counts = X.counts[rows]
        weights += np.asarray(counts.sum(axis=1), dtype=np.float64).ravel() @ doc_topic
        word_counts += np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
        for codes, total in zip(strata, sums, strict=True):
            known = np.flatnonzero(codes[rows] >= 0)
            np.add.at(total, codes[rows][known], parts[rows][known, None] * doc_topic[known])
        if strata:
            usage.add([codes[rows] for codes in strata], doc_topic, counts)
        typical.add(rows.start, doc_topic)
    # totals of shares are the weights of the bins
    means = [total / np.where((weight := total.sum(axis=1, keepdims=True)) > 0, weight, 1.0) for total in sums]
    return Gathered(weights / (weights.sum() or 1.0), typical.documents, typical.shares, means, usage, word_counts)


@plain_arguments
def representative_documents(model: Any, X: RowsLike, n_documents: int = 3) -> Table:
    """Find the documents in which each topic has its largest shares.

    Read them along with the top words: they show what a topic is about when its words do not.

    Parameters
    ----------
    model : estimator
        Fitted topic model with ``components_`` and ``transform``, including scikit-learn's.
    X : {array-like, sparse matrix} of shape (n_documents, n_words)
        Counts of the documents to choose from, or word sequences for :class:`SkipGramTopicModel`. They are read
        in blocks.
    n_documents : int, default=3
        Number of documents per topic.

    Returns
    -------
    table : pandas.DataFrame, or list of dict without pandas
        With "topic", "document" (its row in X) and "share" (of the topic in the document): for each topic
        min(n_documents, n_rows) rows, largest share first; ties go to the lower row.

    Raises
    ------
    ValueError
        For counts that are negative or not finite, and if X and the topics have different numbers of words.

    Examples
    --------
    >>> from sparsemix import SparseLDA, representative_documents
    >>> from sparsemix.datasets import make_bars
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> lda = SparseLDA(10, random_state=0).fit(X)
    >>> len(representative_documents(lda, X, n_documents=2))
    20
    """
    found = gather(model, check_documents(model, X), n_documents)
    return table_of(
        {"topic": k, "document": document, "share": share}
        for k, best in enumerate(zip(found.documents.tolist(), found.shares.tolist(), strict=True))
        for document, share in zip(*best, strict=True)
    )


@plain_arguments
def shares_over_time(model: Any, X: RowsLike, dates: Sequence[Any]) -> Any:
    """Mean document shares of topics by day, month, year or decade, whichever gives some dozens of periods.

    Compare the mean of a period with ``low`` and ``high``: means of few documents vary by chance.

    Parameters
    ----------
    model : estimator
        Fitted topic model with ``components_`` and ``transform``, including scikit-learn's.
    X : {array-like, sparse matrix} of shape (n_documents, n_words)
        Counts, or word sequences for :class:`SkipGramTopicModel`.
    dates : sequence of length n_documents
        Dates as in :func:`report`; None for a document without a date.

    Returns
    -------
    found : :class:`~sklearn.utils.Bunch`
        With these attributes:

        periods : list of str
            Names of the periods in order of time, also of those without documents.
        n_documents : ndarray of shape (n_periods,)
            Numbers of documents.
        shares : ndarray of shape (n_periods, n_components)
            Mean shares of the documents of a period; zero without documents.
        standard_errors : ndarray of shape (n_periods, n_components)
            Standard errors of these means: standard deviations of the shares within the period, divided by the root of
            the number of its documents. NaN for fewer than two documents.
        low, high : ndarray of shape (n_periods, n_components)
            95 % confidence intervals of the means, by Student's t distribution, within 0 and 1. They are pointwise, and
            take documents as independent and the topics as known. NaN for fewer than two documents.
        weights : ndarray of shape (n_components,)
            Shares of all tokens.

    Raises
    ------
    ValueError
        If no date can be read.

    See Also
    --------
    sparsemix.topics.topics_over_time : Models the words of topics over time, too.
    sparsemix.plotting.plot_topics_over_time : Plots the shares.

    Examples
    --------
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_bars
    >>> from sparsemix.texts import shares_over_time
    >>> X = make_bars(n_samples=200, random_state=0)[0]
    >>> model = SparseSCVB0LDA(10, random_state=0).fit(X)
    >>> found = shares_over_time(model, X, [2001, 2002] * 100)
    >>> found.periods, found.n_documents.tolist(), found.shares.shape
    (['2001', '2002'], [100, 100], (2, 10))
    >>> bool((found.low <= found.shares).all())
    True
    """
    X = check_documents(model, X)
    codes, periods = bins_of_dates(days_of(per_document(dates, "dates", X.shape[0])))
    if not periods:
        raise ValueError("dates has no date that can be read; give years, dates, or texts such as 2024-05-31")
    spread = Spread(codes, len(periods), len(model.components_))
    found = gather(model, X, 1, [codes], spread.add)
    means = found.strata[0]
    errors, low, high = spread.intervals(means)
    return Bunch(
        periods=periods, n_documents=spread.n_documents, shares=means, standard_errors=errors, low=low, high=high,
        weights=found.weights,
    )  # fmt: skip


def check_documents(model, X):
    """Checked documents: the input of the model, and counts of its words."""
    check_has_words(model, "model", "components_")
    n_words = read_topics(model, "model").shape[1]
    if hasattr(model, "transform_words"):  # it reads word sequences
        rows, _ = check_sequences(model, X, n_words)
        return Documents(rows, sparse.csr_matrix(model.count_words(rows)))
    counts = sparse.csr_matrix(read_counts(X, n_words=n_words))
    return Documents(counts, counts)


def per_document(values, name, n_documents):
    """Values of documents, read by position, as Python's own; ``is_blank`` finds missing ones."""
    if values is None:
        return None
    if len(values) != n_documents:
        raise ValueError(f"{name} has {len(values)} entries but X has {n_documents} rows; give one for each row")
    if len(shape := getattr(values, "shape", ())) > 1:
        raise ValueError(f"{name} has the shape {shape}; give one column, such as {name}['NAME']")
    convert = getattr(values, "to_list", getattr(values, "to_pylist", None))  # pandas and polars; Arrow
    return values if convert is None else convert()
