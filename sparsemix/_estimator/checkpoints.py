"""The checkpoint folder of a fit: each checkpoint is written atomically, and read with all checksums verified.

A checkpoint is a folder with ``meta.json`` and ``arrays.bin``. It is written under a temporary name, flushed to disk,
then renamed, so the process may die at any moment. The last two are kept.
"""

import json
import os
import re
import shutil
import zlib

import numpy as np

from sparsemix._estimator.encoding import Decoder, Encoder
from sparsemix._estimator.locks import FolderLock
from sparsemix._estimator.writing import local_path
from sparsemix._version import __version__
from sparsemix._warnings import warn_caller

FORMAT = 1
KEPT = 2
WRITING = ".writing"
META = {"format", "version", "identity", "size", "crc", "arrays", "state"}
# Bytes per checksum call.
PIECE = 1 << 24


class CheckpointFolder:
    """Checkpoints of one fit, a context that locks their folder.

    Parameters
    ----------
    path : path-like
    identity : dict of str to str or list
        Properties that must equal those of the fit to resume; the keys appear in messages.
    every : int
        Epochs between checkpoints.
    resume : {"auto", True, False}
        Resume if there is a checkpoint; require one; or delete existing checkpoints and start again.
    """

    def __init__(self, path, identity, every=1, resume="auto"):
        self.path, self.identity, self.every = local_path(path, "checkpoint"), identity, every
        self._resume, self._lock = resume, FolderLock(self.path)

    def __enter__(self):
        if self.path.exists() and not self.path.is_dir():
            raise NotADirectoryError(f"checkpoint={str(self.path)!r} is a file; give a folder")
        self.path.mkdir(parents=True, exist_ok=True)
        holder = self._lock.acquire()
        if holder is not None:
            raise RuntimeError(
                f"the checkpoints in {self.path} are in use by {holder}; give each fit its own folder, or wait until "
                "that fit has ended"
            )
        try:
            self._check_folder()
            self._begin()
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *exception):
        self._lock.release()

    def _begin(self):
        """Fulfil ``resume``."""
        found = self._numbers()
        if self._resume is True and not found:
            raise FileNotFoundError(f"there is no checkpoint in {self.path}; give resume='auto' to begin one")
        if self._resume is False:
            for number in found:
                shutil.rmtree(self._of(number))

    def _check_folder(self):
        """Refuse a folder with foreign files."""
        for entry in sorted(self.path.iterdir()):
            if entry.name.startswith(WRITING) and entry.is_dir():  # left by a killed process
                shutil.rmtree(entry)
            elif not (re.fullmatch(r"\d{6,}", entry.name) and entry.is_dir()) and not is_of_system(entry.name):
                raise ValueError(
                    f"checkpoint={str(self.path)!r} holds {entry.name!r}, which is not a checkpoint; give an empty "
                    "folder, or a new one"
                )

    def _numbers(self):
        return sorted(int(entry.name) for entry in self.path.iterdir() if entry.name.isdigit())

    def _of(self, number):
        return self.path / f"{number:06d}"

    # -- reading

    def load(self):
        """State of the last intact checkpoint; None if there is none."""
        numbers = self._numbers()
        for number in reversed(numbers):
            try:
                meta, buffer = read(self._of(number))
            except Torn as error:
                if number == numbers[0]:
                    remedy = "there is no earlier checkpoint; give another folder for a new fit"
                    raise ValueError(f"{error}, and {remedy}") from error
                warn_caller(f"{error}; the one before is used")
                continue
            self._check_identity(meta, number)
            arrays = [array_of(buffer, place) for place in meta["arrays"]]
            return Decoder(arrays.__getitem__).decode(meta["state"])
        return None

    def _check_identity(self, meta, number):
        if meta["format"] != FORMAT:
            raise ValueError(
                f"checkpoint {self._of(number)} has format {meta['format']} of sparsemix {meta['version']}, and this "
                f"one reads format {FORMAT}; continue with that version, or give another folder"
            )
        theirs = meta["identity"]
        for name in sorted(theirs.keys() | self.identity.keys()):
            if theirs.get(name) != self.identity.get(name):
                raise ValueError(
                    f"checkpoint {self._of(number)} is of another fit: {name} was {short(theirs.get(name))} and is "
                    f"{short(self.identity.get(name))}; give the earlier value, or another folder"
                )

    # -- writing

    def save(self, number, state):
        """Write a checkpoint and remove all but the last two."""
        temporary = self.path / f"{WRITING}-{number:06d}"
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            self._write(temporary, state)
            shutil.rmtree(self._of(number), ignore_errors=True)
            temporary.rename(self._of(number))
            flush(self.path)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            raise OSError(
                error.errno,
                f"checkpoint {number} could not be written to {self.path} ({error.strerror}); free space on the disk "
                "and call again, which continues from the last complete checkpoint",
            ) from error
        for old in self._numbers()[:-KEPT]:
            shutil.rmtree(self._of(old))

    def _write(self, folder, state):
        places, crc, size = [], 0, 0
        with (folder / "arrays.bin").open("wb") as file:

            def keep(array):
                nonlocal crc, size
                order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
                data = np.ascontiguousarray(array.T if order == "F" else array)
                raw = memoryview(data.reshape(-1).view(np.uint8)) if data.size else b""
                file.write(raw)
                places.append([array.dtype.str, list(array.shape), order, size])
                crc, size = checksum(raw, crc), size + len(raw)
                return len(places) - 1

            code = Encoder(keep).encode(state)
            file.flush()
            os.fsync(file.fileno())
        meta = {"format": FORMAT, "version": __version__, "identity": self.identity, "size": size, "crc": crc}
        meta |= {"arrays": places, "state": code}
        with (folder / "meta.json").open("w", encoding="utf-8") as file:
            text = json.dumps(meta)
            file.write(f"{zlib.crc32(text.encode()):08x}\n{text}")
            file.flush()
            os.fsync(file.fileno())
        flush(folder)


def is_of_system(name):
    """Whether operating systems and file systems put such an entry into folders."""
    return name.startswith(".") or name in ("lost+found", "Thumbs.db", "desktop.ini")


class Torn(Exception):  # noqa: N818
    """A checkpoint with missing or changed bytes."""


def read(folder):
    """Description and bytes of a checkpoint, verified."""
    try:
        crc, _, text = (folder / "meta.json").read_text(encoding="utf-8").partition("\n")
        if crc != f"{zlib.crc32(text.encode()):08x}":
            raise Torn(f"checkpoint {folder} is damaged: the checksum of meta.json is wrong")
        meta = json.loads(text)
        if not isinstance(meta, dict) or not meta.keys() >= META:
            raise Torn(f"checkpoint {folder} is damaged: meta.json is not what a fit writes")
        buffer = np.fromfile(folder / "arrays.bin", dtype=np.uint8)
    except (OSError, ValueError) as error:
        raise Torn(f"checkpoint {folder} cannot be read ({error})") from error
    if len(buffer) != meta["size"]:
        raise Torn(f"checkpoint {folder} is incomplete: arrays.bin has {len(buffer)} of {meta['size']} bytes")
    if checksum(memoryview(buffer)) != meta["crc"]:
        raise Torn(f"checkpoint {folder} is damaged: the checksum of arrays.bin is wrong")
    return meta, buffer


def array_of(buffer, place):
    """An array, copied from the bytes of all arrays."""
    dtype, shape, order, start = place
    dtype = np.dtype(dtype)
    stop = start + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    flat = buffer[start:stop].copy().view(dtype)
    return flat.reshape(shape[::-1]).T if order == "F" else flat.reshape(shape)


def checksum(raw, crc=0):
    """CRC-32 of bytes, continuing from ``crc``."""
    for start in range(0, len(raw), PIECE):
        crc = zlib.crc32(raw[start : start + PIECE], crc)
    return crc


def flush(folder):
    """Flush the names in a folder to disk, if the system supports that."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def short(value):
    """A value, shortened for a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
