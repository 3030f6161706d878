"""Texts of pages, Word, books and papers by libraries; of notebooks and mail by Python's own."""

import json
import logging
import mailbox
import posixpath
import re
import shutil
import tempfile
import zipfile
from contextlib import closing
from dataclasses import replace
from email import message_from_bytes, policy
from io import BytesIO
from urllib.parse import unquote
from xml.etree import ElementTree

from sparsemix.datasets import open_packed
from sparsemix.texts._reading.formats.files import damaged, needed, unpacked_name
from sparsemix.texts._reading.formats.records import NOT_READ, Converter, Document

# Elements of a page that help to navigate.
AROUND = ["nav", "header", "footer", "aside", "form", "select", "button"]
# A word that a paper divides at the end of a line.
HYPHENATED = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_A-Z])")
# Quoted lines with the line before them; the mark of a signature with everything after it.
QUOTED = re.compile(r"(?:^[^\n>]{0,200}:[ \t]*\n(?:[ \t]*\n)?)?(?:^[ \t]*>.*(?:\n|\Z))+", re.MULTILINE)
SIGNATURE = re.compile(r"^-- ?\r?\n.*", re.MULTILINE | re.DOTALL)


def read_document(path, *, tally, **_):
    """The text of a whole file; damaged files and files without text raise an error that names them."""
    ending = next((ending for ending in EXTRACTORS if unpacked_name(path).endswith(ending)), ".html")
    text = extracted(path, ending, EXTRACTORS[ending], tally)
    if not text.strip():
        raise ValueError(f"{path} has no text; if its pages are pictures, add text to them, for example by ocrmypdf.")
    yield Document(tally.clean(text), "")


def extracted(path, ending, extract, tally):
    """What an extractor finds in a file; errors name the file."""
    tally.place = path.name
    with open_packed(path) as file:
        content = file.read()
    try:
        found = extract(content)
        if "\0" in found:
            raise ValueError("it has zero bytes")
        return found
    except ImportError as error:
        raise ValueError(needed(path, error)) from error
    except MemoryError:
        raise
    except Exception as error:  # libraries let errors of many kinds through for damaged files
        raise ValueError(damaged(path, ending, error)) from error


def text_of_page(page):
    """The text of a page without navigation; with it if the page has nothing else. Bytes have a declared encoding."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding

    if isinstance(page, bytes):
        page = bytes_to_str(page, detect_encoding(page, from_html_meta=True))
    options = {"alt_texts": False, "list_bullets": False}
    return extract_plain_text(page, skip_elements=AROUND, **options) or extract_plain_text(page, **options)


def text_of_word(content):
    """The text of a Word document, with its tables and notes."""
    from mammoth import convert_to_html

    return text_of_page(convert_to_html(BytesIO(content)).value)


def text_of_book(content):
    """The pages of a book (EPUB) in its order of reading."""
    with zipfile.ZipFile(BytesIO(content)) as book:
        root = ElementTree.fromstring(book.read("META-INF/container.xml"))
        name = root.find(".//{*}rootfile").get("full-path")
        package = ElementTree.fromstring(book.read(name))
        pages = {item.get("id"): item.get("href") for item in package.iterfind(".//{*}item")}
        names = [pages[item.get("idref")] for item in package.iterfind(".//{*}itemref")]
        folder = posixpath.dirname(name)
        contents = (book.read(posixpath.normpath(posixpath.join(folder, unquote(page)))) for page in names)
        return "\n\n".join(text_of_page(content) for content in contents)


class Strict(logging.Handler):
    """Raises for a damaged page, which pypdf reads as an empty one, and drops the messages about other faults."""

    def emit(self, record):
        """Raise, or drop the message."""
        if "decompress" in record.getMessage():
            raise ValueError(record.getMessage())


def text_of_paper(content):
    """The text of a PDF file."""
    from pypdf import PdfReader

    logger, strict = logging.getLogger("pypdf"), Strict()
    logger.addHandler(strict)
    logger.propagate = False
    try:
        text = "\n".join(page.extract_text() for page in PdfReader(BytesIO(content)).pages)
    finally:
        logger.removeHandler(strict)
        logger.propagate = True
    return HYPHENATED.sub("", text)


def text_of_notebook(content):
    """The Markdown and the code of a Jupyter notebook, without outputs."""
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(content)["cells"])


EXTRACTORS = {
    ".html": text_of_page, ".htm": text_of_page, ".xhtml": text_of_page, ".docx": text_of_word, ".epub": text_of_book,
    ".pdf": text_of_paper, ".ipynb": text_of_notebook,
}  # fmt: skip


def read_mail(path, *, fields, tally, **_):
    """Messages with the fields text, subject, from, to and date; without quotations, signatures and attachments."""
    converter = Converter(fields, tally)
    one = unpacked_name(path).endswith(".eml")
    for number, raw in enumerate(messages(path, one), start=1):
        place = f"message {number}"
        try:
            record = record_of(message_from_bytes(raw, policy=policy.default))
        except Exception as error:  # the parser of headers lets errors of many kinds through
            reason = needed(path, error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
            tally.skip(f"{path.name}, {place}", reason)
            yield Document("", place, missing=NOT_READ)
            continue
        document = converter.document(record, f"{path}, {place}")
        yield document if fields.id else replace(document, name="" if one else record["subject"] or place)


def messages(path, one):
    """Bytes of the messages of a file, or of the file if it is one message."""
    with open_packed(path) as file:
        if one:
            yield file.read()
            return
        with tempfile.TemporaryDirectory() as folder:  # unpacked, and nothing changes the user's mail box
            with open(f"{folder}/mail", "wb") as copy:
                shutil.copyfileobj(file, copy)
            with closing(mailbox.mbox(copy.name, create=False)) as box:
                yield from (box.get_bytes(key).replace(b"\n>From ", b"\nFrom ") for key in box.iterkeys())


def record_of(message):
    """The fields of a message."""
    if not message.keys():
        raise ValueError("it has no header, so it is no message")
    part = message.get_body(preferencelist=("plain", "html"))
    body = "" if part is None else part.get_content()
    if part is not None and part.get_content_type() == "text/html":
        body = text_of_page(body)
    body = QUOTED.sub("", SIGNATURE.sub("", body.replace("\r\n", "\n")))
    subject = str(message["subject"] or "")
    return {
        "text": f"{subject}\n\n{body}".strip(), "subject": subject, "from": str(message["from"] or ""),
        "to": str(message["to"] or ""), "date": str(message["date"] or ""),
    }  # fmt: skip
