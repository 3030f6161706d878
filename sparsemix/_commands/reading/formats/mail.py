"""Messages of mail files: one in an eml file, many in an mbox file."""

import mailbox
import re
import shutil
import tempfile
from contextlib import closing
from dataclasses import replace
from email import message_from_bytes, policy

from sparsemix._commands.reading.formats.extract import text_of_page
from sparsemix._commands.reading.formats.files import needed, unpacked_name
from sparsemix._commands.reading.formats.records import NOT_READ, Converter, Document
from sparsemix.datasets._files import open_packed

# Quoted lines with the line before them; the mark of a signature with everything after it.
QUOTED = re.compile(r"(?:^[^\n>]{0,200}:[ \t]*\n(?:[ \t]*\n)?)?(?:^[ \t]*>.*(?:\n|\Z))+", re.MULTILINE)
SIGNATURE = re.compile(r"^-- ?\r?\n.*", re.MULTILINE | re.DOTALL)


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
