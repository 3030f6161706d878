"""Rows of the tables: documents and passages, words, and periods and groups. The first row names the columns."""

import csv
import io

import numpy as np
from sklearn.utils import gen_batches

from sparsemix.texts._commands.outputs import CHAPTERS, DOCUMENTS, PASSAGES, STRATA, cell, listed
from sparsemix.texts._reading.formats.files import scratch_file
from sparsemix.texts._report.bins import positions
from sparsemix.texts._report.dates import writer_of
from sparsemix.texts._report.merging import summed
from sparsemix.texts._report.naming import groups_of

# Smallest share of a topic in a document or word that is listed. Number of similar words.
LEAST_SHARE, NEIGHBOURS = 0.01, 10
# Words per search for neighbours.
BLOCK = 1024


class SharesTable:
    """A table on disk with the topic shares of passages, chapters or documents, in order.

    Consecutive rows of the corpus with one key are one unit: its shares are those of its tokens. ``about`` gives the
    first columns of a unit for its first row of the corpus. ``names`` are those of topics, by number.
    """

    found = ("tokens", "held_out", "topic", "document_share", "topics", "name", "name_share")

    def __init__(self, folder, tokens, held, keys, columns, about):
        self.tokens, self.held, self.keys, self.about, self.names = tokens, held, keys, about, {}
        self.file = scratch_file(self, folder)
        self.first = None  # row of the corpus with which the unit begins that is not written
        self.write([[*columns, *self.found]])

    def write(self, rows):
        """Append rows."""
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        self.file.write(text.getvalue().encode("utf-8", "backslashreplace"))

    def add(self, start, shares):
        """Add rows of the corpus with these topic shares."""
        self.write(row for i, each in enumerate(shares, start=start) for row in self.rows(i, each))

    def rows(self, i, shares):
        """Rows of the table before row i of the corpus."""
        if self.first is None or self.keys[i] != self.keys[self.first]:
            yield from self.unit()
            self.first, self.sums = i, np.zeros(len(shares))
        self.sums += self.tokens[i] * shares
        self.next = i + 1

    def unit(self):
        """The row of the unit before."""
        if self.first is not None:
            rows = slice(self.first, self.next)
            tokens, shares = self.tokens[rows].sum(), self.sums / self.sums.sum()
            topics = largest(shares)
            listing = shown(shares, topics)
            found = topics[0], f"{shares[topics[0]]:.4f}", listing, *name_of(listing, self.names)
            yield [*self.about(self.first), f"{tokens:g}", int(self.held[rows].all()), *found]

    def copy_to(self, file):
        """Write all rows to a file."""
        self.write(self.unit())
        self.file.seek(0)
        file.writelines(self.file)


class DocumentsTable(SharesTable):
    """documents.csv: a row for each document of the input, also for those that are left out."""

    def __init__(self, corpus, tokens, held):
        self.inputs, self.numbers = corpus.inputs, corpus.numbers
        self.optional = [name for name in ("date", "group") if corpus.known(name)]
        self.optional += ["language"] if corpus.languages else []
        self.write_date = writer_of(document.date for document in corpus.inputs)
        self.n_written = 0
        columns = ["number", "file", "row", "id", *self.optional]
        self.found = (*self.found, "copy_of", "left_out")
        numbers = corpus.numbers
        super().__init__(corpus.folder, tokens, held, numbers, columns, lambda i: self.place(numbers[i]))

    def unit(self):
        """The row of a document, after those that are left out before it."""
        for row in super().unit():
            number = int(self.numbers[self.first])
            yield from self.left_out(number)
            self.n_written += 1
            yield [*row, *self.copied(number)]

    def copy_to(self, file):
        """Write all rows to a file."""
        self.write(self.unit())
        self.first = None
        self.write(self.left_out(len(self.inputs)))
        super().copy_to(file)

    def left_out(self, stop):
        """Rows of the documents before number ``stop`` that are not written."""
        for number in range(self.n_written, stop):
            yield [*self.place(number), 0, "", "", "", "", "", "", *self.copied(number)]
        self.n_written = stop

    def place(self, number):
        """The place of a document in the input, and what is known of it. Numbers count from 1."""
        document = self.inputs[number]
        known = (cell(self.shown(document, name)) for name in self.optional)
        return [number + 1, cell(document.file), document.row or "", cell(document.name), *known]

    def shown(self, document, name):
        """An attribute of a document."""
        value = getattr(document, name)
        return self.write_date(value) if name == "date" else value

    def copied(self, number):
        """The document that a document repeats, and why it is left out."""
        return [self.inputs[number].copy_of + 1 or "", self.inputs[number].missing]


def tables_of_documents(corpus, held_out):
    """The tables of documents and, if they are cut, of chapters and passages, by their file names."""
    tokens = np.asarray(corpus.counts.sum(axis=1), dtype=np.float64).ravel()
    held = np.isin(np.arange(len(tokens)), held_out)
    tables = {DOCUMENTS: DocumentsTable(corpus, tokens, held)}
    if not corpus.is_cut:
        return tables
    numbers, places, titles = corpus.numbers, corpus.texts.places, corpus.texts.chapters
    at = positions(numbers, tokens)

    def about(i):
        return [numbers[i] + 1, cell(corpus.inputs[numbers[i]].name), cell(titles[i])]

    if any(titles):
        tables[CHAPTERS] = SharesTable(
            corpus.folder, tokens, held, np.cumsum(corpus.texts.begins), ["number", "id", "chapter"], about
        )
    tables[PASSAGES] = SharesTable(
        corpus.folder, tokens, held, np.arange(len(numbers)), ["number", "id", "chapter", "passage", "position"],
        lambda i: [*about(i), places[i], f"{at[i]:.4f}"],
    )  # fmt: skip
    return tables


def largest(shares):
    """The topics above the least share, at least one, in descending order."""
    topics = np.argsort(-shares, kind="stable")
    return [k for k in topics if shares[k] >= LEAST_SHARE] or topics[:1]


def shown(shares, topics):
    """Topics with their shares, as a cell."""
    return " ".join(f"{k}:{shares[k]:.3f}" for k in topics)


def merged_documents(rows, places):
    """Rows of documents.csv after a merge, in which topic k became topic ``places[k]``: shares are added."""
    for row in rows:
        if row["topics"]:
            sums = dict(summed(listed_shares(row["topics"]), places))
            topic = next(iter(sums))
            row |= {"topic": topic, "document_share": f"{sums[topic]:.4g}", "topics": shown(sums, sums)}
        yield row


def renamed_documents(rows, names):
    """Rows of documents.csv with other names of topics."""
    for row in rows:
        yield row | dict(zip(("name", "name_share"), name_of(row["topics"], names), strict=True))


def name_of(listing, names):
    """The name of most of a document, and the share of all topics of this name in the cell that ``shown`` writes."""
    sums = {}
    for topic, share in listed_shares(listing):
        called = names.get(topic, topic)
        sums[called] = sums.get(called, 0.0) + share
    main = max(sums, key=sums.get, default=0)
    return (cell(main), f"{sums[main]:.4g}") if isinstance(main, str) else ("", "")


def listed_shares(listing):
    """Topics and shares of a cell that ``shown`` has written."""
    for entry in listing.split():
        topic, share = entry.split(":")
        yield int(topic), float(share)


def word_rows(model, corpus):
    """words.csv: each word, most frequent first, with its count, its largest topics (its senses), its neighbours."""
    yield ["word", "count", "topics", "similar_words"]
    names, counts = corpus.feature_names, corpus.counts.sum(axis=0, dtype=np.float64).A1
    order = np.argsort(-counts, kind="stable")
    for part in gen_batches(len(order), BLOCK):
        for v, similar in zip(order[part], model.most_similar(order[part], NEIGHBOURS), strict=True):
            shares = model.word_topics_[v]
            similar = cell(" ".join(names[w] for w, _ in similar))
            yield [cell(names[v]), f"{counts[v]:g}", shown(shares, largest(shares)), similar]


def strata_tables(data):
    """The file names and rows of the tables of shares by period, group, document, position and chapter of a report."""
    for i, stratum in enumerate(data["strata"]):
        few = [f"few_{stratum['unit']}"] * bool(stratum["few"])
        columns = [stratum["kind"], stratum["unit"], *few, "topic", "name"]
        columns += [stratum["measure"].lower().replace(" ", "_"), "more_frequent_words", "less_frequent_words"]
        yield STRATA[stratum["kind"]], [columns, *strata_rows(i, data)]


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
            few = ["yes" if size < stratum["few"] else ""] * bool(stratum["few"])
            yield [cell(label), size, *few, numbers, name, f"{share:.4g}", *words]
