"""States of fits on disk: the file format and the folder."""
