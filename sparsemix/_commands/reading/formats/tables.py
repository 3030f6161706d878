"""Tables as text (CSV, TSV), one record per row; errors name the line of a row that does not match the header."""

import csv

from sparsemix._commands.reading.formats.files import LONGEST_LINE, checked_lines, open_text

DELIMITERS = ",;\t|"
# Maximum number of lines of a field. A longer field has an unclosed quote.
MOST_LINES = 100_000
# A field has an unclosed quote if at least this many of its lines have the delimiters of a row.
SWALLOWED = 10
REMEDY = "a field that begins with a quote must end with one, and quotes inside it must be doubled"


def table_records(path, encoding, check_names):
    """Line numbers and records of a table whose first line has the column names.

    Parameters
    ----------
    path : Path
    encoding : str
    check_names : callable
        Called with the column names before any row is read.

    Yields
    ------
    number : int
        Number of the line in which the row begins.
    record : dict of str to str

    Raises
    ------
    ValueError
        For a row with a different number of fields than the first line, unmatched quotes, a field with too many
        characters or lines, and zero bytes. The message has the path and the line number.
    """
    csv.field_size_limit(LONGEST_LINE)
    with open_text(path, encoding) as file:
        lines = checked_lines(file, path)
        head = next(lines, "")
        if not head.strip():
            raise ValueError(f"{path} has no first line with column names; add one.")
        delimiter = max(DELIMITERS, key=head.count)
        names = [name.strip() for name in next(rows_of([head], path, 1, delimiter))[1]]
        check_names(names)
        quoted = delimiter != "\t" or uses_quotes(path, encoding, len(names))
        for number, row in rows_of(lines, path, 2, delimiter, quoted):
            if len(row) > 1 or any(field.strip() for field in row):
                check_row(row, names, delimiter, f"{path}, line {number}")
                yield number, dict(zip(names, row, strict=True))


def rows_of(lines, path, first, delimiter, quoted=True):
    """Rows and the number of the line in which each begins; the first line has number ``first``."""
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    rows = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
    while True:
        number = first + rows.line_num
        try:
            yield number, next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            what = f"is not CSV ({error})"
            if "end of data" in str(error):
                what = "opens a quote that is not closed"
            elif "limit" in str(error):
                what = f"has a field of more than {LONGEST_LINE:,} characters, perhaps because of an unclosed quote"
            raise ValueError(f"{path}, line {number} {what}; {REMEDY}.") from error


def uses_quotes(path, encoding, n_fields):
    """Whether quotes in a table with tabs enclose fields, as spreadsheets write them, or belong to the text.

    Databases write no quotes around fields. Quotes enclose fields if some line has a different number of tabs than the
    first line, which is only possible if a field contains a tab or a line end. They also enclose fields if each field
    that begins with a quote ends with one.
    """
    whole = n_fields > 1  # with one column, the number of tabs does not show where rows end
    closed = True
    with open_text(path, encoding) as file:
        lines = checked_lines(file, path)
        next(lines)
        for line in filter(str.strip, lines):
            if not whole or line.count("\t") != n_fields - 1:
                return True
            if closed and (line.startswith('"') or '\t"' in line):
                try:
                    next(csv.reader([line], delimiter="\t", strict=True))
                except csv.Error:
                    closed = False
    return closed


def check_row(row, names, delimiter, where):
    """Raise for a row with a wrong number of fields, or a field that contains whole rows after an unclosed quote."""
    if len(row) != len(names):
        raise ValueError(
            f"{where} has {len(row)} fields, but line 1 names {len(names)}; give every row all fields, and quote "
            "fields that contain the separator."
        )
    for field in row:
        if "\n" not in field and "\r" not in field:
            continue
        lines = field.splitlines()
        inner = [line for line in lines[1:-1] if line.strip()]
        rows = len(names) > 1 and len(inner) >= SWALLOWED
        if len(lines) > MOST_LINES or (rows and all(line.count(delimiter) == len(names) - 1 for line in inner)):
            raise ValueError(
                f"{where} has a quoted field of {len(lines):,} lines that look like rows: a quote is not closed; "
                f"{REMEDY}."
            )
