"""The page of surprises: each row is true of the installed library, and what it says of this one is true as well."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file, make_blobs
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import cross_val_predict

from sparsemix import SparseGaussianMixture, SparseSCVB0LDA
from sparsemix.datasets import make_bars
from sparsemix.metrics import topic_coherence

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "doc" / "user_guide" / "surprises.rst"
unconverged = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_every_row_names_the_test_or_the_script_that_shows_it():
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^(?!\.\.)\S.*\n   (?=\S)", page, re.M)
    names = re.findall(r"^   \.\. shown by ([\w, ]+)$", page, re.M)
    shown = {name for each in names for name in each.split(", ")}
    scripts = {path.stem for path in (ROOT / "findings").glob("*.sh")}
    tests = {name for path in (ROOT / "tests" / "doc").glob("*.py") for name in
             re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.M)}  # fmt: skip
    assert len(names) == len(rows) >= 15
    assert shown <= tests | scripts
    assert scripts - {"cython_shared_module_loses_flags"} <= shown  # that one concerns builds, not users


# -- scikit-learn


@pytest.fixture(scope="module")
def bars():
    return sparse.csr_matrix(make_bars(n_samples=600, random_state=0)[0])


def test_perplexity_of_few_rows(bars):
    found = {}
    for k in (5, 10):
        lda = LatentDirichletAllocation(k, random_state=0).fit(bars[:400])
        found[k] = lda.perplexity(bars[400:420]), lda.perplexity(sparse.vstack([bars[400:420]] * 10))
    few, many = zip(*found.values(), strict=True)
    assert np.argmin(few) == 0  # five topics
    assert np.argmin(many) == 1  # ten, as there are
    assert few[1] > 1.4 * many[1]
    ours = SparseSCVB0LDA(10, random_state=0).fit(bars[:400])
    assert ours.score(bars[400:420]) == pytest.approx(ours.score(sparse.vstack([bars[400:420]] * 10)), rel=0.02)


def test_scores_of_variational_bayes_are_no_density():
    X = np.random.default_rng(0).normal(size=(10, 1)) + np.repeat([[6.0], [0.0]], 5, axis=0)
    grid = np.linspace(-60, 60, 200_001)[:, None]
    models = (BayesianGaussianMixture(n_components=2, random_state=0), SparseGaussianMixture(2, random_state=0))
    theirs, ours = (np.exp(model.fit(X).score_samples(grid)).sum() * (grid[1, 0] - grid[0, 0]) for model in models)
    assert 0.8 < theirs < 0.9
    assert ours == pytest.approx(1.0, abs=1e-6)


def test_covariances_of_many_small_clusters():
    X, _ = make_blobs(300, 5, centers=30, cluster_std=0.3, random_state=0)
    models = (BayesianGaussianMixture(n_components=30, max_iter=1000, random_state=0),
              SparseGaussianMixture(30, random_state=0))  # fmt: skip
    theirs, ours = (
        np.median(np.sqrt(np.trace(model.fit(X).covariances_, axis1=1, axis2=2) / 5)) for model in models
    )
    assert theirs > 1.5
    assert ours == pytest.approx(0.3, abs=0.1)


def test_components_before_convergence():
    X = np.random.default_rng(0).normal(size=(300, 2))

    def used(max_iter):
        model = BayesianGaussianMixture(n_components=5, covariance_type="diag", max_iter=max_iter, random_state=0)
        return int((model.fit(X).weights_ * len(X) > 1).sum())

    with pytest.warns(UserWarning, match="did not converge"):
        assert used(100) == 5
    assert used(1000) == 1


@unconverged
def test_small_units():
    X, y = make_blobs(300, 2, centers=3, random_state=0)
    for make, changes in ((GaussianMixture, True), (SparseGaussianMixture, False)):
        metres, units = (
            adjusted_rand_score(y, make(3, random_state=0).fit_predict(X * scale)) for scale in (1.0, 1e-4)
        )
        assert metres > 0.7
        assert (units < 0.1) if changes else (units == metres)


def test_classes_of_a_mixture():
    X, y = make_blobs(60, 2, centers=3, random_state=0)
    for mixture in (GaussianMixture(3, random_state=0), SparseGaussianMixture(3, random_state=0)):
        with pytest.raises(AttributeError, match="has no attribute 'classes_'"):
            cross_val_predict(mixture, X, y, method="predict_proba")
        assert cross_val_predict(mixture, X, method="predict_proba").shape == (60, 3)


def test_lda_c_read_as_svmlight(tmp_path):
    (tmp_path / "corpus.ldac").write_text("2 1:1 3:2\n1 2:1\n")  # words count from 0, and word 0 does not occur
    X, y = load_svmlight_file(tmp_path / "corpus.ldac")
    assert y.tolist() == [2, 1]  # the numbers of words, and no labels
    assert X.toarray().tolist() == [[1, 0, 2], [0, 1, 0]]  # one column to the left of its place
    X, _ = load_svmlight_file(tmp_path / "corpus.ldac", zero_based=True)
    assert X.toarray().tolist() == [[0, 1, 0, 2], [0, 0, 1, 0]]


# -- gensim


@pytest.fixture(scope="module")
def gensim_lda(bars):
    models = pytest.importorskip("gensim.models")
    corpus = [[*zip(row.indices.tolist(), row.data.tolist(), strict=True)] for row in bars[:300]]
    return models.LdaModel(corpus, num_topics=10, passes=5, random_state=0), corpus


def test_perplexity_of_gensim(gensim_lda, caplog):
    lda, corpus = gensim_lda
    with caplog.at_level("INFO", logger="gensim.models.ldamodel"):
        bound = lda.log_perplexity(corpus)
    logged = float(re.search(r"([\d.]+) perplexity estimate", caplog.text)[1])
    assert logged == pytest.approx(2**-bound, abs=0.1)
    assert 20 < np.exp(-bound) < 30  # the bound is in nats: 24 of 25 words are as likely
    assert logged < 10


def test_documents_twice_in_gensim(gensim_lda, bars):
    lda, corpus = gensim_lda
    first, second = (
        np.array([[p for _, p in lda.get_document_topics(bag, minimum_probability=0.0)] for bag in corpus[:50]])
        for _ in range(2)
    )
    assert np.abs(first - second).max() > 0.01
    ours = SparseSCVB0LDA(10, random_state=0).fit(bars[:300])
    np.testing.assert_array_equal(ours.transform(bars[:50]), ours.transform(bars[:50]))


@pytest.fixture(scope="module")
def coherences():
    models, corpora = (pytest.importorskip(f"gensim.{name}") for name in ("models", "corpora"))
    texts = [["a", "b"], ["b", "c"], ["a", "c"], ["c", "d"]] * 5
    words = corpora.Dictionary([*texts, ["y", "z"]])  # y and z are words of another corpus
    counts = np.array([[text.count(words[i]) for i in range(len(words))] for text in texts])

    def of(topic, measure):
        with np.errstate(all="ignore"):
            return models.CoherenceModel(
                topics=[topic], texts=texts, corpus=[words.doc2bow(text) for text in texts], dictionary=words,
                coherence=measure, topn=3, processes=1,
            ).get_coherence_per_topic()[0]  # fmt: skip

    def ours(topic, measure):
        weights = np.zeros((1, len(words)))
        weights[0, [words.token2id[word] for word in topic]] = [3, 2, 1]
        return topic_coherence(weights, counts, measure=measure, n_top_words=3)[0]

    return of, ours


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_words_that_no_text_has(coherences):
    gensim, ours = coherences
    known, foreign = ["a", "b", "c"], ["z", "y", "a"]
    assert gensim(foreign, "c_npmi") == np.inf > gensim(known, "c_npmi")
    assert np.isnan(gensim(foreign, "c_v"))
    assert gensim(foreign, "u_mass") == 0.0 > gensim(known, "u_mass")  # the best value that there is
    for measure in ("npmi", "umass"):
        assert -np.inf < ours(foreign, measure) < ours(known, measure)


def test_words_that_the_dictionary_lacks(coherences):
    gensim, _ = coherences
    assert gensim(["a", "b", "typo"], "c_npmi") == gensim(["a", "b"], "c_npmi")


# -- numbers of topics


def test_numbers_in_pyldavis():
    pyldavis = pytest.importorskip("pyLDAvis")
    shares = np.repeat([[0.2, 0.1, 0.7]], 4, axis=0)
    topics = np.random.default_rng(0).dirichlet(np.ones(6), 3)
    data = topics, shares, [9] * 4, [*"abcdef"], [6] * 6
    options = {"mds": lambda distances: np.zeros((len(distances), 2)), "n_jobs": 1}
    assert pyldavis.prepare(*data, **options).topic_order == [3, 1, 2]
    assert pyldavis.prepare(*data, **options, sort_topics=False, start_index=0).topic_order == [0, 1, 2]
