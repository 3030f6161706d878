"""The pages on summaries and on mixed tables print what they show."""

import importlib.util
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

DOC = Path(__file__).parents[2] / "doc"
PAGES = "explain", "mixed_tables"


def blocks(page):
    """Pairs of code and output of a page, in their order."""
    spec = importlib.util.spec_from_file_location("blocks_of_pages", DOC / "blocks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.blocks(DOC / "user_guide" / f"{page}.rst")


def contents(text):
    """Words of each line, without the numbers of clusters and in an order that does not depend on them."""
    return [sorted(re.sub(r"cluster \d", "cluster", line).split()) for line in text.strip().splitlines()]


@pytest.mark.parametrize("page", PAGES)
def test_the_page_prints_what_it_shows(page):
    pytest.importorskip("pandas")
    names = {}
    for code, shown in blocks(page):
        printed = StringIO()
        with redirect_stdout(printed):
            exec(code, names)
        assert contents(printed.getvalue()) == contents(shown)
