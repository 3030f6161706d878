"""over_time.csv and by_group.csv: shares of topics in periods and groups, and the words that changed."""

from sparsemix._commands.outputs import BY_GROUP, OVER_TIME, cell
from sparsemix._report.naming import groups_of
from sparsemix._report.report import OVER_TIME as LABEL
from sparsemix._report.strata import FEW

COLUMNS = (
    "documents", "few_documents", "topic", "name", "mean_document_share", "more_frequent_words", "less_frequent_words",
)  # fmt: skip
TABLES = {True: (OVER_TIME, "period"), False: (BY_GROUP, "group")}


def strata_tables(data):
    """Yield the file name, columns and rows of a table for each stratification of a report.

    Parameters
    ----------
    data : dict
        Of a report.
    """
    for i, stratum in enumerate(data["strata"]):
        name, column = TABLES[stratum["label"] == LABEL]
        yield name, [column, *COLUMNS], rows(i, data)


def rows(i, data):
    """A row for each bin and topic. Words are compared with the topic in all bins.

    Topics of one name have one row with the sum of their shares, and no words.
    """
    stratum = data["strata"][i]
    groups = groups_of(data["topics"], data["names"])
    for b, (label, size) in enumerate(zip(stratum["bins"], stratum["sizes"], strict=True)):
        for group in groups:
            numbers = " ".join(str(topic["id"]) for topic in group)
            name = cell(data["names"].get(group[0]["id"], ""))
            share = sum(topic["strata"][i][b] for topic in group)
            changes = group[0]["changes"][i][b] if len(group) == 1 else ([], [])
            words = (cell(joined(changed, data)) for changed in changes)
            yield [cell(label), size, "yes" if size < FEW else "", numbers, name, f"{share:.4g}", *words]


def trends(topic, data):
    """Words of a topic that became more frequent, and less frequent, over time."""
    return [cell(joined(numbers, data)) for pair in topic["trend"] for numbers in pair]


def joined(numbers, data):
    """Words separated by spaces."""
    return " ".join("_".join(data["words"][v].split()) or "_" for v in numbers)
