"""Tables and curves of committed results, made while the site is built: no number of theirs is typed.

``.. results:: NAME`` takes the columns in its body, as ``benchmarks/_tables.py`` has them, and ``:title:``. A table of
more than a dozen rows with numbers needs ``:plot: HEADING``: the page shows this column as dots and folds the table.
``.. results-curves:: NAME`` draws checkpoints against seconds: ``:score:``, ``:ylabel:``, ``:alt:``, conditions in
``:where:`` (FIELD = VALUE, several separated by ";"), a caption as body. ``:best:`` draws one line for each label: the
mean over seeds with the prior of the best end. ``:names:`` renames labels (LABEL as NAME; ...) and leaves out others.
"""

import re
import sys
from pathlib import Path
from statistics import mean
from urllib.parse import quote

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.errors import SphinxError
from sphinx.util.docutils import SphinxDirective

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import charts  # noqa: E402
from _results import FOLDER, RecordError, read  # noqa: E402
from _tables import TUNED, as_rst, choose, frame, make  # noqa: E402

MOST_ROWS = 12
NUMBER = re.compile(r"([-+]?[\d,]*\.?\d+)%?(?:\s*±\s*([\d,.]+))?")


class OfResults(SphinxDirective):
    """Base of directives that show a file of results. Sphinx builds the page again when the file changes."""

    required_arguments = 1
    has_content = True

    def run(self):
        """Nodes in the place of the directive."""
        self.env.note_dependency(str(FOLDER / f"{self.arguments[0]}.jsonl"))
        try:
            return self.shown(read(self.arguments[0]))
        except RecordError as error:
            raise SphinxError(f"{':'.join(map(str, self.get_source_info()))}: {error}") from None

    def parsed(self, lines):
        """Nodes of reStructuredText."""
        return self.parse_text_to_nodes(StringList(lines, source=self.arguments[0]))

    def identifier(self):
        """An identifier of this page's next chart."""
        return f"chart-{self.arguments[0]}-{self.env.new_serialno('results')}"


class Results(OfResults):
    """A table, or a chart with the table folded below."""

    option_spec = {"title": directives.unchanged, "plot": directives.unchanged_required}  # noqa: RUF012

    def shown(self, records):
        """A list-table; with ``:plot:`` a chart first."""
        table, title = make(records, self.content), self.options.get("title", "")
        plotted = self.options.get("plot")
        n_rows, n_columns = table.cells.shape
        if (n_rows > MOST_ROWS and n_columns > table.n_words) != bool(plotted):
            raise RecordError(f"{n_rows} rows: :plot: is for tables of more than {MOST_ROWS}, which need it")
        if not plotted:
            return self.parsed(as_rst(table, title))
        rows = points(table, plotted)
        height = 0.9 + 0.15 * len({name for row in rows.values() for name in row}) / 2
        sizes = (6.8, height + 0.19 * len(rows)), (3.7, height + 0.34 * len(rows))
        alt = f"{title}: {plotted} of each row"
        chart = charts.pair(charts.dots(rows, plotted), *sizes, alt, self.identifier())
        summary = f'<details class="results"><summary>Table of {n_rows} rows</summary><p>{as_csv(table)}</p>'
        return [
            charts.as_node(chart, [nodes.paragraph("", title)] if title else ()),
            nodes.raw("", summary, format="html"),
            *self.parsed(as_rst(table)),
            nodes.raw("", "</details>", format="html"),
        ]


class Curves(OfResults):
    """Scores against seconds of training, a line for each measurement."""

    option_spec = {  # noqa: RUF012
        "score": directives.unchanged_required, "where": directives.unchanged, "alt": directives.unchanged_required,
        "ylabel": directives.unchanged, "best": directives.flag, "names": directives.unchanged,
    }  # fmt: skip

    def shown(self, records):
        """A figure."""
        where = [f"where {one.strip()}" for one in self.options.get("where", "").split(";") if one.strip()]
        data, _ = choose(frame(records), where)
        lines = curves(data, self.options["score"], "best" in self.options)
        names = [entry.strip().partition(" as ") for entry in self.options.get("names", "").split(";") if entry.strip()]
        lines = {name or label: lines[label] for label, _, name in names} if names else lines
        if not lines:
            raise RecordError(f"no curves of {self.options['score']!r}")
        draw = charts.curves(lines, self.options.get("ylabel", self.options["score"]))
        drawn = self.options["alt"], self.identifier()
        if "best" in self.options:
            chart = charts.svg(draw, (4.6, 3.4), *drawn)
        else:
            chart = charts.pair(draw, (6.8, 4.4), (3.7, 3 + 0.17 * len(lines)), *drawn)
        return [charts.as_node(chart, self.parsed(list(self.content)))]


def curves(data, score, best):
    """Lists of curves by label: of each prior and seed; or one, the mean over seeds with the prior of the best end."""
    lines, ends = {}, {}
    data = data[data["curve"].notna()]
    for (label, prior), group in data.groupby(["label", "prior"], sort=False, dropna=False):
        several = [[(point["seconds"], point.get(score)) for point in curve if point["seconds"]]
                   for curve in group["curve"]]  # fmt: skip
        if not best:
            lines[", ".join([label, prior] if isinstance(prior, str) else [label])] = several
        elif label not in ends or mean(curve[-1][1] for curve in several) > ends[label]:
            ends[label] = mean(curve[-1][1] for curve in several)
            shared = zip(*several, strict=False)  # checkpoints that all seeds have
            lines[label] = [[tuple(map(mean, zip(*points, strict=True))) for points in shared]]
    return lines


def points(table, heading):
    """Rows of a chart from the text of a table: {row: {series: (value, spread)}}.

    The last column of words names the series, the columns before it the row; after "across" the groups of columns are
    the series. The mark of rows that chose defaults is left to the table.
    """
    cells, n_words = table.cells, table.n_words
    across = [name for name in cells if name.endswith(f": {heading}")]
    n_names = n_words if across or n_words == 1 else n_words - 1
    rows = {}
    for _, values in cells.iterrows():
        row = rows.setdefault(", ".join(filter(None, values.iloc[:n_names])).replace(TUNED, ""), {})
        for name in across or [heading]:
            if match := NUMBER.match(values[name]):
                series = name.removesuffix(f": {heading}") if across else "".join(values.iloc[n_names:n_words])
                row[series] = tuple(float((number or "0").replace(",", "")) for number in match.groups())
    return rows


def as_csv(table):
    """A link that downloads the table."""
    text = quote(table.cells.to_csv(index=False))
    return f'<a download="results.csv" href="data:text/csv;charset=utf-8,{text}">Save as CSV</a>'


def setup(app):
    """Register the directives."""
    app.add_directive("results", Results)
    app.add_directive("results-curves", Curves)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
