"""The command ``sparsemix report FOLDER --names FILE``: name and join topics of an earlier run, without a new fit."""

import csv
import json
import re
from contextlib import ExitStack
from pathlib import Path

import joblib
import numpy as np

from sparsemix.extend import interrupts_wait, replacing
from sparsemix.texts._commands.console import printable, warn
from sparsemix.texts._commands.outputs import (
    CHAPTERS,
    DOCUMENTS,
    EFFECTS,
    MODEL,
    PASSAGES,
    REPORT,
    RUN,
    TOPICS,
    cell,
    json_of,
    listed,
)
from sparsemix.texts._commands.tables import merged_documents, renamed_documents, strata_tables
from sparsemix.texts._reading.formats.files import LONGEST_LINE
from sparsemix.texts._report.merging import merged_data
from sparsemix.texts._report.naming import groups_of, read_names
from sparsemix.texts._report.report import Report, rows_of_report
from sparsemix.topics import merge_topics

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def run(options, parser):
    """Read everything, then replace the files. Wrong input prints one line and exits with status 2."""
    try:
        rename(Path(options.folder), Path(options.names), options.merge)
    except (ValueError, TypeError, OSError, ImportError) as error:
        parser.error(str(error))


def rename(folder, path, merge=False):
    """Write names of topics to the report, tables and model of a folder; ``merge`` adds up topics of one name."""
    page, pipeline = read_report(folder / REPORT), joblib.load(folder / MODEL)
    n_before = len(page.data["topics"])
    if n_before != len(pipeline[-1].components_):
        raise ValueError(f"{folder} has a model and a report of different topics; run sparsemix topics again")
    names, files, topics = read_names(path, n_before, warn), {}, read_table(folder / TOPICS)
    tables = {name: read_table(folder / name) for name in (DOCUMENTS, CHAPTERS, PASSAGES) if (folder / name).exists()}
    effects = read_table(folder / EFFECTS) if (folder / EFFECTS).exists() else ()
    if merge:
        places, names, groups = merge_named(page, pipeline, names)
        topics = merged_topics(topics, page, places)
        tables = {name: merged_documents(rows, places) for name, rows in tables.items()}
        effects = merged_effects(effects, places)
        record = json.loads((folder / RUN).read_text(encoding="utf-8"))
        files[RUN] = json_of(record | {"merged": [*record.get("merged", ()), groups]})
    page.rename(names)
    topics, effects = (
        [row | {"name": cell(names.get(int(row["topic"]), ""))} for row in rows] for rows in (topics, effects)
    )
    tables = {TOPICS: topics, **{name: renamed_documents(rows, names) for name, rows in tables.items()}}
    tables |= {EFFECTS: effects} if effects else {}
    pipeline.topic_names_ = [names.get(k, "") for k in range(len(page.data["topics"]))]
    files[REPORT] = page.html().encode()
    tables = {name: as_lists(rows) for name, rows in tables.items()} | dict(strata_tables(page.data))
    replace_files(folder, pipeline, files, tables)
    shown = groups_of(page.data["topics"], names)
    print(f"{len(names):,} topics have names; {len(shown):,} topics are shown in {printable(folder / REPORT)}")
    if merge:
        print(f"the model has {len(shown):,} topics instead of {n_before:,}, with other numbers: save the names of the "
              "report again before the next change; coherence, stability and changes of words of merged topics are "
              "left out")  # fmt: skip


def merge_named(page, pipeline, names):
    """Merge the topics of each name in the page and the pipeline.

    Returns the new number of each topic, the names by new numbers, and the merged topics of each name.
    """
    known = {name: sorted(k for k in names if names[k] == name) for name in names.values()}
    groups = [group for group in known.values() if len(group) > 1]
    if not groups:
        raise ValueError("--merge needs two topics of one name, and the table has none; leave out --merge")
    merged, places = merge_topics(pipeline[-1], groups), np.arange(len(page.data["topics"]))
    for group in groups:
        places[group] = group[0]
    places = np.unique(places, return_inverse=True)[1].tolist()
    columns = {word: column for column, word in enumerate(pipeline[0].get_feature_names_out())}
    columns = [columns[word] for word in page.data["words"]]
    page.data = merged_data(page.data, places, merged.components_, columns)
    pipeline.steps[-1] = pipeline.steps[-1][0], merged
    return places, {places[k]: name for k, name in names.items()}, groups


def merged_topics(rows, page, places):
    """Rows of topics.csv after a merge. Topics that are not merged keep their words."""
    before = {int(row["topic"]): row for row in rows}
    n_words = max(len(row["words"].split()) for row in before.values())
    for found, topic in zip(rows_of_report(page.data, n_words), page.data["topics"], strict=True):
        row, *more = (before[old] for old, place in enumerate(places) if place == found["topic"])
        if more:
            words = {name: listed(found[name]) for name in ("words", "relevant_words")}
            row = dict.fromkeys(row, "") | words | {"token_share": f"{found['token_share']:.6f}"}
        yield row | {"topic": found["topic"], "repeats": topic["repeats"] or ""}


def merged_effects(rows, places):
    """Rows of effects.csv of the topics that are not merged; those of sums of topics need the corpus."""
    return [row | {"topic": k} for row in rows if places.count(k := places[int(row["topic"])]) == 1]


def replace_files(folder, pipeline, contents, tables):
    """Write the model, files and tables. They replace the earlier ones after all are written."""
    with interrupts_wait(), ExitStack() as stack:
        opened = [stack.enter_context(replacing(folder / MODEL))]
        joblib.dump(pipeline, opened[0])
        for name, content in contents.items():
            opened.append(stack.enter_context(replacing(folder / name)))
            opened[-1].write(content)
        for name, rows in tables.items():
            opened.append(stack.enter_context(replacing(folder / name, mode="w", newline="", encoding="utf-8")))
            csv.writer(opened[-1]).writerows(rows)
        for file in opened:
            file.flush()  # a full disk is noticed before any file is replaced


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
