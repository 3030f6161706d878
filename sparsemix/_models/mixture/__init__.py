"""Mixtures with a fixed number of components: local and global step, candidate lists."""
