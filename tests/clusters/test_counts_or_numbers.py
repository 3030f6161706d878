"""likelihood="auto": which tables are documents, which are measurements, and which are in doubt."""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import OneHotEncoder

from sparsemix import GibbsNGGPMixture, StreamingNGGPMixture
from sparsemix.clusters import select_nggp_hyperparameters
from sparsemix.clusters._parameters import looks_like_counts

ESTIMATORS = {
    "streaming": StreamingNGGPMixture(max_iter=1, random_state=0),
    "gibbs": GibbsNGGPMixture(max_iter=2, random_state=0),
}
RNG = np.random.default_rng(0)


def texts(n_words, length, n_texts=80):
    """Texts of about so many words, which are as frequent as Zipf has it, in two subjects."""
    frequencies = 1.0 / np.arange(1, n_words + 1)
    words = [RNG.permutation(n_words) if subject else np.arange(n_words) for subject in range(2)]
    lengths = RNG.integers(length // 2, 2 * length, n_texts)
    return [
        " ".join(f"w{word}" for word in RNG.choice(words[i % 2], n, p=frequencies / frequencies.sum()))
        for i, n in enumerate(lengths)
    ]


SHORT, LONG, FEW_WORDS = (CountVectorizer().fit_transform(texts(*sizes)) for sizes in ((800, 8), (2000, 200), (30, 5)))
LEVELS = RNG.integers(0, 6, (100, 4))
# kind: rows, whether they are documents, whether the decision is in doubt
KINDS = {
    "pixels": (load_digits().data[:200], False, False),
    "pixels, most of them zero": (RNG.integers(1, 256, (100, 200)) * (RNG.random((100, 200)) < 0.1), False, False),
    "ages": (RNG.integers(18, 90, (100, 3)), False, False),
    "millimetres": (np.round(RNG.normal([250.0, 1700.0], [10.0, 90.0], (100, 2))), False, False),
    "one-hot columns": (OneHotEncoder(sparse_output=False).fit_transform(LEVELS), False, True),
    "answers, yes or no": (RNG.random((100, 60)) < 0.1, False, True),
    "answers, mostly yes": (RNG.random((100, 6)) < 0.8, False, True),
    "events in few columns": (RNG.poisson(0.2, (100, 6)), False, True),
    "short texts": (SHORT.toarray(), True, False),
    "long texts": (LONG.toarray(), True, False),
    "short texts of few words": (FEW_WORDS.toarray(), False, True),
    "sparse short texts": (SHORT, True, False),
    "sparse long texts": (sparse.csr_array(LONG), True, False),
    "sparse, of few words": (FEW_WORDS, True, False),
    "tf-idf": (TfidfTransformer().fit_transform(SHORT).toarray(), False, False),
    "sparse tf-idf": (TfidfTransformer().fit_transform(SHORT), True, False),
    "negative": (-RNG.poisson(0.1, (100, 60)), False, False),
    "nothing": (np.zeros((5, 3)), False, True),
}


def decided(doubt):
    """Expects the warning where there is doubt; it names the parameter, and its values for either kind."""
    if not doubt:
        return nullcontext()
    wanted = "likelihood='auto' treats X as measurements.*; .*word counts.*'multinomial', else .*'full' or 'diag'"
    return pytest.warns(UserWarning, match=wanted)


@pytest.mark.parametrize("kind", [kind for kind, (rows, *_) in KINDS.items() if not sparse.issparse(rows)])
def test_what_looks_like_documents(kind):
    rows, counts, doubt = KINDS[kind]
    with decided(doubt) as warned:
        assert looks_like_counts(rows) == counts
    binary = {"one-hot columns", "answers, yes or no", "answers, mostly yes"}
    assert not doubt or ("SparseBernoulliMixture" in str(warned[0].message)) == (kind in binary)


@pytest.mark.filterwarnings("ignore:X has the sum")
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("tf-idf", "nothing", "long texts")])
def test_estimators_decide_alike_and_warn_in_doubt(kind, name):
    rows, counts, doubt = KINDS[kind]
    for method in ("fit", "partial_fit") if name == "streaming" else ("fit",):
        est = clone(ESTIMATORS[name])
        with decided(doubt):
            getattr(est, method)(rows[:30])
        assert (est.likelihood_ == "multinomial") == counts
    if doubt:  # the parameter that the warning names ends it
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clone(est).set_params(likelihood="diag").fit(rows[:30])


@pytest.mark.parametrize("dtype", [*np.typecodes["AllInteger"], "f", "d"])
@pytest.mark.parametrize("kind", ["short texts", "ages", "one-hot columns"])
def test_the_decision_is_of_values_and_not_of_their_type(kind, dtype):
    rows, counts, doubt = KINDS[kind]
    with decided(doubt):
        est = StreamingNGGPMixture().partial_fit(np.minimum(rows[:30], 100).astype(dtype))
    assert (est.likelihood_ == "multinomial") == counts


def test_rounded_rows_have_the_clusters_of_the_rows():
    rows, labels = make_blobs(600, 2, centers=[[20, 20], [20, 80], [80, 20], [80, 80], [140, 50], [50, 140]],
                              cluster_std=4.0, random_state=0)  # fmt: skip
    rows = np.maximum(rows, 0.0)
    for name, est in ESTIMATORS.items():
        found = [clone(est).fit_predict(x) for x in (rows, np.round(rows), np.round(rows).astype(np.int16))]
        scores = [adjusted_rand_score(labels, one) for one in found]
        assert min(scores) > 0.99, (name, scores)


def test_a_first_block_without_evidence_is_not_taken_for_documents_in_silence():
    rows = np.zeros((4, 200), dtype=int)
    rows[np.arange(4), np.arange(4)] = 1
    with decided(True):
        assert StreamingNGGPMixture().partial_fit(rows).likelihood_ != "multinomial"


def test_later_rows_that_are_no_counts_warn():
    est = StreamingNGGPMixture().partial_fit(SHORT.toarray())
    est.partial_fit(SHORT.toarray()[:5])
    with pytest.warns(UserWarning, match="treated the first rows.*as word counts.*'full' or 'diag'.*'multinomial'"):
        est.partial_fit(SHORT.toarray()[:5] + 0.5)
    est.set_params(likelihood="multinomial").partial_fit(SHORT.toarray()[:5] + 0.5)


def test_a_search_decides_once_for_all_rows():
    """The first part alone would be in doubt: its texts have one word each."""
    rows = SHORT.toarray()
    rows[:40] = 0
    rows[np.arange(40), np.arange(40)] = 1
    grid = {"discount": [0.0, 0.1]}
    choice = select_nggp_hyperparameters(StreamingNGGPMixture(), rows, grid, train_size=0.5)
    assert choice == select_nggp_hyperparameters(StreamingNGGPMixture("multinomial"), rows, grid, train_size=0.5)


@pytest.mark.parametrize(
    ("name", "first_call"),
    [(name, call) for name, est in ESTIMATORS.items() for call in ("fit", "partial_fit") if hasattr(est, call)],
)
def test_many_more_columns_than_words_give_a_warning(name, first_call):
    """Each column counts as a part of a word, so that documents of different clusters share one."""
    est = clone(ESTIMATORS[name])
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=200)
    words = sparse.csr_array(rng.poisson(0.1 + 1.5 * (np.arange(100) // 25 == labels[:, None])))
    wide = sparse.csr_array((words.data, words.indices * 997, words.indptr), shape=(200, 2**17))
    with pytest.warns(UserWarning, match=r"has 131072 columns.*use 100 of them.*3929 words.*HashingVectorizer"):
        getattr(est, first_call)(wide)
    assert adjusted_rand_score(labels, est.predict(wide)) < 0.1
    narrow = sparse.csr_array((words.data, words.indices, words.indptr), shape=(200, 128))  # as the warning says
    assert adjusted_rand_score(labels, getattr(clone(est), first_call)(narrow).predict(narrow)) > 0.9
    getattr(clone(est), first_call)(wide[:99])  # a small block tells little about the vocabulary
