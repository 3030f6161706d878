"""Documents of tables: CSV and JSON by Python's own modules, Parquet by pyarrow, Excel by pandas."""

import csv
import json
import re

from sparsemix.texts._reading.formats.files import (
    LONGEST_LINE,
    checked_lines,
    damaged,
    lines,
    needed,
    open_text,
    read_whole,
)
from sparsemix.texts._reading.formats.records import Converter, Document, first_words

DELIMITERS = ",;\t|"
REMEDY = "a field that begins with a quote must end with one, and quotes inside it must be doubled"


def read_table(path, *, encoding, fields, tally, **_):
    """One document per row of a table in a text file."""
    return documents(table_rows(path, encoding), f"{path}, line", fields, tally)


def documents(rows, where, fields, tally):
    """One document per row that is not empty; the first row has the names of the columns."""
    converter = Converter(fields, tally)
    first, names = next(rows, (1, []))
    if not any(names):
        raise ValueError(f"{where} {first} has no names of columns; add them.")
    names = [name.strip() for name in names]
    converter.check_names(names, f"{where} {first}")
    for number, row in rows:
        if len(row) > 1 or row[0].strip():
            yield converter.document(dict(zip(names, row, strict=True)), f"{where} {number}")


def table_rows(path, encoding):
    """Fields of each row, and the number of the line in which it begins; errors name the line of a wrong row."""
    csv.field_size_limit(LONGEST_LINE)
    delimiter, quoting = dialect_of(path, encoding)
    with open_text(path, encoding) as file:
        rows = csv.reader(checked_lines(file, path), delimiter=delimiter, quoting=quoting, strict=True)
        number, names = 1, []
        try:
            for row in rows:
                if quoting == csv.QUOTE_NONE:
                    row = [unquoted(field) for field in row]
                names = names or row
                if row and len(row) != len(names):
                    raise ValueError(
                        f"{path}, line {number} has {len(row)} fields, but line 1 names {len(names)}; give every row "
                        "all fields, and quote fields that contain the separator."
                    )
                if row:
                    yield number, row
                number = rows.line_num + 1
        except csv.Error as error:
            raise ValueError(f"{path}, line {number} is not CSV ({error}); {REMEDY}.") from error


def dialect_of(path, encoding):
    """The delimiter, and whether quotes enclose fields: not in a table with tabs, as many of them in each line."""
    with open_text(path, encoding) as file:
        rows = filter(str.strip, checked_lines(file, path))
        head = next(rows, "")
        delimiter = max(DELIMITERS, key=head.count)
        plain = delimiter == "\t" and all(row.count("\t") == head.count("\t") for row in rows)
    return delimiter, csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL


def unquoted(field):
    """A field without the quotes around it."""
    return field[1:-1].replace('""', '"') if len(field) > 1 and field[0] == field[-1] == '"' else field


def read_json(path, *, encoding, fields, tally, **_):
    """JSON documents: one value per line, or any sequence of objects, texts, and arrays of them."""
    converter = Converter(fields, tally)
    for where, record in json_values(path, encoding, tally):
        if isinstance(record, str):
            yield Document(tally.clean(record), first_words(record))
        else:
            yield converter.document(record, f"{path}, {where}")


def json_values(path, encoding, tally):
    """Places and values: by lines if the first line is JSON, else of the whole file."""
    first = True
    for number, line in lines(path, encoding, tally):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            if first and line[0] in "[{" and isinstance(error, json.JSONDecodeError):
                yield from whole_values(path, encoding, tally)
                return
            raise ValueError(f"{path}, line {number} is not JSON ({getattr(error, 'msg', error)}).") from error
        first = False
        if isinstance(value, list):
            yield from ((f"line {number}, item {i}", item) for i, item in enumerate(value, start=1))
        else:
            yield f"line {number}", value


def whole_values(path, encoding, tally):
    """Places and values of a file that is one array, or objects over several lines."""
    text, decoder, position, n = read_whole(path, encoding, tally), json.JSONDecoder(), 0, 0
    while found := re.compile(r"\S").search(text, position):
        try:
            value, position = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, getattr(error, "pos", found.start())) + 1
            raise ValueError(f"{path}, line {line} is not JSON ({getattr(error, 'msg', error)}).") from error
        for item in value if isinstance(value, list) else [value]:
            n += 1
            yield f"record {n}", item


def read_parquet(path, *, fields, tally, **_):
    """One document per row of a Parquet file, of which a part is in memory at once."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise ValueError(needed(path, error)) from error
    converter, n = Converter(fields, tally), 0
    try:
        # open the file here: pyarrow does not accept file names that are not UTF-8
        with path.open("rb") as source, parquet.ParquetFile(source) as file:
            schema = file.schema_arrow
            converter.check_names(schema.names, f"{path}, row 1", {part.name: form_of(part.type) for part in schema})
            for batch in file.iter_batches(columns=converter.columns(schema.names)):
                for record in batch.to_pylist():
                    n += 1
                    yield converter.document(record, f"{path}, row {n}")
    except (ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise ValueError(damaged(path, "Parquet", error)) from error


def form_of(kind):
    """The objects and lists of a type of Arrow, without values."""
    if kind.num_fields and hasattr(kind, "value_type"):  # a list
        return [form_of(kind.value_type)]
    return {part.name: form_of(part.type) for part in kind} if str(kind).startswith("struct") else None


def read_excel(path, *, fields, tally, **_):
    """One document per row of a sheet of an Excel file, by default the first one."""
    try:
        import openpyxl  # noqa: F401
        import pandas as pd
    except ImportError as error:
        raise ValueError(needed(path, error)) from error
    try:
        with path.open("rb") as file, pd.ExcelFile(file, engine="openpyxl") as book:
            titles = book.sheet_names
            chosen = fields.sheet if fields.sheet in titles else 0
            options = {"header": None, "dtype": str, "keep_default_na": False, "na_filter": False}
            table = pd.read_excel(book, sheet_name=chosen, **options)
    except Exception as error:  # pandas and openpyxl let errors of zipfile and XML through
        raise ValueError(damaged(path, "Excel", error)) from error
    if fields.sheet is not None:
        if fields.sheet not in titles:
            raise ValueError(f"{path} has no sheet {fields.sheet!r} (it has {', '.join(map(repr, titles))}).")
    elif len(titles) > 1:
        tally.facts["sheets not read"] = f"{', '.join(titles[1:])} of {path.name} (--sheet NAME reads another)"
    rows = ((i, row) for i, row in enumerate(table.itertuples(index=False, name=None), start=1) if any(row))
    yield from documents(rows, f"{path}, row", fields, tally)
