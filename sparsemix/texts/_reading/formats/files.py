"""Files as text: decompression by magic bytes, decoding, and a tally of undecodable bytes."""

import codecs
import io
import os
import re
import shutil
import sys
import tempfile
import unicodedata
import weakref
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from sparsemix.datasets import PACKED_ENDINGS, open_packed, text_encoding

# Marks of files that are no text, with their places, and the endings of such files.
NO_TEXT = {
    (b"%PDF", 0): ".pdf", (b"PK\x03\x04", 0): ".docx, .epub, .xlsx or .zip", (b"{\\rtf", 0): ".rtf",
    (b"ustar", 257): ".tar",
}  # fmt: skip
# Characters of a line; longer input is not text, or is a decompression bomb. Bytes that are read at once.
LONGEST_LINE, PIECE = 1 << 26, 1 << 20
# Bytes that show whether a file is text.
HEAD = 1 << 13
# Size at which a temporary file moves to disk, and the smaller size if other data are on disk too.
IN_MEMORY, LITTLE = 1 << 26, 1 << 20
LONE = re.compile("[\ud800-\udfff]")


@dataclass
class Tally:
    """What reading finds: problems for warnings, facts with their labels, and the place that is read now."""

    place: str = ""
    bad_characters: int = 0
    damaged: list = field(default_factory=list)
    skipped: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)

    def clean(self, text):
        """The text in composed characters; replaces and counts undecodable bytes and surrogates."""
        if text.isascii():
            return text
        if n := len(LONE.findall(text)):
            self.bad_characters += n
            if not self.damaged or self.damaged[-1] != self.place:
                self.damaged.append(self.place)
            text = LONE.sub("\ufffd", text)
        return unicodedata.normalize("NFC", text)

    def skip(self, name, reason):
        """Record a file or message that cannot be read."""
        self.skipped.append((name, reason))


@contextmanager
def open_text(path, encoding):
    """Open a file for text, with its line ends; undecodable bytes become lone surrogates.

    A byte order mark says the encoding. Of several encodings, separated by commas, the first one that decodes the file
    counts. Text in UTF-16 or UTF-32 without a mark also decodes in others, so its encoding must be among them.
    """
    with open_packed(path) as file:
        head = file.peek(HEAD)[:HEAD]
        found, marked = text_encoding(file)
        wide = None if marked else found
        encoding, given = found if marked else encoding_of(path, encoding, wide), encoding
        if ending := next((ending for mark, ending in NO_TEXT.items() if head.startswith(*mark)), None):
            raise ValueError(f"{path} is not text, but begins like a {ending} file; give it that ending.")
        text = head.decode(encoding, errors="replace")
        if wide and text != head.decode(wide, errors="replace"):
            raise ValueError(f"{path} seems to be in {wide}, without a mark of that; add --encoding {given},{wide}.")
        if "\0" in text:
            raise ValueError(f"{path} is not text (it has zero bytes); leave out binary files.")
        errors = "surrogateescape" if not encoding.startswith(("utf-16", "utf-32")) else "replace"
        with io.TextIOWrapper(file, encoding=encoding, errors=errors, newline="") as text:
            try:
                yield text
            except UnicodeError as error:
                raise ValueError(f"{path} is not {encoding} ({error}); name another by --encoding.") from error


def encoding_of(path, encodings, wide=None):
    """The ``wide`` encoding of the text if it is given; else the first that decodes the file, or the last one."""
    *first, last = encodings.split(",")
    if wide in (*first, last):
        return wide
    for encoding in first:
        decoder = codecs.getincrementaldecoder(encoding)()
        with open_packed(path) as file, suppress(UnicodeError):
            while block := file.read(PIECE):
                decoder.decode(block)
            decoder.decode(b"", final=True)
            return encoding
    return last


def unpacked_name(path):
    """The name of a file in small letters, without the ending of a compressed one."""
    name = path.name.lower()
    return name.removesuffix(next((ending for ending in PACKED_ENDINGS if name.endswith(ending)), ""))


def needed(path, error):
    """The sentence that names the package that a file needs."""
    return f'{path} needs the package {error.name.partition(".")[0]}: pip install "sparsemix[texts]".'


def damaged(path, what, error):
    """The sentence about a file whose content is not what its name says."""
    return f"{path} is damaged, or is no {what} file ({' '.join(str(error).split())}); save or get it again."


def read_whole(path, encoding, tally):
    """The text of a whole file."""
    tally.place = path.name
    with open_text(path, encoding) as file:
        return tally.clean("".join(checked_lines(file, path)))


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
        check_exists(path)
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


def check_exists(path):
    """Raise if nothing is at a path; the error names a path of nearly the same name."""
    if "://" in str(path):
        raise ValueError(f"{path} is an address; download the file, and give its path.")
    *_, last = (None, *(step for step in (Path(path), *Path(path).parents) if not step.exists()))
    if last is None:
        return
    if last.parent.is_file():
        raise FileNotFoundError(f"{path} does not exist: {last.parent} is a file; unpack it if it is an archive.")
    near = []
    with suppress(OSError):
        near = get_close_matches(last.name, os.listdir(last.parent), n=1)
    raise FileNotFoundError(f"{path} does not exist{f'; did you mean {last.parent / near[0]}?' if near else '.'}")


def scratch_file(owner, folder=None):
    """A temporary file that moves to disk once it is large; closed with its owner."""
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
