"""Texts that are read once: kept in a temporary file, with names, languages and marks of equal texts."""

import os
from array import array
from collections import Counter
from hashlib import blake2b

import numpy as np

from sparsemix._commands.reading.formats.files import scratch_file
from sparsemix._commands.reading.words.languages import language_of

# Characters of each text that the report can show.
EXCERPT = 2000


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

    Parameters
    ----------
    documents : iterable of Document
    folder : str, default=None
        For the temporary files; None keeps short ones in memory.
    """

    def __init__(self, documents, folder=None):
        super().__init__(folder)
        self.names = Strings(folder) if folder else []
        self.dates, self.groups, self.languages, self.marks = [], [], [], array("Q")
        self.n_dropped, known = 0, {}
        for document in documents:
            self.append(document.text)
            self.names.append(document.name)
            self.dates.append(known.setdefault(document.date, document.date))
            self.groups.append(known.setdefault(document.group, document.group))
            self.languages.append(language_of(document.text))
            self.marks.append(mark_of(document.text))

    def __getitem__(self, i):
        return self.read(i, 4 * EXCERPT)[:EXCERPT]

    def whole(self, rows=None):
        """The whole texts, or those with these numbers, one after the other."""
        return (self.read(i) for i in (range(len(self)) if rows is None else rows))

    def keep(self, rows):
        """Keep these documents only."""
        super().keep(rows)
        for values in (self.names, self.dates, self.groups, self.languages):
            if isinstance(values, Strings):
                values.keep(rows)
            else:
                values[:] = [values[i] for i in rows]
        self.marks = array("Q", [self.marks[i] for i in rows])

    def copies(self):
        """Numbers of the documents that equal an earlier one, except for spaces and capitals."""
        marks = np.array(self.marks, dtype=np.uint64)
        later = marks > 0
        later[np.unique(marks, return_index=True)[1]] = False
        return np.flatnonzero(later)

    def drop_copies(self):
        """Keep the first of equal documents only, and count those that are dropped."""
        found = self.copies()
        self.keep(np.setdiff1d(np.arange(len(self)), found))
        self.n_dropped = len(found)

    def describe_languages(self):
        """Languages and their numbers of documents, most frequent first."""
        found = Counter(self.languages).most_common()
        return ", ".join(f"{language or 'not recognised'} {n:,}" for language, n in found) or "no documents"


def mark_of(text):
    """A number that equal texts share; 0 for a text without words."""
    plain = " ".join(text.casefold().split())
    return int.from_bytes(blake2b(plain.encode("utf-8", "replace"), digest_size=8).digest()) if plain else 0
