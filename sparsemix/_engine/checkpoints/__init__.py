"""States of fits on disk: what stands in a file, and the folder that it stands in."""
