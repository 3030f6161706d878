"""The HTML page: styles, scripts and data in one file that loads nothing from elsewhere."""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

from sparsemix._report.printed import static_content

# In order of dependence.
SCRIPTS = ("tools", "naming", "words", "plots", "views", "topic", "passage", "main")
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
    """HTML page of a report.

    Parameters
    ----------
    data : dict
        Data for the scripts; must be JSON serialisable.

    Returns
    -------
    html : str
    """
    style, script = asset("report.css"), "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}\n}})();'
    return PAGE.format(
        title=escape(without_surrogates(data["title"])), style=style, script=script, data=embedded(data),
        content=without_surrogates(static_content(data)), style_sum=checksum(style), script_sum=checksum(script),
    )  # fmt: skip


def asset(name):
    """Text of a file of the package."""
    return files("sparsemix._report").joinpath("assets", name).read_text(encoding="utf-8")


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
