"""documents.csv: a row for each document of the input, in order, with its topics or the reason why it is left out."""

from collections import Counter

import numpy as np

from sparsemix._commands.outputs import Spool, cell
from sparsemix._commands.reading.words.languages import main_languages

# Topics of a document: smallest share and maximal number.
LEAST_SHARE, MOST_LISTED = 0.01, 10


class DocumentsTable:
    """Rows of documents.csv, kept on disk until they are written.

    Parameters
    ----------
    corpus : Corpus
    held_out : ndarray of int
        Documents that were not learned from.
    """

    def __init__(self, corpus, held_out):
        self.inputs, self.numbers = corpus.inputs, corpus.numbers
        self.tokens = np.asarray(corpus.counts.sum(axis=1)).ravel()
        self.held = np.zeros(len(self.tokens), dtype=int)
        self.held[held_out] = 1
        found = main_languages(Counter(self.inputs.languages))
        several = corpus.languages is not None
        self.optional = {
            "date": self.inputs.dates if any(self.inputs.dates) else None,
            "group": self.inputs.groups if any(self.inputs.groups) else None,
            "language": [name if name in found else "" for name in self.inputs.languages] if several else None,
        }
        self.optional = {name: values for name, values in self.optional.items() if values is not None}
        self.next = 0  # number of the document of the next row
        self.spool = Spool(corpus.folder)
        found = ["tokens", "held_out", "topic", "document_share", "topics", "name", "name_share"]
        self.spool.add([["number", "file", "row", "id", *self.optional, *found, "copy_of", "left_out"]])

    def add(self, start, shares):
        """Add the documents with these topic shares, and those that are left out before them."""
        self.spool.add(self.rows(start, shares))

    def copy_to(self, file):
        """Write all rows to a file."""
        self.spool.add(self.left_out(len(self.inputs)))
        self.spool.copy_to(file)

    def rows(self, start, shares):
        """The largest topic, and all topics above the least share in descending order."""
        order = np.argsort(-shares, axis=1, kind="stable")[:, :MOST_LISTED]
        for row, topics in enumerate(order):
            number = int(self.numbers[start + row])
            yield from self.left_out(number)
            listed = [k for k in topics if shares[row, k] >= LEAST_SHARE] or topics[:1]
            text = " ".join(f"{k}:{shares[row, k]:.3f}" for k in listed)
            tokens, held = f"{self.tokens[start + row]:g}", self.held[start + row]
            yield self.row(number, tokens, held, topics[0], f"{shares[row, topics[0]]:.4f}", text, "", "")
            self.next = number + 1

    def left_out(self, stop):
        """Rows of the documents before number ``stop`` that are left out."""
        for number in range(self.next, stop):
            yield self.row(number, 0, "", "", "", "", "", "")
        self.next = stop

    def row(self, number, *found):
        """A row: the place of a document in the input, what was found, and what it repeats. Numbers count from 1."""
        inputs, first = self.inputs, self.inputs.copy_of[number]
        return [
            number + 1, cell(inputs.files[number]), inputs.rows[number] or "", cell(inputs.names[number]),
            *(cell(values[number]) for values in self.optional.values()), *found,
            first + 1 if first >= 0 else "", inputs.missing[number],
        ]  # fmt: skip


def renamed(rows, names):
    """Rows of documents.csv with the name under which most of a document falls, and its share.

    Shares of topics of one name are added, of those topics that the row lists.

    Parameters
    ----------
    rows : iterable of dict
    names : dict of int to str
    """
    for row in rows:
        sums = {}
        for entry in row["topics"].split():
            topic, share = entry.split(":")
            called = names.get(int(topic), int(topic))
            sums[called] = sums.get(called, 0.0) + float(share)
        main = max(sums, key=sums.get, default=0)
        named = isinstance(main, str)
        yield row | {"name": cell(main) if named else "", "name_share": f"{sums[main]:.4g}" if named else ""}
