"""Formulas as MathML, which browsers draw themselves: pages need no script, and read the same without a network."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

# What the converter of docutils does not know, and what it knows in its place.
OTHER = {
    r"\\dots\b": r"\\ldots",
    r"\\[bB]ig(?![a-z])|\\textstyle\b": "",
    r"\\(hat|tilde|bar) ?(\\[a-z]+|[A-Za-z])": r"{\\\1{\2}{}}",  # or an index stands below its letter
}


def mathml(formula, block):
    """A formula as MathML."""
    for theirs, ours in OTHER.items():
        formula = re.sub(theirs, ours, formula)
    if block and ("&" in formula or r"\\" in formula):
        formula = rf"\begin{{aligned}}{formula}\end{{aligned}}"
    return tex2mathml(formula.strip(), as_block=block)


def visit_inline(self, node):
    """A formula in a line."""
    self.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def visit_block(self, node):
    """Formulas of their own, parted by empty lines."""
    for part in re.split(r"\n\s*\n", node.astext().strip()):
        self.body.append(f'<div class="math">{mathml(part, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
