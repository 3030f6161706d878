"""The page 404.html, which a server shows at any address: its links are absolute, as relative ones lead elsewhere."""

import re
from pathlib import Path

PAGE = "404.html"
RELATIVE = re.compile(r'((?:href|src|action|data-content_root)=")(?!#|/|[a-z][a-z0-9+.-]*:)(?:\./)?([^"]*)"')


def absolute(text, base):
    """The page with addresses below ``base``; those of parts of the page remain."""
    return RELATIVE.sub(rf'\g<1>{base.rstrip("/")}/\g<2>"', text)


def rewrite(app, exception):
    """Rewrite the page at the end of a build. Without ``html_baseurl`` it serves addresses at the top alone."""
    page = Path(app.outdir, PAGE)
    if exception is None and app.config.html_baseurl and page.exists():
        page.write_text(absolute(page.read_text(encoding="utf-8"), app.config.html_baseurl), encoding="utf-8")


def setup(app):
    """Register the event."""
    app.connect("build-finished", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
