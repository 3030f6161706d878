"""Link previews: title, description and picture of a page, for messengers and search engines (Open Graph)."""

from html import escape

from docutils import nodes

IMAGE = "_static/report.png"
MOST = 200


def description(doctree):
    """The first sentence or so of a page; empty for a page without paragraphs."""
    if doctree is None:
        return ""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > 30:
            return text if len(text) <= MOST else text[:MOST].rpartition(" ")[0] + " …"
    return ""


def add(app, pagename, templatename, context, doctree):  # noqa: ARG001 - the signature is Sphinx's
    """Add the tags. Addresses are absolute, so they need ``html_baseurl``."""
    tags = {
        "og:type": "website", "og:site_name": app.config.project, "og:title": context.get("title", app.config.project),
        "og:description": description(doctree),
    }  # fmt: skip
    if base := app.config.html_baseurl.rstrip("/"):
        tags["og:image"] = f"{base}/{IMAGE}"
        if pagename != "404":  # it is shown at any address
            tags["og:url"] = f"{base}/{pagename}.html"
    lines = [f'<meta property="{name}" content="{escape(str(text))}"/>' for name, text in tags.items() if text]
    if tags["og:description"]:
        lines.append(f'<meta name="description" content="{escape(tags["og:description"])}"/>')
    card = "summary_large_image" if "og:image" in tags else "summary"
    lines.append(f'<meta name="twitter:card" content="{card}"/>')
    context["metatags"] = context.get("metatags", "") + "\n".join(lines)


def setup(app):
    """Register the event."""
    app.connect("html-page-context", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
