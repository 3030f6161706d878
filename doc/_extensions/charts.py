"""Charts as SVG inside the page: text and axes take the colour of the page's text, in light and dark mode.

A chart that would have tiny text on a phone has a second, narrow drawing; site.css shows one of the two.
"""

import re
from io import StringIO

import matplotlib as mpl
from docutils import nodes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

# A colour that no chart uses otherwise; the page replaces it.
TEXT = "#010203"
SERIES = ["#d9572b", "#3b82c4", "#3f9a55", "#9a63c4", "#b8860b", "#2a9d9d", "#c2508a", "#7f7f7f"]
MARKERS = "osD^vPX*"
SETTINGS = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9, "text.color": TEXT, "axes.edgecolor": TEXT,
    "axes.labelcolor": TEXT, "xtick.color": TEXT, "ytick.color": TEXT, "axes.spines.top": False,
    "axes.spines.right": False, "legend.frameon": False, "legend.fontsize": 8, "axes.grid": True, "grid.color": TEXT,
    "grid.alpha": 0.12,
}  # fmt: skip


def pair(draw, size, narrow, alt, name):
    """The SVG for wide windows and the one for phones. ``draw`` takes a panel and whether it is narrow."""
    wide = svg(draw, size, alt, name, "chart wide")
    return wide + svg(lambda panel: draw(panel, narrow=True), narrow, alt, f"{name}-narrow", "chart narrow")


def svg(draw, size, alt, name, kind="chart"):
    """The SVG of what ``draw`` adds to a panel."""
    with mpl.rc_context({**SETTINGS, "svg.hashsalt": name}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        out = StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg") :].replace(TEXT, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # Identifiers are unique in a page, whatever the number of charts.
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    label = alt.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg", f'<svg class="{kind}" role="img" aria-label="{label}"', 1)


def as_node(text, caption=()):
    """A figure for the page; ``caption`` are parsed nodes."""
    figure = nodes.figure("", nodes.raw("", text, format="html"), align="default")
    if caption:
        figure += nodes.caption("", "", *caption[0].children)
        if caption[1:]:
            figure += nodes.legend("", *caption[1:])
    return figure


def curves(lines, ylabel):
    """Drawing of lines against seconds: ``lines`` maps a name to lists of (seconds, score)."""

    def draw(panel, narrow=False):
        for (name, several), colour, marker in zip(lines.items(), SERIES, MARKERS, strict=False):
            for i, points in enumerate(several):
                panel.plot(*zip(*points, strict=True), marker=marker, markersize=3, linewidth=1.2, color=colour,
                           label=name if i == 0 else None)  # fmt: skip
        panel.set(xlabel="seconds of training", ylabel=ylabel, xscale="log")
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.xaxis.set_minor_formatter("")
        panel.figure.legend(loc="outside upper left", ncols=1 if narrow else 2)

    return draw


def dots(rows, xlabel):
    """Drawing of a line of dots for each row: ``rows`` maps a name to {series: (value, spread)}.

    In a narrow panel the name of a row is above its dots.
    """
    series = list(dict.fromkeys(name for found in rows.values() for name in found))

    def draw(panel, narrow=False):
        for i, name in enumerate(series):
            found = [(y, *row[name]) for y, row in enumerate(rows.values()) if name in row]
            y, x, spread = zip(*found, strict=True)
            panel.errorbar(x, y, xerr=spread, fmt=MARKERS[i % 8], markersize=4, elinewidth=0.8, linestyle="none",
                           color=SERIES[i % 8], alpha=0.85, label=name)  # fmt: skip
        panel.set(xlabel=xlabel, yticks=range(len(rows)), yticklabels=list(rows), ylim=(len(rows) - 0.5, -0.5))
        if narrow:
            panel.set(yticklabels=[""] * len(rows), ylim=(len(rows) - 0.6, -0.8))
            for y, name in enumerate(rows):
                panel.text(0.01, y - 0.25, name, transform=panel.get_yaxis_transform(), fontsize=8)
        if len(series) > 1:
            panel.figure.legend(loc="outside upper center", ncols=min(len(series), 2 if narrow else 3))

    return draw
