"""Documents of files of records: JSON, CSV, Parquet, Excel."""

import json
import re

from sparsemix._commands.reading.formats.files import lines, open_text, read_all
from sparsemix._commands.reading.formats.records import Document, Kept, first_words
from sparsemix._commands.reading.formats.tables import table_records

LEVELS = "has too many levels of JSON; give objects whose fields are texts"


def read_json(path, *, encoding, fields, tally, **_):
    """JSON documents: one object per line, or any sequence of objects and arrays of objects."""
    kept = Kept(fields, tally)
    for where, record in json_records(path, encoding, tally):
        if isinstance(record, str):
            yield Document(tally.clean(record), first_words(record))
        else:
            yield kept.document(record, where, f"{path}, {where}")


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
            raise ValueError("it is null, but a record must be an object with fields")
        return record
    except json.JSONDecodeError as error:
        if first and line[0] in "[{":
            return None
        raise ValueError(f"{where} is not JSON ({error.msg}, column {error.colno}).") from error
    except RecursionError as error:
        raise ValueError(f"{where} {LEVELS}.") from error
    except ValueError as error:  # null, or a number with more digits than Python reads
        raise ValueError(f"{where} is not a record ({error}).") from error


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
            raise ValueError(f"{path} {LEVELS}.") from error
        except ValueError as error:
            line = text.count("\n", 0, found.start()) + 1
            raise ValueError(f"{path}, the value that begins in line {line} is not a record ({error}).") from error
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
        yield kept.document(record, where, f"{path}, {where}", list(record))


def read_parquet(path, *, fields, tally, **_):
    """One document per row of a Parquet file; needs pyarrow."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise ValueError(
            f"{path} is a Parquet file, which needs pyarrow: pip install 'sparsemix[parquet]', or save it as CSV."
        ) from error
    kept = Kept(fields, tally)
    try:
        # open the file here: pyarrow does not accept file names that are not UTF-8
        with path.open("rb") as source, parquet.ParquetFile(source) as file:
            names = file.schema_arrow.names
            row = 0
            for batch in file.iter_batches(columns=columns_of(names, fields)):
                for record in batch.to_pylist():
                    row += 1
                    yield kept.document(record, f"row {row}", f"{path}, row {row}", names)
    except ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file that pyarrow can read ({error}).") from error


def columns_of(names, fields):
    """The columns that the fields name: by their whole name, as one of several, or as the beginning of a path."""
    wanted = [fields.text, *fields.text.split(","), fields.id, fields.date, fields.group]
    wanted = [name.strip() for name in wanted if name]
    return [name for name in names if any(part == name or part.startswith(f"{name}.") for part in wanted)]


def read_excel(path, *, fields, tally, **_):
    """One document per row of a sheet of an Excel file, by default the first one; needs openpyxl."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise ValueError(
            f"{path} is an Excel file, which needs openpyxl: pip install 'sparsemix[files]', or save it as CSV."
        ) from error
    kept = Kept(fields, tally)
    with path.open("rb") as file:
        try:
            book = load_workbook(file, read_only=True, data_only=True)
            titles = [sheet.title for sheet in book.worksheets]
            chosen = titles.index(fields.sheet) if fields.sheet in titles else 0
            rows = book.worksheets[chosen].iter_rows(values_only=True)
            names = ["" if name is None else str(name).strip() for name in next(rows, ())]
        except Exception as error:  # openpyxl lets errors of zipfile, XML and its own through
            raise ValueError(f"{path} is not an Excel file that openpyxl can read ({error}).") from error
        if fields.sheet is not None:
            tally.used.add("--sheet")
            if fields.sheet not in titles:
                raise ValueError(f"{path} has no sheet {fields.sheet!r} (it has {', '.join(map(repr, titles))}).")
        elif len(titles) > 1:
            tally.sheets.append((path.name, titles))
        kept.check_names(dict.fromkeys(names), f"{path}, row 1", [name for name in names if name])
        for number, row in enumerate(rows, start=2):
            record = {name: value for name, value in zip(names, row, strict=False) if name}
            if all(value is None for value in record.values()):
                continue
            for name in kept.texts:
                if record.get(name) is not None:
                    record[name] = str(record[name])  # a text of digits is a number in a sheet
            yield kept.document(record, f"row {number}", f"{path}, row {number}", names)
