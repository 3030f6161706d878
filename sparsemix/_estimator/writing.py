"""Atomic writing of files."""

import os
import re
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


def local_path(path, name="path"):
    """The path of a file or folder to be written, with ``~`` expanded; raises for an address such as s3://bucket/x."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", os.fspath(path)):  # Path makes one slash of two; C:/ is a drive
        raise ValueError(
            f"{name}={os.fspath(path)!r} is an address, and files are written to local folders only; give a local "
            "path, and copy the files to the address"
        )
    return Path(path).expanduser()


@contextmanager
def replacing(path, mode="wb", **options):
    """A temporary file that replaces ``path`` when the context ends; an error or a kill leaves the old file unchanged.
    """
    path = local_path(path)
    temporary = path.with_name(f".{path.name}.{token_hex(4)}.part")
    file = open(temporary, mode.replace("w", "x"), **options)  # noqa: SIM115 - mode "x" never overwrites another file
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
