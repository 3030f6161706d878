"""Ctrl-C between steps, never within one."""

import signal
from contextlib import contextmanager, suppress


@contextmanager
def interrupts_wait():
    """Delay Ctrl-C until the end of the context, so that the step completes and is kept.

    This covers Ctrl-C in the main thread only. Any other exception may interrupt a step, which must then undo itself.
    If the program has no Python handler, or ignores the signal, nothing changes.
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
    finally:  # an exception may have arrived before the inner finally ran
        give_back()
        if noted:
            old(*noted[0])
