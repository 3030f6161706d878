"""What a worker frees is kept for its next arrays, while it has a fit.

Dask starts workers with ``MALLOC_TRIM_THRESHOLD_`` in their environment, so that they give back what they free. glibc
no longer adapts to a program then, and each array of more than 128 kB is one of new pages, which took a quarter of the
time of visits (36 in place of 27 ms, 1,250 documents and 100 topics). During a fit the thresholds are those that glibc
comes to by itself, so that a thread keeps 64 MB at most.
"""

import ctypes
import os

VARIABLE = "MALLOC_TRIM_THRESHOLD_"
# Of <malloc.h>; and glibc's: where each array has pages of its own from, in the beginning and at most, in bytes.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
FIRST, MOST = 128 << 10, 32 << 20


def keep_freed():
    """A fit begins in this process."""
    _set(2 * MOST, MOST)


def give_back():
    """The last one has ended: the environment holds again."""
    libc = _set(int(os.environ.get(VARIABLE, FIRST)), FIRST)
    if libc is not None:
        libc.malloc_trim(0)


def _set(trim, mmap):
    """Both thresholds, in processes that Dask has started, with glibc; its functions, or None."""
    if VARIABLE not in os.environ:
        return None
    try:
        libc = ctypes.CDLL(None)
        libc.mallopt(MMAP_THRESHOLD, mmap)
        libc.mallopt(TRIM_THRESHOLD, trim)
    except (AttributeError, OSError, TypeError):  # another allocator
        return None
    return libc
