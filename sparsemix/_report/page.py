"""The page: style, scripts and data in one file that asks nobody for anything."""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

# In the order in which they are needed.
SCRIPTS = ("tools", "words", "plots", "views", "topic", "passage", "main")
# The browser runs these scripts, by their checksums, and nothing else that a word or a name may hold.
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
<noscript><h1>{title}</h1><p>Without JavaScript there are the topics alone, the largest first.</p>
<ol>{topics}</ol></noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def html_page(data):
    """The page of a report.

    Parameters
    ----------
    data : dict
        What the scripts read; anything that JSON can hold.

    Returns
    -------
    html : str
    """
    style, script = asset("report.css"), "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}\n}})();'
    topics = "".join(
        f"<li>{topic['weight']:.2%} {escape(' '.join(data['words'][v] for v in topic['words'][:10]))}</li>"
        for topic in data["topics"]
    )
    return PAGE.format(
        title=escape(without_surrogates(data["title"])), style=style, script=script, data=embedded(data),
        topics=without_surrogates(topics), style_sum=checksum(style), script_sum=checksum(script),
    )  # fmt: skip


def asset(name):
    """A file that comes with the package."""
    return files("sparsemix._report").joinpath("assets", name).read_text(encoding="utf-8")


def embedded(data):
    """JSON that can stand in a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return without_surrogates(text)


def without_surrogates(text):
    """Halves of characters as escapes: they are no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def checksum(text):
    """What a policy calls a script or a style by."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()
