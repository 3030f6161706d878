"""The report's numbers against obvious twins, and its page: whole, small, and deaf to what words say."""

import json
import os
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from fitted import records
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sparsemix
from sparsemix import (
    CollapsedLDA,
    SkipGramTopicModel,
    SparseLDA,
    SparseSCVB0LDA,
    TokenSequences,
    report,
    representative_documents,
)
from sparsemix._estimator.writing import replacing
from sparsemix.metrics import topic_coherence
from sparsemix.texts._report import bins, gathering, layout, page, relevance
from sparsemix.texts._report import dates as _dates

HOSTILE = [
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "<!--<script>", "'\"&\u2028\u2029",
    "\x1b[31m", "\ud800", "]]>", "javascript:alert(3)", "{{7*7}}", "\0",
]  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    themes = ["apple pear plum cherry", "river lake ocean brook", "guitar violin flute drum"]
    texts = [" ".join(rng.choice(themes[i % 3].split(), 12)) for i in range(60)]
    vectorizer = CountVectorizer().fit(texts)
    X = vectorizer.transform(texts)
    return SparseLDA(3, n_nonzero=2, max_iter=20, tol=0, random_state=0).fit(X), X, vectorizer, texts


class Elements(HTMLParser):
    """Names of elements and attributes, and the contents of scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.contents = [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.contents.setdefault(self.tags[-1] if self.tags else "", []).append(data)


# -- gathering


def test_documents_with_the_largest_shares_are_found_across_blocks(monkeypatch):
    class Shares:
        components_ = np.ones((4, 2))

        def transform(self, X):
            return shares[np.asarray(X[:, 0].todense()).ravel() - 1]

    shares = np.random.default_rng(0).dirichlet(np.ones(4), 23)
    X = sparse.csr_matrix(np.column_stack([np.arange(1, 24), np.zeros(23, dtype=int)]))
    codes = np.arange(23) % 3 - 1
    monkeypatch.setattr(gathering, "BLOCK", 5)
    found = gathering.gather(Shares(), gathering.Documents(X, X), 3, [codes])
    np.testing.assert_array_equal(found.documents, np.argsort(-shares, axis=0)[:3].T)
    np.testing.assert_allclose(found.shares, -np.sort(-shares, axis=0)[:3].T)
    tokens = np.arange(1, 24)
    np.testing.assert_allclose(found.weights, tokens @ shares / tokens.sum())
    np.testing.assert_allclose(found.strata[0], [shares[codes == 0].mean(axis=0), shares[codes == 1].mean(axis=0)])
    rows = records(representative_documents(Shares(), X, 2))
    assert [row["topic"] for row in rows] == [0, 0, 1, 1, 2, 2, 3, 3]
    np.testing.assert_array_equal([row["document"] for row in rows], found.documents[:, :2].ravel())
    np.testing.assert_array_equal([row["share"] for row in rows], found.shares[:, :2].ravel())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator", [SparseLDA, SparseSCVB0LDA, CollapsedLDA, LatentDirichletAllocation, NMF], ids=lambda e: e.__name__
)
def test_every_topic_model_is_reported(fitted, estimator):
    _, X, vectorizer, texts = fitted
    model = estimator(3, max_iter=200 if estimator is NMF else 5, random_state=0).fit(X)
    made = report(model, X, vectorizer, documents=texts)
    table = records(made.table(4))
    assert sum(row["token_share"] for row in table) == pytest.approx(1.0)
    assert {len(row["words"]) for row in table} == {4}
    assert json.loads(page.embedded(made.data))["shown"] == 12


SENSES = ["River water bank fish water!", "money loan bank, credit money", "fish bank river water", "credit bank loan"]


@pytest.mark.parametrize("gaps", ["close", "keep"])
def test_words_in_their_order_have_the_topic_of_their_context(gaps):
    """The same word has two topics in one text; with other texts than those of the rows none is lost."""
    texts = 20 * SENSES + ["water bank fish river fish of the money bank loan credit loan"]
    sequences = TokenSequences(gaps=gaps, stop_words="english")
    X = sequences.fit_transform(texts)
    model = SkipGramTopicModel(2, window=2, max_iter=30, batch_size=20, random_state=0).fit(X)
    made = report(model, X, sequences, documents=texts, n_documents=len(texts))
    topics, words = model.transform_words(X, 1).indices, sequences.get_feature_names_out()
    (last,) = (told for told in made.data["documents"] if told["name"] == str(len(texts) - 1))
    assert last["text"][1::2] == ["water", "bank", "fish", "river", "fish", "money", "bank", "loan", "credit", "loan"]
    assert last["topics"] == topics[X.indptr[-2] :].tolist()
    assert last["topics"][1] != last["topics"][6]
    for told in made.data["documents"]:
        row = slice(*X.indptr[int(told["name"]) :][:2])
        assert told["topics"] == topics[row].tolist()
        assert [word.lower() for word in told["text"][1::2]] == words[X.data[row] - 1].tolist()
    assert dict(made.data["facts"])["words"] == f"{X.nnz:,}"
    expected = topic_coherence(model, model.count_words(X), n_top_words=min(10, len(words)))
    found = {row["topic"]: row["coherence"] for row in records(made.table())}
    assert found == pytest.approx(dict(enumerate(expected)), abs=1e-4)

    for told in report(model, X, sequences).data["documents"]:
        row = slice(*X.indptr[int(told["name"]) :][:2])
        assert told["text"][1::2] == words[X.data[row] - 1].tolist()
        assert told["topics"] == topics[row].tolist()
    other = report(model, X, sequences, documents=len(texts) * ["bank unknown fish fish bank"])
    assert all(len(told["topics"]) == len(told["text"]) // 2 for told in other.data["documents"])
    rows = [row["document"] for row in records(representative_documents(model, X, 1))]
    as_lists = [document.tolist() for document in np.split(X.data - 1, X.indptr[1:-1])]
    if gaps == "close":
        assert [row["document"] for row in records(representative_documents(model, as_lists, 1))] == rows


# -- words


def test_the_list_of_words_is_exact_at_every_position_of_the_slider():
    rng = np.random.default_rng(0)
    row, counts = rng.gamma(0.2, size=400), rng.integers(0, 1000, 400).astype(float)
    words, probabilities = relevance.relevant_words(row, 0.5, counts, 10)
    np.testing.assert_allclose(probabilities, row[words] / row.sum())
    assert np.all(np.diff(probabilities) <= 0)
    phi, p = row / row.sum(), np.maximum(counts, 0.5) / counts.sum()
    able = phi * 0.5 * counts.sum() >= 0.5
    for position in np.linspace(0, 1, 11):
        score = np.where(able, position * np.log(phi) + (1 - position) * np.log(phi / p), -np.inf)
        assert set(np.argsort(-score)[:10]) <= set(words.tolist())


def test_words_of_a_corpus_without_words():
    row = np.array([0.1, 0.6, 0.3])
    words, probabilities = relevance.relevant_words(row, 0.5, np.zeros(3), 2)
    np.testing.assert_array_equal(words[:2], [1, 2])
    np.testing.assert_allclose(probabilities, row[words])


# -- places


def test_affinities_places_and_tree():
    rng = np.random.default_rng(0)
    centres = rng.dirichlet(np.full(50, 0.1), 3)
    topics = np.vstack([0.8 * centre + 0.2 * rng.dirichlet(np.ones(50), 8) for centre in centres]).astype(np.float32)
    affinity = layout.affinities(7 * topics)
    twin = np.sqrt(topics[:, None] * topics[None]).sum(axis=2)
    np.testing.assert_allclose(affinity, twin, atol=1e-5)
    similar, near = layout.similar_topics(affinity, 7)
    assert np.all(similar // 8 == np.arange(24)[:, None] // 8)
    assert np.all(np.diff(near) <= 0)
    merges, order = layout.topic_tree(affinity)
    assert merges.shape == (23, 2)
    np.testing.assert_array_equal(np.diff(order // 8) != 0, np.isin(np.arange(23), [7, 15]))
    for n in (24, 5):  # neighbours, and distances
        places = layout.coordinates(affinity[:n, :n], np.ones(n))
        assert np.abs(places).max() == pytest.approx(1.0)
        np.testing.assert_array_equal(places, layout.coordinates(affinity[:n, :n], np.ones(n)))
    own = np.array([places[i] for i in range(5)])
    distances = np.sqrt(1 - affinity[:5, :5])
    twin = np.linalg.norm(own[:, None] - own[None], axis=2)
    assert np.corrcoef(distances[np.triu_indices(5, 1)], twin[np.triu_indices(5, 1)])[0, 1] > 0.7


@pytest.mark.parametrize("n", [1, 2, 3, 13])
def test_few_topics_and_equal_ones_have_places(n):
    affinity = np.ones((n, n))
    places = layout.coordinates(affinity, np.zeros(n))
    assert np.isfinite(places).all()
    assert n == 1 or pdist(places).min() > 0.2
    merges, order = layout.topic_tree(affinity)
    assert (len(merges), sorted(order)) == (n - 1, list(range(n)))


# -- dates and groups


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["2024-01-30", None, "2024-02-01"], ["2024-01-30", "2024-01-31", "2024-02-01"]),
        (["2023-11-30", "2024-02-01"], None),
        (["2020", "2022"], None),
        ([1950, 1990], [str(year) for year in range(1950, 1991)]),
        ([1800, 1990], [f"{decade}s" for decade in range(1800, 2000, 10)]),
        ([None, "soon"], []),
    ],
)
def test_bins_of_dates(values, labels):
    days = _dates.read_dates(values).days
    codes, found = bins.bins_of_dates(days)
    if labels is not None:
        assert found == labels
    for value, day, code in zip(values, days, codes, strict=True):
        assert (code == -1) if day is None else str(value)[:3] == found[code][:3]


def test_small_groups_of_very_many_are_one():
    values = [f"g{i:03d}" for i in range(100) for _ in range(2 if i < 50 else 1)]
    codes, labels = bins.bins_of_groups([*values, ""])
    assert labels[:2] == ["g000", "g001"]
    assert labels[-1] == "70 other groups"
    assert codes[0] == 0
    assert codes[-2:].tolist() == [bins.MOST_GROUPS, -1]


# -- the page


def test_the_page_is_whole(fitted, tmp_path):
    model, X, vectorizer, texts = fitted
    names = [f"text {i}" for i in range(60)]
    made = report(model, X, vectorizer, documents=texts, names=names, dates=[2000 + i % 5 for i in range(60)],
                  groups=[f"group {i % 3}" for i in range(60)], title="Fruit & water")  # fmt: skip
    path = made.save(tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    elements = Elements(text)
    assert not {"link", "img", "iframe", "object", "base"} & set(elements.tags)
    assert not {"src", "href", "action"} & set(elements.attributes)
    for asks in ("url(", "@import", "fetch(", "XMLHttpRequest", "innerHTML", "insertAdjacentHTML", "eval(", "import("):
        assert asks not in text
    assert elements.contents["title"][0] == "Fruit & water"
    data = json.loads(elements.contents["script"][0])
    assert [topic["id"] for topic in data["topics"]] == [row["topic"] for row in records(made.table())]
    first = data["topics"][0]
    document = data["documents"][first["documents"][0][0]]
    row = names.index(document["name"])
    assert "".join(document["text"]) == texts[row]
    assert len(document["topics"]) == 12
    assert document["about"] == [str(2000 + row % 5), f"group {row % 3}"]
    assert max(data["strata"][1]["sizes"]) == 20
    assert max(first["strata"][1]) > 0.8  # a topic is a theme, a group too
    assert data["curves"][0]["label"] == "Lower bound per token"
    assert len(data["curves"][0]["points"]) == 20
    assert made._repr_html_().startswith("<iframe")
    assert "3 topics" in repr(made)
    if sys.platform != "win32":
        plain = path.with_name("plain")
        plain.touch()
        assert path.stat().st_mode == plain.stat().st_mode


def test_scripts_are_small():
    """The whole of style and scripts is under 200 KB, and the browser gets their checksums."""
    assets = [page.asset("report.css"), *(page.asset(f"{name}.js") for name in page.SCRIPTS)]
    assert sum(len(text.encode()) for text in assets) < 60_000
    assert all(len(text.splitlines()) <= 500 for text in assets)
    folder = Path(page.__file__).parent / "assets"
    assert {path.stem for path in folder.glob("*.js")} == set(page.SCRIPTS)


def test_hostile_words_names_and_texts_are_text(fitted):
    model, X, _, texts = fitted
    words = (HOSTILE * 2)[:12]
    made = report(model, X, words, documents=[HOSTILE[i % 10] + text for i, text in enumerate(texts)],
                  names=[HOSTILE[i % 10] for i in range(60)], groups=[HOSTILE[i % 10] for i in range(60)],
                  title=HOSTILE[0], facts=[(HOSTILE[0], HOSTILE[5])])  # fmt: skip
    text = made.html()
    text.encode("utf-8")
    elements = Elements(text)
    assert elements.tags.count("script") == 2
    assert not {"img", "iframe"} & set(elements.tags)
    data = json.loads(elements.contents["script"][0])
    assert data["title"] == HOSTILE[0]
    assert set(data["words"]) <= set(HOSTILE)
    frame = Elements(made._repr_html_())
    assert frame.tags == ["iframe"]


def test_documents_without_texts_show_their_words(fitted):
    model, X, vectorizer, _ = fitted
    made = report(model, X, vectorizer.get_feature_names_out())
    record = made.data["documents"][0]
    row = X[int(record["name"])]
    shown = dict.fromkeys(record["text"][1::2], 1)
    assert set(shown) == set(vectorizer.get_feature_names_out()[row.indices])


def test_words_without_names_say_so(fitted):
    model, X, _, _ = fitted
    made = report(model, X)
    assert ["names of words", "not given: the report shows column numbers"] in made.data["facts"]
    assert records(made.table())[0]["words"][0].startswith("column ")


def test_wrong_lengths_are_named(fitted):
    model, X, vectorizer, texts = fitted
    with pytest.raises(ValueError, match="documents has 59 entries but X has 60 rows"):
        report(model, X, vectorizer, documents=texts[1:])
    with pytest.raises(ValueError, match="vocabulary has 2 words but X has 12 columns"):
        report(model, X, ["a", "b"])
    with pytest.raises(ValueError, match="X has 11 columns but topics have 12 words"):
        report(model, X[:, :11], vectorizer)


@pytest.mark.parametrize(("n_topics", "n_words"), [(1, 1), (1, 5), (5, 2), (4, 3)])
def test_small_models_have_reports(n_topics, n_words):
    X = np.random.default_rng(0).integers(0, 4, (12, n_words)) + 1
    model = LatentDirichletAllocation(n_topics, max_iter=2, random_state=0).fit(X)
    made = report(model, X, [f"w{v}" for v in range(n_words)], dates=12 * [None])
    assert len(made.table()) == n_topics
    json.loads(page.embedded(made.data))
    assert (records(made.table())[0]["coherence"] is None) == (n_words == 1)


def test_a_broken_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")

    def write():
        with replacing(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_the_wheel_has_what_the_page_is_made_of():
    """What pyproject names as data of the package is what is there, and the sources go into the sdist."""
    root = Path(__file__).parents[2]
    named = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    folder = Path(page.__file__).parent
    covered = {path.name for pattern in named["sparsemix.texts._report"] for path in folder.glob(pattern)}
    assert covered == {path.name for path in (folder / "assets").iterdir()}
    assert "graft sparsemix\n" in (root / "MANIFEST.in").read_text()


def test_pipelines_can_be_reported_step_by_step(fitted):
    _, _, _, texts = fitted
    pipeline = make_pipeline(CountVectorizer(), SparseSCVB0LDA(3, max_iter=3, random_state=0)).fit(texts)
    made = report(pipeline[-1], pipeline[0].transform(texts), pipeline[0], documents=texts)
    assert len(made.data["documents"]) > 0


@pytest.mark.parametrize("function", [sparsemix.report, sparsemix.representative_documents])
def test_fitted_mixtures_are_no_topic_models(function):
    X = np.random.default_rng(0).poisson(1.0, (40, 6)).astype(float)
    for mixture in (sparsemix.SparseGaussianMixture(2), sparsemix.SparseMultinomialMixture(2)):
        with pytest.raises(ValueError, match=r"is a fitted .*Mixture, which has no components_; give a topic model"):
            function(mixture.fit(X), X)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_the_report_of_a_pipeline_is_that_of_its_parts(steps):
    texts = [" ".join(["apple pear plum", "lake ocean Brook"][i % 2].split() * 3) for i in range(40)]
    more = [("same", FunctionTransformer(feature_names_out="one-to-one", validate=False))] if steps == 3 else []
    model = SparseSCVB0LDA(2, max_iter=5, random_state=0)
    pipeline = Pipeline([("counts", CountVectorizer()), *more, ("topics", model)]).fit(texts)
    counts, model, given = pipeline["counts"].transform(texts), pipeline["topics"], texts
    if steps == 1:
        pipeline, given = Pipeline([("topics", model)]), counts
    page = report(pipeline, given)
    parts = report(model, counts, None if steps == 1 else pipeline["counts"], documents=None if steps == 1 else texts)
    assert records(page.table()) == records(parts.table())
    assert page.data["documents"] == parts.data["documents"]
    assert steps == 1 or any("Brook" in record["text"] for record in page.data["documents"])  # a text, not counts


def test_a_pipeline_reads_texts_that_it_was_not_fitted_to():
    texts = ["apple pear plum", "lake ocean brook"] * 20
    pipeline = make_pipeline(CountVectorizer(), LatentDirichletAllocation(2, random_state=0)).fit(texts)
    page = report(pipeline, ["pear pear unknown", "ocean"], documents=["one", "two"], names=["a", "b"])
    assert {record["name"] for record in page.data["documents"]} == {"a", "b"}
    assert {"".join(record["text"]) for record in page.data["documents"]} == {"one", "two"}
