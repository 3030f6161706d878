"""Words and their contexts: topics of positions, all of them or a few by chains."""
