"""A report on topics as one HTML file that needs nothing else: no scripts, no fonts, no pictures from elsewhere."""

from html import escape

# System colours follow the reader's light or dark theme.
STYLE = """
:root { color-scheme: light dark; --accent: #2a7ab8; }
@media (prefers-color-scheme: dark) { :root { --accent: #6cb6f0; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem;
  background: Canvas; color: CanvasText; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .8rem; }
dt { font-size: .8rem; opacity: .75; } dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; }
tbody tr { border-top: 1px solid color-mix(in srgb, CanvasText 20%, transparent); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.weight { min-width: 8rem; }
.bar { display: block; height: .35rem; background: var(--accent); border-radius: 2px; }
.word { font-size: calc(.8em + .4em * var(--p)); font-weight: calc(400 + 300 * var(--p)); }
ul { margin: 0; padding-left: 1rem; font-size: .85rem; overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; } svg text { font-size: 11px; fill: CanvasText; }
.axis { stroke: CanvasText; stroke-opacity: .4; fill: none; }
.curve { stroke: var(--accent); stroke-width: 2; fill: none; } .point { fill: var(--accent); }
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<dl>{facts}</dl>
{curve}
<h2>Topics, largest first</h2>
<table>
<thead><tr><th class="number">topic</th><th>weight</th><th class="number">coherence</th>
<th>most probable words</th><th>documents with the largest share</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
<p>Weight is the share of all tokens that a topic explains. Coherence is the mean normalised pointwise mutual
information of pairs of its most probable words over the documents: 1 when they always occur together, 0 when they are
independent. A word is the larger the more probable it is, and says its probability when pointed at.</p>
</body>
</html>
"""


def html_report(title, facts, topics, curve=(), curve_label=""):
    """The report as a string; whatever comes from data is escaped.

    Parameters
    ----------
    title : str
        Heading.
    facts : list of (str, str)
        Numbers to begin with: label and value.
    topics : list of Topic
        In the order to show.
    curve : sequence of (float, float), default=()
        Seconds and score; with fewer than two points there is no curve.
    curve_label : str, default=""
        What the score is.

    Returns
    -------
    html : str
    """
    largest = max((topic.weight for topic in topics), default=1.0) or 1.0
    return PAGE.format(
        title=escape(title),
        style=STYLE,
        facts="".join(f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>" for label, value in facts),
        curve=f"<h2>{escape(curve_label)} against seconds</h2>\n{svg_curve(curve)}" if len(curve) > 1 else "",
        rows="\n".join(row(topic, largest) for topic in topics),
    )


def row(topic, largest_weight):
    """A topic as a row of the table."""
    documents = "".join(f"<li>{escape(name)} ({share:.0%})</li>" for name, share in topic.documents)
    return (
        f'<tr><td class="number">{topic.index}</td>'
        f'<td class="weight">{topic.weight:.2%}'
        f'<span class="bar" style="width:{100 * topic.weight / largest_weight:.1f}%"></span></td>'
        f'<td class="number">{topic.coherence:.3f}</td>'
        f"<td>{words(topic)}</td><td><ul>{documents}</ul></td></tr>"
    )


def words(topic):
    """The words of a topic, sized by their probabilities relative to the first."""
    top = max(topic.probabilities)
    return " ".join(
        f'<span class="word" style="--p:{p / top:.2f}" title="{p:.4f}">{escape(word)}</span>'
        for word, p in zip(topic.words, topic.probabilities, strict=True)
    )


def svg_curve(points, width=640, height=220):
    """A curve through points with the extreme values at the axes."""
    left, right, top, bottom = 70, 15, 12, 28
    (x0, x1), (y0, y1) = ((min(values), max(values)) for values in zip(*points, strict=True))
    scale_x = (width - left - right) / ((x1 - x0) or 1.0)
    scale_y = (height - top - bottom) / ((y1 - y0) or 1.0)
    at = [(left + (x - x0) * scale_x, height - bottom - (y - y0) * scale_y) for x, y in points]
    base = height - bottom
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        f'<path class="axis" d="M{left} {top}V{base}H{width - right}"/>'
        f'<text x="{left - 6}" y="{base}" text-anchor="end">{y0:.4g}</text>'
        f'<text x="{left - 6}" y="{top + 8}" text-anchor="end">{y1:.4g}</text>'
        f'<text x="{left}" y="{height - 10}">{x0:.3g} s</text>'
        f'<text x="{width - right}" y="{height - 10}" text-anchor="end">{x1:.3g} s</text>'
        f'<polyline class="curve" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in at)}"/>'
        + "".join(f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in at)
        + "</svg>"
    )
