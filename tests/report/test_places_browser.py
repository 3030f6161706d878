"""Columns of bins in order, and topics that few runs find, in a browser."""

import numpy as np
import pytest
from test_report_browser import browser, make_report, pytestmark, topics_of, visit

__all__ = ["browser", "pytestmark", "visit"]
WORDS = [f"word{i}" for i in range(12)]
BOOK = ["book"] * 60
CHAPTERS = np.repeat([f"CHAPTER {n}. A title that is rather long" for n in ("II", "I", "IX", "V")], 15)
FOUND = [[1, 3], [3, 3], [2, 3]]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(("options", "kind"), [
    ({"parts_of": BOOK}, "position"), ({"parts_of": BOOK, "groups": CHAPTERS}, "chapter"),
    ({"dates": [2000 + i % 5 for i in range(60)]}, "period"),
])  # fmt: skip
def test_bins_in_order_are_columns(visit, tmp_path, width, options, kind):
    """From left to right as in the data, as high as their shares, and in the same order in the table."""
    made = make_report(WORDS, **options)
    page = visit(made.save(tmp_path / "page.html"), width)
    topic = made.data["topics"][0]
    if width == 390:
        page.click(f'.row[data-topic="{topic["id"]}"]')
    (stratum,) = made.data["strata"]
    assert stratum["kind"] == kind
    columns = page.query_selector_all(".detail rect.column")
    titles = [column.query_selector("title").text_content() for column in columns]
    assert [title.partition(": ")[0] for title in titles] == stratum["bins"]
    assert all(title.endswith(f" {stratum['unit']}") for title in titles)
    boxes = [column.bounding_box() for column in columns]
    assert np.all(np.diff([box["x"] for box in boxes]) > 0)
    heights = np.array([box["height"] for box in boxes])
    shares = np.array(topic["strata"][0])
    np.testing.assert_allclose(heights / heights.max(), shares / shares.max(), atol=0.02)
    page.click(".detail summary >> text=as a table")
    rows = page.query_selector_all(".detail details[open] table.bars th")
    assert [row.inner_text() for row in rows] == stratum["bins"]
    ends = page.query_selector_all(".detail .ends span")
    assert [end.inner_text() for end in ends] == [stratum["bins"][0], stratum["bins"][-1]]
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_bins_without_order_are_bars_sorted_by_share(visit, tmp_path):
    made = make_report(WORDS, parts_of=np.repeat(["a", "b", "c"], 20))
    page = visit(made.save(tmp_path / "page.html"))
    shares = dict(zip(made.data["strata"][0]["bins"], made.data["topics"][0]["strata"][0], strict=True))
    section = page.query_selector(".detail section:has(h3:text-is('Share by document'))")
    assert section.query_selector("rect") is None
    assert [th.inner_text() for th in section.query_selector_all("th")] == sorted(shares, key=lambda a: -shares[a])
    assert "Share, passages, and words" in section.inner_text()
    assert "few" not in section.query_selector("td.soft").inner_text()
    assert page.is_visible("text=Representative passages")


def test_names_of_files_break_between_their_parts(visit, tmp_path):
    names = ["a_shelf/an_author_a_title_1900.txt", "a_shelf/another_author_of_books_1901.txt"]
    page = visit(make_report(WORDS, groups=names * 30).save(tmp_path / "page.html"), 390)
    page.click(".row >> nth=0")
    for th in page.query_selector_all(".detail section table.bars th"):
        assert th.inner_text() in names
        # an element for each line
        text = "(th, name) => [...th.childNodes].filter(node => node.data).map(node => { const range = document" \
            ".createRange(); range.selectNode(node); return range.getClientRects().length; })"  # fmt: skip
        assert set(th.evaluate(text)) == {1}


@pytest.mark.parametrize("n", [10, 400])
def test_a_cut_text_of_a_card_ends_in_dots(visit, tmp_path, n):
    texts = [" ".join([WORDS[i % 12]] * n) for i in range(60)]
    page = visit(make_report(WORDS, documents=texts).save(tmp_path / "page.html"))
    shown = page.inner_text(".card p >> nth=0")
    assert shown.endswith("…") == (n == 400)
    assert len(shown) <= 260


@pytest.fixture(scope="module")
def found_path(tmp_path_factory):
    page = make_report(WORDS)
    for topic, found in zip(page.data["topics"], FOUND, strict=True):
        topic |= {"found": found, "stability": found[0] / 4}
    return page.save(tmp_path_factory.mktemp("found") / "page.html")


def test_topics_that_few_runs_find_look_weaker(visit, found_path):
    page = visit(found_path)
    order = topics_of(page)
    heads = [head.inner_text() for head in page.query_selector_all(".row .head")]
    assert all(f"stability {n / 4:.2f}, found by {n} of {m}" in head for head, (n, m) in zip(heads, FOUND, strict=True))
    style = "[...document.querySelectorAll('.row')].map(row => [getComputedStyle(row).borderInlineStartStyle," \
        "getComputedStyle(row.querySelector('.words')).fontStyle])"  # fmt: skip
    assert page.evaluate(style) == [["dashed", "italic"], ["none", "normal"], ["none", "normal"]]
    assert "Found by 1 of 3 runs with other seeds: do not build on this topic alone." in page.inner_text(".detail")
    page.click(".row >> nth=2")
    assert "Found by 2 of 3 runs with other seeds." in page.inner_text(".detail")
    page.select_option("#sort", "found")
    assert topics_of(page) == [order[1], order[2], order[0]]
    page.click("nav >> text=Map")
    dashes = "[...document.querySelectorAll('.map circle')].map(circle => getComputedStyle(circle).strokeDasharray)"
    assert [dash != "none" for dash in page.evaluate(dashes)] == [True, False, False]


def test_topics_of_one_name_have_no_number_of_runs(visit, found_path):
    page = visit(found_path)
    for i in (0, 1):
        page.click(f".row >> nth={i}")
        if not page.is_visible("#name"):
            page.click("text=Name this topic")
        page.fill("#name", "both")
        page.keyboard.press("Enter")
    assert len(topics_of(page)) == 2
    assert [("found by" in head.inner_text()) for head in page.query_selector_all(".row .head")] == [False, True]


def test_a_report_without_runs_has_no_order_by_them(visit, tmp_path):
    page = visit(make_report(WORDS).save(tmp_path / "page.html"))
    assert page.query_selector('#sort option[value="found"]') is None
    assert page.query_selector(".unsure") is None
    assert "found by" not in page.inner_text("#app").lower()
