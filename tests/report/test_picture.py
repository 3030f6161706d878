"""doc/picture.py makes the pictures of the README and of the documentation from the README's code."""

import importlib.util
import struct
import sys
from pathlib import Path

import pytest
from test_report_browser import WORDS, browser, make_report, pytestmark

__all__ = ["browser", "pytestmark"]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def picture():
    spec = importlib.util.spec_from_file_location("picture", ROOT / "doc" / "picture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def size_of(path):
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG")
    return struct.unpack(">II", content[16:24])


def test_pictures_are_small_and_have_the_sizes_of_the_kept_ones(picture, browser, tmp_path):
    page = make_report(WORDS).save(tmp_path / "report.html")
    made = list(picture.take(browser, page, tmp_path))
    assert [path.name for path in made] == ["report.png", "report_phone.png"]
    for path in made:
        kept = picture.STATIC / path.name
        assert size_of(path) == size_of(kept)
        assert kept.stat().st_size < 200_000
    picture.MOST_BYTES = 1000
    with pytest.raises(SystemExit, match=r"report.png has .* bytes, more than 1,000; make its window smaller"):
        list(picture.take(browser, page, tmp_path))


def test_the_code_is_that_of_the_readme(picture):
    code = picture.code_of((ROOT / "README.md").read_text(encoding="utf-8"))
    compile(code, "README.md", "exec")
    assert 'save("report.html")' in code
    for text in ("## Topics\n\nnone", "## Topics\n\n```python\nprint()\n```\n"):
        with pytest.raises(SystemExit, match=r"README\.md has no block of Python"):
            picture.code_of(text)
    for page in ("README.md", "doc/index.rst"):
        assert "_static/report.png" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("missing", ["playwright", "Chromium"])
def test_what_is_missing_is_named_with_its_remedy(picture, monkeypatch, missing):
    if missing == "playwright":
        monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    else:
        monkeypatch.setattr(picture.shutil, "which", lambda name: None)  # noqa: ARG005
    monkeypatch.setattr(sys, "argv", ["picture.py"])
    with pytest.raises(SystemExit, match=rf"{missing}.*install") as refused:
        picture.main()
    assert "\n" not in refused.value.code
