"""The order in which sums of blocks are added: a fixed binary tree over the block numbers.

The bits of a sum depend on this order only, so the result is the same for any distribution of blocks over processes. A
process that adds consecutive blocks stores one partial sum per level.
"""


class Tree:
    """Sum of the pushed values, added pairwise level by level.

    Values have ``add(other)``, which works in place and returns the value.
    """

    def __init__(self):
        self._sums = []  # (level, sum of 2^level values), levels decreasing

    def push(self, value):
        """Add one value."""
        level = 0
        while self._sums and self._sums[-1][0] == level:
            value = self._sums.pop()[1].add(value)
            level += 1
        self._sums.append((level, value))

    def total(self):
        """The total; None if nothing was pushed."""
        if not self._sums:
            return None
        value = self._sums.pop()[1]
        while self._sums:
            value = self._sums.pop()[1].add(value)
        return value


def reduced(values, add):
    """The same tree over a list, where ``add(left, right)`` adds two values of a level, perhaps on another machine."""
    while len(values) > 1:
        pairs = [add(values[i], values[i + 1]) for i in range(0, len(values) - 1, 2)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def branches(values, size):
    """Cut a list into parts whose tree sums are subtrees of the whole; ``size`` is a power of two."""
    return [values[first : first + size] for first in range(0, len(values), size)]
