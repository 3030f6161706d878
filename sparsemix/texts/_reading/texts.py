"""Texts that are read once: in a temporary file, with a record of each document in memory."""

import os
from array import array
from dataclasses import replace

import numpy as np

from sparsemix.texts._commands.console import progress
from sparsemix.texts._reading.formats.files import scratch_file
from sparsemix.texts._reading.formats.records import COPY, NO_TEXT, OTHER_LANGUAGE
from sparsemix.texts._reading.passages import passages, size_of
from sparsemix.texts._reading.words.languages import languages_of, likeliest

# Characters of each text that the report can show.
EXCERPT = 2000


class Texts:
    """Sequence of texts in a temporary file. ``texts[i]`` is the beginning of text i, for the report.

    ``rows`` has the number of the document of each text, which is several texts if it is cut into passages. ``sizes``
    has the words of whole texts. Passages have ``places``, their numbers in the document, and titles of ``chapters``.
    ``shares`` are those of the languages.
    """

    def __init__(self, folder=None):
        self.file = scratch_file(self, folder)
        self.ends, self.sizes, self.rows = array("q", [0]), array("q"), None
        self.bounds = self.places = self.chapters = self.shares = None

    def append(self, text, size):
        """Add a text with this number of words."""
        self.file.seek(0, os.SEEK_END)
        self.ends.append(self.ends[-1] + self.file.write(text.encode("utf-8", "replace")))
        self.sizes.append(size)

    def keep(self, rows):
        """Keep the texts with these numbers only, or of this mask."""
        if self.rows is None:
            ends, self.rows = np.array(self.ends), np.arange(len(self.sizes))
            self.bounds, self.sizes = np.column_stack([ends[:-1], ends[1:]]), np.array(self.sizes)
        for name in ("rows", "bounds", "sizes", "places", "chapters"):
            value = getattr(self, name)
            setattr(self, name, None if value is None else value[rows])

    def cut(self, n_words):
        """Cut texts into passages of about this many words, which do not cross the beginning of a chapter."""
        rows, bounds, places, titles = [], [], [], []
        for i, (row, (start, _)) in enumerate(zip(self.rows, self.bounds, strict=True)):
            text, place, byte = self.read(i), 0, int(start)
            for number, (title, begin, end) in enumerate(passages(text, n_words), start=1):
                byte += len(text[place:begin].encode())
                stop, place = byte + len(text[begin:end].encode()), end
                rows.append(row)
                bounds.append((byte, stop))
                places.append(number)
                titles.append(title)
                byte = stop
        self.rows, self.bounds, self.sizes = np.array(rows), np.array(bounds), None
        self.places, self.chapters = np.array(places), np.array(titles, dtype=object)

    @property
    def begins(self):
        """Whether each passage begins a chapter or document; titles of chapters recur in the parts of a book."""
        return np.append(True, (np.diff(self.rows) != 0) | (self.chapters[1:] != self.chapters[:-1]))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.read(i, 4 * EXCERPT)[:EXCERPT]

    def read(self, i, most=-1):
        """Text i, or its first bytes."""
        start, end = self.bounds[i].tolist()
        self.file.seek(start)
        return self.file.read(end - start if most < 0 else min(most, end - start)).decode("utf-8", "ignore")

    def whole(self, rows=None):
        """The whole texts, or those with these numbers, one after the other."""
        texts = (self.read(i) for i in (range(len(self)) if rows is None else rows))
        return progress(texts, "texts whose words are counted")


def read_texts(documents, folder, drop_copies, wanted=None):
    """Texts with words, and all documents without their texts, with languages and marks of copies.

    Texts in another language than the wanted one, or in none that is recognised, are left out.
    """
    texts, inputs, first = Texts(folder), [], {}
    scores, hashes = array("f"), array("q")
    for document in progress(documents, "texts read"):
        plain = " ".join(document.text.casefold().split())
        texts.append(document.text, size_of(plain))
        inputs.append(replace(document, text="", missing=document.missing or ("" if plain else NO_TEXT)))
        scores.extend(likeliest(document.text))
        hashes.append(hash(plain))
    languages, texts.shares = languages_of(scores)
    for number, language in enumerate(languages):
        missing, original = inputs[number].missing, number
        if not missing and wanted is not None and language != wanted:
            missing = OTHER_LANGUAGE
        if not missing:
            original = first.setdefault(hashes[number], number)
            missing = COPY if drop_copies and original < number else ""
        copy_of = original if original < number else -1
        inputs[number] = replace(inputs[number], missing=missing, copy_of=copy_of, language=language)
    texts.keep(np.array([number for number, document in enumerate(inputs) if not document.missing], dtype=int))
    return texts, inputs
