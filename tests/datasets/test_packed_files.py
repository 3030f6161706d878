"""Packed files: read whole, or an error that names the file, wherever they are cut and whatever follows them."""

import bz2
import lzma
import re
import sys

import pytest
from packing import PACKERS, SKIPPABLE, provide_zstandard
from sklearn.feature_extraction.text import CountVectorizer

from sparsemix import blocks, datasets
from sparsemix.datasets import _files
from sparsemix.datasets._files import open_packed
from sparsemix.texts._reading.corpus import Words, read_corpus

TEXT = b"".join(b"line %d of a text\n" % i for i in range(40))
CASES = [*((ending, None) for ending in PACKERS if ending != ".zst"), (".zst", "zstandard"), (".zst", "compression")]


@pytest.fixture(params=CASES, ids=str)
def ending(request, monkeypatch):
    ending, package = request.param
    if package is not None:
        provide_zstandard(monkeypatch, package)
    return ending


def read(path, content):
    path.write_bytes(content)
    with open_packed(path) as file:
        return file.read()


def test_several_streams_and_padding_are_read_whole(tmp_path, ending):
    pack, path = PACKERS[ending], tmp_path / f"t{ending}"
    one = pack(TEXT)
    for content in (one + one, one + bytes(512) + one + bytes(4), one + pack(b"") + one):
        assert read(path, content) == 2 * TEXT
    assert read(tmp_path / "t.txt", one) == TEXT  # the first bytes say the format, and not the name
    if ending == ".zst":
        assert read(path, SKIPPABLE + one + SKIPPABLE + one + SKIPPABLE) == 2 * TEXT


def test_a_file_that_is_cut_anywhere_is_named(tmp_path, ending):
    pack, path = PACKERS[ending], tmp_path / f"t{ending}"
    first, second = pack(TEXT), pack(b"the second stream\n")
    for at in range(len(first + second)):
        if at == len(first):
            continue
        with pytest.raises(ValueError, match=re.escape(f"{path} is not a whole packed file (")) as caught:
            read(path, (first + second)[:at])
        inside = 6 <= at < len(first) or len(first) + 6 <= at
        assert not inside or f"(it is cut off after {at} bytes, inside of its " in str(caught.value)


def test_bytes_after_the_end_are_named(tmp_path, ending):
    one, path = PACKERS[ending](TEXT), tmp_path / f"t{ending}"
    for after in (b"x", b"other bytes", b"\0\0other bytes"):
        with pytest.raises(ValueError, match=rf"t{ending} is not a whole packed file \(after its end") as error:
            read(path, one + after)
        assert f"from byte {len(one + after) - len(after.lstrip(bytes(1)))}, it has other bytes" in str(error.value)


@pytest.mark.parametrize(("ending", "pack"), [(".bz2", bz2.compress), (".xz", lzma.compress)])
def test_a_damaged_second_stream_is_no_end(tmp_path, ending, pack):
    """The readers of the standard library take it for one, without a word."""
    second = bytearray(pack(TEXT))
    second[len(second) // 2] ^= 0x55
    with pytest.raises(ValueError, match=r"is not a whole packed file \(it is damaged"):
        read(tmp_path / f"t{ending}", pack(TEXT) + second)


def test_little_input_may_have_much_content(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(_files, "PIECE", 64)
    monkeypatch.setattr(_files, "ZSTANDARD_PIECE", 3)
    pack, much = PACKERS[ending], 100_000 * b"a"
    assert read(tmp_path / f"t{ending}", pack(much) + pack(TEXT)) == much + TEXT


def test_all_readers_name_a_file_that_is_cut(tmp_path, ending):
    path, counts = tmp_path / f"t.txt{ending}", tmp_path / f"docword.t.txt{ending}"
    path.write_bytes(PACKERS[ending](TEXT)[:-5])
    counts.write_bytes(PACKERS[ending](b"2\n3\n2\n1 1 2\n2 3 1\n")[:-5])
    for reader in (
        lambda: blocks.from_text(path, CountVectorizer().fit(["line"])),
        lambda: datasets.load_bag_of_words(counts, vocabulary=False),
        lambda: read_corpus(path, words=Words(stop_words=None)),
    ):
        with pytest.raises(ValueError, match=rf"{ending} is not a whole packed file \(it is cut off"):
            reader()


def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "compression", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ValueError, match=r"t\.zst is compressed by zstd; decompress it, or pip install zstandard"):
        read(tmp_path / "t.zst", PACKERS[".zst"](TEXT))
