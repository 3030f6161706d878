"""The page of a topic in a browser: headings, bars, and a word in its context."""

import numpy as np
import pytest
from scipy import sparse
from test_report import HOSTILE
from test_report_browser import WORDS, browser, make_report, pytestmark, visit

from sparsemix import report

__all__ = ["browser", "pytestmark", "visit"]
WIDTH = "getBoundingClientRect().width"


class Topics:
    """Two topics of four words, of which the first is a hundred times as frequent in the second topic."""

    components_ = np.array([[20, 10, 5, 1, 0.0, 0, 0], [2000, 0, 0, 0, 300, 200, 100.0]]) + 1e-9

    def transform(self, X):
        return np.tile(np.array([[0.02, 0.98]]), (X.shape[0], 1))


@pytest.fixture(scope="module")
def texts():
    """Texts of which every word is known; the documents of one topic have the word of another one too."""
    return [f"{'so ' * 30}Apple {WORDS[i % 12]}, {'un' if i % 2 else ''}apple {'so ' * 30}" for i in range(60)]


@pytest.fixture(scope="module")
def path(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("report")
    return make_report(WORDS, names=[f"text {i}" for i in range(60)], documents=texts).save(folder / "page.html")


def test_the_numbers_have_headings_and_coherence_a_sentence(visit, path):
    page = visit(path)
    headings = [th.inner_text() for th in page.query_selector_all(".detail table.bars thead th")]
    assert headings == ["word", "probability in the topic", "tokens in all texts"]
    assert "1 is always, 0 as often as by chance, −1 never" in page.inner_text(".detail")


@pytest.mark.parametrize("topic", [0, 1])
def test_bars_follow_the_tokens_of_the_topic_and_cut_ones_are_marked(visit, tmp_path, topic):
    """Coloured bars have the ratios of the topic's own tokens; a grey one that is longer than the space is cut."""
    counts = Topics.components_.sum(axis=0).round()
    X = sparse.csr_matrix(np.vstack([counts, counts]))
    page = visit(report(Topics(), X, WORDS[:7]).save(tmp_path / "page.html"))
    page.click(f'.row[data-topic="{topic}"]')
    data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    bars = page.evaluate(
        "[...document.querySelectorAll('.detail table.bars tbody tr')].map(tr => [tr.querySelector('th').innerText,"
        f"tr.querySelector('.cut') !== null, ...['.pair', '.pair span', '.pair span + span'].map(name => tr."
        f"querySelector(name).{WIDTH})])"
    )
    (shown,) = (each for each in data["topics"] if each["id"] == topic)
    mixed = dict(zip(data["words"], data["mixed"], strict=True))
    p = {data["words"][v]: p for v, p in zip(shown["words"], shown["p"], strict=True)}
    total = dict(zip(data["words"], data["counts"], strict=True))
    own = {word: total[word] * min(1, p[word] * shown["weight"] / mixed[word]) for word in p}
    most = 1.25 * max(own.values())
    for word, cut, space, grey, coloured in bars:
        assert abs(coloured - max(1, space * own[word] / most)) < 0.5
        assert abs(grey - max(1, space * min(1, total[word] / most))) < 0.5
        assert cut == (total[word] > most)
    assert any(cut for _, cut, *_ in bars) == (topic == 0)
    assert max(coloured / space for *_, space, _, coloured in bars) > 0.75


def test_a_word_is_shown_in_its_context(visit, path, texts):
    """Whole words in any case, 40 characters on each side, documents of the topic first, 30 lines, and ways back."""
    page = visit(path)
    data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    page.click('.row:has-text("apple")')
    page.click("tbody th .link >> text=apple")
    topic = int(page.get_attribute('.row[aria-current="true"]', "data-topic"))
    (own,) = (each["documents"] for each in data["topics"] if each["id"] == topic)
    lines = page.query_selector_all(".context li")
    called = [line.query_selector(".link").inner_text() for line in lines]
    assert list(dict.fromkeys(called))[: len(own)] == [data["documents"][place]["name"] for place, _ in own]
    assert set(called) == {document["name"] for document in data["documents"]}
    expected = sum(texts[int(document["name"].split()[1])].lower().replace("unapple", "").count("apple")
                   for document in data["documents"])  # fmt: skip
    assert len(lines) == min(30, expected)
    assert f"{expected} occurrences" in page.inner_text(".detail")
    for line in lines:
        mark = line.query_selector("mark")
        assert mark.inner_text().lower() == "apple"
        assert len(line.query_selector(".before").text_content()) == 40
        assert len(mark.evaluate("mark => mark.nextSibling.data")) == 40
    assert len({line.query_selector("mark").bounding_box()["x"] for line in lines}) == 1
    page.click(".context .link >> nth=0")
    assert page.inner_text("#heading") == called[0]
    page.go_back()
    assert page.inner_text("#heading") == "“apple” in context"
    page.reload()
    assert page.inner_text("#heading") == "“apple” in context"
    page.click("text=topics with this word")
    page.wait_for_selector("text=of 3 topics have “apple”")
    assert page.inner_text("#heading").startswith(f"Topic {topic}:")
    page.go_back()
    page.keyboard.press("Escape")
    assert page.inner_text("#heading").startswith(f"Topic {topic}:")


@pytest.mark.parametrize("width", [320, 390, 700, 1000, 1280])
def test_a_context_fits_every_window(visit, path, width):
    page = visit(path, width, 844)
    if width < 960:
        page.click(".row >> nth=0")
    page.click("tbody th .link >> nth=0")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    if lines := page.query_selector_all(".context li"):
        assert all(0 < line.bounding_box()["height"] < 60 for line in lines)
        for line in lines:
            box = line.query_selector("mark").bounding_box()
            assert 0 < box["x"] < box["x"] + box["width"] <= width
    page.click("text=topics with this word")
    assert page.is_visible("#found")


@pytest.mark.parametrize(("word", "text"), [
    ("経済", "日本の経済政策と経済。"), ("ประเทศ", "ในประเทศไทยและประเทศ"), ("كتاب", "هذا كتاب وكتابان، كتاب"),
])  # fmt: skip
def test_words_of_other_scripts_are_found(visit, tmp_path, word, text):
    """Scripts without spaces have no bounds of words. Lines from right to left are aligned at the word too."""
    page = visit(make_report([word, *WORDS[1:]], documents=[text] * 60).save(tmp_path / "page.html"))
    page.click(f'.row:has-text("{word}")')
    page.click(f"tbody th .link >> text={word}")
    marks = page.query_selector_all(".context mark")
    assert [mark.inner_text() for mark in marks[:2]] == [word, word]
    places = {round(sum(box[name] for name in side))
              for mark in marks if (box := mark.bounding_box())
              for side in [("x", "width") if word == "كتاب" else ("x",)]}  # fmt: skip
    assert len(places) == 1


def test_phrases_are_found_with_a_space_or_a_hyphen(visit, tmp_path):
    texts = ["The Machine Learning, machine-learning and machine\nlearning, not machine or learnings."] * 60
    page = visit(make_report(["machine_learning", *WORDS[1:]], documents=texts).save(tmp_path / "page.html"))
    page.click('.row:has-text("machine_learning")')
    page.click("tbody th .link >> text=machine_learning")
    found = [mark.inner_text() for mark in page.query_selector_all(".context mark")][:3]
    assert found == ["Machine Learning", "machine-learning", "machine learning"]


def test_hostile_words_and_texts_stay_text_in_their_context(visit, tmp_path):
    """Words with markup and characters of patterns are found as they are written; texts in any script are cut whole."""
    words = [*HOSTILE[:4], "a.b*c", "x+(y", "[z]", "c:\\d", "-", "^$", "é|e", "u_v"]
    texts = [" ".join([*words, "\U0001f600" * 60, *words, "\U0001f600" * 60])] * 60
    made = make_report(words, names=[HOSTILE[i % 10] for i in range(60)], documents=texts)
    page = visit(made.save(tmp_path / "hostile.html"))
    seen = set()
    for i in range(3):
        page.click(f".row >> nth={i}")
        for j in range(len(page.query_selector_all("tbody th .link"))):
            word = page.locator("tbody th .link").nth(j).text_content()
            page.click(f"tbody th .link >> nth={j}")
            found = {mark.text_content().strip() for mark in page.query_selector_all(".context mark")}
            assert found == {word.strip()}
            assert "\ufffd" not in page.inner_text(".detail")
            seen.add(word)
            page.click(".back")
    assert seen == set(words)
    assert page.query_selector("img") is None
    assert page.evaluate("document.scripts.length") == 2
