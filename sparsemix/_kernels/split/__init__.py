"""Gibbs sampling of documents with a split conditional: the document's own topics, and a fixed part of each word."""
