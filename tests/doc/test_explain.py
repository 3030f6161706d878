"""The pages on summaries and on mixed tables print what they show."""

import re
from contextlib import redirect_stdout
from io import StringIO

import pytest
from example_pages import blocks

PAGES = "explain", "mixed_tables"


def contents(text):
    """Words of each line, without the numbers of clusters and in an order that does not depend on them."""
    return [sorted(re.sub(r"cluster \d", "cluster", line).split()) for line in text.strip().splitlines()]


@pytest.mark.parametrize("page", PAGES)
def test_the_page_prints_what_it_shows(page):
    pytest.importorskip("pandas")
    names = {}
    for code, shown in blocks(f"user_guide/{page}.rst"):
        printed = StringIO()
        with redirect_stdout(printed):
            exec(code, names)
        assert contents(printed.getvalue()) == contents(shown)
