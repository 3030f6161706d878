"""doc/check.py finds what is wrong with a page, and nothing else."""

import subprocess
import sys
from pathlib import Path

CHECK = Path(__file__).parents[2] / "doc" / "check.py"
GOOD = '<article id="top"><p style="width: 100px">x</p><a href="#top">up</a><a href="b%20c.html#top">b</a></article>'
BAD = '<article><a href="b%20c.html#no">x</a><a href="none.html">y</a><img src="none.png"></article>'
TOO_WIDE = '<p style="width: 900px">wide</p>'
WIDE = f'<article>{TOO_WIDE}<div style="overflow-x: auto">{TOO_WIDE}</div></article>'


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
