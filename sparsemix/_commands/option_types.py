"""Types of command-line options that check the range of a number."""

import argparse


def positive(kind):
    """Option type: a number greater than zero."""

    def convert(text):
        if not (value := kind(text)) > 0:
            raise argparse.ArgumentTypeError(f"{text} is not above zero")
        return value

    convert.__name__ = kind.__name__  # argparse shows this name if the text is not a number
    return convert


def count_or_fraction(text):
    """Option type: a number of documents (an integer) or a fraction of all documents."""
    return int(text) if text.isdigit() else float(text)


def fraction(text):
    """Option type: a number of at least 0 and less than 1."""
    if not 0.0 <= (value := float(text)) < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value
