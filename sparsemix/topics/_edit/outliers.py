"""Documents that no topic describes."""

from typing import Any

import numpy as np
from scipy.optimize import nnls

from sparsemix._estimator.parameters import plain_arguments
from sparsemix._typing import Array, RowsLike
from sparsemix.metrics._checks import check_share, read_counts, read_topics
from sparsemix.metrics._completion import FLOOR, hidden_tokens
from sparsemix.metrics._topics import mean_topic

# Halves of the distinct words of a document that are scored in turn: more change the ranks of documents little.
SPLITS = 4


@plain_arguments
def outliers(model: Any, X: RowsLike, share: float = 0.05) -> tuple[Array, Array]:
    """Find the documents that the topics describe worst.

    Half of the distinct words of a document is scored under the topic proportions of the other half, several times.
    There are two scores per token: the log probability under the topics, which is low for words from elsewhere, and
    its excess over the log frequency in all topics together, which is low for words that do not belong together. Both
    are standardised by the mean and the variance of documents of the same length, so that short documents are not
    favoured. The score of a document is the smaller one.

    The topics decide what is strange: if a group of similar documents was in the fit, a topic may describe it.

    Parameters
    ----------
    model : estimator or array of shape (n_components, n_features)
        Fitted topic model with ``components_``, including scikit-learn's, or nonnegative weights of topics.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts of the documents to compare: those of the fit, or other ones.
    share : float, default=0.05
        Share of the documents that are returned, as ``contamination`` of scikit-learn's outlier detectors.

    Returns
    -------
    rows : ndarray of shape (n_outliers,), int64
        Row indices of X, the strangest document first.
    scores : ndarray of shape (n_samples,)
        Standard deviations above the mean of documents of the same length; low for outliers, as ``score_samples`` of
        scikit-learn's detectors. NaN for documents with fewer than two distinct words, which are no outliers.

    Raises
    ------
    ValueError
        For counts that are negative or not finite, different numbers of words, a share that is not between 0 and 1,
        and if no document has two distinct words.

    See Also
    --------
    sparsemix.representative_documents : The documents that a topic describes best.
    sparsemix.metrics.document_completion : The mean of the first score over documents.

    References
    ----------
    Wallach, Murray, Salakhutdinov, Mimno (2009). "Evaluation Methods for Topic Models", ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix import SparseSCVB0LDA
    >>> from sparsemix.datasets import make_sparse_lda
    >>> from sparsemix.topics import outliers
    >>> X = make_sparse_lda(500, n_features=200, n_components=10, doc_length=100, random_state=0)[0].toarray()
    >>> lda = SparseSCVB0LDA(10, max_iter=10, random_state=0).fit(X)
    >>> odd = np.random.default_rng(0).multinomial(100, X.sum(axis=0) / X.sum(), size=3)  # words without a topic
    >>> rows, scores = outliers(lda, np.vstack([X, odd]), share=0.006)
    >>> sorted(rows.tolist())
    [500, 501, 502]
    """
    share = check_share(share, "share", ends=False)
    weights = read_topics(model, "model")
    X = read_counts(X, n_words=weights.shape[1])
    log_frequency = np.log(np.maximum(mean_topic(weights), FLOOR))
    sums, sizes = np.zeros((2, X.shape[0])), np.zeros(X.shape[0])
    for seed in range(SPLITS):
        start = 0
        for B, logs in hidden_tokens(model, X, test_fraction=0.5, random_state=seed):
            rows, n_rows = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr)), B.shape[0]
            block = slice(start, start + n_rows)
            sums[0, block] += np.bincount(rows, B.data * logs, n_rows)
            sums[1, block] += np.bincount(rows, B.data * (logs - log_frequency[B.indices]), n_rows)
            sizes[block] += np.bincount(rows, B.data, n_rows)
            start += n_rows
    scored = np.flatnonzero(sizes)
    if not len(scored):
        raise ValueError("no row of X has two distinct words, so none can be scored; give longer documents")
    scores = np.full(X.shape[0], np.nan)
    scores[scored] = np.min([standardised(each[scored] / sizes[scored], sizes[scored]) for each in sums], axis=0)
    return scored[np.argsort(scores[scored], kind="stable")[: round(share * len(scored))]], scores


def standardised(values, sizes):
    """Values less their mean, over their standard deviation, for documents of given sizes.

    The mean is linear in the logarithm of the size. The variance is one part between documents and one between tokens,
    which falls with the size.
    """
    terms = np.column_stack([np.ones(len(sizes)), np.log(sizes)])
    residuals = values - terms @ np.linalg.lstsq(terms, values, rcond=None)[0]
    parts = np.column_stack([np.ones(len(sizes)), 1.0 / sizes])
    variance = parts @ nnls(parts, residuals**2)[0]
    return residuals / np.sqrt(np.maximum(variance, FLOOR))
