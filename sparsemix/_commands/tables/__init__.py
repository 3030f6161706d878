"""Tables that ``sparsemix topics`` writes: of documents, of words, and of periods and groups."""
