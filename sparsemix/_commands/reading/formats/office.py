"""Texts of PDF files and of documents that are ZIP archives of XML: Word, OpenDocument, PowerPoint, EPUB."""

import io
import logging
import lzma
import re
import tarfile
import zipfile
import zlib
from xml.etree import ElementTree

from sparsemix._commands.reading.formats.files import LARGEST_FILE
from sparsemix._commands.reading.formats.web import text_of_page
from sparsemix.datasets._files import open_packed

# By file ending: the names of the members with text, and the tags of paragraphs.
PARTS = {
    ".docx": (r"word/(?:document|footnotes|endnotes)\.xml", ("p",)),
    ".odt": (r"content\.xml", ("p", "h")),
    ".odp": (r"content\.xml", ("p", "h")),
    ".pptx": (r"ppt/slides/slide\d+\.xml", ("p",)),
}
# What the standard library raises for damaged and encrypted archives.
BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, EOFError)
HYPHENATED = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_A-Z])")


def read_office(path, *, tally, **_):
    """The paragraphs of a document."""
    members, tags = PARTS[path.suffix.lower()]
    texts = []
    for name, content in parts_of(path, members):
        try:
            root = ElementTree.fromstring(content)
        except ElementTree.ParseError as error:
            raise ValueError(f"{path} has a part {name} that is not XML ({error}).") from error
        texts += [text_of(element) for element in root.iter() if local(element) in tags]
    yield {"text": tally.clean("\n".join(texts))}


def text_of(paragraph):
    """The text of a paragraph; tabs and line ends are elements."""
    return "".join(
        (element.text or "" if local(element) not in ("instrText", "delText") else "")
        + (" " if local(element) in ("tab", "br", "line-break", "s") else "")
        + (element.tail or "" if element is not paragraph else "")
        for element in paragraph.iter()
    )


def local(element):
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def parts_of(path, members):
    """Names and contents of the members of an archive whose names match, in order."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = [info for info in archive.infolist() if re.fullmatch(members, info.filename)]
            if not found:
                raise ValueError(f"{path} is not a {path.suffix} document (it has no text part).")
            for info in sorted(found, key=lambda info: natural(info.filename)):
                with archive.open(info) as file:
                    content = file.read(LARGEST_FILE >> 3)
                if len(content) == LARGEST_FILE >> 3:
                    raise ValueError(f"{path} has a part of more than {LARGEST_FILE >> 3:,} bytes; it is damaged.")
                yield info.filename, content
    except BROKEN as error:
        raise ValueError(f"{path} is not a {path.suffix} document ({error}).") from error


def natural(name):
    """A key that sorts names by the numbers in them."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def read_epub(path, *, tally, **_):
    """The pages of a book."""
    pages = [text_of_page(content.decode("utf-8", "replace"))[0] for _, content in parts_of(path, r".*\.x?html?")]
    yield {"text": tally.clean("\n\n".join(pages))}


def read_pdf(path, *, tally, **_):
    """The text layer of a PDF file; needs pypdf."""
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise ValueError(
            f"{path} is a PDF document, which needs pypdf: pip install 'sparsemix[files]', or extract its text with "
            "pdftotext."
        ) from error
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        with open_packed(path) as file:
            reader = PdfReader(io.BytesIO(file.read()))
            text = "\n".join(page.extract_text() for page in reader.pages)
        title = str((reader.metadata and reader.metadata.title) or "")
    except Exception as error:  # pypdf lets errors of many kinds through for damaged files
        raise ValueError(f"{path} is not a PDF document that pypdf can read ({error}).") from error
    if not text.strip():
        raise ValueError(f"{path} has no text, perhaps scanned pages; add a text layer, for example with ocrmypdf.")
    yield {"text": tally.clean(HYPHENATED.sub("", text)), "title": title}
