"""Files that are there as a whole or not at all."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path, mode="wb", **options):
    """A file to write that takes the place of ``path`` when the block ends; an error or a kill leaves the old one."""
    path = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~current_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def current_umask():
    """What new files are not allowed; a temporary file is its owner's alone."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
