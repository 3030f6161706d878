"""Tables as text (CSV, TSV): a record a row; a row that is not like the first line is refused with its line number."""

import csv

from sparsemix._commands.reading.files import LONGEST_LINE, checked_lines, open_text

DELIMITERS = ",;\t|"
# Lines of one field: more are an unclosed quote and no document.
MOST_LINES = 100_000
# Lines within a field, each with the delimiters of a row, from which on they are taken for rows.
SWALLOWED = 10
REMEDY = "a field that begins with a quote ends with one, and quotes inside it are doubled"


def table_records(path, encoding, check_names):
    """Line numbers and records of a table whose first line names the columns.

    Parameters
    ----------
    path : Path
    encoding : str
    check_names : callable
        Gets the names of the columns before any row is read.

    Yields
    ------
    number : int
        Of the line in which the row begins.
    record : dict of str to str

    Raises
    ------
    ValueError
        For a row with another number of fields, quotes that do not match, a field of too many characters or lines, and
        zero bytes; with the path and the number of the line.
    """
    csv.field_size_limit(LONGEST_LINE)
    with open_text(path, encoding) as file:
        lines = checked_lines(file, path)
        head = next(lines, "")
        if not head.strip():
            raise ValueError(f"{path} has no first line with the names of its columns.")
        delimiter = max(DELIMITERS, key=head.count)
        names = [name.strip() for name in next(rows_of([head], path, 1, delimiter))[1]]
        check_names(names)
        quoted = delimiter != "\t" or uses_quotes(path, encoding, len(names))
        for number, row in rows_of(lines, path, 2, delimiter, quoted):
            if len(row) > 1 or any(field.strip() for field in row):
                check_row(row, names, delimiter, f"{path}, line {number}")
                yield number, dict(zip(names, row, strict=True))


def rows_of(lines, path, first, delimiter, quoted=True):
    """Rows of some lines, each with the number of the line in which it begins; the first line has number ``first``."""
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
                what = f"has a field of more than {LONGEST_LINE:,} characters, perhaps a quote that is not closed"
            raise ValueError(f"{path}, line {number} {what}; {REMEDY}.") from error


def uses_quotes(path, encoding, n_fields):
    """Whether the quotes of a table with tabs enclose fields, as spreadsheets write them, or belong to the text.

    Databases write no quotes around fields. They enclose fields if some line has another number of tabs than the first
    one, which only a field with a tab or a line end inside explains, or if each field that begins with a quote ends
    with one.
    """
    whole = n_fields > 1  # lines of one column say nothing of where rows end
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
    """Refuse a row with another number of fields, or a field that has swallowed rows."""
    if len(row) != len(names):
        raise ValueError(
            f"{where} has {len(row)} fields and line 1 names {len(names)}; quote fields that have the separator "
            "inside, and give every row all fields."
        )
    for field in row:
        if "\n" not in field and "\r" not in field:
            continue
        lines = field.splitlines()
        inner = [line for line in lines[1:-1] if line.strip()]
        rows = len(names) > 1 and len(inner) >= SWALLOWED
        if len(lines) > MOST_LINES or (rows and all(line.count(delimiter) == len(names) - 1 for line in inner)):
            raise ValueError(
                f"{where} has a quoted field of {len(lines):,} lines that look like rows, so a quote is not closed; "
                f"{REMEDY}."
            )
