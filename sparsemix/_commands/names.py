"""The command ``sparsemix report FOLDER --names FILE``: name and join topics of an earlier run, without a new fit."""

import csv
import io
import json
import re
from contextlib import ExitStack
from pathlib import Path

import joblib

from sparsemix._commands.console import printable, warn
from sparsemix._commands.outputs import DOCUMENTS, MODELS, REPORT, TOPICS, cell, dumper
from sparsemix._commands.reading.formats.files import LONGEST_LINE
from sparsemix._commands.tables.documents import renamed
from sparsemix._commands.tables.strata import strata_tables
from sparsemix._engine.threads import interrupts_wait
from sparsemix._estimator.writing import replacing
from sparsemix._report import Report
from sparsemix._report.naming import groups_of, read_names

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
DESCRIPTION = """Write the report of an earlier run again, with names for its topics. FILE is a table with the columns
topic and name; the button of the report saves one. Topics of one name are shown as one. The names go to report.html,
all tables, and the attribute topic_names_ of the pipeline in the model file. Topics without a name lose theirs."""


def add_parser(commands):
    """Add the subcommand ``report``."""
    parser = commands.add_parser(
        "report", help="name and join topics of an earlier run", usage="%(prog)s FOLDER --names FILE",
        description=DESCRIPTION,
    )  # fmt: skip
    parser.add_argument("folder", metavar="FOLDER", help="the folder that sparsemix topics has written")
    parser.add_argument("--names", required=True, metavar="FILE", help="table (CSV) with the columns topic and name")
    parser.set_defaults(run=lambda options: run(options, parser))


def run(options, parser):
    """Read everything, then replace the files. Wrong input prints one line and exits with status 2."""
    try:
        rename(Path(options.folder), Path(options.names))
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))


def rename(folder, path):
    """Write names of topics to the report, the table and the model of a folder."""
    page = read_report(folder / REPORT)
    names = read_names(path, len(page.data["topics"]), warn)
    page.rename(names)
    table = renamed_table(folder / TOPICS, names)
    model, dump = next(((folder / name, dumper(kind)) for kind, name in MODELS.items() if (folder / name).is_file()),
                       (None, None))  # fmt: skip
    if model is None:
        raise ValueError(f"{folder} has no {' or '.join(MODELS.values())}; give the folder of an earlier run")
    pipeline = loaded(model)
    pipeline.topic_names_ = [names.get(k, "") for k in range(len(page.data["topics"]))]
    html = page.html().encode()
    with interrupts_wait(), ExitStack() as stack:  # files replace the earlier ones after all are written

        def opened(name):
            return stack.enter_context(replacing(folder / name))

        dump(pipeline, opened(model.name))
        opened(TOPICS).write(table.encode())
        opened(REPORT).write(html)
        for name, columns, rows in strata_tables(page.data):
            write_rows(opened(name), columns, rows)
        if (folder / DOCUMENTS).is_file():
            rename_documents(folder / DOCUMENTS, opened(DOCUMENTS), names)
    groups = groups_of(page.data["topics"], names)
    for group in groups:
        if name := names.get(group[0]["id"]):
            share, numbers = sum(topic["weight"] for topic in group), ", ".join(str(topic["id"]) for topic in group)
            print(f"{share:7.2%} of tokens  {printable(name)} (topics {numbers})")
    print(f"{len(names):,} topics have names; {len(groups):,} topics are shown in {printable(folder / REPORT)}")


def read_report(path):
    """The report of a file."""
    if not path.is_file():
        raise ValueError(f"{path} does not exist; give the folder of an earlier run")
    found = DATA.search(path.read_text(encoding="utf-8"))
    try:
        data = json.loads(found[1])
        data["names"] = {int(topic): name for topic, name in data["names"].items()}
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} is not a report of this version; run sparsemix topics again") from error
    return Report(data)


def renamed_table(path, names):
    """The text of topics.csv with these names."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        columns, rows = rows.fieldnames or [], list(rows)
    if not {"topic", "name"} <= set(columns):
        raise ValueError(f"{path} is not the table of an earlier run (it lacks the columns topic and name)")
    text = io.StringIO()
    table = csv.DictWriter(text, columns)
    table.writeheader()
    table.writerows(row | {"name": cell(names.get(int(row["topic"]), ""))} for row in rows)
    return text.getvalue()


def write_rows(file, columns, rows):
    """Write a table to a binary file."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    table = csv.writer(text)
    table.writerow(columns)
    table.writerows(rows)
    text.detach()


def rename_documents(path, file, names):
    """Write documents.csv to a binary file with the names of the main topics."""
    csv.field_size_limit(LONGEST_LINE)
    with path.open(newline="", encoding="utf-8") as source:
        rows = csv.DictReader(source)
        columns = rows.fieldnames or []
        if not {"topics", "name", "name_share"} <= set(columns):
            raise ValueError(f"{path} is not the table of a run of this version; run sparsemix topics again")
        write_rows(file, columns, ([row[column] for column in columns] for row in renamed(rows, names)))


def loaded(path):
    """The pipeline of a model file. A skops file may hold types of sparsemix and scikit-learn only."""
    if path.suffix != ".skops":
        return joblib.load(path)
    from skops import io as skops_io

    types = skops_io.get_untrusted_types(file=path)
    if odd := [name for name in types if not name.startswith(("sparsemix.", "sklearn."))]:
        raise ValueError(f"{path} holds types that are not of sparsemix: {', '.join(odd[:3])}")
    return skops_io.load(path, trusted=types)
