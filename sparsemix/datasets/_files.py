"""Compressed files, recognised by their first bytes, and files of other encodings, by their byte order mark."""

import bz2
import codecs
import io
import lzma
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sparsemix._typing import FilePath

PACKED_ENDINGS = ".gz", ".bz2", ".xz", ".zst"
HEAD = 1 << 13
# Bytes that are read, and decompressed, at once; those of Zstandard, of which 4 may become 128 KB.
PIECE, ZSTANDARD_PIECE = 1 << 17, 1 << 10


# Byte order marks. UTF-32 comes before UTF-16, whose mark is a prefix of its mark.
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
# Encodings whose text has zero bytes. Their characters, by the upper bytes of their numbers, are nearly all of two
# kinds, Latin ones and those of another alphabet; in the wrong order of bytes, and in binary files, they are of many.
WIDE, MOSTLY = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"), 0.9


class Stream(io.RawIOBase):
    """Pieces of bytes, which an iterator yields, as a file."""

    def __init__(self, pieces):
        self._pieces, self._piece = iter(pieces), b""

    def readable(self):
        """See io."""
        return True

    def readinto(self, buffer):
        """Fill the buffer, unless the pieces end."""
        n = 0
        while n < len(buffer):
            self._piece = self._piece or memoryview(next(self._pieces, b""))
            if not self._piece:
                break
            k = min(len(self._piece), len(buffer) - n)
            buffer[n : n + k], self._piece = self._piece[:k], self._piece[k:]
            n += k
        return n


class GzipDecompressor:
    """One member of a gzip file, with the interface of ``bz2.BZ2Decompressor``."""

    def __init__(self):
        self._inner = zlib.decompressobj(wbits=31)
        self.needs_input = True

    def decompress(self, data, max_length):
        """Bytes of the content, at most ``max_length``."""
        found = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self.needs_input = not self._inner.unconsumed_tail and len(found) < max_length
        return found

    @property
    def eof(self):
        """Whether the member is whole."""
        return self._inner.eof

    @property
    def unused_data(self):
        """What follows the member."""
        return self._inner.unused_data


class ZstandardDecompressor(GzipDecompressor):
    """One frame of a Zstandard file. The package returns all content of its input, so it is given little."""

    def __init__(self, zstandard):
        self._inner, self._rest = zstandard.ZstdDecompressor().decompressobj(), b""

    def decompress(self, data, max_length):  # noqa: ARG002
        """Bytes of the content of a little input."""
        data = self._rest + data
        self._rest = data[ZSTANDARD_PIECE:]
        return self._inner.decompress(data[:ZSTANDARD_PIECE])

    @property
    def needs_input(self):
        """Whether all input is decompressed."""
        return not self._rest

    @property
    def unused_data(self):
        """What follows the frame."""
        return self._inner.unused_data + self._rest


def zstandard_maker(path):
    """Maker of decompressors of Python's module or of the package zstandard."""
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        try:
            import zstandard
        except ImportError as error:
            raise ValueError(f"{path} is compressed by zstd; decompress it, or pip install zstandard.") from error
        return lambda: ZstandardDecompressor(zstandard)
    return zstd.ZstdDecompressor


# By format: the first bytes of a stream, and a function that returns the maker of decompressors of one stream each.
# Frames of Zstandard may be skippable, which have no content.
FORMATS = {
    "gzip": ((b"\x1f\x8b",), lambda _: GzipDecompressor),
    "bzip2": ((b"BZh",), lambda _: bz2.BZ2Decompressor),
    "xz": ((b"\xfd7zXZ\x00",), lambda _: lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)),
    "Zstandard": ((b"\x28\xb5\x2f\xfd", *(bytes([n]) + b"\x2a\x4d\x18" for n in range(0x50, 0x60))), zstandard_maker),
}


@contextmanager
def open_packed(path: FilePath) -> Iterator[Any]:
    """Open a file for reading bytes, decompressed if its first bytes are those of gzip, bzip2, xz or Zstandard.

    Parameters
    ----------
    path : str or path
        Name of the file, which may have any ending; ``PACKED_ENDINGS`` are the usual ones.

    Returns
    -------
    file : context manager
        Gives an open file. Reading raises ValueError for a compressed file that is damaged or cut off, or if other
        bytes follow its end.

    Examples
    --------
    >>> import gzip
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sparsemix.datasets import open_packed
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "text")
    ...     n_bytes = path.write_bytes(gzip.compress(b"topics"))
    ...     with open_packed(path) as file:
    ...         file.read()
    b'topics'
    """
    path = Path(path)
    with path.open("rb") as file, unpacked(file, path) as content:
        yield content


@contextmanager
def unpacked(file, path):
    """The same for an open file with ``peek``; errors name ``path``."""
    head = file.peek(HEAD)[:HEAD]
    name = next((name for name, (marks, _) in FORMATS.items() if head.startswith(marks)), None)
    if name is not None:
        marks, maker = FORMATS[name]
        yield io.BufferedReader(Stream(content_of(file, path, name, marks, maker(path))), PIECE)
        return
    if ending := next((ending for ending in PACKED_ENDINGS if str(path).lower().endswith(ending)), None):
        raise not_whole(path, f"only its name ends in {ending}" if head else "it is empty")
    yield file


def marked_encoding(file):
    """The encoding that the byte order mark of an open file names; None without a mark."""
    head = file.peek(HEAD)[:HEAD]
    return next((encoding for mark, encoding in MARKS.items() if head.startswith(mark)), None)


def unmarked_encoding(head):
    """The encoding of a text that has zero bytes, but no byte order mark; None for other content, such as a picture."""
    for encoding in WIDE if b"\0" in head else ():
        with suppress(UnicodeDecodeError):
            text = codecs.getincrementaldecoder(encoding)().decode(head)  # its last character may be cut
            kinds = Counter(ord(character) >> 8 for character in text)
            n_lettered = sum(character.isalnum() or character.isspace() for character in text)
            alphabets = sum(n for _, n in kinds.most_common(2))
            if kinds[0] and "\0" not in text and alphabets >= MOSTLY * len(text) and 2 * n_lettered > len(text):
                return encoding
    return None


def text_encoding(file: Any) -> tuple[str | None, bool]:
    """The encoding that the first bytes of a text show: by a byte order mark, or by zero bytes in a known alphabet.

    Parameters
    ----------
    file : file
        Open for reading bytes, with ``peek``, as :func:`open_packed` gives it. Nothing is read from it.

    Returns
    -------
    encoding : str or None
        For example "utf-8-sig" or "utf-16-le"; None for a text in another encoding, and for other content.
    marked : bool
        Whether a byte order mark names it.

    Examples
    --------
    >>> import io
    >>> from sparsemix.datasets import text_encoding
    >>> text_encoding(io.BufferedReader(io.BytesIO("topics".encode("utf-16-le"))))
    ('utf-16-le', False)
    """
    marked = marked_encoding(file)
    return (marked, True) if marked else (unmarked_encoding(file.peek(HEAD)[:HEAD]), False)


def in_utf8(file):
    """A file of another encoding, whose byte order mark names it, as UTF-8; others unchanged."""
    encoding = marked_encoding(file)
    if encoding in (None, "utf-8-sig"):
        return file
    texts = codecs.iterdecode(iter(lambda: file.read(PIECE), b""), encoding, errors="replace")
    return io.BufferedReader(Stream(codecs.iterencode(texts, "utf-8")), PIECE)


def content_of(file, path, name, marks, make):
    """Pieces of the content of all streams of a file. Zeros after a stream are padding, as of tapes."""
    # Not the readers of the standard library: those of bzip2 and xz take a damaged second stream for the end of the
    # file, and that of the package zstandard takes a cut frame for a whole one.
    at, data = 0, b""
    while True:
        while len(data) < len(marks[0]) and (piece := file.read(PIECE)):
            at += len(piece)
            data = (data + piece).lstrip(b"\0")
        if not data:
            return
        if not data.startswith(marks):
            raise not_whole(path, f"after its end, from byte {at - len(data)}, it has other bytes than {name}")
        decompressor = make()
        while not decompressor.eof:
            try:
                piece = decompressor.decompress(data, PIECE)
            except MemoryError:
                raise
            except Exception as error:  # each module has its own
                raise not_whole(path, f"it is damaged: {error}") from error
            if piece:
                yield piece
            if not decompressor.eof and decompressor.needs_input:
                data = file.read(PIECE)
                at += len(data)
                if not data:
                    raise not_whole(path, f"it is cut off after {at} bytes, inside of its {name} stream")
            else:
                data = b""
        data = decompressor.unused_data.lstrip(b"\0")


def not_whole(path, reason):
    """The error about a packed file."""
    return ValueError(f"{path} is not a whole packed file ({reason}). Get it again.")
