"""What pictures are given: numbers of things to draw, and words that become labels."""

import numbers


def check_number(name, value):
    """How many of something are drawn: one at least."""
    if not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name} is {value!r}; give a whole number above zero")


def label(word):
    """A word as it stands: no formula between dollars, and an escape for what no font has."""
    text = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in str(word))
    return text.replace("$", r"\$")
