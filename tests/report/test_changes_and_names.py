"""Words that changed, against slow twins; names of topics: joined in the page, and read from tables."""

import numpy as np
import pytest
from fitted import records
from scipy import sparse

from sparsemix import SparseLDA, report
from sparsemix.texts._report import naming
from sparsemix.texts._report.changes import Usage, contrasts
from sparsemix.texts._report.page import merged_words, static_content

WORDS = ["apple", "pear", "plum", "cherry", "river", "lake", "ocean", "brook", "guitar", "violin", "flute", "drum"]


@pytest.fixture
def page():
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix([np.bincount(rng.choice(4, 12) + 4 * (i % 3), minlength=12) for i in range(60)])
    model = SparseLDA(3, n_nonzero=2, max_iter=10, tol=0, random_state=0).fit(X)
    dates = [2000 + i % 5 for i in range(60)]
    return report(model, X, WORDS, dates=dates, groups=[f"g{i % 2}" for i in range(60)])


@pytest.mark.parametrize("compared", [3, 50])
def test_usage_is_the_expected_number_of_tokens(compared, monkeypatch):
    """Against loops over documents, words, topics."""
    monkeypatch.setattr("sparsemix.texts._report.changes.COMPARED", compared)
    monkeypatch.setattr("sparsemix.texts._report.changes.CHUNK", 7)
    rng = np.random.default_rng(0)
    N, K, V = 20, 4, 9
    X, components = rng.poisson(0.8, (N, V)), rng.gamma(0.5, size=(K, V))
    X[3] = 0
    theta, bins = rng.dirichlet(np.ones(K), N), [rng.integers(-1, 3, N), rng.integers(0, 2, N)]
    usage = Usage(components, [3, 2])
    for rows in (slice(0, 8), slice(8, N)):
        usage.add([codes[rows] for codes in bins], theta[rows], sparse.csr_matrix(X[rows]))
    phi = components / components.sum(axis=1, keepdims=True)
    for codes, (table, tokens) in zip(bins, usage.tables, strict=True):
        expected = np.zeros((tokens.shape[0], K, V))
        for d in range(N):
            for w in range(V):
                for k in range(K):
                    if codes[d] >= 0:
                        expected[codes[d], k, w] += X[d, w] * theta[d, k] * phi[k, w] / (theta[d] @ phi[:, w])
        np.testing.assert_allclose(tokens, expected.sum(axis=2))
        for k in range(K):
            main = np.sort(np.argsort(-components[k])[:compared])
            assert usage.words[k].tolist() == main.tolist()
            np.testing.assert_allclose(table[:, k], expected[:, k, main])


def test_only_clear_changes_are_listed():
    words, tokens = np.array([7, 8, 9]), np.array([100.0, 100.0, 0.0])
    found = contrasts(np.array([[40.0, 10, 50], [4, 11, 49], [0, 0, 0]]), tokens, words)
    assert found == [([7], []), ([], [7]), ([], [])]
    assert contrasts(np.array([[40.0, 10, 50]]), tokens[:1], words) == [([], [])]  # one bin
    assert contrasts(np.array([[3.0, 0, 97], [0, 0, 100], [0, 0, 0]]), tokens, words) == [([], [])] * 3  # few tokens
    assert contrasts(np.array([[4000.0, 0, 6000], [3000, 0, 7000], [0, 0, 0]]), 100 * tokens, words) == [([], [])] * 3


def test_rising_and_falling_words_are_found():
    """One topic; 'apple' gives way to 'plum' over the years, 'pear' stays. Groups are random and change nothing."""
    rng = np.random.default_rng(0)
    years = np.repeat(np.arange(2000, 2010), 30)
    p = np.array([[0.5 - 0.04 * t, 0.4, 0.1 + 0.04 * t] for t in years - 2000])
    X = sparse.csr_matrix(np.array([rng.multinomial(20, row) for row in p]))
    model = SparseLDA(1, n_nonzero=1, max_iter=3, tol=0, random_state=0).fit(X)
    data = report(model, X, ["apple", "pear", "plum"], dates=years, groups=rng.integers(0, 3, 300).astype(str)).data
    (topic,) = data["topics"]
    assert [[data["words"][v] for v in words] for words in topic["trend"][0]] == [["plum"], ["apple"]]
    assert [[data["words"][v] for v in words] for words in topic["changes"][0][0]] == [["apple"], ["plum"]]
    assert topic["changes"][1] == [[[], []]] * 3


def test_topics_explain_all_tokens_of_a_word(page):
    """The coloured bars of a word sum to its grey bar."""
    data, explained = page.data, np.zeros(len(WORDS))
    for topic in data["topics"]:
        explained[topic["words"]] += topic["weight"] * np.array(topic["p"])
    complete = explained > 0
    assert complete.any()
    np.testing.assert_array_less(explained, 1.002 * np.array(data["mixed"]))
    np.testing.assert_allclose(sum(data["mixed"]), 1.0, atol=1e-3)


def test_topics_of_one_name_are_joined(page):
    a, b, c = (topic["id"] for topic in page.data["topics"])
    before = static_content(page.data)
    assert before.count("<section") == 3
    assert all(word in before for word in WORDS)
    page.rename({a: " water  music ", c: "water music", b: "<b>"})
    assert [row["name"] for row in records(page.table())] == ["water music", "<b>", "water music"]
    text = static_content(page.data)
    assert text.count("<section") == text.count("<h2>") == 2
    assert f"topic {a}, {c}: {sum(t['weight'] for t in page.data['topics'][::2]):.2%} of all tokens" in text
    assert "&lt;b&gt;" in text
    assert "<b>" not in text
    first, _, last = page.data["topics"]
    weight, p = first["weight"] + last["weight"], dict(merged_words([first, last]))
    for v in {*first["words"], *last["words"]}:
        twin = sum(t["weight"] * dict(zip(t["words"], t["p"], strict=True)).get(v, 0.0) for t in (first, last)) / weight
        assert p[v] == pytest.approx(twin)
    assert page.rename(["", "", ""]).data["names"] == {}
    assert static_content(page.data) == before


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("first", ["topic{}name\r\n", "Topic{} Name \r\n", "sep={}\r\ntopic{}name\r\n"])
def test_names_are_read_from_what_spreadsheets_write(tmp_path, encoding, delimiter, first):
    told, path = [], tmp_path / "names.csv"
    text = first.replace("{}", delimiter) + f'2{delimiter}"Öl; Gas, \tKohle"\r\n{delimiter}\r\n0{delimiter}Städte\r\n'
    path.write_bytes(text.encode(encoding))
    assert naming.read_names(path, 3, told.append) == {2: "Öl; Gas, Kohle", 0: "Städte"}
    assert len(told) == (encoding == "cp1252")
    path.write_bytes(text.replace("0", "9").encode(encoding))
    with pytest.raises(ValueError, match=rf"line {text.count(chr(10))} names topic '9'"):
        naming.read_names(path, 3)


def test_names_are_read_and_wrong_ones_are_refused(tmp_path, page):
    path = tmp_path / "names.csv"
    path.write_text("topic,name,words\n1,fruit,x\n0,,x\n", encoding="utf-8-sig")
    assert naming.read_names(path, 3) == {1: "fruit"}
    wrong = {
        "topic,title\n1,fruit\n": "no column 'name'", "topic,name\n3,a\n": "line 2 names topic '3'",
        "topic,name\nx,a\n": "names topic 'x'", "topic,name\n1,a\n1,b\n": "line 3 names topic 1 again", "": "no column",
    }  # fmt: skip
    for text, message in wrong.items():
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            naming.read_names(path, 3)
    path.write_bytes(b"topic,name\n1,\x81\n")
    with pytest.raises(ValueError, match="UTF-8"):
        naming.read_names(path, 3)
    for names in ({3: "a"}, {"0": "a"}, ["a"] * 4):
        with pytest.raises(ValueError, match="names has topic"):
            page.rename(names)
    assert page.data["names"] == {}
