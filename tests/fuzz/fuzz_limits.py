"""Little memory while a call lasts: what it has to do then is to raise MemoryError and to change nothing."""

import resource
from contextlib import contextmanager
from pathlib import Path

# Bytes that a call may add to what the process has; None for any.
spare = None


@contextmanager
def little_memory():
    """The limit within the block; comparisons behind it have what they need."""
    if spare is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + spare, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
