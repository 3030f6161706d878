"""over_time.csv and by_group.csv: shares of topics in periods and groups, and the words that changed."""

from sparsemix._commands.outputs import BY_GROUP, OVER_TIME, cell
from sparsemix._report.report import OVER_TIME as LABEL

COLUMNS = "documents", "topic", "mean_document_share", "more_frequent_words", "less_frequent_words"
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
    """A row for each bin and topic. Words are compared with the topic in all bins."""
    stratum = data["strata"][i]
    for b, label in enumerate(stratum["bins"]):
        for topic in data["topics"]:
            words = (cell(joined(numbers, data)) for numbers in topic["changes"][i][b])
            yield [cell(label), stratum["sizes"][b], topic["id"], f"{topic['strata'][i][b]:.4g}", *words]


def trends(topic, data):
    """Words of a topic that became more frequent, and less frequent, over time."""
    return [cell(joined(numbers, data)) for pair in topic["trend"] for numbers in pair]


def joined(numbers, data):
    """Words separated by spaces."""
    return " ".join("_".join(data["words"][v].split()) or "_" for v in numbers)
