"""Columns of bins in order, in a browser."""

import numpy as np
import pytest
from test_report_browser import browser, make_report, pytestmark, visit

__all__ = ["browser", "pytestmark", "visit"]
WORDS = [f"word{i}" for i in range(12)]
BOOK = ["book"] * 60
CHAPTERS = np.repeat([f"CHAPTER {n}. A title that is rather long" for n in ("II", "I", "IX", "V")], 15)


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
