"""Atomic writing of files."""

import os
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


@contextmanager
def replacing(path, mode="wb", **options):
    """A temporary file that replaces ``path`` when the context ends; an error or a kill leaves the old file unchanged.
    """
    path = Path(path)
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
