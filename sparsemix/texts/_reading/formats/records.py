"""Records with fields as documents: the fields of text, name, date and group."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import chain

FIRST_WORDS = 60  # characters of the name of a text without an id
ABSENT = object()
# Reasons for which a document is left out.
NO_TEXT, NOT_READ, COPY, NO_KNOWN_WORD = "no text", "not read", "copy", "no known word"
OTHER_LANGUAGE = "other language"


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its name, date and group, and its place in the input.

    ``file`` is the path inside a folder, or the file name. ``row`` counts from 1: the line of a file of lines, the
    record of a table, the message of a mail box. ``missing`` is the reason why the document is left out, or "";
    ``copy_of`` the number of the first document with the same text, or -1.
    """

    text: str
    name: str
    date: str = ""
    group: str = ""
    file: str = ""
    row: int = 0
    missing: str = ""
    language: str = ""
    copy_of: int = -1
    covariates: tuple = ()


@dataclass(frozen=True)
class Fields:
    """Names of the fields of a record that hold text, id, date, group and covariates.

    A name with points is a path: ``post.text`` is the field ``text`` of the object in the field ``post``, and
    ``posts[].text`` that of each object of a list. ``text`` may be several names, separated by commas, whose texts are
    joined. ``date_format`` is the format of dates for ``datetime.strptime``; None recognises it. ``sheet`` is that of a
    workbook; None is the first one.
    """

    text: str = "text"
    id: str | None = None
    date: str | None = None
    group: str | None = None
    date_format: str | None = None
    sheet: str | None = None
    covariates: tuple = ()


class Converter:
    """Makes documents of records, by the names of their fields."""

    def __init__(self, fields, tally):
        self.fields, self.tally = fields, tally
        self.texts = None  # names of the fields of text, from the first record

    def check_names(self, names, where, record=None):
        """Raise if the columns of a table, or the first record, lack one of the fields, or have one twice."""
        if twice := [name for name, n in Counter(list(names)).items() if n > 1 and name]:
            raise ValueError(f"{where} has two columns of the name {twice[0]!r}; rename one.")
        record, fields = dict.fromkeys(names) if record is None else record, self.fields
        whole = value_of(record, fields.text) is not ABSENT
        self.texts = [fields.text] if whole else [name.strip() for name in fields.text.split(",")]
        options = [("--field", name) for name in self.texts]
        options += [("--id", fields.id), ("--date", fields.date), ("--group", fields.group)]
        options += [("--effect", name) for name in fields.covariates]
        for option, name in options:
            if name is not None and value_of(record, name) is ABSENT:
                has = ", ".join(map(repr, list(names)[:12])) or "no fields"
                what = "text in the field" if option == "--field" else "field"
                some = such_as(record, rf"(?:.*\.)?{re.escape(name.rpartition('.')[2])}")
                raise ValueError(f"{where} has no {what} {name!r} (it has {has}); name another by {option}{some}.")

    def columns(self, names):
        """The columns that the fields name: by their whole name, or as the beginning of a path."""
        fields = self.fields
        wanted = [*self.texts, *filter(None, (fields.id, fields.date, fields.group)), *fields.covariates]
        return [name for name in names if any(f"{part}.".startswith((f"{name}.", f"{name}[]")) for part in wanted)]

    def document(self, record, where):
        """The document of a record, which is marked if its text is null. ``where`` has its path."""
        if not isinstance(record, dict):
            raise ValueError(f"{where} has no text in the field {self.fields.text!r} (it has no fields).")
        if self.texts is None:
            self.check_names(record, where, record)
        self.tally.place = where
        texts = [text for name in self.texts if (text := self.text_of(record, name, where)) is not None]
        text = "\n\n".join(texts)
        fields = self.fields
        values = (value_of(record, name) for name in (fields.id, fields.date, fields.group, *fields.covariates))
        cleaned = (self.tally.clean("" if value in (None, ABSENT) else str(value)) for value in values)
        name, date, group, *covariates = cleaned
        name = name or first_words(text) or where.rpartition(", ")[2]
        return Document(text, name, date, group, missing="" if texts else NO_TEXT, covariates=tuple(covariates))

    def text_of(self, record, name, where):
        """The text of a field, or the joined texts of a list; None for null."""
        text = value_of(record, name)
        if isinstance(text, list) and all(part is None or isinstance(part, str) for part in text):
            text = "\n".join(filter(None, text)) or None
        if text is ABSENT or text is None or text != text:  # NaN
            return None
        if not isinstance(text, str):
            kind = type(text).__name__
            some = such_as(record, rf"{re.escape(name)}(?:\[\])?\..*")
            raise ValueError(f"{where} has {kind} in the field {name!r}, not text; name another by --field{some}.")
        return self.tally.clean(text)


def value_of(record, name):
    """The value of a field, or of the fields inside it that the path lists, and of all objects of a list; or ABSENT."""
    if not isinstance(record, dict) or name is None:
        return ABSENT
    if name in record:
        return record[name]
    for cut in re.finditer(r"\[\]\.?|\.", name):
        head, rest = name[: cut.start()], name[cut.end() :]
        if head in record and cut[0] == ".":
            return value_of(record[head], rest)
        items = record.get(head, ABSENT) or []
        if isinstance(items, list):
            found = [value_of(item, rest) if rest else item for item in items]
            found = [value if isinstance(value, list) else [value] for value in found if value is not ABSENT]
            return [*chain.from_iterable(found)] if found or not items else ABSENT
    return ABSENT


def paths(value, name=""):
    """The paths to all fields of a record, through its objects and through the first objects of its lists."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        yield from paths(value[0], f"{name}[]")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, f"{name}.{key}" if name else key)
    else:
        yield name


def such_as(record, pattern):
    """The end of a message that proposes the paths of a pattern."""
    found = [repr(path) for path in paths(record) if re.fullmatch(pattern, path)]
    return f", such as {' or '.join(found[:3])}" if found else ""


def first_words(text):
    """The beginning of a text, in one line."""
    start = " ".join(text[: 4 * FIRST_WORDS].split())
    return start if len(start) <= FIRST_WORDS else start[:FIRST_WORDS].rstrip() + " ..."
