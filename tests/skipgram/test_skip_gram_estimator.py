"""SkipGramTopicModel beyond the contract of all estimators: places, streams, weights, words and their vectors."""

from itertools import pairwise, product

import numpy as np
import pytest
from fitted import assert_same, assert_same_bits, records, said
from scipy import sparse
from sequence_cases import LISTS, K, N, V, X, assert_valid

from sparsemix import SkipGramTopicModel, TokenSequences
from sparsemix.datasets import make_skip_gram
from sparsemix.metrics import top_words, topic_coherence
from sparsemix.skipgram import _predict, _vectors

VARIANTS = {
    "dense": {"sampler": "dense"},
    "chains": {"sampler": "mhw"},
    "mini-epochs": {"sampler": "mhw", "mini_epoch": (30, 2)},
    "gibbs": {"inference": "gibbs"},
    "mhw": {"inference": "mhw"},
}
STREAMING = ["dense", "chains"]
per_variant = pytest.mark.parametrize("variant", VARIANTS)
per_stream = pytest.mark.parametrize("variant", STREAMING)


def model(variant="dense", n_components=K, **params):
    defaults = {"batch_size": 15, "max_iter": 3, "window": 3, "random_state": 0}
    return SkipGramTopicModel(n_components, **(defaults | VARIANTS[variant] | params))


# -- forms of input


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


def test_documents_without_contexts():
    est = model().fit(X)
    np.testing.assert_allclose(est.transform([[3]])[0], est.word_topics_[3], rtol=1e-6)
    np.testing.assert_allclose(est.transform([[]])[0], 1 / K)
    assert est.transform_words([[]]).shape == (0, K)
    with pytest.raises(ValueError, match="no document of X has two words within a window"):
        est.score([[3], []])
    before = said(est, X)
    est.partial_fit([[3], []])
    assert_same(before, said(est, X), but=("n_samples_seen_", "n_steps_", "history_"))


# -- errors


def test_unknown_words_are_named():
    est = model().fit(X)
    message = r"row 1 of X has at place 2 the word 30, but the vocabulary has 30 words.*TokenSequences"
    for method in ("transform", "score", "partial_fit", "expected_stats", "transform_words"):
        with pytest.raises(ValueError, match=message):
            getattr(est, method)([[0, 1], [2, 3, V]])
    with pytest.raises(ValueError, match=r"the vocabulary has 20 words.*n_words"):
        model(n_words=20).fit(X)


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
        for est in (model(inference=inference), model(inference=inference).fit(X).set_params(inference="scvb0")):
            for name in ("partial_fit", "expected_stats", "update_from_stats"):
                assert not hasattr(est, name)
                with pytest.raises(AttributeError) as caught:
                    getattr(est, name)
                assert "the samplers need all documents at once" in str(caught.value.__cause__)
    for weight, message in ((-1.0, "sample_weight of row 3 is -1"), (np.nan, "row 3 is nan")):
        weights = np.ones(N)
        weights[3] = weight
        with pytest.raises(ValueError, match=message):
            model().fit(X, sample_weight=weights)


# -- streams and statistics


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
    assert np.isfinite(est.score(X))


def test_statistics_of_a_fit_keep_their_totals():
    for variant in STREAMING:
        est = model(variant).fit(X)
        stats, (inputs, contexts) = est._fitted.stats, totals_of(X)
        np.testing.assert_allclose(stats["input_topic"].toarray().sum(axis=1), inputs, rtol=1e-4)
        assert float(stats["mass"]) == pytest.approx(inputs.sum(), rel=1e-6)
        assert stats["count"].sum() == pytest.approx(contexts.sum(), rel=1e-4)
        np.testing.assert_allclose(stats["word_topic"].sum(axis=0), stats["count"], rtol=1e-3)


def totals_of(rows, window=3):
    from sparsemix._rows.sequences import Sequences

    return Sequences(rows, V).totals(window)


def test_weights_are_repeated_documents():
    """One step of size one from the same topics, in expectation."""
    given = np.random.default_rng(0).gamma(1.0, size=(K, V)) + 0.1
    weight = np.arange(N) % 3
    params = {"init_params": given, "max_iter": 1, "step_size": (0.0, 0.6), "batch_size": 1000, "n_samples": 2000,
              "n_words": V}  # fmt: skip
    weighted = model(**params).fit(X, sample_weight=weight)
    repeated = model(**params).fit(X[np.repeat(np.arange(N), weight)])
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-2, atol=0.1)
    np.testing.assert_allclose(weighted.word_topics_, repeated.word_topics_, atol=0.02)


@per_variant
def test_given_topics(variant):
    given = np.random.default_rng(0).gamma(0.1, size=(K, V)) + 1e-3
    est = model(variant, init_params=given, max_iter=1).fit(X)
    assert_valid(est, X)
    assert_valid(model(variant, max_iter=0).fit(X), X)


# -- words

NAMES = np.array([f"w{v}" for v in range(V)])


def test_similar_words_and_tables():
    est = model(max_iter=15).fit(X)
    similar = est.most_similar("w3", 5, NAMES)
    assert [word for word, _ in similar] == [f"w{v}" for v, _ in est.most_similar(3, 5)]
    assert all(1.0 + 1e-6 >= a[1] >= b[1] for a, b in pairwise(similar))
    assert est.most_similar(["w3", "w0"], 5, NAMES) == [similar, est.most_similar("w0", 5, NAMES)]
    assert est.most_similar(np.array([3]), 5) == [est.most_similar(3, 5)]
    assert len(est.most_similar(3, 1000, min_count=0)) == V - 1
    for word, message in (("nothing", "not in the vocabulary"), (V, "from 0 to 29"), ("w3", "feature_names")):
        with pytest.raises(ValueError, match=message):
            est.most_similar(word, feature_names=NAMES if word == "nothing" else None)
    table = records(est.topic_table(NAMES, 3))
    assert sum(row["token_share"] for row in table) == pytest.approx(1.0)
    probable = {row["topic"]: row["words"] for row in records(est.topic_table(NAMES, 3, order="probable"))}
    assert [list(NAMES[words]) for words in top_words(est, 3)] == [probable[k] for k in range(K)]
    for row in records(est.word_topic_table("w3", 2, NAMES, 3, order="probable")):
        assert row["words"] == probable[row["topic"]]
    senses = records(est.word_topic_table("w3", 2, NAMES, 3))
    assert senses[0]["probability"] == pytest.approx(est.word_topics_[3].max())
    assert senses[0]["words"] == next(row["words"] for row in table if row["topic"] == senses[0]["topic"])
    assert top_words(est, 3).shape == (K, 3)
    sequences = TokenSequences(vocabulary=list(NAMES))
    sequences.fit([])
    assert est.most_similar("w3", 5, sequences) == similar
    assert records(est.word_topic_table("w3", 2, sequences, 3)) == senses
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


@pytest.mark.parametrize("inference", ["scvb0", "gibbs", "mhw"])
@pytest.mark.parametrize("name", ["topic_word_prior", "input_topic_prior"])
@pytest.mark.parametrize("prior", [1e-45, 1e18, 1e300])
def test_priors_beyond_single_precision_are_refused(name, inference, prior):
    words = make_skip_gram(10, n_features=12, n_components=3, doc_length=8, random_state=0)[0]
    with pytest.raises(ValueError, match=rf"{name} .* from 1e-37 to 1e\+17"):
        SkipGramTopicModel(3, inference=inference, **{name: prior}).fit(words)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("inference", ["scvb0", "gibbs", "mhw"])
def test_a_window_may_be_wider_than_all_documents_within_machine_integers(inference):
    SkipGramTopicModel(3, inference=inference, window=1000, max_iter=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"'window' parameter .* must be an int in the range"):
        SkipGramTopicModel(3, inference=inference, window=10**20, max_iter=1).fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_steps_that_forget_nearly_all_keep_large_weights_finite():
    """What is added is divided by what is left of the table, which single precision has to hold."""
    est = SkipGramTopicModel(4, step_size=(1.0, 1e-6), batch_size=2, max_iter=3, random_state=0)
    est.fit(X, sample_weight=np.full(X.shape[0], 1e25))
    assert np.isfinite(est.components_).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("inference", ["scvb0", "gibbs", "mhw"])
def test_there_is_no_bound(inference):
    est = SkipGramTopicModel(3, inference=inference, max_iter=1, random_state=0).fit(X)
    assert np.isnan(est.lower_bound())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_vectors_that_cannot_be_written_leave_the_earlier_ones(tmp_path, monkeypatch):
    est = SkipGramTopicModel(3, max_iter=1, random_state=0).fit(X)
    names, path = [f"w{i}" for i in range(est.n_features_in_)], tmp_path / "vectors"
    est.save_word_vectors(path, names)
    before = path.read_bytes()

    def lines(*_):
        yield b"some"
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(_predict, "word2vec_lines", lines)
        with pytest.raises(OSError, match="no space left"):
            est.save_word_vectors(path, names)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["vectors"]
