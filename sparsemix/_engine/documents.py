"""A name in pickles of earlier versions: memories of documents are in ``_rows`` now."""

from sparsemix._rows.documents import DocumentMemory as DocumentMemory
