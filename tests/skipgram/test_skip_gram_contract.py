"""SkipGramTopicModel as scikit-learn sees it: checks, forms of input, errors, streams, copies, threads, interrupts."""

import pickle
from itertools import pairwise, product

import numpy as np
import pytest
from copies import COPIES
from interruptions import fail_at
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.estimator_checks import parametrize_with_checks
from topic_cases import read_only, wide_indices

from sparsemix import SkipGramTopicModel, TokenSequences
from sparsemix._engine.monitor import Monitor
from sparsemix.datasets import make_skip_gram
from sparsemix.metrics import top_words, topic_coherence
from sparsemix.skipgram import _vectors

K, V, N = 4, 30, 60
X = make_skip_gram(N, n_features=V, n_components=K, doc_length=12, random_state=0)[0]
VARIANTS = {
    "dense": {"sampler": "dense"},
    "chains": {"sampler": "mhw"},
    "mini-epochs": {"sampler": "mhw", "mini_epoch_size": 30, "mini_epoch_passes": 2},
    "gibbs": {"inference": "gibbs"},
    "mhw": {"inference": "mhw"},
}
STREAMING = ["dense", "chains"]
per_variant = pytest.mark.parametrize("variant", VARIANTS)
per_stream = pytest.mark.parametrize("variant", STREAMING)


def model(variant="dense", n_components=K, **params):
    defaults = {"batch_size": 15, "max_iter": 3, "window": 3, "random_state": 0}
    return SkipGramTopicModel(n_components, **(defaults | VARIANTS[variant] | params))


def said(est, rows=X):
    """What a model says of documents and of itself."""
    arrays = [est.transform(rows), est.components_, est.word_topics_, est.topic_weights_, est.score(rows)]
    arrays += [est.transform_words(rows).toarray(), est.acceptance_rate_]
    return [np.asarray(array) for array in arrays]


def assert_same_bits(first, second, rows=X):
    for a, b in zip(said(first, rows), said(second, rows), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def assert_valid(est, rows):
    assert np.isfinite(est.components_).all()
    assert (est.components_ > 0).all()
    np.testing.assert_allclose(est.word_topics_.sum(axis=1), 1.0, rtol=1e-5)
    theta = est.transform(rows)
    assert (theta >= 0).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-9)
    assert est.topic_weights_.sum() == pytest.approx(1.0)


# -- scikit-learn's own checks

COLUMNS_ARE_PLACES = (
    "columns are places of words and not features: n_features_in_ is the size of the vocabulary, and documents of any "
    "width are taken"
)
LISTS_ARE_NUMBERS = "a list holds numbers of words, which begin with 0, of documents of any length; a matrix number + 1"
EXPECTED = {
    "check_transformer_general": LISTS_ARE_NUMBERS,
    "check_transformer_data_not_an_array": LISTS_ARE_NUMBERS,
    "check_fit2d_1feature": "documents of one place have no contexts, and the sentence says so",
    "check_n_features_in": COLUMNS_ARE_PLACES,
    "check_n_features_in_after_fitting": COLUMNS_ARE_PLACES,
    "check_dataframe_column_names_consistency": COLUMNS_ARE_PLACES,
    "check_sample_weight_equivalence_on_dense_data": "the start is noise, and batches are random: a document of weight "
    "2 and two documents take other random numbers; test_weights_are_repeated_documents asserts it in expectation",
    "check_sample_weight_equivalence_on_sparse_data": "as for dense data",
}
SETTINGS = [
    SkipGramTopicModel(3, max_iter=3, window=2),
    SkipGramTopicModel(3, sampler="mhw", max_iter=3, n_jobs=2),
    SkipGramTopicModel(2, inference="gibbs", max_iter=3),
    SkipGramTopicModel(2, inference="mhw", max_iter=3),
    SkipGramTopicModel(1, total_samples=100, max_iter=2),
]
WEIGHING = [
    "check_sample_weights_pandas_series", "check_sample_weights_not_an_array", "check_sample_weights_list",
    "check_all_zero_sample_weights_error", "check_sample_weights_shape", "check_sample_weights_not_overwritten",
    "check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data",
]  # fmt: skip


def expected_failures(est):
    out = dict(EXPECTED)
    if est.inference != "scvb0":
        refused = "the samplers count positions and refuse sample weights, with a sentence that says so"
        out |= dict.fromkeys(WEIGHING, refused)
        out["check_fit_score_takes_y"] = "the samplers refuse partial_fit, with a sentence that says so"
    return out


@parametrize_with_checks(SETTINGS, expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_tags_and_unfitted():
    tags = get_tags(SkipGramTopicModel())
    assert tags.input_tags.sparse
    assert tags.input_tags.categorical
    est = model()
    for method in ("transform", "transform_words", "score", "perplexity", "expected_stats"):
        with pytest.raises(NotFittedError):
            getattr(est, method)(X)
    for name in ("components_", "word_topics_", "word_vectors_", "topic_weights_", "acceptance_rate_"):
        assert not hasattr(est, name)


# -- forms of input

LISTS = [X.data[a:b] - 1 for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]


def reordered():
    """The same with the words of every document out of order."""
    order = np.concatenate([np.random.default_rng(0).permutation(np.arange(a, b)) for a, b in
                            zip(X.indptr[:-1], X.indptr[1:], strict=True)])  # fmt: skip
    return sparse.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


FORMS = {
    **{f"CSR {dtype.__name__}": X.astype(dtype) for dtype in (np.int64, np.float32, np.float64, np.uint16)},
    "csr_matrix": sparse.csr_matrix(X),
    "CSC": sparse.csc_array(X),
    "COO": sparse.coo_array(X),
    "dense": X.toarray(),
    "dense float": X.toarray().astype(float),
    "Fortran": np.asfortranarray(X.toarray()),
    "lists": [list(map(int, document)) for document in LISTS],
    "arrays": LISTS,
    "floats": [document.astype(float) for document in LISTS],
    "64-bit indices": wide_indices(X),
    "read-only": read_only(X),
    "read-only dense": read_only(X.toarray()),
    "unsorted": reordered(),
    "wider": sparse.csr_array((X.data, X.indices, X.indptr), shape=(N, 100)),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_are_equal(form):
    est = model(n_words=V).fit(FORMS[form])
    assert_same_bits(est, model(n_words=V).fit(X), X)
    np.testing.assert_array_equal(est.transform(FORMS[form]), est.transform(X))


def test_input_stays_as_it_is():
    for rows in (reordered(), X.copy(), FORMS["csr_matrix"].copy()):
        before = rows.data.copy(), rows.indices.copy(), rows.indptr.copy()
        model().fit(rows).transform(rows)
        for a, b in zip(before, (rows.data, rows.indices, rows.indptr), strict=True):
            np.testing.assert_array_equal(a, b)


def test_gaps_and_stored_zeros():
    """A place without a word counts in a window; trailing ones do not matter."""
    dense = np.zeros((20, 9), dtype=int)
    dense[:, 0], dense[:, 4], dense[:, 5] = 1, 2, 3
    stored = sparse.csr_array(dense + 1)
    stored.data -= 1
    gaps = [[0, -1, -1, -1, 1, 2]] * 20
    first = model(window=2).fit(dense)
    for other in (stored, gaps):
        assert_same_bits(first, model(window=2).fit(other), dense)
    stats = first.expected_stats(dense)
    np.testing.assert_allclose(stats["input_topic"].toarray().sum(axis=1), [0, 20, 20], rtol=1e-6)
    assert model(window=4).fit(dense).expected_stats(dense)["word_topic"].toarray().sum(axis=1)[0] > 0


SIZES = {
    "one document": X[:1],
    "empty documents": [[], [0, 1, 2], [], [2]],
    "one long document": [np.tile(np.arange(V), 20)],
    "two words": [[0, 1]],
    "one word that comes again": [[0, 0, 0]],
    "words that are never used": [[50, 3], [3, 50]],
}


@per_variant
@pytest.mark.parametrize("size", SIZES)
def test_small_and_odd_data(variant, size):
    for n_components in (1, 7):
        for window in (1, 60):
            est = model(variant, n_components, window=window).fit(SIZES[size])
            assert_valid(est, SIZES[size])
            assert np.isfinite(est.score(SIZES[size]))


def test_documents_without_contexts():
    est = model().fit(X)
    np.testing.assert_allclose(est.transform([[3]])[0], est.word_topics_[3], rtol=1e-6)
    np.testing.assert_allclose(est.transform([[]])[0], 1 / K)
    assert est.transform_words([[]]).shape == (0, K)
    with pytest.raises(ValueError, match="no document of X has two words within a window"):
        est.score([[3], []])
    before = said(est)
    est.partial_fit([[3], []])
    assert all((a == b).all() or np.isnan(a).all() for a, b in zip(before, said(est), strict=True))


# -- errors


def with_word(value, row=41, place=7, dtype=float):
    out = X.toarray().astype(dtype)
    out[row, place] = value
    return out


BAD = {
    "NaN": (with_word(np.nan), "row 41 of X has NaN at place 7, which is no word; give word number"),
    "infinite": (with_word(np.inf), "row 41 of X has infinity at place 7"),
    "negative": (with_word(-2), "row 41 of X has -2.0 at place 7"),
    "fraction": (with_word(1.5), "row 41 of X has 1.5 at place 7"),
    "sparse fraction": (sparse.csr_array(with_word(1.5)), "row 41 of X has 1.5 at place 7"),
    "huge": (with_word(2.0**40), "row 41 of X has .* at place 7"),
    "two at a place": (
        sparse.csr_array(([1, 2, 3], [0, 4, 4], [0, 0, 3]), shape=(2, 6)),
        "row 1 of X has two words at place 4; a place has room for one",
    ),
    "negative in a list": ([[0, 1], [2, -3]], "row 1 of X has the word -3 at place 1; word numbers of lists begin"),
    "fraction in a list": ([[0, 1], [2, 0.5]], "row 1 of X has 0.5 at place 1"),
    "text": ([["a", "b"]], "row 0 of X is no list of word numbers.*TokenSequences"),
    "one dimension": (np.arange(5), "Reshape your data"),
    "empty list": ([], "0 sample"),
    "no contexts": ([[1], [2], []], "no document of X has two words within the window; give at least one, or a wider"),
}


@per_variant
@pytest.mark.parametrize("name", BAD)
def test_bad_data_is_named_and_leaves_models_alone(name, variant):
    rows, message = BAD[name]
    est = model(variant)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        est.fit(rows)
    assert sorted(vars(est)) == sorted(est.get_params())
    est.fit(X)
    before, attributes = said(est), dict(vars(est))
    methods = ["fit"] if name == "no contexts" else ["fit", "transform", "score", "transform_words"]
    for method in methods:
        with pytest.raises(ValueError, match=f"(?s){message}"):
            getattr(est, method)(rows)
    assert dict(vars(est)) == attributes
    for a, b in zip(before, said(est), strict=True):
        np.testing.assert_array_equal(a, b)


def test_unknown_words_are_named():
    est = model().fit(X)
    message = r"row 1 of X has at place 2 the word 30, but the vocabulary has 30 words.*TokenSequences"
    for method in ("transform", "score", "partial_fit", "expected_stats", "transform_words"):
        with pytest.raises(ValueError, match=message):
            getattr(est, method)([[0, 1], [2, 3, V]])
    with pytest.raises(ValueError, match=r"the vocabulary has 20 words.*n_words"):
        model(n_words=20).fit(X)


@pytest.mark.parametrize("name", ["n_components", "window", "n_samples", "max_iter", "thin", "cooling", "inference"])
def test_bad_parameters(name):
    with pytest.raises(InvalidParameterError, match=name):
        model(**{name: -1}).fit(X)


def test_other_bad_parameters():
    for prior, message in (([0.1, 0.2], "shape"), ([0.1, -1, 0.2, 0.3], "positive")):
        with pytest.raises(ValueError, match=f"input_topic_prior.*{message}"):
            model(input_topic_prior=prior).fit(X)
    with pytest.raises(ValueError, match=r"init_params has shape \(2, 3\)"):
        model(init_params=np.ones((2, 3))).fit(X)
    with pytest.raises(ValueError, match="n_nonzero is 0"):
        model().fit(X).transform_words(X, n_nonzero=0)
    for inference in ("gibbs", "mhw"):
        with pytest.raises(ValueError, match="takes no sample_weight"):
            model(inference=inference).fit(X, sample_weight=np.ones(N))
        with pytest.raises(ValueError, match="warm_start=False"):
            model(inference=inference, warm_start=True).fit(X)
        with pytest.raises(ValueError, match='partial_fit needs inference="scvb0"'):
            model(inference=inference).partial_fit(X)
        with pytest.raises(ValueError, match='expected_stats needs inference="scvb0"'):
            model(inference=inference).fit(X).expected_stats(X)
    with pytest.raises(ValueError, match='partial_fit needs inference="scvb0"'):
        model(inference="gibbs").fit(X).set_params(inference="scvb0").partial_fit(X)
    for weight, message in ((-1.0, "sample_weight of row 3 is -1"), (np.nan, "row 3 is nan")):
        weights = np.ones(N)
        weights[3] = weight
        with pytest.raises(ValueError, match=message):
            model().fit(X, sample_weight=weights)


# -- the same bits


@per_variant
def test_seeds(variant):
    assert_same_bits(model(variant).fit(X), model(variant).fit(X))
    other = model(variant, random_state=1).fit(X)
    assert (other.components_ != model(variant).fit(X).components_).any()


@pytest.mark.parametrize("variant", ["dense", "chains", "mini-epochs"])
@pytest.mark.parametrize("n_jobs", [2, 5])
def test_any_number_of_threads(variant, n_jobs, monkeypatch):
    from sparsemix.skipgram import _readings
    from sparsemix.skipgram import _sequences as sequences

    monkeypatch.setattr(sequences, "TILE_TOKENS", 40)
    monkeypatch.setattr(_readings, "TILE_NUMBERS", 300)
    one, many = model(variant).fit(X), model(variant, n_jobs=n_jobs).fit(X)
    assert_same_bits(one, many)
    for est in (one, many):
        est.partial_fit(X[:20])
    assert_same_bits(one, many)


@per_variant
@pytest.mark.parametrize("copied", COPIES)
def test_copies_say_the_same(variant, copied, tmp_path):
    est = model(variant).fit(X)
    assert_same_bits(est, copied(est, tmp_path))


@per_stream
@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("total_samples", [None, 200])
def test_copies_in_the_middle_of_a_stream_go_on_alike(variant, copied, total_samples, tmp_path):
    est = model(variant, total_samples=total_samples)
    for a in range(0, 40, 10):
        est.partial_fit(X[a : a + 10]) if a else est.set_params(n_words=V).partial_fit(X[:10])
    before = said(est)
    other = copied(est, tmp_path)
    assert_same_bits(est, other)
    est.partial_fit(X[40:])
    for a, b in zip(said(other), before, strict=True):  # one learns, the other stays
        np.testing.assert_array_equal(a, b)
    assert_same_bits(est, other.partial_fit(X[40:]))


# -- streams and statistics


@per_stream
def test_partial_fit_is_statistics_and_a_step(variant):
    first, second = model(variant).fit(X), model(variant).fit(X)
    first.partial_fit(X[:20])
    second.update_from_stats(second.expected_stats(X[:20]))
    assert_same_bits(first, second)
    assert first.n_steps_ == 1
    assert first.n_samples_seen_ == N + 20


@per_stream
def test_streams_count_everything_once(variant):
    est = model(variant, n_words=V, total_samples=None)
    for a in range(0, N, 20):
        est.partial_fit(X[a : a + 20])
    stats = est._fitted.stats
    assert float(stats["documents"]) == pytest.approx(N)
    assert float(stats["mass"]) == pytest.approx(X.nnz)
    assert stats["input_topic"].sum() == pytest.approx(X.nnz, rel=1e-5)
    assert stats["count"].sum() == pytest.approx(stats["word_topic"].sum(), rel=1e-5)


@per_stream
def test_streams_of_known_length_keep_their_totals(variant):
    est = model(variant, n_words=V, total_samples=600)
    for _ in range(3):
        for a in range(0, N, 20):
            est.partial_fit(X[a : a + 20])
    stats = est._fitted.stats
    assert float(stats["mass"]) == pytest.approx(10 * X.nnz, rel=1e-4)
    assert stats["input_topic"].toarray().sum() == pytest.approx(10 * X.nnz, rel=1e-3)
    assert_valid(est, X)


def test_statistics_of_a_fit_keep_their_totals():
    for variant in STREAMING:
        est = model(variant).fit(X)
        stats, (inputs, contexts) = est._fitted.stats, totals_of(X)
        np.testing.assert_allclose(stats["input_topic"].toarray().sum(axis=1), inputs, rtol=1e-4)
        assert float(stats["mass"]) == pytest.approx(inputs.sum(), rel=1e-6)
        assert stats["count"].sum() == pytest.approx(contexts.sum(), rel=1e-4)
        np.testing.assert_allclose(stats["word_topic"].sum(axis=0), stats["count"], rtol=1e-3)


def totals_of(rows, window=3):
    from sparsemix.skipgram._sequences import Sequences

    return Sequences(rows, V).totals(window)


def test_weights_are_repeated_documents():
    """One step of size one from the same topics, in expectation."""
    given = np.random.default_rng(0).gamma(1.0, size=(K, V)) + 0.1
    weight = np.arange(N) % 3
    params = {"init_params": given, "max_iter": 1, "learning_offset": 0.0, "batch_size": 1000, "n_even_samples": 2000,
              "n_words": V}  # fmt: skip
    weighted = model(**params).fit(X, sample_weight=weight)
    repeated = model(**params).fit(X[np.repeat(np.arange(N), weight)])
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-2, atol=0.1)
    np.testing.assert_allclose(weighted.word_topics_, repeated.word_topics_, atol=0.02)


def test_warm_start_goes_on():
    est = model(warm_start=True, max_iter=10).fit(X)
    before = est.score(X)
    est.set_params(max_iter=1, start_temperature=0.0).fit(X)
    assert est.score(X) > before - 0.05
    assert est.score(X) > model(max_iter=1).fit(X).score(X)
    with pytest.raises(ValueError, match="warm_start goes on with the 4 topics"):
        est.set_params(n_components=5).fit(X)


@per_variant
def test_given_topics(variant):
    given = np.random.default_rng(0).gamma(0.1, size=(K, V)) + 1e-3
    est = model(variant, init_params=given, max_iter=1).fit(X)
    assert_valid(est, X)
    assert_valid(model(variant, max_iter=0).fit(X), X)


# -- interrupts


@per_variant
def test_interrupts_leave_the_last_step(variant, monkeypatch):
    est = model(variant)
    fail_at(monkeypatch, Monitor, "begin", 3)
    with pytest.raises(KeyboardInterrupt):
        est.fit(X)
    assert est.n_iter_ == 2
    assert_valid(est, X)


@per_variant
def test_errors_before_the_first_step_leave_nothing(variant, monkeypatch):
    est = model(variant)
    fail_at(monkeypatch, Monitor, "begin", 1, RuntimeError)
    with pytest.raises(RuntimeError):
        est.fit(X)
    assert sorted(vars(est)) == sorted(est.get_params())


# -- words

NAMES = np.array([f"w{v}" for v in range(V)])


def test_similar_words_and_tables():
    est = model(max_iter=15).fit(X)
    similar = est.most_similar("w3", 5, NAMES)
    assert [word for word, _ in similar] == [f"w{v}" for v, _ in est.most_similar(3, 5)]
    assert all(1.0 + 1e-6 >= a[1] >= b[1] for a, b in pairwise(similar))
    assert len(est.most_similar(3, 1000, min_count=0)) == V - 1
    for word, message in (("nothing", "not in the vocabulary"), (V, "from 0 to 29"), ("w3", "feature_names")):
        with pytest.raises(ValueError, match=message):
            est.most_similar(word, feature_names=NAMES if word == "nothing" else None)
    table = est.topic_table(NAMES, 3)
    assert sum(row["weight"] for row in table) == pytest.approx(1.0)
    senses = est.word_topic_table("w3", 2, NAMES, 3)
    assert senses[0]["weight"] == pytest.approx(est.word_topics_[3].max())
    assert senses[0]["words"] == next(row["words"] for row in table if row["topic"] == senses[0]["topic"])
    assert top_words(est, 3).shape == (K, 3)
    sequences = TokenSequences(vocabulary=list(NAMES))
    sequences.fit([])
    assert est.most_similar("w3", 5, sequences) == similar
    assert est.word_topic_table("w3", 2, sequences, 3) == senses
    counts = np.zeros((N, V))
    np.add.at(counts, (np.repeat(np.arange(N), 12), X.data - 1), 1)
    for form in (X, X, [document.tolist() for document in LISTS]):  # nothing of it changes
        np.testing.assert_array_equal(est.count_words(form).toarray(), counts)
    assert topic_coherence(est, est.count_words(X), n_top_words=5).mean() > 0


@pytest.mark.parametrize("binary", [True, False])
def test_word_vectors_in_the_format_of_word2vec(binary, tmp_path):
    est = model().fit(X)
    est.save_word_vectors(tmp_path / "vectors", NAMES, binary=binary)
    data = (tmp_path / "vectors").read_bytes()
    head, _, rest = data.partition(b"\n")
    assert head == b"30 4"
    for v in range(V):
        name, _, rest = rest.partition(b" ")
        assert name.decode() == NAMES[v]
        if binary:
            vector, rest = np.frombuffer(rest[:16], dtype="<f4"), rest[17:]
        else:
            line, _, rest = rest.partition(b"\n")
            vector = np.array(line.split(), dtype=float)
        np.testing.assert_allclose(vector, est.word_vectors_[v], rtol=1e-5)
    assert not rest
    few = r"feature_names has shape \(29,\), expected \(30,\)"
    for names, message in ((NAMES[:-1], few), ([*NAMES[:-1], "a b"], "white space")):
        with pytest.raises(ValueError, match=message):
            est.save_word_vectors(tmp_path / "vectors", names)
    assert (tmp_path / "vectors").read_bytes() == data


def test_nearest_vectors_by_brute_force(monkeypatch):
    monkeypatch.setattr(_vectors, "BLOCK_NUMBERS", 60)
    vectors = np.random.default_rng(0).random((V, K))
    words = np.array([7, 0, 29, 7, 3])
    products = vectors @ vectors.T
    for n, among in product((1, 4, V - 1, V, 2 * V), (np.arange(V), np.arange(0, V, 7), np.array([7]), np.arange(0))):
        near, values = _vectors.nearest(vectors, words, n, among)
        for i, v in enumerate(words):
            expected = [w for w in np.argsort(-products[v]) if w != v and w in among][:n]
            np.testing.assert_array_equal(near[i], expected)
            np.testing.assert_allclose(values[i], products[v, expected])


def test_rare_words_are_not_called_similar():
    """Their topics are those of the prior; ``min_count`` says how rare they may be."""
    expected = np.append(np.bincount(X.data - 1, minlength=V), [1, 1])
    for variant in VARIANTS:
        est = model(variant, input_topic_prior=1.5 / K, random_state=3).fit([*LISTS, [V, V + 1]])
        np.testing.assert_allclose(est._fitted.occurrences, expected, rtol=1e-3, atol=1e-3)
        assert {v for v, _ in est.most_similar(0, 100)} == set(np.flatnonzero(expected >= 3)) - {0}
        assert {v for v, _ in est.most_similar(0, 100, min_count=1)} == set(np.flatnonzero(expected)) - {0}
        assert len(est.most_similar(0, 100, min_count=0)) == V + 1
        assert est.most_similar(0, 100, min_count=1e9) == []



def test_cross_validation_and_clones():
    assert cross_val_score(model(n_words=V), X, cv=3).shape == (3,)
    assert cross_val_score(model(n_words=V), LISTS, cv=3).shape == (3,)
    est = clone(model("chains", window=2))
    assert est.get_params()["window"] == 2


def test_old_pickles_warn():
    data = pickle.dumps(model().fit(X))
    assert b"_sparsemix_version" in data
