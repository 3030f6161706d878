"""Rows of the tables: documents, words, and periods and groups. The first row has the names of the columns."""

import csv
import io

import numpy as np

from sparsemix._commands.outputs import BY_GROUP, OVER_TIME, cell, listed
from sparsemix._commands.reading.formats.files import scratch_file
from sparsemix._engine.blocks import spans
from sparsemix._report.dates import writer_of
from sparsemix._report.gathering import FEW
from sparsemix._report.naming import groups_of
from sparsemix._report.report import OVER_TIME as LABEL
from sparsemix.skipgram._vectors import nearest

# Topics of a document or word: smallest share and maximal number. Number of similar words.
LEAST_SHARE, MOST_LISTED, NEIGHBOURS = 0.01, 10, 10
# Words per search for neighbours.
BLOCK = 1024


class DocumentsTable:
    """documents.csv: a row for each document of the input, in order, kept on disk until it is written."""

    def __init__(self, corpus, held_out):
        self.inputs, self.numbers = corpus.inputs, corpus.numbers
        self.tokens = np.asarray(corpus.counts.sum(axis=1)).ravel()
        self.held = np.isin(np.arange(len(self.tokens)), held_out).astype(int)
        self.optional = [name for name in ("date", "group") if corpus.known(name)]
        self.optional += ["language"] if corpus.languages else []
        self.write_date = writer_of(document.date for document in corpus.inputs)
        self.next = 0  # number of the document of the next row
        self.file = scratch_file(self, corpus.folder)
        found = ["tokens", "held_out", "topic", "document_share", "topics", "name", "name_share"]
        self.write([["number", "file", "row", "id", *self.optional, *found, "copy_of", "left_out"]])

    def write(self, rows):
        """Append rows."""
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        self.file.write(text.getvalue().encode("utf-8", "backslashreplace"))

    def add(self, start, shares):
        """Add the documents with these topic shares, and those that are left out before them."""
        self.write(self.rows(start, shares))

    def copy_to(self, file):
        """Write all rows to a file."""
        self.write(self.left_out(len(self.inputs)))
        self.file.seek(0)
        file.writelines(self.file)

    def rows(self, start, shares):
        """The largest topic, and all topics above the least share in descending order."""
        for i, row in enumerate(shares, start=start):
            yield from self.left_out(int(self.numbers[i]))
            topics = largest(row)
            found = f"{self.tokens[i]:g}", self.held[i], topics[0], f"{row[topics[0]]:.4f}", shown(row, topics)
            yield self.row(self.next, *found)
            self.next += 1

    def left_out(self, stop):
        """Rows of the documents before number ``stop`` that are left out."""
        for number in range(self.next, stop):
            yield self.row(number, 0, "", "", "", "")
        self.next = stop

    def row(self, number, *found):
        """A row: the place of a document in the input, what was found, and what it repeats. Numbers count from 1."""
        document = self.inputs[number]
        return [
            number + 1, cell(document.file), document.row or "", cell(document.name),
            *(cell(self.shown(document, name)) for name in self.optional), *found, "", "",
            document.copy_of + 1 or "", document.missing,
        ]  # fmt: skip

    def shown(self, document, name):
        """An attribute of a document."""
        value = getattr(document, name)
        return self.write_date(value) if name == "date" else value


def largest(shares):
    """The topics above the least share, at least one, in descending order."""
    topics = np.argsort(-shares, kind="stable")[:MOST_LISTED]
    return [k for k in topics if shares[k] >= LEAST_SHARE] or topics[:1]


def shown(shares, topics):
    """Topics with their shares, as a cell."""
    return " ".join(f"{k}:{shares[k]:.3f}" for k in topics)


def renamed_documents(rows, names):
    """Rows of documents.csv with the name of most of a document, and the share of all listed topics of this name."""
    for row in rows:
        sums = {}
        for entry in row["topics"].split():
            topic, share = entry.split(":")
            called = names.get(int(topic), int(topic))
            sums[called] = sums.get(called, 0.0) + float(share)
        main = max(sums, key=sums.get, default=0)
        named = isinstance(main, str)
        yield row | {"name": cell(main) if named else "", "name_share": f"{sums[main]:.4g}" if named else ""}


def word_rows(model, corpus):
    """words.csv: each word, most frequent first, with its count, its largest topics (its senses), its neighbours."""
    yield ["word", "count", "topics", "similar_words"]
    names, counts = corpus.feature_names, corpus.counts.sum(axis=0, dtype=np.float64).A1
    order, known = np.argsort(-counts, kind="stable"), model._known()
    for start, stop in spans(len(order), BLOCK):
        near, _ = nearest(model.word_vectors_, order[start:stop], NEIGHBOURS, known)
        for v, similar in zip(order[start:stop], near, strict=True):
            shares = model.word_topics_[v]
            similar = cell(" ".join(names[w] for w in similar))
            yield [cell(names[v]), f"{counts[v]:g}", shown(shares, largest(shares)), similar]


def strata_tables(data):
    """The file names and rows of over_time.csv and by_group.csv, of the data of a report."""
    for i, stratum in enumerate(data["strata"]):
        timed = stratum["label"] == LABEL
        columns = ["period" if timed else "group", "documents", "few_documents", "topic", "name"]
        columns += ["mean_document_share", "more_frequent_words", "less_frequent_words"]
        yield OVER_TIME if timed else BY_GROUP, [columns, *strata_rows(i, data)]


def strata_rows(i, data):
    """A row for each bin and topic. Topics of one name have one row with the sum of their shares, and no words."""
    stratum = data["strata"][i]
    for b, (label, size) in enumerate(zip(stratum["bins"], stratum["sizes"], strict=True)):
        for group in groups_of(data["topics"], data["names"]):
            numbers = " ".join(str(topic["id"]) for topic in group)
            name = cell(data["names"].get(group[0]["id"], ""))
            share = sum(topic["strata"][i][b] for topic in group)
            changes = group[0]["changes"][i][b] if len(group) == 1 else ([], [])
            words = (listed(data["words"][v] for v in changed) for changed in changes)
            yield [cell(label), size, "yes" if size < FEW else "", numbers, name, f"{share:.4g}", *words]
