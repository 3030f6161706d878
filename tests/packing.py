"""Compressed files of all formats; Zstandard by small modules in place of those that may be missing."""

import bz2
import gzip
import lzma
import sys
import zlib
from types import ModuleType, SimpleNamespace

ZSTANDARD = b"\x28\xb5\x2f\xfd"
SKIPPABLE = b"\x5e\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"aside"  # a frame without content


class Frame:
    """Decompressor of one frame of Zstandard, here of a member of gzip after the mark, or of a skippable frame."""

    def __init__(self):
        self.eof, self.needs_input, self.unused_data, self._data = False, True, b"", b""

    def decompress(self, data, max_length=-1):  # noqa: ARG002
        self._data += data
        found, size = b"", 8 + int.from_bytes(self._data[4:8], "little")
        if self._data.startswith(SKIPPABLE[:4]):
            self.eof = 8 <= size <= len(self._data)
            self.unused_data = self._data[size:] if self.eof else b""
        else:
            member = zlib.decompressobj(wbits=31)
            found = member.decompress(self._data[4:])
            self.eof, self.unused_data = member.eof, member.unused_data
        return found if self.eof else b""  # as the library, which decompresses whole blocks


def one_frame(content):
    return ZSTANDARD + gzip.compress(content)


def provide_zstandard(monkeypatch, place="zstandard"):
    """Put a module in the place of the package, or of Python 3.14's ``compression.zstd``."""
    monkeypatch.setitem(sys.modules, "compression", None)
    if place == "zstandard":
        package = SimpleNamespace(ZstdDecompressor=lambda: SimpleNamespace(decompressobj=Frame))
        monkeypatch.setitem(sys.modules, "zstandard", package)
        return
    package = ModuleType("compression")
    package.zstd = SimpleNamespace(ZstdDecompressor=Frame)
    monkeypatch.setitem(sys.modules, "compression", package)


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": one_frame}
