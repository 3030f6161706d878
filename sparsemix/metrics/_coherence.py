"""Coherence of topics: do the words that stand for a topic occur in the same documents?"""

import numpy as np

from sparsemix._engine.blocks import spans
from sparsemix._estimator.parameters import plain_arguments
from sparsemix.metrics._checks import check_n_top_words, read_counts, read_topics
from sparsemix.metrics._topics import top_words

# What C_V adds to a joint probability before its logarithm, the value of its authors.
EPSILON = 1e-12
# Bits of the sets of documents made at once, 16 MB, and documents: their entries are listed in 32 bytes each.
BLOCK_BITS, BLOCK_ROWS = 1 << 27, 1 << 15
# Ones among 16 bits. Intersecting sets of bits takes 1 ms a topic where a sparse matrix product took 13 (200,000
# documents, top words in half of them).
ONES = np.unpackbits(np.arange(1 << 16, dtype=np.uint16).view(np.uint8)).reshape(-1, 16).sum(axis=1, dtype=np.uint8)


@plain_arguments
def topic_coherence(topics, X, *, measure="npmi", n_top_words=10, convention="paper"):
    """How often the top words of each topic occur in the same documents.

    Coherence agrees better with what people call a good topic than likelihood does. "npmi" is the measure to begin
    with, as its scale does not depend on the corpus; "umass" is the cheapest and the oldest; "c_v" agreed best with
    people where its authors tried it.

    Parameters
    ----------
    topics : estimator or array of shape (n_topics, n_words)
        Fitted estimator with ``components_``, or weights that are not negative.
    X : {array, CSR} of shape (n_documents, n_words)
        Counts of the corpus that says what occurs together; only whether a count is zero matters. D(v) is the number
        of documents with word v, D(v, w) with both, and probabilities are shares of all documents.
    measure : {"npmi", "umass", "c_v"}, default="npmi"
        "u_mass", "c_npmi" are other spellings of the first two.
        With :math:`v_1, v_2, \\dots` the top words in decreasing order of probability:

        - "umass": the sum, not the mean, over pairs :math:`m > l` of
          :math:`\\log[(D(v_m, v_l) + 1) / \\max(D(v_l), 1)]`; at most a little above 0.
        - "npmi": mean over pairs of :math:`\\log[p(v, w) / (p(v) p(w))] / -\\log p(v, w)`, from -1 to 1. Pairs that
          never occur together count -1, pairs with a word that is in every document 0.
        - "c_v": with the same ratio, 1e-12 added to :math:`p(v, w)`, every top word has a vector of its ratios with
          all top words; the mean cosine of these vectors with their sum. The published measure counts
          co-occurrence in windows of 110 tokens; bags of words have no windows, and whole documents take their place.

    n_top_words : int, default=10
        Words that stand for a topic, at least 2.
    convention : {"paper", "gensim"}, default="paper"
        "gensim" takes what gensim's ``CoherenceModel`` takes: "umass" is the mean over pairs, and to the joint
        probability 1e-12 is added in the place of one document, so that a pair that never meets costs some -20; "npmi"
        has the same 1e-12. Numbers are then gensim's ``u_mass``, and its ``c_npmi`` and ``c_v`` up to what it counts
        in: windows of 10 and 110 words, where a bag of words has whole documents.

    Returns
    -------
    coherence : ndarray of shape (n_topics,)
        Higher is better. Values of different measures, corpora or ``n_top_words`` do not compare. A top word that
        never occurs in X makes its pairs -1 for "npmi", its own cosine 0 for "c_v" (as that of a word in every
        document), and 0 of the pairs that condition on it for "umass".

    Raises
    ------
    ValueError
        For topics or counts that are not finite or negative, widths that differ, an unknown measure, and more top
        words than words.

    References
    ----------
    Mimno, Wallach, Talley, Leenders, McCallum (2011). "Optimizing Semantic Coherence in Topic Models", EMNLP.
    Bouma (2009). "Normalized (Pointwise) Mutual Information in Collocation Extraction", GSCL.
    Röder, Both, Hinneburg (2015). "Exploring the Space of Topic Coherence Measures", WSDM.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsemix.metrics import topic_coherence
    >>> X = np.array([[1, 1, 0, 0], [2, 3, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    >>> topics = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    >>> topic_coherence(topics, X, n_top_words=2)
    array([ 1., -1.])
    """
    measure = SPELLINGS.get(measure, measure)
    if measure not in MEASURES:
        raise ValueError(f"measure is {measure!r}; it must be one of {sorted(MEASURES)}")
    if convention not in ("paper", "gensim"):
        raise ValueError(f"convention is {convention!r}; it must be 'paper' or 'gensim'")
    compute = (GENSIM if convention == "gensim" else MEASURES)[measure]
    weights = read_topics(topics)
    X = read_counts(X, n_words=weights.shape[1])
    top = top_words(weights, check_n_top_words(n_top_words, weights.shape[1], least=2))
    return np.array([compute(together, X.shape[0]) for together in co_occurrences(X, top)])


def co_occurrences(X, top):
    """For each topic the (n, n) numbers of documents in which two of its top words occur, and one on the diagonal."""
    words, columns = np.unique(top, return_inverse=True)
    columns = columns.reshape(top.shape)
    first, second = np.triu_indices(top.shape[1])
    counts = np.zeros((len(top), len(first)), dtype=np.int64)
    for start, stop in spans(X.shape[0], min(BLOCK_ROWS, max(1, BLOCK_BITS // max(len(words), len(first))))):
        documents = document_sets(X[start:stop][:, words])
        for k, chosen in enumerate(columns):
            counts[k] += ONES[documents[chosen[first]] & documents[chosen[second]]].sum(axis=1, dtype=np.int64)
    together = np.empty((len(top), top.shape[1], top.shape[1]), dtype=np.int64)
    together[:, first, second] = together[:, second, first] = counts
    return together


def document_sets(block):
    """For each word the documents it occurs in, one bit each: (n_words, n_documents / 16) uint16."""
    width = -(-block.shape[0] // 16)
    rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    sets = np.zeros(block.shape[1] * width, dtype=np.uint16)
    np.add.at(sets, block.indices * np.int64(width) + rows // 16, (1 << rows % 16).astype(np.uint16))
    return sets.reshape(block.shape[1], width)


def umass(together, n_documents):  # noqa: ARG001
    """Sum of the logarithms of smoothed conditional probabilities, each word given the more probable ones."""
    ratios = (together + 1.0) / np.maximum(np.diag(together), 1)
    return np.log(ratios[np.tril_indices(len(together), -1)]).sum()


def npmi(together, n_documents):
    """Mean normalised pointwise mutual information of pairs."""
    ratios = normalized_pmi(together, n_documents)
    ratios[together == 0] = -1.0
    return ratios[np.tril_indices(len(together), -1)].mean()


def umass_of_gensim(together, n_documents):
    """Mean of the logarithms of conditional probabilities with 1e-12 added to the joint one."""
    alone = np.maximum(np.diag(together), 1) / n_documents
    ratios = (together / n_documents + EPSILON) / alone
    return np.log(ratios[np.tril_indices(len(together), -1)]).mean()


def npmi_of_gensim(together, n_documents):
    """Mean normalised pointwise mutual information with 1e-12 added to the joint probability."""
    ratios = normalized_pmi(together, n_documents, EPSILON)
    missing = np.diag(together) == 0
    ratios[missing] = ratios[:, missing] = -1.0
    return ratios[np.tril_indices(len(together), -1)].mean()


def c_v(together, n_documents):
    """Mean cosine of the words' vectors of normalised mutual information with the sum of the vectors."""
    vectors = normalized_pmi(together, n_documents, EPSILON)
    missing = np.diag(together) == 0
    vectors[missing] = vectors[:, missing] = 0.0
    total = vectors.sum(axis=0)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(total)
    return np.divide(vectors @ total, lengths, out=np.zeros(len(vectors)), where=lengths > 0).mean()


def normalized_pmi(together, n_documents, epsilon=0.0):
    """Normalised pointwise mutual information (n, n); a word in every document tells nothing of any other: exactly 0.

    Round-off in its place would become a direction when ``c_v`` divides the word's vector by its length.
    """
    joint = together / n_documents
    alone = np.diag(joint)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log((joint + epsilon) / np.outer(alone, alone)) / -np.log(joint + epsilon)
    everywhere = np.diag(together) == n_documents
    ratios[everywhere] = ratios[:, everywhere] = 0.0
    return ratios


MEASURES = {"c_v": c_v, "npmi": npmi, "umass": umass}
GENSIM = {"c_v": c_v, "npmi": npmi_of_gensim, "umass": umass_of_gensim}
SPELLINGS = {"u_mass": "umass", "c_npmi": "npmi"}
