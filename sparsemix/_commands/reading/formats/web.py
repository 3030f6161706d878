"""Texts of HTML pages, Markdown and notebooks, without their markup."""

import json
import re
from html.parser import HTMLParser

from sparsemix._commands.reading.formats.files import read_whole

# Elements whose content is no text, and elements that help to navigate.
UNSEEN = {"script", "style", "template", "noscript", "svg", "math", "iframe", "select", "button"}
AROUND = {"nav", "header", "footer", "aside", "form"}
# Elements inside a line; all others separate words.
INLINE = {"a", "abbr", "b", "cite", "code", "em", "font", "i", "kbd", "mark", "q", "s", "small", "span", "strong",
          "sub", "sup", "tt", "u", "var", "wbr"}  # fmt: skip
CHARSET = re.compile(rb"<meta[^>]{1,200}charset=[\"']?([\w-]{2,40})", re.IGNORECASE)
FRONT_MATTER = re.compile(r"\A---\s*\n.{0,10000}?\n---\s*\n", re.DOTALL)
LINK = re.compile(r"!?\[([^\]\n]{0,1000})\]\([^)\s]{0,2000}(?:\s+\"[^\"\n]{0,1000}\")?\)")
REFERENCE = re.compile(r"^\s{0,3}\[[^\]\n]{1,200}\]:\s+\S+.*$", re.MULTILINE)


class PageText(HTMLParser):
    """Text and title of a page."""

    def __init__(self, skipped):
        super().__init__(convert_charrefs=True)
        self.skipped, self.inside, self.pieces, self.title, self.in_title = skipped, [], [], "", False

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        """Begin an element."""
        if tag in self.skipped:
            self.inside.append(tag)
        self.in_title = tag == "title" and not self.inside
        if tag not in INLINE:
            self.pieces.append("\n")

    def handle_startendtag(self, tag, attrs):  # noqa: ARG002
        """Separate words at an element without content."""
        self.pieces.append("" if tag in INLINE else "\n")

    def handle_endtag(self, tag):
        """End an element, and those inside it that are not closed."""
        if tag in self.inside:
            del self.inside[self.inside.index(tag) :]
        self.in_title = False
        if tag not in INLINE:
            self.pieces.append("\n")

    def handle_data(self, data):
        """Keep text that readers see."""
        if self.in_title:
            self.title += data
        if not self.inside:
            self.pieces.append(data)


def text_of_page(page):
    """Text and title of a page; without its navigation, unless this is all that the page has."""
    for skipped in (UNSEEN | AROUND, UNSEEN):
        parser = PageText(skipped)
        parser.feed(page)
        parser.close()
        text = re.sub(r"[ \t\r\f]+", " ", "".join(parser.pieces))
        text = re.sub(r"\s*\n\s*", "\n", text).strip()
        title = " ".join(parser.title.split())
        if text not in ("", title):
            break
    return text, title


def read_html(path, *, encoding, tally, **_):
    """The text of a page; its encoding is the one that the page declares."""
    text, title = text_of_page(read_whole(path, encoding, tally, declared=CHARSET))
    yield {"text": text, "title": title}


def read_markdown(path, *, encoding, tally, **_):
    """The text of a Markdown file without the targets of its links."""
    text = FRONT_MATTER.sub("", read_whole(path, encoding, tally))
    yield {"text": REFERENCE.sub("", LINK.sub(r"\1", text))}


def read_notebook(path, *, encoding, tally, **_):
    """The Markdown cells of a notebook, and its code; without outputs."""
    try:
        cells = json.loads(read_whole(path, encoding, tally))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] in ("markdown", "code")]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is not a Jupyter notebook of version 4 ({type(error).__name__}: {error}).") from error
    yield {"text": "\n\n".join(texts)}
