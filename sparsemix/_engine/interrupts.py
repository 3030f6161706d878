"""Ctrl-C between steps, not in the middle of one."""

import signal
from contextlib import contextmanager


@contextmanager
def interrupts_wait():
    """Ctrl-C waits until the block is over: a step changes statistics in place, and half of one is of no use.

    Only the main thread gets it, and only there is anything done. Where the program has no handler in Python, or
    ignores the signal, nothing is done either.
    """
    old, noted = signal.getsignal(signal.SIGINT), []
    try:
        if callable(old):
            signal.signal(signal.SIGINT, lambda *arguments: noted.append(arguments))
    except ValueError:  # not the main thread
        old = None
    try:
        yield
    finally:
        if callable(old):
            signal.signal(signal.SIGINT, old)
            if noted:
                old(*noted[0])
