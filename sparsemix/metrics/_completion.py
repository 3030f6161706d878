"""Held-out log-likelihood of topics: how well they complete a document of which a part is hidden."""

import numpy as np

from sparsemix._engine.blocks import CHUNK_BYTES, spans
from sparsemix._engine.inference import infer_doc_topic
from sparsemix._engine.threads import Workers
from sparsemix._estimator.input.forms import floats_of
from sparsemix._estimator.parameters import plain_arguments
from sparsemix.metrics._checks import read_counts, read_topics
from sparsemix.metrics._splits import DIVIDE, split_blocks

# Least probability of a word under a topic: the smallest normal float32, the type of the tables of inference.
FLOOR = float(np.finfo(np.float32).tiny)
# A document is inferred until no topic's share of its tokens changes by this much, or for so many updates. A tolerance
# in tokens would stop short documents too early: a thousandth of a token is much of one token.
TOL, MAX_ITER = 1e-6, 1000


@plain_arguments
def document_completion(
    topics, X, *, doc_topic_prior=None, test_fraction=0.2, split="type", random_state=0, n_jobs=None
):
    """Mean log probability of the hidden tokens of documents, given the tokens that are shown.

    Use it to compare topic models on documents that none of them has seen: it means the same for every number of
    topics and every way of learning them. Each document is split in two. The first part gives a Dirichlet posterior
    of its topics by dense variational inference with the topics fixed; the second part is scored under the mean
    of the posterior.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_``, or weights that are not negative. Rows are normalised. Probabilities
        below 1.2e-38, the smallest normal float32, count as that: a word that no topic can produce costs -87.3.
    X : {array, CSR} of shape (n_documents, n_words)
        Counts.
    doc_topic_prior : float or array of shape (n_topics,), default=None
        Concentrations of the Dirichlet prior of a document's topics. By default the estimator's ``doc_topic_prior_``,
        and 1 / n_topics where there is none.
    test_fraction : float, default=0.2
        Share of a document that is hidden.
    split : {"type", "token"}, default="type"
        Hide words with all their tokens (:func:`split_by_type`), or tokens (:func:`split_by_token`).
    random_state : int, RandomState instance or None, default=0
        For the split. With an integer the same documents are split in the same way for every model.
    n_jobs : int, default=None
        Threads, as in joblib.

    Returns
    -------
    score : float
        Natural logarithm for each hidden token. Documents that are too short to split are left out.

    Raises
    ------
    ValueError
        For topics or counts that are not finite or negative, widths that differ, topics without weight, a bad
        prior, and when no document can be split.

    See Also
    --------
    perplexity : The same as exp(-score).

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
    log_likelihood, n_tokens = completion(topics, X, doc_topic_prior, test_fraction, split, random_state, n_jobs)
    if n_tokens == 0:
        unit = "distinct words" if split == "type" else "tokens"
        raise ValueError(f"no row of X has two {unit}, so that one could be hidden; score longer documents")
    return log_likelihood / n_tokens


def completion(topics, X, doc_topic_prior=None, test_fraction=0.2, split="type", random_state=0, n_jobs=None):
    """Log likelihood of all hidden tokens, and their number: sums of both over parts of the documents are of all."""
    if split not in DIVIDE:
        raise ValueError(f"split is {split!r}; it must be one of {sorted(DIVIDE)}")
    weights = read_topics(topics)
    X = read_counts(X, n_words=weights.shape[1])
    prior = read_prior(doc_topic_prior, topics, len(weights))
    word_topic, log_scale = word_topic_table(weights)
    max_rows = max(1, CHUNK_BYTES // (8 * len(weights)))
    log_likelihood = n_tokens = 0.0
    with Workers(n_jobs) as workers:
        for A, B in split_blocks(X, split, test_fraction, random_state, max_rows):
            doc_topic = infer_doc_topic(
                A, word_topic, prior, max_iter=MAX_ITER, tol=TOL, relative=True, workers=workers
            )
            doc_topic /= doc_topic.sum(axis=1, keepdims=True)
            log_likelihood += float(B.data @ (log_mixture(B, doc_topic, word_topic, workers) + log_scale[B.indices]))
            n_tokens += float(B.data.sum(dtype=np.float64))
    return log_likelihood, n_tokens


@plain_arguments
def perplexity(topics, X, *, doc_topic_prior=None, test_fraction=0.2, split="type", random_state=0, n_jobs=None):
    """Perplexity of the hidden tokens of documents, exp(-:func:`document_completion`); lower is better.

    It is the number of equally likely words among which a guess would be as uncertain.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_``, or weights that are not negative.
    X : {array, CSR} of shape (n_documents, n_words)
        Counts.
    doc_topic_prior : float or array of shape (n_topics,), default=None
        Concentrations of the Dirichlet prior of a document's topics; by default the estimator's, or 1 / n_topics.
    test_fraction : float, default=0.2
        Share of a document that is hidden.
    split : {"type", "token"}, default="type"
        What is hidden.
    random_state : int, RandomState instance or None, default=0
        For the split.
    n_jobs : int, default=None
        Threads, as in joblib.

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


def read_prior(doc_topic_prior, topics, n_topics):
    """Concentrations (K,)."""
    if doc_topic_prior is None:
        doc_topic_prior = getattr(topics, "doc_topic_prior_", 1.0 / n_topics)
    prior = floats_of(doc_topic_prior, "doc_topic_prior")
    if prior.shape not in ((), (n_topics,)):
        raise ValueError(f"doc_topic_prior has shape {prior.shape}; give one number or {n_topics}, one a topic")
    if not (np.isfinite(prior) & (prior > 0)).all():
        raise ValueError(f"doc_topic_prior is {doc_topic_prior}; concentrations must be positive and finite")
    return np.full(n_topics, prior)


def word_topic_table(weights):
    """Probabilities of words, each word's divided by its largest: (V, K) float32; logarithms of the largest: (V,).

    Responsibilities do not depend on a word's scale, and with the largest entry at one no word underflows.
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
    """Logarithm of sum_k pi_dk table_vk for each entry (d, v) of B."""
    rows = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr))
    out = np.empty(len(rows))

    def fill(start, stop):
        probabilities = doc_topic[rows[start:stop]]
        probabilities *= word_topic[B.indices[start:stop]]
        out[start:stop] = np.log(probabilities.sum(axis=1))

    # Entries at once: their rows of both tables stay in the second-level cache.
    workers.map(fill, spans(len(rows), max(1, (1 << 17) // doc_topic.shape[1])))
    return out
