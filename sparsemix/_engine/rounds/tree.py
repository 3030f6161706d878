"""The order in which sums of blocks are added: a fixed binary tree over their places.

Bits follow from the order alone. Each sum has as many summands as its place says, whoever computes it; a process that
adds one block after the other holds a sum for each level.
"""


class Tree:
    """Sums of what is pushed, as if neighbours were added level by level.

    What is pushed has ``add(other)``, in place, which returns itself.
    """

    def __init__(self):
        self._sums = []  # of 2^level summands each, levels falling

    def push(self, value):
        """One more summand."""
        level = 0
        while self._sums and self._sums[-1][0] == level:
            value = self._sums.pop()[1].add(value)
            level += 1
        self._sums.append((level, value))

    def total(self):
        """The sum of all; None without any."""
        if not self._sums:
            return None
        value = self._sums.pop()[1]
        while self._sums:
            value = self._sums.pop()[1].add(value)
        return value


def reduced(values, add):
    """The same over a list, with ``add(left, right)`` for two of a level: for those who add elsewhere."""
    while len(values) > 1:
        pairs = [add(values[i], values[i + 1]) for i in range(0, len(values) - 1, 2)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def branches(values, size):
    """A list in parts whose sums by the tree are sums of its branches; ``size`` is a power of two."""
    return [values[first : first + size] for first in range(0, len(values), size)]
