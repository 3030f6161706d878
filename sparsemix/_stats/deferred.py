"""Sums by word of a batch, computed only when they are added."""


class DeferredRows:
    """A table (V, K) of sums that can be computed from a model's table of counts while they are added to it.

    The sums of a word are a few numbers times the row of counts that its documents were visited with. Adding them
    directly to that row reads and writes it once; storing them first would cost another write and read.

    Statistics keep this object until they are added or read; then it becomes a ``WordRows``.

    Attributes
    ----------
    words : ndarray of shape (n,), int32
        Words with sums, increasing.
    table : ndarray of shape (V, K)
        The counts; must not change before the sums are computed.
    unit : float
        ``word_unit`` of the statistics that own the table, when this object was made.
    """

    def add_to_table(self, factor, scale):
        """Add ``factor`` times the sums to the table, which was scaled by ``scale`` since; return their totals (K,)."""
        raise NotImplementedError

    def rows(self):
        """The sums as ``WordRows``, and their totals (K,)."""
        raise NotImplementedError
