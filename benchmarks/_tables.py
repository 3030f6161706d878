"""Tables of records by pandas: what a page, the README or a terminal shows.

A specification has a column a line, in the order of the table:

    corpus                                             a field that names the row
    covariances = parameters.covariance_type           the same under another heading
    held-out = {scores.nats:.3f} ({scores.npmi:.3f})   numbers: mean ± standard deviation over seeds
    after 5 s = {at(5).nats:.3f}                       the last checkpoint of the curve before so many seconds
    best = {best(nats).nats:.3f}                       the best checkpoint of the curve by that score
    worst = {min scores.rand:.2f}                      min, max, median, mean or standard error over seeds
    MB = {memory:MB}                                   also ms and us, of seconds, Mega, Giga, all of Python

Before them may come lines "where FIELD = VALUE | VALUE", which choose records, and "across FIELD", whose values become
groups of columns.
"""

import re
from statistics import mean
from typing import NamedTuple

import pandas as pd
from _results import CLOCKS, IDENTITY, RecordError

NUMBER = re.compile(r"\{(?:(min|max|median|mean|error) )?([^{}:]+):([^{}]+)\}")
POINT = re.compile(r"(at|best)\(([^()]+)\)\.(\w+)")
SCALES = {
    "MB": (1e-6, ",.0f"), "ms": (1e3, ".0f"), "us": (1e6, ".2f"), "Mega": (1e-6, ".2f"), "Giga": (1e-9, ".1f"),
}  # fmt: skip
NAMES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy"}
TUNED = " †"
TEXTS = ("found", "claim.")  # fields of words that may be the only content of a table


class Table(NamedTuple):
    """Cells as text in a data frame, how many of its first columns are words, and notes."""

    cells: pd.DataFrame
    n_words: int
    notes: list


def frame(records):
    """A row for each record; what is in a dictionary has a column of its path too. Integers remain integers."""
    flat = [record | {"label": record.get("label", record["estimator"])}
            | {f"{field}.{name}": value for field, part in record.items() if isinstance(part, dict)
               for name, value in part.items()} for record in records]  # fmt: skip
    data = pd.DataFrame(flat, dtype=object).astype(object)
    data["tuned"] = [any(one["corpus"].startswith(name) for name in one.get("tuned_on", [])) for one in records]
    return data


def column(data, field):
    """Values of a field, or of a checkpoint of each curve; None where there are none."""
    if not (point := POINT.fullmatch(field)):
        return data[field] if field in data else pd.Series(None, data.index, object)
    kind, argument, name = point.groups()

    def of(curve):
        points = pd.DataFrame(curve if isinstance(curve, list) else [])
        if points.empty or (kind == "best" and argument not in points):
            return None
        if kind == "best":
            points = points.loc[[points[argument].astype(float).idxmax()]]
        else:
            points = points[points["seconds"] <= 1.02 * float(argument)].tail(1)
        return points[name].iloc[0] if name in points and len(points) else None

    return column(data, "curve").map(of)


def text(data, field):
    """Values of a field as words."""
    return column(data, field).map(lambda value: "" if value is None or value != value else str(value))


def choose(data, lines):
    """The records that "where" lines choose, and the other lines."""
    rest = []
    for line in filter(None, map(str.strip, lines)):
        if line.startswith("where "):
            field, _, values = line.removeprefix("where ").partition(" = ")
            data = data[text(data, field.strip()).isin([value.strip() for value in values.split(" | ")])]
            if data.empty:
                raise RecordError(f"no record with {line.removeprefix('where ')}")
        else:
            rest.append(line)
    return data, rest


def make(records, lines):
    """The table that a specification describes; rows with the same first cell are neighbours."""
    data, lines = choose(frame(records), lines)
    across = next((line.removeprefix("across ").strip() for line in lines if line.startswith("across ")), None)
    parts = [(line, *(part.strip() for part in line.partition(" = ")[::2])) for line in lines
             if not line.startswith("across ")]  # fmt: skip
    numbers = {heading: template for line, heading, template in parts if "{" in line}
    words = {heading: field or heading for line, heading, field in parts if "{" not in line}
    if len(words | numbers) < len(parts):
        raise RecordError("two columns have one heading")
    if not words or not (numbers or any(field.startswith(TEXTS) for field in words.values())):
        raise RecordError("a table needs a column that names rows, and one of numbers in braces, of a claim or found")
    keys = pd.DataFrame({heading: text(data, field) for heading, field in words.items()})
    rank = keys.iloc[:, 0].map({value: i for i, value in enumerate(keys.iloc[:, 0].unique())})
    keys, data = (part.loc[rank.sort_values(kind="stable").index] for part in (keys, data))
    group_of = text(data, across).loc[rank.index] if across else pd.Series("", data.index)
    groups = dict(iter(data.groupby([*(keys[name] for name in keys), group_of.loc[data.index]], sort=False)))
    rows = {}
    for (*key, value), group in groups.items():
        check_alike(group)
        row = rows.setdefault(tuple(key), dict(zip(words, key, strict=True)))
        row |= {f"{value}: {heading}" if across else heading: cell(group, template)
                for heading, template in numbers.items()}  # fmt: skip
        first = next(iter(words))
        row[first] += TUNED if group["tuned"].any() and not row[first].endswith(TUNED) else ""
    header = [*words, *(f"{value}: {name}" if across else name for value in group_of.unique() for name in numbers)]
    spread = "errors" if any("{error " in template for template in numbers.values()) else "deviations"
    cells = pd.DataFrame(list(rows.values()), columns=header).fillna("")
    return Table(cells, len(words), notes(data.loc[rank.index], [len(group) for group in groups.values()], spread))


def check_alike(group):
    """Records of a cell may differ by their seeds alone."""
    for field in IDENTITY:
        values = column(group, field).map(str).unique()
        if field != "seed" and len(values) > 1:
            raise RecordError(f"a cell would be the mean over {field} {' and '.join(sorted(values))}; choose one")


def cell(group, template):
    """The template with numbers of a group; empty if one is missing for some seed."""
    missing = False

    def fill(match):
        nonlocal missing
        kind, field, form = match.groups()
        values = column(group, field.strip()).dropna().astype(float)
        missing = missing or len(values) < len(group)
        if values.empty:
            return ""
        scale, form = SCALES.get(form, (1, form))
        values = values * scale
        if kind:
            return format(values.agg({"error": "sem", "mean": mean}.get(kind, kind)), form)
        spread = f" ± {values.std():{form.lstrip('+')}}" if len(values) > 1 else ""
        return f"{mean(values):{form}}{spread}"

    filled = NUMBER.sub(fill, template).replace(" ± nan", "")  # of one seed
    return "" if missing else filled


def notes(data, sizes, spread="deviations"):
    """Command, seeds, clock, machine, versions, commit and day, and what a dagger means."""
    out = [f"From {', '.join(f'``{command}``' for command in data['command'].unique())}."]
    if max(sizes) > 1:
        many = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else max(sizes)
        out.append(f"Means ± standard {spread} over {many} seeds.")
    elif data["seed"].notna().any():
        out.append("One seed.")
    if data["tuned"].any():
        out.append("†: parameters or defaults of sparsemix were chosen on this corpus.")
    clocks = "; ".join(CLOCKS[clock] for clock in data["clock"].unique())
    machines = data["machine.cpu"] + ", " + data["machine.cores"].map(str) + " cores"
    versions = {name.removeprefix("versions."): data[name].dropna().unique() for name in data
                if name.startswith("versions.") and data[name].notna().any()}  # fmt: skip
    packages = ", ".join(f"{NAMES.get(name, name)} {' and '.join(values)}" for name, values in versions.items()
                         if name != "sparsemix")  # fmt: skip
    days, commits = sorted(data["date"].unique()), data["commit"].unique()
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    at = f", sources {commits[0]}" if len(commits) == 1 else f", measured at {len(commits)} commits"
    machines = "; ".join(machines.unique())
    return [*out, f"{clocks[0].upper()}{clocks[1:]}; {machines}; {packages}; {when}{at}."]


def as_rst(table, title=""):
    """Lines of a list-table, and its notes; a number and its spread stay on one line."""
    lines = [f".. list-table:: {title}".rstrip(), "   :header-rows: 1", "   :class: results", ""]
    rows = table.cells.apply(lambda values: values.str.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"))
    for first, *others in [list(table.cells), *rows.to_numpy().tolist()]:
        lines += [line.rstrip() for line in (f"   * - {first}", *(f"     - {other}" for other in others))]
    return [*lines, "", ".. rst-class:: results-notes", "", *" ".join(table.notes).splitlines(), ""]


def show(records):
    """Print the records of a run: for each table and measurement the means over seeds."""
    for name, data in frame(records).groupby("table", sort=False):
        data = data.infer_objects()
        about = [field for field in data if field in ("corpus", "split", "label", "prior", "found")
                 or field.startswith("parameters.") or field in ("claim.text", "claim.reproduced")]  # fmt: skip
        about = [field for field in about
                 if field in ("label", "found") or data[field].map(str).groupby(data["label"]).nunique().max() > 1]
        numbers = [field for field in data if field.startswith("scores.") or field in ("seconds", "memory")]
        means = data[numbers].apply(pd.to_numeric).groupby([data[field].map(str) for field in about], sort=False).mean()
        means.columns = [field.removeprefix("scores.") for field in means]
        print(f"\n{name}\n{means.dropna(axis=1, how='all').reset_index().to_string(index=False, float_format='%.5g')}")
