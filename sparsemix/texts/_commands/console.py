"""Process and console of commands: errors are one line, types of options check ranges, a broken stream never fails a
command, Ctrl-C and SIGTERM print no traceback, and printed text cannot control the terminal.

Imports of this module are those of Python alone, so that Ctrl-C has its meaning before the package is imported.
"""

import argparse
import errno
import os
import re
import signal
import sys
import threading
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path

# Errors of a disk on which the output does not fit.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
# Seconds after which a terminal shows progress again.
EVERY = 0.5
# Control characters, lone surrogates, and marks that change the direction of the text after them.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


# SIGTERM, once it has come; and the action by which the parent process lets this one ignore Ctrl-C.
TERMINATED, IGNORED = [], []


def on_interrupt(number, frame):
    """What Ctrl-C does, unless the parent process lets this one ignore it; and SIGTERM, by which batch systems end it.
    """
    if TERMINATED or not IGNORED:
        signal.default_int_handler(number, frame)


def on_terminate(number, frame):  # noqa: ARG001
    """Do what Ctrl-C does at this moment: raise KeyboardInterrupt, or wait until the end of a step."""
    TERMINATED.append(number)
    signal.raise_signal(signal.SIGINT)


def status_of_interrupt():
    """The exit status after Ctrl-C or SIGTERM: 128 and the number of the signal."""
    return 128 + (signal.SIGTERM if TERMINATED else signal.SIGINT)


def set_interrupt(handler, terminate):
    """Set what Ctrl-C and SIGTERM do, if this process runs ``sparsemix`` or ``python -m sparsemix``. Return whether.
    """
    program = (getattr(sys, "argv", None) or [""])[0]
    is_command = Path(program).stem == "sparsemix" or ("-m", "sparsemix") in pairwise(sys.orig_argv)
    able = is_command and threading.current_thread() is threading.main_thread()
    if able:
        signal.signal(signal.SIGINT, handler)
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
            signal.signal(signal.SIGTERM, terminate)
    return able


@contextmanager
def quiet_interrupts():
    """Let Ctrl-C end the process at once (status 130, no traceback) while the command imports its modules."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        IGNORED.append(before)
    known = before in (signal.default_int_handler, on_interrupt, signal.SIG_IGN)
    quiet = known and set_interrupt(signal.SIG_IGN if IGNORED else signal.SIG_DFL, signal.SIG_DFL)
    if quiet:
        open_descriptors()
    try:
        yield
    finally:
        if quiet:
            set_interrupt(on_interrupt, on_terminate)


def let_interrupts_end():
    """Let Ctrl-C end the process at once from now on. Python would print a traceback during shutdown."""
    set_interrupt(signal.SIG_DFL, signal.SIG_DFL)


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


class Parser(argparse.ArgumentParser):
    """Argument parser whose errors are one line; the usage is printed for --help only."""

    def parse_known_args(self, args=None, namespace=None):
        """Parse the arguments; an unknown option is an error here, where the options of the subcommand are known."""
        found, unknown = super().parse_known_args(args, namespace)
        if given := next((word.partition("=")[0] for word in unknown if word.startswith("-")), None):
            options = [name for action in self._actions for name in action.option_strings]
            near = "".join(f"did you mean {name}?" for name in get_close_matches(given, options, n=1))
            self.error(f"{given} is no option; {near or f'{self.prog} --help lists all.'}")
        return found, unknown

    def error(self, message):
        """Print one line on stderr and exit with status 2."""
        self.exit(2, f"{self.prog}: error: {printable(' '.join(message.split()))}\n")


class Console:
    """Output stream that escapes unencodable characters, and discards output after its reader has closed it."""

    def __init__(self, stream):
        self.stream = stream
        self.error = None  # such as a full disk; a closed pipe is not an error

    def write(self, text):
        """Write text; escape characters that the encoding lacks."""
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        self.attempt(self.stream.write, text.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self):
        """Flush."""
        self.attempt(self.stream.flush)

    def attempt(self, function, *arguments):
        """Write, or send this and further output to the null device, for example after `| head` has exited."""
        try:
            function(*arguments)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in FULL:
                self.error = error
            with suppress(OSError, ValueError, AttributeError):  # a stream without a descriptor, or a closed one
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.stream.fileno())
                os.close(nowhere)

    def isatty(self):
        """Whether the stream is a terminal."""
        return self.stream.isatty()


@contextmanager
def console():
    """Use standard streams that cannot fail, inside the context. Then exit with status 1 if the disk was full."""
    out, status = Console(sys.stdout), None
    with redirect_stdout(out), redirect_stderr(Console(sys.stderr)):
        try:
            yield
        except SystemExit as end:
            status = end
        finally:
            out.flush()
            sys.stderr.flush()
        if out.error is not None and not (status and status.code):
            print(f"sparsemix: error: standard output: {out.error.strerror}", file=sys.stderr)
            raise SystemExit(1)
        if status is not None:
            raise status


def printable(text):
    """Escape characters that control a terminal or that it cannot show."""
    return UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), str(text))


def warn(message):
    """Print a warning on stderr, in one line."""
    print(f"sparsemix topics: warning: {printable(message)}", file=sys.stderr, flush=True)


def progress(items, what):
    """Yield the items; meanwhile a terminal shows their number in a line that is removed at the end."""
    if not sys.stdout.isatty():
        yield from items
        return
    due = time.monotonic()
    try:
        for n, item in enumerate(items, start=1):
            if time.monotonic() >= due:
                print(f"\r{what}: {n:,}", end="", flush=True)
                due = time.monotonic() + EVERY
            yield item
    finally:
        print("\r\x1b[K", end="", flush=True)


# -- types of options


def checked(kind, allowed, what):
    """Option type: a number that is allowed; the error says what is."""

    def convert(text):
        if not allowed(value := kind(text)):
            raise argparse.ArgumentTypeError(f"{text} is {what}")
        return value

    convert.__name__ = getattr(kind, "__name__", "number")  # argparse shows this name if the text is not a number
    return convert


def positive(kind):
    """Option type: a number greater than zero."""
    return checked(kind, lambda value: value > 0, "not above zero")


def number_of_documents(text):
    """A number of documents if the text has digits only, else a fraction of all documents."""
    return int(text) if text.isdigit() else float(text)


count_or_fraction = checked(
    number_of_documents, lambda value: value >= 1 if isinstance(value, int) else 0.0 <= value <= 1.0,
    "neither a whole number above zero nor a fraction such as 0.5",
)  # fmt: skip
not_negative = checked(int, lambda value: value >= 0, "negative")
n_threads = checked(int, lambda value: value != 0, "no number of threads; give 1 or more, or -1 for all cores")
seed = checked(int, lambda value: 0 <= value < 1 << 32, f"not between 0 and {(1 << 32) - 1}")
fraction = checked(float, lambda value: 0.0 <= value < 1.0, "not between 0 and 1")
