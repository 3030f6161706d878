"""Texts that are read once: kept in a temporary file, with names, languages and marks of equal texts."""

import os
from array import array
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from sparsemix._commands.reading.formats.files import scratch_file
from sparsemix._commands.reading.formats.records import NO_TEXT
from sparsemix._commands.reading.words.languages import language_of, main_languages

# Characters of each text that the report can show.
EXCERPT = 2000
# Why a document is left out; records.py has more reasons.
COPY, NO_KNOWN_WORD = "copy", "no known word"


class Strings:
    """Sequence of strings in a temporary file."""

    def __init__(self, folder=None):
        self.file = scratch_file(self, folder)
        self.ends = array("q", [0])
        self.rows = None

    def append(self, text):
        """Add a string."""
        self.file.seek(0, os.SEEK_END)
        self.ends.append(self.ends[-1] + self.file.write(text.encode("utf-8", "replace")))

    def __len__(self):
        return len(self.ends) - 1 if self.rows is None else len(self.rows)

    def __getitem__(self, i):
        return self.read(i)

    def read(self, i, n_bytes=None):
        """String i, or its first ``n_bytes`` bytes."""
        row = i if self.rows is None else int(self.rows[i])
        length = self.ends[row + 1] - self.ends[row]
        self.file.seek(self.ends[row])
        return self.file.read(length if n_bytes is None else min(n_bytes, length)).decode("utf-8", "ignore")

    def keep(self, rows):
        """Keep these strings only."""
        self.rows = np.asarray(rows) if self.rows is None else self.rows[rows]


class Texts(Strings):
    """Documents in a temporary file: whole texts to count, and their beginnings for the report (``texts[i]``).

    ``inputs`` lists all documents of the input. ``rows`` are the numbers there of those that are kept, which ``names``,
    ``dates``, ``groups`` and ``languages`` describe.

    Parameters
    ----------
    documents : iterable of Document
    folder : str, default=None
        For the temporary files; None keeps short ones in memory.
    """

    def __init__(self, documents, folder=None):
        super().__init__(folder)
        self.inputs = inputs = Inputs(Strings(folder) if folder else [])
        self.n_dropped, marks, known = 0, array("Q"), {}
        for document in documents:
            self.append(document.text)
            inputs.names.append(document.name)
            for values, value in (
                (inputs.files, document.file), (inputs.dates, document.date), (inputs.groups, document.group),
                (inputs.missing, document.missing or blank(document.text)),
                (inputs.languages, language_of(document.text)),
            ):  # fmt: skip
                values.append(known.setdefault(value, value))
            inputs.rows.append(document.row)
            marks.append(mark_of(document.text))
        inputs.copy_of = first_equal(np.array(marks, dtype=np.uint64))
        self.keep(np.flatnonzero([not missing for missing in inputs.missing]))

    def __getitem__(self, i):
        return self.read(i, 4 * EXCERPT)[:EXCERPT]

    def whole(self, rows=None):
        """The whole texts, or those with these numbers, one after the other."""
        return (self.read(i) for i in (range(len(self)) if rows is None else rows))

    @property
    def names(self):
        """Names of the documents."""
        return Kept(self.inputs.names, self.rows)

    @property
    def dates(self):
        """Dates of the documents."""
        return [self.inputs.dates[i] for i in self.rows]

    @property
    def groups(self):
        """Groups of the documents."""
        return [self.inputs.groups[i] for i in self.rows]

    @property
    def languages(self):
        """Languages of the documents."""
        return [self.inputs.languages[i] for i in self.rows]

    def copies(self):
        """Places of the documents that equal an earlier one, except for spaces and capitals."""
        return np.flatnonzero(self.inputs.copy_of[self.rows] >= 0)

    def drop_copies(self):
        """Keep the first of equal documents only, and count those that are dropped."""
        found = self.copies()
        for number in self.rows[found]:
            self.inputs.missing[number] = COPY
        self.keep(np.setdiff1d(np.arange(len(self)), found))
        self.n_dropped = len(found)

    def describe_languages(self):
        """Languages and their numbers of documents, most frequent first."""
        seen = Counter(self.languages)
        found = [(language, seen[language]) for language in main_languages(seen)]
        rest = seen.total() - sum(n for _, n in found)
        found += [("not recognised", rest)] if rest else []
        return ", ".join(f"{language} {n:,}" for language, n in sorted(found, key=lambda pair: -pair[1]))


class Kept:
    """Some strings of a sequence."""

    def __init__(self, strings, rows):
        self.strings, self.rows = strings, rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.strings[int(self.rows[i])]


@dataclass
class Inputs:
    """All documents of the input, in order: kept, dropped, empty and unreadable ones.

    ``copy_of`` is the number of the first document with the same text, or -1; ``missing`` the reason why a document
    is left out, or "".
    """

    names: object
    files: list = field(default_factory=list)
    rows: array = field(default_factory=lambda: array("q"))
    dates: list = field(default_factory=list)
    groups: list = field(default_factory=list)
    languages: list = field(default_factory=list)
    missing: list = field(default_factory=list)
    copy_of: np.ndarray | None = None

    def __len__(self):
        return len(self.rows)


def blank(text):
    """The reason to leave out a text of spaces only, as of an empty cell; "" for other texts."""
    return "" if text and not text.isspace() else NO_TEXT


def inputs_of_counts(n_documents):
    """The documents of a matrix of counts, named by their numbers."""
    def same(value):
        return [value] * n_documents

    return Inputs(
        [f"document {i}" for i in range(1, n_documents + 1)], same(""), array("q", range(1, n_documents + 1)),
        same(""), same(""), same(""), same(""), np.full(n_documents, -1),
    )  # fmt: skip


def first_equal(marks):
    """The place of the first equal mark for each mark that repeats an earlier one, else -1; zeros repeat nothing."""
    _, first, inverse = np.unique(marks, return_index=True, return_inverse=True)
    first = first[inverse]
    return np.where((marks > 0) & (first < np.arange(len(marks))), first, -1)


def mark_of(text):
    """A number that equal texts share; 0 for a text without words."""
    plain = " ".join(text.casefold().split())
    return int.from_bytes(blake2b(plain.encode("utf-8", "replace"), digest_size=8).digest()) if plain else 0
