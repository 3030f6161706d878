"""The pages on summaries and on mixed tables print what they show."""

import re
from contextlib import redirect_stdout
from io import StringIO

import pytest
from example_pages import blocks

# Pages, and the first block of each that needs no table of another package.
PAGES = {"explain": 1, "mixed_tables": 0}


def contents(text):
    """Words of each line, without the numbers of clusters and in an order that does not depend on them."""
    return [sorted(re.sub(r"cluster \d", "cluster", line).split()) for line in text.strip().splitlines()]


def assert_prints(code, shown, names):
    printed = StringIO()
    with redirect_stdout(printed):
        exec(code, names)
    assert contents(printed.getvalue()) == contents(shown)


@pytest.mark.parametrize(("page", "first"), PAGES.items())
def test_the_page_prints_what_it_shows(page, first):
    pytest.importorskip("pandas")
    names = {}
    for code, shown in blocks(f"user_guide/{page}.rst")[first:]:
        assert_prints(code, shown, names)
