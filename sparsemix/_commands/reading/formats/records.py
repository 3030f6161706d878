"""Records with fields as documents: the fields of text, name, date and group."""

import math
from dataclasses import dataclass

FIRST_WORDS = 60  # characters of the name of a text without an id
ABSENT = object()


# Reasons for which a document is left out.
NO_TEXT, NOT_READ = "no text", "not read"


@dataclass(frozen=True)
class Document:
    """A text with its name, date and group, and its place in the input.

    ``file`` is the path inside a folder, or the file name. ``row`` counts from 1: the line of a file of lines, the
    record of a table, the message of a mail box. ``missing`` is the reason why there is no text.
    """

    text: str
    name: str
    date: str = ""
    group: str = ""
    file: str = ""
    row: int = 0
    missing: str = ""


@dataclass(frozen=True)
class Fields:
    """Names of the fields of a record that hold text, id, date and group.

    A name with points is a path: ``post.text`` is the field ``text`` of the object in the field ``post``. ``text`` may
    be several names, separated by commas, whose texts are joined. ``date_format`` is the format of dates for
    ``datetime.strptime``; None recognises it. ``sheet`` is that of a workbook; None is the first one.
    """

    text: str = "text"
    id: str | None = None
    date: str | None = None
    group: str | None = None
    date_format: str | None = None
    sheet: str | None = None


class Kept:
    """Converter of records to documents, by the names of their fields."""

    def __init__(self, fields, tally):
        self.fields = fields
        self.tally = tally
        self.seen = False
        self.texts = [fields.text]

    def check_names(self, record, where, names=()):
        """Raise if the first record lacks one of the fields."""
        self.seen = True
        if not isinstance(record, dict):
            raise ValueError(f"{where} has no text in the field {self.fields.text!r} (it has no fields).")
        if value_of(record, self.fields.text) is ABSENT and "," in self.fields.text:
            self.texts = [name.strip() for name in self.fields.text.split(",")]
        options = {"--field": True, "--id": self.fields.id, "--date": self.fields.date,
                   "--date-format": self.fields.date and self.fields.date_format, "--group": self.fields.group}
        self.tally.used.update(option for option, given in options.items() if given)
        wanted = [("field", name) for name in self.texts]
        wanted += [("id", self.fields.id), ("date", self.fields.date), ("group", self.fields.group)]
        for option, name in wanted:
            if name is not None and value_of(record, name) is ABSENT:
                has = ", ".join(map(repr, list(names or record)[:12]))
                what = "text in the field" if option == "field" else "field"
                raise ValueError(f"{where} has no {what} {name!r} (it has {has}); name another by --{option}.")

    def document(self, record, place, where, names=()):
        """The document of a record; a null text is counted, and its document is marked."""
        if not self.seen:
            self.check_names(record, where, names)
        self.tally.place = where
        texts = [self.text_of(record, name, where) for name in self.texts]
        if not (texts := [text for text in texts if text is not None]):
            self.tally.without_text += 1
        text = "\n\n".join(texts)
        name, date, group = (
            self.tally.clean(plain(value_of(record, field))) if field else ""
            for field in (self.fields.id, self.fields.date, self.fields.group)
        )
        return Document(text, name or first_words(text) or place, date, group, missing="" if texts else NO_TEXT)

    def text_of(self, record, name, where):
        """The text of a field; None for null."""
        text = value_of(record, name)
        if isinstance(text, list) and text and all(isinstance(part, str) for part in text):
            text = "\n".join(text)
        if text is ABSENT or text is None or (isinstance(text, float) and math.isnan(text)):
            return None
        if not isinstance(text, str):
            raise ValueError(
                f"{where} has {type(text).__name__} in the field {name!r}, not text; name another by --field."
            )
        return self.tally.clean(text)


def value_of(record, name):
    """The value of a field, or of the fields inside it that the name lists with points; ABSENT if there is none."""
    if not isinstance(record, dict):
        return ABSENT
    if name in record:
        return record[name]
    first, _, rest = name.partition(".")
    while rest and first not in record:
        more, _, rest = rest.partition(".")
        first = f"{first}.{more}"
    return value_of(record[first], rest) if rest and first in record else ABSENT


def plain(value):
    """A value as text; "" for null and absent values."""
    return "" if value is None or value is ABSENT else str(value)


def first_words(text):
    """The beginning of a text, in one line."""
    start = " ".join(text[: 4 * FIRST_WORDS].split())
    return start if len(start) <= FIRST_WORDS else start[:FIRST_WORDS].rstrip() + " ..."
