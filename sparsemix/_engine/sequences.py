"""A name in pickles of earlier versions: memories of word sequences are in ``_rows`` now."""

from sparsemix._rows.sequences import TokenMemory as TokenMemory
