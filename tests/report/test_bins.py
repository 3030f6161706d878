"""Bins of rows that are parts of documents: what they are, their shares, and numbers of documents."""

import numpy as np
import pytest
from scipy import sparse

from sparsemix import report
from sparsemix.texts._report.bins import Parts
from sparsemix.texts._report.page import static_content

# A document of 8 parts, and one of 16, of different sizes.
TWO = np.repeat(["one", "two"], [8, 16])
CHAPTERS = np.repeat(["I", "II", "III"], [10, 6, 8])
X = sparse.csr_matrix(np.random.default_rng(0).poisson(2.0, (24, 6)) + np.arange(1, 25)[:, None] % 5)
TOKENS = X.toarray().sum(axis=1)


class Model:
    """Two topics, whose shares in a document are those of the first three words and of the rest."""

    components_ = np.array([[3.0, 2, 1, 0, 0, 0], [0, 0, 0, 1, 2, 3]]) + 0.01

    def transform(self, X):
        first = np.asarray(X[:, :3].sum(axis=1)).ravel() / np.maximum(np.asarray(X.sum(axis=1)).ravel(), 1)
        return np.column_stack([first, 1 - first])


def strata(**options):
    return {stratum["kind"]: stratum for stratum in report(Model(), X, **options).data["strata"]}


PLACES = {
    "documents": ({}, []),
    "groups": ({"groups": CHAPTERS}, ["group"]),
    "dates": ({"dates": np.repeat([2000, 2001], 12)}, ["period"]),
    "parts": ({"parts_of": TWO}, ["document", "position"]),
    "parts of three": ({"parts_of": np.repeat(["a", "b", "c"], 8), "groups": CHAPTERS}, ["group", "position"]),
    "parts of many": ({"parts_of": np.append(np.arange(4).repeat(3), np.arange(100, 112))}, ["document"]),
    "one": ({"parts_of": [0] * 24}, ["position"]),
    "chapters": ({"parts_of": [0] * 24, "groups": CHAPTERS}, ["chapter"]),
    "speakers": ({"parts_of": [0] * 24, "groups": ["a", "b", "a"] * 8}, ["group", "position"]),
    "some chapters": ({"parts_of": [0] * 24, "groups": [None, *CHAPTERS[1:]]}, ["group", "position"]),
    "one chapter": ({"parts_of": [0] * 24, "groups": ["I"] * 24}, ["group", "position"]),
}
MEASURES = {
    "period": ("Mean document share over time", "documents", True, 20),
    "group": ("Mean document share by group", "documents", False, 20),
    "document": ("Share by document", "passages", False, 0),
    "position": ("Mean share by position in the document", "passages", True, 20),
    "chapter": ("Share by chapter", "passages", True, 0),
}


@pytest.mark.parametrize("place", PLACES)
def test_bins_say_what_they_are(place):
    """Shares in one document are no means of few documents."""
    options, kinds = PLACES[place]
    found = strata(**options)
    assert list(found) == kinds
    for kind, stratum in found.items():
        label, unit, ordered, few = MEASURES[kind]
        few = 0 if place in ("one", "speakers", "some chapters", "one chapter") else few
        assert [stratum[name] for name in ("label", "unit", "ordered", "few")] == [label, unit, ordered, few]
        assert len(stratum["bins"]) == len(stratum["sizes"]) > 0
        assert label.startswith(stratum["measure"])


@pytest.mark.parametrize(("options", "labels"), [
    ({"parts_of": TWO}, TWO), ({"parts_of": ["book"] * 24, "groups": CHAPTERS}, CHAPTERS),
    ({"parts_of": TWO[::-1]}, TWO[::-1]),
])  # fmt: skip
def test_shares_by_document_and_chapter_are_those_of_their_tokens(options, labels):
    page = report(Model(), X, **options).data
    stratum, shares = page["strata"][0], Model().transform(X)
    assert stratum["bins"] == list(dict.fromkeys(labels))  # in order of appearance
    assert stratum["sizes"] == [(labels == name).sum() for name in stratum["bins"]]
    for topic in page["topics"]:
        expected = [np.average(shares[labels == name, topic["id"]], weights=TOKENS[labels == name])
                    for name in stratum["bins"]]  # fmt: skip
        np.testing.assert_allclose(topic["strata"][0], expected, rtol=1e-3)


def test_more_than_thirty_documents_have_no_bin_each():
    counts = sparse.vstack([X, X])
    found = report(Model(), counts, parts_of=np.arange(48) // 1.5 // 1).data["strata"]
    assert "document" not in [stratum["kind"] for stratum in found]


def test_documents_are_counted_and_not_their_passages():
    dates = [None if name == "one" else 2000 for name in TWO]
    page = report(Model(), X, parts_of=TWO, dates=dates, groups=np.where(TWO == "two", "", "a"))
    facts = dict(page.data["facts"])
    assert (facts["documents without a date"], facts["documents without a group"]) == ("1", "1")
    assert [stratum["sizes"] for stratum in page.data["strata"][:2]] == [[1], [1]]
    documents = np.repeat(np.arange(12), 2)
    dates = [1300 if document == 3 else 2000 + document % 3 for document in documents]
    facts = dict(report(Model(), X, parts_of=[f"text {i}" for i in documents], dates=dates).data["facts"])
    assert facts["dates far from the rest"] == "1 (1300 of text 3); they are in no period"
    assert "documents without a date" not in facts


def test_passages_without_words_have_a_place():
    counts = X.toarray()
    counts[[0, 7, 23]] = 0
    counts[8:16] = 0
    parts_of = np.repeat(["a", "b", "c"], 8)
    *_, position = report(Model(), sparse.csr_matrix(counts), parts_of=parts_of).data["strata"]
    assert len(position["bins"]) == len(position["sizes"]) == 8
    assert sum(position["sizes"]) == 24


def test_the_page_without_scripts_says_what_is_counted():
    parts = static_content(report(Model(), X, parts_of=TWO).data)
    assert "% of the passage)" in parts
    assert "Main passages" in parts
    assert "of 1 documents only" not in parts
    assert "passages only" in parts  # of the bins of positions
    whole = static_content(report(Model(), X, groups=CHAPTERS).data)
    assert "% of the document)" in whole
    assert "of 10 documents only" in whole


@pytest.mark.parametrize("found", [None, [0, 3], [3, 3]])
def test_the_page_without_scripts_says_how_many_runs_find_a_topic(found):
    page = report(Model(), X)
    for topic in page.data["topics"]:
        topic |= {"found": found, "stability": found and 0.875}
    assert static_content(page.data).count("runs with other seeds") == (2 if found else 0)
    if found:
        assert f"stability 0.88, found by {found[0]} of 3 runs with other seeds</p>" in static_content(page.data)
        page.rename({0: "both", 1: "both"})
        assert "runs with other seeds" not in static_content(page.data)


def test_parts_of_a_document_follow_each_other():
    assert Parts.of(["b", "b", "a"]).names == ["b", "a"]
    with pytest.raises(ValueError, match=r"row 2 is a part of 'b', and rows of other documents are between its parts"):
        Parts.of(["b", "a", "b"])
