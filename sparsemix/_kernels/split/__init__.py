"""Gibbs sampling of documents by a conditional that is split in their topics and the fixed part of a word."""
