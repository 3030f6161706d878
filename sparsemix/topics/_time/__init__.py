"""Topics whose words change over time: slices of documents, the fit, and its result."""
