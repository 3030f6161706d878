"""Process start and exit of the command: open standard streams, and Ctrl-C without a traceback."""

import os
import signal
import sys
import threading
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path


def is_command():
    """Whether this process runs ``sparsemix`` or ``python -m sparsemix``. Both import the package first."""
    program = (getattr(sys, "argv", None) or [""])[0]
    return Path(program).stem == "sparsemix" or ("-m", "sparsemix") in pairwise(sys.orig_argv)


@contextmanager
def quiet_interrupts():
    """Let Ctrl-C end the process at once (status 130, no traceback) while the command imports its modules."""
    quiet = is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler and in_main_thread()
    if quiet:
        open_descriptors()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        if quiet:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def let_interrupts_end():
    """Let Ctrl-C end the process at once from now on. Python would print a traceback during shutdown."""
    if is_command() and in_main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def in_main_thread():
    """Whether this is the main thread; only the main thread can set signal handlers."""
    return threading.current_thread() is threading.main_thread()


def open_descriptors():
    """Open standard descriptors that the parent process closed; the next opened file would get their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, which is this one


def open_streams():
    """Replace closed output streams by the null device. A closed standard input stays None."""
    open_descriptors()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open until the process ends
