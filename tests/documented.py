"""What a class's docstring says of its parameters and attributes."""

import inspect
import re
from pathlib import Path


def entries(cls, section):
    """Name to (type, text) of a numpydoc section and its "Other" one; names that share an entry share its text."""
    lines = inspect.getdoc(cls).splitlines()
    other = f"Other {section}"
    return of_section(lines, section) | (of_section(lines, other) if other in lines else {})


def of_section(lines, section):
    start = lines.index(section) + 2
    out, names = {}, []
    for line, below in zip(lines[start:], [*lines[start + 1 :], ""], strict=True):
        if below and set(below) == {"-"}:
            break
        if line and not line.startswith(" "):
            head, _, kind = line.partition(" :")
            names = head.split(", ")
            out |= dict.fromkeys(names, (kind.strip(), ""))
        else:
            for name in names:
                kind, text = out[name]
                # a type may continue in a second line, after a backslash
                out[name] = (kind, f"{text} {line.strip()}".strip())
    return out


def in_the_manual(page, name):
    """Whether a page of the manual names a parameter or attribute in its left columns, as code."""
    text = (Path(__file__).parents[1] / "doc" / page).read_text(encoding="utf-8")
    codes = [code for line in text.splitlines() for code in re.findall("``.+?``", line[:48])]
    return any(re.search(rf"\b{name}\b", code) for code in codes)
