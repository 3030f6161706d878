"""Readers of blocks: arrays in memory, files, stores and texts."""
