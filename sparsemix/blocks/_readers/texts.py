"""Blocks of text files with one document per line; a vectorizer counts the words of a block when it is first read."""

import codecs
import io
import os
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from typing import Any

from scipy import sparse

from sparsemix._estimator.parameters import plain_arguments
from sparsemix._estimator.writing import local_path, replacing
from sparsemix._typing import FilePath, Folder
from sparsemix._warnings import warn_caller
from sparsemix.blocks._readers.arrays import Blocks
from sparsemix.blocks._readers.paths import check_unchanged, open_binary, paths_of, state_of
from sparsemix.datasets._files import HEAD, in_utf8, unmarked_encoding, unpacked

# Bytes per call that skips decompressed text.
PIECE = 1 << 20


@plain_arguments
def from_text(
    paths: FilePath | Sequence[FilePath], vectorizer: Any, lines: int = 20_000, cache: Folder | bool = None
) -> Blocks:
    """Blocks of the documents of text files, one document per line.

    One scan finds the byte at which each block begins. A block is decoded and its words are counted when it is first
    read. Its counts are kept on disk for later readings: a fit of two epochs reads a block four times.

    Parameters
    ----------
    paths : path-like or list of path-like
        Files in UTF-8, or in UTF-16 or UTF-32 with a byte order mark; folders of ``.txt`` files, globs, and addresses
        such as ``s3://bucket/x.txt`` (needs fsspec). Files may be compressed by gzip, bzip2, xz or Zstandard. To read a
        block, a file that is compressed, or is not in UTF-8, is decoded from its first byte to that block, so convert
        large files first. Bytes that are not UTF-8 become U+FFFD, and a warning names the first document that has some.
        Reading a block of a file that has changed since the call raises ValueError, also if its counts are kept.
    vectorizer : object
        Fitted; its ``transform(texts)`` returns counts, as in ``CountVectorizer``. It can be fitted to an open file,
        which is read line by line.
    lines : int, default=20000
        Documents per block. No block has lines of two files.
    cache : path-like or False, default=None
        Folder for the counts, about 12 bytes for each word of each document. None takes the system's folder of
        temporary files, False counts in each reading. The counts are in a subfolder, which is removed with the blocks.
        Workers of a cluster that do not see the folder count in each reading.

    Returns
    -------
    blocks : Blocks
        Has the method ``texts(i)``, which returns the lines of a block.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sparsemix import blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "texts.txt")
    ...     _ = path.write_text("one two\\ntwo three\\nthree\\n")
    ...     with path.open() as file:
    ...         counter = CountVectorizer().fit(file)
    ...     [block.shape for block in blocks.from_text(path, counter, lines=2)]
    [(2, 3), (1, 3)]
    """
    return TextBlocks(paths_of(paths, ".txt"), vectorizer, lines, cache)


class TextBlocks(Blocks):
    """Blocks of consecutive lines of files."""

    portable = True

    def __init__(self, paths, vectorizer, lines, cache=None):
        if lines < 1:
            raise ValueError(f"lines is {lines}; give at least 1 line per block")
        self._vectorizer, self._states = vectorizer, {path: state_of(path) for path in paths}
        self._places, n_damaged, first = [], 0, None
        for path in paths:
            places, damaged, line = places_of(path, lines)
            self._places += places
            n_damaged += damaged
            first = first or (damaged and f"line {line} of {path}")
        if n_damaged:
            warn_caller(
                f"{n_damaged} documents have bytes other than UTF-8, which U+FFFD replaces; the first one is {first}; "
                "convert such files to UTF-8, for example by iconv",
            )
        self._cache = folder_of(cache)  # pickled copies use it where they see it, and only this object removes it
        if self._cache is not None:
            weakref.finalize(self, remove, self._cache, os.getpid())

    @property
    def sizes(self):
        """Documents of each block."""
        return [n for _, _, n in self._places]

    def __len__(self):
        return len(self._places)

    def texts(self, i):
        """Lines of a block."""
        path, start, n = self._places[i]
        check_unchanged(path, self._states[path])
        with open_text(path) as file:
            skip(file, start)
            found = [file.readline().rstrip(b"\r\n") for _ in range(n)]
        check_unchanged(path, self._states[path])  # a file that is cut now has had empty lines
        found[0] = found[0] if start else found[0].removeprefix(codecs.BOM_UTF8)
        return [line.decode("utf-8", errors="replace") for line in found]

    def _read(self, i):
        if self._cache is None:
            return self._counted(i)
        source, *_ = self._places[i]
        check_unchanged(source, self._states[source])  # one block would be of the old text, and the next raise
        path = os.path.join(self._cache, f"block{i:05d}.npz")
        with suppress(OSError, ValueError, KeyError, zipfile.BadZipFile):  # not there, or damaged
            return sparse.csr_array(read_counts(path))
        X = self._counted(i)
        with suppress(OSError), replacing(path) as file:  # without the folder or space, the next reading counts again
            sparse.save_npz(file, X, compressed=False)
        return X

    def _counted(self, i):
        return sparse.csr_array(self._vectorizer.transform(self.texts(i)))


def read_counts(path):
    """Counts of a block from the cache; closes a damaged file, too."""
    with open(path, "rb") as file:
        return sparse.load_npz(file)


def remove(folder, pid):
    """Remove a cache at the end of the process that made it, and not of one that it forked."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def folder_of(cache):
    """A new folder for counts, below the given one or that of temporary files; None if there is none."""
    if cache is False:
        return None
    if cache is None:
        with suppress(OSError):
            return tempfile.mkdtemp(prefix="sparsemix-")
        return None
    if not isinstance(cache, (str, os.PathLike)):
        raise TypeError(f"cache is {cache!r}; give a folder, None for a temporary one, or False")
    parent = local_path(cache, "cache")
    parent.mkdir(parents=True, exist_ok=True)
    return tempfile.mkdtemp(prefix="sparsemix-", dir=parent.absolute())


@contextmanager
def open_text(path):
    """A file or an address, decompressed and in UTF-8, open for reading bytes."""
    with open_binary(path) as file, unpacked(file if hasattr(file, "peek") else io.BufferedReader(file), path) as text:
        yield in_utf8(text)


def skip(file, n_bytes):
    """Move forward in a file that was opened; decompressed and decoded ones cannot seek."""
    if file.seekable():
        file.seek(n_bytes)
        return
    while n_bytes > 0 and (piece := file.read(min(n_bytes, PIECE))):
        n_bytes -= len(piece)


def places_of(path, lines):
    """(path, first byte, number of lines) of each block of a file; how many lines are not UTF-8, and the first one."""
    places, start, n, at, damaged, first = [], 0, 0, 0, 0, None
    with open_text(path) as file:
        wide = unmarked_encoding(file.peek(HEAD)[:HEAD])
        for number, line in enumerate(file, start=1):
            at += len(line)
            n += 1
            if b"\0" in line:
                remedy = f"it seems to be in {wide}: convert it, or begin it with a byte order mark" if wide else (
                    "leave the file out if it is binary, or remove these bytes"
                )
                place = f"document {n} of block {len(places)}"
                raise ValueError(f"{path} is not text in UTF-8: {place} has zero bytes; {remedy}")
            if not line.isascii() and not is_utf8(line):
                damaged, first = damaged + 1, first or number
            if n == lines:
                places.append((path, start, n))
                start, n = at, 0
    return places + [(path, start, n)] * (n > 0), damaged, first


def is_utf8(line):
    """Whether bytes decode as UTF-8."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
