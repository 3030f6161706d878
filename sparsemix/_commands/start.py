"""The first and the last moments of the command: open streams, and Ctrl-C without a traceback."""

import os
import signal
import sys
import threading
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path


def is_command():
    """Whether this process runs ``sparsemix`` or ``python -m sparsemix``; both import the package first."""
    program = (getattr(sys, "argv", None) or [""])[0]
    return Path(program).stem == "sparsemix" or ("-m", "sparsemix") in pairwise(sys.orig_argv)


@contextmanager
def quiet_interrupts():
    """While the command imports its modules, Ctrl-C ends the process at once: the shell sees 130 and no traceback."""
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
    """From now on Ctrl-C ends the process at once; Python would print a traceback while it shuts down."""
    if is_command() and in_main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def in_main_thread():
    """Whether signals can be set here."""
    return threading.current_thread() is threading.main_thread()


def open_descriptors():
    """Open a stream that the parent has closed: otherwise the next file that is opened gets its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number


def open_streams():
    """Replace closed output streams by ones that write nowhere; a closed standard input stays None."""
    open_descriptors()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open until the process ends
