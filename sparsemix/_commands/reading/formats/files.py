"""Files as text: decompression by magic bytes, decoding, and a tally of undecodable bytes."""

import codecs
import io
import re
import shutil
import sys
import tempfile
import unicodedata
import weakref
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sparsemix.datasets._files import HEAD, open_packed

# Magic bytes of files that are not text, and the names of their formats.
NO_TEXT = {
    b"%PDF": "a PDF document; give it the ending .pdf or say --format pdf",
    b"\x89PNG": "a picture (PNG)",
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"GIF8": "a picture (GIF)",
    b"PK\x03\x04": "a ZIP archive or an Office document; name it .zip, .docx or .xlsx, or say --format",
    b"\xd0\xcf\x11\xe0": "an Office document of before 2007; save it as .docx, .xlsx or text",
    b"{\\rtf": "a document in Rich Text Format; save it as .docx or text",
    b"7z\xbc\xaf": "a 7-Zip archive; unpack it, and give the folder",
    b"Rar!": "a RAR archive; unpack it, and give the folder",
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
# Encodings that decode most bytes of UTF-8 to other characters, and characters that are checked for this.
SINGLE_BYTE, SAMPLE = ("iso8859-1", "iso8859-15", "cp1252", "cp1250", "cp1251", "koi8-r"), 10_000
LONE = re.compile("[\ud800-\udfff]")


@dataclass
class Tally:
    """Problems found while reading, for warnings, and the options that had an effect (``used``).

    ``place`` is what is read now.
    """

    place: str = ""
    bad_characters: int = 0
    damaged: list = field(default_factory=list)
    mistaken: list = field(default_factory=list)
    used: set = field(default_factory=set)
    without_text: int = 0
    skipped: list = field(default_factory=list)
    other_files: tuple = ()
    encoding: str = "utf-8"
    passages: int = 0
    sheets: list = field(default_factory=list)

    def clean(self, text):
        """The text in composed characters; replaces and counts undecodable bytes and surrogates."""
        if text.isascii():
            return text
        if n := len(LONE.findall(text)):
            self.bad_characters += n
            self.add(self.damaged)
            text = LONE.sub("\ufffd", text)
        elif self.encoding in SINGLE_BYTE and is_utf_8(text, self.encoding):
            self.add(self.mistaken)
        return unicodedata.normalize("NFC", text)

    def add(self, places):
        """Record this place once."""
        if not places or places[-1] != self.place:
            places.append(self.place)

    def skip(self, name, reason):
        """Record a file or message that cannot be read."""
        self.skipped.append((name, reason))


def is_utf_8(text, encoding):
    """Whether a text, which was decoded with a single-byte encoding, is UTF-8."""
    raw = text[:SAMPLE].encode(encoding, "surrogateescape")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return len(text) > SAMPLE and error.start > SAMPLE - 4  # a character that the sample cuts
    return not raw.isascii()


@contextmanager
def open_text(path, encoding, declared=None):
    """Open a file for text, with its line ends; undecodable bytes become lone surrogates.

    Of several encodings, separated by commas, the first one that decodes the file counts. An encoding that the file
    declares, found by the pattern ``declared``, precedes them.
    """
    encoding = encoding_of(path, encoding, declared)
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


def encoding_of(path, encodings, declared=None):
    """The first of the encodings that decodes the file; the last one if none does."""
    *first, last = encodings.split(",")
    if declared is not None:
        with open_packed(path) as file:
            found = declared.search(file.peek(HEAD)[:HEAD])
        with suppress(LookupError, UnicodeDecodeError):
            if found:
                return codecs.lookup(found[1].decode()).name
    for encoding in first:
        decoder = codecs.getincrementaldecoder(encoding)()
        with open_packed(path) as file:
            try:
                while block := file.read(PIECE):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
                return encoding
            except UnicodeError:
                continue
    return last


def refuse(head, path, encoding):
    """Raise for a known format that is not text."""
    for mark, called in NO_TEXT.items():
        if head.startswith(mark):
            raise ValueError(f"{path} is {called}.")
    if head.startswith(b"PAR1"):
        raise ValueError(f"{path} is a Parquet file; say --format parquet.")
    if b"\0" in head and not encoding.startswith(("utf-16", "utf-32")):
        raise ValueError(f"{path} is not text (it has zero bytes); if it is UTF-16, say --encoding utf-16-le.")


def read_whole(path, encoding, tally, declared=None):
    """The text of a whole file."""
    tally.place = path.name
    with open_text(path, encoding, declared) as file:
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
                tally.place = f"line {number}"
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


def check_encoding(encodings):
    """The canonical names of encodings, separated by commas.

    Raises if Python does not know one or if it does not decode to text.
    """
    names = []
    for encoding in encodings.split(","):
        try:
            names.append(codecs.lookup(encoding.strip()).name)
            "a".encode(names[-1]).decode(names[-1])  # some codecs map bytes to bytes
        except (LookupError, ValueError) as error:
            raise ValueError(f"--encoding {encoding} is not known; try utf-8, latin-1 or cp1252.") from error
    return ",".join(names)
