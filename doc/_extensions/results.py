"""Tables and curves of committed results, made while the site is built: no number of theirs is typed.

``.. results:: NAME`` takes the columns in its body, as ``benchmarks/_tables.py`` has them, and ``:title:``. A table of
more than a dozen rows with numbers needs ``:plot: HEADING``: the page shows this column as dots and folds the table.
``.. results-curves:: NAME`` draws checkpoints against seconds: ``:score:``, ``:ylabel:``, ``:alt:``, conditions in
``:where:`` (FIELD = VALUE, several separated by ";"), a caption as body. ``:best:`` draws one line for each label: the
mean over seeds with the prior of the best end. ``:names:`` renames labels (LABEL as NAME; ...) and leaves out others.
"""

import csv
import io
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
from _tables import TUNED, as_rst, look_up, make, specify, word  # noqa: E402

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
        asked = specify(self.content)
        if (len(table.rows) > MOST_ROWS and bool(asked.numbers)) != bool(plotted):
            raise RecordError(f"{len(table.rows)} rows: :plot: is for tables of more than {MOST_ROWS}, which need it")
        if not plotted:
            return self.parsed(as_rst(table, title))
        rows = points(table, len(asked.words), plotted)
        height = 0.9 + 0.19 * len(rows) + 0.15 * len({name for row in rows.values() for name in row}) / 2
        alt = f"{title}: {plotted} of each row"
        chart = charts.svg(charts.dots(rows, plotted), (6.8, height), alt, self.identifier())
        summary = f'<details class="results"><summary>Table of {len(table.rows)} rows</summary><p>{as_csv(table)}</p>'
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
        for condition in filter(None, self.options.get("where", "").split(";")):
            field, _, value = condition.strip().partition(" = ")
            records = [record for record in records if word(record, field) == value]
        score = self.options["score"]
        lines = of_best_prior(records, score) if "best" in self.options else of_seeds(records, score)
        names = [entry.strip().partition(" as ") for entry in self.options.get("names", "").split(";") if entry.strip()]
        lines = {name or label: lines[label] for label, _, name in names} if names else lines
        if not lines:
            raise RecordError(f"no curves of {score!r}")
        draw = charts.curves(lines, self.options.get("ylabel", score))
        size = (4.6, 3.4) if "best" in self.options else (6.8, 4.4)
        chart = charts.svg(draw, size, self.options["alt"], self.identifier())
        return [charts.as_node(chart, self.parsed(list(self.content)))]


def curve_of(record, score):
    """Seconds and scores of a record's checkpoints."""
    return [(point["seconds"], look_up(point, score)) for point in record.get("curve", []) if point["seconds"]]


def of_seeds(records, score):
    """Curves by label and prior, one for each seed."""
    lines = {}
    for record in records:
        if record.get("curve"):
            name = ", ".join(filter(None, (word(record, "label"), word(record, "prior"))))
            lines.setdefault(name, []).append(curve_of(record, score))
    return lines


def of_best_prior(records, score):
    """For each label one curve: checkpoints averaged over seeds, with the prior whose ends score best."""
    groups, best = {}, {}
    for record in records:
        if record.get("curve"):
            groups.setdefault((word(record, "label"), word(record, "prior")), []).append(curve_of(record, score))
    for (label, _), several in groups.items():
        end = mean(curve[-1][1] for curve in several)
        if label not in best or end > best[label][0]:
            shared = range(min(map(len, several)))  # checkpoints that all seeds have
            best[label] = end, [[tuple(map(mean, zip(*(curve[i] for curve in several), strict=True))) for i in shared]]
    return {label: lines for label, (_, lines) in best.items()}


def points(table, words, heading):
    """Rows of a chart from the text of a table: {row: {series: (value, spread)}}.

    The last column of words names the series, the columns before it the row. Where values of a field stand side by
    side ("across"), their columns are the series. The mark of rows that chose defaults is left to the table.
    """
    across = [i for i, text in enumerate(table.header) if text.endswith(f": {heading}")]
    column = table.header.index(heading) if heading in table.header else None
    rows = {}
    for cells in table.rows:
        names = cells[:words] if across or words == 1 else cells[: words - 1]
        row = rows.setdefault(", ".join(filter(None, names)).replace(TUNED, ""), {})
        for i in across or [column]:
            series = table.header[i].removesuffix(f": {heading}") if across else cells[words - 1] if words > 1 else ""
            if match := NUMBER.match(cells[i]):
                value, spread = match.groups()
                row[series] = float(value.replace(",", "")), float((spread or "0").replace(",", ""))
    return rows


def as_csv(table):
    """A link that downloads the table."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([table.header, *table.rows])
    return f'<a download="results.csv" href="data:text/csv;charset=utf-8,{quote(out.getvalue())}">Save as CSV</a>'


def setup(app):
    """Register the directives."""
    app.add_directive("results", Results)
    app.add_directive("results-curves", Curves)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
