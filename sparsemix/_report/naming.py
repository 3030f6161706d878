"""Names of topics, given by people: a table with the columns topic and name. Topics of one name are shown as one."""

import csv
from numbers import Integral

LONGEST = 200  # characters of a name


def read_names(path, n_topics):
    """Read a table with the columns "topic" and "name"; further columns are ignored.

    Parameters
    ----------
    path : path
        CSV file.
    n_topics : int

    Returns
    -------
    names : dict of int to str
        Of the topics that have a name.

    Raises
    ------
    ValueError
        With the line, for a topic that does not exist or occurs twice, and for missing columns.
    """
    with open(path, newline="", encoding="utf-8-sig") as file:
        try:
            rows = csv.DictReader(file)
            if missing := {"topic", "name"} - set(rows.fieldnames or ()):
                raise ValueError(f"{path} has no column {sorted(missing)[0]!r}; its first line must be: topic,name")
            names, seen = {}, set()
            for row in rows:
                where = f"{path}, line {rows.line_num}"
                number = (row["topic"] or "").strip()
                if not number.isascii() or not number.isdigit() or int(number) >= n_topics:
                    raise ValueError(f"{where} names topic {number!r}; topics are numbers from 0 to {n_topics - 1}")
                if int(number) in seen:
                    raise ValueError(f"{where} names topic {number} again; give each topic one line")
                seen.add(int(number))
                if name := plain_name(row["name"]):
                    names[int(number)] = name
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{path} is not a table in UTF-8 ({error}); save it as CSV with UTF-8") from error
    return names


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
    return " ".join(str("" if name is None else name).split())[:LONGEST]


def groups_of(topics, names):
    """Lists of topics that are shown as one, the largest topic of each first.

    Parameters
    ----------
    topics : list of dict
        Largest first, with "id".
    names : dict of int to str
    """
    groups = {}
    for topic in topics:
        groups.setdefault(names.get(topic["id"], topic["id"]), []).append(topic)
    return sorted(groups.values(), key=lambda group: -sum(topic["weight"] for topic in group))
