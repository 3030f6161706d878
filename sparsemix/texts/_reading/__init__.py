"""Readers of corpora in common formats, with warnings of unreadable parts."""
