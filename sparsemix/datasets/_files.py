"""Compressed files, recognised by their first bytes."""

import bz2
import gzip
import io
import lzma
import zlib
from contextlib import contextmanager

PACKED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
ZSTANDARD = b"\x28\xb5\x2f\xfd"
ENDINGS = ".gz", ".bz2", ".xz", ".zst"
HEAD = 1 << 13


@contextmanager
def open_packed(path):
    """Open a file for reading bytes, decompressed if its first bytes are those of a compressed file.

    Raises
    ------
    ValueError
        For a compressed file that is damaged or truncated.
    """
    with path.open("rb") as file, unpacked(file, path) as content:
        yield content


@contextmanager
def unpacked(file, path):
    """The same for an open file with ``peek``; errors name ``path``."""
    head = file.peek(HEAD)[:HEAD]
    opener = next((opener for mark, opener in PACKED.items() if head.startswith(mark)), None)
    ending = next((ending for ending in ENDINGS if str(path).endswith(ending)), None)
    if ending and opener is None and not head.startswith(ZSTANDARD) and head:
        raise ValueError(f"{path} is not a whole packed file (only its name ends in {ending}). Get it again.")
    try:
        if head.startswith(ZSTANDARD):
            yield open_zstandard(file, path)
        else:
            yield file if opener is None else io.BufferedReader(opener(file, "rb"))
    except (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path} is not a whole packed file ({error}). Get it again.") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise ValueError(f"{path} is not a whole packed file ({error}). Get it again.") from error  # bz2's own


def open_zstandard(file, path):
    """Open a Zstandard file with Python's module or the package zstandard."""
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        try:
            import zstandard as zstd
        except ImportError as error:
            raise ValueError(f"{path} is compressed by zstd; decompress it, or pip install zstandard.") from error
    return io.BufferedReader(zstd.open(file, "rb"))
