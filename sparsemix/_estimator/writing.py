"""Files that are there as a whole or not at all."""

import os
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


@contextmanager
def replacing(path, mode="wb", **options):
    """A file to write that takes the place of ``path`` when the block ends; an error or a kill leaves the old one."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{token_hex(4)}.part")
    file = open(temporary, mode.replace("w", "x"), **options)  # noqa: SIM115 - what is there is somebody else's
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
