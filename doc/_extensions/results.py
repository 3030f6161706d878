"""Tables and curves of committed results, made while the site is built: no number of theirs is typed.

``.. results:: NAME`` takes the columns in its body, as ``benchmarks/_tables.py`` has them, and ``:title:``.
``.. results-curves:: NAME`` draws checkpoints against seconds: ``:score:``, ``:where:``, ``:alt:``, a caption as body.
"""

import sys
from pathlib import Path

from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.errors import SphinxError
from sphinx.util.docutils import SphinxDirective

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

from _results import FOLDER, RecordError, read  # noqa: E402
from _tables import as_rst, look_up, make, word  # noqa: E402


class OfResults(SphinxDirective):
    """Base of directives that show a file of results. Sphinx builds the page again when the file changes."""

    required_arguments = 1
    has_content = True

    def run(self):
        """Lines of reStructuredText, in the place of the directive."""
        self.env.note_dependency(str(FOLDER / f"{self.arguments[0]}.jsonl"))
        try:
            lines = self.lines(read(self.arguments[0]))
        except RecordError as error:
            raise SphinxError(f"{':'.join(map(str, self.get_source_info()))}: {error}") from None
        return self.parse_text_to_nodes(StringList(lines, source=self.arguments[0]))


class Results(OfResults):
    """A table."""

    option_spec = {"title": directives.unchanged}  # noqa: RUF012

    def lines(self, records):
        """A list-table."""
        return as_rst(make(records, self.content), self.options.get("title", ""))


class Curves(OfResults):
    """Scores against seconds of training, a line for each measurement."""

    option_spec = {  # noqa: RUF012
        "score": directives.unchanged_required, "where": directives.unchanged, "alt": directives.unchanged_required,
    }  # fmt: skip

    def lines(self, records):
        """A figure."""
        name = f"{self.arguments[0]}-{self.env.new_serialno('results')}.svg"
        folder = Path(self.env.srcdir) / "generated" / "results"
        folder.mkdir(parents=True, exist_ok=True)
        field, _, value = self.options.get("where", "").partition(" = ")
        draw([r for r in records if not value or word(r, field) == value], self.options["score"], folder / name)
        return [f".. figure:: /generated/results/{name}", f"   :alt: {self.options['alt']}", "",
                *(f"   {line}" for line in self.content), ""]  # fmt: skip


def draw(records, score, path):
    """One picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    curves = [(word(r, "label"), word(r, "prior"), r["curve"]) for r in records if r.get("curve")]
    if not curves:
        raise RecordError(f"no curves of {score!r}")
    figure, panel = plt.subplots(figsize=(7, 4.5), layout="constrained")
    colours = {}
    for label, prior, curve in curves:
        name = f"{label}, {prior}" if prior else label
        points = [(point["seconds"], look_up(point, score)) for point in curve if point["seconds"]]
        [line] = panel.plot(*zip(*points, strict=True), marker="o", markersize=3, color=colours.get(name),
                            label=None if name in colours else name)  # fmt: skip
        colours[name] = line.get_color()
    panel.set(xlabel="seconds of training", ylabel=score, xscale="log")
    panel.legend(fontsize=8)
    figure.savefig(path)
    plt.close(figure)


def setup(app):
    """Register the directives."""
    app.add_directive("results", Results)
    app.add_directive("results-curves", Curves)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
