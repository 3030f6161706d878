"""Tables that a phone shows as a card for each row: each cell has the heading of its column, which site.css shows."""

from docutils import nodes
from sphinx.writers.html5 import HTML5Translator


def heading(entry, column):
    """Text of the heading above a cell; empty in a table without headings, and for headings themselves."""
    row = entry.parent
    group = row.parent.parent
    heads = [child for child in group.children if isinstance(child, nodes.thead)]
    if not heads or row.parent in heads:
        return ""
    words = []
    for above in heads[0].children:
        first = 0
        for cell in above.children:
            last = first + cell.get("morecols", 0)
            if first <= column <= last:
                words.append(" ".join(cell.astext().split()))
            first = last + 1
    return " ".join(words)


def visit(self, node):
    """The tag of a cell, with its heading."""
    label = heading(node, node.parent.column)
    HTML5Translator.visit_entry(self, node)
    if label:
        self.body[-1] = self.body[-1].replace(">", f' data-label="{self.attval(label)}">', 1)


def setup(app):
    """Replace what writes a cell."""
    app.add_node(nodes.entry, override=True, html=(visit, HTML5Translator.depart_entry))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
