"""The page of a topic in a browser: headings and bars."""

import numpy as np
import pytest
from scipy import sparse
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
