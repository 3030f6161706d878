"""Streams of documents from text files: a folder, lines, JSON, tables, Parquet."""

import json
import math
import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from sparsemix._commands.reading.formats.files import ENDINGS, lines, open_text, read_all, read_whole
from sparsemix._commands.reading.formats.tables import table_records

FIRST_WORDS = 60  # characters of the name of a text without an id


@dataclass(frozen=True)
class Document:
    """A text with its name, date and group."""

    text: str
    name: str
    date: str = ""
    group: str = ""


@dataclass(frozen=True)
class Fields:
    """Names of the fields of a record that hold text, id, date and group."""

    text: str = "text"
    id: str | None = None
    date: str | None = None
    group: str | None = None


def read_folder(path, *, glob, encoding, fields, tally):
    """One document per file, named by its path inside the folder. Its group may be the folder that contains it."""
    files = files_of(path, glob)
    tally.other_files = beside(path, files)
    for file in files:
        name = file.relative_to(path).as_posix()
        group = Path(name).parent.as_posix() if fields.group == "folder" else ""
        yield Document(read_whole(file, encoding, tally), name, group=group)


def files_of(path, glob):
    """Files of a folder that match the pattern, compressed or not."""
    try:
        files = {file for pattern in (glob, *(glob + ending for ending in ENDINGS)) for file in path.rglob(pattern)}
        files = sorted(file for file in files if file.is_file())
    except (NotImplementedError, ValueError) as error:
        raise ValueError(f"--glob {glob!r} is not a pattern for files inside a folder ({error}).") from error
    if not files:
        raise ValueError(f"{path} has no file that matches {glob!r}; give another pattern with --glob.")
    return files


def beside(path, files):
    """Endings of files that do not match the pattern, without hidden files, and their numbers; most frequent first."""
    known, found = set(files), Counter()
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        others = (Path(folder, name) for name in names if not name.startswith("."))
        found.update(file.suffix.lower() or file.name for file in others if file not in known)
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def read_lines(path, *, encoding, tally, **_):
    """One document per nonempty line, named by its first words."""
    for _number, line in lines(path, encoding, tally):
        yield Document(line, first_words(line))


def read_json(path, *, encoding, fields, tally, **_):
    """JSON documents: one object per line, or any sequence of objects and arrays of objects."""
    kept = Kept(fields, tally)
    for where, record in json_records(path, encoding, tally):
        if isinstance(record, str):
            yield Document(tally.clean(record), first_words(record))
        elif (document := kept.document(record, where, f"{path}, {where}")) is not None:
            yield document


def json_records(path, encoding, tally):
    """Places and values: by lines if the first line is JSON, else of the whole file."""
    first = True
    for number, line in lines(path, encoding, tally):
        record, first = parsed(line, f"{path}, line {number}", first), False
        if record is None:
            yield from json_values(path, encoding)
            return
        if isinstance(record, list):
            yield from ((f"line {number}, item {i}", item) for i, item in enumerate(record, start=1))
        else:
            yield f"line {number}", record


def parsed(line, where, first):
    """The JSON value of a line; None if it is the first line and begins a value of several lines."""
    try:
        if (record := json.loads(line)) is None:
            raise ValueError(f"{where} is null; a record must be an object with fields.")
        return record
    except json.JSONDecodeError as error:
        if first and line[0] in "[{":
            return None
        raise ValueError(f"{where} is not JSON ({error.msg}, column {error.colno}).") from error
    except RecursionError as error:
        raise ValueError(f"{where} has too many levels of JSON; give objects whose fields are texts.") from error


def json_values(path, encoding):
    """Places and values of a file that is one array, or objects over several lines."""
    with open_text(path, encoding) as file:
        text = read_all(file, path)
    decoder, position, n = json.JSONDecoder(), 0, 0
    while found := re.compile(r"\S").search(text, position):
        try:
            value, position = decoder.raw_decode(text, found.start())
        except json.JSONDecodeError as error:
            line = f"line {error.lineno}"
            raise ValueError(f"{path}, {line} is not JSON ({error.msg}, column {error.colno}).") from error
        except RecursionError as error:
            raise ValueError(f"{path} has too many levels of JSON; give objects whose fields are texts.") from error
        for item in value if isinstance(value, list) else [value]:
            n += 1
            yield f"record {n}", item


def read_table(path, *, encoding, fields, tally, **_):
    """One document per row of a table whose first line has the column names."""
    kept = Kept(fields, tally)

    def check_names(names):
        kept.check_names(dict.fromkeys(names), f"{path}, line 1", names)

    for number, record in table_records(path, encoding, check_names):
        where = f"line {number}"
        if (document := kept.document(record, where, f"{path}, {where}", list(record))) is not None:
            yield document


def read_parquet(path, *, fields, tally, **_):
    """One document per row of a Parquet file; needs pyarrow."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise ValueError(f"{path} is a Parquet file; install pyarrow to read it, or save it as CSV.") from error
    kept = Kept(fields, tally)
    columns = [name for name in (fields.text, fields.id, fields.date, fields.group) if name]
    try:
        # open the file here: pyarrow does not accept file names that are not UTF-8
        with path.open("rb") as source, parquet.ParquetFile(source) as file:
            names = file.schema_arrow.names
            kept.check_names(dict.fromkeys(names), f"{path}", names)
            row = 0
            for batch in file.iter_batches(columns=columns):
                for record in batch.to_pylist():
                    row += 1
                    if (document := kept.document(record, f"row {row}", f"{path}, row {row}", names)) is not None:
                        yield document
    except ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file that pyarrow can read ({error}).") from error


class Kept:
    """Converter of records to documents, by the names of their fields."""

    def __init__(self, fields, tally):
        self.fields = fields
        self.tally = tally
        self.seen = False

    def check_names(self, record, where, names=()):
        """Raise if the records lack one of the fields."""
        self.seen = True
        if not isinstance(record, dict):
            raise ValueError(f"{where} has no text in the field {self.fields.text!r} (it has no fields).")
        for option, name in (("field", self.fields.text), ("id", self.fields.id), ("date", self.fields.date),
                             ("group", self.fields.group)):  # fmt: skip
            if name is not None and name not in record:
                has = ", ".join(map(repr, list(names or record)[:12]))
                what = "text in the field" if option == "field" else "field"
                raise ValueError(f"{where} has no {what} {name!r} (it has {has}); name another by --{option}.")

    def document(self, record, place, where, names=()):
        """The document of a record; None if its text is null, which is counted."""
        if not self.seen:
            self.check_names(record, where, names)
        text = record.get(self.fields.text) if isinstance(record, dict) else None
        if text is None or (isinstance(text, float) and math.isnan(text)):
            self.tally.without_text += 1
            return None
        if not isinstance(text, str):
            raise ValueError(
                f"{where} has {type(text).__name__} in the field {self.fields.text!r}, not text; name another by "
                "--field."
            )
        text = self.tally.clean(text)
        name, date, group = (
            "" if field is None or record.get(field) is None else self.tally.clean(str(record[field]))
            for field in (self.fields.id, self.fields.date, self.fields.group)
        )
        return Document(text, name or first_words(text) or place, date, group)


def first_words(text):
    """The beginning of a text, in one line."""
    start = " ".join(text[: 4 * FIRST_WORDS].split())
    return start if len(start) <= FIRST_WORDS else start[:FIRST_WORDS].rstrip() + " ..."


READERS_OF_TEXTS = {
    "folder": read_folder, "lines": read_lines, "json": read_json, "csv": read_table, "parquet": read_parquet,
}  # fmt: skip
