"""Types of options: numbers within what a command can do with."""

import argparse


def positive(kind):
    """Type of an option: a number above zero."""

    def convert(text):
        if not (value := kind(text)) > 0:
            raise argparse.ArgumentTypeError(f"{text} is not above zero")
        return value

    convert.__name__ = kind.__name__  # what argparse calls it when the text is no number
    return convert


def count_or_fraction(text):
    """Type of an option: a number of documents, or a fraction of them."""
    return int(text) if text.isdigit() else float(text)


def fraction(text):
    """Type of an option: from zero to below one."""
    if not 0.0 <= (value := float(text)) < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value
