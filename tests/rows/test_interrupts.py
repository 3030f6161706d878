"""Ctrl-C waits for the end of a block."""

import signal
import threading

import pytest

from sparsemix._rows.threads import interrupts_wait

pytestmark = pytest.mark.usefixtures("ctrl_c")


def test_interrupt_waits_for_the_end_of_the_block():
    done, handler = [], signal.getsignal(signal.SIGINT)

    @interrupts_wait()
    def block():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append("rest of the block")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done == ["rest of the block"]
    assert signal.getsignal(signal.SIGINT) is handler


def test_own_handlers_are_called_once_after_the_block():
    heard = []
    old = signal.signal(signal.SIGINT, lambda *arguments: heard.append(arguments[0]))
    try:
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            assert heard == []
        assert heard == [signal.SIGINT]
        with interrupts_wait():
            pass
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, old)


def test_errors_pass_and_the_handler_comes_back():
    handler = signal.getsignal(signal.SIGINT)

    @interrupts_wait()
    def failing(*signals):
        for number in signals:
            signal.raise_signal(number)
        raise MemoryError

    with pytest.raises(MemoryError):
        failing()
    assert signal.getsignal(signal.SIGINT) is handler
    with pytest.raises(KeyboardInterrupt) as caught:
        failing(signal.SIGINT)
    assert isinstance(caught.value.__context__, MemoryError)


def test_other_threads_and_other_handlers_are_left_alone():
    handler, seen = signal.getsignal(signal.SIGINT), []

    def in_thread():
        with interrupts_wait():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    assert seen == [handler]
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_wait():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, old)
