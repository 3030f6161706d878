"""Files as text: decompression by magic bytes, decoding, and a tally of undecodable bytes."""

import codecs
import io
import re
import shutil
import sys
import tempfile
import unicodedata
import weakref
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sparsemix.datasets._files import HEAD, open_packed

# Magic bytes of files that are not text, and the names of their formats.
NO_TEXT = {
    b"%PDF": "a PDF document; extract its text first, for example with pdftotext",
    b"\x89PNG": "a picture (PNG)",
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"GIF8": "a picture (GIF)",
    b"PK\x03\x04": "a zip archive (or an Office document); unpack it or save it as text first",
    b"\xd0\xcf\x11\xe0": "an Office document; save it as text first",
    b"\x7fELF": "a program",
    b"\x93NUMPY": "a NumPy array; save counts as a sparse matrix with scipy.sparse.save_npz",
    b"SQLite format 3": "a database; export a table as CSV",
}
ENDINGS = (".gz", ".bz2", ".xz", ".zst")
# Byte order marks. UTF-32 comes before UTF-16, whose mark is a prefix of its mark.
MARKS = [
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
]  # fmt: skip
# Limits: characters of a line; bytes of a file that is one document or one JSON value. Longer input is not text, or is
# a decompression bomb.
LONGEST_LINE, LARGEST_FILE, PIECE = 1 << 26, 1 << 31, 1 << 20
# Size at which a temporary file moves to disk, and the smaller size if other data are on disk too.
IN_MEMORY, LITTLE = 1 << 26, 1 << 20
LONE = re.compile("[\ud800-\udfff]")


@dataclass
class Tally:
    """Problems found while reading, for warnings."""

    bad_characters: int = 0
    bad_documents: int = 0
    without_text: int = 0
    other_files: tuple = ()

    def clean(self, text):
        """The text in composed characters; replaces and counts undecodable bytes and surrogates."""
        if text.isascii():
            return text
        if n := len(LONE.findall(text)):
            self.bad_characters += n
            self.bad_documents += 1
            text = LONE.sub("\ufffd", text)
        return unicodedata.normalize("NFC", text)


@contextmanager
def open_text(path, encoding):
    """Open a file for text, with its line ends; undecodable bytes become lone surrogates."""
    with open_packed(path) as file:
        head = file.peek(HEAD)[:HEAD]
        for mark, called in MARKS:
            if head.startswith(mark):
                file.read(len(mark))
                encoding, head = called, head[len(mark) :]
                break
        else:
            refuse(head, path, encoding)
        if "\0" in head.decode(encoding, errors="replace"):
            raise ValueError(f"{path} is not text (it has zero bytes); if it is UTF-16, say --encoding utf-16-le.")
        errors = "surrogateescape" if not encoding.startswith(("utf-16", "utf-32")) else "replace"
        with io.TextIOWrapper(file, encoding=encoding, errors=errors, newline="") as text:
            try:
                yield text
            except UnicodeError as error:
                raise ValueError(f"{path} is not {encoding} ({error}); name another by --encoding.") from error


def refuse(head, path, encoding):
    """Raise for a known format that is not text."""
    for mark, called in NO_TEXT.items():
        if head.startswith(mark):
            raise ValueError(f"{path} is {called}.")
    if head.startswith(b"PAR1"):
        raise ValueError(f"{path} is a Parquet file; say --format parquet.")
    if b"\0" in head and not encoding.startswith(("utf-16", "utf-32")):
        raise ValueError(f"{path} is not text (it has zero bytes); if it is UTF-16, say --encoding utf-16-le.")


def read_whole(path, encoding, tally):
    """The text of a whole file."""
    with open_text(path, encoding) as file:
        return tally.clean(read_all(file, path))


def read_all(file, path):
    """Read a text in pieces: one read call would allocate its limit, even for a short file."""
    pieces, length = [], 0
    while piece := file.read(PIECE):
        pieces.append(piece)
        length += len(piece)
        if "\0" in piece:
            raise ValueError(f"{path} is not text (it has zero bytes).")
        if length >= LARGEST_FILE:
            raise ValueError(f"{path} is longer than {LARGEST_FILE:,} characters; split it into documents.")
    return "".join(pieces)


def lines(path, encoding, tally):
    """Numbers and contents of nonempty lines."""
    with open_text(path, encoding) as file:
        for number, line in enumerate(checked_lines(file, path), start=1):
            if line := line.strip():
                yield number, tally.clean(line)


def checked_lines(file, path):
    """Lines of an open text with their line ends; errors name a line that is too long or has zero bytes."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE and not line.endswith("\n"):
            raise ValueError(
                f"{path}, line {number} is longer than {LONGEST_LINE:,} characters; give a file with one text per line."
            )
        if "\0" in line:
            raise ValueError(f"{path} is not text (line {number} has zero bytes).")
        yield line


@contextmanager
def on_disk(path):
    """A path that can be read more than once; standard input (``-``) is copied to a file first."""
    if str(path) != "-":
        yield Path(path)
        return
    if sys.stdin is None:
        raise ValueError("standard input is closed; pipe texts into the command, or give the path of a file.")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "standard input")
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield copy
        except ValueError as error:
            raise ValueError(str(error).replace(str(copy), copy.name)) from error


def scratch_file(owner, folder=None):
    """A temporary file that moves to disk once it is large (earlier with a folder); closed with its owner."""
    file = tempfile.SpooledTemporaryFile(max_size=LITTLE if folder else IN_MEMORY, dir=folder)  # noqa: SIM115
    weakref.finalize(owner, file.close)
    return file


def check_encoding(encoding):
    """The canonical name of the encoding; raises if Python does not know it or it does not decode to text."""
    try:
        known = codecs.lookup(encoding)
        "a".encode(encoding).decode(encoding)  # some codecs map bytes to bytes
    except (LookupError, ValueError) as error:
        raise ValueError(f"--encoding {encoding} is not known; try utf-8, latin-1 or cp1252.") from error
    return known.name
