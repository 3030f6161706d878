"""Summaries of mixtures: what distinguishes each cluster from all rows."""
