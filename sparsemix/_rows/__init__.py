"""The data in blocks: numeric rows, documents, word sequences, their memories, the threads that share them."""
