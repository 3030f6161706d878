"""doc/check.py finds what is wrong with a page, and nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "doc" / "check.py"
GOOD = '<article id="top"><p style="width: 100px">x</p><a href="#top">up</a><a href="b%20c.html#top">b</a></article>'
BAD = '<article><a href="b%20c.html#no">x</a><a href="none.html">y</a><img src="none.png"></article>'
TOO_WIDE = '<p style="width: 900px">wide</p>'
WIDE = f"<article>{TOO_WIDE}</article>"
CELL = '<td style="min-width: {}px">cell</td>'
SCROLLED = '<article><div style="overflow-x: {}">{}</div></article>'


def check(folder):
    done = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_links_and_widths(tmp_path):
    for name in ("a.html", "b c.html"):
        (tmp_path / name).write_text(GOOD, encoding="utf-8")
    status, out = check(tmp_path)
    assert status == 0
    assert "2 pages, 0 faults" in out
    (tmp_path / "bad.html").write_text(BAD, encoding="utf-8")
    (tmp_path / "wide.html").write_text(WIDE, encoding="utf-8")
    status, out = check(tmp_path)
    assert status == 1
    assert "4 faults" in out or ("no Chromium" in out and "3 faults" in out)
    for link in ("b%20c.html#no", "none.html", "none.png"):
        assert f"bad.html: {link} leads nowhere" in out
    if "no Chromium" not in out:
        assert "wide.html at 390 pixels: p wide\n" in out


@pytest.mark.skipif(
    not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    reason="there is no Chromium on the path",
)
def test_what_a_container_scrolls_or_hides_is_cut(tmp_path):
    wide, narrow = (f"<table><tr>{CELL.format(width)}</tr></table>" for width in (600, 300))
    very_wide = f"<table><tr>{CELL.format(1500)}</tr></table>"
    line = '<pre style="overflow: auto">{}</pre>'
    pages = {
        "scrolled": SCROLLED.format("auto", wide), "hidden": SCROLLED.format("hidden", very_wide),
        "fits": SCROLLED.format("auto", narrow), "shown": SCROLLED.format("visible", narrow),
        "code": f"<article>{line.format('x' * 80)}</article>", "long": f"<article>{line.format('x' * 400)}</article>",
        "folded": f"<article><details>{SCROLLED.format('auto', wide)}</details></article>",
    }  # fmt: skip
    for name, body in pages.items():
        (tmp_path / f"{name}.html").write_text(f"<!doctype html><body>{body}</body>", encoding="utf-8")
    status, out = check(tmp_path)
    assert status == 1
    found = [line.partition(" pixels:")[0].replace(".html at", "") for line in out.splitlines()[:-1]]
    assert found == ["folded 390", "hidden 1280", "hidden 390", "long 1280", "scrolled 390"]
    assert "scrolled.html at 390 pixels: table div cell loses 2" in out
