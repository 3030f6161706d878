"""The page on summaries prints what it shows."""

import importlib.util
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

DOC = Path(__file__).parents[2] / "doc"
PAGE = DOC / "user_guide" / "explain.rst"


def blocks():
    """Pairs of code and output of the page, in their order."""
    spec = importlib.util.spec_from_file_location("blocks_of_pages", DOC / "blocks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.blocks(PAGE)


def contents(text):
    """Words of each line, without the numbers of clusters and in an order that does not depend on them."""
    return [sorted(re.sub(r"cluster \d", "cluster", line).split()) for line in text.strip().splitlines()]


def test_the_page_prints_what_it_shows():
    pytest.importorskip("pandas")
    names = {}
    for code, shown in blocks():
        printed = StringIO()
        with redirect_stdout(printed):
            exec(code, names)
        assert contents(printed.getvalue()) == contents(shown)
