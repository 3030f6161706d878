"""Names of topics, given by people: a table with the columns topic and name. Topics of one name are shown as one."""

import codecs
import csv
import io
from numbers import Integral
from pathlib import Path

from sparsemix.texts._report.dates import is_blank

LONGEST = 200  # characters of a name
DELIMITERS = ",;\t|"
CODE_PAGE = "cp1252"


def read_names(path, n_topics, warn=None):
    """Names of topics in a table with the columns "topic" and "name", as ``table_rows`` reads it."""
    names, seen = {}, set()
    for where, row in table_rows(path, ("topic", "name"), warn):
        number = (row["topic"] or "").strip()
        if not number and not plain_name(row["name"]):
            continue  # an empty row of a spreadsheet
        if not number.isascii() or not number.isdigit() or int(number) >= n_topics:
            raise ValueError(f"{where} names topic {number!r}; topics are numbers from 0 to {n_topics - 1}")
        if int(number) in seen:
            raise ValueError(f"{where} names topic {number} again; give each topic one line")
        seen.add(int(number))
        if name := plain_name(row["name"]):
            names[int(number)] = name
    return names


def table_rows(path, columns, warn=None):
    """The place and the cells of each row of a table with these columns; cells without a heading are those of a number.

    Fields are separated by commas, semicolons, tabs or bars. Spreadsheets write all of these, in UTF-8, UTF-16 or the
    code page of Windows; ``warn`` is called with a sentence if the encoding was guessed. Errors name the line.
    """
    text = readable_text(path, warn)
    skipped = text.lower().startswith("sep=")  # a first line of Excel
    text = text.partition("\n")[2] if skipped else text
    head = text.partition("\n")[0]
    try:
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(DELIMITERS, key=head.count))
        rows.fieldnames = [name.strip().lower() or i for i, name in enumerate(rows.fieldnames or ())]
        if missing := [name for name in columns if name not in rows.fieldnames]:
            raise ValueError(f"{path} has no column {missing[0]!r}; its first line must be: {','.join(columns)}")
        for row in rows:
            yield f"{path}, line {rows.line_num + skipped}", row
    except csv.Error as error:
        raise ValueError(f"{path} is not a table ({error}); save it as CSV") from error


def readable_text(path, warn=None):
    """The text of a file; ``warn`` is called with a sentence if its encoding was guessed."""
    text, encoding = text_of_table(path)
    if encoding == CODE_PAGE and warn is not None:
        warn(f"{path} is not UTF-8 and was read as {CODE_PAGE}; look at letters with accents")
    return text


def text_of_table(path):
    """The text of a file and its encoding: that of its byte order mark, else UTF-8 or the code page of Windows."""
    content = Path(path).read_bytes()
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ["utf-16"] if marked else ["utf-8-sig", CODE_PAGE]:
        try:
            return content.decode(encoding), encoding
        except UnicodeDecodeError as error:
            problem = error
    raise ValueError(f"{path} is not a table in UTF-8 ({problem}); save it as CSV with UTF-8") from problem


def check_names(names, n_topics):
    """Checked names of topics, as a dict of int to str without empty names."""
    pairs = names.items() if hasattr(names, "items") else enumerate(names)
    checked = {}
    for topic, name in pairs:
        if not isinstance(topic, Integral) or not 0 <= topic < n_topics:
            raise ValueError(f"names has topic {topic!r}, but topics are numbers from 0 to {n_topics - 1}")
        if text := plain_name(name):
            checked[int(topic)] = text
    return checked


def plain_name(name):
    """A name in one line; "" for none."""
    return " ".join(str("" if is_blank(name) else name).split())[:LONGEST]


def groups_of(topics, names):
    """Lists of topics that are shown as one, in the order of the page, the first topic of each as in ``topics``."""
    groups = {}
    for topic in topics:
        groups.setdefault(names.get(topic["id"], topic["id"]), []).append(topic)
    return sorted(groups.values(), key=lambda group: [-sum(t[key] for t in group) for key in ("supported", "weight")])
