"""Messages of mail files: one in an eml file, many in an mbox file."""

import re
from datetime import UTC
from email import message_from_bytes, policy
from email.utils import parsedate_to_datetime

from sparsemix._commands.reading.formats.records import NOT_READ, Document
from sparsemix._commands.reading.formats.web import text_of_page
from sparsemix.datasets._files import open_packed

# Quoted lines with the line before them; the mark of a signature with everything after it.
QUOTED = re.compile(r"(?:^[^\n>]{0,200}:[ \t]*\n(?:[ \t]*\n)?)?(?:^[ \t]*>.*(?:\n|\Z))+", re.MULTILINE)
SIGNATURE = re.compile(r"^-- ?\r?\n.*", re.MULTILINE | re.DOTALL)
LARGEST_MESSAGE = 1 << 28


def read_mail(path, *, tally, **_):
    """Messages with the fields text, subject, from, to and date; without quotations, signatures and attachments."""
    for number, raw in enumerate(messages(path), start=1):
        try:
            yield record_of(message_from_bytes(raw, policy=policy.default))
        except Exception as error:  # the parser of headers lets errors of many kinds through
            tally.skip(f"{path.name}, message {number}", f"{type(error).__name__}: {error}")
            yield Document("", f"message {number}", missing=NOT_READ)


def messages(path):
    """Bytes of the messages of a file: each begins with a line "From " after an empty line, or the file is one."""
    with open_packed(path) as file:
        message, size, after_empty = [], 0, True
        while line := file.readline(LARGEST_MESSAGE):
            if line.startswith(b"From ") and after_empty:
                if message:
                    yield b"".join(message)
                message, size = [], 0
            else:
                message.append(line[1:] if line.startswith(b">From ") else line)
                size += len(line)
            if size > LARGEST_MESSAGE:
                raise ValueError(f"{path} has a message of more than {LARGEST_MESSAGE:,} bytes; it is not a mail file.")
            after_empty = not line.strip()
        if message:
            yield b"".join(message)


def record_of(message):
    """The fields of a message."""
    part = message.get_body(preferencelist=("plain", "html"))
    body = "" if part is None else content_of(part)
    if part is not None and part.get_content_type() == "text/html":
        body = text_of_page(body)[0]
    body = QUOTED.sub("", SIGNATURE.sub("", body.replace("\r\n", "\n")))
    subject = str(message["subject"] or "")
    return {
        "text": f"{subject}\n\n{body}".strip(), "subject": subject, "from": str(message["from"] or ""),
        "to": str(message["to"] or ""), "date": date_of(message["date"]),
    }  # fmt: skip


def content_of(part):
    """The text of a part; in Latin-1 if it declares an encoding that does not exist."""
    try:
        return part.get_content()
    except LookupError:
        return part.get_payload(decode=True).decode("latin-1")


def date_of(text):
    """A date of a header in ISO 8601, in universal time; the header itself if it is no date."""
    try:
        date = parsedate_to_datetime(str(text))
        return date.astimezone(UTC).date().isoformat()
    except (ValueError, TypeError, OverflowError):
        return str(text or "")
