"""The Python of a page of the documentation, which ``doc/blocks.py`` finds."""

import importlib.util
from pathlib import Path

DOC = Path(__file__).parents[1] / "doc"


def blocks(page):
    """Pairs of code and output of a page, such as "user_guide/loading.rst", in their order."""
    spec = importlib.util.spec_from_file_location("blocks_of_pages", DOC / "blocks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.blocks(DOC / page)


def examples(page):
    """The code of its blocks."""
    return [code for code, _ in blocks(page)]


def run_page(page, names):
    """Run its blocks in their order; each sees ``names`` and what those before it left there."""
    for number, code in enumerate(examples(page), 1):
        exec(compile(code, f"{page}, block {number}", "exec"), names)
    return names
