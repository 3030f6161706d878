"""Metrics of topic models: against loops, against numbers worked out by hand, and on input of every kind."""

from itertools import combinations, permutations, product
from types import SimpleNamespace

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.stats import chisquare
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError

from sparsemix import SparseGaussianMixture, SparseMultinomialMixture
from sparsemix.metrics import (
    _coherence,
    _completion,
    _splits,
    align_topics,
    completion_by_document,
    distinctive_words,
    document_completion,
    perplexity,
    split_by_token,
    split_by_type,
    top_words,
    topic_coherence,
    topic_diversity,
    topic_exclusivity,
)

SPLITS = {"type": split_by_type, "token": split_by_token}
MEASURES = ["umass", "npmi", "c_v"]
TINY = float(np.finfo(np.float32).tiny)


def corpus(seed=0, n_documents=40, n_words=12, mean=0.7):
    """Counts with empty documents, documents of one word, and longer ones."""
    counts = np.random.default_rng(seed).poisson(mean, size=(n_documents, n_words))
    counts[3] = 0
    counts[5] = 0
    counts[5, 2] = 4
    counts[6] = 0
    counts[6, 7] = 1
    return counts


def random_topics(seed=0, n_topics=4, n_words=12):
    return np.random.default_rng(seed).gamma(0.3, size=(n_topics, n_words)) + 1e-3


def dense(parts):
    return [part.toarray() for part in parts]


def assert_same(left, right):
    for a, b in zip(dense(left), dense(right), strict=True):
        np.testing.assert_array_equal(a, b)


def n_hidden(size, fraction):
    """How many of a document's words or tokens are hidden."""
    return 0 if size < 2 else min(size - 1, max(1, round(fraction * size)))


# -- splits


@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.5, 0.9, 0.999])
def test_each_document_hides_its_share_of_types_whole(fraction):
    X = corpus()
    A, B = dense(split_by_type(X, fraction))
    for row, a, b in zip(X, A, B, strict=True):
        n_types = np.count_nonzero(row)
        assert np.count_nonzero(b) == n_hidden(n_types, fraction)
        assert not (a * b).any()
        np.testing.assert_array_equal(a + b, row if n_types >= 2 else 0)


@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.5, 0.9, 0.999])
def test_each_document_hides_its_share_of_tokens(fraction):
    X = corpus()
    A, B = dense(split_by_token(X, fraction))
    assert A.min() >= 0
    assert B.min() >= 0
    for row, a, b in zip(X, A, B, strict=True):
        assert b.sum() == n_hidden(row.sum(), fraction)
        np.testing.assert_array_equal(a + b, row if row.sum() >= 2 else 0)


@pytest.mark.parametrize("split", SPLITS)
@settings(max_examples=50, deadline=None)
@given(
    X=hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.integers(0, 5)),
    fraction=st.floats(0.01, 0.99),
    seed=st.integers(0, 2**32 - 1),
)
def test_parts_make_up_the_documents_that_can_be_split(split, X, fraction, seed):
    A, B = dense(SPLITS[split](X, fraction, seed))
    sizes = np.count_nonzero(X, axis=1) if split == "type" else X.sum(axis=1)
    np.testing.assert_array_equal(A + B, X * (sizes >= 2)[:, None])
    hidden = np.count_nonzero(B, axis=1) if split == "type" else B.sum(axis=1)
    np.testing.assert_array_equal(hidden, [n_hidden(size, fraction) for size in sizes])


@pytest.mark.parametrize("split", SPLITS)
def test_empty_documents_and_documents_of_one_word(split):
    A, B = dense(SPLITS[split](np.array([[0, 0, 0], [0, 1, 0], [0, 3, 0]]), 0.5))
    assert not A[:2].any()
    assert not B[:2].any()
    if split == "type":
        assert not A[2].any()
        assert not B[2].any()
    else:
        # three tokens, round(1.5) = 2 hidden
        np.testing.assert_array_equal([A[2], B[2]], [[0, 1, 0], [0, 2, 0]])


@pytest.mark.parametrize("split", SPLITS)
def test_the_split_of_a_document_depends_on_nothing_but_itself(split):
    X = corpus(1)
    whole = SPLITS[split](X, 0.4, random_state=3)
    order = np.random.default_rng(0).permutation(len(X))
    assert_same(SPLITS[split](X[order], 0.4, random_state=3), [part[order] for part in whole])
    for d in (0, 3, 17):
        assert_same(SPLITS[split](X[d : d + 1], 0.4, random_state=3), [part[[d]] for part in whole])


@pytest.mark.parametrize("split", SPLITS)
def test_words_that_no_document_has_do_not_change_the_split(split):
    X = corpus(1)
    wider = np.hstack([X, np.zeros((len(X), 5), dtype=X.dtype)])
    assert_same([part[:, : X.shape[1]] for part in SPLITS[split](wider)], SPLITS[split](X))


@pytest.mark.parametrize("split", SPLITS)
def test_blocks_do_not_change_the_split(split, monkeypatch):
    X = corpus(2)
    whole = SPLITS[split](X)
    monkeypatch.setattr(_splits, "BLOCK_ENTRIES", 7)
    assert_same(SPLITS[split](X), whole)


def shuffled_with_duplicates(X, index_type=np.int32):
    """CSR whose rows hold their entries backwards, each count as one and the rest, and zeros for all other words."""
    data, indices, indptr = [], [], [0]
    for row in X:
        for word in range(len(row))[::-1]:
            data += [row[word] - 1, 1] if row[word] else [0, 0]
            indices += [word, word]
        indptr.append(len(data))
    arrays = np.array(data), np.array(indices, dtype=index_type), np.array(indptr, dtype=index_type)
    return sparse.csr_matrix(arrays, shape=X.shape)


def with_wide_indices(X):
    out = sparse.csr_array(X)
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


def read_only(X):
    out = sparse.csr_array(X)
    for array in (out.data, out.indices, out.indptr):
        array.flags.writeable = False
    return out


def read_only_duplicates(X):
    out = shuffled_with_duplicates(X)
    for array in (out.data, out.indices, out.indptr):
        array.flags.writeable = False
    return out


FORMS = {
    "dense": np.asarray,
    "list": lambda X: X.tolist(),
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_matrix": sparse.csc_matrix,
    "coo_array": sparse.coo_array,
    "int32": lambda X: sparse.csr_array(X.astype(np.int32)),
    "uint8": lambda X: sparse.csr_array(X.astype(np.uint8)),
    "float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "float64": lambda X: sparse.csr_array(X.astype(np.float64)),
    "64-bit indices": with_wide_indices,
    "64-bit indices, duplicates": lambda X: shuffled_with_duplicates(X, np.int64),
    "unsorted, duplicates, zeros": shuffled_with_duplicates,
    "read-only": read_only,
    "read-only, duplicates": read_only_duplicates,
}


@pytest.mark.parametrize("form", FORMS)
def test_what_holds_the_counts_does_not_matter(form):
    X, topics = corpus(4), random_topics()
    for split in SPLITS.values():
        assert_same(split(FORMS[form](X)), split(X))
    assert document_completion(topics, FORMS[form](X)) == document_completion(topics, X)
    for measure in MEASURES:
        np.testing.assert_array_equal(
            topic_coherence(topics, FORMS[form](X), measure=measure, n_top_words=4),
            topic_coherence(topics, X, measure=measure, n_top_words=4),
        )


def test_presence_alone_is_a_count():
    X = corpus(4) > 0
    assert_same(split_by_type(X), split_by_type(X.astype(np.float64)))


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_parts_have_the_type_of_the_counts(split, dtype):
    X = sparse.csr_matrix(corpus().astype(dtype))
    for part in SPLITS[split](X):
        assert part.dtype == dtype
        assert isinstance(part, sparse.csr_matrix)
        assert part.has_canonical_format
        assert part.data.all()
    assert isinstance(SPLITS[split](sparse.csr_array(X))[0], sparse.csr_array)


def test_the_caller_s_counts_stay_as_they_are():
    X = shuffled_with_duplicates(corpus())
    data, indices = X.data.copy(), X.indices.copy()
    split_by_type(X)
    document_completion(random_topics(), X)
    topic_coherence(random_topics(), X)
    np.testing.assert_array_equal(X.data, data)
    np.testing.assert_array_equal(X.indices, indices)


def test_small_integers_do_not_overflow():
    # 200 + 100 tokens of one word: 44 in eight bits
    arrays = np.array([200, 100, 1], dtype=np.uint8), np.array([0, 0, 1]), np.array([0, 3])
    A, B = split_by_token(sparse.csr_array(arrays, shape=(1, 2)))
    np.testing.assert_array_equal((A + B).toarray(), [[300, 1]])


@pytest.mark.parametrize("split", SPLITS)
def test_random_states(split):
    X = corpus(5)
    one, two = SPLITS[split](X, random_state=1), SPLITS[split](X, random_state=2)
    assert_same(one, SPLITS[split](X, random_state=1))
    assert (one[1] != two[1]).nnz > 0
    rng = np.random.RandomState(7)
    first, second = SPLITS[split](X, random_state=rng), SPLITS[split](X, random_state=rng)
    assert (first[1] != second[1]).nnz > 0
    assert_same(first, SPLITS[split](X, random_state=np.random.RandomState(7)))
    np.testing.assert_array_equal(*[sum(SPLITS[split](X, random_state=seed)).toarray() for seed in (None, 0)])


def test_every_pair_of_types_is_hidden_as_often_as_any_other():
    # 3000 documents of six words, each with its own words
    _, B = split_by_type(sparse.kron(sparse.eye_array(3000), np.arange(1, 7)[None]), 1 / 3)
    pairs = B.indices.reshape(3000, 2) % 6
    drawn = np.bincount(6 * pairs[:, 0] + pairs[:, 1], minlength=36).reshape(6, 6)[np.triu_indices(6, 1)]
    assert drawn.sum() == 3000
    assert chisquare(drawn).pvalue > 1e-3


def test_hidden_tokens_are_hypergeometric():
    # 2 of 6 tokens, 4 of them of word 0; of word 0 are hidden
    #   none: C(4,0) C(2,2) / C(6,2) = 1/15, one: 4 * 2 / 15 = 8/15, both: 6 * 1 / 15 = 6/15
    _, B = split_by_token(sparse.kron(sparse.eye_array(3000), np.array([[4, 2]])), 1 / 3)
    drawn = np.bincount(B[:, ::2].sum(axis=1).astype(int), minlength=3)
    assert chisquare(drawn, 3000 * np.array([1, 8, 6]) / 15).pvalue > 1e-3


def test_another_seed_draws_other_numbers():
    # one document of ten words, two hidden: each word is hidden by a fifth of the seeds
    X = np.arange(1, 11)[None]
    hidden = np.concatenate([split_by_type(X, random_state=seed)[1].indices for seed in range(400)])
    assert chisquare(np.bincount(hidden, minlength=10)).pvalue > 1e-3


def test_documents_of_the_same_words_are_split_by_their_counts_too():
    X = np.ones((600, 6), dtype=int)
    X[:, 0] = np.arange(1, 601)
    _, B = split_by_type(X, 1 / 6)
    assert chisquare(np.bincount(B.indices, minlength=6)).pvalue > 1e-3


# -- document completion


def completion_twin(topics, X, prior, fraction=0.2, split="type", random_state=0):
    """Document by document, word by word."""
    phi = np.maximum(topics / topics.sum(axis=1, keepdims=True), TINY)
    A, B = SPLITS[split](sparse.csr_array(X), fraction, random_state)
    theta = reference.infer_doc_topic(A, phi.T, prior, max_iter=10_000, tol=1e-10)
    log_likelihood, n_tokens = 0.0, 0.0
    for d, row in enumerate(B.toarray()):
        for v in np.flatnonzero(row):
            probability = sum(theta[d, k] / theta[d].sum() * phi[k, v] for k in range(len(phi)))
            log_likelihood += row[v] * np.log(probability)
            n_tokens += row[v]
    return log_likelihood / n_tokens


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("prior", [0.1, 1.0, np.array([0.2, 0.5, 0.1, 2.0])], ids=["sparse", "flat", "vector"])
def test_completion_equals_its_twin(split, prior):
    topics, X = random_topics(), corpus(6)
    expected = completion_twin(topics, X, prior, 0.3, split, 5)
    got = document_completion(topics, X, doc_topic_prior=prior, test_fraction=0.3, split=split, random_state=5)
    assert got == pytest.approx(expected, rel=1e-4)


def test_completion_by_document_is_that_of_each_document():
    """A document alone has another split, except that with two words, of which one is hidden, there are two."""
    topics, X = random_topics(), corpus(6)
    logs, n_tokens = completion_by_document(topics, X, doc_topic_prior=0.1, random_state=5)
    whole = document_completion(topics, X, doc_topic_prior=0.1, random_state=5)
    assert logs.sum() / n_tokens.sum() == pytest.approx(whole, rel=1e-12)
    two = np.zeros((1, 12))
    two[0, [3, 7]] = 2.0, 5.0
    logs, n_tokens = completion_by_document(np.ones((1, 12)), np.vstack([two, 0 * two, two]))
    assert set(n_tokens[[0, 2]]) <= {2.0, 5.0}
    np.testing.assert_allclose(logs, -n_tokens * np.log(12), rtol=1e-6)
    assert n_tokens[1] == 0


@pytest.mark.parametrize("prior", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("excess", [1e-4, 1e-3, 1e-2])
def test_short_documents_are_scored_where_they_have_converged(excess, prior):
    """To 1e-4 nats: the visible word hardly distinguishes the topics, so equal shares change slowly."""
    topics = np.array([[0.5, 0.1, 0.4], [0.5 + excess, 0.3, 0.2 - excess]])
    X = np.tile([1, 1, 0], (20, 1))
    expected = completion_twin(topics, X, prior)
    assert document_completion(topics, X, doc_topic_prior=prior) == pytest.approx(expected, abs=1e-4)


def test_completion_of_topics_without_common_words_by_hand():
    # Topics are uniform over words 0-2 and over words 3-5, so every token has its topic for sure.
    # Document 0 has 6 tokens, two of each word; one of three types is hidden (2 tokens), 4 tokens remain:
    #   pi_0 = (4 + 0.1) / (4 + 0.2), p = pi_0 / 3
    # Document 1 has 3 tokens, one is hidden:  pi_1 = (2 + 0.1) / (2 + 0.2), p = pi_1 / 3
    topics = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    X = np.array([[2, 2, 2, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    expected = (2 * np.log(4.1 / 4.2 / 3) + np.log(2.1 / 2.2 / 3)) / 3
    assert document_completion(topics, X, doc_topic_prior=0.1) == pytest.approx(expected, rel=1e-5)
    assert perplexity(topics, X, doc_topic_prior=0.1) == pytest.approx(np.exp(-expected), rel=1e-5)


def test_one_topic_needs_no_inference():
    X, topic = corpus(7), random_topics(n_topics=1)
    _, B = split_by_type(X)
    expected = (B @ np.log(topic[0] / topic.sum())).sum() / B.sum()
    assert document_completion(topic, X) == pytest.approx(expected, rel=1e-6)


def test_uniform_topics_are_as_uncertain_as_the_vocabulary_is_large():
    X = corpus()
    assert document_completion(np.ones((3, 12)), X) == pytest.approx(-np.log(12), rel=1e-6)
    assert perplexity(np.ones((3, 12)), X) == pytest.approx(12.0, rel=1e-6)


def test_perplexity_passes_every_argument_on():
    topics, X = random_topics(), corpus()
    given_ = {"doc_topic_prior": 0.7, "test_fraction": 0.4, "split": "token", "random_state": 9, "n_jobs": 2}
    assert perplexity(topics, X, **given_) == np.exp(-document_completion(topics, X, **given_))
    for name in ("doc_topic_prior", "test_fraction", "split", "random_state"):
        others = {key: value for key, value in given_.items() if key != name}
        assert perplexity(topics, X, **others) != perplexity(topics, X, **given_)


def test_weights_of_any_scale_and_type_are_the_same_topics():
    topics, X = random_topics(), corpus()
    expected = document_completion(topics, X)
    assert document_completion(topics * np.array([[1e-3], [1.0], [7.0], [1e6]]), X) == pytest.approx(expected, rel=1e-6)
    assert document_completion(topics.astype(np.float32), X) == pytest.approx(expected, rel=1e-5)
    # sums over words follow the order in memory
    assert document_completion(np.asfortranarray(topics), X) == pytest.approx(expected, rel=1e-14)
    integers = np.random.default_rng(0).integers(1, 9, size=(4, 12))
    assert document_completion(integers, X) == document_completion(integers.astype(float), X)


def test_prior_comes_from_the_estimator_unless_it_is_given():
    topics, X = random_topics(), corpus()
    model = SimpleNamespace(components_=topics, doc_topic_prior_=0.8)
    assert document_completion(model, X) == document_completion(topics, X, doc_topic_prior=0.8)
    assert document_completion(model, X, doc_topic_prior=0.1) == document_completion(topics, X, doc_topic_prior=0.1)
    assert document_completion(topics, X) == document_completion(topics, X, doc_topic_prior=1 / 4)
    assert document_completion(topics, X) != document_completion(model, X)
    vector = np.full(4, 0.8)
    assert document_completion(topics, X, doc_topic_prior=vector) == document_completion(model, X)


def test_documents_may_have_priors_of_their_own(monkeypatch):
    """The sum over documents of the log likelihoods under their priors, in blocks of any size."""
    monkeypatch.setattr(_completion, "CHUNK_BYTES", 7 * 8 * 4)
    topics, X = random_topics(), corpus()
    priors = np.random.default_rng(0).gamma(1.0, size=(X.shape[0], len(topics))) + 0.01
    parts = [
        _completion.total(_completion.hidden_tokens(topics, X[[d]], priors[d])) for d in range(X.shape[0])
    ]
    expected, n_tokens = np.sum(parts, axis=0)
    assert document_completion(topics, X, doc_topic_prior=priors) == pytest.approx(expected / n_tokens, rel=1e-6)
    with pytest.raises(ValueError, match="documents by topics"):
        document_completion(topics, X, doc_topic_prior=priors[1:])


def test_topics_of_scikit_learn():
    X = sparse.csr_matrix(corpus(8, n_documents=80))
    lda = LatentDirichletAllocation(3, max_iter=3, random_state=0).fit(X)
    assert lda.doc_topic_prior_ == pytest.approx(1 / 3)
    assert document_completion(lda, X) == document_completion(lda.components_, X)
    assert perplexity(lda, X) == perplexity(lda.components_, X)
    np.testing.assert_array_equal(topic_coherence(lda, X), topic_coherence(lda.components_, X))
    for words in (top_words, distinctive_words):
        np.testing.assert_array_equal(words(lda), words(lda.components_))
    assert topic_diversity(lda, 5) == topic_diversity(lda.components_, 5)
    np.testing.assert_array_equal(topic_exclusivity(lda), topic_exclusivity(lda.components_))
    order, distances = align_topics(lda, lda.components_[[2, 0, 1]])
    assert (order.tolist(), distances.tolist()) == ([2, 0, 1], [0, 0, 0])


def test_true_topics_complete_documents_better_than_others():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.1), size=5)
    doc_topic = rng.dirichlet(np.full(5, 0.2), size=200)
    X = np.array([rng.multinomial(60, p / p.sum()) for p in doc_topic @ topics])
    true = document_completion(topics, X, doc_topic_prior=0.2)
    assert true > document_completion(0.7 * topics + 0.3 / 60, X, doc_topic_prior=0.2)
    assert true > document_completion(topics.mean(axis=0, keepdims=True), X) + 0.3
    assert true > document_completion(topics[:, rng.permutation(60)], X, doc_topic_prior=0.2) + 1.0


def test_impossible_words_cost_what_the_floor_costs():
    # Word 2 has no weight anywhere; split until it is the hidden one: its probability is the floor in every topic.
    topics, X = np.array([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0]]), np.array([[3, 0, 1]])
    seed = next(seed for seed in range(100) if split_by_type(X, random_state=seed)[1][0, 2])
    assert document_completion(topics, X, random_state=seed) == pytest.approx(np.log(TINY), rel=1e-6)
    assert np.log(TINY) == pytest.approx(-87.3365, abs=1e-4)


def test_impossible_words_do_not_change_topic_shares():
    # The hidden word is 0. Shown is word 2, which no topic has: responsibilities are equal, pi = (1/2, 1/2).
    topics, X = np.array([[0.9, 0.1, 0.0], [0.3, 0.7, 0.0]]), np.array([[3, 0, 1]])
    seed = next(seed for seed in range(100) if split_by_type(X, random_state=seed)[1][0, 0])
    assert document_completion(topics, X, random_state=seed) == pytest.approx(np.log(0.6), rel=1e-6)


def test_documents_too_short_to_split_are_left_out():
    topics, X = random_topics(), corpus()[:3]
    short = np.zeros((4, 12), dtype=int)
    short[1, 3], short[2, 0] = 9, 1
    assert document_completion(topics, np.vstack([X, short])) == pytest.approx(
        document_completion(topics, X), rel=1e-12
    )


def test_order_of_documents_does_not_change_the_score():
    topics, X = random_topics(), corpus(9)
    assert document_completion(topics, X[::-1]) == pytest.approx(document_completion(topics, X), rel=1e-12)


def test_threads_and_blocks_do_not_change_the_score(monkeypatch):
    topics, X = random_topics(), corpus(9)
    expected = document_completion(topics, X)
    assert document_completion(topics, X, n_jobs=3) == expected
    monkeypatch.setattr(_completion, "CHUNK_BYTES", 8 * 4 * 6)  # six documents, six words
    monkeypatch.setattr(_splits, "BLOCK_ENTRIES", 20)
    assert document_completion(topics, X) == pytest.approx(expected, rel=1e-12)


# -- coherence


def coherence_twin(topic, X, measure, n):
    """One topic, pair by pair."""
    top = sorted(range(len(topic)), key=lambda v: (-topic[v], v))[:n]
    n_documents = len(X)

    def count(*words):
        return sum(all(row[v] > 0 for v in words) for row in X)

    def ratio(v, w, epsilon):
        joint = count(v, w) / n_documents
        if n_documents in (count(v), count(w)):
            return 0.0
        return np.log((joint + epsilon) * n_documents**2 / (count(v) * count(w))) / -np.log(joint + epsilon)

    if measure == "umass":
        return sum(
            np.log((count(top[m], top[below]) + 1) / (count(top[below]) or n_documents))
            for m in range(1, n)
            for below in range(m)
        )
    if measure == "npmi":
        return np.mean([ratio(v, w, 0.0) if count(v, w) else -1.0 for v, w in combinations(top, 2)])
    vectors = np.array([[ratio(v, w, 1e-12) if count(v) and count(w) else 0.0 for w in top] for v in top])
    total = vectors.sum(axis=0)
    lengths = [np.sqrt((vector**2).sum() * (total**2).sum()) for vector in vectors]
    return np.mean(
        [vector @ total / length if length else 0.0 for vector, length in zip(vectors, lengths, strict=True)]
    )


@pytest.mark.parametrize(("n", "measure"), list(product([2, 5, 12], MEASURES)))  # two words are one pair
def test_coherence_equals_its_twin(n, measure):
    X = corpus(10, n_documents=50, mean=0.5)
    X[:, 0] = 1  # in every document
    X[:, 1] = 0  # in none
    X[:, 2] = X[:, 3]  # always together
    topics = random_topics(3, n_topics=6)
    topics[0, :4] = [8, 7, 6, 5]
    expected = [coherence_twin(topic, X, measure, n) for topic in topics]
    np.testing.assert_allclose(topic_coherence(topics, X, measure=measure, n_top_words=n), expected, rtol=1e-10)


# Words 0 and 1 share two documents of four, word 2 shares one with word 0, word 3 stands alone.
#   D(0) = 3, D(1) = 2, D(2) = 1, D(3) = 1;  D(0,1) = 2, D(0,2) = 1, D(1,2) = 0
FOUR = np.array([[1, 1, 0, 0], [5, 2, 0, 0], [1, 0, 3, 0], [0, 0, 0, 1]])


def test_umass_by_hand():
    # order 0, 1, 2: log[(D(1,0)+1)/D(0)] + log[(D(2,0)+1)/D(0)] + log[(D(2,1)+1)/D(1)]
    #   = log(3/3) + log(2/3) + log(1/2) = log(1/3)
    # order 2, 1, 0: log[(D(1,2)+1)/D(2)] + log[(D(0,2)+1)/D(2)] + log[(D(0,1)+1)/D(1)]
    #   = log(1/1) + log(2/1) + log(3/2) = log 3
    topics = np.array([[3, 2, 1, 0], [1, 2, 3, 0]])
    np.testing.assert_allclose(
        topic_coherence(topics, FOUR, measure="umass", n_top_words=3), [-np.log(3), np.log(3)], rtol=1e-12
    )


def test_npmi_by_hand():
    # (0,1): log[(2/4) / (3/4 * 2/4)] / -log(2/4) = log(4/3) / log 2
    # (0,2): log[(1/4) / (3/4 * 1/4)] / -log(1/4) = log(4/3) / log 4
    # (1,2): never together, -1
    expected = (np.log(4 / 3) / np.log(2) + np.log(4 / 3) / np.log(4) - 1) / 3
    got = topic_coherence(np.array([[3, 2, 1, 0], [1, 3, 2, 0]]), FOUR, n_top_words=3)
    np.testing.assert_allclose(got, [expected, expected], rtol=1e-12)


def test_c_v_by_hand():
    # Top words 0 and 1. A word with itself: log[p / p^2] / -log p = 1. (0,1): a = log(4/3) / log 2.
    # Vectors (1, a) and (a, 1), sum (1 + a)(1, 1): both cosines are (1 + a) / sqrt(2 (1 + a^2)).
    a = np.log(4 / 3) / np.log(2)
    got = topic_coherence(np.array([[2, 1, 0, 0]]), FOUR, measure="c_v", n_top_words=2)
    np.testing.assert_allclose(got, (1 + a) / np.sqrt(2 * (1 + a**2)), rtol=1e-9)


@pytest.mark.parametrize(("measure", "best", "worst"), [("npmi", 1.0, -1.0), ("c_v", 1.0, None), ("umass", None, None)])
def test_words_that_occur_together_are_coherent(measure, best, worst):
    X = np.kron(np.eye(2, dtype=int), np.ones((5, 4), dtype=int))  # words 0-3 in five documents, 4-7 in five others
    topics = np.array([[4, 3, 2, 1, 0, 0, 0, 0], [4, 0, 0, 0, 3, 0, 0, 0]])
    together = topic_coherence(topics, X, measure=measure, n_top_words=4)[0]
    apart = topic_coherence(topics[1:], X, measure=measure, n_top_words=2)[0]
    assert together > apart
    assert best is None or together == pytest.approx(best, rel=1e-9)
    assert worst is None or apart == worst


def test_words_that_never_occur_and_words_that_always_do():
    X = np.array([[1, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 0]])
    never, always = np.array([[0, 2, 1, 0]]), np.array([[2, 1, 0, 0]])
    # npmi: pairs that are never together; umass: the lowest value, log[(0 + 1) / 3]; c_v: vectors of zeros
    assert topic_coherence(never, X, measure="npmi", n_top_words=2) == -1
    assert topic_coherence(never, X, measure="umass", n_top_words=2) == pytest.approx(np.log(1 / 3))
    assert topic_coherence(never, X, measure="c_v", n_top_words=2) == 0
    # word 0 in all three documents, word 1 in none: log[(0 + 1) / 3]
    assert topic_coherence(always, X, measure="umass", n_top_words=2) == pytest.approx(np.log(1 / 3))
    # words in every document tell nothing of each other
    everywhere = np.ones((3, 4))
    assert topic_coherence(always, everywhere, measure="npmi", n_top_words=2) == 0
    assert topic_coherence(always, everywhere, measure="c_v", n_top_words=2) == 0


@pytest.mark.parametrize("measure", MEASURES)
def test_coherence_knows_only_which_words_a_document_has(measure):
    X, topics = corpus(11), random_topics(1)
    many = X * np.random.default_rng(0).integers(1, 50, size=X.shape)
    expected = topic_coherence(topics, X, measure=measure, n_top_words=5)
    np.testing.assert_array_equal(topic_coherence(topics, many, measure=measure, n_top_words=5), expected)
    np.testing.assert_array_equal(topic_coherence(topics, X[::-1], measure=measure, n_top_words=5), expected)


def test_co_occurrences_in_blocks_of_documents(monkeypatch):
    X, top = sparse.csr_array(corpus(12, n_documents=150)), top_words(random_topics(2), 5)
    occurs = (X.toarray() > 0).astype(int)
    expected = np.array([occurs[:, words].T @ occurs[:, words] for words in top])
    np.testing.assert_array_equal(_coherence.co_occurrences(X, top), expected)
    monkeypatch.setattr(_coherence, "BLOCK_BITS", 15 * 37)  # 37 documents: sets of 16 do not come out even
    np.testing.assert_array_equal(_coherence.co_occurrences(X, top), expected)


# -- topics by themselves


@given(
    topics=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=9),
        elements=st.sampled_from([0.0, 0.25, 1.0, 3.0]),
    ).filter(lambda topics: topics.any(axis=1).all()),
    data=st.data(),
)
def test_top_words_are_sorted_with_ties_by_index(topics, data):
    n = data.draw(st.integers(1, topics.shape[1]))
    expected = [sorted(range(len(topic)), key=lambda v: (-topic[v], v))[:n] for topic in topics]
    np.testing.assert_array_equal(top_words(topics, n), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distinctive_words_are_sorted_by_their_terms_of_the_relative_entropy(dtype):
    topics = (random_topics(3, 5, 40) * np.random.default_rng(0).integers(2, size=(5, 40))).astype(dtype)
    p = topics.sum(axis=0, dtype=float) / topics.sum(dtype=float)
    for words, topic in zip(distinctive_words(topics, 40), topics.astype(float), strict=True):
        phi = topic / topic.sum()
        terms = [phi[v] * np.log(phi[v] / p[v]) if phi[v] else -np.inf for v in range(40)]
        expected = sorted(range(40), key=lambda v: (-terms[v], v))
        np.testing.assert_array_equal(words, expected)


def test_words_that_topics_share_come_after_words_of_one_topic():
    """The order does not depend on frequency; if topics do not differ, the most probable words come first."""
    topics = np.array([[900.0, 90.0, 9.0, 1.0, 0.0], [900.0, 90.0, 0.0, 1.0, 9.0]])
    assert distinctive_words(topics, 2).tolist() == [[2, 0], [4, 0]]
    assert distinctive_words(topics[:1], 4).tolist() == [[0, 1, 2, 3]]
    assert distinctive_words(1.9e305 * topics, 2).tolist() == [[2, 0], [4, 0]]
    assert distinctive_words(1e-320 * topics, 1).tolist() == [[2], [4]]


def test_diversity_counts_different_words():
    # top two: {0, 1}, {1, 2}, {0, 1}: three words of six
    topics = np.array([[2, 3, 0, 0], [0, 3, 2, 1], [2, 3, 1, 0]])
    assert topic_diversity(topics, 2) == 0.5
    assert topic_diversity(topics, 1) == pytest.approx(1 / 3)
    assert topic_diversity(topics, 4) == pytest.approx(1 / 3)
    assert topic_diversity(np.eye(3), 1) == 1


def exclusivity_twin(topics, n, w):
    """Word by word; ranks by counting."""
    phi = topics / topics.sum(axis=1, keepdims=True)
    out = []
    for topic in phi:
        share = [value / total if total else 0.0 for value, total in zip(topic, phi.sum(axis=0), strict=True)]
        scores = []
        for v in sorted(range(len(topic)), key=lambda v: (-topic[v], v))[:n]:
            frequency = sum(other <= topic[v] for other in topic) / len(topic)
            exclusivity = sum(other <= share[v] for other in share) / len(topic)
            scores.append(1 / (w / frequency + (1 - w) / exclusivity))
        out.append(np.mean(scores))
    return out


@pytest.mark.parametrize("w", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("n", [1, 4, 12])
def test_exclusivity_equals_its_twin(w, n):
    topics = random_topics(5)
    topics[:, 7] = 0  # a word of no topic
    np.testing.assert_allclose(topic_exclusivity(topics, n, w), exclusivity_twin(topics, n, w), rtol=1e-12)


def test_exclusivity_by_hand():
    # phi: (.4, .3, .2, .1) and (.6, .1, .1, .2); sums (1, .4, .3, .3)
    # topic 0: exclusivity (.4, .75, .67, .33), ranks (2, 4, 3, 1) of 4; ranks of frequency (4, 3, 2, 1)
    #   word 0: 1 / (.7 / 1 + .3 / (2/4)) = 1 / 1.3; word 1: 1 / (.7 / (3/4) + .3 / 1) = 1 / (1.4/1.5 + .3)
    # topic 1: exclusivity (.6, .25, .33, .67), ranks (3, 1, 2, 4); frequency (4, 2, 2, 3), two words tie
    #   word 0: 1 / (.7 / 1 + .3 / (3/4)) = 1 / 1.1; word 3: 1 / (.7 / (3/4) + .3 / 1)
    topics = np.array([[4, 3, 2, 1], [6, 1, 1, 2]])
    second = 1 / (1.4 / 1.5 + 0.3)
    expected = [(1 / 1.3 + second) / 2, (1 / 1.1 + second) / 2]
    np.testing.assert_allclose(topic_exclusivity(topics, 2), expected, rtol=1e-12)
    # a quarter of the weight: word 0 of topic 0 has 1 / (.25 / 1 + .75 / (2/4)) = 1 / 1.75
    np.testing.assert_allclose(topic_exclusivity(topics, 1, 0.25)[0], 1 / 1.75, rtol=1e-12)


def test_own_words_are_exclusive_and_shared_words_are_not():
    # Three topics of nine words, three words each. Of a topic's own words exclusivity has the ranks 9, 8, 7 of 9. Words
    # that all topics have most of are less exclusive to topics 1 and 2 than their own, which have the ranks 7 to 9.
    own = np.kron(np.eye(3), np.array([4.0, 3.0, 2.0])) + 1e-3
    shared = own.copy()
    shared[:, :3] += 10
    np.testing.assert_allclose(topic_exclusivity(own, 3, 0.0), 8 / 9, rtol=1e-12)
    assert (topic_exclusivity(shared, 3, 0.0)[1:] <= 6 / 9).all()


def test_alignment_by_hand():
    # distances to (1, 0, 0): 1 and |.75 - 1| / 2 + .25 / 2 = .25; to (0, 0, 1): 0 and 1
    order, distances = align_topics(np.array([[0, 0, 2], [3, 1, 0]]), np.array([[1, 0, 0], [0, 0, 5]]))
    np.testing.assert_array_equal(order, [1, 0])
    np.testing.assert_allclose(distances, [0.25, 0.0], atol=1e-15)


@pytest.mark.parametrize(("n_topics", "n_true"), [(4, 4), (5, 3), (3, 5), (1, 2), (2, 1)])
def test_alignment_is_the_best_of_all(n_topics, n_true):
    topics, true = random_topics(6, n_topics), random_topics(7, n_true)
    order, distances = align_topics(topics, true)
    phi, phi_true = topics / topics.sum(axis=1, keepdims=True), true / true.sum(axis=1, keepdims=True)
    apart = 0.5 * np.abs(phi[:, None] - phi_true[None]).sum(axis=2)
    if n_true <= n_topics:
        best = min(sum(apart[k, j] for j, k in enumerate(chosen)) for chosen in permutations(range(n_topics), n_true))
    else:
        best = min(sum(apart[k, j] for k, j in enumerate(chosen)) for chosen in permutations(range(n_true), n_topics))
    paired = np.flatnonzero(order >= 0)
    assert order.shape == (n_true,)
    assert distances.shape == (min(n_topics, n_true),)
    assert len(set(order[paired])) == len(paired) == len(distances)
    np.testing.assert_allclose(distances, apart[order[paired], paired], rtol=1e-12)
    assert distances.sum() == pytest.approx(best, rel=1e-12)


def test_alignment_finds_a_shuffled_copy():
    topics = random_topics(8, n_topics=9)
    shuffle = np.random.default_rng(0).permutation(9)
    order, distances = align_topics(topics[shuffle].astype(np.float32) * 3, topics)
    np.testing.assert_array_equal(shuffle[order], np.arange(9))
    np.testing.assert_allclose(distances, 0, atol=1e-6)


def test_read_only_topics():
    topics = random_topics().astype(np.float32)
    topics.flags.writeable = False
    X = corpus()
    assert np.isfinite(document_completion(topics, X))
    assert np.isfinite(topic_coherence(topics, X, n_top_words=3)).all()
    assert top_words(topics).shape == (4, 10)
    assert np.isfinite(topic_exclusivity(topics)).all()
    np.testing.assert_array_equal(align_topics(topics, topics)[0], range(4))


# -- wrong input


def spoilt(array, value, row=2, column=5):
    out = np.array(array, dtype=np.float64)
    out[row, column] = value
    return out


TOPICS, X = random_topics(), corpus()
ON_TOPICS = {
    "document_completion": lambda topics: document_completion(topics, X),
    "completion_by_document": lambda topics: completion_by_document(topics, X),
    "perplexity": lambda topics: perplexity(topics, X),
    "topic_coherence": lambda topics: topic_coherence(topics, X),
    "top_words": top_words,
    "distinctive_words": lambda topics: distinctive_words(topics, 2),
    "topic_diversity": lambda topics: topic_diversity(topics, 2),
    "topic_exclusivity": topic_exclusivity,
    "align_topics": lambda topics: align_topics(topics, TOPICS),
}
BAD_TOPICS = {
    "negative": (spoilt(TOPICS, -0.5), r"topics has the weight -0\.5 in row 2, column 5.*not their logarithms"),
    "NaN": (spoilt(TOPICS, np.nan), "weight nan in row 2, column 5"),
    "infinity": (spoilt(TOPICS, np.inf), "weight inf in row 2, column 5"),
    "no weight": (TOPICS * [[1], [1], [0], [1]], "row 2 of topics is all zero.*remove it"),
    "one dimension": (TOPICS[0], r"shape \(n_topics, n_words\), got ndarray of shape \(12,\)"),
    "no topics": (TOPICS[:0], r"got ndarray of shape \(0, 12\)"),
    "text": (np.full((2, 2), "a"), "topics has .a. in row 0, column 0, which is not a number"),
    "sparse": (sparse.csr_matrix(TOPICS), "dense array.*got csr_matrix"),
    "nothing": (None, "fitted estimator with components_.*got NoneType"),
}


@pytest.mark.parametrize("call", ON_TOPICS)
@pytest.mark.parametrize("case", BAD_TOPICS)
def test_bad_topics(call, case):
    topics, message = BAD_TOPICS[case]
    with pytest.raises(ValueError, match=message):
        ON_TOPICS[call](topics)


@pytest.mark.parametrize("call", ON_TOPICS)
def test_unfitted_estimators(call):
    with pytest.raises(NotFittedError, match="LatentDirichletAllocation without components_; call its fit"):
        ON_TOPICS[call](LatentDirichletAllocation())


@pytest.mark.parametrize("call", ON_TOPICS)
def test_fitted_estimators_without_words_are_named(call):
    rows = np.random.default_rng(0).normal(size=(30, TOPICS.shape[1]))
    with pytest.raises(ValueError, match="is a fitted SparseGaussianMixture, which has no components_ or word_prop"):
        ON_TOPICS[call](SparseGaussianMixture(2, random_state=0).fit(rows))


def test_clusters_of_documents_have_top_words():
    X = np.random.default_rng(0).poisson(1.0, (40, 12))
    mixture = SparseMultinomialMixture(3, random_state=0).fit(X)
    found = topic_coherence(mixture, X, n_top_words=3)
    np.testing.assert_array_equal(found, topic_coherence(mixture.word_proportions_, X, n_top_words=3))


def test_bad_true_topics_are_named():
    with pytest.raises(ValueError, match="row 2 of true_topics is all zero"):
        align_topics(TOPICS, TOPICS * [[1], [1], [0], [1]])
    with pytest.raises(ValueError, match=r"topics have 12 words and true_topics 11; .*one vocabulary"):
        align_topics(TOPICS, TOPICS[:, 1:])


ON_COUNTS = {
    "split_by_type": split_by_type,
    "split_by_token": split_by_token,
    "document_completion": lambda X: document_completion(TOPICS, X),
    "completion_by_document": lambda X: completion_by_document(TOPICS, X),
    "perplexity": lambda X: perplexity(TOPICS, X),
    "topic_coherence": lambda X: topic_coherence(TOPICS, X),
}
BAD_COUNTS = {
    "negative": (spoilt(X, -1), r"X has -1\.0 in row 2, column 5.*not negative.*(remove|correct)"),
    "negative integer": (spoilt(X, -1).astype(int), r"X has -1 in row 2, column 5"),
    "NaN": (spoilt(X, np.nan), "X has nan in row 2, column 5"),
    "infinity": (sparse.csr_array(spoilt(X, np.inf)), "X has inf in row 2, column 5"),
    "too large": (spoilt(X, 1e39), r"X has 1e\+39 in row 2, column 5.* at most 1e\+17"),
    "one dimension": (X[0], "Reshape your data"),
    "no rows": (X[:0], "0 sample"),
    "text": (np.full((2, 12), "a"), "X has .a. in row 0, column 0, which is not a number"),
    "complex": (X + 1j, "Complex data not supported"),
}


@pytest.mark.parametrize("call", ON_COUNTS)
@pytest.mark.parametrize("case", BAD_COUNTS)
def test_bad_counts(call, case):
    counts, message = BAD_COUNTS[case]
    with pytest.raises(ValueError, match=message):
        ON_COUNTS[call](counts)


@pytest.mark.parametrize("call", ON_COUNTS)
def test_a_corpus_without_words_has_a_finite_value_or_an_error(call):
    try:
        values = ON_COUNTS[call](np.zeros((3, 12), dtype=int))
    except ValueError:
        return
    for value in values if isinstance(values, tuple) else (values,):
        assert np.isfinite(value.data if sparse.issparse(value) else value).all()


@pytest.mark.parametrize("call", ["document_completion", "perplexity", "topic_coherence"])
def test_counts_over_another_vocabulary(call):
    with pytest.raises(ValueError, match=r"X has 11 columns but topics have 12 words; .*vocabulary"):
        ON_COUNTS[call](X[:, 1:])


def test_parts_of_tokens_cannot_be_divided():
    broken = sparse.csr_array(spoilt(X, 0.5))
    for call in (split_by_token, lambda X: document_completion(TOPICS, X, split="token")):
        with pytest.raises(ValueError, match=r"count 0\.5 in row 2, .*round.*divide documents by type"):
            call(broken)
    A, B = split_by_type(broken)
    np.testing.assert_array_equal((A + B).toarray()[2], broken.toarray()[2])


@pytest.mark.parametrize(("split", "what"), [("type", "two distinct words"), ("token", "two tokens")])
def test_no_document_to_score(split, what):
    with pytest.raises(ValueError, match=f"no row of X has {what}.*longer documents"):
        document_completion(TOPICS, np.eye(12, dtype=int), split=split)
    with pytest.raises(ValueError, match="no row of X"):
        perplexity(TOPICS, np.zeros((3, 12)), split=split)


BAD_ARGUMENTS = {
    "fraction 0": (lambda: split_by_type(X, 0.0), r"test_fraction is 0\.0; .*between 0 and 1"),
    "fraction 1": (lambda: split_by_token(X, 1), "test_fraction is 1; "),
    "fraction NaN": (lambda: document_completion(TOPICS, X, test_fraction=np.nan), "test_fraction is nan"),
    "fraction text": (lambda: perplexity(TOPICS, X, test_fraction="half"), "test_fraction is 'half'"),
    "seed": (lambda: split_by_type(X, random_state="seed"), "cannot be used to seed"),
    "negative seed": (lambda: split_by_type(X, random_state=-1), "Seed must be between"),
    "split": (lambda: document_completion(TOPICS, X, split="half"), r"split is 'half'; .*\['token', 'type'\]"),
    "zero prior": (lambda: document_completion(TOPICS, X, doc_topic_prior=0.0), r"doc_topic_prior is 0\.0.*positive"),
    "NaN prior": (lambda: perplexity(TOPICS, X, doc_topic_prior=np.nan), "doc_topic_prior is nan"),
    "long prior": (lambda: perplexity(TOPICS, X, doc_topic_prior=np.ones(5)), r"shape \(5,\); give one number, 4"),
    "measure": (lambda: topic_coherence(TOPICS, X, measure="uci"), r"measure is 'uci'; .*'c_v', 'npmi', 'umass'"),
    "no words": (lambda: top_words(TOPICS, 0), "n_top_words is 0; .*integer from 1 to 12, the number of words"),
    "half a word": (lambda: top_words(TOPICS, 2.5), r"n_top_words is 2\.5"),
    "more words": (lambda: topic_diversity(TOPICS), "n_top_words is 25; .*from 1 to 12, the number of words"),
    "one word has no pairs": (lambda: topic_coherence(TOPICS, X, n_top_words=1), "n_top_words is 1; .*from 2 to"),
    "exclusivity of more words": (lambda: topic_exclusivity(TOPICS, 13), "n_top_words is 13"),
    "weight": (lambda: topic_exclusivity(TOPICS, frequency_weight=1.5), r"frequency_weight is 1\.5; .*from 0 to 1"),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_arguments(case):
    call, message = BAD_ARGUMENTS[case]
    with pytest.raises(ValueError, match=message):
        call()


# -- gensim's conventions


def test_coherence_by_gensims_conventions():
    """Formulas of gensim's direct measures, word by word; and its numbers where it is installed."""
    rng = np.random.default_rng(0)
    X = (rng.random((60, 8)) < 0.3) * rng.integers(1, 4, (60, 8))
    topics = rng.dirichlet(np.ones(8), 3)
    occurs, n = X > 0, 60
    for k, value in enumerate(topic_coherence(topics, X, measure="u_mass", n_top_words=4, convention="gensim")):
        top = np.argsort(-topics[k])[:4]
        pairs = [(occurs[:, v] & occurs[:, w]).sum() / n for i, v in enumerate(top) for w in top[:i]]
        alone = [occurs[:, w].sum() / n for i in range(4) for w in top[:i]]
        assert value == pytest.approx(np.mean(np.log((np.array(pairs) + 1e-12) / alone)))
    np.testing.assert_array_equal(
        topic_coherence(topics, X, measure="u_mass", n_top_words=4),
        topic_coherence(topics, X, measure="umass", n_top_words=4),
    )
    never = np.array([[1, 0], [0, 1], [0, 0]])
    assert topic_coherence([[0.5, 0.5]], never, n_top_words=2)[0] == -1.0
    assert topic_coherence([[0.5, 0.5]], never, n_top_words=2, convention="gensim")[0] == pytest.approx(-0.92, abs=0.01)
    for convention in ("paper", "gensim"):  # the sum of no probabilities has no logarithm
        assert topic_coherence([[0.5, 0.5]], np.zeros((3, 2)), n_top_words=2, convention=convention)[0] == -1.0
    with pytest.raises(ValueError, match="convention is 'mallet'"):
        topic_coherence(topics, X, convention="mallet")


def test_coherence_equals_gensims():
    coherencemodel = pytest.importorskip("gensim.models.coherencemodel")
    from gensim.corpora import Dictionary

    rng = np.random.default_rng(0)
    texts = [[f"w{v}" for v in np.flatnonzero(rng.random(8) < 0.4)] for _ in range(60)]
    dictionary = Dictionary(texts)
    names = [dictionary[v] for v in range(len(dictionary))]
    X = np.array([[text.count(name) for name in names] for text in texts])
    topics = rng.dirichlet(np.ones(len(names)), 3)
    top = [[names[v] for v in np.argsort(-row)[:4]] for row in topics]
    for measure in ("u_mass", "c_npmi"):
        model = coherencemodel.CoherenceModel(
            topics=top, texts=texts, dictionary=dictionary, coherence=measure, window_size=100, topn=4, processes=1
        )
        ours = topic_coherence(topics, X, measure=measure, n_top_words=4, convention="gensim")
        np.testing.assert_allclose(ours, model.get_coherence_per_topic(), rtol=1e-6)
