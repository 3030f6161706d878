"""Ctrl-C between steps, not in the middle of one."""

import signal
from contextlib import contextmanager, suppress


@contextmanager
def interrupts_wait():
    """Ctrl-C waits until the block is over, so that it finds the step complete and the step is kept.

    This holds for Ctrl-C in the main thread alone. Any other exception may come in the middle of a step: the step must
    undo itself. Where the program has no handler in Python, or ignores the signal, nothing changes.
    """
    old, noted = signal.getsignal(signal.SIGINT), []

    def note(*arguments):
        noted.append(arguments)

    def give_back():
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, old)

    try:
        try:
            if callable(old):
                with suppress(ValueError):  # not the main thread
                    signal.signal(signal.SIGINT, note)
            yield
        finally:
            give_back()
    finally:  # an exception may have come before the line above
        give_back()
        if noted:
            old(*noted[0])
