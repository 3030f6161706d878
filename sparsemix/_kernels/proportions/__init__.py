"""Compiled loops of documents under given topics: proportions over all topics, for transforming and scoring."""
