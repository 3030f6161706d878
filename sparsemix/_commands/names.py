"""The command ``sparsemix report FOLDER --names FILE``: name and join topics of an earlier run, without a new fit."""

import csv
import json
import re
from contextlib import ExitStack
from pathlib import Path

import joblib

from sparsemix._commands.console import printable, warn
from sparsemix._commands.outputs import CHAPTERS, DOCUMENTS, MODEL, PASSAGES, REPORT, TOPICS, cell
from sparsemix._commands.reading.formats.files import LONGEST_LINE
from sparsemix._commands.tables import renamed_documents, strata_tables
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
    topics = (row | {"name": cell(names.get(int(row["topic"]), ""))} for row in read_table(folder / TOPICS))
    documents = [
        (name, as_lists(renamed_documents(read_table(folder / name), names)))
        for name in (DOCUMENTS, CHAPTERS, PASSAGES) if (folder / name).exists()
    ]  # fmt: skip
    pipeline = joblib.load(folder / MODEL)
    pipeline.topic_names_ = [names.get(k, "") for k in range(len(page.data["topics"]))]
    html = page.html().encode()
    tables = (TOPICS, as_lists(topics)), *documents, *strata_tables(page.data)
    with interrupts_wait(), ExitStack() as stack:  # files replace the earlier ones after all are written
        joblib.dump(pipeline, stack.enter_context(replacing(folder / MODEL)))
        stack.enter_context(replacing(folder / REPORT)).write(html)
        for name, rows in tables:
            file = stack.enter_context(replacing(folder / name, mode="w", newline="", encoding="utf-8"))
            csv.writer(file).writerows(rows)
    groups = groups_of(page.data["topics"], names)
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


def read_table(path):
    """Rows of a table of an earlier run, as dictionaries."""
    csv.field_size_limit(LONGEST_LINE)
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        if "name" not in (rows.fieldnames or ()):
            raise ValueError(f"{path} is not the table of an earlier run; run sparsemix topics again")
        yield from rows


def as_lists(rows):
    """Names of the columns, and the values of each row."""
    for number, row in enumerate(rows):
        if not number:
            yield list(row)
        yield list(row.values())
