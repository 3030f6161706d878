"""Link previews, the page for unknown addresses and the headings of cards, as a small site has them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("furo", reason="the documentation's packages are not installed")
DOC = Path(__file__).parents[2] / "doc"
TABLE = """
===== ===== =====
one   two and both
----- -----------
row   le<t  right
===== ===== =====
a     b <c  d
===== ===== =====
"""
CONF = """
import sys
sys.path.insert(0, {extensions!r})
extensions = ["cards", "mathml", "not_found", "previews"]
html_theme, project, html_baseurl, html_static_path = "furo", "site", {base!r}, [{static!r}]
"""


def build(folder, base):
    (folder / "deep").mkdir()
    extensions, static = str(DOC / "_extensions"), str(DOC / "_static")
    (folder / "conf.py").write_text(CONF.format(extensions=extensions, static=static, base=base), encoding="utf-8")
    (folder / "404.rst").write_text((DOC / "404.rst").read_text(encoding="utf-8"), encoding="utf-8")
    toctree = "\n.. toctree::\n\n   api\n   deep/page\n"
    sentence = "A sentence in which a < b and that is long enough for a description.\n"
    for name, text in {"index": toctree, "api": "\n", "deep/page": f"\n{sentence}{TABLE}"}.items():
        (folder / f"{name}.rst").write_text(f"Title\n=====\n{text}", encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", folder, folder / "out"]
    subprocess.run(command, check=True)
    return {name: (folder / "out" / f"{name}.html").read_text(encoding="utf-8") for name in ("404", "deep/page")}


def links(page):
    return re.findall(r'(?:href|src|action|data-content_root)="([^"]*)"', page)


def test_addresses_are_absolute_below_that_of_the_site(tmp_path):
    pages = build(tmp_path, "https://example.org/sparsemix/")
    assert '<meta property="og:url" content="https://example.org/sparsemix/deep/page.html"/>' in pages["deep/page"]
    (image,) = re.findall(r'og:image" content="https://example\.org/sparsemix/([^"]*)"', pages["deep/page"])
    assert (tmp_path / "out" / image).stat().st_size > 1000
    assert '<meta name="description" content="A sentence in which a &lt; b' in pages["deep/page"]
    found = [link for link in links(pages["404"]) if not link.startswith(("#", "https://example.org/sparsemix/"))]
    assert all(re.match(r"https?://(?!example)", link) for link in found), found
    below = {link.removeprefix("https://example.org/sparsemix/") for link in links(pages["404"])}
    assert {"", "index.html", "api.html", "search.html"} <= below
    assert any(link.startswith("_static/styles/furo.css") for link in below)
    assert "og:url" not in pages["404"]


def test_without_an_address_there_is_no_absolute_link(tmp_path):
    pages = build(tmp_path, "")
    assert not re.findall("og:url|og:image|twitter:image", pages["deep/page"])
    assert "og:title" in pages["deep/page"]
    assert {"index.html", "api.html", "search.html"} <= set(links(pages["404"]))
    cells = re.findall(r'<td data-label="([^"]*)"><p>(.*?)</p>', pages["deep/page"])
    assert cells == [("one row", "a"), ("two and both le&lt;t", "b &lt;c"), ("two and both right", "d")]
