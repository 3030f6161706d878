"""Exceptions at any line of the library, as signal handlers raise them."""

import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import sparsemix

ROOT = str(Path(sparsemix.__file__).parent)
# Functions that are called as ``__del__`` too, of which Python drops exceptions.
FINALISERS = {"_give_back"}


class TimeLimitError(Exception):
    """What a handler of an alarm raises; no KeyboardInterrupt, so that nothing waits for it."""


@contextmanager
def each_line(look):
    """Inside, ``look(file, number)`` is called before each line of the library that this thread executes."""

    def of_frame(frame, event, argument):  # noqa: ARG001
        if event == "line":
            look(frame.f_code.co_filename, frame.f_lineno)
        return of_frame

    def of_call(frame, event, argument):  # noqa: ARG001
        code = frame.f_code
        return of_frame if code.co_filename.startswith(ROOT) and code.co_name not in FINALISERS else None

    before = sys.gettrace()
    sys.settrace(of_call)
    try:
        yield
    finally:
        sys.settrace(before)


def lines_of(call):
    """The lines that a call executes, as (file, number), in order."""
    lines = []
    with each_line(lambda *line: lines.append(line)):
        call()
    return lines


def raise_at(call, line, time):
    """Whether an exception was raised the given time that a call comes to a line, and left the call."""
    seen = Counter()

    def look(*at):
        if at == line:
            seen[at] += 1
            if seen[at] == time:
                raise TimeLimitError

    try:
        with each_line(look):
            call()
    except TimeLimitError:
        return True
    return False
