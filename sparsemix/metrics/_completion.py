"""Document completion: held-out log-likelihood of the hidden part of each document."""

from typing import Any

import numpy as np

from sparsemix._engine.inference import infer_doc_topic
from sparsemix._estimator.input.forms import floats_of
from sparsemix._estimator.parameters import plain_arguments
from sparsemix._rows.blocks import CHUNK_BYTES, spans
from sparsemix._rows.threads import Workers
from sparsemix._typing import Array, ArrayLike, RowsLike, Seed
from sparsemix.metrics._checks import read_counts, read_topics
from sparsemix.metrics._splits import DIVIDE, split_blocks

# Least probability of a word under a topic: the smallest normal float32, the type of the tables of inference.
FLOOR = float(np.finfo(np.float32).tiny)
# Inference of a document stops when no topic's share of its tokens changes by more than TOL, or after MAX_ITER updates.
# A tolerance in tokens would stop short documents too early: a thousandth of a token is a lot for a one-token document.
TOL, MAX_ITER = 1e-6, 1000


@plain_arguments
def document_completion(
    topics: Any,
    X: RowsLike,
    *,
    doc_topic_prior: ArrayLike | None = None,
    test_fraction: float = 0.2,
    split: str = "type",
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> float:
    """Mean log probability of the hidden tokens of documents, given their visible tokens.

    Use it to compare topic models on held-out documents. Scores are comparable between any numbers of topics and any
    learning methods. Each document is split in two. The visible part gives a Dirichlet posterior of its topic
    proportions, by dense variational inference with fixed topics. The hidden part is scored under the posterior mean.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_``, or nonnegative weights. Rows are normalised. Probabilities are at least
        1.2e-38, the smallest normal float32: a word that has no probability in any topic costs -87.3.
    X : {array, CSR} of shape (n_documents, n_words)
        Counts.
    doc_topic_prior : float or array of shape (n_topics,) or (n_documents, n_topics), default=None
        Dirichlet prior of topic proportions, of all documents or of each. By default the estimator's
        ``doc_topic_prior_``, or 1 / n_topics if it has none.
    test_fraction : float, default=0.2
        Fraction of a document to hide.
    split : {"type", "token"}, default="type"
        Hide words with all their tokens (:func:`split_by_type`), or single tokens (:func:`split_by_token`).
    random_state : int, RandomState instance or None, default=0
        Seed of the split. With an integer, all models get the same splits.
    n_jobs : int, default=None
        Number of threads, as in joblib.

    Returns
    -------
    score : float
        Natural logarithm per hidden token. Documents that are too short to split are skipped.

    Raises
    ------
    ValueError
        For topics or counts that are negative or not finite, different numbers of words, topics without weight, a
        wrong prior, and if no document can be split.

    See Also
    --------
    perplexity : exp(-score).

    References
    ----------
    Hughes, Sudderth (2016). "Fast Learning of Clusters and Topics via Sparse Posteriors", appendix E.
    Wallach, Murray, Salakhutdinov, Mimno (2009). "Evaluation Methods for Topic Models", section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import document_completion
    >>> topics = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    >>> X = np.array([[2, 2, 2, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    >>> round(document_completion(topics, X, doc_topic_prior=0.1), 4)
    -1.1302
    >>> round(document_completion(np.ones((2, 6)), X, doc_topic_prior=0.1), 4)  # log(1 / 6)
    -1.7918
    """
    blocks = hidden_tokens(topics, X, doc_topic_prior, test_fraction, split, random_state, n_jobs)
    return per_token(blocks, split)


def per_token(blocks, split="type"):
    """Mean log probability of the ``hidden_tokens`` of all blocks."""
    log_likelihood, n_tokens = total(blocks)
    if n_tokens == 0:
        unit = "distinct words" if split == "type" else "tokens"
        raise ValueError(f"no row of X has two {unit}, so none can be hidden; score longer documents")
    return log_likelihood / n_tokens


def total(blocks):
    """Sum of log likelihoods of ``hidden_tokens``, and their number. Both can be added over blocks of documents."""
    log_likelihood = n_tokens = 0.0
    for B, logs in blocks:
        log_likelihood += float(B.data @ logs)
        n_tokens += float(B.data.sum(dtype=np.float64))
    return log_likelihood, n_tokens


@plain_arguments
def completion_by_document(
    topics: Any,
    X: RowsLike,
    *,
    doc_topic_prior: ArrayLike | None = None,
    test_fraction: float = 0.2,
    split: str = "type",
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> tuple[Array, Array]:
    """Sums of :func:`document_completion` for each document, for standard errors and comparisons of documents.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_``, or nonnegative weights.
    X : {array, CSR} of shape (n_documents, n_words)
        Counts.
    doc_topic_prior : float or array of shape (n_topics,) or (n_documents, n_topics), default=None
        Dirichlet prior of topic proportions, of all documents or of each; by default the estimator's, or 1 / n_topics.
    test_fraction : float, default=0.2
        Fraction of a document to hide.
    split : {"type", "token"}, default="type"
        Hide words with all their tokens, or single tokens.
    random_state : int, RandomState instance or None, default=0
        Seed of the split.
    n_jobs : int, default=None
        Number of threads, as in joblib.

    Returns
    -------
    log_likelihoods : ndarray of shape (n_documents,)
        Log probabilities of the hidden tokens of each document.
    n_tokens : ndarray of shape (n_documents,)
        Numbers of hidden tokens; 0 for documents that are too short to split. ``document_completion`` is the ratio of
        both sums.

    Raises
    ------
    ValueError
        As :func:`document_completion`, except that documents may be too short.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import completion_by_document
    >>> X = np.array([[2, 2, 2, 0, 0, 0], [0, 0, 0, 4, 0, 0]])
    >>> logs, n_tokens = completion_by_document(np.ones((2, 6)), X)
    >>> n_tokens, (logs / np.log(6)).round(6)
    (array([2., 0.]), array([-2.,  0.]))
    """
    log_likelihoods, n_tokens = [], []
    for B, logs in hidden_tokens(topics, X, doc_topic_prior, test_fraction, split, random_state, n_jobs):
        rows, n_rows = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr)), B.shape[0]
        log_likelihoods.append(np.bincount(rows, B.data * logs, n_rows))
        n_tokens.append(np.bincount(rows, B.data, n_rows))
    return np.concatenate([np.zeros(0), *log_likelihoods]), np.concatenate([np.zeros(0), *n_tokens])


def hidden_tokens(topics, X, doc_topic_prior=None, test_fraction=0.2, split="type", random_state=0, n_jobs=None):
    """Yield the hidden counts of each block of documents, and the log probability of a token of each entry."""
    if split not in DIVIDE:
        raise ValueError(f"split is {split!r}; it must be one of {sorted(DIVIDE)}")
    weights = read_topics(topics)
    X = read_counts(X, n_words=weights.shape[1])
    prior = read_prior(doc_topic_prior, topics, len(weights), X.shape[0])
    word_topic, log_scale = word_topic_table(weights)
    max_rows = max(1, CHUNK_BYTES // (8 * len(weights)))
    done = 0
    with Workers(n_jobs) as workers:
        for A, B in split_blocks(X, split, test_fraction, random_state, max_rows):
            of_block = prior if prior.ndim == 1 else prior[done : done + A.shape[0]]
            done += A.shape[0]
            doc_topic = infer_doc_topic(
                A, word_topic, of_block, max_iter=MAX_ITER, tol=TOL, relative=True, workers=workers
            )
            doc_topic /= doc_topic.sum(axis=1, keepdims=True)
            yield B, log_mixture(B, doc_topic, word_topic, workers) + log_scale[B.indices]


@plain_arguments
def perplexity(
    topics: Any,
    X: RowsLike,
    *,
    doc_topic_prior: ArrayLike | None = None,
    test_fraction: float = 0.2,
    split: str = "type",
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> float:
    """Perplexity of the hidden tokens of documents, exp(-:func:`document_completion`); lower is better.

    It is the number of equally likely words with the same uncertainty.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_``, or nonnegative weights.
    X : {array, CSR} of shape (n_documents, n_words)
        Counts.
    doc_topic_prior : float or array of shape (n_topics,) or (n_documents, n_topics), default=None
        Dirichlet prior of topic proportions, of all documents or of each; by default the estimator's, or 1 / n_topics.
    test_fraction : float, default=0.2
        Fraction of a document to hide.
    split : {"type", "token"}, default="type"
        Hide words with all their tokens, or single tokens.
    random_state : int, RandomState instance or None, default=0
        Seed of the split.
    n_jobs : int, default=None
        Number of threads, as in joblib.

    Returns
    -------
    perplexity : float

    Raises
    ------
    ValueError
        As :func:`document_completion`.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import perplexity
    >>> round(perplexity(np.ones((2, 6)), np.array([[2, 2, 2, 0, 0, 0], [0, 0, 0, 1, 1, 1]])), 4)
    6.0
    """
    score = document_completion(
        topics,
        X,
        doc_topic_prior=doc_topic_prior,
        test_fraction=test_fraction,
        split=split,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return float(np.exp(-score))


def read_prior(doc_topic_prior, topics, n_topics, n_documents):
    """Checked Dirichlet concentrations (K,) or (n, K)."""
    if doc_topic_prior is None:
        doc_topic_prior = getattr(topics, "doc_topic_prior_", 1.0 / n_topics)
    prior = floats_of(doc_topic_prior, "doc_topic_prior")
    if prior.shape not in ((), (n_topics,), (n_documents, n_topics)):
        raise ValueError(
            f"doc_topic_prior has shape {prior.shape}; give one number, {n_topics} (one per topic), or "
            f"{n_documents} x {n_topics} (documents by topics)"
        )
    if not (np.isfinite(prior) & (prior > 0)).all():
        raise ValueError(f"doc_topic_prior is {doc_topic_prior}; concentrations must be positive and finite")
    return prior if prior.ndim == 2 else np.full(n_topics, prior)


def word_topic_table(weights):
    """Word probabilities, each word's divided by its largest: (V, K) float32; logarithms of the largest: (V,).

    Responsibilities do not depend on a word's scale. With a largest entry of one, no word underflows.
    """
    n_topics, n_words = weights.shape
    totals = weights.sum(axis=1, dtype=np.float64)
    table, log_scale = np.empty((n_words, n_topics), dtype=np.float32), np.empty(n_words)
    for start, stop in spans(n_words, max(1, CHUNK_BYTES // (8 * n_topics))):
        block = np.maximum(weights[:, start:stop].T / totals, FLOOR)
        largest = block.max(axis=1)
        table[start:stop] = block / largest[:, None]
        log_scale[start:stop] = np.log(largest)
    return table, log_scale


def log_mixture(B, doc_topic, word_topic, workers):
    """log(sum_k pi_dk table_vk) for each entry (d, v) of B."""
    rows = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr))
    out = np.empty(len(rows))

    def fill(start, stop):
        probabilities = doc_topic[rows[start:stop]]
        probabilities *= word_topic[B.indices[start:stop]]
        out[start:stop] = np.log(probabilities.sum(axis=1))

    # Entries per task: their rows of both tables fit in the second-level cache.
    workers.map(fill, spans(len(rows), max(1, (1 << 17) // doc_topic.shape[1])))
    return out
