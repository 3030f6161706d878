"""Command line: the demo, and topic models of texts with a report."""
