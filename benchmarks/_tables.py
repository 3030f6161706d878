"""Tables of committed results: what a page or README asks for, in a few lines, to a header, rows and notes.

A specification has a column a line, in the order of the table:

    corpus                                             a field that names the row
    covariances = parameters.covariance_type           the same under another heading
    held-out = {scores.nats:.3f} ({scores.npmi:.3f})   numbers: mean ± standard deviation where there are several seeds
    after 5 s = {at(5).nats:.3f}                       the last checkpoint of the curve before so many seconds
    best = {best(nats).nats:.3f}                       the best checkpoint of the curve by that score, chosen afterwards
    worst = {min scores.rand:.2f}                      min, max, median, mean or standard error over seeds
    MB = {memory:MB}                                   also ms and us, of seconds, Mega, Giga, all of Python

and before them, where they are needed, lines "where FIELD = VALUE | VALUE", which records there are in the table, and
"across FIELD", whose values stand side by side.
"""

import re
import textwrap
from dataclasses import dataclass
from statistics import mean, median, stdev

from _report import print_table
from _results import CLOCKS, FOLDER, IDENTITY, RecordError, read

NUMBERS = re.compile(r"\{(?:(min|max|median|mean|error) )?([^{}:]+):([^{}]+)\}")
POINT = re.compile(r"(at|best)\(([^()]+)\)\.(\w+)")
SCALES = {
    "MB": (1e-6, ",.0f"), "ms": (1e3, ".0f"), "us": (1e6, ".2f"), "Mega": (1e-6, ".2f"), "Giga": (1e-9, ".1f"),
}  # fmt: skip
NAMES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy"}
TUNED = " †"


@dataclass(frozen=True)
class Table:
    """Cells as text, and what has to be known about them."""

    header: list
    rows: list
    notes: list


@dataclass(frozen=True)
class Specification:
    """What a table shows: conditions, a field whose values stand side by side, and columns."""

    where: list
    across: str | None
    words: list  # (heading, field)
    numbers: list  # (heading, template)


def specify(lines):
    """Read a specification."""
    where, across, words, numbers = [], None, [], []
    for line in filter(None, map(str.strip, lines)):
        if line.startswith("where "):
            field, _, values = line.removeprefix("where ").partition(" = ")
            where.append((field.strip(), [value.strip() for value in values.split(" | ")]))
        elif line.startswith("across "):
            across = line.removeprefix("across ").strip()
        elif "{" in line:
            heading, _, template = line.partition(" = ")
            numbers.append((heading.strip(), template.strip()))
        else:
            heading, _, field = line.rpartition(" = ")
            words.append(((heading or field).strip(), field.strip()))
    if not words or not (numbers or any(field.startswith("claim.") or field == "found" for _, field in words)):
        raise RecordError("a table needs a column that names rows, and one of numbers in braces, of a claim or found")
    return Specification(where, across, words, numbers)


def look_up(record, field):
    """A field by its path; None where there is none."""
    if point := POINT.fullmatch(field):
        kind, argument, name = point.groups()
        checkpoint = checkpoint_of(record.get("curve", []), kind, argument)
        return checkpoint and checkpoint.get(name)
    if field == "label":
        return record.get("label", record["estimator"])
    for part in field.split("."):
        record = record.get(part) if isinstance(record, dict) else None
    return record


def checkpoint_of(curve, kind, argument):
    """The last before some seconds, or the best by a score; None where the curve has none."""
    if kind == "best":
        return max((point for point in curve if point.get(argument) is not None),
                   key=lambda point: point[argument], default=None)  # fmt: skip
    before = [point for point in curve if point["seconds"] <= 1.02 * float(argument)]
    return before[-1] if before else None


def make(records, lines):
    """The table that a specification asks of records; rows of one first cell stand together."""
    asked = specify(lines)
    records = [record for record in records if all(word(record, f) in values for f, values in asked.where)]
    if not records:
        raise RecordError(f"no record with {asked.where}")
    beside = list(dict.fromkeys(word(record, asked.across) for record in records)) if asked.across else [None]
    groups = {}
    for record in records:
        row = tuple(word(record, field) for _, field in asked.words)
        groups.setdefault(row, {}).setdefault(word(record, asked.across) if asked.across else None, []).append(record)
    header = [heading for heading, _ in asked.words]
    for value in beside:
        header += [heading if value is None else f"{value}: {heading}" for heading, _ in asked.numbers]
    rows, first_cells = [], distinct(row[0] for row in groups)
    for row, cells in sorted(groups.items(), key=lambda item: first_cells.index(item[0][0])):
        for group in cells.values():
            check_alike(group)
        rows.append([*row, *(cell(cells.get(value, []), template) for value in beside
                             for _, template in asked.numbers)])  # fmt: skip
        if any(on_its_own_corpus(record) for group in cells.values() for record in group):
            rows[-1][0] += TUNED
    spread = "errors" if any("{error " in template for _, template in asked.numbers) else "deviations"
    return Table(header, rows, notes(records, [group for cells in groups.values() for group in cells.values()], spread))


def word(record, field):
    """A field that names a row, as text."""
    value = look_up(record, field)
    return "" if value is None else str(value)


def check_alike(group):
    """Records of a cell may differ by their seeds alone."""
    for field in IDENTITY:
        values = {str(look_up(record, field)) for record in group}
        if field != "seed" and len(values) > 1:
            raise RecordError(f"a cell would be the mean over {field} {' and '.join(sorted(values))}; choose one")


def cell(group, template):
    """Numbers of a group in the place of fields; empty where one is missing, if only of one seed."""
    missing = False

    def fill(match):
        nonlocal missing
        kind, field, form = match.groups()
        values = [value for value in (look_up(record, field.strip()) for record in group) if value is not None]
        missing = missing or len(values) < len(group)
        scale, form = SCALES.get(form, (1, form))
        values = [scale * value for value in values]
        return figure(values, kind, form) if values else ""

    text = NUMBERS.sub(fill, template)
    return "" if missing else text


def figure(values, kind, form):
    """One number for several: with its spread unless it is asked for otherwise."""
    if kind:
        return format({"min": min, "max": max, "median": median, "mean": mean, "error": error}[kind](values), form)
    spread = f" ± {stdev(values):{form.lstrip('+')}}" if len(values) > 1 else ""
    return f"{mean(values):{form}}{spread}"


def error(values):
    """Standard error of a mean."""
    return stdev(values) / len(values) ** 0.5


def on_its_own_corpus(record):
    """Whether what is shown was chosen on this corpus."""
    return any(record["corpus"].startswith(name) for name in record.get("tuned_on", []))


def notes(records, groups, spread):
    """Command, seeds, clock, machine, versions, commit and day, and what a dagger means."""
    commands = distinct(f"``{record['command']}``" for record in records)
    out = [f"From {', '.join(commands)}."]
    seeds = sorted({len(group) for group in groups})
    if seeds[-1] > 1:
        many = f"{seeds[0]} to {seeds[-1]}" if seeds[0] < seeds[-1] else str(seeds[0])
        out.append(f"Means ± standard {spread} over {many} seeds.")
    elif any(record["seed"] is not None for record in records):
        out.append("One seed.")
    if any(map(on_its_own_corpus, records)):
        out.append("†: parameters or defaults of sparsemix were chosen on this corpus.")
    clocks = [CLOCKS[clock] for clock in distinct(record["clock"] for record in records)]
    machines = distinct("{cpu}, {cores} cores".format(**record["machine"]) for record in records)
    versions = {}
    for record in records:
        for name, value in record["versions"].items():
            versions.setdefault(name, []).append(value)
    packages = ", ".join(f"{NAMES.get(name, name)} {' and '.join(distinct(values))}"
                         for name, values in versions.items() if name != "sparsemix")  # fmt: skip
    days = sorted({record["date"] for record in records})
    commits = distinct(record["commit"] for record in records)
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    at = f", sources {commits[0]}" if len(commits) == 1 else f", measured at {len(commits)} commits"
    clocks[0] = clocks[0][0].upper() + clocks[0][1:]
    out.append(f"{'; '.join(clocks)}; {'; '.join(machines)}; {packages}; {when}{at}.")
    return out


def distinct(values):
    """In order of their first appearance."""
    return list(dict.fromkeys(values))


def as_rst(table, title=""):
    """Lines of a list-table, and its notes; a number and its spread stay on one line."""
    lines = [f".. list-table:: {title}".rstrip(), "   :header-rows: 1", "   :class: results", ""]
    together = [[cell.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}") for cell in row] for row in table.rows]
    for first, *others in [table.header, *together]:
        lines += [text.rstrip() for text in (f"   * - {first}", *(f"     - {other}" for other in others))]
    return [*lines, "", ".. rst-class:: results-notes", "", *" ".join(table.notes).splitlines(), ""]


def compare(specification, folder=FOLDER):
    """A table with a row for each task and a cell for each package, from several files of results.

    A task is a paragraph: its name, then lines "results = TABLE", "where FIELD = VALUE | VALUE", "score = WORDS",
    "cell = TEMPLATE", and "PACKAGE = LABEL as NAME | LABEL + LABEL", the own package first. A cell shows each part
    between "+", of a part the label with the largest first number, and where the own package's fit took longer, the
    score that it had by then.
    """
    rows, shown, packages = [], [], []
    for paragraph in specification.strip().split("\n\n"):
        task, *lines = paragraph.splitlines()
        conditions = specify([*(line for line in lines if line.startswith("where ")), "label", "{seconds:.1f}"]).where
        asked = dict(line.split(" = ", 1) for line in lines if not line.startswith(("where ", "command ", "fast ")))
        records = [record for record in read(asked.pop("results"), folder)
                   if all(word(record, field) in values for field, values in conditions)]  # fmt: skip
        score, template = asked.pop("score"), asked.pop("cell")
        cells, own = {}, None
        for package, labels in asked.items():
            groups = [best_group(records, part.split(" | "), template) for part in labels.split(" + ")]
            own = own or groups[0][1]
            cells[package] = "; ".join(f"{name}: {cell(group, template)}{by_then(own, group, template)}"
                                       for name, group in groups)  # fmt: skip
            for _, group in groups:
                shown.append(group)
                task += TUNED * (any(map(on_its_own_corpus, group)) and not task.endswith(TUNED))
        packages += [package for package in asked if package not in packages]
        rows.append((task, score, cells))
    table = [[task, score, *(cells.get(package, "") for package in packages)] for task, score, cells in rows]
    remarks = notes([record for group in shown for record in group], shown, "deviations")
    return Table(["task", "score", *packages], table, [remarks[0], *remarks[2:]])


def by_then(own, group, template):
    """The own package's score when this group's fits were over, if its own lasted longer and it has a curve."""
    end = mean(record["seconds"] for record in group)
    if mean(record["seconds"] for record in own) <= end or "curve" not in own[0]:
        return ""
    _, field, form = NUMBERS.search(template).groups()
    score = cell(own, f"{{mean at({end}).{field.rpartition('.')[2]}:{form}}}")
    return f" (sparsemix by then: {score})" if score else " (sparsemix: in its first epoch)"


def best_group(records, labels, template):
    """The name and the records of the label, and of its prior, whose first number has the largest mean."""
    _, field, _ = NUMBERS.search(template).groups()
    groups = []
    for asked in labels:
        label, _, name = asked.partition(" as ")
        for prior in distinct(record["prior"] for record in records):
            group = [record for record in records if word(record, "label") == label and record["prior"] == prior]
            if group:
                check_alike(group)
                groups.append((mean(look_up(record, field) for record in group), name or label, group))
    if not groups:
        raise RecordError(f"no record with label {' or '.join(labels)}")
    _, name, group = max(groups, key=lambda entry: entry[0])
    return name, group


def as_markdown(table):
    """Lines of a table for README, with its notes except the commands, which the pages of measurements have."""
    lines = ["| " + " | ".join(table.header) + " |", "|" + "---|" * len(table.header)]
    lines += ["| " + " | ".join(text.replace("|", r"\|") for text in row) + " |" for row in table.rows]
    return [*lines, "", *wrap(" ".join(table.notes[1:]))]


def wrap(text):
    """Lines of at most 120 characters."""
    return textwrap.wrap(text, 120, break_on_hyphens=False)


def print_records(title, records, specification):
    """The same table on a terminal."""
    table = make(records, specification.splitlines())
    n_left = len(specify(specification.splitlines()).words)
    print_table(title, table.header, table.rows, n_left, [note for note in table.notes if "†" in note])
