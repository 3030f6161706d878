"""Files that may be packed, found by their first bytes."""

import bz2
import gzip
import io
import lzma
import zlib
from contextlib import contextmanager

PACKED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
ZSTANDARD = b"\x28\xb5\x2f\xfd"
HEAD = 1 << 13


@contextmanager
def open_packed(path):
    """A file opened for reading bytes, unpacked if its first bytes say that it is packed, whatever its name is.

    Raises
    ------
    ValueError
        For a packed file that is damaged or cut off.
    """
    with path.open("rb") as file:
        head = file.peek(HEAD)[:HEAD]
        opener = next((opener for mark, opener in PACKED.items() if head.startswith(mark)), None)
        if path.suffix == ".gz" and opener is None and head:
            raise ValueError(f"{path} is not a whole packed file (only its name ends in .gz). Get it again.")
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
    """A file packed with Zstandard, where there is something to unpack it."""
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        try:
            import zstandard as zstd
        except ImportError as error:
            raise ValueError(f"{path} is packed with zstd; unpack it, or pip install zstandard.") from error
    return io.BufferedReader(zstd.open(file, "rb"))
