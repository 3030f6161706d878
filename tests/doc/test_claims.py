"""Pages about other libraries: what they say of speed and quality has a table, a chart or a command that makes it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPARISONS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "doc/comparisons").glob("*.rst"))
PAGES = ["README.md", "doc/index.rst", "doc/getting_started.rst", *COMPARISONS]
CLAIM = re.compile(
    r"\b(?:faster|fastest|slower|better|best|times as (?:fast|long|many)|more accurate|more coherent"
    r"|(?:more|less|half|third|tenth) (?:of the )?time|higher (?:held-out )?scores?|scores? higher)\b",
    re.IGNORECASE,
)  # fmt: skip
# Words that say how to read a figure, and the headings of all pages of comparisons, are no claims.
READING = re.compile(
    r"(?:higher|lower)(?: scores)? (?:is|are) better|^\*\*What .* better\*\*$"
    r"|what it does better, what sparsemix does better", re.IGNORECASE | re.MULTILINE,
)  # fmt: skip
MADE = re.compile(r"^ *\.\. results(?:-curves)?::|<!-- results -->|python benchmarks/\w+\.py", re.MULTILINE)
LINK = re.compile(r":doc:`(?:[^`<]*<)?([\w./]+)>?`|\]\((doc/[\w./]+\.rst)\)")


def sections(page):
    """Text below each heading; a page of a comparison is one section, whose tables are below its claims."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page in COMPARISONS:
        return [text]
    heading = r"^## .*\n" if page.endswith(".md") else r"^.+\n(?:=+|-+|~+)$"
    return re.split(heading, text, flags=re.MULTILINE)


def claims(text):
    """Sentences and items that compare; code, directives and tables are left out."""
    text = re.sub(r"^```.*?^```|<!-- results -->.*<!-- end of results -->", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line for line in text.splitlines() if not re.match(r"\s*\.\. |\s+:\w+:|\||!\[", line)]
    joined = READING.sub("", "\n".join(lines))
    parts = [" ".join(part.split()).removeprefix("- ") for part in re.split(r"\n\s*\n|\n\s*- |(?<=[.:])\s", joined)]
    return [part for part in parts if CLAIM.search(part)]


def made(page, text):
    """Whether a section has a table, a chart or a command, or links to a page that has."""
    if MADE.search(text):
        return True
    for found in LINK.finditer(text):
        name = found[2] or found[1]
        folder = ROOT if found[2] else ROOT / "doc" if name.startswith("/") else (ROOT / page).parent
        path = folder / name.lstrip("/")
        path = path if path.suffix else path.with_name(path.name + ".rst")
        if path.exists() and MADE.search(path.read_text(encoding="utf-8")):
            return True
    return False


@pytest.mark.parametrize("page", PAGES)
def test_a_claim_has_a_row_that_a_command_makes(page):
    missing = [claim for text in sections(page) if not made(page, text) for claim in claims(text)]
    assert not missing, "name the table, chart or command in the section, or delete"


def test_claims_are_found_and_words_of_reading_are_not():
    text = (
        "**What it does better**\n\n- It is faster. Lines follow.\n- Few\n\nHigher is better.\n\nIt takes less\ntime."
    )
    assert claims(text) == ["It is faster.", "It takes less time."]
    assert not made("README.md", text)
    assert made("README.md", "`python benchmarks/readme.py`")
    assert made("doc/index.rst", ":doc:`comparisons/scikit_learn`")
