"""Sums by word of a minibatch that are not made before they are added."""


class DeferredRows:
    """A table (V, K) of sums that follow from a model's table of counts, and are cheapest made while they reach it.

    The sums of a minibatch are few numbers for each word, times the row of counts that its documents were visited with.
    To add them to those counts reads and writes a row once; made before they would be written and read once more.

    Statistics that hold such a table leave it as it is until they are added or anybody asks; then it is a ``WordRows``.

    Attributes
    ----------
    words : ndarray of shape (n,), int32
        Words with sums, increasing.
    table : ndarray of shape (V, K)
        The counts; nothing else may change them before.
    unit : float
        ``word_unit`` of the statistics that the table is of, at that time.
    """

    def add_to_table(self, factor, scale):
        """Add ``factor`` times the sums to the table, which was multiplied by ``scale`` since; their totals (K,)."""
        raise NotImplementedError

    def rows(self):
        """The sums as ``WordRows``, and their totals (K,)."""
        raise NotImplementedError
