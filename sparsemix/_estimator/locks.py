"""Lock of a folder that one process at a time may use."""

import errno
import os
import platform
from contextlib import suppress

from sparsemix._warnings import warn_caller

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
    import msvcrt

NAME = ".lock"
# The byte that is locked on Windows, where no other process can read a locked byte: behind the text.
LOCKED_BYTE = 1 << 20
HELD = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)


class FolderLock:
    """Lock of an existing folder by the operating system, which ends with the process, however it ends.

    The file ``.lock`` stays in the folder: to remove it would let two processes lock two files of this name.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder):
        self._path = folder / NAME
        self._file = None

    def acquire(self):
        """Lock the folder and return None, or return the name of the process that holds the lock."""
        file = open(self._path, "ab+", buffering=0)  # noqa: SIM115 - open until the lock is released
        try:
            lock(file)
        except OSError as error:
            with file:
                if error.errno in HELD:
                    file.seek(0)
                    return file.read().decode() or "another process"
            warn_caller(f"{self._path.parent} cannot be locked ({error}); make sure that no other process uses it")
            return None
        except BaseException:
            file.close()
            raise
        self._file = file
        self._write(f"process {os.getpid()} on {platform.node()}")
        return None

    def release(self):
        """End the lock, if there is one."""
        if self._file is not None:
            self._write("")
            self._file.close()
            self._file = None

    def _write(self, holder):
        """Let other processes read who holds the lock; a full disk leaves it unnamed."""
        with suppress(OSError):
            self._file.truncate(0)
            self._file.write(holder.encode())


def lock(file):
    """Lock an open file until it is closed; raises OSError."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        file.seek(LOCKED_BYTE)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
