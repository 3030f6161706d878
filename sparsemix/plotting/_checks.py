"""Arguments of plots: numbers of items, and words used as labels."""

import numbers


def check_number(name, value):
    """Raise unless a number of items is an integer of at least 1."""
    if not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name} is {value!r}; give a whole number above zero")


def label(word):
    """A word as a literal label: dollars start no formula, and unprintable characters are escaped."""
    text = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in str(word))
    return text.replace("$", r"\$")
