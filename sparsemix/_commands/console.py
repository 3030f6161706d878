"""What is said on the terminal: nothing of it can fail a command, and no word can drive the terminal."""

import argparse
import os
import re
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout

# Control characters, halves of characters, and marks that turn the direction of what follows them.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


class Parser(argparse.ArgumentParser):
    """Tells what is wrong in one line, and what to do about it; the whole usage is for those who ask for it."""

    def error(self, message):
        """One line on stderr, exit status 2."""
        self.exit(2, f"{self.prog}: error: {printable(' '.join(message.split()))}\n")


class Console:
    """Output stream that escapes what its encoding lacks, and writes nowhere once its reader has gone away."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        """Write, with escapes for what cannot be written."""
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        try:
            self.stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        except (OSError, ValueError):
            self.silence()
        return len(text)

    def flush(self):
        """Flush."""
        try:
            self.stream.flush()
        except (OSError, ValueError):
            self.silence()

    def silence(self):
        """Write to nowhere from now on: `| head` has what it wanted."""
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError, AttributeError):
            pass  # a stream of the tests, or one that is closed already

    def isatty(self):
        """Whether it is a terminal."""
        return self.stream.isatty()


@contextmanager
def console():
    """Standard output and standard error that cannot fail, for the time of a command."""
    with redirect_stdout(Console(sys.stdout)), redirect_stderr(Console(sys.stderr)):
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()


def printable(text):
    """The text with escapes in the place of what a terminal would obey or could not show."""
    return UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), str(text))


def warn(message):
    """One line on stderr."""
    print(f"sparsemix topics: warning: {printable(message)}", file=sys.stderr, flush=True)
