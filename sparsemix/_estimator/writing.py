"""Atomic writing of files."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

from sparsemix._typing import FilePath


def local_path(path: FilePath, name: str = "path") -> Path:
    """The path of a file or folder to be written, with ``~`` expanded.

    Parameters
    ----------
    path : str or path
    name : str, default="path"
        Name of the argument, for the message.

    Returns
    -------
    path : Path

    Raises
    ------
    ValueError
        For an address such as ``s3://bucket/x``.

    Examples
    --------
    >>> from sparsemix.extend import local_path
    >>> local_path("report.html").name
    'report.html'
    """
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", os.fspath(path)):  # Path makes one slash of two; C:/ is a drive
        raise ValueError(
            f"{name}={os.fspath(path)!r} is an address, and files are written to local folders only; give a local "
            "path, and copy the files to the address"
        )
    return Path(path).expanduser()


@contextmanager
def replacing(path: FilePath, mode: str = "wb", **options: Any) -> Iterator[Any]:
    """A temporary file that replaces ``path`` when the context ends; an error or a kill leaves the old file unchanged.

    Parameters
    ----------
    path : str or path
        Name of the file.
    mode : {"wb", "w"}, default="wb"
        As in ``open``.
    options : dict
        Further arguments of ``open``.

    Returns
    -------
    file : context manager
        Gives an open file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sparsemix.extend import replacing
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     with replacing(path, "w") as file:
    ...         n_characters = file.write("topics")
    ...     path.read_text()
    'topics'
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
