"""Records with fields as documents: the fields of text, name, date and group."""

from collections import Counter
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

    def check_names(self, names, where):
        """Raise if the columns of a table, or the first record, lack one of the fields, or have one twice."""
        self.seen = True
        if twice := [name for name, n in Counter(list(names)).items() if n > 1 and name]:
            raise ValueError(f"{where} has two columns of the name {twice[0]!r}; rename one.")
        record, fields = names if isinstance(names, dict) else dict.fromkeys(names), self.fields
        if value_of(record, fields.text) is ABSENT:
            self.texts = [name.strip() for name in fields.text.split(",")]
        options = {"--id": fields.id, "--date": fields.date, "--group": fields.group}
        self.tally.used.update(option for option, name in options.items() if name)
        self.tally.used.update(["--field", *(["--date-format"] if fields.date and fields.date_format else [])])
        for option, name in [*(("--field", name) for name in self.texts), *options.items()]:
            if name is not None and value_of(record, name) is ABSENT:
                has = ", ".join(map(repr, list(names)[:12])) or "no fields"
                what = "text in the field" if option == "--field" else "field"
                raise ValueError(f"{where} has no {what} {name!r} (it has {has}); name another by {option}.")

    def columns(self, names):
        """The columns that the fields name: by their whole name, or as the beginning of a path."""
        wanted = [*self.texts, *filter(None, (self.fields.id, self.fields.date, self.fields.group))]
        return [name for name in names if any(part == name or part.startswith(f"{name}.") for part in wanted)]

    def document(self, record, where):
        """The document of a record; a null text is counted, and its document is marked. ``where`` has its path."""
        if not isinstance(record, dict):
            raise ValueError(f"{where} has no text in the field {self.fields.text!r} (it has no fields).")
        if not self.seen:
            self.check_names(record, where)
        self.tally.place = where
        texts = [self.text_of(record, name, where) for name in self.texts]
        if not (texts := [text for text in texts if text is not None]):
            self.tally.without_text += 1
        text = "\n\n".join(texts)
        name, date, group = (
            self.tally.clean(plain(value_of(record, field))) if field else ""
            for field in (self.fields.id, self.fields.date, self.fields.group)
        )
        name = name or first_words(text) or where.rpartition(", ")[2]
        return Document(text, name, date, group, missing="" if texts else NO_TEXT)

    def text_of(self, record, name, where):
        """The text of a field; None for null."""
        text = value_of(record, name)
        if isinstance(text, list) and text and all(isinstance(part, str) for part in text):
            text = "\n".join(text)
        if text is ABSENT or text is None or text != text:  # NaN
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
