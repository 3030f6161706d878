"""Arguments and output of commands: errors are one line, types of options check ranges, a broken stream never fails a
command, and printed text cannot control the terminal.
"""

import argparse
import errno
import os
import re
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout

# Errors of a disk on which the output does not fit.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
# Arguments without dashes.
POSITIONAL = ("path", "folder")
# Control characters, lone surrogates, and marks that change the direction of the text after them.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


class Parser(argparse.ArgumentParser):
    """Argument parser whose errors are one line; the usage is printed for --help only."""

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
        try:
            self.stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        except (OSError, ValueError) as error:
            self.silence(error)
        return len(text)

    def flush(self):
        """Flush."""
        try:
            self.stream.flush()
        except (OSError, ValueError) as error:
            self.silence(error)

    def silence(self, error):
        """Send further output to the null device, for example after `| head` has exited."""
        if isinstance(error, OSError) and error.errno in FULL:
            self.error = error
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError, AttributeError):
            pass  # a stream without a descriptor, as in tests, or a closed stream

    def refuse_full_disk(self):
        """Print an error and exit if some output was lost because the disk was full."""
        if self.error is not None:
            print(f"sparsemix: error: standard output: {self.error.strerror}", file=sys.stderr)
            raise SystemExit(1)

    def isatty(self):
        """Whether the stream is a terminal."""
        return self.stream.isatty()


@contextmanager
def console():
    """Use standard streams that cannot fail, inside the context. Then exit with status 1 if the disk was full."""
    out = Console(sys.stdout)
    with redirect_stdout(out), redirect_stderr(Console(sys.stderr)):
        try:
            yield
        except SystemExit as end:
            if not end.code:
                out.flush()
                out.refuse_full_disk()
            raise
        finally:
            out.flush()
            sys.stderr.flush()
        out.refuse_full_disk()


def printable(text):
    """Escape characters that control a terminal or that it cannot show."""
    return UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), str(text))


def warn(message):
    """Print a warning on stderr, in one line."""
    print(f"sparsemix topics: warning: {printable(message)}", file=sys.stderr, flush=True)


# -- types of options


def positive(kind):
    """Option type: a number greater than zero."""

    def convert(text):
        if not (value := kind(text)) > 0:
            raise argparse.ArgumentTypeError(f"{text} is not above zero")
        return value

    convert.__name__ = kind.__name__  # argparse shows this name if the text is not a number
    return convert


def count_or_fraction(text):
    """Option type: a positive number of documents (an integer) or a fraction of all documents."""
    value = int(text) if text.isdigit() else float(text)
    if not (value >= 1 if isinstance(value, int) else 0.0 <= value <= 1.0):
        raise argparse.ArgumentTypeError(f"{text} is neither a whole number above zero nor a fraction such as 0.5")
    return value


def n_threads(text):
    """Option type: a number of threads, or -1 for all cores."""
    if (value := int(text)) == 0:
        raise argparse.ArgumentTypeError("0 is no number of threads; give 1 or more, or -1 for all cores")
    return value


def seed(text):
    """Option type: a seed of random numbers."""
    if not 0 <= (value := int(text)) < 1 << 32:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and {(1 << 32) - 1}")
    return value


def refuse_empty(options, parser):
    """Exit with an error if an argument is empty, as an unset variable of the shell is, and its default is not."""
    for name, value in vars(options).items():
        if value == "" and parser.get_default(name) != "":
            shown = name.upper() if name in POSITIONAL else "--" + name.replace("_", "-")
            parser.error(f"{shown} is empty")


def fraction(text):
    """Option type: a number of at least 0 and less than 1."""
    if not 0.0 <= (value := float(text)) < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value
