"""The HTML page: styles, scripts and data in one file that loads nothing from elsewhere."""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

from sparsemix.texts._report.naming import groups_of
from sparsemix.texts._report.relevance import relevance_order

# Words and documents of a topic; words with bars.
WORDS, DOCUMENTS, BARS = 20, 3, 10
# Topics on paper: the first.
MOST_TOPICS = 300
# In order of dependence.
SCRIPTS = ("tools", "naming", "words", "plots", "views", "topic", "context", "passage", "main")
# The content security policy allows these scripts by checksum; the browser runs no script inside a word or a name.
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{style_sum}'; script-src \
'{script_sum}'; base-uri 'none'; form-action 'none'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<div id="static">{content}</div>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def html_page(data):
    """HTML page of a report, whose data must be JSON serialisable."""
    style, script = asset("report.css"), "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}\n}})();'
    return PAGE.format(
        title=escape(without_surrogates(data["title"])), style=style, script=script, data=embedded(data),
        content=without_surrogates(static_content(data)), style_sum=checksum(style), script_sum=checksum(script),
    )  # fmt: skip


def asset(name):
    """Text of a file of the package."""
    return files("sparsemix.texts._report").joinpath("assets", name).read_text(encoding="utf-8")


def embedded(data):
    """JSON inside a script element: no character can end the element or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return without_surrogates(text)


def without_surrogates(text):
    """Escape lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def checksum(text):
    """Checksum of a script or style in a content security policy."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def static_content(data):
    """The page without scripts, also for printing: topics with words, documents and shares."""
    facts = "".join(f"<li>{escape(label)}: {escape(value)}</li>" for label, value in data["facts"])
    groups = groups_of(data["topics"], data["names"])[:MOST_TOPICS]
    body = "".join(topic_section(group, data) for group in groups)
    return (
        f"<h1>{escape(data['title'])}</h1><ul class=\"plain\">{facts}</ul>{body}"
        f"<p class=\"soft\">{escape(data['made'])}</p>"
    )


def topic_section(group, data):
    """HTML of a topic, or of several topics that have one name."""
    first, weight = group[0], sum(topic["weight"] for topic in group)
    words = relevance_order(merged_words(group), data)
    name = data["names"].get(first["id"]) or ", ".join(data["words"][v] for v, _ in words[:3])
    numbers, found = ", ".join(str(topic["id"]) for topic in group), first.get("found") if len(group) == 1 else None
    stable = f"stability {first['stability']:.2f}, " if found and first.get("stability") is not None else ""
    sure = f", {stable}found by {found[0]} of {found[1]} runs with other seeds" if found else ""
    most = max((p for _, p in words[:BARS]), default=1.0) or 1.0
    bars = "".join(
        f'<tr><th scope="row">{escape(data["words"][v])}</th><td><svg viewBox="0 0 100 6" width="200" height="12">'
        f'<rect class="column" width="{100 * p / most:.1f}" height="6"/></svg></td>'
        f'<td class="number">{100 * p:.3g} %</td>'
        f'<td class="number soft">{data["counts"][v]:,.0f}</td></tr>'
        for v, p in words[:BARS]
    )
    more = " ".join(escape(data["words"][v]) for v, _ in words[BARS:WORDS])
    places = sorted(((share, place) for topic in group for place, share in topic["documents"]), reverse=True)
    documents = "".join(
        f"<li>{escape(data['documents'][place]['name'])} ({share:.0%} of the {data['unit']})</li>"
        for share, place in places[:DOCUMENTS]
    )
    return (
        f'<section class="topic"><h2>{escape(name)}</h2><p class="soft">topic {numbers}: {weight:.2%} of all tokens'
        f"{sure}</p>"
        f'<table><caption>Words: probability in the topic, tokens in all texts</caption>{bars}</table>'
        + (f"<p>{more}</p>" if more else "")
        + (f"<p class=\"soft\">Main {data['unit']}s</p><ul>{documents}</ul>" if documents else "")
        + (effects_table(first, data["effects"]) if len(group) == 1 and first.get("effects") else "")
        + "".join(stratum_shares(i, stratum, group, data) for i, stratum in enumerate(data["strata"]))
        + "</section>"
    )


def effects_table(topic, about):
    """HTML of the effects of covariates on a topic."""
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}</th><td class="number">{100 * estimate:+.1f}</td>'
        f'<td class="number soft">{100 * low:+.1f} to {100 * high:+.1f}</td></tr>'
        for label, (estimate, low, high) in zip(about["labels"], topic["effects"]["rows"], strict=True)
    )
    caption = f"Effects on the expected document share, in percentage points, with intervals of {about['level']}"
    return f"<table><caption>{caption}</caption>{rows}</table>"


def stratum_shares(i, stratum, group, data):
    """HTML of the shares of a topic by bin, each with the words that are more frequent there."""
    parts = []
    for b, label in enumerate(stratum["bins"]):
        share = sum(topic["strata"][i][b] for topic in group)
        changed = group[0]["changes"][i][b][0] if len(group) == 1 else ()
        words = ", ".join(escape(data["words"][v]) for v in changed)
        few = f" of {stratum['sizes'][b]} {stratum['unit']} only" if stratum["sizes"][b] < stratum["few"] else ""
        parts.append(f"<strong>{escape(label)}</strong> {share:.1%}{few}{f' ({words})' if words else ''}")
    caption = f"{escape(stratum['label'])} (and words that are more frequent there)"
    return f'<p><span class="soft">{caption}:</span> {", ".join(parts)}</p>'


def merged_words(group):
    """Words of topics together, and their probabilities, most probable first."""
    weight, found = sum(topic["weight"] for topic in group) or 1.0, {}
    for topic in group:
        for v, p in zip(topic["words"], topic["p"], strict=True):
            found[v] = found.get(v, 0.0) + p * (topic["weight"] / weight if len(group) > 1 else 1.0)
    return sorted(found.items(), key=lambda item: -item[1])
